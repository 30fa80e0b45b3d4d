"""The figures of chapters 07 and 07b show what the results files hold."""

import numpy as np
import pytest
from matplotlib.collections import PathCollection

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
        (name,), (turned,), (passive,) = cells
        assert (name, turned) == (row["table"], f"{row['alike']['turned round']:.2f}")
        own, ties = row["passive"]["nearer to its own"], row["passive"]["tie"]
        assert passive == ("all tie" if ties == run["events"] else f"{own} of 900")


def test_the_dots_are_the_recorded_shares(shown):
    ch07b.beyond()
    ch07b.by_updates()
    (left,), (right,) = (figure.axes for figure in shown)
    run = recorded.results("positions")
    wanted = [one for _, rows in ch07b.groups(run) for _, _, one in rows]
    asked = {(one["task"], one["positions"], one["layers"], one["heads"]) for one in wanted}
    assert len(asked) == len(wanted) == 3 * len(ch07b.COLOURS) + 2
    names = [label.get_text() for label in left.get_yticklabels()]
    assert names[-2:] == ["1 head, 32 clocks", "4 heads, 8 each"]
    dots = [drawn for drawn in right.collections if isinstance(drawn, PathCollection)]
    for one, far, grown in zip(wanted, left.containers, dots, strict=True):
        rows = [row for row in run["rows"] if all(row[key] == one[key] for key in one)]
        rows.sort(key=lambda row: row["updates"])
        shares = [row["accuracy"]["64"]["median"] for row in rows]
        assert grown.get_offsets()[:, 0].tolist() == shares
        assert far[0].get_xdata().tolist() == shares[-1:]
    hollow = (line for line in left.lines if line.get_markerfacecolor() == "none")
    rings = [line for line in hollow if len(line.get_xdata())]
    for one, ring in zip(wanted, rings, strict=True):
        found = ch07b.accuracy(run, **one, updates=2400)
        assert list(ring.get_xdata()) == [found["16"]["median"]]


@pytest.mark.parametrize("clocks, gone_round, fooled", [(8, 1, [9, 22]), (32, 4, [])])
def test_what_the_guess_says_of_the_clocks_that_went_round(clocks, gone_round, fooled):
    """Aimed three back in a text of 64: `fooled` by what outscores the nearest neighbour."""
    speeds = 10_000 ** (-np.arange(clocks) / clocks)
    fast = speeds[15 * speeds >= 2 * np.pi]
    assert len(fast) == gone_round
    score = np.cos(np.outer(np.arange(64) - 3, fast)).sum(-1)
    assert score.argmax() == 3
    rivals = [d for d in range(5, 64) if score[d] > score[2]]
    assert set(fooled) <= set(rivals) if fooled else not rivals


@pytest.mark.parametrize("keys, peak", [(16, 3), (64, 5)])
def test_the_mix_that_prefers_three_of_sixteen_keys_prefers_five_of_sixty_four(keys, peak):
    flat, steep = (np.exp(-slope * np.arange(keys)) for slope in (1 / 16, 1 / 4))
    assert (flat / flat.sum() - 0.185 * steep / steep.sum()).argmax() == peak
