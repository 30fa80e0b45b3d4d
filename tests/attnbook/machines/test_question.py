"""The question: who is right, what a wrong answer hears, and which question cannot be asked."""

import pytest

from attnbook.machines import Question


def make(text: str = "by its root", **changed) -> Question:
    given = {
        "right": 0,
        "options": [text, "by 2", "by 4"],
        "because": "The variance doubles.",
        "replies": {1: "That is the variance."},
        "hints": ["Variances add up.", "The spread is the root of the variance."],
    } | changed
    return Question(given.pop("title", "By what does it grow?"), **given)


SETTINGS = [
    {"reply": "0", "checked": True},
    {"reply": "1", "checked": True, "hinted": 1},
    {"reply": "2", "checked": False, "hinted": 2},
    {"reply": "2", "checked": True},
]


def asked(machine: Question, reply: str) -> tuple[str, str]:
    machine.reply, machine.checked = reply, True
    return tuple(machine.compute().values())


def test_a_choice_is_right_or_hears_what_it_mistook():
    assert asked(make(), "0") == ("Right", "The variance doubles.")
    assert asked(make(), "1") == ("Not yet", "That is the variance.")
    assert asked(make(), "2") == ("Not yet", "")


@pytest.mark.parametrize(
    "reply, verdict", [("8", "Right"), ("8.05", "Right"), ("7.9", "Not yet"), (".8e1", "Right")]
)
def test_a_number_may_be_off_by_the_tolerance(reply, verdict):
    assert asked(Question("How large?", right=8, tolerance=0.06), reply)[0] == verdict


def test_nothing_is_said_before_it_is_asked():
    machine = make(reply="0")
    assert machine.compute() == {"verdict": "", "said": ""}
    machine.reply, machine.checked = "", True
    assert machine.compute() == {"verdict": "", "said": ""}


def test_its_picture_cuts_no_word():
    asked = Question("How long may it be? " * 9, right=0, options=["Long. " * 30, "Short."])
    figure = asked.figure()
    figure.draw_without_rendering()
    (ax,) = figure.axes
    for words in (ax.title, *ax.texts):
        box = words.get_window_extent()
        assert 0 <= box.x0 < box.x1 <= figure.bbox.width, words.get_text()
        assert 0 <= box.y0 < box.y1 <= figure.bbox.height, words.get_text()
