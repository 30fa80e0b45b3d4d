"""Choosing a device, and naming the backend that ran."""

import os
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import attnkit
from attnkit import device


def test_a_device_asked_for_is_the_device():
    assert device.choose("cpu") == torch.device("cpu")
    assert device.choose(torch.device("cpu")) == torch.device("cpu")


@pytest.mark.parametrize("has_cuda", [False, True])
@pytest.mark.parametrize("has_mps", [False, True])
def test_the_best_device_is_chosen(monkeypatch, has_cuda, has_mps):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: has_cuda)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: has_mps)
    assert device.choose().type == ("cuda" if has_cuda else "mps" if has_mps else "cpu")


def test_cpu_trains_in_float32():
    assert device.fast_dtype("cpu") == torch.float32


@pytest.mark.parametrize(
    "capability, dtype",
    [((7, 5), torch.float32), ((8, 0), torch.bfloat16), ((9, 0), torch.bfloat16)],
)
def test_bfloat16_where_the_hardware_has_it(monkeypatch, capability, dtype):
    monkeypatch.setattr(device, "choose", lambda wanted: torch.device("cuda", 0))
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
    assert device.fast_dtype() == dtype


def test_the_cpu_is_described_with_its_threads_and_instructions(monkeypatch):
    kernels = torch.backends.cpu.get_cpu_capability()
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert device.describe("cpu").endswith(f"(1 thread, {kernels})")
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    assert device.describe("cpu").endswith(f"(3 threads, {kernels})")


def test_the_backend_that_ran_is_named():
    x = torch.randn(1, 2, 16, 8)
    assert device.sdpa_backend(lambda: F.scaled_dot_product_attention(x, x, x)) == "flash (CPU)"
    with sdpa_kernel(SDPBackend.MATH):
        assert device.sdpa_backend(lambda: F.scaled_dot_product_attention(x, x, x)) == "math"
    assert device.sdpa_backend(lambda: x + x) == "none"


@pytest.mark.build
def test_naming_the_backend_leaves_stderr_alone():
    """The profiler's own log would otherwise stand in the notebook's output."""
    ask = "import attnkit.device as d, torch; print(d.sdpa_backend(lambda: torch.ones(2) + 1))"
    clean = {name: value for name, value in os.environ.items() if name != "KINETO_LOG_LEVEL"}
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, env=clean)
    assert (done.stdout, done.stderr) == ("none\n", "")


def test_where_weights_are_asked_for_no_kernel_runs():
    x = torch.randn(2, 16, 8)
    explicit = device.sdpa_backend(
        lambda: attnkit.scaled_dot_product_attention(x, x, x, need_weights=True)
    )
    assert explicit == "none"
