"""The figures of chapters 07 and 07b show what the results files hold."""

from attnbook import recorded
from attnbook.figures import ch07, ch07b


def test_the_bars_are_the_recorded_shares(draw):
    rows = [row for row in recorded.results("orders")["rows"] if row["updates"] == 800]
    wide = [bar.get_width() for bar in draw(ch07.obeyed)[0].patches]
    assert wide == [row["right"]["held out"]["median"] for row in rows]
    assert [row["kind"] for row in rows] == list(ch07.NAMES)


def test_the_dots_are_the_recorded_shares(draw):
    (axes,) = draw(ch07b.beyond)
    run = recorded.results("positions")
    wanted = [one for _, rows in ch07b.groups(run) for _, _, one in rows]
    asked = {(one["task"], one["positions"]) for one in wanted}
    assert len(asked) == len(wanted) == 3 * len(ch07b.COLOURS)
    hollow = (line for line in axes.lines if line.get_markerfacecolor() == "none")
    rings = [line for line in hollow if len(line.get_xdata())]
    for one, far, ring in zip(wanted, axes.containers, rings, strict=True):
        found = ch07b.accuracy(run, **one, updates=2400)
        assert list(far[0].get_xdata()) == [found["64"]["median"]]
        assert list(ring.get_xdata()) == [found["16"]["median"]]


def test_the_table_of_bases_holds_the_recorded_shares():
    rows = recorded.results("positions_controls")["rows"]
    for (base,), *cells in ch07b.bases().rows:
        for task, (cell,) in zip(ch07b.TASKS, cells, strict=True):
            (row,) = (
                row
                for row in rows
                if (row["task"], f"{row['base']:,.0f}", row["heads"], row["updates"])
                == (task, base, 4, max(row["updates"] for row in rows))
            )
            assert cell == f"{row['accuracy']['none']['64']['median']:.2f}"
