"""The page that translates: the three ways in which a Transformer that translates looks."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet

ENGLISH = ("i", "love", "you", ".")
WRITTEN = ("(start)", "je", "t'", "aime")
WRITING = ("je", "t'", "aime", ".")
WAYS = (
    ("English looks at English", "encoder self-attention", ENGLISH, ENGLISH),
    ("French looks back", "decoder self-attention, masked", WRITING, WRITTEN),
    ("French looks at English", "cross-attention", WRITING, ENGLISH),
)
"""What each is called, here and elsewhere, whose words look, and at which."""

PANEL, HIGH = 220, 196
PLACES = (27, 82, 137, 192)
BOX, TALL, LOOKS, READ = 48, 26, 62, 150
CHOSEN = 2
"""The word whose look is drawn in full."""


def _panel(sheet: Sheet, x: float, y: float, way: tuple) -> None:
    """One way: above the words that look, below those that are looked at."""
    name, elsewhere, looking, read = way
    sheet.text(x + 3, y + 10, name, anchor="start", style="d-bold", size=15)
    sheet.text(x + 3, y + 31, elsewhere, anchor="start", style="d-muted", size=13)
    masked = read is WRITTEN
    for here in sorted(range(len(looking)), key=lambda place: place == CHOSEN):
        for there in range(here + 1 if masked else len(read)):
            ends = [(x + PLACES[here], y + LOOKS + TALL), (x + PLACES[there], y + READ)]
            if here == CHOSEN:
                sheet.line(ends, "weight", style="d-thick")
            else:
                sheet.line(ends, style="d-thin d-muted")
    for place, (word, source) in enumerate(zip(looking, read, strict=True)):
        left = x + PLACES[place] - BOX / 2
        style = "d-new" if place == CHOSEN else "d-box"
        sheet.item("query", left, y + LOOKS, BOX, TALL, word, size=13, style=style)
        sheet.rect(left, y + READ, BOX, TALL, "d-state d-box", 4)
        sheet.text(left + BOX / 2, y + READ + TALL / 2, source, "state", size=13)


def draw(narrow: bool) -> Sheet:
    """Side by side on a wide page, below one another on a narrow one."""
    sheet = Sheet(NARROW, 3 * HIGH + 2 * 20, 13) if narrow else Sheet(WIDE, HIGH - 16, 13)
    for place, way in enumerate(WAYS):
        x = (NARROW - PANEL) / 2 if narrow else place * (PANEL + 30)
        _panel(sheet, x, place * (HIGH + 20) if narrow else 0, way)
    return sheet


DRAWING = Drawing(
    name="three-looks",
    title="Three ways of looking: above the words that look, below those that they look at.",
    description=(
        "Three panels, each with a row of words that look above a row of words that are looked at, "
        "and the look of one word drawn thick. English looks at English, the encoder's "
        "self-attention: each of “i love you .” looks at all four. French looks back, the "
        "decoder's masked self-attention: whoever is about to write “aime” looks at the start, "
        "at “je” and at “t'”, and at nothing that comes later. French looks at English, "
        "cross-attention: the same word looks at all four English ones."
    ),
    draw=draw,
    two_layouts=True,
)
