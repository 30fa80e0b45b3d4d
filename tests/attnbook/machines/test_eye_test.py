"""The quiz of maps: who is right, what is counted, and what no quiz can be."""

import pytest

from attnbook.machines import EyeTest
from attnbook.machines.eye_test import Exhibit

CAUSAL, EVEN = [[1.0, 0.0], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]


def make(text: str = "a", **settings) -> EyeTest:
    exhibits = [
        Exhibit(CAUSAL, [text, "b"], "A decoder.", "a decoder", False, "Nothing is wrong."),
        Exhibit(EVEN, [text, "b"], "A decoder.", "no mask", True, "The first sees the second."),
        Exhibit(EVEN, [text, "b"], "An encoder.", "an encoder", False, "Nothing is wrong."),
    ]
    return EyeTest(exhibits, **{"title": "Look"} | settings)


SETTINGS = [
    {"place": 2, "replies": "-b-"},
    {"place": 3, "replies": "bbb"},
    {"place": 4, "replies": "hb-"},
    {"place": 4, "replies": "hhb"},
    {"place": 1, "replies": "h--"},
]


@pytest.mark.parametrize(
    "replies, marks, fooled",
    [("---", [None, None, None], []), ("hbh", [True, True, True], []),
     ("bhb", [False, False, False], ["a decoder", "no mask", "an encoder"]),
     ("-hh", [None, False, True], ["no mask"])],
)  # fmt: skip
def test_an_answer_is_right_when_it_is_what_the_map_is(replies, marks, fooled):
    now = make(replies=replies).compute()
    assert (now["marks"], now["fooled"]) == (marks, fooled)
    assert (now["right"], now["answered"]) == (marks.count(True), 3 - marks.count(None))
