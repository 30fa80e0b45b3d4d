"""Answers to the exercises of chapter 16 that are wrong, and what the checks must say of them."""

PARAMETERS = {1: "q, k, v, mask=None", 2: "f"}

WRONG = {
    (1, "divides by d"): ("careful(q / q.shape[-1] ** 0.5, k, v, mask)", "scores are"),
    (1, "still in place"): ("careful(q.mul_(1.0001), k, v, mask)", "assert_inputs_unchanged"),
    (1, "still -1e9"): ("careful(q, k, v, mask, fill=-1e9)", "assert_half_precision"),
    (1, "still over the queries"): ("careful(q, k, v, mask, dim=-2)", "assert_rows_sum_to_one"),
    (1, "NaN for an empty row"): ("careful", "assert_empty_rows_see_nothing"),
    (1, "no mask at all"): ("careful(q, k, v)", "assert_causal"),
    (2, "finds nothing"): ("lambda f: False", "misses an attention that ignores its mask"),
    (2, "finds everything"): ("lambda f: True", "finds a leak in the plain one"),
    (2, "two words alone"): ("moves(f, 2)", "leaks with more than four queries"),
    (2, "values alone"): ("moves(f, 8, keys=False)", "masks after the softmax"),
    (2, "compares with PyTorch's"): ("differs", "finds a leak in a sharper one"),
    (2, "attnkit's"): ("attnkit.testing.assert_causal", "a ready-made function"),
}  # fmt: skip

HELPERS = """
def careful(q, k, v, mask=None, fill=float("-inf"), dim=-1):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, fill)
    return scores.float().softmax(dim).to(v.dtype) @ v

def moves(f, L, keys=True):
    mask = torch.ones(L, L, dtype=torch.bool).tril()
    query, key, value = torch.randn(3, 1, 2, L, 8)
    before = f(query, key, value, mask)
    for j in range(1, L):
        other_key, other_value = key.clone(), value.clone()
        if keys:
            other_key[..., j:, :] += 3
        other_value[..., j:, :] += 3
        after = f(query, other_key, other_value, mask)
        if not torch.allclose(after[..., :j, :], before[..., :j, :], atol=1e-5):
            return True
    return False

def differs(f):
    mask = torch.ones(8, 8, dtype=torch.bool).tril()
    query, key, value = torch.randn(3, 1, 2, 8, 8)
    right = torch.nn.functional.scaled_dot_product_attention(query, key, value, mask)
    return not torch.allclose(f(query, key, value, mask), right, atol=1e-5)
"""
