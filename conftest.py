"""What pytest leaves out when it looks for examples in docstrings."""

from importlib.util import find_spec

# The kernels can be imported only where Triton is, which comes with PyTorch's CUDA builds.
collect_ignore_glob = [] if find_spec("triton") else ["attnkit/efficient/triton_*.py"]
