"""Answers to the exercises of chapter 09 that are wrong, and what the checks must say of them."""

PARAMETERS = {1: "E, H, F", 2: "x, a, n1, n2, l1, l2, first", 3: "others", 4: "part"}

WRONG = {
    (1, "no biases"): ("4 * E * E + 2 * E * F + 2 * E", "(8, 2, 16): expected"),
    (1, "no norms"): ("count(E, H, F) - 4 * E", "expected"),
    (1, "for F = 4 E only"): ("4 * (E * E + E) + 8 * E * E + 5 * E + 4 * E", "expected"),
    (2, "always post-norm"): ("lambda *a: my_layer(*a[:-1], False)", "norm_first=True: off by"),
    (2, "norms exchanged"): ("my_layer(x, a, n2, n1, l1, l2, first)", "off by"),
    (2, "always pre-norm"): ("lambda *a: my_layer(*a[:-1], True)", "norm_first=False: off by"),
    (3, "forgets the first place"):
        ("lambda others: max(range(10), key=lambda d: (others.count(d), d))", "6 is right in 1"),
    (3, "always the first"): ("others[0]", "is right in"),
    (3, "always nothing"): ("lambda others: 0", "0 is right in 1 of the eight cases, 7 in 2."),
    (4, "lets everything pass"): ("lambda part: True", "let pass this one: a norm over places."),
    (4, "lets nothing pass"): ("lambda part: False", "turn down this one: layer norm."),
    (4, "eval mode only"): ("apart(part, modes=(False,))", "train mode only"),
    (4, "train mode only"): ("apart(part, modes=(True,))", "eval mode only"),
    (4, "looks only at later places"): ("apart(part, places=slice(3, None))", "the places after"),
    (4, "looks only at earlier places"): ("apart(part, places=slice(0, 2))", "the places before"),
    (4, "one sentence only"): ("apart(part, batch=False)", "batch"),
    (5, "the weight on 's"): ("lambda: (0.63, 1.0)", "Without a mask: got 0.63"),
    (5, "the wrong way round"): ("lambda: (1.0, 0.06)", "With the causal mask: got 0.06"),
    (5, "head 2"): ("lambda: (0.10, 1.0)", "Without a mask: got 0.1."),
}  # fmt: skip

HELPERS = """
def apart(part, modes=(True, False), places=slice(None), batch=True):
    for training in modes:
        part.train(training)
        x = torch.randn(2, 5, 8)
        y = x.clone()
        y[0, 2] = torch.randn(8)
        with torch.no_grad():
            same = (part(x) - part(y)).abs() < 1e-6
        same[0, 2] = True
        looked = same[:, places] if batch else same[:1, places]
        if not looked.all():
            return False
    return True
"""
