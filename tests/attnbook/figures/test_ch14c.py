"""The figures of 14c: bars of the results file, lines of the machine, bytes of the plan."""

import pytest

from attnbook import recorded
from attnbook.figures import ch14c
from experiments.plan import Shape, plan

ROWS = recorded.results("parallel")["rows"]


def test_bars_are_those_of_the_file_and_lines_the_squares_of_each_way(draw):
    faster, waiting = draw(ch14c.sharing)
    alone = next(row for row in ROWS if row["processes"] == 1)
    four = {row["zigzag"]: row for row in ROWS if row["processes"] == 4}
    for zigzag, bar, idle in zip(ch14c.WAYS, faster.patches, waiting.patches, strict=True):
        row = four[zigzag]
        seconds = alone["forward_seconds"]["median"] / bar.get_width()
        assert seconds == pytest.approx(row["forward_seconds"]["median"])
        assert idle.get_width() == pytest.approx(100 * row["forward_idle"]["median"])
    for ax, squares in ((faster, [4, 16 / 7]), (waiting, [0, 300 / 7])):
        lines = [path[0][0] for path in ax.collections[0].get_segments()]
        assert lines == pytest.approx(squares)


def test_bytes_of_the_ways_are_counted():
    rows = [[" ".join(cell) for cell in row] for row in ch14c.ways().rows]
    ring, first, heads = ([cell.replace("\N{NO-BREAK SPACE}", " ") for cell in row] for row in rows)
    planned, part = plan(Shape(2**20, 8, kv_heads=8)), 2**20 // 8
    assert ring[1] == first[1] == f"{planned.sent / 1e9:.2f} GB"
    assert ring[3].endswith(f" {planned.travelling / 1e9:.2f} GB")
    assert first[3].endswith(f" {4 * 8 * 128 * 2**20 / 1e9:.2f} GB")
    moved = 0  # by device 0, which will have heads 0 to 3 and the key and value of 0
    for every, own in ((32, 4), (8, 1), (8, 1)):
        moved += (every - own) * part * 128 * 2
    moved += 4 * (2**20 - part) * 128 * 2  # its heads' outputs, for the others' positions
    assert heads[1] == f"{moved / 1e9:.2f} GB"
    # A part takes longer to use than to arrive; the other two wait for all that they receive.
    waits = [way[2] for way in (ring, first, heads)]
    assert waits == ["0.00 s", f"{planned.sent / 12.5e9:.2f} s", f"{moved / 12.5e9:.2f} s"]
