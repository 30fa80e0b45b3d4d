"""The Triton kernels, on a GPU where there is one and in Triton's interpreter where there is none.

The interpreter is chosen in `tests/conftest.py`, before anything imports Triton.
"""

import math
import os
import subprocess
import sys

import pytest
import torch

from attnkit import masks
from attnkit.efficient import flash_with_logsumexp, tiled_additive_attention
from attnkit.efficient import triton as kernels

pytest.importorskip("triton", reason="Triton is optional, and comes with PyTorch's CUDA builds")
CUDA = torch.cuda.is_available()
if not CUDA and os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("no GPU, and no TRITON_INTERPRET=1", allow_module_level=True)

pytestmark = [
    pytest.mark.build,  # the interpreter takes a second for what a GPU does in a microsecond
    # numpy, which the interpreter computes with, warns of what the kernels mean to do: exp2(-inf).
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]
DEVICE = "cuda" if CUDA else "cpu"
HALF = [(torch.float16, 4e-3), (torch.bfloat16, 3e-2)]
SEEN = {
    "everything": {},
    "causal": {"causal": True, "offset": 0},
    "causal, last with last": {"causal": True, "offset": 30},
    "window": {"window": 9, "offset": 3},
    "causal window": {"causal": True, "window": 20, "offset": -5},
    "one row into the next block": {"causal": True, "window": 34, "offset": 0},
    "far before": {"causal": True, "offset": -40},
}


@pytest.fixture
def in_kernels(monkeypatch):
    """Send CPU tensors to the kernels too, and say which were asked for."""
    asked = []

    def find(name, *tensors):
        if not kernels.fits(*tensors):
            return None
        asked.append(name)
        return kernels.load(name)

    monkeypatch.setattr(kernels, "find", find)
    monkeypatch.setattr("attnkit.efficient.tiled_additive.WORTH_TILING", 0)
    monkeypatch.setattr("attnkit.efficient.tiled_additive.FEW_PAIRS", 0)
    return asked


def make(*shapes, dtype=torch.float32):
    generator = torch.Generator().manual_seed(sum(map(sum, shapes)))
    made = [torch.randn(shape, generator=generator) for shape in shapes]
    return [x.to(DEVICE, dtype).requires_grad_() for x in made]


def results(call, inputs):
    """Outputs and gradients, in float64; every output has a share in the gradients."""
    outputs = call(*inputs)
    loss = 0
    for x in outputs:
        weight = torch.cos(torch.arange(x.numel(), device=x.device)).view(x.shape)
        loss = loss + (x.masked_fill(x.isinf(), 0.0).double() * weight).sum()
    grads = torch.autograd.grad(loss, inputs)
    return [x.detach().double() for x in (*outputs, *grads)]


def assert_close(mine, theirs, tolerance):
    for a, b in zip(mine, theirs, strict=True):
        assert a.shape == b.shape
        assert (a.isinf() == b.isinf()).all()
        a, b = a[a.isfinite()], b[b.isfinite()]
        assert len(a) == len(b)
        if len(a):
            assert (a - b).abs().max() <= tolerance * max(1.0, b.abs().max().item())


def flash_results(inputs, *, in_float64, **options):
    if in_float64:
        inputs = [x.detach().double().requires_grad_() for x in inputs]
    return results(lambda *x: flash_with_logsumexp(*x, **options), inputs)


@pytest.mark.parametrize("seen", SEEN.values(), ids=SEEN.keys())
@pytest.mark.parametrize("L, S", [(1, 1), (1, 7), (7, 129), (129, 7), (70, 100)])
def test_flash_equals_the_form_in_pytorch(L, S, seen, in_kernels):
    inputs = make((1, 1, L, 16), (1, 1, S, 16), (1, 1, S, 16))
    mine = flash_results(inputs, in_float64=False, **seen)
    assert in_kernels == ["flash"]
    assert_close(mine, flash_results(inputs, in_float64=True, **seen), 2e-5)
    assert in_kernels == ["flash"]  # float64 has no kernel


