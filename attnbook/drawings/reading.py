"""Chapter 15: the famous sentence, and the same in the passive."""

import math

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet

LOOKS: dict[str, tuple[tuple[str, float], ...]] = {
    "active": (
        *(("[CLS]", 0.10), ("the", 0.04), ("animal", 0.68), ("didn", 0.0), ("'", 0.0), ("t", 0.0)),
        *(("cross", 0.01), ("the", 0.0), ("street", 0.05), ("because", 0.0), ("it", 0.06)),
        *(("was", 0.0), ("too", 0.0), ("tired", 0.02), (".", 0.0), ("[SEP]", 0.01)),
    ),
    "passive": (
        *(("[CLS]", 0.10), ("the", 0.02), ("street", 0.61), ("wasn", 0.0), ("'", 0.0), ("t", 0.0)),
        *(("crossed", 0.01), ("by", 0.0), ("the", 0.01), ("animal", 0.14), ("because", 0.0)),
        *(("it", 0.07), ("was", 0.01), ("too", 0.0), ("tired", 0.02), (".", 0.01), ("[SEP]", 0.01)),
    ),
}
"""The row of "it" in layer 3, head 1 of all-MiniLM-L6-v2: its tokens and their weights."""
BOTH, TAGS = ("what “it” refers to", "alive"), ("the subject", "farther from “it”")
IS = {
    "active": {"animal": (*BOTH, *TAGS), "street": ()},
    "passive": {"animal": BOTH, "street": TAGS},
}
"""What each noun is in either sentence."""


def draw(narrow: bool) -> Sheet:
    """Below one another with arcs; on a telephone side by side, the words in a column."""
    return _columns() if narrow else _lines()


def _lines() -> Sheet:
    high = (0, 178)
    sheet = Sheet(WIDE, 312, 15.5)
    for top, (name, row) in zip(high, LOOKS.items(), strict=True):
        written, base = _written(row), top + 86
        left, centres = 0.0, []
        for word, _ in written:  # places by a guess at how wide words are
            wide = 8.7 * len(word) + (20 if word == "it" else 10)
            centres.append(left + wide / 2)
            left += wide
        shift = (WIDE - left) / 2
        centres = [shift + centre for centre in centres]
        it = next(n for n, (word, _) in enumerate(written) if word == "it")
        told = []
        for x, (word, weight) in zip(centres, written, strict=True):
            if word == "it" or not weight:
                continue
            rise = 14 + abs(x - centres[it]) / 7
            _arc(sheet, centres[it], x, base - 15, rise, 16 * weight)
            if word in IS[name]:
                told.append((x + 11 + 8 * weight, base - 24, f"{weight:.2f}"))
        for x, y, weight in told:
            sheet.text(x, y, weight, "weight", anchor="start", style="d-bold d-halo", size=14)
        for x, (word, _) in zip(centres, written, strict=True):
            if word == "it":
                sheet.item("query", x - 14, base - 12, 28, 24, "it")
                continue
            noun = word in IS[name]
            style = "d-bold" if noun else "d-muted" if word.startswith("[") else ""
            sheet.text(x, base, word, "key" if noun else None, style=style)
            for place, tag in enumerate(IS[name].get(word, ())):
                sheet.text(x, base + 22 + 17 * place, tag, style="d-muted", size=13)
    return sheet


def _columns() -> Sheet:
    pitch, half = 21, 178
    sheet = Sheet(NARROW, 438, 12.5)
    for place, (name, row) in enumerate(LOOKS.items()):
        left = place * half
        words = left + 88  # where the words end
        written = _written(row)
        middles = [8 + pitch * (n + 0.5) for n in range(len(written))]
        at = next(n for n, (word, _) in enumerate(written) if word == "it")
        tip = (left + 124, middles[at])
        for (word, weight), y in zip(written, middles, strict=True):
            noun = word in IS[name]
            style = "d-bold" if noun else "d-muted" if word.startswith("[") else ""
            sheet.text(words, y, word, "key" if noun else None, anchor="end", style=style)
            if noun:
                sheet.text(left, y, f"{weight:.2f}", "weight", anchor="start", style="d-bold")
            if weight and word != "it":
                _beam(sheet, (words + 4, y), tip, 15 * weight)
        sheet.item("query", tip[0], tip[1] - 11, 28, 22, "it")
        y = 8 + pitch * 15.6
        for noun, tags in IS[name].items():
            if tags:
                sheet.text(left, y, noun, "key", anchor="start", style="d-bold")
            for tag in tags:
                y += 17
                sheet.text(left + 8, y, tag, anchor="start", style="d-muted")
            y += 21 if tags else 0
    return sheet


def _written(row: tuple[tuple[str, float], ...]) -> list[tuple[str, float]]:
    """The row's tokens as words: what an apostrophe parted, and the full stop, joined."""
    found: list[tuple[str, float]] = []
    for token, weight in row:
        if found and (token in "'." or found[-1][0].endswith("'")):
            word, before = found.pop()
            found.append((word + token, round(before + weight, 2)))
        else:
            found.append((token, weight))
    return found


def _arc(sheet: Sheet, x0: float, x1: float, y: float, rise: float, wide: float) -> None:
    """Half an ellipse as thick as a weight, as a shape, since lines have three widths only."""
    middle, reach, half = (x0 + x1) / 2, abs(x1 - x0) / 2, max(wide, 0.5) / 2
    turns = [math.pi * step / 32 for step in range(33)]

    def rim(more: float) -> list[tuple[float, float]]:
        return [
            (middle + (reach + more) * math.cos(turn), y - (rise + more) * math.sin(turn))
            for turn in turns
        ]

    sheet.patch([*rim(half), *reversed(rim(-half))], "weight")


def _beam(sheet: Sheet, start: tuple[float, float], end: tuple[float, float], wide: float) -> None:
    """A line as thick as a weight, as a shape."""
    (x0, y0), (x1, y1) = start, end
    length = math.hypot(x1 - x0, y1 - y0)
    across = (y1 - y0) / length * wide / 2, (x0 - x1) / length * wide / 2
    corners = [
        (x0 + across[0], y0 + across[1]),
        (x1 + across[0], y1 + across[1]),
        (x1 - across[0], y1 - across[1]),
        (x0 - across[0], y0 - across[1]),
    ]
    sheet.patch(corners, "weight")


FAMOUS = Drawing(
    name="famous-sentence",
    title=(
        "The thicker the line, the more weight “it” gives the word. In the passive, the same head "
        "looks at the street."
    ),
    description=(
        "Two sentences, with lines from it to the other words, as thick as the weights of layer 3, "
        "head 1. The animal didn't cross the street because it was too tired: 0.68 on animal, "
        "which is what it refers to, alive, the subject, and farther from it; 0.05 on street. The "
        "street wasn't crossed by the animal because it was too tired: 0.14 on animal, which is "
        "what it refers to and alive; 0.61 on street, which is the subject and farther from it."
    ),
    draw=draw,
    two_layouts=True,
)
