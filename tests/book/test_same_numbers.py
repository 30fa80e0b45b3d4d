"""What chapters print must not depend on the make of the processor."""

import ast
import os
import sys

import nbformat
import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from attnbook import arithmetic
from attnlab.training.loop import make_optimizer
from booktools import gates, normal_form
from booktools.notebooks import SAME_NUMBERS, execute

CHAPTERS, NOTEBOOKS = gates.chapters(), gates.notebooks()


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


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_adam_takes_exact_square_roots(path):
    for call in adams(path):
        assert any(word.arg == "fused" and word.value.value is True for word in call.keywords)


def test_no_adam_of_a_notebook_is_overlooked():
    found = [len(list(adams(path))) for path in NOTEBOOKS]
    books = [normal_form.read(path).cells for path in NOTEBOOKS]
    assert found == [sum(cell.source.count("optim.Adam") for cell in cells
                         if cell.cell_type == "code") for cells in books]  # fmt: skip
    assert sum(found) > 0


def test_fit_takes_them_too():
    assert make_optimizer(nn.Linear(2, 2), 0.1).defaults["fused"] is True


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_runs_under_the_one_arithmetic(dtype):
    query = torch.randn(1, 2, 1000, 32, dtype=dtype)
    assert scaled_dot_product_attention(query, query, query).isfinite().all()
    assert nn.LSTM(8, 8).to(dtype)(torch.randn(5, 2, 8, dtype=dtype))[0].isfinite().all()


def test_a_notebook_is_held_to_the_kernels_of_the_page_and_a_script_is_not(monkeypatch):
    def held(where, avx2=True):
        for name in arithmetic.KERNELS:
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("MKL_CBWR", "AVX2")  # the reader's own choice
        monkeypatch.setitem(sys.modules, where, sys)
        monkeypatch.setattr(torch.cpu, "_is_avx2_supported", lambda: avx2)
        arithmetic.hold_in_notebooks()
        return {name: os.environ.get(name) for name in arithmetic.KERNELS}

    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    alone = dict.fromkeys(arithmetic.KERNELS) | {"MKL_CBWR": "AVX2"}
    assert held("script") == alone
    assert held("ipykernel", avx2=False) == alone
    assert held("ipykernel") == arithmetic.KERNELS | {"MKL_CBWR": "AVX2"}


@pytest.mark.slow
@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem.split("_")[0])
def test_a_chapter_prints_in_any_jupyter_what_it_prints_in_the_book(path):
    """Nothing but `import attnbook` chooses the kernels and the number of threads here."""
    book = normal_form.read(path)
    printed = normal_form.normalise(normal_form.read(path))
    plain = {name: value for name, value in os.environ.items() if name not in SAME_NUMBERS}
    execute(book, path.parent, environment=plain | {"TQDM_DISABLE": "1"})
    assert streams(normal_form.normalise(book)) == streams(printed)


def streams(book):
    """What the cells print, in order."""
    outputs = [cell.get("outputs", []) for cell in book.cells]
    return [[one.text for one in some if one.output_type == "stream"] for some in outputs]
