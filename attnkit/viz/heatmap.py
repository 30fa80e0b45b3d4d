"""The heat map in matplotlib: one head or a grid of heads, with masked cells marked as such."""

import base64
import io
import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from attnkit.guard import checks
from attnkit.viz import arrays as inputs
from attnkit.viz import palette

KINDS = ("weights", "scores")
_LABEL_HEIGHT = 0.16  # inches
_LONGEST_LABEL = 16


class Picture(Figure):
    """A Figure that a notebook shows without pyplot, which would keep every figure open."""

    def _repr_png_(self) -> str:
        return png(self)


def plain_axes(figsize: tuple[float, float], title: str) -> tuple[Picture, Axes]:
    """A new picture and its one plot, with a title in plain text and no frame at right and top."""
    figure = Picture(figsize=figsize, layout="constrained")
    ax = figure.subplots()
    ax.set_title(title, parse_math=False, fontsize=11)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return figure, ax


def heatmap(
    values: inputs.Array,
    *,
    tokens: Sequence[str] | None = None,
    query_tokens: Sequence[str] | None = None,
    key_tokens: Sequence[str] | None = None,
    mask: inputs.Array | None = None,
    names: Sequence[str] | None = None,
    title: str | None = None,
    kind: str = "weights",
    vmax: float | None = None,
    cmap: Colormap | None = None,
    ax: Axes | None = None,
) -> Figure | Axes:
    """Draw attention weights or scores, one row a query and one column a key.

    Weights are coloured from zero to `vmax`, scores from -vmax to +vmax with zero in the middle.
    Masked cells are hatched, never coloured, so that "masked" and "zero" look different; cells
    that are NaN get a colour and a cross of their own. Tokens are drawn as they are: a `$` in
    them starts no formula.

    Args:
        values: (L, S), or (H, L, S) for a grid of heads.
        tokens: L == S strings for self-attention, or
        query_tokens, key_tokens: L and S strings; positions when left out.
        mask: boolean, broadcastable to (H, L, S); True where the query may attend.
        names: H strings above the heads.
        title: above the whole; state the finding.
        kind: "weights" or "scores".
        vmax: the end of the colour bar; the largest magnitude shown when left out.
        cmap: a matplotlib colour map, instead of the book's.
        ax: where to draw a single head.

    Returns:
        A new Figure, or `ax` when it was given.

    Raises:
        TypeError: an argument of the wrong kind.
        ValueError: shapes that do not fit, negative weights, a `vmax` that is not positive.

    Example:
        >>> import torch
        >>> drawn = heatmap(torch.eye(2), query_tokens=["le", "chat"], key_tokens=["the", "cat"])
    """
    array = inputs.by_head("values", values, "(H, L, S)")
    checks.choice("kind", kind, KINDS)
    heads, rows, columns = array.shape
    words = inputs.token_traits(rows, columns, tokens, query_tokens, key_tokens)
    queries, keys = words["query_tokens"] or words["key_tokens"], words["key_tokens"]
    names = [None] * heads if names is None else inputs.strings("names", names, heads)
    visible = _visible(mask, array.shape)
    norm = _norm(array, visible, kind, vmax)
    cmap = cmap or (palette.weights_map if kind == "weights" else palette.scores_map)
    if ax is not None:
        if heads > 1:
            checks.fail("ax", "values of one head, (L, S)", f"{heads} heads")
        step = math.ceil(max(rows, columns) / 40)
        image = _draw(ax, array[0], visible[0], queries, keys, step, names[0] or title, norm, cmap)
        ax.figure.colorbar(image, ax=ax, label=_bar_label(kind))
        return ax
    figure, axes, across, step = _grid(heads, rows, columns, queries, keys)
    for place, head_ax in enumerate(axes):
        image = _draw(
            head_ax,
            array[place],
            visible[place],
            queries if place % across == 0 else None,
            keys if place < across else None,
            step,
            names[place],
            norm,
            cmap,
        )
    figure.colorbar(image, ax=axes, label=_bar_label(kind), shrink=0.8, pad=0.02)
    if title:
        figure.suptitle(title, parse_math=False)
    _legend(figure, array, visible)
    return figure


