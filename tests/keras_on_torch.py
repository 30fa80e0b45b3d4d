"""Keras 3 on its torch backend, imported when a test first names one of its parts.

It brings PyTorch's compiler with it, which is a fifth of what collecting all tests takes, and each
worker collects all of them.
"""

import os
from importlib import import_module
from typing import Any

# Keras reads them when it is imported.
os.environ["KERAS_BACKEND"] = "torch"
os.environ["KERAS_TORCH_DEVICE"] = "cpu"


def __getattr__(name: str) -> Any:
    if name.startswith(("_", "pytest")):  # pytest asks for these while it collects
        raise AttributeError(name)
    return getattr(import_module("keras"), name)
