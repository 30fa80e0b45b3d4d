"""Chapter 09: where cross-attention takes its queries, its keys and its values from."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet

SOURCE, WRITTEN = ("the", "black", "cat"), ("le", "chat", "noir", "(end)")
WEIGHTS = (
    (0.80, 0.00, 0.20),
    (0.05, 0.02, 0.93),
    (0.01, 0.90, 0.09),
    (0.21, 0.73, 0.05),
)
"""Of the chapter's trained Transformer, last decoder layer, mean over its heads."""


def draw(narrow: bool) -> Sheet:
    """Keys and values come in from the left, queries from below; the weights lie between."""
    sheet = Sheet(NARROW, 330, 13.5)
    left, size, high, top = 132, 66, 42, 112
    sheet.text(left + 1.5 * size, 10, "from the encoder's last layer", style="d-bold", size=13)
    sheet.arrow([(left + 1.5 * size, 20), (left + 1.5 * size, 36)])
    for j, word in enumerate(SOURCE):
        sheet.item("key", left + j * size + 2, 40, size - 4, 26, "key", size=12.5)
        sheet.item("value", left + j * size + 2, 70, size - 4, 26, "value", size=12.5)
        sheet.text(left + j * size + size / 2, top + len(WRITTEN) * high + 14, word)
    for i, (word, row) in enumerate(zip(WRITTEN, WEIGHTS, strict=True)):
        y = top + i * high
        sheet.item("query", left - 66, y + 7, 58, 28, "query", size=12.5)
        sheet.text(left - 74, y + high / 2, word, anchor="end")
        for j, weight in enumerate(row):
            x = left + j * size
            sheet.cell(x, y, size, high, weight, f"{weight:.2f}", size=13)
    for row, line in enumerate(("from the decoder:", "one query for each", "word to be written")):
        style = "" if row else "d-bold"
        sheet.text(0, 52 + 17 * row, line, anchor="start", style=style, size=12.5)
    once = "keys and values: made once a layer"
    sheet.text(left + 1.5 * size, top + 4 * high + 40, once, style="d-muted", size=12)
    return sheet


DRAWING = Drawing(
    name="cross-attention",
    title="Cross-attention: the decoder asks, and the encoder's output answers.",
    description=(
        "A table of weights. Its rows are queries, one for each word that the decoder is about to "
        "write: le, chat, noir, end. Its columns are keys, with their values, made from what the "
        "encoder gave for the, black, cat. The largest weight of le is on the, 0.80, of chat on "
        "cat, 0.93, of noir on black, 0.90, and of the end on black, 0.73."
    ),
    draw=draw,
)
