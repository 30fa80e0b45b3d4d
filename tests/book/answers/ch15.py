"""Answers to the exercises of chapter 15 that are wrong, and what the checks must say of them."""

PARAMETERS = {1: "m, s", 2: "w", 3: "w"}

WRONG = {
    (1, "no sign for the ending"):
        ("torch.stack([m.mean((1, 2)), (m * s[:, None]).mean((1, 2))], -1)", "5 items: off"),
    (1, "a sum, not a mean"): ("8 * two_effects(m, s)", "referent and subject of 5 items: off by"),
    (1, "one mean for all items"): ("two_effects(m, s).mean(0)", "expected shape (5, 2), got (2,)"),
    (2, "without the residual"):
        ("torch.linalg.multi_dot([torch.eye(w.shape[-1]), *w.mean(1).flip(0)])", "1 heads: off"),
    (2, "the layers the other way round"): ("my_rollout(w.flip(0))", "3 layers, 2 heads"),
    (2, "the last layer alone"): ("my_rollout(w[-1:])", "3 layers, 2 heads: off by"),
    (3, "not scaled up"): ("torch.cat([0 * w[..., :1], w[..., 1:]], -1)", "(2, 3, 4, 4): off"),
    (3, "NaN in an empty row"):
        ("over_sum(torch.cat([0 * w[..., :1], w[..., 1:]], -1))", "weights (2, 3, 4, 4)"),
    (3, "shared evenly"):
        ("torch.cat([0 * w[..., :1], w[..., 1:] + w[..., :1] / 3], -1)", "(2, 3, 4, 4): off"),
    (4, "the word before"): ("lambda: (0, 2)", "Layer 0, head 2 does not give the word after"),
    (4, "head and layer"): ("lambda: (8, 1)", "Layer 8, head 1 does not"),
    (4, "a sink"): ("lambda: (4, 5)", "just above the diagonal?"),
}  # fmt: skip

HELPERS = """
def over_sum(weights):
    return weights / weights.sum(-1, keepdim=True)
"""
