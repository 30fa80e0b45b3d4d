"""Chapters 06 and 14: what may be seen, as patterns."""

from collections.abc import Callable

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet

Rule = Callable[[int, int], bool]


def grid(
    sheet: Sheet, x: float, y: float, size: float, rows: int, columns: int, rule: Rule
) -> None:
    """A mask: full where query i may attend to key j, struck through where it may not."""
    for i in range(rows):
        for j in range(columns):
            if rule(i, j):
                sheet.rect(x + j * size, y + i * size, size, size, "d-weight-4 d-cell")
            else:
                sheet.hidden(x + j * size, y + i * size, size, size)


QUERIES, KEYS = 2, 5
OFFSETS = {"upper left": 0, "lower right": 3}


def corners(narrow: bool) -> Sheet:
    """The same two queries and five keys, the triangle in one corner and in the other."""
    sheet = Sheet(NARROW, 124, 13.5)
    size, first, top = 24, 62, 46
    for place, (corner, offset) in enumerate(OFFSETS.items()):
        left = first + place * (KEYS * size + 34)
        middle = left + KEYS * size / 2
        sheet.text(middle, 10, corner, style="d-bold")
        for key in range(KEYS):
            sheet.text(left + (key + 0.5) * size, 34, str(key), "key")
        grid(sheet, left, top, size, QUERIES, KEYS, lambda i, j, k=offset: j <= i + k)
        sheet.text(middle, top + QUERIES * size + 16, f"offset {offset}", style="d-muted")
    for query in range(QUERIES):
        level = top + (query + 0.5) * size
        sheet.text(first - 10, level, f"word {KEYS - QUERIES + query}", "query", anchor="end")
    return sheet


CORNERS = Drawing(
    name="causal-corners",
    title="The last two of five words ask: a causal mask can start in either of two corners.",
    description=(
        "Two masks for the last two of five words, words 3 and 4. From the upper left, offset 0, "
        "word 3 may see word 0 alone and word 4 words 0 and 1. From the lower right, offset 3, "
        "word 3 may see words 0 to 3 and word 4 all five. Only the second is what a causal model "
        "needs."
    ),
    draw=corners,
)

FIVE = (
    ("padding of 2", "padding([6], 8)", 4),
    ("causal", "causal(8)", 4),
    ("window of 3", "sliding_window(8, window=3)", 4),
    ("prefix of 3", "prefix(8, 3)", 1),
    ("two documents", "blocks(document)", 4),
    ("both, causal", "blocks(document) & causal(8)", 4),
)
"""What a mask is called, the call that makes it, and the query that the drawing points out."""

DOCUMENT = (0, 0, 0, 1, 1, 1, 1, 1)
FIVE_RULES: tuple[Rule, ...] = (
    lambda i, j: j < 6,
    lambda i, j: j <= i,
    lambda i, j: i - 3 < j <= i,
    lambda i, j: j <= i or j < 3,
    lambda i, j: DOCUMENT[i] == DOCUMENT[j],
    lambda i, j: DOCUMENT[i] == DOCUMENT[j] and j <= i,
)


def five(narrow: bool) -> Sheet:
    """Six panels; in each, one query's row is framed and the keys that it sees are named."""
    sheet = Sheet(NARROW, 726, 13.5) if narrow else Sheet(WIDE, 500, 14)
    across, size = (2, 16.5) if narrow else (3, 19.0)
    n = len(DOCUMENT)
    pitch = sheet.width / across
    for place, ((name, call, query), rule) in enumerate(zip(FIVE, FIVE_RULES, strict=True)):
        x = place % across * pitch + (pitch - n * size) / 2
        y = place // across * (244.0 if narrow else 254.0)
        middle = x + n * size / 2
        sheet.text(middle, y + 9, name, style="d-bold")
        top = y + 40
        for key in range(n):
            style = "" if rule(query, key) else "d-muted"
            role = "key" if rule(query, key) else None
            sheet.text(x + (key + 0.5) * size, top - 10, str(key), role, size=12, style=style)
        grid(sheet, x, top, size, n, n, rule)
        sheet.rect(x, top + query * size, n * size, size, "d-query d-thickframe", 2)
        sheet.text(x - 8, top + (query + 0.5) * size, str(query), "query", anchor="end", size=12)
        seen = [key for key in range(n) if rule(query, key)]
        span = f"{seen[0]} {'and' if len(seen) == 2 else 'to'} {seen[-1]}"
        below = top + n * size + 16
        sheet.text(middle, below, f"query {query} sees {span}", size=12.5)
        lines = call.split(" & ") if narrow else [call]
        for row, line in enumerate(lines):
            words = line if row == 0 else f"& {line}"
            sheet.text(middle, below + 18 + 16 * row, words, style="d-muted", size=11.5)
    return sheet


