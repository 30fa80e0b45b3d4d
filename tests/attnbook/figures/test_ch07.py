"""The figures of chapters 07 and 07b show what the results files hold."""

import numpy as np
import pytest

from attnbook import recorded
from attnbook.figures import ch07, ch07b


def test_the_bars_are_the_recorded_shares(shown):
    ch07.obeyed()
    rows = [row for row in recorded.results("orders")["rows"] if row["updates"] == 800]
    wide = [bar.get_width() for bar in shown[0].axes[0].patches]
    assert wide == [row["right"]["held out"]["median"] for row in rows]
    assert [row["kind"] for row in rows] == list(ch07.NAMES)


def test_the_table_holds_the_recorded_numbers():
    run = recorded.results("word_order")
    for row, cells in zip(run["rows"], ch07.minilm_table().rows, strict=True):
        (name,), (turned,), (passive,), (found,) = cells
        assert (name, found) == (row["table"], f"{row['found']} of {run['pairs']}")
        assert turned == f"{row['alike']['turned round']:.2f}"
        own, ties = row["passive"]["nearer to its own"], row["passive"]["tie"]
        assert passive == ("all tie" if ties == run["events"] else f"{own} of 100")


@pytest.mark.parametrize("column, task", list(enumerate(ch07b.TASKS)))
def test_the_lines_are_the_recorded_ones(shown, column, task):
    ch07b.beyond()
    run = recorded.results("positions")
    rows = [row for row in run["rows"] if row["task"] == task and row["rate"] == 0.003]
    rows = [row for row in rows if (row["layers"], row["heads"]) == (2, 4)]
    top, bottom = shown[0].axes[column], shown[0].axes[3 + column]
    for kind, above, below in zip(ch07b.STYLE, top.containers, bottom.containers, strict=True):
        mine = {row["updates"]: row["accuracy"] for row in rows if row["positions"] == kind}
        most = mine[max(mine)]
        assert list(above[0].get_ydata()) == [most[str(n)]["median"] for n in run["tested"]]
        far = [mine[count]["64"]["median"] for count in sorted(mine)]
        assert list(below[0].get_ydata()) == far


def test_sizes_are_told_apart_by_their_clocks(shown):
    ch07b.sizes()
    labels = [text.get_text() for text in shown[0].axes[0].get_legend().get_texts()]
    assert labels == [
        "1 layer, 1 head: 32 clocks each",
        "1 layer, 4 heads: 8 clocks each",
        "2 layers, 4 heads: 8 clocks each",
    ]


def test_two_slopes_peak_at_three_and_one_at_nothing():
    assert ch07b.peak().argmax() == 3
    for aim in (1, 2, 5):
        assert ch07b.peak(aim=aim).argmax() == aim
    wide = np.arange(0, 15, 0.001)
    flat, steep = np.exp(-wide / 16), np.exp(-wide / 4)
    share = 0.25 * np.exp(3 / 4 - 3 / 16)
    assert wide[(flat - share * steep).argmax()] == pytest.approx(3, abs=0.002)
    assert share == pytest.approx(0.44, abs=0.005)


@pytest.mark.parametrize("keys, peak", [(16, 3), (64, 5)])
def test_the_mix_that_prefers_three_of_sixteen_keys_prefers_five_of_sixty_four(keys, peak):
    flat, steep = (np.exp(-slope * np.arange(keys)) for slope in (1 / 16, 1 / 4))
    assert (flat / flat.sum() - 0.185 * steep / steep.sum()).argmax() == peak
