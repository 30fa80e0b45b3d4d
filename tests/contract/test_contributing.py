"""The mechanism that CONTRIBUTING.md shows keeps the contract."""

import inspect
import math
import os
import re
import shutil
import subprocess
import sys

import pytest
import torch.nn.functional as F

from booktools.address import ROOT

from . import test_contract
from .mechanisms import Mechanism


@pytest.fixture(scope="module")
def code():
    """The code in "Add a mechanism"."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf8")
    section = text[text.index("## Add a mechanism") : text.index("## Add an experiment")]
    (code,) = re.findall(r"^   ```python\n(.*?)^   ```", section, re.M | re.S)
    return re.sub(r"^   ", "", code, flags=re.M)


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


KEPT = {name: test for name, test in vars(test_contract).items() if name.startswith("test_")}
NOT_ASKED = {"test_any_shape_and_mask", "test_cuda_agrees_with_the_cpu"}


def peer(module, query, key, value, mask):
    scores = 4 * F.cosine_similarity(query[:, :, None], key[:, None], dim=-1)
    scores = scores if mask is None else scores.masked_fill(~mask, -math.inf)
    return scores.softmax(-1) @ value


@pytest.mark.parametrize("name", sorted(KEPT.keys() - NOT_ASKED))
def test_it_keeps_the_contract(code, name):
    """With the last value of every parameter of its tests, and a mask in which a row is empty."""
    names: dict = {"__name__": "example"}
    exec(code, names)
    cosine = Mechanism("cosine", lambda: names["CosineAttention"](8), peer)
    given = {"mechanism": cosine, "mask": test_contract.MASKS["per-sequence"]()}
    for mark in getattr(KEPT[name], "pytestmark", ()):
        if mark.name == "parametrize":
            keys = [key.strip() for key in mark.args[0].split(",")]
            values = [x for x in mark.args[1] if not hasattr(x, "marks")][-1]
            given |= dict(zip(keys, values if len(keys) > 1 else (values,), strict=True))
    KEPT[name](**{key: given[key] for key in inspect.signature(KEPT[name]).parameters})
