"""What a graphics card does of what its roof allows, and which kernels it takes.

    python -m experiments.card            a card of 80 GB for half a minute
    python -m experiments.card --quick    small shapes, on any processor

In 16 bits on a card: a matrix of 128 MiB, by turns with three others so that none is found in a
cache, times 1 to 4,096 vectors; a layer's attention without a mask, 32 heads of 128 features, by
the plain three lines and by PyTorch's fused kernel, the time forward and what both passes of each
hold at their peak; and a language model of Llama 3.1 8B's shape with
random weights, which reads a prompt and writes a token, its kernels launched one by one by Python
or recorded and launched as one.

The least of five rounds of a fiftieth of a second each, one try. Then which kernel PyTorch takes
for a mask, and what each says, first of its features, where a query may attend to nothing.
"""

import warnings
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import attnkit
from attnkit import masks
from attnlab.transformer import LanguageModel
from benchmarks import _peak
from benchmarks._harness import Call, seconds
from experiments import _record as record

SIDE, MATRICES, HEADS, WIDTH, TOKENS = 8192, 4, 32, 128, 2048
ROUNDS, SHORTEST = 5, 0.02
LLAMA = {
    "vocab_size": 128_256, "embed_dim": 4096, "num_heads": 32, "num_kv_heads": 8,
    "num_layers": 32, "hidden_dim": 14_336,
}  # fmt: skip
SMALL = {
    "vocab_size": 64, "embed_dim": 32, "num_heads": 4, "num_kv_heads": 1, "num_layers": 2,
    "hidden_dim": 64,
}  # fmt: skip
KERNELS = ("MATH", "EFFICIENT_ATTENTION", "FLASH_ATTENTION", "CUDNN_ATTENTION")


def settings(quick: bool) -> list[dict]:
    """One for each case and size."""
    sizes = {"weights": (1, 4, 16, 64, 256, 1024, 4096), "attention": (4096, 16_384),
             "call": ("decode", "prefill"), "kernels": ("float32", "bfloat16")}  # fmt: skip
    if quick:
        sizes |= {"weights": (1, 2), "attention": (64,)}
    return [
        {"case": case, "of": of, "small": quick, "seed": 0}
        for case, some in sizes.items()
        for of in some
    ]


