"""Answers to the exercises of chapter 05 that are wrong, and what the checks must say of them."""

# The section on what goes wrong: `check` and `weak_check`.
CELLS = ("bugs",)

PARAMETERS = {1: "a, b, d", 2: "q, k, v", 3: "a, g", 4: "f", 5: "s, n"}

WRONG = {
    (1, "forgets the deviations"): ("d**-0.5", "d = 64, your scores have standard deviation 2."),
    (1, "variances for deviations"): ("1 / (a**2 * b**2 * d**0.5)", "standard deviation 0.5."),
    (1, "the inverse"): ("a * b * d**0.5", "standard deviation 64."),
    (2, "no scale"): ("(q @ k.mT).softmax(-1) @ v", "query (3, 4), key (3, 4): off by up to"),
    (2, "size of the value"): ("(q @ k.mT / v.shape[-1] ** 0.5).softmax(-1) @ v", "query (2, 16)"),
    (2, "PyTorch's own"): ("F.scaled_dot_product_attention(q, k, v)", "ready-made"),
    (2, "all in the input's precision"):
        ("(q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v", "torch.float16, sharp scores: off"),
    (2, "stays in float32"): ("my_attention(q.float(), k.float(), v.float())", "Expected the"),
    (3, "only the diagonal"): ("a * (1 - a) * g", "shape (5,): off by up to"),
    (3, "sum over everything"): ("a * (g - (a * g).sum())", "shape (4, 7): off by up to"),
    (3, "no subtraction"): ("a * g", "shape (5,): off by up to"),
    (4, "the chapter's own check"): ("check", "function pass that takes the root of the value's"),
    (4, "wants every bit the same"): ("same_bits(f)", "turns down a function that is right."),
    (4, "forgets the caller's query"): ("forgets_the_query", "lets a function pass that changes"),
    (4, "only sizes that are squares"): ("only_squares", "function pass that rounds the root of d"),
    (4, "only moderate scores"): ("only_moderate_scores", "lets a function pass that overflows"),
    (5, "the usual scale"): ("lambda s, n: 4.0", "temperature 4 a row has 15.63 keys, not 4.0."),
    (5, "the inverse"): ("1 / temperature_for(s, n)", "At your temperature 2.58 a row has 15.13"),
    (5, "entropy for its exponential"): ("temperature_for(s, math.exp(n / 8))", "row has 1.65"),
    (6, "the number of features"): ("lambda: (4.0, 0.316)", "Without the scale, 4.0: by what"),
    (6, "one stop too high"): ("lambda: (2.0, 0.355)", "With the scale, 0.355: move the slider"),
    (6, "without the scale, once more"): ("lambda: (2.0, 0.631)", "With the scale, 0.631"),
    (7, "too weak"):
        ("lambda: (torch.tensor([[1.0], [0], [1]]), torch.tensor([[0.0], [1], [0]]))",
         "black gives cat 0.58 of its weight."),
    (7, "cat asks for itself too"):
        ("lambda: (4 * torch.ones(3, 1), torch.tensor([[0.0], [1], [0]]))", "cat gives black, cat"),
    (7, "turned round"):
        ("lambda: (torch.tensor([[4.0, 0, 4]]), torch.tensor([[0.0, 1, 0]]))", "shape (3, E), got"),
}  # fmt: skip

# Checks for exercise 4 that each leave out one thing that the printed solution looks at.
HELPERS = """
def same_bits(function):
    qkv = torch.randn(3, 2, 3, 4, 32)
    return torch.equal(function(*qkv), F.scaled_dot_product_attention(*qkv))

def close(function, query, key, value, look_at_query=True):
    before = query.clone()
    expected = F.scaled_dot_product_attention(query, key, value)
    got = function(query, key, value)
    same = torch.equal(query, before) or not look_at_query
    return torch.allclose(got, expected, atol=1e-3) and same

def draw(E, Ev, factor):
    return factor * torch.randn(2, 3, 4, E), torch.randn(2, 3, 5, E), torch.randn(2, 3, 5, Ev)

def forgets_the_query(function):
    return all(close(function, *draw(32, 7, f), look_at_query=False) for f in (1, 100))

def only_squares(function):
    return all(close(function, *draw(E, 7, f)) for E in (16, 64) for f in (1, 100))

def only_moderate_scores(function):
    return close(function, *draw(32, 7, 1))
"""
