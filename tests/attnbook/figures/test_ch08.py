"""The figures of page 08 show what the results files hold."""

import numpy as np
import pytest

from attnbook import recorded
from attnbook.figures import ch08


def test_the_lines_are_the_recorded_medians_and_the_bands_their_ranges(draw):
    (ax,) = draw(ch08.readers)
    for name, line, band in zip(ch08.READERS, ax.lines, ax.collections, strict=True):
        rows = ch08.curve(name, "held_out")
        assert line.get_xdata().tolist() == [row["updates"] for row in rows]
        found = [row["held_out"]["both"] for row in rows]
        assert line.get_ydata() == pytest.approx([100 * one["median"] for one in found])
        ends = band.get_paths()[0].vertices[:, 1]
        assert ends.min() == pytest.approx(100 * min(one["low"] for one in found))
        assert ends.max() == pytest.approx(100 * max(one["high"] for one in found))


@pytest.mark.parametrize("part", ch08.PARTS)
def test_a_point_has_the_best_of_the_rates_that_were_tried(part):
    rows = [*recorded.results("heads")["rows"], *ch08._small_network("rows")]
    for name in ch08.READERS:
        for chosen in ch08.curve(name, part):
            same = {key: chosen[key] for key in ("variant", "updates")}
            tried = [row[part]["both"]["median"] for row in rows if same.items() <= row.items()]
            assert chosen[part]["both"]["median"] == max(tried)


def test_its_title_holds():
    for part, least in (("known", 0.99), ("held_out", 0.9)):
        for row in ch08.curve("2 heads", part)[1:]:
            assert row[part]["both"]["low"] > least
    for row in (one := ch08.curve("1 head", "known")):
        assert row["known"]["both"]["high"] < 0.6
    assert one[-1]["updates"] == 6400


def test_a_head_is_spare_when_nothing_is_lost_without_it():
    for name in ("2 heads", "4 heads", "8 heads"):
        row = ch08.switched_off(name)
        assert (row["updates"], row["rate"]) == (400, 0.01)
        assert [len(seed) for seed in row["off"]] == len(row["off"]) * [int(name[0])]
        assert ch08.spare(name) == [
            len([both for *_, both in seed if both >= 0.99 * row["held_out"]["both"]["median"]])
            for seed in row["off"]
        ]


def test_four_rows_of_it_find_a_word_none_the_animal_and_the_average_hides_it():
    tokens, rows = ch08.rows_of_it()
    assert rows.sum(-1) == pytest.approx(1, abs=2e-3)
    most = [tokens[j] for j in rows.argmax(-1)]
    assert [most[:-1].count(word) for word in ("[CLS]", "was", "tired", "animal")] == [8, 2, 2, 0]
    assert most[-1] == "[CLS]"
    assert rows[-1] == pytest.approx(rows[:-1].mean(0))


def test_the_map_holds_the_thirteen_rows(draw):
    ax, _ = draw(ch08.twelve)
    tokens, rows = ch08.rows_of_it()
    assert np.array_equal(ax.images[0].get_array(), rows)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == tokens
    assert ax.get_yticklabels()[-1].get_text() == "average"
    *largest, was = [label.get_text() for label in ax.texts]
    assert largest == [f"{row.max():.2f}" for row in rows]
    assert was == f"{rows[-1, tokens.index('was')]:.2f}"
