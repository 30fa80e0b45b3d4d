"""Chapter 14: the same three matrices, bracketed in two ways."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet

LONG, SHORT = 100.0, 20.0  # L words and D features, to scale with each other


def draw(narrow: bool) -> Sheet:
    """Boxes to scale: the middle product is L by L above, D by D below."""
    sheet = Sheet(NARROW, 392, 13.5)
    sheet.text(0, 10, "(Q Kᵀ) V: first every pair", anchor="start", style="d-bold")
    y = 34.0
    middle = y + LONG / 2
    _box(sheet, "query", 0, y, SHORT, LONG, "Q")
    _box(sheet, "key", 30, middle - SHORT / 2, LONG, SHORT, "Kᵀ")
    sheet.arrow([(142, middle), (160, middle)])
    _box(sheet, "weight", 168, y, LONG, LONG, "L × L")
    sheet.text(284, middle, "×")
    _box(sheet, "value", 296, y, SHORT, LONG, "V")
    sheet.text(220, y + LONG + 16, "grows with L²", "weight", size=12.5)

    y = 226.0
    middle = y + LONG / 2
    sheet.text(0, y - 30, "Q (Kᵀ V): first the sum", anchor="start", style="d-bold")
    _box(sheet, "key", 0, middle - SHORT / 2, LONG, SHORT, "Kᵀ")
    _box(sheet, "value", 112, y, SHORT, LONG, "V")
    sheet.arrow([(142, middle), (160, middle)])
    sheet.text(178, middle, "Q ×", "query")
    _box(sheet, "state", 204, middle - SHORT / 2, SHORT, SHORT, "")
    sheet.text(214, middle + 26, "D × D", size=12.5)
    sheet.text(214, middle + 44, "the same for any L", size=12.5)
    sheet.text(214, middle - 26, "the state", size=12.5)
    said = "Allowed only when no softmax stands between."
    sheet.text(0, 362, said, anchor="start", style="d-muted", size=12.5)
    sheet.text(
        0,
        381,
        "L words, D features; here L is five times D",
        anchor="start",
        style="d-muted",
        size=12.5,
    )
    return sheet


def _box(sheet: Sheet, role: str, x: float, y: float, w: float, h: float, words: str) -> None:
    sheet.rect(x, y, w, h, f"d-{role} d-box", 2)
    sheet.text(x + w / 2, y + h / 2, words, role, size=12.5)


DRAWING = Drawing(
    name="brackets",
    title="Moving one bracket replaces a table of all pairs by a state of fixed size.",
    description=(
        "Matrices drawn to scale. Above, Q times K transposed first: a square of L by L, which "
        "is then multiplied with V. Below, K transposed times V first: a small square of D by D, "
        "which Q then reads. The result is the same when no softmax stands between; the second "
        "way never makes the large square."
    ),
    draw=draw,
)
