"""Device and dtype selection, and which SDPA backend ran."""

import os
import platform
from collections.abc import Callable

import torch
from torch.profiler import ProfilerActivity, profile

from attnkit.guard import checks

_BACKENDS = {
    "aten::_scaled_dot_product_flash_attention_for_cpu": "flash (CPU)",
    "aten::_scaled_dot_product_flash_attention": "flash",
    "aten::_scaled_dot_product_efficient_attention": "memory-efficient",
    "aten::_scaled_dot_product_cudnn_attention": "cuDNN",
    "aten::_scaled_dot_product_fused_attention_overrideable": "overrideable",
    "aten::_scaled_dot_product_attention_math_for_mps": "math (MPS)",
    "aten::_scaled_dot_product_attention_math": "math",
}


def choose(device: torch.device | str | None = None) -> torch.device:
    """Return the requested device, or the best available: CUDA, then Apple's MPS, then the CPU.

    Raises:
        ValueError: the requested device is unknown or not on this machine.

    Example:
        >>> choose("cpu")
        device(type='cpu')
    """
    if device is None:
        if torch.cuda.is_available():
            return torch.device("cuda", torch.cuda.current_device())
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        checks.fail(
            "device", f"a device of this machine ({choose()} would do)", f"{device!r}: {error}"
        )
    return chosen


def fast_dtype(device: torch.device | str | None = None) -> torch.dtype:
    """Return the dtype that trains fast and safely on a device: bfloat16 on GPUs that have it in
    hardware, else float32.

    Example:
        >>> fast_dtype("cpu")
        torch.float32
    """
    device = choose(device)
    if device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0):
        return torch.bfloat16
    return torch.float32


def describe(device: torch.device | str | None = None) -> str:
    """Describe the device, for captions and results files: its model, and memory or threads.

    A CPU's line also names the instructions that PyTorch uses there, such as AVX2 or AVX512: the
    last digits of a sum depend on them, and with them what a training ends at.

    Example:
        >>> describe("cpu")  # doctest: +ELLIPSIS
        '... thread...'
    """
    device = choose(device)
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        return f"{properties.name} ({properties.total_memory / 2**30:.0f} GiB)"
    if device.type != "cpu":
        return f"{_processor()} (MPS)"
    threads = f"{torch.get_num_threads()} thread{'s' * (torch.get_num_threads() != 1)}"
    return f"{_processor()} ({threads}, {torch.backends.cpu.get_cpu_capability()})"


def sdpa_backend(call: Callable[[], object]) -> str:
    """Run `call` under the profiler and return which backend of PyTorch's SDPA it used.

    Several backends are joined with " + "; "none" means that SDPA never ran.

    Raises:
        TypeError: `call` cannot be called.

    Example:
        >>> import torch.nn.functional as F
        >>> x = torch.ones(1, 1, 4, 8)
        >>> sdpa_backend(lambda: F.scaled_dot_product_attention(x, x, x))
        'flash (CPU)'
    """
    checks.function("call", call, "a function without arguments")
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # its own log would go to stderr
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        call()
    ran = {event.key for event in profiled.key_averages()}
    return " + ".join(name for op, name in _BACKENDS.items() if op in ran) or "none"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [
                line.split(":", 1)[1].strip() for line in file if line.startswith("model name")
            ]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
