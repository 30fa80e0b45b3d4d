"""The page that translates: the three ways in which a Transformer that translates looks."""

from attnbook import recorded
from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet

ENGLISH = ("i", "love", "you", ".")
WRITTEN = ("(start)", "je", "t'", "aime")
WRITING = ("je", "t'", "aime", ".")
READ, WRITTEN_SO_FAR = "the English sentence", "French written so far"
EACH, NEXT = "each English word looks", "the next French word looks"
WAYS = (
    ("English looks at English", "encoder self-attention", (READ, ENGLISH), (EACH, ENGLISH)),
    (
        "French looks back",
        "decoder self-attention, masked",
        (WRITTEN_SO_FAR, WRITTEN),
        (NEXT, WRITING),
    ),
    ("French looks at English", "cross-attention", (READ, ENGLISH), (NEXT, WRITING)),
)
"""What each is called, here and elsewhere, the words that are looked at, and those that look."""

PANEL, HIGH = 220, 226
PLACES = (27, 82, 137, 192)
BOX, TALL, SEEN, LOOKS = 48, 26, 76, 160
CHOSEN = 2
"""The word whose look is drawn in full."""


def _panel(sheet: Sheet, x: float, y: float, way: tuple) -> None:
    """One way, as the translator draws it: below the words that look, above those looked at."""
    name, elsewhere, (above, seen), (below, looking) = way
    sheet.text(x + 3, y + 10, name, anchor="start", style="d-bold", size=15)
    sheet.text(x + 3, y + 31, elsewhere, anchor="start", style="d-muted", size=13)
    sheet.text(x + 3, y + SEEN - 12, above, anchor="start", size=13)
    sheet.text(x + 3, y + LOOKS + TALL + 13, below, anchor="start", size=13)
    for here in sorted(range(len(looking)), key=lambda place: place == CHOSEN):
        for there in range(here + 1 if seen is WRITTEN else len(seen)):
            ends = [(x + PLACES[there], y + SEEN + TALL), (x + PLACES[here], y + LOOKS)]
            if here == CHOSEN:
                sheet.line(ends, "weight", style="d-thick")
            else:
                sheet.line(ends, style="d-thin d-muted")
    for place, (source, word) in enumerate(zip(seen, looking, strict=True)):
        left = x + PLACES[place] - BOX / 2
        sheet.rect(left, y + SEEN, BOX, TALL, "d-state d-box", 4)
        sheet.text(left + BOX / 2, y + SEEN + TALL / 2, source, "state", size=13)
        style = "d-new" if place == CHOSEN else "d-box"
        sheet.item("query", left, y + LOOKS, BOX, TALL, word, size=13, style=style)


def draw(narrow: bool) -> Sheet:
    """Side by side on a wide page, below one another on a narrow one."""
    sheet = Sheet(NARROW, 3 * HIGH + 2 * 20, 13) if narrow else Sheet(WIDE, HIGH - 16, 13)
    for place, way in enumerate(WAYS):
        x = (NARROW - PANEL) / 2 if narrow else place * (PANEL + 30)
        _panel(sheet, x, place * (HIGH + 20) if narrow else 0, way)
    return sheet


DRAWING = Drawing(
    name="three-looks",
    title="Three ways of looking. The word with the thick edge may look along all the blue lines.",
    description=(
        "Three panels, each with a row of words that are looked at above a row of words that look, "
        "and the look of one word drawn thick. English looks at English, the encoder's "
        "self-attention: each of “i love you .” looks at all four. French looks back, the "
        "decoder's masked self-attention: whoever is about to write “aime” looks at the start, "
        "at “je” and at “t'”, and at nothing that comes later. French looks at English, "
        "cross-attention: the same word looks at all four English ones."
    ),
    draw=draw,
    two_layouts=True,
)


KEPT = {
    way: round(100 * found["same"])
    for way, found in recorded.results("heads_off")["without"].items()
}
"""How many of a hundred translations stay the same when one way is switched off."""


def draw_kept(narrow: bool) -> Sheet:
    """A bar for each way: beside its name, or on a narrow page below it."""
    pitch, left, length = (46, 3, 290) if narrow else (32, 252, 410)
    sheet = Sheet(NARROW if narrow else WIDE, 3 * pitch, 14)
    for place, (way, count) in enumerate(KEPT.items()):
        y = place * pitch + (10 if narrow else 16)
        sheet.text(3, y, f"without {way}", anchor="start")
        y += 20 * narrow
        sheet.bar(left, y - 7, length, 14, count / 100)
        sheet.text(left + length + 10, y, str(count), anchor="start", style="d-bold")
    return sheet


WITHOUT = Drawing(
    name="without-a-way",
    title="Of a hundred test translations, so many stay the same without one way of looking.",
    description=(
        "A bar for each way of looking that is switched off, and how many of a hundred "
        f"translations stay the same: {', '.join(f'without {way} {n}' for way, n in KEPT.items())}."
    ),
    draw=draw_kept,
    two_layouts=True,
)
