"""Checks of the exercises of chapter 04."""

import torch
from torch import nn

from attnbook.exercises import ask, checker, compare, unaided


@checker(1)
def check_scores(answer):
    generator = torch.Generator().manual_seed(1)

    def draw(*shape):
        return torch.randn(shape, generator=generator)

    for L, S, Eq, Ek, A in (
        (3, 5, 4, 4, 6),
        (1, 2, 3, 5, 7),
        (6, 4, 5, 2, 3),
    ):
        q, k, v = draw(L, Eq), draw(S, Ek), draw(A)
        general, concat = draw(Eq, Ek), draw(A, Eq + Ek)
        pairs = torch.cat(
            [
                q[:, None].expand(L, S, Eq),
                k[None].expand(L, S, Ek),
            ],
            -1,
        )  # (L, S, Eq + Ek)
        expected = {
            "general": (general, None, (q @ general) @ k.T),
            "concat": (concat, v, torch.tanh(pairs @ concat.T) @ v),
        }
        if Eq == Ek:
            expected = {"dot": (None, None, q @ k.T)} | expected
        for name, (W, weigher, right) in expected.items():
            with unaided():
                got = ask(answer, name, q, k, W, weigher)
            sizes = f"{name}, {L} queries of {Eq}, {S} keys of {Ek}"
            if problem := compare(got, right, 1e-4, sizes):
                return problem


@checker(2)
def check_cost(answer):
    for L, S, E, A in ((30, 30, 128, 128), (1, 7, 8, 16), (5, 2, 3, 4)):
        expected = {
            "dot": (L * S * E, 0),
            "general": (L * E * E + L * S * E, 0),
            "concat": (L * E * A + S * E * A + L * S * A, L * S * A),
        }
        for name, right in expected.items():
            got = ask(answer, name, L, S, E, A)
            if not isinstance(got, tuple) or len(got) != 2:
                return "Expected two numbers: multiply-adds, tanhs."
            words = ("multiply-adds", "tanhs")
            for what, mine, yours in zip(words, right, got, strict=True):
                if yours != mine:
                    return f"{name}, L={L}, S={S}, E={E}, A={A}: {mine} {what}, you say {yours}."


@checker(3)
def check_tomorrow(answer):
    for seed, size in ((0, 16), (1, 16), (2, 7), (3, 40)):
        generator = torch.Generator().manual_seed(seed)
        days = torch.randn(7, size, generator=generator)
        W = ask(answer, days)
        if not isinstance(W, torch.Tensor) or W.shape != (size, size):
            return f"Expected a tensor of shape {(size, size)}."
        if not W.isfinite().all():
            return "The matrix holds NaN or Inf."
        weights = (days @ W.to(days) @ days.T).softmax(-1)  # (7, 7)
        for day in range(7):
            most = weights[day].argmax().item()
            if most != (day + 1) % 7:
                where = {0: "itself", 6: "the day before"}
                place = where.get((most - day) % 7, "another day")
                return f"{size} features: day {day} looks at {place}."
            if not weights[day, most] > 0.9:
                share = weights[day, most].item()
                return (
                    f"{size} features: day {day} looks at the day after,"
                    f" with a weight of only {share:.2f}."
                )


@checker(4)
def check_step(answer):
    for B, S, E, H in ((2, 5, 3, 4), (3, 3, 4, 6), (1, 2, 6, 3)):
        torch.manual_seed(B)
        cell = nn.GRUCell(E + H, H).double()
        W_c = torch.randn(H, 2 * H).double()
        memory, state = torch.randn(B, S, H).double(), torch.randn(B, H).double()
        fed = torch.zeros(B, H).double()
        for t in range(3):
            y = torch.randn(B, E).double()
            where = f"{B} sentences of {S} words, step {t + 1}"
            with torch.no_grad():
                with unaided():
                    got = ask(answer, cell, W_c, memory, y, state, fed)
                late = (memory @ state[:, :, None]).softmax(1)[..., 0]
                state = cell(torch.cat([y, fed], -1), state)
                weights = (memory @ state[:, :, None]).softmax(1)  # (B, S, 1)
                context = (weights * memory).sum(1)
                joined = torch.cat([context, state], -1)
                fed = torch.tanh(joined @ W_c.T)
            if not isinstance(got, tuple) or len(got) != 3:
                return "Expected three: the new state, the attentional state, the weights."
            named = {
                "the new state": (got[0], state),
                "the weights": (got[2], weights[..., 0]),
                "the attentional state": (got[1], fed),
            }
            for name, (yours, mine) in named.items():
                if problem := compare(yours, mine, 1e-6, f"{where}, {name}"):
                    if name == "the weights" and not compare(yours, late, 1e-6, ""):
                        return f"{where}: the old state asks."
                    return problem


@checker(5)
def check_offset(answer):
    generator = torch.Generator().manual_seed(5)
    for late in (0, 1, -1, 2, -2):
        weights, gold = [], []
        for number in range(8):
            T = S = 4 + number % 3
            place = torch.randperm(S, generator=generator)
            scores = torch.rand(T, S, generator=generator)
            scores[torch.arange(T), place] += 1.5
            weights.append(scores.softmax(-1).roll(late, 0))
            gold.append({(t, place[t].item()) for t in range(T)})
        # The first sentence alone would tell another story.
        weights[0], gold[0] = (
            torch.eye(3).roll(late - 1, 0),
            {
                (0, 0),
                (1, 1),
                (2, 2),
            },
        )
        got = ask(answer, weights, gold)
        if isinstance(got, bool) or not isinstance(got, int):
            return f"Expected an int, got {type(got).__name__}."
        if got != late:
            return f"Rows that come {late:+d} words late: you say {got:+d}."


@checker(6)
def check_hidden(answer):
    names = ("dot", "general", "concat")
    for name, right, got in zip(names, (0.5, 1.0, 0.3), ask(answer), strict=True):
        if not abs(got - right) < 0.051:
            return (
                f"{name}: got {got}. Choose that model, hide black, and read "
                "the cell in the row noir, column cat."
            )
