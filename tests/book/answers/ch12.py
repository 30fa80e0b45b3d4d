"""Answers to the exercises of chapter 12 that are wrong, and what the checks must say of them."""

PARAMETERS = {1: "*a", 2: "b", 3: "a, b", 4: "q, k, v, o, l, g, n", 5: "w, k, o, r, t, p, b"}

WRONG = {
    (1, "numbers, not bytes"): ("(costs(*a)[0] // 4, costs(*a)[1])", "E=8: autograd keeps 16,384"),
    (1, "forgets the logsumexp"):
        ("lambda f, B, H, L, E: (4 * B * H * L * E, 7) if f == 'fused' else costs(f, B, H, L, E)",
         "fused, B=1, H=1, L=64, E=8: autograd keeps"),
    (1, "forgets the heads"): ("lambda f, B, H, L, E: costs(f, B, 1, L, E)", "H=4"),
    (1, "backward as long as forward"): ("(costs(*a)[0], costs(*a)[1] - 2)", "6 products, not 4"),
    (1, "nothing done twice"): ("(costs(*a)[0], 6)", "counts 7 products, not 6"),
    (2, "never mends"): ("online(b, 'never mends')", "blocks of 4: output: off"),
    (2, "no maximum"): ("online(b, 'no maximum')", "scores of thousands: output"),
    (2, "starts at 0"): ("online(b, 'starts at 0')", "scores near -2000"),
    (2, "minus infinity less itself"): ("online(b, 'inf')", "block: output: the result holds NaN"),
    (2, "hides with -1e9"): ("online(b, '-1e9')", "a row that sees nothing: output: off"),
    (2, "divides by nothing"): ("online(b, 'divides by 0')", "nothing: output: the result"),
    (2, "logarithm of the sum alone"): ("online(b, 'log d')", "logsumexp: off"),
    (2, "collects the blocks"):
        ("online([(torch.cat(s, -1), torch.cat(v)) for s, v in [zip(*b)]])", "it keeps"),
    (2, "attnkit's"): ("attnkit.masked_softmax(*next(b))", "a ready-made function"),
    (3, "the mean of the two"): ("((a[0] + b[0]) / 2, torch.logaddexp(a[1], b[1]))", "output: off"),
    (3, "nothing joined with nothing"): ("nothing_is_nan", "a row that sees nothing: output"),
    (3, "of the rounded total"):
        ("(sum(o * (l - join(a, b)[1]).exp()[:, None] for o, l in (a, b)), join(a, b)[1])",
         "subtract the two from each other"),
    (3, "adds the logsumexps"): ("(join(a, b)[0], a[1] + b[1])", "logsumexp: off"),
    (4, "forgets what the softmax takes off"): ("backward(q, k, v, 0 * o, l, g, n)", "query: off"),
    (4, "the whole table"): ("backward(q, k, v, o, l, g, len(k))", "a tensor of 2800 numbers"),
    (4, "a softmax for each block"): ("softmax_per_block", "40 queries, 70 keys, gradient"),
    (5, "weights and attention one after the other"):
        ("(2 * w * max(1 / b, r / p) + r * t * max(k / b, o / p), step(w, k, o, r, t, p, b)[1])",
         "attention overlap, too"),
    (5, "both times, one after the other"):
        ("(step(w, k, o, r, t, p, b)[0] + r * (2 * w + t * o) / p, step(w, k, o, r, t, p, b)[1])",
         "RTX 4090, 1 readers of 1,024 tokens: seconds"),
    (5, "one cache for all"): ("step(w, k / r, o, r, t, p, b)", "64 readers of 1,024"),
    (5, "bytes for each operation"): ("lambda *a: (step(*a)[0], 1 / step(*a)[1])", "FLOP"),
}  # fmt: skip

HELPERS = """
def online(blocks, bug=""):
    m, d, o = None, 0.0, 0.0
    for scores, value in blocks:
        if bug == "-1e9":
            scores = scores.clamp(min=-1e9)
        if m is None:
            m = torch.full_like(scores[:, :1], 0.0 if bug == "starts at 0" else -math.inf)
        new = torch.maximum(m, scores.amax(-1, keepdim=True))
        if bug == "no maximum":
            m = new = torch.zeros_like(new)
        base = new if bug == "inf" else new.masked_fill(new == -math.inf, 0.0)
        parts, mend = (scores - base).exp(), (m - base).exp()
        if bug == "never mends":
            mend = torch.ones_like(mend)
        d = d * mend + parts.sum(-1, keepdim=True)
        o = o * mend + parts @ value
        m = new
    logsumexp = d.log() if bug == "log d" else m + d.log()
    if bug != "divides by 0":
        d = d.masked_fill(d == 0, 1.0)
    return o / d, logsumexp[:, 0]

def nothing_is_nan(a, b):
    left = torch.sigmoid(a[1] - b[1])[:, None]
    return left * a[0] + (1 - left) * b[0], torch.logaddexp(a[1], b[1])

def softmax_per_block(query, key, value, output, logsumexp, grad, size):
    dq, dk, dv = torch.zeros_like(query), [], []
    for k, v in zip(key.split(size), value.split(size)):
        some = (query @ k.T * query.shape[-1] ** -0.5).logsumexp(-1)
        part = backward(query, k, v, output, some, grad, size)
        dq += part[0]
        dk.append(part[1])
        dv.append(part[2])
    return dq, torch.cat(dk), torch.cat(dv)
"""
