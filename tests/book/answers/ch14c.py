"""Answers to the exercise of chapter 14c that are wrong, and what the check must say of them."""

PARAMETERS = {1: "n, d, z"}

WRONG = {
    (1, "a query does not see its own key"): ("[x - n // d for x in work(n, d, z)]", "got [6, 22]"),
    (1, "zigzag is for stretches, too"): ("work(n, d, True)", "stretches: got"),
    (1, "never zigzag"): ("work(n, d, False)", "8 words, 2 devices, zigzag: got"),
}  # fmt: skip
