"""Checks of the exercises of chapter 14."""

import torch

from attnbook.exercises import ask, checker, compare, unaided


@checker(1)
def check_count(answer):
    for length, window, features in (
        (4, 4, 2),
        (4, 2, 2),
        (100, 7, 16),
        (5, 64, 8),
        (1000, 1, 8),
    ):
        pairs = sum(min(i + 1, window) for i in range(length))
        right = pairs * 2 * features, length * (2 * features**2 + features)
        got = ask(answer, length, window, features)
        if not isinstance(got, tuple) or len(got) != 2:
            return "Expected two counts."
        for name, one, expected in zip(("window", "linear"), got, right, strict=True):
            if one != expected:
                what = f"{length} words, window {window}, {features} features"
                return f"{what}: {name} takes {expected:,}, not {one:,}."


def shares_of(q, k):
    phi_q, phi_k = (torch.nn.functional.elu(x) + 1 for x in (q, k))
    return (phi_q @ phi_k.T).tril()  # (L, L)


def linear_whole(q, k, v):
    shares = shares_of(q, k)
    return shares @ v / shares.sum(-1, keepdim=True)


@checker(2)
def check_segment(answer):
    generator = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 9, 4, generator=generator).double().unbind()
    v = torch.randn(9, 3, generator=generator).double()
    for sizes in ([1], [4], [1] * 9, [9], [4, 5], [2, 1, 6]):
        state, outputs, begin = None, [], 0
        for size in sizes:
            part = slice(begin, begin + size)
            with unaided():
                got = ask(answer, q[part], k[part], v[part], state)
            if not isinstance(got, tuple) or len(got) != 2:
                return "Expected (output, state)."
            output, state = got
            expected = linear_whole(q, k, v)[part]
            what = f"segments of {sizes}, words {begin} to {begin + size - 1}"
            if problem := compare(output, expected, 1e-9, what):
                return problem
            outputs.append(output)
            begin += size
        if sum(x.numel() for x in state) > 4 * 3 + 4:
            return "The state grows with the text."


def window_whole(q, k, v, w):
    i, j = torch.arange(len(q))[:, None], torch.arange(len(q))
    hidden = (j > i) | (j <= i - w)
    scores = (q @ k.T / q.shape[-1] ** 0.5).masked_fill(hidden, -torch.inf)
    return scores.softmax(-1) @ v


def leaks(q, k, v):
    "Segments of 8, added before they are read."
    rows = torch.arange(len(q))[:, None] // 8
    phi_q, phi_k = (torch.nn.functional.elu(x) + 1 for x in (q, k))
    shares = (phi_q @ phi_k.T) * (torch.arange(len(q)) // 8 <= rows)
    return shares @ v / shares.sum(-1, keepdim=True)


def negative(q, k, v):
    shares = (q @ k.T).tril()
    return shares @ v / shares.sum(-1, keepdim=True)


def forgets(q, k, v):
    "The state starts afresh every 16 words."
    rows = torch.arange(len(q))[:, None] // 16
    shares = shares_of(q, k) * (torch.arange(len(q)) // 16 == rows)
    return shares @ v / shares.sum(-1, keepdim=True)


FORMS_TO_JUDGE = {
    "": linear_whole,
    "has no normaliser": lambda q, k, v: shares_of(q, k) @ v,
    "shows a word the rest of its segment": leaks,
    "lets features be negative": negative,
    "forgets the state after 16 words": forgets,
    "is a window of 4": lambda q, k, v: window_whole(q, k, v, 4),
}


@checker(3)
def check_judge(answer):
    torch.manual_seed(0)
    for what, form in FORMS_TO_JUDGE.items():
        verdict = ask(answer, form)
        if not isinstance(verdict, bool):
            return f"Expected True or False, got {type(verdict).__name__}."
        if not verdict and not what:
            return "You turn down the right one."
        if verdict and what:
            return f"You let one pass that {what}."


@checker(4)
def check_gated(answer):
    generator = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 7, 4, generator=generator).double().unbind()
    k = torch.nn.functional.normalize(k, dim=-1)
    v = torch.randn(7, 3, generator=generator).double()
    alpha, beta = (0.1 + 0.8 * torch.rand(2, 7, generator=generator)).double().unbind()
    one = torch.ones_like(alpha)
    for what, *gates in (
        ("alpha and beta 1", one, one),
        ("beta 1", alpha, one),
        ("alpha 1", one, beta),
        ("both gates below 1", alpha, beta),
    ):
        with unaided():
            got = ask(answer, q, k, v, *gates)
        if not isinstance(got, tuple) or len(got) != 2:
            return "Expected (output, state)."
        state, outputs = torch.zeros(3, 4).double(), []
        for query, key, value, a, b in zip(q, k, v, *gates, strict=True):
            kept = torch.eye(4).double() - b * torch.outer(key, key)
            state = a * state @ kept + b * torch.outer(value, key)
            outputs.append(state @ query)
        for name, one_of, expected in zip(
            ("output", "state"), got, (torch.stack(outputs), state), strict=True
        ):
            if problem := compare(one_of, expected, 1e-9, f"{what}: {name}"):
                return problem
