"""A drawing as a whole: its words, its frames, and the forms in which it goes out.

`inline` is for the page, in the page's colours, in two layouts where one would be too wide for a
telephone. `standalone` is the file beside it, which Jupyter and GitHub show: on white, since an
image does not know the colours of the page around it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path

from attnbook.drawings.sheet import NARROW, WIDE, Sheet
from attnkit.viz import palette

HERE = Path(__file__).parent

Draw = Callable[[bool], Sheet | Sequence[Sheet]]


@dataclass(frozen=True)
class Drawing:
    """One picture, or a stepper when it has a sentence for each of its frames.

    Args:
        name: of its file, in `attnbook/drawings`.
        title: what it shows, as a sentence; the alternative text where it is an image.
        description: the same for someone who cannot see it, in full.
        draw: from whether the page is narrow to a sheet, or to one for each frame.
        says: the sentence of each frame of a stepper.
        two_layouts: whether `draw` heeds the width; else the narrow layout serves all.
    """

    name: str
    title: str
    description: str
    draw: Draw
    says: tuple[str, ...] = ()
    two_layouts: bool = False

    @cached_property
    def layouts(self) -> dict[str, list[Sheet]]:
        """The frames, of the wide layout where there is one, and of the narrow one."""
        found = {}
        for layout in ("wide", "narrow") if self.two_layouts else ("narrow",):
            sheets = self.draw(layout == "narrow")
            found[layout] = [sheets] if isinstance(sheets, Sheet) else list(sheets)
            if len(found[layout]) != max(1, len(self.says)):
                raise ValueError(
                    f"{self.name}: expected one sentence for each of the {len(found[layout])} "
                    f"frames, got {len(self.says)}"
                )
        return found

    def inline(self) -> str:
        """The figure for a page of the book, as HTML."""
        if not self.says:
            caption = f'<figcaption aria-hidden="true">{escape(self.title)}</figcaption>'
            return f'<figure class="drawing">{self._frame(0)}{caption}</figure>'
        frames = "".join(
            f"<li>{self._frame(place)}<p>{escape(says)}</p></li>"
            for place, says in enumerate(self.says)
        )
        return (
            f'<figure class="drawing" data-stepper="" aria-label="{escape(self.title)}">'
            f'<ol class="drawing-frames">{frames}</ol></figure>'
        )

    def standalone(self) -> str:
        """The file: an SVG with all its frames below each other and its colours with it."""
        sheets = next(iter(self.layouts.values()))
        # On a wide page a drawing made for a narrow one need not fill the column.
        margin, gap = 12, 44 if self.says else 0
        width, tall = sheets[0].width + 2 * margin, margin
        parts = []
        for sheet, says in zip(sheets, self.says or ("",), strict=True):
            parts.append(f'<g transform="translate({margin} {tall})">{sheet.markup()}</g>')
            tall += sheet.height + gap
            if says:
                words = Sheet(sheet.width, gap, size=12.5)
                lines = _wrap(says, round(sheet.width / 6.4))
                for row, line in enumerate(lines):
                    words.text(width / 2, tall - gap + 14 + 16 * row, line, style="d-muted")
                tall += 16 * (len(lines) - 1)
                parts.append(words.markup())
        scale = 1 if sheets[0].width > NARROW * 1.5 else 1.4
        light = "".join(f"--{name}:{value};" for name, value in palette.properties().items())
        style = f"svg{{{light}background:var(--attn-page);color:var(--attn-ink)}}\n{shapes()}"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" role="img" '
            f'width="{width * scale:.0f}" height="{(tall + margin) * scale:.0f}" '
            f'viewBox="0 0 {width:g} {tall + margin:g}" aria-labelledby="title desc">\n'
            f'<title id="title">{escape(self.title)}</title>\n'
            f'<desc id="desc">{escape(self.description)}</desc>\n'
            f"<style>{style}</style>\n" + "\n".join(parts) + "\n</svg>\n"
        )

    def _frame(self, place: int) -> str:
        return "".join(
            self._svg(layout, sheets[place], place) for layout, sheets in self.layouts.items()
        )

    def _svg(self, layout: str, sheet: Sheet, place: int) -> str:
        own = f"drawing-{self.name}-{place + 1}-{layout}"
        title, description = self.title, self.description
        if self.says:
            title = f"{self.title} Step {place + 1} of {len(self.says)}."
            description = self.says[place] if place else f"{self.says[0]} {self.description}"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="d-{layout}-layout" role="img" '
            f'viewBox="0 0 {sheet.width:g} {sheet.height:g}" '
            f'aria-labelledby="{own}-title" aria-describedby="{own}-desc">'
            f'<title id="{own}-title">{escape(title)}</title>'
            f'<desc id="{own}-desc">{escape(description)}</desc>'
            f"{sheet.markup()}</svg>"
        )


def shapes() -> str:
    """The style of shapes, lines and words, the same on a page and in a file."""
    steps = [f"{kind}-{step}" for kind in ("weight", "score") for step in range(palette.LEVELS)]
    cells = "".join(
        f".d-{step}{{fill:var(--attn-{step})}}.drawing .d-{step}-ink{{fill:var(--attn-{step}-ink)}}"
        for step in steps
    )
    return f"{(HERE / 'shapes.css').read_text('utf8')}{cells}\n"


def style_sheet() -> str:
    """All that a page needs: the colours, the shapes, and how a figure stands on it."""
    own = (HERE / "drawings.css").read_text("utf8")
    return f"{palette.css_properties()}{shapes()}{own}"


def _wrap(words: str, width: int) -> list[str]:
    lines = [""]
    for word in words.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


__all__ = ["NARROW", "WIDE", "Drawing", "shapes", "style_sheet"]
