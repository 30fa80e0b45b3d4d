"""Chapter 03b: the mixture of letters that the decoder is given, and what it takes for written."""

from typing import NamedTuple

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet


class Case(NamedTuple):
    """One way of meddling with the second letter of headache, written backwards."""

    says: str
    setting: dict[str, object]  # of the machine, `LieMachine`
    shares: dict[str, float]  # the letters of more weight than 0.03
    last: str  # the letter that it takes for the one it wrote last
    writes: str


CASES = (
    Case("as it is", {}, {"c": 0.05, "h": 0.39, "e": 0.55}, "e", "h"),
    Case("1 and 4: the e is hidden", {"hide": "pointed"}, {"c": 0.10, "h": 0.87}, "e", "h"),
    Case("2: the h is hidden", {"hide": "right"}, {"c": 0.08, "e": 0.91}, "e", "e"),
    Case(
        "3: told that it wrote j", {"lie": "another"}, {"c": 0.05, "h": 0.39, "e": 0.55}, "j", "e"
    ),
)


def draw(narrow: bool) -> Sheet:
    """A row a case: its words, the mixture as a bar, and the letter that is written."""
    pitch, top, long, high = 70, 30, 252, 28
    sheet = Sheet(NARROW, top + pitch * len(CASES) - 4, 13)
    sheet.text(0, 8, "the mixture", anchor="start", style="d-muted")
    sheet.text(NARROW, 8, "it writes", anchor="end", style="d-muted")
    for row, case in enumerate(CASES):
        y, x = top + pitch * row, 0.0
        sheet.text(x, y + 6, case.says, anchor="start", style="d-bold")
        y += 20
        for letter, share in case.shares.items():
            marked, wide = letter == case.last, share * long
            sheet.shape("value", x, y, wide, high, style="d-ghost" if marked else "d-box")
            words = f"{letter} {share:.2f}" if share > 0.3 else letter if share > 0.06 else ""
            sheet.text(x + wide / 2, y + high / 2, words, "value",
                       style="d-off" if marked else "d-bold")  # fmt: skip
            x += wide
        sheet.arrow([(long + 8, y + high / 2), (long + 46, y + high / 2)])
        sheet.text(NARROW - 20, y + high / 2, case.writes, size=19, style="d-bold")
    return sheet


DRAWING = Drawing(
    name="mixture",
    title="Dashed: the letter that it takes for its last one counts for less.",
    description=(
        "Four bars, each the mixture of letters that the decoder is given for the second letter "
        "of headache backwards. As it is: h 0.39 and e 0.55, the e dashed, since it was written "
        "last; it writes h. With the e hidden: h 0.87; it writes h. With the h hidden: e 0.91, "
        "dashed, and a little c; it writes e all the same. Told that it wrote j: h 0.39 and "
        "e 0.55, nothing dashed; it writes e."
    ),
    draw=draw,
)
