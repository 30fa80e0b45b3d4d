"""Checks of the exercises of chapter 08."""

import itertools

import torch
import torch.nn.functional as F
from torch import nn

from attnbook.exercises import ask, checker, compare, unaided


@checker(1)
def check_fused(answer):
    torch.manual_seed(2)
    for B, L, H, D in ((2, 5, 3, 4), (1, 6, 2, 8), (2, 4, 1, 5)):
        theirs = nn.MultiheadAttention(H * D, H, batch_first=True)
        nn.init.normal_(theirs.in_proj_bias)
        nn.init.normal_(theirs.out_proj.bias)
        x = torch.randn(B, L, H * D)
        with torch.no_grad():
            expected, weights = theirs(x, x, x, average_attn_weights=False)
            with unaided():
                got = ask(
                    answer,
                    x,
                    theirs.in_proj_weight,
                    theirs.in_proj_bias,
                    theirs.out_proj.weight,
                    theirs.out_proj.bias,
                    H,
                )
        what = f"B={B}, L={L}, H={H}, D={D}"
        if not isinstance(got, tuple) or len(got) != 2:
            return "Expected the output and the weights."
        if problem := compare(got[1], weights, 1e-5, f"{what}, weights"):
            return problem
        if problem := compare(got[0], expected, 1e-5, f"{what}, output"):
            return problem


@checker(2)
def check_without(answer):
    generator = torch.Generator().manual_seed(3)
    for B, H, L, D, off in (
        (2, 3, 4, 5, [1]),
        (1, 4, 3, 2, [0, 3]),
        (2, 2, 3, 4, []),
        (1, 2, 3, 4, [0, 1]),
    ):
        E = H * D
        heads = torch.randn(B, H, L, D, generator=generator)
        weight = torch.randn(E, E, generator=generator)
        bias = torch.randn(E, generator=generator)
        given = heads.clone(), weight.clone(), bias.clone()
        got = ask(answer, *given, list(off), copy=False)
        kept = [h for h in range(H) if h not in off]
        expected = bias.expand(B, L, E).clone()
        for h in kept:
            expected += heads[:, h] @ weight[:, h * D : (h + 1) * D].T
        what = f"{H} heads, off {off}"
        if problem := compare(got, expected, 1e-4, what):
            return problem
        for before, after in zip((heads, weight, bias), given, strict=True):
            if not torch.equal(before, after):
                return "It changes what it was given."


@checker(3)
def check_grouped(answer):
    generator = torch.Generator().manual_seed(4)
    for B, H, H_kv, L, S, D in (
        (2, 4, 2, 3, 5, 8),
        (1, 6, 2, 4, 4, 2),
        (2, 6, 3, 2, 5, 4),
        (1, 4, 1, 3, 7, 6),
        (2, 3, 3, 4, 6, 4),
    ):
        q = torch.randn(B, H, L, D, generator=generator)
        k, v = torch.randn(2, B, H_kv, S, D, generator=generator)
        expected = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
        with unaided():
            got = ask(answer, q, k, v)
        what = f"{H} heads, {H_kv} of keys"
        if not isinstance(got, tuple) or len(got) != 2:
            return "Expected the output, and the bytes of keys and values."
        if problem := compare(got[0], expected, 1e-5, what):
            return problem
        size = 2 * B * H_kv * S * D * 4
        if isinstance(got[1], torch.Tensor) or got[1] != size:
            return f"{what}: {got[1]} bytes; k and v as given take {size} together."


def readings(alpha, values, reads):
    "For each pair (a, b): whether both readings come out right."
    n = len(values)
    good = {}
    for a, b in itertools.permutations(range(n), 2):
        mix = alpha * values[a] + (1 - alpha) * values[b]
        left, right = (int((W @ mix).argmax()) for W in reads)
        good[a, b] = left == a and right == b
    return good


@checker(4)
def check_misread(answer):
    for n, alpha, size in (
        (4, 0.6, 4),
        (6, 0.55, 9),
        (8, 0.7, 8),
        (5, 0.4, 7),
    ):
        generator = torch.Generator().manual_seed(n)
        values = torch.linalg.qr(torch.randn(size, size, generator=generator).double())[0][:n]
        louder = 2.0 * max(alpha, 1 - alpha) / min(alpha, 1 - alpha)
        rank = louder ** torch.arange(n).double()
        rank = rank[torch.randperm(n, generator=generator)]
        reads = [values, rank[:, None] * values]
        if alpha < 0.5:
            reads.reverse()
        good = readings(alpha, values, reads)
        got = ask(answer, alpha, values, *reads)
        what = f"{n} commands, {alpha:.0%} on the left"
        if not isinstance(got, (tuple, list)) or len(got) != 2:
            return f"{what}: expected two numbers, left and right."
        pair = int(got[0]), int(got[1])
        if pair not in good:
            return f"{what}: {pair} is no pair of different commands."
        if good[pair]:
            return f"{what}: {pair} is read right both ways."


@checker(5)
def check_hidden(answer):
    expected = {"was": {2, 8}, "tired": {4, 7}}
    for (word, right), got in zip(expected.items(), ask(answer), strict=True):
        if extra := sorted(set(got) - right):
            return (
                f"Head {extra[0]}: open it large and read the row of *it*. Its"
                f" largest weight is not on {word!r}."
            )
        if len(set(got)) < len(right):
            return f"{word!r}: there are {len(right)} heads, and one is missing."
