"""Chapter 04: three ways to score a query against a key, as shapes."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet

LONG, THIN = 66.0, 22.0


def draw(narrow: bool) -> Sheet:
    """A row a score: the query at the left, the key at the right, what is learned between."""
    sheet = Sheet(NARROW, 316, 13.5)
    for place, (name, learned) in enumerate(
        (("dot", "learns nothing"), ("general", "learns a matrix"), ("concat", "learns a network"))
    ):
        y = 58 + place * 104.0
        sheet.text(0, y - 48, name, anchor="start", style="d-bold")
        sheet.text(NARROW, y - 48, learned, anchor="end", style="d-muted", size=12.5)
        if name == "concat":
            _column(sheet, "query", 40, y - 1, 33)
            _column(sheet, "key", 40, y + 34, 33)
            sheet.arrow([(58, y + 16), (86, y + 16)])
            sheet.rect(92, y - 17, LONG, LONG, "d-state d-box", 2)
            sheet.text(92 + LONG / 2, y + 16, "W", size=13)
            sheet.arrow([(164, y + 16), (188, y + 16)])
            sheet.text(212, y + 16, "tanh", size=13)
            sheet.arrow([(234, y + 16), (254, y + 16)])
            sheet.text(266, y + 16, "v", size=13)
        else:
            _row(sheet, 8, y)
            at = 8 + LONG + 12
            if name == "general":
                sheet.rect(at + 8, y - LONG / 2, LONG, LONG, "d-state d-box", 2)
                sheet.text(at + 8 + LONG / 2, y, "W", size=13)
                at += LONG + 26
            _column(sheet, "key", at + 14, y, LONG)
            sheet.line([(at + 36, y), (280, y)])
        level = y + 16 if name == "concat" else y
        sheet.arrow([(278, level), (300, level)])
        sheet.rect(308, level - 11, 22, 22, "d-weight d-box", 1)
    return sheet


def _row(sheet: Sheet, x: float, y: float) -> None:
    sheet.rect(x, y - THIN / 2, LONG, THIN, "d-query d-box", THIN / 2)
    sheet.text(x + LONG / 2, y, "q", "query")


def _column(sheet: Sheet, role: str, x: float, y: float, high: float) -> None:
    radius = THIN / 2 if role == "query" else 0
    sheet.rect(x - THIN / 2, y - high / 2, THIN, high, f"d-{role} d-box", radius)
    sheet.text(x, y, "q" if role == "query" else "k", role)


DRAWING = Drawing(
    name="three-scores",
    title="Three scores: compare as they are, turn the query first, or ask a small network.",
    description=(
        "Three rows of shapes. Dot: the query, a row, times the key, a column, gives one number. "
        "General: a learned square matrix W stands between them. Concat: query and key, one "
        "above the other, pass through a learned matrix, a tanh and a learned vector v."
    ),
    draw=draw,
)
