"""Answers to the exercises of chapter 03 that are wrong, and what the checks must say of them."""

CHAPTER = "03_additive_attention.ipynb"
CHECKS = {
    1: "check_error_rate",
    2: "check_additive",
    3: "check_frugal",
    4: "check_padding",
    5: "check_survivors",
    6: "check_needed",
}

WRONG = {
    (1, "links each source word"): (
        "lambda w, s, p: rate({(t, c) for c, t in links(w.T)}, s, p)",
        "expected",
    ),
    (1, "source place first"): (
        "lambda w, s, p: rate({(c, t) for t, c in links(w)}, s, p)",
        "expected",
    ),
    (1, "one minus is missing"): ("lambda w, s, p: 1 - rate(links(w), s, p)", "expected"),
    (1, "only sure links"): ("lambda w, s, p: rate(links(w), s, s)", "expected"),
    (1, "divides by the links found"): (
        "lambda w, s, p: 1 - len(links(w) & p) / len(links(w))",
        "expected",
    ),
    (1, "attnkit's"): (
        "lambda w, s, p: metrics.alignment_error_rate("
        "[metrics.argmax_links(w)], sure=[s], possible=[p])",
        "a ready-made function",
    ),
    (2, "no mask"): (
        "lambda q, k, W, U, b, v, m: my_additive(q, k, W, U, b, v, m | True)",
        "weights, 3 queries",
    ),
    (2, "mask upside down"): (
        "lambda q, k, W, U, b, v, m: my_additive(q, k, W, U, b, v, ~m)",
        "weights",
    ),
    (2, "mask after the softmax"): ("late", "weights, 3 queries, 5 keys, lengths [5, 2]: off"),
    (2, "softmax over the queries"): ("over_queries", "weights"),
    (2, "no tanh"): ("no_tanh", "weights"),
    (2, "no bias"): (
        "lambda q, k, W, U, b, v, m: my_additive(q, k, W, U, 0 * b, v, m)",
        "weights",
    ),
    (2, "keys and queries swapped in the sum"): ("swapped", "expected shape"),
    (2, "only the output"): (
        "lambda *parts: my_additive(*parts)[0]",
        "two tensors",
    ),
    (2, "attnkit's"): ("ready", "a ready-made function"),
    (3, "all at once"): (
        "lambda q, k, v, x: (torch.tanh(q[:, None] + k) @ v).softmax(-1) @ x",
        "are allowed",
    ),
    (3, "four queries at once"): ("in_fours", "are allowed"),
    (3, "expands first"): (
        "lambda q, k, v, x: frugal(q[:, None].expand(-1, len(k), -1)[:, 0], k, v, x)",
        "are allowed",
    ),
    (3, "softmax over the queries"): (
        "lambda q, k, v, x: torch.stack([torch.tanh(r + k) @ v for r in q]).softmax(0) @ x",
        "off by",
    ),
    (3, "forgets v"): (
        "lambda q, k, v, x: frugal(q, k, torch.ones_like(v), x)",
        "off by",
    ),
    (3, "attnkit's"): (
        "lambda q, k, v, x: attnkit.efficient.tiled_additive_attention(q, k, v, x).output",
        "a ready-made function",
    ),
    (4, "lets everything pass"): ("lambda f: True", "has no mask"),
    (4, "lets nothing pass"): ("lambda f: False", "turn down"),
    (4, "one length in the batch"): (
        "lambda f: look(f, [3, 3, 3])",
        "takes the longest length for all",
    ),
    (4, "compares fillers only"): ("fillers_only", "takes the first length for all"),
    (4, "longest first"): ("lambda f: look(f, [5, 5, 3], only=0)", "takes the longest"),
    (4, "not a verdict"): ("lambda f: 1.0", "Expected True or False"),
    (5, "not scaled up"): (
        "lambda read, w, p: share(read, w, w.scatter(-1, p[:, None], 0.0))",
        "to survive",
    ),
    (5, "NaN in the row that has nothing left"): (
        "lambda read, w, p: share(read, w, over_sum(w.scatter(-1, p[:, None], 0.0)))",
        "to survive",
    ),
    (5, "keeps only the place"): (
        "lambda read, w, p: share(read, w, torch.zeros_like(w).scatter(-1, p[:, None], 1.0))",
        "to survive",
    ),
    (5, "hides the largest"): (
        "lambda read, w, p: survivors(read, w, w.argmax(-1))",
        "to survive",
    ),
    (5, "softmax of what is left"): (
        "lambda read, w, p: share(read, w, w.scatter(-1, p[:, None], 0.0).softmax(-1))",
        "to survive",
    ),
    (5, "writes into the caller's weights"): (
        "lambda read, w, p: survivors(read, w.scatter_(-1, p[:, None], 0.0), p)",
        "changes the caller's weights",
    ),
    (6, "what the lines point at"): (
        'lambda: ({"black", "not", "sleep"}, {"the", "black", "cat", "not"})',
        "GRU: hide 'not' alone",
    ),
    (6, "one word too few"): (
        'lambda: ({"black"}, {"the", "black", "cat", "not"})',
        "Have you hidden 'sleep'?",
    ),
    (6, "the same for both"): (
        'lambda: ({"black", "sleep"}, {"black", "sleep"})',
        "Transformer: hide 'sleep' alone",
    ),
    (6, "the Transformer without the article"): (
        'lambda: ({"black", "sleep"}, {"black", "cat", "not"})',
        "Have you hidden 'the'?",
    ),
}