@pytest.mark.parametrize("kv_heads, width, value_width", [(1, 8, 24), (2, 40, 5), (4, 8, 24)])
def test_flash_with_grouped_heads_and_odd_widths(kv_heads, width, value_width, in_kernels):
    inputs = make((2, 4, 33, width), (2, kv_heads, 40, width), (2, kv_heads, 40, value_width))
    options = {"enable_gqa": True, "causal": True, "offset": 7, "scale": 0.3}
    mine = flash_results(inputs, in_float64=False, **options)
    assert in_kernels == ["flash"]
    assert_close(mine, flash_results(inputs, in_float64=True, **options), 2e-5)


@pytest.mark.parametrize("dtype, tolerance", HALF, ids=str)
@pytest.mark.parametrize("width", [32, 128])
def test_flash_in_half_precision(dtype, tolerance, width, in_kernels):
    inputs = make((1, 2, 130, width), (1, 2, 130, width), (1, 2, 130, width), dtype=dtype)
    mine = flash_results(inputs, in_float64=False, causal=True, window=70)
    assert in_kernels == ["flash"]
    assert_close(mine, flash_results(inputs, in_float64=True, causal=True, window=70), tolerance)


@pytest.mark.parametrize("lead", [(), (3,), (2, 1, 2)], ids=str)
def test_flash_takes_any_leading_dimensions_and_strides(lead, in_kernels):
    inputs = make((*lead, 9, 16), (*lead, 9, 16), (9, 16))
    inputs = [x.detach().mT.contiguous().mT.requires_grad_() for x in inputs]
    mine = flash_results(inputs, in_float64=False, causal=True)
    assert in_kernels == ["flash"]
    assert_close(mine, flash_results(inputs, in_float64=True, causal=True), 2e-5)


def test_flash_hides_a_nan_that_nobody_sees(in_kernels):
    query, key, value = make((1, 1, 40, 16), (1, 1, 40, 16), (1, 1, 40, 16))
    key.data[..., 20, :] = math.nan
    output, _ = flash_with_logsumexp(query, key, value, causal=True, window=5)
    assert output[..., :20, :].isfinite().all()
    assert output[..., 20:25, :].isnan().all()
    assert output[..., 25:, :].isfinite().all()
    assert in_kernels == ["flash"]


def test_flash_refuses_a_second_derivative(in_kernels):
    inputs = make((1, 1, 4, 16), (1, 1, 4, 16), (1, 1, 4, 16))
    flash, _ = flash_with_logsumexp(*inputs)
    with pytest.raises(NotImplementedError, match="create_graph"):
        torch.autograd.grad(flash.sum(), inputs, create_graph=True)


def additive_results(inputs, mask, *, in_float64):
    if in_float64:
        inputs = [x.detach().double().requires_grad_() for x in inputs]
    return results(lambda *x: [tiled_additive_attention(*x, mask=mask).output], inputs)


MASKS = {
    "none": lambda L, S: None,
    "causal": lambda L, S: masks.causal(L, S, offset=S - L),
    "keys": lambda L, S: torch.arange(S)[None] % 3 > 0,
    "holes": lambda L, S: (torch.rand(2, L, S) < 0.4) & (torch.rand(2, L, 1) < 0.7),
    "nothing": lambda L, S: torch.zeros(L, S, dtype=torch.bool),
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())
@pytest.mark.parametrize("L, S", [(1, 1), (7, 70), (70, 7), (33, 65)])
def test_additive_equals_the_form_in_pytorch(L, S, mask, in_kernels):
    torch.manual_seed(0)
    mask = mask(L, S)
    mask = mask if mask is None else mask.to(DEVICE)
    inputs = make((2, L, 5), (2, S, 5), (5,), (2, S, 20))
    mine = additive_results(inputs, mask, in_float64=False)
    assert in_kernels == ["additive"]
    assert_close(mine, additive_results(inputs, mask, in_float64=True), 2e-5)


