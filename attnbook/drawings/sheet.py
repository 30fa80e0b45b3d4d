"""A sheet of paper for a drawing: shapes with a role, words, arrows, cells; SVG comes out.

Nothing here names a colour. A role ("query", "key", "value", "weight", "state") becomes a class,
and the style sheet gives it the colour of `attnkit.viz.palette`, on a light page and on a dark one.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

from attnkit.viz.palette import LEVELS, ROLES

Point = tuple[float, float]

WIDE, NARROW = 720, 340
"""Units across a drawing for a page, and for a telephone of 360 pixels."""

HEAD = 8.0


def number(value: float, digits: int = 2) -> str:
    """A number as the drawings write it: rounded, no zeros at its end, a true minus sign.

    Example:
        >>> number(0.6400), number(-2.0), number(0.04)
        ('0.64', '−2', '0.04')
    """
    text = f"{value:.{digits}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text.replace("-", "\u2212")


def vector(values: Iterable[float], digits: int = 2) -> str:
    """Numbers with commas between them.

    Example:
        >>> vector([1, -2])
        '1, −2'
    """
    return ", ".join(number(value, digits) for value in values)


@dataclass
class Sheet:
    """A drawing in the making, `width` by `height` units; `size` is that of its words.

    Example:
        >>> sheet = Sheet(100, 40)
        >>> sheet.item("key", 10, 5, 60, 30, "1, 0")
        >>> "d-key" in sheet.markup()
        True
    """

    width: float
    height: float
    size: float = 15
    parts: list[str] = field(default_factory=list)

    def markup(self) -> str:
        """What stands between the tags of the `svg` element."""
        return "\n".join(self.parts)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        role: str | None = None,
        *,
        size: float | None = None,
        anchor: str = "middle",
        style: str = "",
    ) -> None:
        """Words around (x, y); `anchor` is start, middle or end, `style` the names of classes:
        d-bold, d-italic, d-muted, d-on (words on a shape filled with a role's ink), d-off. What
        stands in `^{...}` is raised."""
        classes = " ".join(filter(None, [_role(role), style]))
        self._line(x, y, _RAISED.sub(_raise, escape(words)), size, anchor, classes)

    def words(
        self,
        x: float,
        y: float,
        parts: Iterable[tuple[str, bool]],
        *,
        size: float | None = None,
        style: str = "",
    ) -> None:
        """A line that begins at (x, y), in parts: each with whether it is underlined."""
        inner = "".join(
            f'<tspan text-decoration="underline">{escape(part)}</tspan>' if lined else escape(part)
            for part, lined in parts
        )
        self._line(x, y, inner, size, "start", style)

    def _line(
        self, x: float, y: float, inner: str, size: float | None, anchor: str, classes: str
    ) -> None:
        self.parts.append(
            f'<text x="{_n(x)}" y="{_n(y)}" dy=".35em" font-size="{_n(size or self.size)}"'
            f' text-anchor="{anchor}"{_class(classes)}>{inner}</text>'
        )

    def shape(
        self, role: str, x: float, y: float, w: float, h: float, *, style: str = "d-box"
    ) -> None:
        """The outline that belongs to a role, in the box from (x, y): a query is a pill, a key a
        tag with a point to the left, a value a box; `style` as d-box, d-new, d-ghost, d-solid."""
        kind = ROLES[role].shape
        classes = _class(f"{_role(role)} {style}")
        if kind == "tag":
            cut = min(h / 2, 10)
            points = [(x, y + h / 2), (x + cut, y), (x + w, y), (x + w, y + h), (x + cut, y + h)]
            self.parts.append(f'<path d="{_path(points)}Z"{classes}/>')
            return
        radius = {"pill": h / 2, "box": 2, "bar": 1, "strip": 6}[kind]
        self.rect(x, y, w, h, f"{_role(role)} {style}", radius)

    def rect(self, x: float, y: float, w: float, h: float, style: str, radius: float = 0) -> None:
        """A rectangle with the classes `style`."""
        corner = f' rx="{_n(radius)}"' if radius else ""
        self.parts.append(
            f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(w)}" height="{_n(h)}"'
            f"{corner}{_class(style)}/>"
        )

    def item(
        self,
        role: str,
        x: float,
        y: float,
        w: float,
        h: float,
        words: str,
        *,
        size: float | None = None,
        style: str = "d-box",
    ) -> None:
        """The shape of a role with words in it."""
        self.shape(role, x, y, w, h, style=style)
        nudge = 4 if ROLES[role].shape == "tag" else 0
        ink = "d-on" if "d-solid" in style else "d-off" if "d-ghost" in style else ""
        self.text(x + w / 2 + nudge, y + h / 2, words, role, size=size, style=ink)

    def bar(self, x: float, y: float, length: float, h: float, share: float) -> None:
        """A weight as a bar: `share` of `length` is full."""
        self.rect(x, y, length, h, "d-weight d-track", 1)
        if share > 0:
            self.rect(x, y, max(1.5, share * length), h, "d-weight d-solid", 1)

    def cell(
        self,
        x: float,
        y: float,
        w: float,
        h: float,
        level: float,
        words: str = "",
        *,
        kind: str = "weight",
        size: float | None = None,
    ) -> None:
        """A cell of a heat map: `level` from 0 to 1 along the map of weights or of scores."""
        step = round(min(max(level, 0.0), 1.0) * (LEVELS - 1))
        self.rect(x, y, w, h, f"d-{kind}-{step} d-cell")
        if words:
            self.text(x + w / 2, y + h / 2, words, size=size, style=f"d-{kind}-{step}-ink")

    def hidden(self, x: float, y: float, w: float, h: float) -> None:
        """A cell that a mask hides: empty, struck through."""
        self.rect(x, y, w, h, "d-masked")
        self.line([(x + w * 0.2, y + h * 0.8), (x + w * 0.8, y + h * 0.2)], style="d-strike")

    def line(self, points: Sequence[Point], role: str | None = None, *, style: str = "") -> None:
        """A line through the points; `style` as d-thick, d-thin, d-dashed."""
        classes = " ".join(filter(None, [_role(role), "d-line", style]))
        self.parts.append(f'<path d="{_path(points)}"{_class(classes)}/>')

    def patch(self, corners: Sequence[Point], role: str) -> None:
        """A filled shape with these corners, in the ink of a role."""
        self.parts.append(f'<path d="{_path(corners)}Z" class="{_role(role)} d-head"/>')

    def arrow(self, points: Sequence[Point], role: str | None = None, *, style: str = "") -> None:
        """A line through the points with a head at its end."""
        (x0, y0), (x1, y1) = points[-2:]
        head = HEAD * (1.6 if "d-thick" in style else 1)
        length = math.hypot(x1 - x0, y1 - y0)
        ux, uy = (x1 - x0) / length, (y1 - y0) / length
        foot = (x1 - ux * head * 0.8, y1 - uy * head * 0.8)
        self.line([*points[:-1], foot], role, style=style)
        self._head((x1, y1), (ux, uy), head, role, style)

    def bend(
        self, start: Point, towards: Point, end: Point, role: str | None = None, *, style: str = ""
    ) -> None:
        """A curve from `start`, bent `towards` a point, with a head at `end`."""
        length = math.hypot(end[0] - towards[0], end[1] - towards[1])
        ux, uy = (end[0] - towards[0]) / length, (end[1] - towards[1]) / length
        foot = (end[0] - ux * HEAD * 0.8, end[1] - uy * HEAD * 0.8)
        classes = " ".join(filter(None, [_role(role), "d-line", style]))
        path = f"M{_xy(start)}Q{_xy(towards)} {_xy(foot)}"
        self.parts.append(f'<path d="{path}"{_class(classes)}/>')
        self._head(end, (ux, uy), HEAD, role, style)

    def circle(self, x: float, y: float, radius: float, style: str) -> None:
        """A circle with the classes `style`."""
        self.parts.append(f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"{_class(style)}/>')

    def plus(self, x: float, y: float, radius: float = 9) -> None:
        """A sum: a circle with a plus."""
        self.circle(x, y, radius, "d-state d-paper")
        arm = radius * 0.55
        self.line([(x - arm, y), (x + arm, y)], "state")
        self.line([(x, y - arm), (x, y + arm)], "state")

    def _head(self, tip: Point, along: Point, size: float, role: str | None, style: str) -> None:
        (x, y), (ux, uy), half = tip, along, size * 0.42
        points = [
            tip,
            (x - ux * size - uy * half, y - uy * size + ux * half),
            (x - ux * size + uy * half, y - uy * size - ux * half),
        ]
        muted = "d-muted" if "d-muted" in style else ""
        classes = " ".join(filter(None, [_role(role), "d-head", muted]))
        self.parts.append(f'<path d="{_path(points)}Z"{_class(classes)}/>')


_RAISED = re.compile(r"\^\{(.+?)\}(.*)")


def _raise(found: re.Match) -> str:
    exponent, rest = found.groups()
    after = f'<tspan dy=".35em">{rest}</tspan>' if rest else ""
    return f'<tspan dy="-.5em" font-size=".7em">{exponent}</tspan>{after}'


def _role(role: str | None) -> str:
    if role is not None and role not in ROLES:
        raise ValueError(f"role: expected one of {', '.join(ROLES)}, got {role!r}")
    return f"d-{role}" if role else ""


def _class(names: str) -> str:
    return f' class="{names.strip()}"' if names.strip() else ""


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _xy(point: Point) -> str:
    return f"{_n(point[0])},{_n(point[1])}"


def _path(points: Iterable[Point]) -> str:
    return "M" + "L".join(map(_xy, points))
