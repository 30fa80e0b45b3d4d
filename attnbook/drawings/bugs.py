"""Chapter 16: where attention goes wrong."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet

#: Step, what it does, and what goes wrong there; the room of the museum.
STEPS = (
    ("split into heads", "split by a view, heads tiled", 3),
    ("scores, scaled", "no root, no scale", 1),
    ("mask", "flipped, over the queries", 2),
    ("softmax", "over the queries", 1),
    ("average, merge", "merged by a view", 3),
    ("run it", "dropout in eval, left padding", 4),
)


def bug_map(narrow: bool) -> Sheet:
    """The steps of attention from the top to the bottom, with the bugs of each."""
    height, gap = 40, 30
    sheet = Sheet(NARROW, len(STEPS) * (height + gap) + 6, 13.5)
    for place, (step, bugs, room) in enumerate(STEPS):
        y = 4 + place * (height + gap)
        role = ("query", "key", "weight", "weight", "value", "state")[place]
        sheet.rect(4, y, 122, height, f"d-{role} d-box", 6)
        sheet.text(65, y + height / 2, step)
        if place + 1 < len(STEPS):
            sheet.arrow([(65, y + height + 3), (65, y + height + gap - 3)], "state")
        sheet.text(138, y + 10, f"room {room}", anchor="start", style="d-bold", size=12.5)
        sheet.text(138, y + 30, bugs, anchor="start", size=12.5)
    return sheet


BUG_MAP = Drawing(
    name="bug-map",
    title="Six places where attention goes wrong, and the room of the museum for each.",
    description=(
        "The steps of attention, one below the other, each with its bugs. Split into heads: split "
        "by a view, heads tiled (room 3). Scores, scaled: no root, no scale (room 1). "
        "Mask: flipped, over the queries (room 2). Softmax: over the queries (room 1). Average "
        "and merge: merged by a view (room 3). Run it: dropout in eval, left padding (room 4)."
    ),
    draw=bug_map,
)

REAL, LENGTH = 2, 3
WORDS = ("word 1", "word 2", "pad")


def weights(over_keys: bool) -> list[list[float]]:
    """The weights when all scores are 0, with the padding's mask over the keys or the queries."""
    if over_keys:
        return [[1 / REAL if j < REAL else 0.0 for j in range(LENGTH)] for _ in range(LENGTH)]
    return [[1 / LENGTH] * LENGTH for _ in range(LENGTH)]


def mask_axes(narrow: bool) -> Sheet:
    """Two tables of weights, side by side or one below the other."""
    sheet = Sheet(NARROW, 390, 13.5) if narrow else Sheet(WIDE, 190, 13.5)
    size = 48
    panels = (
        ("over the keys: [:, None, :]", True),
        ("over the queries: [:, :, None]", False),
    )
    for place, (name, over_keys) in enumerate(panels):
        left, y = (84, place * 200) if narrow else (84 + place * 350, 0)
        sheet.text(left, y + 10, name, anchor="start", style="d-bold")
        for j, word in enumerate(WORDS):
            sheet.text(left + j * size + size / 2, y + 32, word, "key", size=12.5)
        for i, (word, row) in enumerate(zip(WORDS, weights(over_keys), strict=True)):
            sheet.text(left - 10, y + 44 + i * size + size / 2, word, "query", anchor="end")
            for j, share in enumerate(row):
                place_ = (left + j * size, y + 44 + i * size, size, size)
                hidden = j >= REAL if over_keys else False
                if hidden:
                    sheet.hidden(*place_)
                else:
                    sheet.cell(*place_, share, f"{share:.2f}", size=12.5)
        says = "padding hidden" if over_keys else "padding seen"
        for line, words in enumerate((says, "rows sum to 1")):
            at = y + 44 + 1.5 * size + 18 * line
            sheet.text(left + LENGTH * size + 12, at, words, anchor="start", size=12.5)
    return sheet


MASK_AXES = Drawing(
    name="mask-axes",
    title="The same padding mask over the keys, which is right, and over the queries.",
    description=(
        "Two tables of weights for two words and one place of padding, all scores 0. With the "
        "mask over the keys, [:, None, :], each row gives 0.50 to each word and nothing to the "
        "padding. With the mask over the queries, [:, :, None], each row gives 0.33 to each of "
        "the three: the padding is seen, and only the padding's own row was masked, which made it "
        "uniform."
    ),
    draw=mask_axes,
    two_layouts=True,
)

TOKENS = ("the", "black", "cat", "sat")


def split(view: bool) -> list[list[str]]:
    """Four words of two features, split into two heads: the features that each head gets."""
    features = [[f"{word}₁", f"{word}₂"] for word in TOKENS]
    if view:
        flat = [feature for word in features for feature in word]
        return [flat[:4], flat[4:]]
    return [[word[head] for word in features] for head in range(2)]


def view_alone(narrow: bool) -> Sheet:
    """Which features of which words each head holds, with and without the transpose."""
    sheet = Sheet(NARROW, 208, 13.5)
    w, h = 70, 32
    for place, (name, view) in enumerate((("view, then transpose", False), ("view alone", True))):
        y = place * 108
        sheet.text(0, y + 10, name, anchor="start", style="d-bold")
        for head, row in enumerate(split(view)):
            top = y + 24 + head * (h + 6)
            sheet.text(0, top + h / 2, f"head {head}", anchor="start", size=12.5)
            for n, feature in enumerate(row):
                sheet.item("query", 56 + n * (w + 1), top, w, h, feature, size=12.5)
    return sheet


VIEW_ALONE = Drawing(
    name="view-alone",
    title="Splitting heads with a view alone gives each head whole words, not a part of each word.",
    description=(
        "Four words of two features each, split into two heads. With a view and a transpose, head "
        "0 holds the first feature of each of the four words and head 1 the second. With a view "
        "alone, head 0 holds both features of the and black, and head 1 those of cat and sat: no "
        "head sees the whole sentence."
    ),
    draw=view_alone,
)
