"""Settings that must stand before anything under test is imported."""

import os

import torch

if not torch.cuda.is_available():
    # Triton decides at its import whether its kernels are compiled or interpreted.
    os.environ.setdefault("TRITON_INTERPRET", "1")
