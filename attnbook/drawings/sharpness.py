"""The exercises of chapter 05: rows of weights as bars, sharper or flatter."""

import math
from collections.abc import Sequence
from functools import partial

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.lookup import FIRST_QUERY
from attnbook.drawings.sheet import NARROW, Sheet

TEMPERATURES = (0.5, 2, 8)


def at_temperature(products: Sequence[float], temperature: float) -> list[float]:
    """The softmax of the products divided by a temperature."""
    shares = [math.exp(product / temperature) for product in products]
    return [share / sum(shares) for share in shares]


def draw(rows: dict[str, Sequence[float]], notes: Sequence[str], narrow: bool) -> Sheet:
    """Each row as columns of weights beside each other, its name above, a note at its right."""
    sheet, high = Sheet(NARROW, 128 * len(rows), 13.5), 66
    for place, ((name, weights), note) in enumerate(zip(rows.items(), notes, strict=True)):
        top, step = 128 * place, NARROW / len(weights)
        sheet.text(0, top + 10, name, anchor="start", style="d-bold")
        sheet.text(NARROW, top + 10, note, anchor="end", style="d-muted")
        for at, weight in enumerate(weights):
            x, full = at * step + 3, weight * high
            sheet.rect(x, top + 24, step - 6, high, "d-weight d-track", 1)
            if full > 0:
                sheet.rect(x, top + 24 + high - full, step - 6, full, "d-weight d-solid", 1)
            sheet.text(x + step / 2 - 3, top + 34 + high, f"{weight:.2f}", "weight", size=12.5)
    return sheet


TEMPERATURE_DRAWING = Drawing(
    name="one-row-three-temperatures",
    title="The same three scores at three temperatures: the order stays, the shares do not.",
    description=(
        "The first query of the example, whose dot products are 4, 2 and 0, divided by three "
        "temperatures. At 0.5 the first key has 0.98 of the weight. At 2, which is the root of "
        "its four features, the weights are 0.67, 0.24 and 0.09. At 8 they are 0.42, 0.33 and "
        "0.25: nearly even. The first key always comes first."
    ),
    draw=partial(
        draw,
        {f"T = {t:g}": at_temperature(FIRST_QUERY.products, t) for t in TEMPERATURES},
        ("nearly a hard lookup", "√4, the scale of this chapter", "nearly an average"),
    ),
)
