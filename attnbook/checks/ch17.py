"""Check of the exercise of chapter 17."""

import torch

from attnbook.exercises import ask, checker, compare


@checker(1)
def check_induction(answer):
    once = 4
    perfect = torch.zeros(1, 1, 2 * once, 2 * once)
    for place in range(once, 2 * once):
        perfect[0, 0, place, place - once + 1] = 1.0
    got = ask(answer, perfect)
    where = "a head that looks there alone"
    if problem := compare(got, torch.ones(1, 1), 1e-6, where):
        return problem
    generator = torch.Generator().manual_seed(17)
    weights = torch.randn(2, 3, 2 * once, 2 * once, generator=generator).softmax(-1)
    expected = sum(weights[..., place, place - once + 1] for place in range(once, 2 * once)) / once
    return compare(ask(answer, weights), expected, 1e-6, "2 layers of 3 heads, 4 tokens twice")