def plain(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Attention as equation 1 writes it, with the queries divided in place of the table."""
    return (query / query.shape[-1] ** 0.5 @ key.mT).softmax(-1) @ value


FORMS = {"plain": plain, "fused": F.scaled_dot_product_attention}


@torch.no_grad()
def measure(setting: dict, *, device: torch.device) -> dict:
    """Seconds of each form of a case, and what else it tells."""
    torch.manual_seed(setting["seed"])
    like = {"device": device, "dtype": attnkit.device.fast_dtype(device)}
    of, small = setting["of"], setting["small"]
    if setting["case"] == "weights":
        side = 64 if small else SIDE
        matrices = [torch.rand(side, side, **like) for _ in range(MATRICES)]
        vectors = torch.rand(side, of, **like)
        return {"seconds": {"product": least(lambda: [w @ vectors for w in matrices], device)
                            / MATRICES}}  # fmt: skip
    if setting["case"] == "attention":
        tensors = torch.randn(3, 1, HEADS, of, WIDTH, **like)
        return {
            "seconds": {name: least(lambda form=form: form(*tensors), device)
                        for name, form in FORMS.items()},
            "mib": {name: peak(form, tensors) for name, form in FORMS.items()},
        }  # fmt: skip
    if setting["case"] == "call":
        return called(of, SMALL if small else LLAMA, 8 if small else TOKENS, like)
    return kernels(getattr(torch, of), device)


def counted(case: str, size: int) -> dict[str, int]:
    """Operations, and bytes of 16-bit numbers that must be moved, a table of attention apart."""
    if case == "weights":
        moved = SIDE * SIDE + 2 * SIDE * size
        return {"operations": 2 * SIDE * SIDE * size, "bytes": 2 * moved}
    # Scores and weights are both written once and read once.
    table = HEADS * size * size
    return {"operations": 4 * table * WIDTH, "bytes": 2 * 4 * HEADS * size * WIDTH,
            "table": 2 * 4 * table}  # fmt: skip


def least(call: Call, device: torch.device) -> float:
    """Seconds of a call, the least of a few rounds."""
    call()
    once = seconds(call, 1, device.type)
    repeats = 1 if device.type == "cpu" else max(1, round(SHORTEST / once))
    return min(seconds(call, repeats, device.type) for _ in range(ROUNDS))


@torch.enable_grad()
def peak(form: Callable, tensors: torch.Tensor) -> float:
    """MiB at the peak of both passes, over what was held before."""
    leaves = [x.detach().requires_grad_() for x in tensors]
    return _peak.measure(lambda: form(*leaves).sum().backward(), tensors.device.type)


def called(phase: str, shape: dict, tokens: int, like: dict) -> dict:
    """Seconds of one call of the model, and the bytes of its weights and of its caches."""
    device, before = like["device"], torch.get_default_dtype()
    torch.set_default_dtype(like["dtype"])
    try:
        with device:
            model = LanguageModel(
                **shape, dropout=0.0, norm="rms", gated=True, activation="silu", bias=False,
                rotary_base=5e5, tie_embeddings=False,
            ).eval()  # fmt: skip
    finally:
        torch.set_default_dtype(before)
    text = torch.randint(model.vocab_size, (1, tokens), device=device)
    caches = model.new_caches()
    if phase == "prefill":
        calls = {"launched": lambda: model(text)}
    else:
        model(text, caches=caches)

        def step() -> None:
            model(text[:, -1:], caches=caches)

        # Recorded first, since every other call finds the text a token longer.
        calls = {"recorded": recorded(step, device), "launched": step}
    kept = sum(each.nbytes for each in caches)
    return {
        "seconds": {name: least(call, device) for name, call in calls.items()},
        "weights": sum(x.nbytes for x in model.parameters()),
        "caches": kept,
    }


def recorded(call: Call, device: torch.device) -> Call:
    """The call as a graph, whose kernels the card launches as one; as it is on a CPU."""
    if device.type != "cuda":
        return call
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def kernels(dtype: torch.dtype, device: torch.device) -> dict:
    """The kernel that PyTorch takes for each mask, and each kernel's answer to an empty row."""
    query, key, value = torch.randn(3, 2, 4, 512, 64, device=device, dtype=dtype)
    causal = masks.causal(512, device=device)
    shaped = {"none": None, "2": causal, "3": causal[None], "4": causal[None, None]}
    taken = {
        name: attnkit.device.sdpa_backend(
            lambda mask=mask: F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        )
        for name, mask in shaped.items()
    }
    empty = causal.clone()
    empty[5] = False
    added = torch.zeros(512, 512, device=device, dtype=dtype).masked_fill(~empty, -torch.inf)
    answers: dict[str, dict[str, float] | None] = {}
    for name in KERNELS:
        with sdpa_kernel(getattr(SDPBackend, name)), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                answers[name] = {
                    kind: F.scaled_dot_product_attention(query, key, value, attn_mask=mask)[
                        0, 0, 5, 0
                    ].item()
                    for kind, mask in (("boolean", empty), ("added", added))
                }
            except RuntimeError:  # no such kernel for these inputs
                answers[name] = None
    return {"taken": taken, "empty row": answers}


def told(run: dict) -> dict:
    """A row of the results: what was measured, and of the full sizes what is counted."""
    counts = run["case"] in ("weights", "attention") and not run["small"]
    return run | (counted(run["case"], run["of"]) if counts else {})


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("card", __doc__, argv)
    return record.run(chosen, settings=settings, measure=measure,
                      results=lambda runs: {"rows": [told(run) for run in runs]})  # fmt: skip


if __name__ == "__main__":
    main()