HELPERS = """
def links(weights):
    return set(enumerate(weights.argmax(-1).tolist()))

def rate(found, sure, possible):
    return 1 - (len(found & sure) + len(found & possible)) / (len(found) + len(sure))

def summed(query, key, W, U, b):
    return (query @ W.T + b)[:, :, None] + (key @ U.T)[:, None]

def late(query, key, W, U, b, v, mask):
    weights = (torch.tanh(summed(query, key, W, U, b)) @ v).softmax(-1) * mask
    return weights @ key, weights

def over_queries(query, key, W, U, b, v, mask):
    scores = torch.tanh(summed(query, key, W, U, b)) @ v
    weights = scores.softmax(-2) * mask
    return weights @ key, weights

def no_tanh(query, key, W, U, b, v, mask):
    weights = (summed(query, key, W, U, b) @ v).masked_fill(~mask, -math.inf).softmax(-1)
    return weights @ key, weights

def swapped(query, key, W, U, b, v, mask):
    hidden = torch.tanh((query @ W.T + b)[:, None] + (key @ U.T)[:, :, None])
    weights = (hidden @ v).softmax(-1)
    return key, weights

def ready(query, key, W, U, b, v, mask):
    layer = attnkit.AdditiveAttention(6, 7, 8)
    return tuple(layer(query, key, mask=mask, need_weights=True))

def in_fours(query, key, v, value):
    parts = [torch.tanh(q[:, None] + key) @ v for q in query.split(4)]
    return torch.cat(parts).softmax(-1) @ value

def look(attend, lengths, fillers=(0.0, 100.0), atol=1e-5, only=None):
    lengths = torch.tensor(lengths)
    query, key = torch.randn(3, 2, 4), torch.randn(3, 7, 4)
    for filler in fillers:
        for b, n in enumerate(lengths):
            key[b, n:] = filler
        output = attend(query, key, lengths)
        for b, n in enumerate(lengths):
            alone = attend(query[b, None], key[b, None, :n], n[None])
            if only in (None, b) and not torch.allclose(output[b], alone[0], atol=atol):
                return False
    return True

def fillers_only(attend):
    lengths = torch.tensor([2, 5, 3])
    query, key = torch.randn(3, 2, 4), torch.randn(3, 7, 4)
    outputs = []
    for filler in (0.0, 100.0):
        for b, n in enumerate(lengths):
            key[b, n:] = filler
        outputs.append(attend(query, key.clone(), lengths))
    return torch.allclose(*outputs, atol=1e-5)

def over_sum(weights):
    return weights / weights.sum(-1, keepdim=True)

def share(read, weights, changed):
    return (read(changed) == read(weights)).float().mean().item()
"""
