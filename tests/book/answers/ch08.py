"""Answers to the exercises of chapter 08 that are wrong, and what the checks must say of them."""

PARAMETERS = {1: "*a", 2: "h, w, b, off", 3: "q, k, v", 4: "*a"}

WRONG = {
    (1, "no last bias"):
        ("lambda x, w, b, wo, bo, H: whole_layer(x, w, b, wo, 0 * bo, H)", "output: off by"),
    (1, "no first biases"):
        ("lambda x, w, b, wo, bo, H: whole_layer(x, w, 0 * b, wo, bo, H)", "weights: off by"),
    (1, "PyTorch's"): ("ready_made", "It calls a ready-made function"),
    (2, "all heads on"): ("heads_off(h, w, b, [])", "off [1]: off by"),
    (2, "on and off swapped"):
        ("heads_off(h, w, b, [k for k in range(h.shape[1]) if k not in off])", "off [1]: off by"),
    (2, "writes into what it was given"): ("writes", "It changes what it was given"),
    (3, "the bytes of the repeated ones"):
        ("(grouped(q, k, v)[0], grouped(q, k, v)[1] * q.shape[1] // k.shape[1])", "keys: 2560"),
    (3, "only the first key head"):
        ("(grouped(q, k[:, :1], v[:, :1])[0], k.nbytes + v.nbytes)", "4 heads, 2 of keys: off by"),
    (3, "PyTorch's"): ("(F.scaled_dot_product_attention(q, k, v, enable_gqa=True), 0)", "It calls"),
    (4, "the first two"): ("lambda a, v, l, r: (0, 1)", "is read right both ways"),
    (4, "one command twice"): ("lambda a, v, l, r: (0, 0)", "no pair of different commands"),
    (4, "only the left reading"): ("search(*a, reads=(0,))", "is no pair"),
    (5, "only what the guide names"): ("lambda: ({8}, {7})", "'was': there are 2 heads"),
    (5, "one head too few"): ("lambda: ({2, 8}, {7})", "'tired': there are 2 heads"),
    (5, "a head that rests on [CLS]"): ("lambda: ({2, 8}, {4, 5, 7})", "Head 5: open it large"),
}  # fmt: skip

HELPERS = """
def ready_made(x, w, b, wo, bo, H):
    x, none = x.transpose(0, 1), (None, None, False, 0.0)
    return F.multi_head_attention_forward(x, x, x, x.shape[-1], H, w, b, *none, wo, bo)

def writes(heads, W_out, b_out, off):
    heads[:, off] = 0.0
    return heads_off(heads, W_out, b_out, [])

def search(alpha, values, W_left, W_right, reads):
    for a, b in itertools.permutations(range(len(values)), 2):
        mix = alpha * values[a] + (1 - alpha) * values[b]
        wrong = (W_left @ mix).argmax() != a, (W_right @ mix).argmax() != b
        if all(wrong[k] for k in reads):
            return a, b
    return len(values), len(values)
"""
