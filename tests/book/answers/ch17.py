"""Answers to the exercise of chapter 17 that are wrong, and what the check must say of them."""

PARAMETERS = {1: "w"}

WRONG = {
    (1, "the same token, not the one behind it"):
        ("w.diagonal(-(w.shape[-1] // 2), -2, -1).mean(-1)", "head that looks there alone: off"),
    (1, "one mean for all heads"): ("induction_scores(w).mean()", "expected shape (1, 1), got ()"),
    (1, "a mean over the heads"):
        ("induction_scores(w.mean(1, keepdim=True)).expand(w.shape[:2])", "2 layers of 3 heads, 4"),
}  # fmt: skip
