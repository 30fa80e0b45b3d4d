"""What chapters print must not depend on the make of the processor."""

import ast
import os
from pathlib import Path

import nbformat
import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from attnkit.training.loop import make_optimizer
from booktools.notebooks import SAME_NUMBERS

CHAPTERS = sorted((Path(__file__).parents[2] / "chapters").glob("*.ipynb"))


def adams(path):
    """Every call of an Adam in the code of a notebook."""
    cells = nbformat.read(path, as_version=4).cells
    for cell in cells:
        if cell.cell_type != "code" or "nbval-skip" in cell.metadata.get("tags", []):
            continue
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("torch.optim.Adam"):
                yield node


def test_kernels_that_pytest_starts_inherit_one_arithmetic():
    assert {name: os.environ.get(name) for name in SAME_NUMBERS} == SAME_NUMBERS


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem[:2])
def test_every_adam_takes_exact_square_roots(path):
    for call in adams(path):
        assert any(word.arg == "fused" and word.value.value is True for word in call.keywords)


def test_some_chapters_train():
    assert sum(len(list(adams(path))) for path in CHAPTERS) >= 8


def test_fit_takes_them_too():
    assert make_optimizer(nn.Linear(2, 2), 0.1).defaults["fused"] is True


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_runs_under_the_one_arithmetic(dtype):
    query = torch.randn(1, 2, 1000, 32, dtype=dtype)
    assert scaled_dot_product_attention(query, query, query).isfinite().all()
    assert nn.LSTM(8, 8).to(dtype)(torch.randn(5, 2, 8, dtype=dtype))[0].isfinite().all()
