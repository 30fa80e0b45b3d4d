"""The figures of page 14 draw what is recorded."""

import pytest

from attnbook import recorded
from attnbook.figures import ch14
from attnbook.machines.porter import NAMES


def test_a_design_is_shown_at_its_best_rate():
    designs = ch14.designs()
    rows = [*recorded.results("porter")["rows"], *recorded.results("full_alone")["rows"]]
    assert set(designs) == {row["design"] for row in rows}
    for name, (*_, last) in designs.items():
        same = {"design": name, "updates": last["updates"]}
        rivals = [row["accuracy"]["median"] for row in rows if same.items() <= row.items()]
        assert last["accuracy"]["median"] == max(rivals)


def test_every_line_ends_at_its_answers_and_names_all_that_it_stands_for(draw):
    designs = ch14.designs()
    (ax,) = draw(ch14.sliding)
    ends = {text.get_text(): text for text in ax.texts if hasattr(text, "xy")}
    texts = {text.get_text() for text in ax.texts}
    for design, (_, name, _) in ch14.SLIDING.items():
        last = designs[design][-1]["by_pairs"]
        if design in ch14.ALL_RIGHT:
            assert name in texts - ends.keys()
            assert all(score["median"] > 0.99 for score in last.values())
        else:
            assert ends.pop(name).xy == (64, last["64"]["median"])
    assert not ends
    last = {name: rows[-1]["by_pairs"] for name, rows in designs.items()}
    for one, other in (("full", "latent"), ("full", "gated delta, then full"),
                       ("full", "3 gated delta, then full"), ("full", "window, then full"),
                       ("full", "chosen"), ("delta", "gated delta")):  # fmt: skip
        for pairs, score in last[one].items():
            assert score["median"] == pytest.approx(last[other][pairs]["median"], abs=0.01)


def test_a_chest_holds_every_name_once_with_its_share(draw):
    for features in (4, 16):
        told = [one for box in ch14.chest(features) for one in box]
        assert sorted(name for name, _ in told) == sorted(NAMES[:16])
        assert sum(share for _, share in told) == pytest.approx(1, abs=0.01)
    labels = {text.get_text() for ax in draw(ch14.drawers) for text in ax.texts}
    boxes = ch14.chest(4)
    assert {f"{name}\n{share:.2f}" for box in boxes for name, share in box} <= labels


def test_each_correction_takes_an_eighth_of_what_earlier_guests_have_left():
    expected = [(7 / 8) ** later for later in range(11, -1, -1)]
    assert ch14.own_left() == pytest.approx(expected, abs=0.02)
