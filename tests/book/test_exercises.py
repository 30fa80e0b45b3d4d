"""Every exercise: the solution printed in the book passes its check, plausible wrong answers hear
what is wrong with them, and an untouched exercise says so.
"""

import pytest
import torch

from tests.book.chapter import NAMES, chapter, exercises, notebooks

EXERCISES = [
    pytest.param(name, number, id=f"{name}-{number}")
    for name in NAMES
    for number in chapter(name).checks
]
WRONG = [
    pytest.param(name, number, what, id=f"{name}-{number}-{what}")
    for name in NAMES
    for number, what in chapter(name).data.WRONG
]


@pytest.mark.parametrize("name, number", EXERCISES)
def test_the_solution_passes_in_the_notebook_that_prints_it(name, number, capsys):
    book = chapter(name)
    call = book.cells[f"exercise-{number}-code"].source.split("\n")[-1]
    capsys.readouterr()
    exec(f"{book.solution(number)}\n{call}", book.read(number))
    assert capsys.readouterr().out.strip() == f"Exercise {number}: right."


@pytest.mark.parametrize("name, number, what", WRONG)
def test_a_plausible_wrong_answer_hears_what_is_wrong(name, number, what, capsys):
    book = chapter(name)
    answer, reason = book.wrong_answer(number, what)
    said = book.verdict(capsys, number, answer)
    assert said.startswith(f"Exercise {number}: not yet. "), said
    assert reason in said, said


def test_every_exercise_has_three_wrong_answers():
    wrong = {
        (name, number): sum(key[0] == number for key in chapter(name).data.WRONG)
        for name in NAMES
        for number in chapter(name).checks
    }
    assert {exercise: count for exercise, count in wrong.items() if count < 3} == {}


@pytest.mark.parametrize("name, number", EXERCISES)
def test_an_untouched_exercise_says_that_there_is_no_answer_yet(name, number, capsys):
    book = chapter(name)
    capsys.readouterr()
    exec(book.cells[f"exercise-{number}-code"].source, book.read(number))
    assert capsys.readouterr().out.strip() == f"Exercise {number}: no answer yet."


@pytest.mark.parametrize("name, number", EXERCISES)
def test_nonsense_does_not_pass_and_does_not_stop_the_notebook(name, number, capsys):
    for nonsense in ("two", float("nan"), torch.tensor(float("nan"))):
        said = chapter(name).verdict(capsys, number, lambda *_, it=nonsense: it)
        assert said.startswith(f"Exercise {number}: not yet. "), (nonsense, said)


@pytest.mark.parametrize("name", NAMES)
def test_no_exercise_of_a_chapter_is_left_out(name):
    """Its pages and the notebook beside them number theirs through."""
    there = [number for book in notebooks()[name] for number in exercises(book)]
    assert sorted(there) == list(range(1, len(there) + 1))
    assert set(there) == chapter(name).checks.keys()


def test_every_module_of_checks_has_wrong_answers():
    assert notebooks().keys() == set(NAMES)


def test_the_check_of_chapter_06_misses_four_of_seven_broken_layers():
    """As its exercise 4 says of it, on a layer as it comes."""
    book = chapter("ch06")
    names = {"torch": torch}
    exec(book.cells["leaks-code"].source, names)
    causal = torch.ones(6, 6, dtype=torch.bool).tril()
    bugs, right = book.book["BUGS"], book.book["RIGHT"].values()
    caught = {what for what, layer in bugs.items() if names["leaks"](layer.train(), causal).any()}
    assert len(bugs) == 7
    assert caught == {"sees one word ahead", "masks after the softmax",
                      "takes a mean over the sentence"}  # fmt: skip
    assert not any(names["leaks"](layer.train(), causal).any() for layer in right)
