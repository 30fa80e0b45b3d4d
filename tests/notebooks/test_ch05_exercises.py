"""The exercises of chapter 05: each solution printed in the book passes its check, plausible wrong
answers do not, and an untouched exercise says so.

The checks and the solutions are read from the notebook itself, so what is tested is what is read.
"""

import re
from pathlib import Path

import nbformat
import pytest

CHAPTER = Path(__file__).parents[2] / "chapters" / "05_scaled_dot_product_attention.ipynb"
CHECKS = {
    1: "check_scale",
    2: "check_attention",
    3: "check_backward",
    4: "check_half",
    5: "check_temperature",
}

WRONG = {
    (1, "forgets the deviations"): "lambda a, b, d: d**-0.5",
    (1, "variances for deviations"): "lambda a, b, d: 1 / (a**2 * b**2 * d**0.5)",
    (1, "no root"): "lambda a, b, d: 1 / (a * b * d)",
    (1, "the inverse"): "lambda a, b, d: a * b * d**0.5",
    (2, "no root"): "lambda q, k, v: (q @ k.mT / q.shape[-1]).softmax(-1) @ v",
    (2, "no scale"): "lambda q, k, v: (q @ k.mT).softmax(-1) @ v",
    (2, "softmax over queries"): "lambda q, k, v: (q @ k.mT / q.shape[-1] ** 0.5).softmax(-2) @ v",
    (2, "size of the value"): "lambda q, k, v: (q @ k.mT / v.shape[-1] ** 0.5).softmax(-1) @ v",
    (2, "turns all dimensions round"): (
        "lambda q, k, v: (q @ k.permute(*range(k.dim())[::-1]) / q.shape[-1]**0.5).softmax(-1) @ v"
    ),
    (3, "only the diagonal"): "lambda a, g: a * (1 - a) * g",
    (3, "unweighted mean"): "lambda a, g: a * (g - g.mean(-1, keepdim=True))",
    (3, "sum over everything"): "lambda a, g: a * (g - (a * g).sum())",
    (3, "no subtraction"): "lambda a, g: a * g",
    (4, "all in half"): "lambda q, k, v: (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v",
    (4, "scales first, still in half"): (
        "lambda q, k, v: (q / q.shape[-1] ** 0.5 @ k.mT).softmax(-1) @ v"
    ),
    (4, "softmax in float32, scores in half"): (
        "lambda q, k, v: "
        "((q / q.shape[-1] ** 0.5 @ k.mT).float().softmax(-1) @ v.float()).to(q.dtype)"
    ),
    (4, "stays in float32"): (
        "lambda q, k, v: F.scaled_dot_product_attention(q.float(), k.float(), v.float())"
    ),
    (5, "the usual scale"): "lambda s, n: 4.0",
    (5, "the standard deviation"): "lambda s, n: s.std().item()",
    (5, "the inverse"): "lambda s, n: 1 / temperature_for(s, n)",
    (5, "entropy in place of its exponential"): "lambda s, n: temperature_for(s, math.exp(n / 8))",
}


@pytest.fixture(scope="module")
def cells():
    return {cell.id: cell for cell in nbformat.read(CHAPTER, as_version=4).cells}


@pytest.fixture(scope="module")
def book(cells):
    """The names of the chapter: its imports, the checks, and the solutions it prints."""
    names: dict = {}
    exec(cells["imports"].source, names)
    exec(cells["exercise-checkers"].source, names)
    for number in CHECKS:
        exec(solution(cells, number), names)
    return names


def solution(cells, number: int) -> str:
    (code,) = re.findall(r"```python\n(.*?)```", cells[f"exercise-{number}-help"].source, re.DOTALL)
    return code


def verdict(capsys, book, number: int, answer) -> str:
    book[CHECKS[number]](answer)
    return capsys.readouterr().out.strip()


@pytest.mark.parametrize("number", CHECKS)
def test_the_solution_in_the_book_passes(number, cells, book, capsys):
    name = re.search(r"def (\w+)", solution(cells, number))[1]
    assert f"{CHECKS[number]}({name})" in cells[f"exercise-{number}-code"].source
    assert verdict(capsys, book, number, book[name]) == f"Exercise {number}: right."


@pytest.mark.parametrize("number, what", WRONG)
def test_a_plausible_wrong_answer_does_not_pass(number, what, book, capsys):
    said = verdict(capsys, book, number, eval(WRONG[number, what], book))
    assert said.startswith(f"Exercise {number}: not yet. "), said


@pytest.mark.parametrize("number", CHECKS)
def test_every_exercise_has_three_wrong_answers(number):
    assert sum(key[0] == number for key in WRONG) >= 3


@pytest.mark.parametrize("number", CHECKS)
def test_an_untouched_exercise_says_that_there_is_no_answer_yet(number, cells, book, capsys):
    exec(cells[f"exercise-{number}-code"].source, dict(book))
    assert capsys.readouterr().out.strip() == f"Exercise {number}: no answer yet."


@pytest.mark.parametrize("number", CHECKS)
@pytest.mark.parametrize(
    "answer", ["lambda *_: 'two'", "lambda *_: math.nan", "lambda *_: torch.tensor(math.nan)"]
)
def test_nonsense_does_not_pass_and_does_not_stop_the_notebook(number, answer, book, capsys):
    said = verdict(capsys, book, number, eval(answer, book))
    assert said.startswith(f"Exercise {number}: not yet. "), said
