"""Checks of the exercises of chapter 01."""

import math

import torch

from attnbook.exercises import ask, checker, compare


@checker(1)
def check_bias(answer):
    for steps in (1, 2, 10, 100, 1000):
        bias = float(ask(answer, steps))
        left = (1 / (1 + math.exp(-bias))) ** steps
        if not abs(left - 0.5) < 1e-4:
            return f"With your bias, {left:.4f} of the state is left at step {steps}, not 0.5."


@checker(2)
def check_last(answer):
    generator = torch.Generator().manual_seed(2)
    for lengths, longest, hidden in (
        ([3, 3], 3, 4),
        ([1, 5, 3], 5, 2),
        ([2, 4], 7, 3),
        ([2, 0, 6], 6, 5),
    ):
        states = torch.randn(len(lengths), longest, hidden, generator=generator)
        expected = torch.stack(
            [
                row[n - 1] if n else torch.zeros(hidden)
                for row, n in zip(states, lengths, strict=True)
            ]
        )
        for row, n in zip(states, lengths, strict=True):
            row[n:] = math.nan if n else 7.0  # nobody may look there
        got = ask(answer, states, torch.tensor(lengths))
        what = f"lengths {lengths} in {longest} columns"
        if problem := compare(got, expected, 0.0, what):
            return problem


@checker(3)
def check_place(answer):
    for sources, written, expected in (
        (["abc", "abd"], ["cba", "dba"], [1, 1, 1]),
        (["abcd"], ["dcbx"], [0, 1, 1, 1]),
        (["abcd", "bacd"], ["dc", "xcab"], [0.5, 0.5, 1, 0.5]),
        (["abc"], ["cbaa"], [1, 1, 1]),
        (["ab", "ba", "bb"], ["", "ab", "bbb"], [2 / 3, 2 / 3]),
    ):
        got = ask(answer, sources, written)
        if len(got) != len(expected):
            return f"Expected {len(expected)} shares, got {len(got)}."
        pairs = enumerate(zip(got, expected, strict=True), 1)
        for place, (share, right) in pairs:
            if not abs(float(share) - right) < 1e-6:
                return (
                    f"Sources {sources}, written {written}: place {place} "
                    f"of the source is right in {right:.2f} of them, "
                    f"not {share:.2f}."
                )


@checker(4)
def check_write(answer):
    # A toy decoder: token t in state s is followed by t + s, in state s + 1.
    for first, most, expected in (
        (1, 10, [1, 3, 6, 10]),
        (1, 3, [1, 3, 6]),
        (2, 10, [2, 5, 9]),
        (11, 10, []),
        (1, 0, []),
    ):
        taken = []

        def step(token, state, taken=taken):
            taken.append(token)
            if len(taken) > 50:
                raise RuntimeError("fifty steps, and still no end")
            scores = torch.zeros(12)
            scores[min(int(token) + int(state), 11)] = 1.0
            return scores, state + 1

        # The start symbol is 0, the end symbol 11.
        got = ask(answer, step, first, 0, 11, most)
        got = [int(token) for token in got]
        if got != expected:
            return (
                f"At most {most} tokens: expected {expected}, got {got}; "
                f"your steps read {[int(token) for token in taken]}."
            )


@checker(5)
def check_read(answer):
    generator = torch.Generator().manual_seed(5)
    for dtype, count in (
        (torch.float32, 1),
        (torch.float32, 6),
        (torch.float64, 7),
        (torch.float64, 13),
    ):
        for case in range(20):
            letters = torch.randint(16, (count,), generator=generator)
            if case == 0:
                letters = torch.full((count,), 15)
            h = torch.zeros((), dtype=dtype)
            for letter in letters:
                h = h / 16 + letter.to(dtype) / 16
            got = [int(letter) for letter in ask(answer, h, count)]
            if got != letters.tolist():
                return f"{count} letters in one {dtype}: expected {letters.tolist()}, got {got}."
