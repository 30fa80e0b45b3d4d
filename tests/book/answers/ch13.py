"""Answers to the exercises of chapter 13 that are wrong, and what the checks must say of them."""

PARAMETERS = {1: "q, C, K, V", 2: "p, n, e, h, kv", 3: "*a", 4: "d"}

WRONG = {
    (1, "makes the keys"): ("makes_keys(q, C, K, V)", "makes a key or a value of every latent"),
    (1, "makes the values"): ("values_of_every_latent(q, C, K, V)", "or a value of every latent"),
    (1, "brings the query to each latent afresh"): ("afresh_to_each(q, C, K, V)", "brings a query"),
    (1, "another root"):
        ("read_latents(q * (q.shape[1] / C.shape[1]) ** 0.5, C, K, V)", "40 latents of 4: off by"),
    (1, "no scale"): ("read_latents(q * q.shape[1] ** 0.5, C, K, V)", "5 latents of 8: off by"),
    (1, "PyTorch's"): ("latents_ready_made(q, C, K, V)", "a ready-made function"),
    (2, "shares nothing"): ("cost(p, n, e, h, h)", "2 of keys"),
    (2, "shares scores too"): ("project(p + n, e, h, kv) + pairs(p, n) * e * kv // h", "2 of keys"),
    (2, "no cache after the beginning"): ("afresh", "prompt 0, 10 new"),
    (2, "does not see its own key"): ("cost(p, n, e, h, kv) - 2 * n * e", "prompt 0, 1 new"),
    (2, "visible pairs alone"): ("cost(p, n, e, h, kv) - p * (p - 1) * e", "prompt 6, 0 new"),
    (3, "no mask"): ("by_rule(*a, lambda i, j, n: j > j)", "calls of [7]: off by"),
    (3, "aligned at the upper left"):
        ("by_rule(*a, lambda i, j, n: j > i)", "calls of [1, 1, 1, 1, 1, 1, 1]: off by"),
    (3, "masks without a cache"):
        ("by_rule(*a, lambda i, j, n: (j > i) & (n == 0))", "calls of [3, 1, 3]: off by"),
    (3, "does not see its own key"): ("by_rule(*a, lambda i, j, n: j >= i + n)", "NaN"),
    (3, "appends to the list it was given"): ("in_place", "It changes the cache"),
    (3, "PyTorch's"): ("ready_made", "a ready-made function"),
    (4, "the first word only"): ("look(d, words=1)", "upper left"),
    (4, "five words"): ("look(d, words=5)", "forgets words after the eighth"),
    (4, "one text after the start"): ("look(d, texts=1)", "has the text before"),
    (4, "a batch of one"): ("look(d, rows=1, order=[0])", "one cache for all texts"),
    (4, "never reorders"): ("look(d, order=[0, 1, 2])", "does not reorder"),
    (4, "equal to the last bit"): ("look(d, far=0.0)", "You turn down a right decoder"),
}  # fmt: skip

HELPERS = """
def makes_keys(q, C, K, V):
    scores = torch.einsum("hd,hsd->hs", q, C @ K.mT) / q.shape[-1] ** 0.5
    return torch.einsum("hc,hdc->hd", scores.softmax(-1) @ C, V)

def values_of_every_latent(q, C, K, V):
    read = []
    for one, to_key, to_value in zip(q, K, V, strict=True):
        weights = (C @ (one @ to_key) / len(one) ** 0.5).softmax(-1)
        read.append(weights @ (C @ to_value.T))
    return torch.stack(read)

def afresh_to_each(q, C, K, V):
    scores = torch.stack([torch.stack([(a @ W) @ c for c in C]) for a, W in zip(q, K)])
    weights = (scores / q.shape[-1] ** 0.5).softmax(-1)
    return torch.einsum("hc,hdc->hd", weights @ C, V)

def latents_ready_made(q, C, K, V):
    brought = torch.einsum("hd,hdc->hc", q, K)[:, None]
    attention = torch.nn.functional.scaled_dot_product_attention
    C = C.expand(len(q), -1, -1)
    return torch.einsum("hc,hdc->hd", attention(brought, C, C, scale=q.shape[-1] ** -0.5)[:, 0], V)

def project(words, e, h, kv):
    return words * (2 * e * e + 2 * e * (e // h * kv))

def pairs(p, n):
    return 2 * (p * p + sum(range(p + 1, p + n + 1)))

def afresh(p, n, e, h, kv):
    lengths = ([p] if p else []) + list(range(p + 1, p + n + 1))
    return sum(project(t, e, h, kv) + 2 * t * t * e for t in lengths)

def by_rule(x, cache, Wq, Wk, Wv, hides):
    K, V = x @ Wk, x @ Wv
    n = 0 if cache is None else len(cache[0])
    if n:
        K, V = torch.cat([cache[0], K]), torch.cat([cache[1], V])
    i, j = torch.arange(len(x))[:, None], torch.arange(len(K))
    scores = (x @ Wq) @ K.T / x.shape[-1] ** 0.5
    return scores.masked_fill(hides(i, j, n), -math.inf).softmax(-1) @ V, (K, V)

def in_place(x, cache, Wq, Wk, Wv):
    keys, values = ([], []) if cache is None else cache
    old = (torch.stack(keys), torch.stack(values)) if keys else None
    output, _ = step(x, old, Wq, Wk, Wv)
    keys += (x @ Wk).unbind()
    values += (x @ Wv).unbind()
    return output, (keys, values)

def ready_made(x, cache, Wq, Wk, Wv):
    _, (K, V) = step(x, cache, Wq, Wk, Wv)
    attention = torch.nn.functional.scaled_dot_product_attention
    return attention((x @ Wq)[None], K[None], V[None])[0], (K, V)

def look(d, words=20, texts=2, rows=3, order=(2, 0, 0), far=1e-9):
    for _ in range(texts):
        x, order = torch.randn(rows, words, 8).double(), torch.as_tensor(order)
        d.start()
        for n in range(words):
            if n == 10:
                d.reorder(order)
                x = torch.cat([x[order, :n], x[:, n:]], 1)
            got, whole = d.step(x[:, n]), d.whole(x[:, : n + 1])[:, -1]
            if not (got - whole).abs().max() <= far:
                return False
    return True
"""
