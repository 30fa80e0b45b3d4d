"""The picture of a translation: two rows of words, and a line for every weight that counts."""

from collections.abc import Collection, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from attnkit.viz import palette
from attnkit.viz.heatmap import Picture

LEAST = 0.04  # a line for every weight from here on
_INK, _LINE, _HUE, _MUTED = "#1f2328", "#c4ccd4", palette.SEQUENTIAL[4], "#57606a"
_TOP, _BOTTOM = 1.0, 0.0


def translation(
    source: Sequence[str],
    target: Sequence[str],
    weights: np.ndarray,
    *,
    hidden: Collection[int] = (),
    names: tuple[str, str] = ("source", "target"),
    title: str = "",
) -> Figure:
    """Draw source tokens above target tokens, joined by lines as thick as the weights (T, S)."""
    width = max(len(source), len(target), 4)
    figure = Picture(figsize=(min(0.95 * width + 0.4, 12), 2.6), dpi=110)
    axes = figure.add_axes((0.02, 0.02, 0.96, 0.84 if title else 0.96))
    axes.set(xlim=(-0.5, width - 0.5), ylim=(-0.45, 1.45))
    axes.axis("off")
    if title:
        figure.suptitle(title, x=0.03, ha="left", fontsize=11, fontweight="bold", color=_INK)
    above, below = _places(len(source), width), _places(len(target), width)
    for row, x in zip(weights, below, strict=True):
        for weight, start in zip(row, above, strict=True):
            if weight >= LEAST:
                _line(axes, start, x, float(weight))
    for place, (word, x) in enumerate(zip(source, above, strict=True)):
        _word(axes, word, x, _TOP, hidden=place in hidden)
    for word, x in zip(target, below, strict=True):
        _word(axes, word, x, _BOTTOM, hidden=False)
    for name, y in zip(names, (_TOP + 0.3, _BOTTOM - 0.3), strict=True):
        axes.text(-0.42, y, name, va="center", fontsize=8, color=_MUTED)
    return figure


def _places(count: int, width: int) -> list[float]:
    """Where the middles of `count` words stand, evenly over the width."""
    return [(place + 0.5) * width / count - 0.5 for place in range(count)]


def _line(axes: Axes, start: float, end: float, weight: float) -> None:
    high, low = _TOP - 0.15, _BOTTOM + 0.15
    corners = [(start, high), (start, 0.5), (end, 0.5), (end, low)]
    path = Path(corners, [Path.MOVETO, *[Path.CURVE4] * 3])
    axes.add_patch(
        PathPatch(
            path,
            fill=False,
            edgecolor=_HUE,
            linewidth=0.6 + 6 * weight,
            alpha=max(0.2, min(1.0, weight + 0.1)),
            capstyle="round",
        )
    )


def _word(axes: Axes, word: str, x: float, y: float, *, hidden: bool) -> None:
    box = {
        "boxstyle": "round,pad=0.42",
        "facecolor": "white",
        "edgecolor": _MUTED if hidden else _LINE,
        "linestyle": "--" if hidden else "-",
        "hatch": "////" if hidden else None,
    }
    axes.text(
        x,
        y,
        word,
        ha="center",
        va="center",
        fontsize=10,
        color=_MUTED if hidden else _INK,
        parse_math=False,
        bbox=box,
    )
