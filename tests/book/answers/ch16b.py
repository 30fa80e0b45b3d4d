"""Answers to the exercise of chapter 16b that are wrong, and what the check must say of them."""

PARAMETERS = {1: "w, v"}

WRONG = {
    (1, "zeros of a query that sees nothing are accused"): ("rows(broken(w, v))", "Row 0 is fine"),
    (1, "NaN of such a query is accused"):
        ("rows(broken(w, v) & v.any(-1) | w.isnan().any(-1))", "Row 0 is NaN, as it may be"),
    (1, "every NaN is excused"):
        ("rows(broken(w, v) & v.any(-1) & ~w.isnan().any(-1))", "NaN where the query may see keys"),
    (1, "negative weights are overlooked"):
        ("rows((leaks(w, v) | off(w)) & v.any(-1))", "a negative weight in a row that sums to 1"),
    (1, "leaks are overlooked"): ("rows((off(w) | ~(w >= 0).all(-1)) & v.any(-1))", "leak of 0.01"),
    (1, "sums are overlooked"):
        ("rows((leaks(w, v) | ~(w >= 0).all(-1)) & v.any(-1))", "Row 4 alone has a sum of 0.9"),
    (1, "rounding counts"):
        ("rows((leaks(w, v) | ~(w >= 0).all(-1) | (w.sum(-1) != 1)) & v.any(-1))", "for rounding"),
    (1, "the rounding of bfloat16 counts"):
        ("rows((leaks(w, v) | ((w.sum(-1) - 1).abs() > 1e-3) | ~(w >= 0).all(-1)) & v.any(-1))",
         "sums to 1 but for the rounding of bfloat16"),
}  # fmt: skip

HELPERS = """
def rows(bad):
    return bad.nonzero().flatten().tolist()

def leaks(w, v):
    return ((w.abs() > 1e-6) & ~v).any(-1)

def off(w):
    return ~((w.sum(-1) - 1).abs() < 1e-2)

def broken(w, v):
    return leaks(w, v) | off(w) | ~(w >= 0).all(-1)
"""
