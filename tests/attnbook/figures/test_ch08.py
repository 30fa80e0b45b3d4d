"""The figures of page 08 show what the results files hold."""

import numpy as np
import pytest

from attnbook import recorded
from attnbook.figures import ch08


def test_the_dots_are_the_recorded_medians_and_the_lines_their_ranges(shown):
    ch08.readers()
    (ax,) = shown[0].axes
    rows = {row["variant"]: row for row in recorded.results("heads")["rows"]}
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list(ch08.READERS.values())
    for (part, label, *_), dots, lines in zip(ch08.PARTS, ax.lines, ax.collections, strict=False):
        found = [rows[name][part]["both"] for name in ch08.READERS]
        assert dots.get_label() == label
        assert dots.get_xdata() == pytest.approx([100 * one["median"] for one in found])
        ends = np.array(lines.get_segments())[:, :, 0]
        assert ends == pytest.approx(
            np.array([[100 * one["low"], 100 * one["high"]] for one in found])
        )


def test_its_title_holds():
    rows = {row["variant"]: row for row in recorded.results("heads")["rows"]}
    assert rows["2 heads"]["held_out"]["both"]["low"] > 0.95
    assert rows["2 heads"]["updates"] == 400
    longer = rows["1 head, four times the updates"]
    assert longer["updates"] == 1600
    assert longer["known"]["both"]["high"] < 0.5


def test_what_the_table_says_of_updates_is_so():
    for row in recorded.results("heads")["rows"]:
        assert row["updates"] == (1600 if "times the updates" in row["variant"] else 400)


def test_four_rows_of_it_find_a_word_none_the_animal_and_the_average_hides_it():
    tokens, rows = ch08.rows_of_it()
    assert rows.sum(-1) == pytest.approx(1, abs=2e-3)
    most = [tokens[j] for j in rows.argmax(-1)]
    assert [most[:-1].count(word) for word in ("[CLS]", "was", "tired", "animal")] == [8, 2, 2, 0]
    assert most[-1] == "[CLS]"
    assert rows[-1] == pytest.approx(rows[:-1].mean(0))


def test_the_map_holds_the_thirteen_rows(shown):
    ch08.twelve()
    ax, _ = shown[0].axes
    tokens, rows = ch08.rows_of_it()
    assert np.array_equal(ax.images[0].get_array(), rows)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == tokens
    assert ax.get_yticklabels()[-1].get_text() == "average"
