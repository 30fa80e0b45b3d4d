"""The order of sums on a processor: it decides last digits, and all that training makes of them.

Each library chooses its kernels by the make of the processor. `import attnbook` in a notebook holds
them to those of the page, so that a chapter prints on any x86 with AVX2 what the book shows.
The libraries read these variables at the first sum, so torch may be imported before. What the
environment says already stays, a script keeps the fastest kernels, and a GPU is not concerned.
"""

import os
import sys

import torch

# The widest that nearly every x86 machine of the last ten years shares. oneDNN is left to choose:
# it computes the LSTM alone, and narrowed it has none in half precision. Only AMX is kept from it,
# since PyTorch's own kernels, held to AVX2, raise an error where it is on (bfloat16 attention:
# "pack_vnni2 is only supported when avx512 is supported").
KERNELS = {
    "MKL_CBWR": "COMPATIBLE",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX512_CORE",
}


def hold_in_notebooks() -> None:
    """In a Jupyter kernel, choose these kernels where there are any and none is named already."""
    # `torch.backends.cpu.get_cpu_capability` would make PyTorch choose now, and its choice stands.
    has_them = getattr(torch.cpu, "_is_avx2_supported", lambda: False)
    if "ipykernel" in sys.modules and has_them():
        for name, value in KERNELS.items():
            os.environ.setdefault(name, value)
