"""Checks of the exercises of chapter 11."""

import torch

from attnbook.exercises import ask, checker, compare


@checker(1)
def check_choose(answer):
    for scores, k, expected in (
        ([0.1, 2.0, -1.0, 1.5], 2, [1, 3]),
        ([3.0, 1.0, 2.0, -torch.inf], 3, [0, 1, 2]),
        ([0.0, 5.0, 4.0, 6.0, 3.0], 3, [1, 2, 3]),
    ):
        got = list(map(int, ask(answer, torch.tensor(scores), k)))
        if got != expected:
            return f"Of scores {scores}, k = {k}: expected {expected}, got {got}."


@checker(2)
def check_rouge(answer):
    for told, reference, expected in (
        ("the cat sat", "the cat sat down", 6 / 7),
        ("the the the the", "the cat", 1 / 3),
        ("a dog", "the cat", 0.0),
        ("cat the cat", "the cat saw the cat", 0.75),
    ):
        got = torch.tensor(float(ask(answer, told.split(), reference.split())))
        what = f"{told!r} against {reference!r}"
        if problem := compare(got, torch.tensor(expected), 1e-6, what):
            return problem


@checker(3)
def check_diverse(answer):
    vectors = torch.tensor([[1.0, 0.0], [0.96, 0.28], [0.6, 0.8], [0.0, 1.0]])
    close, even = [0.9, 0.88, 0.7, 0.05], [0.9, 0.8, 0.7, 0.4]
    for scores, k, balance, expected in (
        (close, 2, 1.0, [0, 1]),
        (close, 2, 0.5, [0, 2]),
        (close, 3, 0.5, [0, 1, 2]),
        (close, 1, 0.5, [0]),
        (even, 3, 0.5, [0, 2, 3]),
    ):
        got = sorted(map(int, ask(answer, torch.tensor(scores), vectors, k, balance)))
        if got != expected:
            what = f"scores {scores}, k = {k}, balance = {balance}"
            return f"{what}: expected {expected}, got {got}."


@checker(4)
def check_about(answer):
    for who, events in (
        ([0, 1, 0], [1, 1, 0]),
        ([0, 1, 1, 1, 2, 0], [1, 0, 1, 0, 1, 1]),
        ([2, 0, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0]),
    ):
        names = torch.eye(max(who) + 1)[who]  # (N, V)
        got = ask(answer, names, torch.tensor(events).float())
        if tuple(torch.as_tensor(got).shape) != (len(who),):
            return f"Return one score for each of the {len(who)} sentences."
        main = max(who, key=who.count)
        wanted = [n for n, one in enumerate(who) if one == main and events[n]]
        others = [float(got[n]) for n in range(len(who)) if n not in wanted]
        for n in wanted:
            if float(got[n]) <= max(others):
                return (
                    f"Names {who}, events {events}: sentence {n} is an event of the person named "
                    f"most, and scores {float(got[n]):.2f}; another sentence has {max(others):.2f}."
                )
