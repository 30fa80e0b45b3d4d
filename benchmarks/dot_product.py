"""`scaled_dot_product_attention` against PyTorch's own call and the three lines by hand.

python -m benchmarks.dot_product
"""

from collections.abc import Callable

from benchmarks import _harness as harness

LENGTHS = [16, 64, 256, 1024]
BATCH, HEADS, HEAD_DIM = 4, 8, 64


def cases(length: int, device: str) -> dict[str, dict[str, Callable[[], object]]]:
    """Forms of the same computation, ours first, by case."""
    import torch
    import torch.nn.functional as F

    from attnkit import masks, scaled_dot_product_attention

    torch.manual_seed(0)
    shape = (BATCH, HEADS, length, HEAD_DIM)
    query, key, value = (torch.randn(shape, device=device) for _ in range(3))
    mask = masks.causal(length, device=device)
    leaves = [x.clone().requires_grad_() for x in (query, key, value)]

    def by_hand(query, key, value):
        weights = (query @ key.mT / HEAD_DIM**0.5).softmax(-1)
        return weights @ value, weights

    def masked_by_hand():
        scores = (query @ key.mT / HEAD_DIM**0.5).masked_fill(~mask, float("-inf"))
        return scores.softmax(-1) @ value

    def both(call):
        return lambda: call(*leaves).sum().backward()

    naive = {"matmul, softmax, matmul": lambda: by_hand(query, key, value)}
    fast = harness.compiled(by_hand) if length == LENGTHS[-1] else None
    if fast is not None:
        naive["torch.compile of the three"] = lambda: fast(query, key, value)
    return {
        "without weights": {
            "attnkit": lambda: scaled_dot_product_attention(query, key, value),
            "F.scaled_dot_product_attention": lambda: F.scaled_dot_product_attention(
                query, key, value
            ),
            **naive,
        },
        "without weights, causal mask": {
            "attnkit": lambda: scaled_dot_product_attention(query, key, value, mask=mask),
            "F.scaled_dot_product_attention": lambda: F.scaled_dot_product_attention(
                query, key, value, attn_mask=mask
            ),
            "matmul, mask, softmax, matmul": masked_by_hand,
        },
        "without weights, forward and backward": {
            "attnkit": both(lambda *x: scaled_dot_product_attention(*x).output),
            "F.scaled_dot_product_attention": both(F.scaled_dot_product_attention),
        },
        "with weights": {
            "attnkit": lambda: scaled_dot_product_attention(query, key, value, need_weights=True),
            **naive,
        },
    }


def speed(*, quick: bool, device: str) -> dict:
    import torch

    import attnkit

    found = {"shape": f"B{BATCH} H{HEADS} E{HEAD_DIM}", "backend": {}, "lengths": {}}
    for length in LENGTHS[:2] if quick else LENGTHS:
        found["lengths"][str(length)] = measured = {}
        forms_by_case = cases(length, device)
        ran = attnkit.device.sdpa_backend(next(iter(forms_by_case["without weights"].values())))
        found["backend"][str(length)] = ran
        print(f"\nL=S={length}: SDPA ran the backend {ran}", flush=True)
        for name, forms in forms_by_case.items():
            with torch.set_grad_enabled("backward" in name):
                measured[name] = harness.compare(
                    forms, rounds=3 if quick else 40, budget=8.0, device=device
                )
            harness.table(f"scaled dot product, {name}, L=S={length}", measured[name])
    return found


if __name__ == "__main__":
    from benchmarks.__main__ import main

    main(["dot_product"])
