"""The figures of 12 and 12b draw the results files."""

import pytest

from attnbook import recorded
from attnbook.figures import ch12
from attnkit.efficient.flash import SHORT
from experiments import three_forms


def test_costs_are_those_of_the_files(draw):
    memory, time = draw(ch12.costs)
    peaks = recorded.results("bench-cpu")["long"]["memory"]
    for line, form in zip(memory.lines, ch12.FORMS, strict=True):
        x, y = line.get_data()
        assert list(y) == [peaks[str(n)][ch12.PEAKS[form]]["mib"] for n in x]
    rows = {row["count"]: row for row in recorded.results("three_forms")["rows"] if row["kept"]}
    for line, form in zip(time.lines, ch12.FORMS, strict=True):
        x, y = line.get_data()
        assert list(x) == [n for n in three_forms.LENGTHS if form != "tiles" or n > SHORT]
        assert list(y) == pytest.approx([1e3 * rows[n]["seconds"][form]["median"] for n in x])
