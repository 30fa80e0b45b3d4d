"""Full, windowed and linear attention, and flash's memory, as the sequence grows.

    python -m benchmarks.long

Every form is causal, with B1 H4 E64. Time and peak memory by length, growth exponents, and the
length from which on a form is faster than PyTorch's full attention.
"""

from collections.abc import Callable

from benchmarks import _harness as harness

FORMS = [
    "full, fused",
    "full, by hand",
    "flash in PyTorch",
    "window 128",
    "window 128, masked full",
    "window 128, FlexAttention",
    "linear",
]
NO_BACKWARD = ("window 128, FlexAttention",)
LENGTHS = [256, 512, 1024, 2048, 4096, 8192]
HEADS, HEAD_DIM, WINDOW = 4, 64, 128
# A form that holds all scores needs 4 * H * L * L bytes several times over.
LARGEST_WHOLE = 4096


def build(form: str, *, length: int, backward: bool, device: str) -> Callable[[], object] | None:
    """The call of one form; None where it cannot be had."""
    import torch

    shape = (1, HEADS, length, HEAD_DIM)
    tensors = [torch.randn(shape, device=device).requires_grad_(backward) for _ in range(3)]
    attend = _attend(form, length, device)
    if attend is None:
        return None

    def forward() -> object:
        with torch.no_grad():
            return attend(*tensors)

    def both() -> object:
        output = attend(*tensors)
        return torch.autograd.grad(output, tensors, torch.ones_like(output))

    return both if backward else forward


def _attend(form: str, length: int, device: str) -> Callable[..., object] | None:
    import torch.nn.functional as F

    from attnkit import efficient, masks

    def by_hand(query, key, value):
        scores = query @ key.mT / HEAD_DIM**0.5
        hidden = ~masks.causal(length, device=device)
        return scores.masked_fill(hidden, float("-inf")).softmax(-1) @ value

    def masked(query, key, value):
        near = masks.sliding_window(length, window=WINDOW, device=device)
        return F.scaled_dot_product_attention(query, key, value, attn_mask=near)

    if form == "window 128, FlexAttention":
        return _flex(length, device)
    return {
        "full, fused": lambda *x: F.scaled_dot_product_attention(*x, is_causal=True),
        "full, by hand": by_hand,
        "flash in PyTorch": lambda *x: efficient.flash_attention(*x, causal=True).output,
        "window 128": lambda *x: efficient.sliding_window_attention(*x, window=WINDOW).output,
        "window 128, masked full": masked,
        "linear": lambda *x: efficient.linear_attention(*x, causal=True).output,
    }[form]


def _flex(length: int, device: str) -> Callable[..., object] | None:
    import torch
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def near(b, h, q, k):
        return (q >= k) & (q - k < WINDOW)

    call = harness.compiled(flex_attention)
    if call is None:
        return None
    mask = create_block_mask(near, None, None, length, length, device=device)
    x = torch.randn(1, HEADS, length, HEAD_DIM, device=device)
    try:
        with torch.no_grad():
            call(x, x, x, block_mask=mask)
    except Exception as error:  # the compiler may refuse a device or a size in any way it likes
        print(f"FlexAttention is left out: {type(error).__name__}: {str(error)[:100]}", flush=True)
        return None
    return lambda *tensors: call(*tensors, block_mask=mask)


def _forms(length: int, backward: bool) -> list[str]:
    whole = ("full, by hand", "window 128, masked full")
    return [
        form
        for form in FORMS
        if not (form in whole and length > LARGEST_WHOLE) and not (form in NO_BACKWARD and backward)
    ]


def memory(*, quick: bool, threads: int, device: str) -> dict:
    found = {}
    for length in LENGTHS[:1] if quick else LENGTHS[2:]:
        task = {"length": length, "backward": True, "device": device, "warm_up": {"length": 160}}
        forms = _forms(length, True)
        found[str(length)] = harness.peaks("benchmarks.long", forms, task, threads=threads)
        title = f"memory, forward and backward, causal, L={length}"
        harness.table(title, found[str(length)], "mib")
    if not quick:
        found["exponents"] = _exponents(found, "mib")
        print(f"\ngrowth exponents of memory: {found['exponents']}")
    return found


def speed(*, quick: bool, device: str) -> dict:
    found: dict = {"shape": f"B1 H{HEADS} E{HEAD_DIM}, causal", "window": WINDOW}
    lengths = LENGTHS[:2] if quick else LENGTHS
    for name, backward in [("forward", False), ("forward and backward", True)]:
        found[name] = {}
        for length in lengths:
            forms = [f for f in _forms(length, backward) if not (quick and "Flex" in f)]
            made = {form: build(form, length=length, backward=backward, device=device)
                    for form in forms}  # fmt: skip
            found[name][str(length)] = harness.compare(
                {form: call for form, call in made.items() if call is not None},
                rounds=3 if quick else 9, budget=12.0, device=device,
            )  # fmt: skip
            harness.table(
                f"{name}, causal, L={length}, against the first", found[name][str(length)]
            )
        if not quick:
            found[name]["exponents"] = _exponents(found[name], "ms")
            found[name]["crossovers"] = _crossovers(found[name])
            print(f"\ngrowth exponents of time, {name}: {found[name]['exponents']}")
            print(f"faster than {FORMS[0]} from length: {found[name]['crossovers']}", flush=True)
    return found


def _series(found: dict, form: str, unit: str) -> tuple[list[int], list[float]]:
    points = [
        (int(length), case[form][unit])
        for length, case in found.items()
        if length.isdigit() and unit in case.get(form, {})
    ]
    return [n for n, _ in points], [value for _, value in points]


def _exponents(found: dict, unit: str) -> dict[str, float]:
    """The slope over the last three lengths that a form reached."""
    series = {form: _series(found, form, unit) for form in FORMS}
    return {
        form: harness.exponent(lengths[-3:], values[-3:])
        for form, (lengths, values) in series.items()
        if len(lengths) >= 3 and min(values) > 0
    }


def _crossovers(found: dict) -> dict[str, int | None]:
    _, full = _series(found, FORMS[0], "ms")
    result = {}
    for form in FORMS[3:]:
        reached, times = _series(found, form, "ms")
        if reached:
            result[form] = harness.crossover(reached, times, full[: len(reached)])
    return result


if __name__ == "__main__":
    from benchmarks.__main__ import main

    main(["long"])
