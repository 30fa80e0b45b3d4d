"""Answers to the exercises of chapter 07 that are wrong, and what the checks must say of them."""

PARAMETERS = {1: "f", 2: "x, p", 3: "h, n, c", 4: "f"}

WRONG = {
    (1, "says always blind"): ("lambda f: True", "with places on the embeddings blind"),
    (1, "says never blind"): ("lambda f: False", "with no positions not blind"),
    (1, "only backwards"): ("blind(f, order=lambda n: torch.arange(n).flip(0))", "distance blind"),
    (1, "only short sentences"): ("blind(f, lengths=(3, 7))", "causal mask beyond eight words"),
    (2, "pairs of the other layout"): ("positions_of(x, p, half=True)", "x of shape (5, 8)"),
    (2, "counts from 1"): ("turn(x, p + 1)", "x of shape (1, 2), first place 0: off"),
    (2, "forgets the first place"): ("turn(x, 0)", "first place 7: off by"),
    (2, "turns the other way"): ("positions_of(x, p, way=-1)", "shape (4, 2), first place 0: off"),
    (2, "turns along the first dimension"):
        ("turn(x.transpose(0, -2), p).transpose(0, -2)", "shape (2, 3, 5, 6), first place 2: off"),
    (2, "attnkit's"): ("attnkit.positions.rotary(x, p)", "a ready-made function"),
    (3, "first query at 0"):
        ("bias(h, torch.arange(n)[:, None] - torch.arange(c + n))", "query 0 must see key 1"),
    (3, "nothing hidden"): ("bias(h, behind(n, c), hide=False)", "query 0 must not see key 1"),
    (3, "hides the word itself"): ("bias(h, behind(n, c), hide=1)", "query 0 must see key 0"),
    (3, "slopes from 1"): ("bias(h, behind(n, c), first=0)", "1 heads, 3 new, 0 cached: off by"),
    (3, "slopes the other way round"): ("penalties(h, n, c).flip(0)", "4 new, 0 cached: off"),
    (3, "nan where hidden"): ("penalties(h, n, c) * (behind(n, c) >= 0)", "the bias holds NaN"),
    (4, "lets everything pass"): ("lambda f: True", "turns the queries only"),
    (4, "only the start of the text"): ("keeps(f, range(1, 5))", "from place 0 again after 64"),
    (4, "exact equality"): ("keeps(f, range(1, 90), small=0.0)", "turn down a scheme"),
}  # fmt: skip

HELPERS = """
def blind(layer, lengths=(3, 7, 12), order=torch.randperm):
    for length in lengths:
        x = torch.randn(2, length, 8, dtype=torch.float64)
        for _ in range(5):
            new = order(length)
            if (layer(x[:, new]) - layer(x)[:, new]).abs().max() > 1e-9:
                return False
    return True

def positions_of(x, first, half=False, way=1):
    L, D = x.shape[-2:]
    speeds = 10000.0 ** (-torch.arange(0, D, 2) / D)
    angles = way * (first + torch.arange(L))[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    if half:
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)

def behind(new, cached):
    return cached + torch.arange(new)[:, None] - torch.arange(cached + new)

def bias(heads, behind, hide=0, first=1):
    slopes = 2.0 ** (-8 * (first + torch.arange(heads)) / heads)
    fine = -slopes[:, None, None] * behind
    return fine if hide is False else fine.masked_fill(behind < hide, -math.inf)

def keeps(scores, moves, small=1e-8):
    query, key = torch.randn(2, 12, 8, dtype=torch.float64)
    still = scores(query, key, 0)
    return all(bool((scores(query, key, by) - still).abs().max() <= small) for by in moves)
"""
