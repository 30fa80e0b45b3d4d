"""Measured costs against length: a slider over the lengths that were measured, and the numbers."""

from collections.abc import Mapping
from typing import ClassVar

import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine
from attnkit.guard import checks
from attnkit.viz import arrays as inputs
from attnkit.viz.heatmap import plain_axes

MOST_FORMS = 6
"""How many lines keep a mark, a dash and a colour of their own."""

# As in cost_curves.css and cost_curves.js.
COLOURS = ("#0f83b8", "#d2631c", "#12936a", "#b0589f", "#7d7d7d", "#8a6df0")
_MARKERS = ("o", "s", "^", "D", "v", "P")
_DASHES = ("-", (0, (4, 1.5)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (2.5, 1)), (0, (0.5, 1)))


class CostCurves(Machine):
    """Lines of measured cost against length, on logarithmic axes, in Jupyter and the built book.

    Nothing is computed but the quotient of a number and the one at half the length. A form that
    was not measured at a length says so.

    Args:
        measures: name -> form -> length -> number above 0. At most 6 forms; the first measure
            that has a form gives its place.
        units: name of a measure -> its unit in words.
        exponents: name of a measure -> form -> fitted growth exponent; may lack any.
        length: the length on show; the longest when left out.
        measure: the measure on show, counted from 0.
        title, caption: plain text above and below.

    `length` and `measure` are traits: set them and the page follows; move a control and they
    follow.

    Raises:
        TypeError: `measures` is no mapping of mappings of mappings, or a text is no string.
        ValueError: no form, more than 6, a length below 1, a number that is not above 0, or a
            setting that was not measured.

    Example:
        >>> curves = CostCurves(
        ...     {"memory": {"whole": {256: 1.0, 512: 4.0}, "tiled": {256: 1.0, 512: 2.0}}},
        ...     units={"memory": "MiB"})
        >>> curves.lengths, curves.length
        ([256, 512], 512)
        >>> curves.number("memory", "whole", 512)
        4.0
    """

    _about = "Each mark was measured; the lines only join them."
    _limits: ClassVar = {
        "length": lambda m: list(m.lengths),
        "measure": lambda m: (0, len(m.measures) - 1),
    }

    lengths = t.List(t.Int()).tag(sync=True)
    forms = t.List(t.Unicode()).tag(sync=True)
    measures = t.List(t.Dict()).tag(sync=True)  # name and unit of each
    values = t.List().tag(sync=True)  # by measure, form and length; None where not measured
    exponents = t.List().tag(sync=True)  # by measure and form
    length = t.Int(1).tag(sync=True)
    measure = t.Int(0).tag(sync=True)

    def __init__(
        self,
        measures: Mapping[str, Mapping[str, Mapping[int, float]]],
        *,
        units: Mapping[str, str],
        exponents: Mapping[str, Mapping[str, float]] | None = None,
        length: int | None = None,
        measure: int = 0,
        **texts: str,
    ):
        _check(measures)
        inputs.strings("units", [units.get(name) for name in measures], len(measures))
        forms = list(dict.fromkeys(form for series in measures.values() for form in series))
        if not 1 <= len(forms) <= MOST_FORMS:
            checks.fail("measures", f"1 to {MOST_FORMS} forms", str(len(forms)))
        lengths = sorted({n for s in measures.values() for points in s.values() for n in points})
        fitted = exponents or {}
        super().__init__(
            lengths=lengths,
            forms=inputs.strings("measures", forms),
            measures=[{"name": name, "unit": units[name]} for name in measures],
            values=[
                [[series.get(form, {}).get(n) for n in lengths] for form in forms]
                for series in measures.values()
            ],
            exponents=[[fitted.get(name, {}).get(form) for form in forms] for name in measures],
            length=lengths[-1] if length is None else length,
            measure=measure,
            **texts,
        )

    def number(self, measure: str, form: str, length: int) -> float | None:
        """The number of a form at a length, None where it was not measured."""
        names = [one["name"] for one in self.measures]
        place = names.index(checks.choice("measure", measure, names))
        row = self.forms.index(checks.choice("form", form, self.forms))
        if length not in self.lengths:
            return None
        return self.values[place][row][self.lengths.index(length)]

    def compute(self) -> dict:
        name = self.measures[self.measure]["name"]
        return {"values": {form: self.number(name, form, self.length) for form in self.forms}}

    def figure(self) -> Figure:
        shown = self.measures[self.measure]
        figure, ax = plain_axes((5.6, 3.8), self.title or shown["name"])
        for place, series in enumerate(self.values[self.measure]):
            points = [(n, v) for n, v in zip(self.lengths, series, strict=True) if v is not None]
            style = {"marker": _MARKERS[place], "linestyle": _DASHES[place]}
            ax.plot(*zip(*points, strict=True) if points else ([], []), color=COLOURS[place],
                    label=self.forms[place], **style)  # fmt: skip
        ax.axvline(self.length, color="black", linewidth=0.8, linestyle="--")
        ax.set(xscale="log", yscale="log", xlabel="length", ylabel=shown["unit"])
        ax.set_xticks(self.lengths, [f"{n:,}" for n in self.lengths])
        ax.minorticks_off()
        ax.grid(alpha=0.3)
        ax.legend(fontsize=9)
        return figure

    def _words(self) -> str:
        return (
            f"Lines of {self.measures[self.measure]['name']} against length, on logarithmic "
            f"axes, for {', '.join(self.forms)}; {len(self.lengths)} lengths measured, from "
            f"{self.lengths[0]:,} to {self.lengths[-1]:,}."
        )


def _check(measures: object) -> None:
    """Refuse whatever is not name -> form -> length -> number above 0."""
    expected = "a mapping from a name to forms, each a mapping from a length to a number"
    if not isinstance(measures, Mapping) or not measures:
        checks.fail("measures", expected, f"{type(measures).__name__}", TypeError)
    for name, series in measures.items():
        if not isinstance(series, Mapping):
            checks.fail(f"measures[{name!r}]", expected, type(series).__name__, TypeError)
        for form, points in series.items():
            where = f"measures[{name!r}][{form!r}]"
            if not isinstance(points, Mapping):
                checks.fail(where, "a mapping from a length to a number", repr(points), TypeError)
            for length, value in points.items():
                checks.integer(f"a length of {where}", length, minimum=1)
                checks.positive(f"{where}[{length}]", value)
