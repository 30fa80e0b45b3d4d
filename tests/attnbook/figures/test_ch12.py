"""The figures of 12 and 12b draw the results files."""

import pytest

from attnbook import recorded
from attnbook.figures import ch12
from experiments import roofline


def test_costs_are_those_of_the_files(shown):
    ch12.costs()
    memory, time = shown[0].axes
    peaks = recorded.results("bench-cpu")["long"]["memory"]
    for line, form in zip(memory.lines, ch12.FORMS, strict=True):
        x, y = line.get_data()
        assert list(y) == [peaks[str(n)][ch12.PEAKS[form]]["mib"] for n in x]
    rows = [row for row in recorded.results("roofline")["rows"] if row["case"] == "attention"]
    for line, form in zip(time.lines, ch12.FORMS, strict=True):
        x, y = line.get_data()
        assert list(x) == roofline.LENGTHS
        assert list(y) == pytest.approx([1e3 * row["seconds"][form]["median"] for row in rows])


def test_the_roof_is_that_of_its_ends(shown):
    ch12.processor()
    roof, dots = shown[0].axes[0].lines
    rows = [row for row in recorded.results("roofline")["rows"] if row["case"] == "weights"]
    speeds = [row["operations"] / row["seconds"]["weights"]["median"] / 1e9 for row in rows]
    assert list(dots.get_ydata()) == pytest.approx(speeds)
    assert max(roof.get_ydata()) == pytest.approx(max(speeds))
    first = dots.get_xdata()[0], dots.get_ydata()[0]
    assert roof.get_ydata()[0] / roof.get_xdata()[0] == pytest.approx(first[1] / first[0])


def test_marks_stand_under_their_roof():
    for mark in ch12.MARKS:
        machine = ch12.roof(chip=mark["chip"])
        chip = next(one for one in machine.chips if one["id"] == mark["chip"])
        assert mark["speed"] < 1e12 * min(chip["compute"], chip["bandwidth"] * mark["intensity"])
