"""The check of the exercise of chapter 16b."""

import torch

from attnbook.exercises import ask, checker
from attnkit import masks


def _map(length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Even weights under a causal mask, both (L, L): the first key is padding."""
    visible = masks.causal(length)
    visible[:, 0] = False
    return visible / visible.sum(-1, keepdim=True), visible


@checker(1)
def check_impossible(answer):
    weights, visible = _map(6)
    got = ask(answer, weights.nan_to_num(), visible)
    if not isinstance(got, list) or not all(type(row) is int for row in got):
        return "Expected a list of whole numbers, such as [2, 5]."
    if got:
        return f"Row {got[0]} is fine, or belongs to a query that may see nothing."
    if got := ask(answer, weights, visible):
        return f"Row {got[0]} is NaN, as it may be: its query may see nothing."
    breaks = {
        "a leak of 0.01 to what lies ahead": {(2, 5): 0.01, (2, 2): weights[2, 2] - 0.01},
        "a leak to padding": {(3, 0): 0.2, (3, 3): weights[3, 3] - 0.2},
        "a sum of 0.9": {(4, 4): weights[4, 4] - 0.1},
        "a negative weight in a row that sums to 1": {(5, 1): -0.2, (5, 5): 0.6},
        "NaN where the query may see keys": {(4, place): torch.nan for place in range(6)},
        "one NaN": {(5, 2): torch.nan},
    }
    for what, cells in breaks.items():
        wrong = weights.clone()
        for place, weight in cells.items():
            wrong[place] = weight
        row = next(iter(cells))[0]
        if (got := ask(answer, wrong, visible)) != [row]:
            return f"Row {row} alone has {what}: expected [{row}], got {got}."
    if got := ask(answer, weights + 1e-7 * visible, visible):
        return f"Row {got[0]} sums to 1 but for rounding."
    if got := ask(answer, weights.bfloat16().float(), visible):
        return f"Row {got[0]} sums to 1 but for the rounding of bfloat16."
