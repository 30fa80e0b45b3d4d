"""Wrong answers to the exercises of chapter 11, and what the checks must say of them."""

PARAMETERS = {1: "s, k", 2: "t, r", 3: "s, v, k, b", 4: "n, e"}

WRONG = {
    (1, "by score, not in order"): ("s.topk(k).indices.tolist()", "got [0, 2, 1]"),
    (1, "the lowest"): ("choose(-s, k)", "expected [1, 3], got [0, 2]"),
    (1, "the first k"): ("list(range(k))", "expected [1, 3], got [0, 1]"),
    (2, "recall alone"): ("common(t, r) / len(r)", "'the cat sat' against 'the cat sat down'"),
    (2, "repeated words count each time"):
        ("2 * sum(w in r for w in t) / (len(t) + len(r))", "'the the the the' against 'the cat'"),
    (2, "words as sets"): ("2 * len({*t} & {*r}) / (len({*t}) + len({*r}))", "against"),
    (3, "the best, alike or not"): ("s.topk(k).indices.tolist()", "k = 2, balance = 0.5: expected"),
    (3, "the least like, good or not"): ("diverse(s, v, k, 0.0)", "k = 2, balance = 1.0: expected"),
    (3, "like the last chosen only"): ("like_the_last", "expected [0, 2, 3], got [0, 1, 3]"),
    (4, "whether an event or not does not count"): ("(n @ n.T).sum(-1)", "most, and scores 2.00"),
    (4, "whose event does not count"): ("e", "another sentence has 1.00"),
    (4, "an event adds too little"): ("(n @ n.T).sum(-1) * 0.1 + e - 0.9 * n[:, 0]", "an event"),
}  # fmt: skip

HELPERS = """
def like_the_last(scores, vectors, k, balance):
    chosen, worth = [], balance * scores
    while len(chosen) < k:
        chosen.append(worth.argmax().item())
        worth = balance * scores - (1 - balance) * vectors @ vectors[chosen[-1]]
        worth[chosen] = -torch.inf
    return chosen

from collections import Counter

def common(text, reference):
    return sum((Counter(text) & Counter(reference)).values())
"""