FIVE_MASKS = Drawing(
    name="five-masks",
    title="Five masks and a combination, as calls of attnkit.masks: each is a rule about a query "
    "and a key.",
    description=(
        "Six tables of eight queries by eight keys, counted from 0. Padding leaves the first six "
        "columns; query 4 sees keys 0 to 5. Causal leaves the lower triangle; query 4 sees 0 to "
        "4. A window of three leaves a band that ends at the diagonal; query 4 sees 2 to 4. A "
        "prefix of three leaves the lower triangle and the whole of the first three columns; "
        "query 1 sees 0 to 2. Two documents leave two squares on the diagonal, of three and of "
        "five; query 4 sees 3 to 7. Both rules, documents and causal, leave the lower triangles "
        "of these squares; query 4 sees 3 and 4."
    ),
    draw=five,
    two_layouts=True,
)

LENGTH, WINDOW, BLOCK = 12, 4, 2


def causal(i: int, j: int) -> bool:
    """Itself and what came before."""
    return j <= i


def window(i: int, j: int) -> bool:
    """The last four, itself among them."""
    return i - WINDOW < j <= i


def blocks(i: int, j: int) -> bool:
    """Of blocks of two: its own, the one before, and the very first."""
    own, other = i // BLOCK, j // BLOCK
    return j <= i and (own - other < 2 or other == 0)


