"""Wrong answers to the exercises of chapter 11, and what the checks must say of them."""

CHECKS = {
    1: "check_choose",
    2: "check_rouge",
    3: "check_diverse",
    4: "check_about",
}

WRONG = {
    (1, "by score, not in order"): (
        "lambda s, k: s.topk(k).indices.tolist()",
        "got [0, 2, 1]",
    ),
    (1, "the lowest"): ("lambda s, k: choose(-s, k)", "expected [1, 3], got [0, 2]"),
    (1, "the first k"): ("lambda s, k: list(range(k))", "expected [1, 3], got [0, 1]"),
    (2, "recall alone"): (
        "lambda t, r: sum((__import__('collections').Counter(t) & "
        "__import__('collections').Counter(r)).values()) / len(r)",
        "'the cat sat' against 'the cat sat down'",
    ),
    (2, "precision alone"): (
        "lambda t, r: sum((__import__('collections').Counter(t) & "
        "__import__('collections').Counter(r)).values()) / len(t)",
        "'the cat sat' against 'the cat sat down'",
    ),
    (2, "repeated words count each time"): (
        "lambda t, r: 2 * sum(w in r for w in t) / (len(t) + len(r))",
        "'the the the the' against 'the cat'",
    ),
    (2, "words as sets"): (
        "lambda t, r: 2 * len({*t} & {*r}) / (len({*t}) + len({*r}))",
        "against",
    ),
    (3, "the best, alike or not"): (
        "lambda s, v, k, b: s.topk(k).indices.tolist()",
        "k = 2, balance = 0.5: expected [0, 2]",
    ),
    (3, "the least like, good or not"): (
        "lambda s, v, k, b: diverse(s, v, k, 0.0)",
        "k = 2, balance = 1.0: expected [0, 1]",
    ),
    (3, "one too many"): ("lambda s, v, k, b: diverse(s, v, k + 1, b)", "expected [0, 1]"),
    (4, "whether an event or not does not count"): (
        "lambda n, e: (n @ n.T).sum(-1)",
        "sentence 0 is an event of the person named most, and scores 2.00",
    ),
    (4, "whose event does not count"): ("lambda n, e: e", "another sentence has 1.00"),
    (4, "an event adds too little"): (
        "lambda n, e: (n @ n.T).sum(-1) * 0.1 + e - 0.9 * n[:, 0]",
        "is an event of the person named most",
    ),
    (4, "one number for each name"): ("lambda n, e: n.sum(0)", "one score for each of the 3"),
}
