"""The bench of heads: its effects are a least-squares fit, and what cannot be told is named."""

import numpy as np
import pytest

from attnbook import recorded
from attnbook.machines import HeadBench
from attnbook.machines.head_bench import COUNTS, HEADS, LAYERS

FRAMES = (
    ("The {a} didn't {v} the {p} because it was too {x}.", True, True),
    ("The {p} wasn't {d} by the {a} because it was too {x}.", False, False),
    ("Near the {p}, the {a} stopped because it was too {x}.", True, False),
    ("For the {a}, the {p} was no choice because it was too {x}.", False, True),
)


def make(text: str = "hill", **settings) -> HeadBench:
    numbers = np.random.default_rng(0)
    return HeadBench(
        numbers.random((2, 8, 2, LAYERS * HEADS)) / 2,
        frames=FRAMES,
        nouns=[["fox", text, "cross", "crossed"], ["cow", "park", "enter", "entered"]],
        ends=["tired", "wide"],
        medians=(numbers.random((LAYERS * HEADS, 4)) - 0.5).tolist(),
        right=numbers.random(LAYERS * HEADS).tolist(),
        **{"count": 8, "tiles": "alive", "title": "A title"} | settings,
    )


SETTINGS = [
    {"count": 2, "item": 1},
    {"count": 1, "tiles": "farther", "layer": 5},
    {"count": 4, "head": 11, "layer": 0},
    {"item": 1, "tiles": "subject", "head": 0},
]


@pytest.mark.parametrize("item", [0, 1])
@pytest.mark.parametrize("head", [0, 7])
def test_effects_are_those_of_a_least_squares_fit(item, head):
    bench = make(item=item, head=head)
    signs = np.array([signs for _, signs in bench.sentences()])
    fitted, *_ = np.linalg.lstsq(signs, np.array(bench.compute()["more"]), rcond=None)
    assert bench.compute()["effects"] == pytest.approx(fitted.tolist(), abs=1e-12)


@pytest.mark.parametrize(
    ("count", "groups"),
    [(1, [0, 0, 0, 0]), (2, [0, 1, 1, 1]), (4, [0, 1, 2, 2]), (8, [0, 1, 2, 3])],
)
def test_what_the_sentences_cannot_tell_apart_is_one_group(count, groups):
    now = make(count=count).compute()
    assert now["alike"] == groups
    assert len(now["texts"]) == len(now["more"]) == count
    for n, first in enumerate(groups):
        assert now["effects"][n] == now["effects"][first]


def test_the_bench_of_the_page_is_that_of_the_experiment():
    run, bench = recorded.results("reference"), HeadBench.recorded()
    for bench.count in COUNTS:
        assert bench.compute()["texts"] == run["examples"][: bench.count]
    assert len(bench.medians) == len(bench.right) == LAYERS * HEADS
    assert bench.compute()["medians"][2] == run["rows"][37]["effects"]["subject"]["median"]