def patterns(narrow: bool) -> Sheet:
    """Four panels: full, window, blocks, and linear attention, which reads a state instead."""
    sheet = Sheet(NARROW, 416, 13.5) if narrow else Sheet(WIDE, 206, 14.5)
    size = 12.5
    wide = LENGTH * size
    panels = (("full, causal", causal), ("window of 4", window), ("blocks of 2", blocks))
    for place, (name, rule) in enumerate((*panels, ("linear", None))):
        column, row = (place % 2, place // 2) if narrow else (place, 0)
        x = column * (NARROW - wide) if narrow else place * (WIDE - wide) / 3
        y = row * 206.0
        sheet.text(x + wide / 2, y + 9, name, style="d-bold")
        if rule is not None:
            grid(sheet, x, y + 24, size, LENGTH, LENGTH, rule)
            seen = sum(rule(i, j) for i in range(LENGTH) for j in range(LENGTH))
            sheet.text(x + wide / 2, y + 24 + wide + 14, f"{seen} pairs", "weight", size=13)
            continue
        top, gap = y + 24, wide / LENGTH
        sheet.item("state", x + wide / 2 - 40, top + 58, 80, 40, "state")
        for place in range(LENGTH):
            centre = x + (place + 0.5) * gap
            sheet.rect(centre - 4.5, top, 9, 12, "d-key d-box", 1)
            end = x + wide / 2 - 34 + 68 * place / (LENGTH - 1)
            sheet.line([(centre, top + 13), (end, top + 57)], "key", style="d-thin")
        sheet.arrow([(x + wide / 2, top + 98), (x + wide / 2, top + 126)], "state")
        sheet.text(x + wide / 2, top + 138, "read at every word", "query", size=13)
        sheet.text(x + wide / 2, y + 24 + wide + 14, "12 words, one state", size=13)
    return sheet


PATTERNS = Drawing(
    name="patterns",
    title="Full attention, a window and blocks compare pairs; linear attention reads a state.",
    description=(
        "Four tables of 12 queries by 12 keys. Full causal attention fills the lower triangle, "
        "78 pairs. A window of 4 keeps a band of 42 pairs along the diagonal. Blocks of 2 keep "
        "each block's own triangle, the block before it and the first one: 54 pairs. Linear "
        "attention compares no pairs: twelve words lead into one state, which is read at every "
        "word."
    ),
    draw=patterns,
    two_layouts=True,
)

READ, ASKED = ("start", "le", "chat", "noir"), ("le", "chat", "noir", "end")

WEIGHTS = {
    "no mask": (
        (0.00, 0.99, 0.01, 0.00),
        (0.00, 0.00, 1.00, 0.00),
        (0.00, 0.00, 0.00, 1.00),
        (0.97, 0.03, 0.00, 0.00),
    ),
    "causal mask": (
        (1.00, 0.00, 0.00, 0.00),
        (0.26, 0.74, 0.00, 0.00),
        (0.06, 0.12, 0.82, 0.00),
        (0.04, 0.04, 0.43, 0.50),
    ),
}
"""Of the chapter's two writers, each under the mask that it was trained with."""

CHANCES = {"no mask": (1.00, 1.00, 1.00, 1.00), "causal mask": (0.05, 0.05, 0.05, 0.33)}
"""What each gives to the answer of a row."""


def one_pass(narrow: bool) -> Sheet:
    """Two tables, without a mask and with one: whom a row looks at, and what it must name."""
    sheet = Sheet(NARROW, 520, 14) if narrow else Sheet(WIDE, 248, 14)
    size, left = 42, 46
    for place, (name, rows) in enumerate(WEIGHTS.items()):
        x, y = (0.0, place * 270.0) if narrow else (place * (WIDE - NARROW), 0.0)
        x += left
        head = "it reads the answer" if place == 0 else "it has to guess"
        sheet.text(x - left, y + 9, f"{name}: {head}", anchor="start", style="d-bold")
        top = y + 58
        sheet.text(x + 2 * size, y + 34, "looks at", "key", size=12.5)
        sheet.text(x - 8, top - 10, "reads", "query", anchor="end", size=12.5)
        sheet.text(x + 4 * size + 44, y + 34, "must name", "value", size=12.5)
        sheet.text(x + 4 * size + 44, top - 10, "next", "value", size=12.5)
        sheet.text(x + 4 * size + 100, top - 10, "chance", size=12.5)
        for i, (word, asked, chance) in enumerate(zip(READ, ASKED, CHANCES[name], strict=True)):
            level = top + i * size
            sheet.text(x + (i + 0.5) * size, top - 10, word, "key", size=12.5)
            sheet.text(x - 8, level + size / 2, word, "query", anchor="end", size=12.5)
            for j, weight in enumerate(rows[i]):
                if place == 1 and j > i:
                    sheet.hidden(x + j * size, level, size, size)
                else:
                    cell = f"{weight:.2f}" if weight else ""
                    sheet.cell(x + j * size, level, size, size, weight, cell, size=12)
            if i + 1 < len(READ):
                at = x + (i + 1) * size
                sheet.rect(at + 2, level + 2, size - 4, size - 4, "d-value d-thickframe")
            sheet.item("value", x + 4 * size + 14, level + 7, 60, size - 14, asked, size=13)
            sheet.text(x + 4 * size + 100, level + size / 2, f"{chance:.2f}", size=13)
        legend = "green frame: the answer of the row, "
        legend += "in view" if place == 0 else "hidden"
        sheet.text(x - left, top + 4 * size + 14, legend, "value", anchor="start", size=12.5)
    return sheet


ONE_PASS = Drawing(
    name="one-pass",
    title="Without a mask each row finds its answer in the next column. With one it has to guess.",
    description=(
        "Two tables of weights for one sentence, start, le, chat, noir, from two trained models. A "
        "row is a word that looks, a column a word that is looked at; the rows must name le, chat, "
        "noir and end. Without a mask the first three rows put 0.99, 1.00 and 1.00 on the column "
        "of their own answer, framed in green, and the chances of the answers are 1.00. With the "
        "causal mask the cells beyond the diagonal are struck through, the framed ones among them. "
        "The rows spread their weight over what came before, and the chances are 0.05, 0.05, 0.05 "
        "and 0.33."
    ),
    draw=one_pass,
    two_layouts=True,
)


def _looks_back(sheet: Sheet, start: float, end: float, y: float) -> None:
    """A line under the words, from the one that looks to the one that it looks at."""
    sheet.arrow([(start, y), (start, y + 29), (end, y + 29), (end, y)], "query")


def copying(narrow: bool) -> Sheet:
    """The same four questions with the answers in view, and then one word that has none.

    A row with nothing to copy looks back at the start.
    """
    sheet = Sheet(NARROW, 384, 14) if narrow else Sheet(WIDE, 186, 14)
    w, gap = 76, 12
    xs = [place * (w + gap) + w / 2 for place in range(len(READ))]
    sheet.text(0, 8, "in training: the answer is in view", anchor="start", style="d-bold")
    for x, word, asked in zip(xs, READ, ASKED, strict=True):
        sheet.item("state", x - w / 2, 118, w, 32, word)
        sheet.item("value", x - w / 2, 26, w, 32, asked)
    for x, answer in zip(xs[1:], xs, strict=False):
        sheet.arrow([(x - 10, 115), (answer + 12, 62)], "weight", style="d-thick")
        sheet.text((x + answer) / 2 - 22, 100, "copy", "weight", style="d-halo", size=12.5)
    sheet.text(xs[-1], 78, "nothing", size=12.5)
    sheet.text(xs[-1], 94, "after it", size=12.5)
    back = f"nothing to copy: {WEIGHTS['no mask'][-1][0]:.2f} on start"
    _looks_back(sheet, xs[-1], xs[0], 153)
    sheet.text(sum(xs) / len(xs), 168, back, "query", size=12.5)
    left, y = (0, 200) if narrow else (WIDE - NARROW, 0)
    xs = [x + left for x in xs]
    sheet.text(left, y + 8, "when it writes: nothing is", anchor="start", style="d-bold")
    sheet.item("state", xs[0] - w / 2, y + 118, w, 32, READ[0])
    sheet.item("value", xs[0] - w / 2, y + 26, w, 32, ASKED[-1])
    sheet.text(xs[0], y + 78, "nothing", size=12.5)
    sheet.text(xs[0], y + 94, "after it", size=12.5)
    for x in xs[1:]:
        sheet.rect(x - w / 2, y + 118, w, 32, "d-ghost", 3)
    sheet.text(xs[2], y + 86, "so the sentence is over", size=13)
    _looks_back(sheet, xs[0] + 16, xs[0] - 16, y + 153)
    says = "start is all there is to look at"
    sheet.text(xs[0] + 28, y + 168, says, "query", anchor="start", size=12.5)
    return sheet


COPYING = Drawing(
    name="copy-or-stop",
    title="Copy the next word; where there is none, the sentence is over.",
    description=(
        "Two panels. In training, four words are read, start, le, chat, noir, and four are to be "
        "named, le, chat, noir, end. Thick arrows marked copy lead from le, chat and noir to the "
        "same words among the answers. The last answer, end, has no arrow: nothing comes after "
        f"noir, which looks back at start, with a weight of {WEIGHTS['no mask'][-1][0]:.2f}. When "
        "it writes, it has read start alone; nothing comes after that either, and start is all "
        "there is to look at. Its answer is end."
    ),
    draw=copying,
    two_layouts=True,
)
