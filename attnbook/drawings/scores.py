"""Chapter 04: three ways to score a query against a key, with numbers."""

from collections.abc import Sequence

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet

QUERY, KEY = (2, -1), (1, 1)
GENERAL = ((0, 1), (-1, 0))
CONCAT = ((1, 0, 1, 0), (0, 1, 0, 1))
V = (1, 1)
SCORES = {"dot": "1", "general": "3", "concat": "0.995"}
SUMS = {
    "dot": "2 · 1 + (−1) · 1 = 1",
    "general": "(2, −1) W = (1, 2), so 1 · 1 + 2 · 1 = 3",
    "concat": "tanh(2 + 1) + tanh(−1 + 1) = 0.995",
}

LONG, THIN = 66.0, 28.0


def draw(narrow: bool) -> Sheet:
    """A row a score: the query at the left, the key at the right, what is learned between."""
    sheet = Sheet(NARROW, 400, 13.5) if narrow else Sheet(WIDE, 248, 14.5)
    learned = ("learns nothing", "learns a matrix W", "learns a network")
    for place, (name, what) in enumerate(zip(SCORES, learned, strict=True)):
        sums = SUMS[name]
        if narrow:
            left, y = 0.0, 56 + place * 122.0 + 26 * (name == "concat")
            sheet.text(0, 10 + place * 122.0, name, anchor="start", style="d-bold")
            sheet.text(NARROW, 10 + place * 122.0, what, anchor="end", style="d-muted", size=12.5)
            under = y + (64 if name == "concat" else 44)
            sheet.text(NARROW, under, sums, anchor="end", size=12.5)
        else:
            left, y = 128.0, (32.0, 100.0, 192.0)[place]
            sheet.text(0, y - 9, name, anchor="start", style="d-bold")
            sheet.text(0, y + 10, what, anchor="start", style="d-muted", size=13.5)
            lines = sums.split(", so ")
            for row, line in enumerate(lines):
                at = y + 20 * (row - (len(lines) - 1) / 2)
                sheet.text(left + 354, at, line, anchor="start", size=12.5)
        if name == "concat":
            _column(sheet, "query", left + 14, y - 26, QUERY)
            _column(sheet, "key", left + 14, y + 26, KEY)
            sheet.arrow([(left + 31, y), (left + 46, y)])
            _matrix(sheet, left + 52, y, 84, CONCAT)
            sheet.arrow([(left + 140, y), (left + 156, y)])
            sheet.text(left + 175, y, "tanh", size=13)
            sheet.arrow([(left + 194, y), (left + 210, y)])
            sheet.text(left + 214, y, f"v = {_row_of(V)}", size=13, anchor="start")
            end = 270.0
        else:
            sheet.rect(left + 4, y - THIN / 2, LONG, THIN, "d-query d-box", THIN / 2)
            sheet.text(left + 4 + LONG / 2, y, _row_of(QUERY), "query")
            at = 84.0
            if name == "general":
                _matrix(sheet, left + at, y, LONG, GENERAL)
                at += LONG + 14
            _column(sheet, "key", left + at + 14, y, KEY)
            end = at + 36
        sheet.arrow([(left + end, y), (left + 286, y)])
        sheet.rect(left + 290, y - 13, 50, 26, "d-weight d-box", 1)
        sheet.text(left + 315, y, SCORES[name], "weight", size=12.5)
    return sheet


def _number(value: int) -> str:
    return f"{value}".replace("-", "−")


def _row_of(vector: Sequence[int]) -> str:
    return ", ".join(map(_number, vector))


def _column(sheet: Sheet, role: str, x: float, y: float, vector: Sequence[int]) -> None:
    sheet.rect(
        x - THIN / 2, y - 25, THIN, 50, f"d-{role} d-box", THIN / 2 if role == "query" else 0
    )
    for place, value in enumerate(vector):
        sheet.text(x, y - 11 + 22 * place, _number(value), role)


def _matrix(sheet: Sheet, x: float, y: float, wide: float, rows: Sequence[Sequence[int]]) -> None:
    sheet.rect(x, y - 28, wide, 56, "d-state d-box", 2)
    for place, row in enumerate(rows):
        for column, value in enumerate(row):
            across = x + wide * (column + 0.5) / len(row)
            sheet.text(across, y - 12 + 24 * place, _number(value), "state", size=13)


DRAWING = Drawing(
    name="three-scores",
    title="Three scores of one query and one key: 1, 3 and 0.995.",
    description=(
        "Three rows. Dot: the query, a row (2, −1), times the key, a column (1, 1), gives 1. "
        "General: a learned matrix, (0, 1) over (−1, 0), stands between them, and the score is 3. "
        "Concat: query and key, one above the other, pass through a learned matrix that adds "
        "them, a tanh and a learned vector (1, 1): 0.995."
    ),
    draw=draw,
    two_layouts=True,
)
