"""Answers to the exercises of chapter 04 that are wrong, and what the checks must say of them."""

PARAMETERS = {1: "n, q, k, W, v", 2: "n, L, S, E, A", 3: "days", 4: "*x", 5: "w, g"}

WRONG = {
    (1, "weights in place of scores"): ("luong_scores(n, q, k, W, v).softmax(-1)", "dot, 3"),
    (1, "general without its matrix"):
        ("q @ k.T if n == 'general' else luong_scores(n, q, k, W, v)", "general, 3 queries"),
    (1, "concat without the tanh"):
        ("added(q, k, W) @ v if n == 'concat' else luong_scores(n, q, k, W, v)", "concat, 3"),
    (1, "attnkit's"): ("attnkit.functional.dot_scores(q, k)", "a ready-made function"),
    (2, "no projections"):
        ("(L * S * (A if n == 'concat' else E), score_cost(n, L, S, E, A)[1])", "A=128: 606720"),
    (2, "every pair projected anew"):
        ("(L * S * (2 * E * A + A), L * S * A) if n == 'concat' else score_cost(n, L, S, E, A)",
         "concat, L=30, S=30, E=128, A=128: 1098240 multiply-adds"),
    (2, "one tanh a pair"):
        ("(score_cost(n, L, S, E, A)[0], L * S * (n == 'concat'))", "115200 tanhs, you say 900"),
    (2, "general projects the keys"):
        ("(S * E * E + L * S * E, 0) if n == 'general' else score_cost(n, L, S, E, A)",
         "general, L=1, S=7"),
    (3, "identity"):
        ("10 * torch.linalg.pinv(days) @ torch.linalg.pinv(days).T", "day 0 looks at itself"),
    (3, "yesterday"): ("matrix_for_tomorrow(days).T", "day 0 looks at the day before"),
    (3, "too small"): ("matrix_for_tomorrow(days) / 10", "with a weight of only"),
    (3, "as if the days were one-hot"): ("10 * torch.eye(days.shape[-1]).roll(1, 1)", "looks at"),
    (3, "Sunday has no day after"):
        ("10 * pinv(days) @ torch.eye(7).roll(1, 1).triu() @ pinv(days).T", "day 6 looks at"),
    (4, "as it came"): ("broken_step", "2 sentences of 5 words, step 1: the old state asks"),
    (4, "state before context"): ("step(*x, order=-1)", "step 1, the attentional state: off by"),
    (4, "fed before the word"):
        ("lambda c, W, m, y, s, f: step_of_luong(c, W, m, f, s, y)", "step 1, the new state: off"),
    (4, "nothing fed"):
        ("lambda c, W, m, y, s, f: step_of_luong(c, W, m, y, s, 0 * f)", "2, the new state: off"),
    (4, "scaled scores"): ("step(*x, scale=0.5)", "step 1, the weights: off by"),
    (4, "a dimension missing"):
        ("step(*x, careless=x[2].shape[0] == x[2].shape[1])", "3 words, step 1, the weights: off"),
    (5, "always on time"): ("lambda w, g: 0", "Rows that come +1 words late: you say +0"),
    (5, "only the first sentence"): ("words_late(w[:1], g[:1])", "words late: you say"),
    (5, "never early"): ("max(words_late(w, g), 0)", "Rows that come -1 words late: you say +0"),
    (5, "at most one word"): ("max(-1, min(1, words_late(w, g)))", "+2 words late: you say +1"),
    (6, "the same for all"): ("lambda: (0.5, 0.5, 0.5)", "general: got 0.5. Choose that model"),
    (6, "the weight on small"): ("lambda: (0.5, 0.0, 0.6)", "general: got 0.0"),
    (6, "before black is hidden"): ("lambda: (0.0, 0.0, 0.0)", "dot: got 0.0"),
}  # fmt: skip

CELLS = ("exercise-4-broken",)
HELPERS = """
pinv = torch.linalg.pinv

def added(q, k, W):
    size = q.shape[-1]
    return (q @ W[:, :size].T)[:, None] + k @ W[:, size:].T

def step(cell, W_c, memory, y, state, fed, order=1, scale=1.0, careless=False):
    new = cell(torch.cat([y, fed], -1), state)
    if careless:
        weights = (new * memory).sum(-1).softmax(-1)
    else:
        weights = (scale * (new[:, None] * memory).sum(-1)).softmax(-1)
    pair = [(weights[..., None] * memory).sum(1), new][::order]
    return new, torch.tanh(torch.cat(pair, -1) @ W_c.T), weights
"""
