"""Checks of the exercises of chapter 07."""

import math

import torch

from attnbook.exercises import ask, checker, compare, unaided

W_LAYERS = torch.randn(3, 8, 8, generator=torch.Generator().manual_seed(7))
W_LAYERS = W_LAYERS.double() / 8**0.5


def layer(kind):
    "Self-attention (B, L, 8) -> (B, L, 8), of the kind named."

    def forward(x):
        L = x.shape[1]
        place = torch.arange(L, dtype=x.dtype)
        if kind == "places on the embeddings":
            x = x + place[:, None].sin()
        q, k, v = (x @ w for w in W_LAYERS.to(x.dtype))  # (B, L, 8)
        scores = q @ k.mT / 8**0.5  # (B, L, L)
        if kind == "a causal mask":
            scores = scores.masked_fill(place > place[:, None], -math.inf)
        if kind == "a penalty on distance":
            scores = scores - (place - place[:, None]).abs() / 4
        if kind == "a causal mask beyond eight words" and L > 8:
            scores = scores.masked_fill(place > place[:, None], -math.inf)
        out = scores.softmax(-1) @ v
        if kind == "a norm of each word":
            out = out - out.mean(-1, keepdim=True)
        if kind == "a mean over the sentence":
            out = out - out.mean(1, keepdim=True)
        return out

    return forward


BLIND = "no positions", "a norm of each word", "a mean over the sentence"
SEES = (
    "places on the embeddings",
    "a causal mask",
    "a penalty on distance",
    "a causal mask beyond eight words",
)


@checker(1)
def check_blind(answer):
    torch.manual_seed(0)
    for kind in BLIND + SEES:
        for _ in range(3):
            verdict = ask(answer, layer(kind))
            if not isinstance(verdict, bool):
                got = type(verdict).__name__
                return f"Expected True or False, got {got}."
            if verdict != (kind in BLIND):
                said = "blind" if verdict else "not blind"
                return f"You call a layer with {kind} {said}."


def exact_turn(x, first):
    "In complex numbers, in float64."
    x = x.double()
    L, D = x.shape[-2:]
    speed = 10000.0 ** (-torch.arange(0, D, 2).double() / D)
    places = first + torch.arange(L).double()
    angle = places[:, None] * speed  # (L, D / 2)
    z = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    turned = z * torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(turned).flatten(-2)


@checker(2)
def check_turn(answer):
    generator = torch.Generator().manual_seed(2)
    for shape, first in (
        ((1, 2), 0),
        ((4, 2), 0),
        ((5, 8), 0),
        ((3, 8), 7),
        ((2, 3, 5, 6), 2),
    ):
        x = torch.randn(shape, generator=generator)
        with unaided():
            got = ask(answer, x, first)
        what = f"x of shape {shape}, first place {first}"
        if problem := compare(got, exact_turn(x, first), 1e-4, what):
            return problem


@checker(3)
def check_penalties(answer):
    for heads, new, cached in ((1, 3, 0), (8, 4, 0), (4, 1, 5), (2, 3, 4)):
        with unaided():
            got = ask(answer, heads, new, cached)
        expected = torch.tensor(
            [
                [
                    [
                        -(2 ** (-8 * (h + 1) / heads)) * (i + cached - j)
                        if j <= i + cached
                        else -math.inf
                        for j in range(cached + new)
                    ]
                    for i in range(new)
                ]
                for h in range(heads)
            ]
        )
        what = f"{heads} heads, {new} new, {cached} cached"
        if not isinstance(got, torch.Tensor):
            return f"{what}: expected a tensor, got {type(got).__name__}."
        if got.shape == expected.shape:
            seen = expected.isfinite()
            if got.isnan().any():
                return f"{what}: the bias holds NaN."
            if (wrong := (got == -math.inf) & seen).any():
                _, i, j = wrong.nonzero()[0].tolist()
                return f"{what}: query {i} must see key {j}."
            if (wrong := (got != -math.inf) & ~seen).any():
                _, i, j = wrong.nonzero()[0].tolist()
                return f"{what}: query {i} must not see key {j}."
            got, expected = got[seen], expected[seen]
        if problem := compare(got, expected, 1e-4, what):
            return problem


def scheme(kind):
    "scores(query, key, first): (L, D), (L, D) and a place -> (L, L)."

    def scores(query, key, first=0):
        L = query.shape[0]
        place = first + torch.arange(L, dtype=query.dtype)
        far = (place[:, None] - place).abs()
        if kind == "turns both alike":
            query, key = exact_turn(query, first), exact_turn(key, first)
        if kind == "adds a number for each distance":
            return query @ key.T - far / 8
        if kind == "turns the queries only":
            query = exact_turn(query, first)
        if kind == "turns the keys the other way":
            query = exact_turn(query, first)
            key = exact_turn(key.flip(-1), first).flip(-1)
        if kind == "adds waves to the embeddings":
            wave = torch.stack([place.sin(), place.cos()], -1)
            wave = wave.repeat(1, query.shape[1] // 2)
            query, key = query + wave, key + wave
        if kind == "turns both, from place 0 again after 64":
            late = (place >= 64)[:, None]
            query, key = (
                torch.where(late, exact_turn(x, first - 64), exact_turn(x, first))
                for x in (query, key)
            )
        return query @ key.T

    return scores


KEEPS = "turns both alike", "adds a number for each distance", "does nothing"
BREAKS = (
    "turns the queries only",
    "turns the keys the other way",
    "adds waves to the embeddings",
    "turns both, from place 0 again after 64",
)


@checker(4)
def check_shift(answer):
    torch.manual_seed(0)
    for kind in KEEPS + BREAKS:
        verdict = ask(answer, scheme(kind))
        if not isinstance(verdict, bool):
            return f"Expected True or False, got {type(verdict).__name__}."
        if not verdict and kind in KEEPS:
            return f"You turn down a scheme that {kind}."
        if verdict and kind in BREAKS:
            return f"You let a scheme pass that {kind}."
