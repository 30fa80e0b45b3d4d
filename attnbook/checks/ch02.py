"""Checks of the exercises of chapter 02."""

import math

import torch

from attnbook.exercises import ask, checker, compare, unaided


@checker(1)
def check_lookup(answer):
    generator = torch.Generator().manual_seed(1)
    for S, E, Ev, temperature, size in (
        (3, 2, 1, 1.0, 1),
        (5, 5, 5, 0.5, 1),
        (4, 8, 3, 7.0, 1),
        (6, 3, 2, 1e-3, 100),
        (6, 3, 2, 0, 1),
        (4, 4, 4, 0.0, 100),
    ):
        query = size * torch.randn(E, generator=generator)
        keys = torch.randn(S, E, generator=generator)
        values = torch.randn(S, Ev, generator=generator)
        with unaided():
            got = ask(answer, query, keys, values, temperature)
        scores = keys.double() @ query.double()
        if temperature == 0:
            weights = torch.eye(S)[scores.argmax()].double()
        else:
            weights = (scores / temperature).softmax(-1)
        what = f"{S} keys of {E} features at temperature {temperature}"
        if problem := compare(got, weights @ values.double(), 1e-3, what):
            return problem


@checker(2)
def check_gaussian(answer):
    generator = torch.Generator().manual_seed(2)
    for L, S, E, bandwidth in (
        (4, 6, 3, 1.0),
        (1, 5, 1, 0.3),
        (3, 4, 8, 2.0),
    ):
        query = torch.randn(L, E, generator=generator).double()
        key = torch.randn(S, E, generator=generator).double()
        key *= torch.rand(S, 1, generator=generator) + 0.5
        got = ask(answer, query, key, bandwidth)
        if not isinstance(got, (tuple, list)) or len(got) != 2:
            return "Expected two tensors, a query and a key."
        q, k = got
        for part, name, rows in ((q, "query", L), (k, "key", S)):
            if not isinstance(part, torch.Tensor) or part.dim() != 2:
                return f"Expected a {name} with two dimensions."
            if len(part) != rows:
                return f"Expected a {name} of {rows} rows, got {len(part)}."
        if q.shape[1] != k.shape[1]:
            return f"Query and key differ in size: {q.shape[1]}, {k.shape[1]}."
        squares = (query[:, None] - key).pow(2).sum(-1)
        expected = (-squares / (2 * bandwidth**2)).softmax(-1)  # (L, S)
        weights = (q.double() @ k.double().T).softmax(-1)
        what = f"weights of {S} keys of {E} features, bandwidth {bandwidth}"
        if problem := compare(weights, expected, 1e-6, what):
            return problem


@checker(3)
def check_gradient(answer):
    generator = torch.Generator().manual_seed(3)
    for S, E, Ev, temperature in (
        (3, 2, 1, 1.0),
        (5, 5, 5, 0.5),
        (4, 6, 3, 3.0),
    ):
        query = torch.randn(E, generator=generator).double()
        keys = torch.randn(S, E, generator=generator).double()
        values = torch.randn(S, Ev, generator=generator).double()
        upstream = torch.randn(Ev, generator=generator).double()
        asked = keys.clone().requires_grad_()
        output = (asked @ query / temperature).softmax(-1) @ values
        (expected,) = torch.autograd.grad(output @ upstream, asked)
        got = ask(answer, query, keys, values, temperature, upstream)
        what = f"{S} keys of {E} features at temperature {temperature}"
        if problem := compare(got, expected, 1e-9, what):
            return problem


torch.manual_seed(4)
W_Q, W_K = torch.randn(2, 6, 8) / 8**0.5  # (A, 8) each
PLACES = torch.randn(8, 9)


def average(weights, key):
    return weights @ key, weights


def by_dot_product(query, key):
    return average((query @ key.mT / 8**0.5).softmax(-1), key)


def by_projection(query, key):
    scores = query @ W_Q.to(query).T @ (key @ W_K.to(key).T).mT
    return average(scores.softmax(-1), key)


def by_distance(query, key):
    return average((-torch.cdist(query, key)).softmax(-1), key)


def from_the_query(query, key):
    scores = (query @ PLACES.to(query))[..., : key.shape[1]]
    return average(scores.softmax(-1), key)


def partly_from_the_query(query, key):
    places = query @ PLACES.to(query)
    scores = query @ key.mT / 8**0.5 + places[..., : key.shape[1]]
    return average(scores.softmax(-1), key)


def from_the_keys(query, key):
    scores = (key @ W_K[0].to(key))[:, None].expand(-1, query.shape[1], -1)
    return average(scores.softmax(-1), key)


def summed_over_queries(query, key):
    return average((query @ key.mT / 8**0.5).softmax(1), key)


def centred_over_the_batch(query, key):
    return by_dot_product(query, key - key.mean(0))


LOOKUPS = (by_dot_product, by_projection, by_distance)
FALSE_LOOKUPS = {
    "takes its scores from the query alone": from_the_query,
    "gives some of its score to the place": partly_from_the_query,
    "never looks at the query": from_the_keys,
    "has weights that sum to 1 over the queries": summed_over_queries,
    "mixes the lists of a batch": centred_over_the_batch,
}


@checker(4)
def check_false_lookups(answer):
    torch.manual_seed(0)
    for attention in LOOKUPS:
        verdict = ask(answer, attention)
        if not isinstance(verdict, bool):
            return f"Expected True or False, got {type(verdict).__name__}."
        if not verdict:
            return f"You turn down a lookup: {attention.__name__}."
    for what, attention in FALSE_LOOKUPS.items():
        if ask(answer, attention):
            return f"You let a function pass that {what}."


@checker(5)
def check_matrix(answer):
    generator = torch.Generator().manual_seed(5)
    for A, Eq, Ek in ((4, 6, 5), (9, 3, 3), (1, 2, 4)):
        query_weight = torch.randn(A, Eq, generator=generator)
        key_weight = torch.randn(A, Ek, generator=generator)
        got = ask(answer, query_weight, key_weight)
        expected = torch.einsum("aq,ak->qk", query_weight, key_weight)
        what = f"A = {A}, Eq = {Eq}, Ek = {Ek}"
        if problem := compare(got, expected / math.sqrt(A), 1e-4, what):
            return problem
