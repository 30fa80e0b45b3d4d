"""The check of the exercise of chapter 14c."""

import torch

from attnbook.exercises import ask, checker
from attnkit import masks


@checker(1)
def check_work(answer):
    for length, devices in ((8, 2), (48, 4), (96, 3)):
        seen = masks.causal(length).sum(-1)  # keys of each query
        for zigzag in (False, True):
            chunks = seen.split(length // devices // (2 if zigzag else 1))
            pairs = torch.stack([chunk.sum() for chunk in chunks])
            expected = (pairs + pairs.flip(0))[:devices] if zigzag else pairs
            got = ask(answer, length, devices, zigzag)
            what = f"{length} words, {devices} devices, {'zigzag' if zigzag else 'stretches'}"
            if not isinstance(got, (list, tuple)) or len(got) != devices:
                return f"{what}: expected a list of {devices} numbers."
            if [float(n) for n in got] != expected.tolist():
                return f"{what}: got {list(got)}, expected {expected.tolist()}."
