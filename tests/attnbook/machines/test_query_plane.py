"""The query plane: its weights and output are attnkit's, and a wrong call is named."""

import math

import pytest
import torch
from traitlets import TraitError

from attnbook.machines import QueryPlane, query_plane
from attnkit import LuongAttention

KEY = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
NAMES = ["the", "black", "cat"]
TWO = math.log(2)


def make(text: str = "the", **changed) -> QueryPlane:
    given = {"key": KEY, "query": [TWO, 2 * TWO], "names": [text, *NAMES[1:]], "title": "Plane"}
    given |= {"matrix": [[1, -1], [1, 0]]} | changed
    return QueryPlane(given.pop("key"), **given)


SETTINGS = [{"query": [0.0, 0.0]}, {"query": [-1.25, 0.5], "turned": True}, {"query": [0.8, -1.7]}]


@pytest.mark.parametrize("hard", [False, True])
def test_keys_learn_by_gradient_descent_and_a_hard_lookup_moves_none(hard):
    value = torch.tensor([10.0, 20.0, 50.0], dtype=torch.float64)
    query = torch.tensor([0.75, 0.5], dtype=torch.float64)
    settings = {"query": query.tolist(), "target": 10, "scale": 0.5, "hard": hard, "matrix": None}
    keys = torch.tensor(KEY, dtype=torch.float64, requires_grad=True)
    for step in range(4):
        lessons = [[*settings["query"], step]] if step and not hard else []
        plane = make(value=value[:, None], lessons=lessons, **settings)
        assert plane.learned() == pytest.approx(keys.detach().numpy(), abs=1e-9)
        scores = 0.5 * keys @ query
        best = torch.nn.functional.one_hot(scores.argmax(), 3).double()
        output = (best if hard else scores.softmax(0)) @ value
        assert plane.output()[0] == pytest.approx(output.item(), abs=1e-9)
        loss = ((output - 10) / 40) ** 2 / 2
        slope = torch.autograd.grad(loss, keys)[0] if not hard else torch.zeros(3, 2)
        move = -query_plane.RATE * slope
        assert plane.pull() == pytest.approx(move.numpy(), abs=1e-9)
        keys = (keys + move).detach().requires_grad_()


def test_keys_keep_what_they_learned_when_the_lookup_is_hard_or_the_query_moves():
    query = [2 * TWO, TWO]
    settings = {"key": [[1, 0], [0, 1], [-1, 0]], "value": [[10], [20], [50]], "target": 50}
    plane = make(query=query, lessons=[[*query, 40]], matrix=None, **settings)
    learned = plane.learned()
    assert plane.output()[0] > 45
    plane.hard = True
    assert plane.output()[0] == 50  # learned softly, looked up hard
    plane.query = [-1, 0.3]
    assert (plane.learned() == learned).all()
    assert not plane.pull().any()
    plane.hard = False
    plane.lessons = [*plane.lessons, [-1, 0.3, 1]]
    assert abs(plane.learned() - learned).max() > 1e-3  # one more step, with the query that is now
    untaught = make(query=query, hard=True, matrix=None, **settings)
    assert untaught.output()[0] == 10
    untaught.hard = False
    assert untaught.output()[0] == pytest.approx(14.8)


@pytest.mark.parametrize(
    "wrong",
    [[[1, 0]], [[1, 0, 0]], [[1, 0, 1.5]], [[1, float("inf"), 1]], [[1, 0, 60], [0, 1, 60]]],
)
def test_a_lesson_is_a_query_and_a_number_of_steps(wrong):
    with pytest.raises(TraitError, match="up to 99 steps in all"):
        make(value=[[10], [20], [50]], target=50, lessons=wrong)


@pytest.mark.parametrize("score, turned", [("dot", False), ("general", True)])
def test_the_turned_query_is_luongs_general_score(score, turned):
    matrix = torch.tensor([[1.0, -1.0], [1.0, 0.0]])
    layer = LuongAttention(2, 2, score)
    query, key = torch.tensor([[0.7, 1.4]]), torch.tensor(KEY)
    with torch.no_grad():
        if turned:
            layer.weight.copy_(matrix)
        expected = layer(query, key, need_weights=True)
    plane = QueryPlane(key, query=query[0], names=NAMES, matrix=matrix, turned=turned)
    assert plane.weights() == pytest.approx(expected.weights[0].numpy(), abs=1e-6)
    assert plane.output() == pytest.approx(expected.output[0].numpy(), abs=1e-6)
