"""Answers to the exercises of chapter 14 that are wrong, and what the checks must say of them."""

PARAMETERS = {1: "n, w, d", 2: "q, k, v, state", 3: "f", 4: "q, k, v, a, b"}

WRONG = {
    (1, "the window is always full"): ("(n * w * 2 * d, counts(n, w, d)[1])", "window takes 40"),
    (1, "no window"): ("(counts(n, n, d)[0], counts(n, w, d)[1])", "window 2, 2 features: window"),
    (1, "linear without its normaliser"): ("(counts(n, w, d)[0], n * 2 * d * d)", "linear takes"),
    (2, "adds the segment before it reads"): ("leaky", "segments of [4], words 0 to 3: off by"),
    (2, "forgets the state"): ("segment(q, k, v, None)", "words 1 to 1: off by"),
    (2, "no normaliser"): ("undivided", "segments of [1], words 0 to 0: off by"),
    (2, "keeps every word"): ("keeps", "The state grows"),
    (2, "attnkit's"): ("attnkit.efficient.linear_attention_segment(q, k, v)", "ready-made"),
    (3, "lets everything pass"): ("lambda f: True", "has no normaliser"),
    (3, "lets nothing pass"): ("lambda f: False", "turn down the right one"),
    (3, "only a short text"): ("close(f, 12)", "forgets the state"),
    (3, "only values of 1"): ("bool(torch.allclose(f(*ones(40)), ones(40)[2]))", "rest of its"),
    (3, "passes a window"): ("plausible(f) and f.__name__ != 'forgets'", "is a window of 4"),
    (4, "fades what it has just written"): ("fades_late", "beta 1: output: off by"),
    (4, "reads before it writes"): ("reads_early", "alpha and beta 1: output: off by"),
    (4, "writes with full strength"): ("gated_delta(q, k, v, a, b * 0 + 1)", "1: output: off"),
    (4, "the state turned over"):
        ("lambda *x: (gated_delta(*x)[0], gated_delta(*x)[1].T)", "alpha and beta 1: state"),
}  # fmt: skip

HELPERS = """
def features(q, k):
    return torch.nn.functional.elu(q) + 1, torch.nn.functional.elu(k) + 1

def begin(f, g, v, state):
    return (g.T @ v * 0, g.sum(0) * 0) if state is None else state

def leaky(q, k, v, state):
    f, g = features(q, k)
    S, z = begin(f, g, v, state)
    S, z = S + g.T @ v, z + g.sum(0)
    return f @ S / (f @ z)[:, None], (S, z)

def undivided(q, k, v, state):
    f, g = features(q, k)
    S, z = begin(f, g, v, state)
    return f @ S + (f @ g.T).tril() @ v, (S + g.T @ v, z)

def keeps(q, k, v, state):
    n = 0 if state is None else len(state[0])
    K, V = (k, v) if state is None else (torch.cat([state[0], k]), torch.cat([state[1], v]))
    f, g = features(q, K)
    shares = (f @ g.T).tril(n)
    return shares @ V / shares.sum(-1, keepdim=True), (K, V)

def draw(n):
    return torch.randn(3, n, 8).double().unbind()

def ones(n):
    q, k, v = torch.rand(3, n, 8).double().unbind()
    return q, k, torch.ones_like(v)

def close(form, n):
    q, k, v = draw(n)
    f, g = features(q, k)
    shares = (f @ g.T).tril()
    return bool(torch.allclose(form(q, k, v), shares @ v / shares.sum(-1, keepdim=True)))

def leak(form):
    q, k, v = draw(40)
    other = [torch.cat([x[:-1], -x[-1:]]) for x in (q, k, v)]
    return not torch.allclose(form(q, k, v)[:-1], form(*other)[:-1])

def plausible(form):
    q, k, v = draw(40)
    one = torch.ones_like(v)
    right = torch.allclose(form(q, k, one), one) and form(q, k, v.clamp(-1, 1)).abs().max() <= 1
    return bool(right) and not leak(form)

def rule(q, k, v, alpha, beta, step, early=False):
    S, outputs = torch.zeros(v.shape[1], k.shape[1]).to(v), []
    for query, key, value, a, b in zip(q, k, v, alpha, beta):
        before, S = S, step(S, key, value, a, b)
        outputs.append((before if early else S) @ query)
    return torch.stack(outputs), S

def written(S, key, value, a, b):
    return a * S + torch.outer(b * (value - a * S @ key), key)

def fades_late(*x):
    return rule(*x, lambda S, k, v, a, b: a * (S + torch.outer(b * (v - S @ k), k)))

def reads_early(*x):
    return rule(*x, written, early=True)
"""
