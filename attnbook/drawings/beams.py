"""Chapter 13: a beam whose beginnings change places, and caches that must go with them."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet

BEFORE = ("le chat", "un chien")
AFTER = ("un chien noir", "un chien dort")
"""Both of the best continuations go on from the second beginning."""

FROM = tuple(BEFORE.index(" ".join(text.split()[:2])) for text in AFTER)


def draw(narrow: bool) -> Sheet:
    """Left the beginnings with their caches, right the next two: as they should be, and not."""
    sheet = Sheet(NARROW, 330, 13)
    tag, w = 34, 114

    def row(x: float, y: float, words: str, cache: str, wrong: bool = False) -> None:
        sheet.rect(x, y, w, 30, "d-state d-box", 6)
        sheet.text(x + w / 2, y + 15, words)
        for at, (role, letter) in enumerate((("key", "K"), ("value", "V"))):
            style = "d-ghost" if wrong else "d-box"
            sheet.item(role, x + at * (tag + 4), y + 34, tag, 24, letter, style=style, size=12.5)
        said = f"of “{cache.split()[1]}”" + (" ✗" if wrong else "")
        sheet.text(x + 2 * tag + 6, y + 46, said, anchor="start", size=11.5)

    right = NARROW - w - 28
    for panel, top in enumerate((26, 196)):
        title = ("caches reordered with the words", "words reordered, caches left behind")[panel]
        sheet.text(0, top - 14, title, anchor="start", style="d-bold")
        for place, text in enumerate(BEFORE):
            row(0, top + 72 * place, text, text)
        for place, (text, source) in enumerate(zip(AFTER, FROM, strict=True)):
            own = source if panel == 0 else place
            row(right, top + 72 * place, text, BEFORE[own], wrong=own != source)
            start = (w + 4, top + 72 * source + 15)
            sheet.arrow([start, (right - 5, top + 72 * place + 15)])
    return sheet


DRAWING = Drawing(
    name="beam-caches",
    title="When two beginnings change places, their caches must change places too.",
    description=(
        "A beam of two beginnings, “le chat” and “un chien”, each with its keys and values. Both "
        "of the best continuations, “un chien noir” and “un chien dort”, go on from the second. "
        "Above, both have been given the cache of “chien”. Below, the words were reordered and "
        "the caches were not: “un chien noir” goes on with the cache of “chat”, which is wrong."
    ),
    draw=draw,
)
