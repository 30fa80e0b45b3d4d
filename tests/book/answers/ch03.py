"""Answers to the exercises of chapter 03 that are wrong, and what the checks must say of them."""

PARAMETERS = {1: "w, s, p", 2: "q, k, W, U, b, v, m", 3: "f", 4: "read, w, p"}

WRONG = {
    (1, "links each source word"): ("rate({(t, c) for c, t in links(w.T)}, s, p)", "expected"),
    (1, "source place first"): ("rate({(c, t) for t, c in links(w)}, s, p)", "expected"),
    (1, "one minus is missing"): ("1 - rate(links(w), s, p)", "expected"),
    (1, "attnkit's"):
        ("metrics.alignment_error_rate([metrics.argmax_links(w)], sure=[s], possible=[p])",
         "a ready-made function"),
    (2, "mask after the softmax"): ("late", "weights, 40 queries, 30 keys of which 21 are real"),
    (2, "all at once"): ("at_once", "The numbers are right. But with 40 queries"),
    (2, "four queries at once"): ("in_fours", "are allowed"),
    (2, "attnkit's"): ("ready", "a ready-made function"),
    (3, "lets everything pass"): ("lambda f: True", "has no mask"),
    (3, "lets nothing pass"): ("lambda f: False", "turn down"),
    (3, "one length in the batch"): ("look(f, [3, 3, 3])", "takes the longest length for all"),
    (3, "compares fillers only"): ("fillers_only", "takes the first length for all"),
    (4, "not scaled up"): ("share(read, w, w.scatter(-1, p[:, None], 0.0))", "to survive"),
    (4, "NaN left"): ("share(read, w, over_sum(w.scatter(-1, p[:, None], 0.0)))", "to survive"),
    (4, "writes into the caller's weights"):
        ("survivors(read, w.scatter_(-1, p[:, None], 0.0), p)", "changes the caller's weights"),
    (5, "what the lines point at"):
        ("lambda: ({\"black\", \"not\", \"sleep\"}, {\"the\", \"black\", \"cat\", \"not\"})",
         "GRU: hide 'not' alone"),
    (5, "one word too few"):
        ("lambda: ({\"black\"}, {\"the\", \"black\", \"cat\", \"not\"})", "you hidden 'sleep'?"),
    (5, "the Transformer without the article"):
        ("lambda: ({\"black\", \"sleep\"}, {\"black\", \"cat\", \"not\"})", "you hidden 'the'?"),
}  # fmt: skip

HELPERS = """
def links(weights):
    return set(enumerate(weights.argmax(-1).tolist()))

def rate(found, sure, possible):
    return 1 - (len(found & sure) + len(found & possible)) / (len(found) + len(sure))

def summed(query, key, W, U, b):
    return (query @ W.T + b)[:, None] + key @ U.T

def at_once(query, key, W, U, b, v, mask):
    scores = torch.tanh(summed(query, key, W, U, b)) @ v
    weights = scores.masked_fill(~mask, -math.inf).softmax(-1)
    return weights @ key, weights

def late(query, key, W, U, b, v, mask):
    weights = (torch.tanh(summed(query, key, W, U, b)) @ v).softmax(-1) * mask
    return weights @ key, weights

def in_fours(query, key, W, U, b, v, mask):
    parts = [at_once(part, key, W, U, b, v, mask) for part in query.split(4)]
    return tuple(map(torch.cat, zip(*parts)))

def ready(query, key, W, U, b, v, mask):
    layer = attnkit.AdditiveAttention(6, 7, 16)
    return tuple(layer(query, key, mask=mask, need_weights=True))

def look(attend, lengths):
    lengths = torch.tensor(lengths)
    query, key = torch.randn(3, 2, 4), torch.randn(3, 7, 4)
    for filler in (0.0, 100.0):
        for b, n in enumerate(lengths):
            key[b, n:] = filler
        output = attend(query, key, lengths)
        for b, n in enumerate(lengths):
            alone = attend(query[b, None], key[b, None, :n], n[None])
            if not torch.allclose(output[b], alone[0], atol=1e-5):
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
