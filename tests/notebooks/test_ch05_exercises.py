"""The exercises of chapter 05: each solution printed in the book passes its check, plausible wrong
answers do not, and an untouched exercise says so.

The checks and the solutions are read from the notebook itself, so what is tested is what is read.
"""

import re
from pathlib import Path

import nbformat
import pytest
import torch

import attnkit

CHAPTER = Path(__file__).parents[2] / "chapters" / "05_scaled_dot_product_attention.ipynb"
CHECKS = {
    1: "check_scale",
    2: "check_attention",
    3: "check_backward",
    4: "check_the_check",
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
    (2, "PyTorch's own"): "lambda q, k, v: F.scaled_dot_product_attention(q, k, v)",
    (2, "PyTorch's own, in float32"): (
        "lambda *qkv: F.scaled_dot_product_attention(*(x.float() for x in qkv)).to(qkv[0].dtype)"
    ),
    (2, "attnkit's"): "lambda q, k, v: attnkit.scaled_dot_product_attention(q, k, v).output",
    (2, "attnkit's, with weights"): (
        "lambda q, k, v: attnkit.scaled_dot_product_attention(q, k, v, need_weights=True).output"
    ),
    (2, "all in the input's precision"): (
        "lambda q, k, v: (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v"
    ),
    (2, "scales first, still in half"): (
        "lambda q, k, v: (q / q.shape[-1] ** 0.5 @ k.mT).softmax(-1) @ v"
    ),
    (2, "softmax in float32, scores in half"): (
        "lambda q, k, v: "
        "((q / q.shape[-1] ** 0.5 @ k.mT).float().softmax(-1) @ v.float()).to(q.dtype)"
    ),
    (2, "stays in float32"): "lambda q, k, v: my_attention(q.float(), k.float(), v.float())",
    (4, "the chapter's own check"): "check",
    (4, "the chapter's weak check"): "weak_check",
    (4, "lets everything pass"): "lambda f: True",
    (4, "lets nothing pass"): "lambda f: False",
    (4, "wants every bit the same"): "lambda f: same_bits(f)",
    (4, "forgets the caller's query"): "forgets_the_query",
    (4, "only sizes that are squares"): "only_squares",
    (4, "only moderate scores"): "only_moderate_scores",
    (4, "values as wide as keys"): "values_as_wide_as_keys",
    (5, "the usual scale"): "lambda s, n: 4.0",
    (5, "the standard deviation"): "lambda s, n: s.std().item()",
    (5, "the inverse"): "lambda s, n: 1 / temperature_for(s, n)",
    (5, "entropy in place of its exponential"): "lambda s, n: temperature_for(s, math.exp(n / 8))",
}

# Checks for exercise 4 that each leave out one thing that the printed solution looks at.
CHECKS_WITH_A_HOLE = """
def same_bits(function):
    qkv = torch.randn(3, 2, 3, 4, 32)
    return torch.equal(function(*qkv), F.scaled_dot_product_attention(*qkv))

def close(function, query, key, value, look_at_query=True):
    before = query.clone()
    expected = F.scaled_dot_product_attention(query, key, value)
    got = function(query, key, value)
    same = torch.equal(query, before) or not look_at_query
    return torch.allclose(got, expected, atol=1e-3) and same

def draw(E, Ev, factor):
    return factor * torch.randn(2, 3, 4, E), torch.randn(2, 3, 5, E), torch.randn(2, 3, 5, Ev)

def forgets_the_query(function):
    return all(close(function, *draw(32, 7, f), look_at_query=False) for f in (1, 100))

def only_squares(function):
    return all(close(function, *draw(E, 7, f)) for E in (16, 64) for f in (1, 100))

def only_moderate_scores(function):
    return close(function, *draw(32, 7, 1))

def values_as_wide_as_keys(function):
    return all(close(function, *draw(32, 32, f)) for f in (1, 100))
"""


@pytest.fixture(scope="module")
def cells():
    return {cell.id: cell for cell in nbformat.read(CHAPTER, as_version=4).cells}


@pytest.fixture(scope="module")
def book(cells):
    """What the folded cell of checks brings, without the rest of the chapter, and the solutions."""
    names: dict = {"__name__": "__main__"}
    exec(cells["exercise-checkers"].source, names)
    for number in CHECKS:
        exec(solution(cells, number), names)
    return names


@pytest.fixture(scope="module")
def wrong(book, cells, chapter_checks):
    """The names that the wrong answers need beside those of the book."""
    return {**book, **chapter_checks, "attnkit": attnkit}


@pytest.fixture(scope="module")
def chapter_checks(cells):
    """`check` and `weak_check` of the section on what goes wrong, and checks with one hole each."""
    names = {"torch": torch, "F": torch.nn.functional}
    exec(cells["bugs"].source, names)
    exec(CHECKS_WITH_A_HOLE, names)
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
def test_a_plausible_wrong_answer_does_not_pass(number, what, book, wrong, capsys):
    said = verdict(capsys, book, number, eval(WRONG[number, what], wrong))
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


@pytest.mark.parametrize(
    "what",
    ["PyTorch's own", "PyTorch's own, in float32", "attnkit's", "attnkit's, with weights"],
)
def test_borrowed_attention_is_refused_by_name(what, book, wrong, capsys):
    said = verdict(capsys, book, 2, eval(WRONG[2, what], wrong))
    assert said == "Exercise 2: not yet. It calls a ready-made attention function."


def test_the_chapters_check_lets_four_of_the_five_bugs_pass(book, chapter_checks):
    torch.manual_seed(0)
    passed = [what for what, function in book["BUGS"].items() if chapter_checks["check"](function)]
    assert len(book["BUGS"]) == 5
    assert set(book["BUGS"]) - set(passed) == {"has no root"}


HOLES = {
    "forgets_the_query": "changes the caller's query",
    "only_squares": "rounds the root of d down",
    "only_moderate_scores": "overflows when scores are large",
    "values_as_wide_as_keys": "takes the root of the value's size",
}


@pytest.mark.parametrize("name", HOLES)
def test_a_check_with_a_hole_hears_which_bug_got_through(name, book, chapter_checks, capsys):
    said = verdict(capsys, book, 4, chapter_checks[name])
    assert said.endswith(f"a function pass that {HOLES[name]}.")
