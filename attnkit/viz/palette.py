"""The colours of heat maps, drawings and plots, and the roles they mark.

A query, a key, a value, a weight and a state look alike wherever they are drawn: each has one
colour and one shape in `ROLES`. Drawings and widgets read them as CSS custom properties
(`css_properties`), matplotlib as `ROLES["query"].light`. On a dark page a plot's colours are turned
over by a filter, so that it is drawn once, for a light one.

Zero of a heat map is next to the page and more is further from it, in equal steps of lightness, so
that the map reads the same in grey, in print and to a colour-blind eye. `explorer/explorer.css`
holds the same anchors; a unit test compares the two.
"""

from dataclasses import dataclass

from matplotlib.colors import LinearSegmentedColormap, to_hex

SEQUENTIAL = (
    "#f3f7f4", "#cbe3d6", "#93cbbd", "#59aeaf", "#348ba0", "#2f668e", "#2f4275", "#1f1f45"
)  # fmt: skip
"""Weights, from zero to the maximum, on a light page."""

SEQUENTIAL_DARK = ("#1d2833", "#22425c", "#2b6785", "#3b8f9e", "#62b5ad", "#9ad7bd", "#e2f6da")
"""Weights, from zero to the maximum, on a dark page."""

DIVERGING = ("#7f3b08", "#c7741c", "#f2c892", "#f6f5f3", "#b9c3e3", "#6d74b8", "#2d1e6b")
"""Scores, from the most negative to the most positive, with zero in the middle."""

DIVERGING_DARK = ("#ffd09b", "#d08a3c", "#7a5226", "#2a2e35", "#44508f", "#7f8ee0", "#cfd5ff")
"""The same on a dark page."""

HATCH = "#a7adb3"
"""The strokes that mark a masked cell."""

NAN = "#d6006c"
"""The colour of a cell that is not a number."""

weights_map = LinearSegmentedColormap.from_list("attnkit", SEQUENTIAL)
scores_map = LinearSegmentedColormap.from_list("attnkit_scores", DIVERGING)

PAGE, INK, MUTED, LINE = "#ffffff", "#222832", "#57606a", "#c4ccd4"
"""A light page, the ink of its words, of what matters less, and of lines that only separate."""

PAGE_DARK, INK_DARK, MUTED_DARK, LINE_DARK = "#121212", "#ced6dd", "#a9b4bf", "#414b56"
"""The same of a dark page."""


@dataclass(frozen=True)
class Role:
    """How one kind of thing is drawn: `light` and `dark` ink with their fills, and a shape."""

    light: str
    light_fill: str
    dark: str
    dark_fill: str
    shape: str


ROLES = {
    "query": Role("#b34700", "#fdeadc", "#ffab5c", "#3d2818", "pill"),
    "key": Role("#86157a", "#f8e3f5", "#f653dc", "#3a1f3a", "tag"),
    "value": Role("#00784e", "#dcf2e8", "#40dc9a", "#12352a", "box"),
    "weight": Role("#1f4fc4", "#e2ebfb", "#c4defe", "#1c3048", "bar"),
    "state": Role("#262c33", "#eceff2", "#98a1ab", "#262d36", "strip"),
}
"""Query, key, value, weight and state. What attention gives, an average of values, is a value."""

LEVELS = 8
"""The steps into which `css_properties` cuts the two colour maps."""


def levels(anchors: tuple[str, ...]) -> list[str]:
    """`LEVELS` colours, evenly spaced along the map through `anchors`.

    Example:
        >>> levels(SEQUENTIAL)[0], len(levels(DIVERGING))
        ('#f3f7f4', 8)
    """
    ramp = LinearSegmentedColormap.from_list("levels", anchors)
    return [to_hex(ramp(step / (LEVELS - 1))) for step in range(LEVELS)]


def luminance(colour: str) -> float:
    """The relative luminance of a colour "#rrggbb", from 0 to 1 (WCAG 2, section 1.4.3).

    Example:
        >>> luminance("#ffffff")
        1.0
    """
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, from 1 to 21; AA asks 4.5 of words and 3 of lines.

    Example:
        >>> round(contrast("#000000", "#ffffff"), 2)
        21.0
    """
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def properties(dark: bool = False) -> dict[str, str]:
    """The colours of a page by the name of their CSS custom property, without the dashes.

    Example:
        >>> properties()["attn-query"], properties(dark=True)["attn-query"]
        ('#b34700', '#ffab5c')
    """
    light, night = (PAGE, INK, MUTED, LINE), (PAGE_DARK, INK_DARK, MUTED_DARK, LINE_DARK)
    page, ink, muted, line = night if dark else light
    found = {"attn-page": page, "attn-ink": ink, "attn-muted": muted, "attn-line": line}
    for name, role in ROLES.items():
        found[f"attn-{name}"] = role.dark if dark else role.light
        found[f"attn-{name}-fill"] = role.dark_fill if dark else role.light_fill
    maps = (SEQUENTIAL_DARK, DIVERGING_DARK) if dark else (SEQUENTIAL, DIVERGING)
    for name, anchors in zip(("weight", "score"), maps, strict=True):
        for step, colour in enumerate(levels(anchors)):
            found[f"attn-{name}-{step}"] = colour
            words = max(("#000000", "#ffffff"), key=lambda ink: contrast(ink, colour))
            found[f"attn-{name}-{step}-ink"] = words
    return found


def forced() -> dict[str, str]:
    """The same names where the reader's own few colours replace the page's.

    Cells of a map keep theirs, since a heat map of one colour says nothing.

    Example:
        >>> forced()["attn-query"]
        'CanvasText'
    """
    found = {"attn-page": "Canvas", "attn-ink": "CanvasText", "attn-muted": "CanvasText"}
    found["attn-line"] = "GrayText"
    for name in ROLES:
        found[f"attn-{name}"] = "Highlight" if name == "weight" else "CanvasText"
        found[f"attn-{name}-fill"] = "Canvas"
    return found


def css_properties() -> str:
    """Custom properties of `:root` for a light and a dark page, forced colours and print.

    Example:
        >>> print(css_properties()[:26])
        :root{--attn-page:#ffffff;
    """
    light, dark = (_declarations(properties(dark)) for dark in (False, True))
    both = ':root,html[data-theme="dark"]'
    return (
        f":root{{{light}}}\n"
        f'html[data-theme="dark"]{{{dark}}}\n'
        f"@media (forced-colors:active){{{both}{{{_declarations(forced())}}}}}\n"
        f"@media print{{{both}{{{light}}}}}\n"
    )


def _declarations(found: dict[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in found.items())
