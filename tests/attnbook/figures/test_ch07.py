"""The figures of chapters 07 and 07b show what the results files hold."""

from matplotlib.collections import PathCollection

from attnbook import recorded
from attnbook.figures import ch07, ch07b


def test_the_bars_are_the_recorded_shares(draw):
    rows = [row for row in recorded.results("orders")["rows"] if row["updates"] == 800]
    wide = [bar.get_width() for bar in draw(ch07.obeyed)[0].patches]
    assert wide == [row["right"]["held out"]["median"] for row in rows]
    assert [row["kind"] for row in rows] == list(ch07.NAMES)


def test_the_dots_are_the_recorded_shares(draw):
    (left,), (right,) = draw(ch07b.beyond), draw(ch07b.by_updates)
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
