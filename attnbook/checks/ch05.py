"""Checks of the exercises of chapter 05."""

import math

import torch
import torch.nn.functional as F

from attnbook.exercises import ask, checker, compare, unaided


@checker(1)
def check_scale(answer):
    for query_std, key_std, d in (
        (1, 1, 64),
        (1, 1, 1),
        (2, 1, 64),
        (0.5, 3, 16),
        (3, 2, 100),
    ):
        spread = float(ask(answer, query_std, key_std, d)) * query_std * key_std * d**0.5
        if not abs(spread - 1) < 1e-6:
            return (
                f"With deviations {query_std} and {key_std} and d = {d}, "
                f"your scores have standard deviation {spread:.3g}."
            )


@checker(2)
def check_attention(answer):
    generator = torch.Generator().manual_seed(2)
    for *lead, L, S, E, Ev in (
        (3, 3, 4, 4),
        (2, 5, 16, 3),
        (2, 3, 4, 7, 64, 8),
        (1, 1, 1, 1),
    ):
        query = torch.randn(*lead, L, E, generator=generator)
        key = torch.randn(*lead, S, E, generator=generator)
        value = torch.randn(*lead, S, Ev, generator=generator)
        expected = F.scaled_dot_product_attention(query, key, value)
        what = f"query {tuple(query.shape)}, key {tuple(key.shape)}"
        with unaided():
            got = ask(answer, query, key, value)
        if problem := compare(got, expected, 1e-5, what):
            return problem

    normal = [torch.randn(4, 128, 64, generator=generator) for _ in range(3)]
    inputs = {
        "sharp scores": [3 * normal[0], *normal[1:]],
        "scores beyond 65504": [30 * normal[0], 30 * normal[1], normal[2]],
    }
    for dtype in (torch.float16, torch.bfloat16):
        for what, parts in inputs.items():
            half = [part.to(dtype) for part in parts]
            exact = F.scaled_dot_product_attention(*(part.double() for part in half))
            with unaided():
                got = ask(answer, *half)
            if got.dtype != dtype:
                return f"Expected the dtype of the input, {dtype}, got {got.dtype}."
            # Twice what rounding the exact result alone costs.
            budget = 2 * (exact.to(dtype).double() - exact).abs().max().item()
            if problem := compare(got, exact, budget, f"{dtype}, {what}"):
                return problem


@checker(3)
def check_backward(answer):
    generator = torch.Generator().manual_seed(3)
    for shape in ((5,), (4, 7), (2, 3, 9)):
        scores = torch.randn(
            shape,
            generator=generator,
            dtype=torch.float64,
            requires_grad=True,
        )
        upstream = torch.randn(shape, generator=generator, dtype=torch.float64)
        weights = scores.softmax(-1)
        (expected,) = torch.autograd.grad(weights, scores, upstream)
        got = ask(answer, weights.detach(), upstream)
        if problem := compare(got, expected, 1e-10, f"shape {shape}"):
            return problem


def plain(query, key, value, d=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(d or query.shape[-1])
    return scores.softmax(-1) @ value


def by_logarithms(query, key, value):
    scores = query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5
    return (scores - scores.logsumexp(-1, keepdim=True)).exp() @ value


def own_softmax(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    exps = scores.exp()
    return exps / exps.sum(-1, keepdim=True) @ value


def writes_to_query(query, key, value):
    query /= math.sqrt(query.shape[-1])
    return (query @ key.transpose(-2, -1)).softmax(-1) @ value


RIGHT = (F.scaled_dot_product_attention, plain, by_logarithms)
BUGS = {
    "takes the root of the value's size": lambda query, key, value: plain(
        query, key, value, value.shape[-1]
    ),
    "rounds the root of d down": lambda query, key, value: plain(
        query, key, value, math.isqrt(query.shape[-1]) ** 2
    ),
    "overflows when scores are large": own_softmax,
    "changes the caller's query": writes_to_query,
    "has no root": lambda query, key, value: plain(query, key, value, query.shape[-1] ** 2),
}


@checker(4)
def check_the_check(answer):
    torch.manual_seed(4)
    for function in RIGHT:
        verdict = ask(answer, function)
        if not isinstance(verdict, bool):
            return f"Expected True or False, got {type(verdict).__name__}."
        if not verdict:
            return "Your check turns down a function that is right."
    for what, function in BUGS.items():
        if ask(answer, function):
            return f"Your check lets a function pass that {what}."


@checker(5)
def check_temperature(answer):
    generator = torch.Generator().manual_seed(5)
    for spread, wanted in (
        (1, 4.0),
        (8, 4.0),
        (30, 1.5),
        (0.1, 10.0),
        (30, 15.9),
    ):
        scores = spread * torch.randn(16, generator=generator, dtype=torch.float64)
        temperature = float(ask(answer, scores, wanted))
        if not 0 < temperature < math.inf:
            return f"A temperature is greater than 0 and finite; got {temperature}."
        keys = (scores / temperature).softmax(-1)
        keys = torch.special.entr(keys).sum().exp().item()
        if not abs(keys - wanted) < 0.01:
            return f"At your temperature {temperature:.3g} a row has {keys:.2f} keys, not {wanted}."


@checker(6)
def check_two(answer):
    same, sharp = ask(answer)
    if not abs(same - 2) < 0.01:
        return (
            f"Without the scale, {same}: by what does the scale divide when a key has 4 features?"
        )
    if not abs(sharp - 0.316) < 0.002:
        return (
            f"With the scale, {sharp}: move the slider one stop at a time, and "
            "read the weight of the pinned cell."
        )


@checker(7)
def check_projections(answer):
    W_q, W_k = ask(answer)  # of black, cat, sleeps, each with a feature of its own
    for name, matrix in (("W_q", W_q), ("W_k", W_k)):
        if matrix.dim() != 2 or len(matrix) != 3:
            return f"{name}: expected shape (3, E), got {tuple(matrix.shape)}."
    weights = (W_q.double() @ W_k.double().T).softmax(-1)
    for row, word in ((0, "black"), (2, "sleeps")):
        if not weights[row, 1] >= 0.9:
            return f"{word} gives cat {weights[row, 1]:.2f} of its weight."
    if not (weights[1] - 1 / 3).abs().max() < 1e-3:
        shares = ", ".join(f"{weight:.2f}" for weight in weights[1])
        return f"cat gives black, cat and sleeps {shares}, not a third each."
