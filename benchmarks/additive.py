"""Tiled additive attention against the broadcast form, Keras and `torch.compile`.

    python -m benchmarks.additive

Queries, keys and values come projected, as `keras.layers.AdditiveAttention` takes them.
"""

import os
from collections.abc import Callable

from benchmarks import _harness as harness

FORMS = ["tiled (ours)", "broadcast", "keras.layers.AdditiveAttention", "torch.compile(broadcast)"]
SETTING = {"batch": 8, "length": 256, "hidden": 128}
LONG = {"batch": 8, "length": 2048, "hidden": 256}
LENGTHS = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096]


def build(
    form: str, *, batch: int, length: int, hidden: int, backward: bool, device: str
) -> Callable[[], object] | None:
    """The call of one form; None where it cannot be had."""
    import torch

    tensors = [
        torch.randn(shape, device=device).requires_grad_(backward)
        for shape in [(batch, length, hidden), (batch, length, hidden), (hidden,)]
        + [(batch, length, hidden)]
    ]
    attend = _attend(form, tensors[2], device)
    if attend is None:
        return None
    wanted = list(tensors)
    if form.startswith("keras"):
        wanted[2] = attend.scale_parameter

    def forward() -> object:
        with torch.no_grad():
            return attend(*tensors)

    def both() -> object:
        output = attend(*tensors)
        return torch.autograd.grad(output, wanted, torch.ones_like(output))

    return both if backward else forward


def _attend(form: str, v: object, device: str) -> Callable[..., object] | None:
    from attnkit.efficient import tiled_additive_attention
    from attnkit.functional import attend
    from attnkit.scores import additive_scores

    def broadcast(query, key, v, value):
        return attend(additive_scores(query, key, v), value).output

    if form == FORMS[0]:
        return lambda *tensors: tiled_additive_attention(*tensors).output
    if form == "broadcast":
        return broadcast
    if form.startswith("torch.compile"):
        return harness.compiled(broadcast)
    os.environ["KERAS_BACKEND"] = "torch"
    try:
        import keras
    except ImportError:
        return None
    keras.config.disable_traceback_filtering()
    with keras.device("gpu" if device == "cuda" else "cpu"):
        layer = keras.layers.AdditiveAttention()
        layer.build([(None, 1, len(v))] * 3)

    def keras_attend(query, key, v, value):
        return layer([query, value, key])

    keras_attend.scale_parameter = layer.scale.value
    return keras_attend


def modules(
    *, batch: int, length: int, hidden: int, backward: bool, device: str
) -> dict[str, Callable[[], object]]:
    """`AdditiveAttention`, which chooses its form by the size, and the same kept from choosing."""
    import torch

    import attnkit
    from attnkit.mechanisms.scored import ScoredAttention

    class Broadcast(attnkit.AdditiveAttention):
        attend = ScoredAttention.attend

    x = torch.randn(batch, length, hidden, device=device).requires_grad_(backward)

    def call(kind: type) -> Callable[[], object]:
        module = kind(hidden, hidden, hidden).to(device)

        def forward() -> object:
            with torch.no_grad():
                return module(x)

        return (lambda: module(x).output.sum().backward()) if backward else forward

    return {
        "AdditiveAttention": call(attnkit.AdditiveAttention),
        "the same, always broadcast": call(Broadcast),
    }


def calls(forms: list[str], **settings: object) -> dict[str, Callable[[], object]]:
    made = {form: build(form, **settings) for form in forms}
    return {form: call for form, call in made.items() if call is not None}


def memory(*, quick: bool, threads: int, device: str) -> dict:
    """Peaks of the setting of the speed table, and of the long one that only ours can do."""
    found = {}
    setting = {**SETTING, "length": 128} if quick else SETTING
    # Large enough to be tiled, too: what is measured is memory, not the code that is loaded.
    small = {"warm_up": {"batch": 4, "length": 96}, "device": device}
    for name, backward in [("forward", False), ("forward and backward", True)]:
        forms = FORMS[:2] if quick else FORMS
        task = {**setting, **small, "backward": backward}
        found[name] = harness.peaks("benchmarks.additive", forms, task, threads=threads)
        harness.table(f"additive attention, memory, {name}, {_words(setting)}", found[name], "mib")
    if not quick:
        task = {**LONG, **small, "backward": True}
        found["long"] = harness.peaks("benchmarks.additive", FORMS[:1], task, threads=threads)
        broadcast = 4 * LONG["batch"] * LONG["length"] ** 2 * LONG["hidden"] / 2**20
        found["long"]["one broadcast tensor"] = {"mib": broadcast}
        harness.table(f"additive attention, memory, both passes, {_words(LONG)}",
                      found["long"], "mib")  # fmt: skip
    return {"setting": setting, "long setting": LONG, **found}


def speed(*, quick: bool, device: str) -> dict:
    """The setting of the speed table, and every length from 16 to 4,096."""
    found = {"setting": SETTING, "lengths": {}}
    rounds = 3 if quick else 15
    setting = {**SETTING, "length": 128} if quick else SETTING
    for name, backward in [("forward", False), ("forward and backward", True)]:
        forms = calls(FORMS[:2] if quick else FORMS, **setting, backward=backward, device=device)
        found[name] = harness.compare(forms, rounds=rounds, device=device)
        harness.table(f"additive attention, {name}, {_words(setting)}", found[name])
    for length in LENGTHS[:4] if quick else LENGTHS:
        shape = {"batch": 1, "length": length, "hidden": 32}
        case = found["lengths"][str(length)] = {}
        for name, backward in [("forward", False), ("forward and backward", True)]:
            if backward and length > 2048:  # the broadcast form would need 8 GiB
                continue
            forms = modules(**shape, backward=backward, device=device)
            case[name] = harness.compare(forms, rounds=rounds, budget=10.0, device=device)
            harness.table(f"additive attention, {name}, {_words(shape)}", case[name])
    if not quick:
        some = LENGTHS[4:]
        for form in ("AdditiveAttention", "the same, always broadcast"):
            times = [found["lengths"][str(n)]["forward"][form]["ms"] for n in some]
            found.setdefault("exponents", {})[form] = harness.exponent(some, times)
        print(f"\ngrowth exponents of the forward time, L >= {some[0]}: {found['exponents']}")
    return found


def _words(setting: dict[str, int]) -> str:
    return "B{batch} L=S={length} hidden {hidden}".format(**setting)


if __name__ == "__main__":
    from benchmarks.__main__ import main

    main(["additive"])
