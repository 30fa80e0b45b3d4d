"""Answers to the exercises of chapter 06 that are wrong, and what the checks must say of them."""

PARAMETERS = {1: "i, d, q", 2: "s, m", 3: "n, c, w", 4: "f"}

WRONG = {
    (1, "upside down"): ("~combine(i, d, q)", "query 0 may attend to key 0"),
    (1, "no padding"): ("combine(i & False, d, q)", "row 0, query 0 must not attend to key 0"),
    (1, "hides rows"): ("combine(i & False, d, q) & ~i[:, None, :, None]", "2 must not attend"),
    (1, "not causal"): ("combine(i, d, q | True)", "query 0 must not attend to key 1"),
    (1, "no question"): ("combine(i, d, q & False)", "row 1, query 0 may attend to key 2"),
    (1, "documents see each other"): ("combine(i, 0 * d, q)", "query 2 must not attend to"),
    (1, "others' questions"): ("combine(i, d, q) | (q & ~i)[:, None, None]", "must not attend"),
    (1, "attnkit's"): ("combine(i, d, q) & masks.from_torch_padding(i)[:, None]", "ready-made"),
    (2, "-1e9"): ("s.float().masked_fill(~m, -1e9).softmax(-1).to(s.dtype)", "key has a weight"),
    (2, "-inf on an empty row"): ("s.masked_fill(~m, -math.inf).softmax(-1)", "weights hold NaN"),
    (2, "adds a bias"): ("torch.nan_to_num((s + bias(m)).softmax(-1))", "weights of visible keys"),
    (2, "a fill not low enough"):
        ("s.masked_fill(~m, torch.finfo(s.dtype).min).softmax(-1) * m", "weights of visible keys"),
    (2, "covers up a NaN"): ("my_masked_softmax(s, m).nan_to_num(0)", "covers up the NaN"),
    (2, "stays in float32"): ("my_masked_softmax(s.float(), m)", "shape or dtype"),
    (2, "guards the division when it is too late"): ("too_late", "the gradient holds NaN"),
    (2, "fills the caller's scores"):
        ("my_masked_softmax(s.data.masked_fill_(~m, 0) + 0 * s, m)", "changes the caller's scores"),
    (2, "attnkit's"): ("attnkit.masked_softmax(s, m)", "a ready-made function"),
    (3, "upper left"): ("band(n, c, w, 0)", "query 0 must not attend to key 0"),
    (3, "one key too many"): ("band(n, c, w + 1, c)", "must not attend"),
    (3, "one key too few"): ("band(n, c, w - 1, c)", "may attend"),
    (3, "sees the next word"): ("band(n, c, w + 1, c + 1)", "must not attend"),
    (4, "lets everything pass"): ("lambda f: True", "sees one word ahead"),
    (4, "lets nothing pass"): ("lambda f: False", "turn down a causal layer."),
    (4, "only in train mode"): ("look(f, modes=(True,))", "train mode only"),
    (4, "only short sentences"): ("look(f, lengths=(4,))", "beyond eight words"),
    (4, "only one sentence"): ("look(f, batch=False)", "sentences of a batch"),
    (4, "only by gradient"): ("look(f)", "rounding from the whole sentence"),
    (4, "sums the features, with a tolerance"): ("look(f, plain_sum=True)", "after the softmax"),
    (5, "counts from 0"): ("lambda: (2, 1)", "Prefix of 2: expected the smallest"),
    (5, "too long"): ("lambda: (4, 3)", "Prefix of 4: expected the smallest"),
    (5, "the row of the last key changes too"): ("lambda: (3, 3)", "Row 3: a row changes when"),
}  # fmt: skip

HELPERS = """
def bias(may):
    return torch.zeros(may.shape).masked_fill(~may, -math.inf)

def too_late(scores, may):  # 0/0 on an empty row is covered up, but not its gradient
    dtype, scores = scores.dtype, scores.nan_to_num(0, 0, 0).float()
    top = scores.masked_fill(~may, -math.inf).amax(-1, keepdim=True)
    top = torch.where(may.any(-1, keepdim=True), top, scores.amax(-1, keepdim=True))
    parts = (scores - top).clamp(max=0).exp() * may
    total = parts.sum(-1, keepdim=True)
    return torch.where(total > 0, parts / total, 0.0).to(dtype)

def band(new, cached, window, offset):
    query, key = offset + torch.arange(new)[:, None], torch.arange(cached + new)
    return (key <= query) & (key > query - window)

def look(layer, modes=(True, False), lengths=(4, 12), batch=True, plain_sum=False):
    for training in modes:
        layer.train(training)
        for length in lengths:
            x = torch.randn(2, length, 8).double().requires_grad_()
            direction = torch.ones(8) if plain_sum else torch.randn(8)
            along = layer(x) @ direction.double()
            for i in range(length):
                (grad,) = torch.autograd.grad(along[0, i], x, retain_graph=True)
                small = 1e-9 if plain_sum else 0.0
                if (grad[0, i + 1 :].abs() > small).any():
                    return False
                if batch and (grad[1].abs() > small).any():
                    return False
    return True
"""