@pytest.mark.parametrize("scale", [0.01, 300.0])
def test_additive_takes_small_and_large_numbers(scale, in_kernels):
    inputs = make((1, 9, 5), (1, 11, 5), (5,), (1, 11, 3))
    inputs[:2] = [(x.detach() * scale).requires_grad_() for x in inputs[:2]]
    mine = additive_results(inputs, None, in_float64=False)
    assert in_kernels == ["additive"]
    assert_close(mine, additive_results(inputs, None, in_float64=True), 2e-5)


@pytest.mark.parametrize("dtype, tolerance", HALF, ids=str)
def test_additive_in_half_precision(dtype, tolerance, in_kernels):
    inputs = make((1, 9, 5), (1, 11, 5), (5,), (1, 11, 3), dtype=dtype)
    mine = additive_results(inputs, None, in_float64=False)
    assert in_kernels == ["additive"]
    assert_close(mine, additive_results(inputs, None, in_float64=True), tolerance)


def test_additive_has_second_derivatives(in_kernels):
    inputs = make((1, 4, 3), (1, 5, 3), (3,), (1, 5, 2))
    wide = [x.detach().double().requires_grad_() for x in inputs]
    second = []
    for some in (inputs, wide):
        output = tiled_additive_attention(*some).output
        grad = torch.autograd.grad(output.square().sum(), some[0], create_graph=True)[0]
        second.append(torch.autograd.grad(grad.square().sum(), some[1])[0].double())
    assert in_kernels == ["additive"]
    assert_close(second[:1], second[1:], 1e-4)


COMPILE = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from attnkit.efficient.triton import additive as triton_additive, flash as triton_flash

def compile(kernel, numbers, pointers, sizes, **options):
    signature = {name: "i32" for name in kernel.arg_names} | {name: "constexpr" for name in sizes}
    signature |= {name: "*" + pointers for name in numbers} | {"scale": "fp32"}
    signature |= {name: "*fp32" for name in ("logsumexp", "delta")}
    signature = {name: signature[name] for name in kernel.arg_names}
    if "mask" in signature:
        signature["mask"] = "*u8"
    source = ASTSource(fn=kernel, signature=signature, constexprs=sizes)
    made = triton.compile(source, target=GPUTarget("cuda", 80, 32), options=options)
    assert made.metadata.shared <= 99 * 1024, made.metadata.shared
    print(kernel.__name__, len(made.asm["cubin"]))

names = "query key value output grad grad_query grad_key grad_value v grad_v".split()
flash = {"GROUP": 2, "HEADS": 4, "ROWS": 64, "KEYS": 64, "WIDTH": 128, "VALUES": 128,
         "WIDEN": False}
for kernel in (triton_flash._forward, triton_flash._backward_query, triton_flash._backward_key):
    compile(kernel, names, "bf16", flash, num_warps=4, num_stages=2)
additive = {"MASKED": True, "VALUES": 64, "ROWS": 32, "KEYS": 64}
for kernel in (triton_additive._forward, triton_additive._backward):
    compile(kernel, names, "fp32", additive)
"""


@pytest.mark.slow
def test_the_kernels_compile_for_a_gpu_that_is_not_there(tmp_path):
    """What the interpreter lets pass a compiler may not; this one needs no GPU to say so."""
    environment = {**os.environ, "TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", COMPILE],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(done.stdout.splitlines()) == 5


def test_what_the_kernels_do_not_take():
    narrow = torch.empty(1, 4, 16, device=DEVICE)
    assert kernels.fits(narrow, narrow)
    assert not kernels.fits(narrow, narrow.double())
    wide = torch.empty(1, 4, 200, device=DEVICE)
    assert not kernels.fits(narrow, wide)
    assert kernels.fits(narrow.half(), wide.half())
    assert not kernels.fits(narrow, torch.empty(1, 0, 16, device=DEVICE))
    if not CUDA:
        assert kernels.find("flash", narrow) is None


def test_without_triton_there_is_no_kernel(monkeypatch):
    monkeypatch.setattr(kernels, "find_spec", lambda name: None)
    kernels.load.cache_clear()
    assert kernels.load("flash") is None
    kernels.load.cache_clear()
