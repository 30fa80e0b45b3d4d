"""Chapter 02: kernel regression on noisy points, from too narrow a bandwidth to too wide."""

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet, number

BANDWIDTHS = (0.001, 0.01, 0.03, 0.05, 0.1, 0.2, 10)
ASKED = 0.5
"""The place whose value the picture asks for."""

LEFT, TOP, WIDE, TALL = 22.0, 56.0, 300.0, 176.0
LOW, HIGH = -1.1, 2.1


class Run(NamedTuple):
    """The average with one bandwidth: weights of the points, output, curve and its distance."""

    weights: list[float]
    output: float
    curve: list[float]
    distance: float


def truth(x: Tensor) -> Tensor:
    """The curve behind the points."""
    return torch.sin(6 * x) + x


@cache
def measured() -> tuple[Tensor, Tensor]:
    """The chapter's points of seed 0: places (S,) and noisy values (S,)."""
    generator = torch.Generator().manual_seed(0)
    place = torch.rand(30, 1, generator=generator).sort(0).values
    value = truth(place) + 0.3 * torch.randn(30, 1, generator=generator)
    return place[:, 0], value[:, 0]


@cache
def run(bandwidth: float) -> Run:
    """Average the points with a Gaussian kernel."""
    place, value = measured()
    x = torch.linspace(0, 1, 201)

    def weights_at(query: Tensor) -> Tensor:
        return (-(query[:, None] - place).pow(2) / (2 * bandwidth**2)).softmax(-1)

    curve = weights_at(x) @ value
    (weights,) = weights_at(torch.tensor([ASKED]))
    distance = (curve - truth(x)).pow(2).mean().sqrt().item()
    return Run(weights.tolist(), (weights @ value).item(), curve.tolist(), distance)


def _at(x: float, y: float) -> tuple[float, float]:
    return LEFT + WIDE * x, TOP + TALL * (HIGH - y) / (HIGH - LOW)


def frame(bandwidth: float) -> Sheet:
    """The points, each as large as its weight for the query, and the average over all places."""
    sheet, found = Sheet(NARROW, 290, 13), run(bandwidth)
    place, value = measured()
    sheet.text(NARROW / 2, 12, f"bandwidth {number(bandwidth, 3)}", style="d-bold", size=16)
    distance = f"distance to the true curve: {found.distance:.2f}"
    sheet.text(NARROW / 2, 34, distance)
    bottom = TOP + TALL
    sheet.line([(LEFT, TOP), (LEFT, bottom), (LEFT + WIDE, bottom)], style="d-muted")
    for x in (0, 0.5, 1):
        sheet.text(_at(x, 0)[0], bottom + 14, number(x), size=12)
    true = [(x / 40, truth(torch.tensor(x / 40)).item()) for x in range(41)]
    sheet.line([_at(x, y) for x, y in true], style="d-dashed d-muted")
    for x, y, weight in zip(place.tolist(), value.tolist(), found.weights, strict=True):
        if weight >= 0.005:
            sheet.circle(*_at(x, y), 16 * weight**0.5, "d-weight d-veil")
        sheet.circle(*_at(x, y), 2, "d-state d-solid")
    average = [_at(x / 200, y) for x, y in enumerate(found.curve)]
    sheet.line(average[:: 1 if bandwidth < 0.02 else 4], "value", style="d-stream")
    x, y = _at(ASKED, found.output)
    sheet.line([(x, TOP), (x, bottom)], "query", style="d-dashed")
    sheet.circle(x, y, 5, "d-value d-solid")
    sheet.text(x + 6, TOP - 2, "query", "query", size=12, anchor="start")
    row = bottom + 40
    for left, role, name in (
        (14, "value", "average"),
        (118, "weight", "weight"),
        (214, "", "truth"),
    ):
        if role == "weight":
            sheet.circle(left + 12, row, 8, "d-weight d-veil")
        else:
            style = "d-stream" if role else "d-dashed d-muted"
            sheet.line([(left, row), (left + 24, row)], role or None, style=style)
        sheet.text(left + 32, row, name, anchor="start", size=12.5)
    return sheet


DRAWING = Drawing(
    name="bandwidths",
    title="Kernel regression: too narrow copies the nearest point, too wide forgets the question.",
    description=(
        "Seven frames, bandwidths from 0.001 to 10. Thirty noisy points lie about a dashed wave. "
        "Around each point a circle shows its weight for the query at 0.5, and a line the average "
        "over all places. With 0.001 one point has all the weight and the line is a staircase. "
        "With 0.05 a few near the query share it, and the line follows the wave. With 10 all "
        "points have the same weight and the line is flat."
    ),
    draw=lambda narrow: [frame(bandwidth) for bandwidth in BANDWIDTHS],
    says=(
        "One point has all the weight: the average copies it, noise and all. Press Next to widen.",
        "Three points share the weight. The steps get softer.",
        "Now the noise of near points begins to cancel.",
        "A handful of points around the query share the weight.",
        "Further points join in, and the line cuts the top of the wave.",
        "The wave is half gone: far points count nearly as much as near ones.",
        "Every point has the same weight, whatever is asked: the mean of all.",
    ),
)
