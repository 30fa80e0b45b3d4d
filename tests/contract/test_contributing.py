"""The mechanism that CONTRIBUTING.md shows keeps the contract."""

import math
import os
import re
import shutil
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F

from attnkit import masks
from booktools.address import ROOT


@pytest.fixture(scope="module")
def code():
    """The code in "Add a mechanism"."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf8")
    section = text[text.index("## Add a mechanism") : text.index("## Add an experiment")]
    (code,) = re.findall(r"^   ```python\n(.*?)^   ```", section, re.M | re.S)
    return re.sub(r"^   ", "", code, flags=re.M)


@pytest.fixture
def attention(code):
    names: dict = {"__name__": "example"}
    exec(code, names)
    return names["CosineAttention"](6, 4.0).double()


def test_it_is_imported_with_the_package_that_it_is_put_into(code, tmp_path):
    """As the text says: a file in `mechanisms`, and its name in the list there, in its order."""
    package = tmp_path / "attnkit"
    shutil.copytree(ROOT / "attnkit", package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "mechanisms" / "cosine.py").write_text(code)
    listed = package / "mechanisms" / "__init__.py"
    after = "from attnkit.mechanisms.additive import AdditiveAttention\n"
    text = listed.read_text()
    assert after in text
    line = "from attnkit.mechanisms.cosine import CosineAttention\n"
    listed.write_text(text.replace(after, after + line))
    script = "import attnkit; assert attnkit.__file__.startswith({!r}); attnkit.mechanisms.{}(8)"
    command = [sys.executable, "-c", script.format(str(tmp_path), "CosineAttention")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": str(tmp_path)})  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_it_equals_its_peer(attention):
    query, key, value = (torch.randn(2, length, 6).double() for length in (3, 5, 5))
    mask = masks.padding([5, 2])
    scores = 4 * F.cosine_similarity(query[:, :, None], key[:, None], dim=-1)
    expected = scores.masked_fill(~mask, -math.inf).softmax(-1) @ value
    output, weights = attention(query, key, value, mask=mask, need_weights=True)
    assert (output - expected).abs().max() < 1e-12
    assert (weights.sum(-1) - 1).abs().max() < 1e-12


def test_a_fully_masked_query_gives_zeros_and_nan_under_the_mask_stays_there(attention):
    x = torch.randn(1, 4, 6).double().requires_grad_()
    mask = torch.ones(4, 4, dtype=torch.bool).tril()
    mask[0] = False
    output = attention(x, mask=mask).output
    assert (output[:, 0] == 0).all()
    (grad,) = torch.autograd.grad(output.sum(), x)
    assert grad.isfinite().all()
    key = x.detach().clone()
    key[:, -1] = math.nan
    hidden = torch.ones(4, 4, dtype=torch.bool)
    hidden[:, -1] = False
    clean = attention(x.detach(), mask=hidden).output
    assert (attention(x.detach(), key, x.detach(), mask=hidden).output - clean).abs().max() < 1e-12
    assert torch.autograd.gradcheck(lambda q: attention(q, mask=mask).output, x)
