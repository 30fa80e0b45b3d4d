"""The Triton kernels of additive attention, on a GPU or, without one, in Triton's interpreter.

The interpreter is chosen in `tests/conftest.py`, before anything imports Triton.
"""

import importlib
import os
import subprocess
import sys

import pytest
import torch

from attnkit import masks
from attnkit.efficient import tiled_additive, tiled_additive_attention

pytest.importorskip("triton", reason="Triton is optional, and comes with PyTorch's CUDA builds")
additive_triton = importlib.import_module("attnkit.efficient.additive_triton")
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


@pytest.fixture
def in_kernels(monkeypatch):
    """Send CPU tensors to the kernels too, and count the calls."""
    asked = []

    def function(value):
        if not tiled_additive.fits_kernel(value):
            return tiled_additive._Attention
        asked.append("kernel")
        return additive_triton.Attention

    monkeypatch.setattr(tiled_additive, "_function", function)
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
    assert in_kernels == ["kernel"]
    assert_close(mine, additive_results(inputs, mask, in_float64=True), 2e-5)


@pytest.mark.parametrize("scale", [0.01, 300.0])
def test_additive_takes_small_and_large_numbers(scale, in_kernels):
    inputs = make((1, 9, 5), (1, 11, 5), (5,), (1, 11, 3))
    inputs[:2] = [(x.detach() * scale).requires_grad_() for x in inputs[:2]]
    mine = additive_results(inputs, None, in_float64=False)
    assert in_kernels == ["kernel"]
    assert_close(mine, additive_results(inputs, None, in_float64=True), 2e-5)


@pytest.mark.parametrize("dtype, tolerance", HALF, ids=str)
def test_additive_in_half_precision(dtype, tolerance, in_kernels):
    inputs = make((1, 9, 5), (1, 11, 5), (5,), (1, 11, 3), dtype=dtype)
    mine = additive_results(inputs, None, in_float64=False)
    assert in_kernels == ["kernel"]
    assert_close(mine, additive_results(inputs, None, in_float64=True), tolerance)


def test_additive_has_second_derivatives(in_kernels):
    inputs = make((1, 4, 3), (1, 5, 3), (3,), (1, 5, 2))
    wide = [x.detach().double().requires_grad_() for x in inputs]
    second = []
    for some in (inputs, wide):
        output = tiled_additive_attention(*some).output
        grad = torch.autograd.grad(output.square().sum(), some[0], create_graph=True)[0]
        second.append(torch.autograd.grad(grad.square().sum(), some[1])[0].double())
    assert in_kernels == ["kernel"]
    assert_close(second[:1], second[1:], 1e-4)


COMPILE = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from attnkit.efficient import additive_triton

def compile(kernel, numbers, sizes):
    signature = {name: "i32" for name in kernel.arg_names} | {name: "constexpr" for name in sizes}
    signature |= {name: "*fp32" for name in (*numbers, "logsumexp", "delta")}
    signature = {name: signature[name] for name in kernel.arg_names}
    if "mask" in signature:
        signature["mask"] = "*u8"
    source = ASTSource(fn=kernel, signature=signature, constexprs=sizes)
    made = triton.compile(source, target=GPUTarget("cuda", 80, 32))
    assert made.metadata.shared <= 99 * 1024, made.metadata.shared
    print(kernel.__name__, len(made.asm["cubin"]))

names = "query key value output grad grad_query grad_key grad_value v grad_v".split()
sizes = {"MASKED": True, "VALUES": 64, "ROWS": 32, "KEYS": 64}
for kernel in (additive_triton._forward, additive_triton._backward):
    compile(kernel, names, sizes)
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
    assert len(done.stdout.splitlines()) == 2


def test_what_the_kernel_does_not_take():
    narrow = torch.empty(1, 4, 16, device=DEVICE)
    assert tiled_additive.fits_kernel(narrow)
    assert not tiled_additive.fits_kernel(narrow.double())
    assert not tiled_additive.fits_kernel(torch.empty(1, 4, 200, device=DEVICE))
    if not CUDA:
        assert tiled_additive._function(narrow) is tiled_additive._Attention


def test_without_triton_the_form_in_pytorch_runs(monkeypatch):
    class OnAGpu(torch.Tensor):
        is_cuda = True

    value = torch.empty(1, 4, 16).as_subclass(OnAGpu)
    assert tiled_additive._function(value) is additive_triton.Attention
    monkeypatch.setattr(tiled_additive, "find_spec", lambda name: None)
    assert tiled_additive._function(value) is tiled_additive._Attention
