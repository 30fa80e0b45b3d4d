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
    {"place": 2, "replies": "-b-", "turn": 1},
    {"place": 4, "replies": "hhb", "turn": 2},
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


def test_a_second_turn_asks_the_same_maps_in_another_order():
    first, second = make(replies="hbh").compute(), make(replies="hbh", turn=1).compute()
    assert first["order"] == [0, 1, 2]
    assert sorted(second["order"]) == [0, 1, 2] != second["order"]
    broken = [make().exhibits[k]["broken"] for k in second["order"]]
    assert second["marks"] == [not broken[0], broken[1], not broken[2]]


def test_ten_maps_come_in_many_orders():
    ten = EyeTest([Exhibit(EVEN, "ab", "", f"{k}", k % 2 == 0, "") for k in range(10)])
    orders = set()
    for ten.turn in range(20):
        orders.add(tuple(ten.order()))
        assert sorted(ten.order()) == list(range(10))
    assert len(orders) == 20
