"""What must stand before any test is collected: one arithmetic, and what pytest leaves out."""

import os
from importlib.util import find_spec

from booktools.notebooks import SAME_NUMBERS

# nbval's kernels inherit it, and print what `make notebooks` printed, on whatever processor.
for name, value in SAME_NUMBERS.items():
    os.environ.setdefault(name, value)

# The kernels can be imported only where Triton is, which comes with PyTorch's CUDA builds.
collect_ignore_glob = [] if find_spec("triton") else ["attnkit/efficient/triton/[a-z]*.py"]
