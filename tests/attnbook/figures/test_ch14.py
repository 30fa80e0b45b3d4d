"""The figures of page 14 draw what is recorded."""

import pytest

from attnbook import recorded
from attnbook.figures import ch14
from attnbook.machines.porter import LABELS, NAMES


def test_every_design_stands_at_its_bytes_and_answers(shown):
    run, designs = recorded.results("porter"), ch14.designs()
    assert len(designs) == len({row["design"] for row in run["rows"]})
    ch14.price()
    (ax,) = shown[0].axes
    for text in ax.texts:
        if (name := text.get_text()) in designs:
            last = max(designs[name], key=lambda row: row["updates"])
            assert text.xy == (last["bytes"], last["by_pairs"]["64"]["median"])
            rivals = [
                row["accuracy"]["median"]
                for row in run["rows"]
                if (row["design"], row["updates"]) == (name, last["updates"])
            ]
            assert last["accuracy"]["median"] == max(rivals)
    assert {text.get_text() for text in ax.texts} >= designs.keys()


def test_a_chest_holds_every_name_once_with_its_share(shown):
    for features in (4, 16):
        told = [one for box in ch14.chest(features) for one in box]
        assert sorted(name for name, _ in told) == sorted(NAMES[:16])
        assert sum(share for _, share in told) == pytest.approx(1, abs=0.01)
    ch14.drawers()
    labels = {text.get_text() for ax in shown[0].axes for text in ax.texts}
    boxes = ch14.chest(4)
    assert {f"{name}\n{share:.2f}" for box in boxes for name, share in box} <= labels
    # What the page says of this chest.
    assert {name for name, _ in next(box for box in boxes if "Dot" in dict(box))} == {
        "Ann",
        "Dot",
        "Fay",
        "Jon",
    }


def test_the_guests_of_the_page_are_typical():
    found = ch14.typical(draws=30)
    assert found.keys() == LABELS.keys()
    for memory, counts in found.items():
        middles = [sorted(row)[15] for row in zip(*counts, strict=True)]
        if memory in ("all", "best"):
            assert middles == [12, 12, 12]
        if memory == "sum":
            assert middles[0] > middles[1] >= middles[2]
