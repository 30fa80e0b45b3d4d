"""Answers to the exercises of chapter 02 that are wrong, and what the checks must say of them."""

PARAMETERS = {1: "q, k, v, t", 2: "q, k, h", 3: "q, k, v, t, g", 4: "f", 5: "q, k"}

WRONG = {
    (1, "temperature the other way"):
        ("(k @ q * t).softmax(-1) @ v if t else v[(k @ q).argmax()]", "at temperature 0.5: off by"),
    (1, "divides by zero"): ("(k @ q / t).softmax(-1) @ v", "temperature 0: the result holds NaN"),
    (1, "exponentials that overflow"):
        ("own_softmax(k @ q / t) @ v if t else v[(k @ q).argmax()]", "0.001: the result holds NaN"),
    (1, "always hard"): ("v[(k @ q).argmax()]", "at temperature 1.0: off by"),
    (1, "attnkit's"): ("attnkit.masked_softmax(k @ q / t) @ v", "a ready-made function"),
    (2, "forgets the length of the keys"): ("(q / h**2, k)", "off by"),
    (2, "the bandwidth not squared"): ("add(q, k, h**0.5, half=2)", "bandwidth 0.3: off by"),
    (2, "a feature for the key only"): ("(q / h**2, add(q, k, h, half=2)[1])", "size: 3, 4"),
    (3, "without the output"): ("outer(weights(q, k, t) * (v @ g) / t, q)", "off by"),
    (3, "without the temperature"): ("gradient_to_keys(q, k, v, t, g) * t", "temperature 0.5: off"),
    (3, "the gradient of the values"): ("outer(weights(q, k, t), g)", "expected shape"),
    (4, "lets everything pass"): ("lambda f: True", "scores from the query alone"),
    (4, "lets nothing pass"): ("lambda f: False", "turn down a lookup"),
    (4, "only whether the states matter"): ("promises(f, only='states')", "its score to the place"),
    (4, "never changes the query"): ("promises(f, without='query')", "never looks at the query"),
    (4, "never sums"): ("promises(f, without='sums')", "sum to 1 over the queries"),
    (4, "one list at a time"): ("promises(f, without='batch')", "mixes the lists of a batch"),
    (5, "no scale"): ("q.T @ k", "off by"),
    (5, "turned round"): ("one_matrix(q, k).T", "expected shape (6, 5), got (5, 6)"),
    (5, "multiplies the features away"): ("q @ k.T", "It raised RuntimeError"),
}  # fmt: skip

HELPERS = """
def own_softmax(scores):
    return scores.exp() / scores.exp().sum()

def one(query):
    return torch.ones_like(query[:, :1])

def add(query, key, bandwidth, half):
    length = -key.pow(2).sum(-1, keepdim=True) / half
    return torch.cat([query, one(query)], -1) / bandwidth**2, torch.cat([key, length], -1)

def weights(query, keys, temperature):
    return (keys @ query / temperature).softmax(-1)

def outer(a, b):
    return a[:, None] * b

def promises(attention, only=None, without=None):
    query, other = torch.randn(2, 3, 4, 8)
    key, states = torch.randn(2, 3, 5, 8)
    turned = torch.tensor([3, 0, 4, 1, 2])
    weights = attention(query, key)[1]
    def same(a, b):
        return torch.allclose(a, b, atol=1e-5)
    kept = {
        "sums": same(weights.sum(-1), torch.ones(())),
        "states": not same(weights, attention(query, states)[1]),
        "query": not same(weights, attention(other, key)[1]),
        "order": same(weights[..., turned], attention(query, key[:, turned])[1]),
        "batch": same(weights[:1], attention(query[:1], key[:1])[1]),
    }
    if without == "order":  # and so nothing that tells the place
        del kept["states"]
    return all(kept[name] for name in kept if name != without and only in (None, name))
"""