def png(figure: Figure, dpi: int = 100) -> str:
    """The figure as base64-encoded PNG, the way a notebook keeps it, the same on every run."""
    # The first layout does not know yet how high tokens above a map push its title.
    figure.draw_without_rendering()
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi, facecolor="white", metadata={"Software": None})
    return base64.b64encode(buffer.getvalue()).decode()


def _visible(mask, shape) -> np.ndarray:
    if mask is None:
        return np.ones(shape, dtype=bool)
    mask = np.asarray(mask)
    if mask.dtype != bool:
        checks.fail("mask", "booleans, True where the query may attend", str(mask.dtype), TypeError)
    try:
        return np.broadcast_to(mask, shape)
    except ValueError:
        checks.fail("mask", f"a shape that broadcasts to (H, L, S) = {shape}", f"{mask.shape}")


def _norm(array, visible, kind, vmax) -> Normalize:
    shown = array[visible & np.isfinite(array)]
    if kind == "weights" and shown.size and shown.min() < 0:
        checks.fail("values", 'weights of at least 0 (or kind="scores")', f"{shown.min():.3g}")
    if vmax is None:
        vmax = float(np.abs(shown).max(initial=0.0)) or 1.0
    checks.positive("vmax", vmax)
    return Normalize(0.0 if kind == "weights" else -vmax, vmax)


def _bar_label(kind: str) -> str:
    return "attention weight" if kind == "weights" else "score"


def _grid(heads: int, rows: int, columns: int, queries: Sequence[str], keys: Sequence[str]):
    """A figure with one axes a head, cells square, no wider than a page, and room for tokens.

    Returns the figure, its axes, how many stand side by side, and which token in how many is named.
    """
    across = 2 if heads == 4 else min(heads, 4 if heads > 6 else 3)
    down = math.ceil(heads / across)
    cell = min(0.42, 6.4 / (across * columns), 7.0 / rows)
    left, top = (0.083 * max(len(_cut(text)) for text in names) for names in (queries, keys))
    width = across * max(columns * cell + 0.35, 1.2) + left + 1.5
    height = down * max(rows * cell + 0.55, 1.2) + 0.75 * top + 0.8
    figure = Picture(figsize=(width, height), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for spare in axes[heads:]:
        spare.remove()
    return figure, list(axes[:heads]), across, math.ceil(_LABEL_HEIGHT / cell)


def _draw(ax, values, visible, queries, keys, step, name, norm, cmap):
    """One head on `ax`; `queries` or `keys` of None leaves that side without names."""
    rows, columns = values.shape
    ax.fill_between(
        [-0.5, columns - 0.5],
        -0.5,
        rows - 0.5,
        hatch="////",
        facecolor="white",
        edgecolor=palette.HATCH,
        linewidth=0,
    )
    bad = visible & np.isnan(values)
    shown = np.ma.array(values, mask=~visible | bad)
    image = ax.imshow(shown, cmap=cmap, norm=norm, interpolation="nearest", zorder=2)
    ax.plot(*np.nonzero(bad)[::-1], linestyle="none", marker="x", color=palette.NAN, zorder=3)
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.tick_params(length=0, labelsize=9)
    _name_ticks(ax.yaxis, queries, range(0, rows, step))
    _name_ticks(ax.xaxis, keys, range(0, columns, step))
    for label in ax.get_xticklabels():
        label.set(rotation=45, ha="left", rotation_mode="anchor")
    ax.set_xlabel("key", fontsize=9)
    ax.set_ylabel("query", fontsize=9)
    if name:
        ax.set_title(name, fontsize=9, parse_math=False)
    return image


def _name_ticks(axis, names: Sequence[str] | None, places: range) -> None:
    axis.set_ticks(places if names else [])
    if names:
        axis.set_ticklabels([_cut(names[place]) for place in places], parse_math=False)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 1] + "…"


def _legend(figure, array, visible) -> None:
    entries = []
    if not visible.all():
        entries.append(
            Patch(facecolor="white", edgecolor=palette.HATCH, hatch="////", label="masked")
        )
    if np.isnan(array[visible]).any():
        entries.append(Patch(color=palette.NAN, label="not a number"))
    if entries:
        figure.legend(
            handles=entries, loc="outside lower right", fontsize=9, frameon=False, ncols=2
        )
