"""The Triton flash kernel against the flash backend of PyTorch's SDPA: runs on a GPU only.

python -m benchmarks kernels --device cuda
"""

from collections.abc import Callable

from benchmarks import _harness as harness

BATCH, HEADS, HEAD_DIM = 4, 16, 128
LENGTHS = [1024, 2048, 4096, 8192, 16384]
OURS, THEIRS = "flash_attention", "SDPA, flash backend"


def build(
    form: str, *, length: int, causal: bool, backward: bool, device: str, heads: int = HEADS
) -> Callable[[], object]:
    """The call of one form, in bfloat16."""
    import torch
    import torch.nn.functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel

    from attnkit.efficient import flash_attention

    shape = (BATCH, heads, length, HEAD_DIM)
    tensors = [
        torch.randn(shape, device=device, dtype=torch.bfloat16).requires_grad_(backward)
        for _ in range(3)
    ]

    def attend() -> object:
        if form == OURS:
            return flash_attention(*tensors, causal=causal).output
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            return F.scaled_dot_product_attention(*tensors, is_causal=causal)

    def forward() -> object:
        with torch.no_grad():
            return attend()

    def both() -> object:
        output = attend()
        return torch.autograd.grad(output, tensors, torch.ones_like(output))

    return both if backward else forward


def memory(*, quick: bool, threads: int, device: str) -> dict:
    """Peaks of both passes; linear in the length when all is well."""
    if device != "cuda":
        return {}
    found: dict = {}
    lengths = LENGTHS[:2] if quick else LENGTHS
    for length in lengths:
        task = {"length": length, "causal": True, "backward": True, "device": device}
        task["warm_up"] = {"length": 256}
        peaks = harness.peaks("benchmarks.kernels", [OURS, THEIRS], task, threads=threads)
        found[str(length)] = peaks
        harness.table(f"memory of both passes, causal, L={length}", peaks, "mib")
    reached = [found[str(length)][OURS].get("mib") for length in lengths]
    if all(reached):
        found["exponent"] = harness.exponent(lengths, reached)
    return found


def speed(*, quick: bool, device: str) -> dict:
    """Both passes and the forward one, causal and not. At least 0.9 is asked of the ratio."""
    if device != "cuda":
        print("\nTriton kernels: left out, since they are measured on a GPU only")
        return {"left out": "no GPU"}
    found: dict = {"shape": f"B{BATCH} H{HEADS} E{HEAD_DIM}, bfloat16"}
    for causal in (False, True):
        for backward in (False, True):
            name = ("forward and backward" if backward else "forward") + ", causal" * causal
            found[name] = {}
            for length in LENGTHS[:1] if quick else LENGTHS:
                options = {"length": length, "causal": causal, "backward": backward}
                forms = {form: build(form, **options, device=device) for form in (OURS, THEIRS)}
                found[name][str(length)] = harness.compare(
                    forms, rounds=3 if quick else 20, budget=10.0, device=device
                )
                harness.table(f"flash, {name}, L={length}", found[name][str(length)])
    return found


if __name__ == "__main__":
    from benchmarks.__main__ import main

    main(["kernels", "--device", "cuda"])
