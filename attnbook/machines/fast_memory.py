"""A small fast memory and a large slow one: the tile that fits, and the bytes that cross."""

from typing import ClassVar

import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine
from attnkit.guard import checks
from attnkit.viz.heatmap import plain_axes

LENGTHS = [2**power for power in range(8, 18)]
FAST = [2**power for power in range(4, 13)]
"""Sizes of the fast memory, in KiB."""

WIDTHS, BITS = [64, 128], [32, 16]


class FastMemory(Machine):
    r"""The bytes between slow and fast memory for one head of attention, whole and in tiles.

    Whole, queries, keys, values and the output cross once, and the table four times: the scores are
    written and read, and so are the weights. In tiles of t by t the table never crosses, but keys
    and values are fetched again for each block of t queries:

    .. math:: 4 L E + 4 L^2 \quad\text{against}\quad 2 L E + 2 L E\,L / t

    numbers. The side t is the largest power of two at which a block each of queries, keys, values
    and output and the tile of scores fit together.

    Args:
        length: tokens, a power of two from 256 to 131,072. A trait, as are the next three.
        fast: KiB of fast memory, a power of two from 16 to 4,096.
        width: features of a head, 64 or 128.
        bits: of a number, 32 or 16.
        title, caption: plain text above and below.

    Raises:
        ValueError: a setting that is none of these.

    Example:
        >>> memory = FastMemory(length=2048, fast=256, width=64, bits=32)
        >>> now = memory.compute()
        >>> now["side"], now["whole"] / 2**20, now["tiles"] / 2**20
        (128, 66.0, 17.0)
    """

    _about = "Counted: no cache between the two, no mask, and one head alone."
    _limits: ClassVar = {
        "length": lambda _: LENGTHS,
        "fast": lambda _: FAST,
        "width": lambda _: WIDTHS,
        "bits": lambda _: BITS,
    }

    choices = t.Dict().tag(sync=True)
    length = t.Int(2048).tag(sync=True)
    fast = t.Int(256).tag(sync=True)
    width = t.Int(64).tag(sync=True)
    bits = t.Int(32).tag(sync=True)

    def __init__(
        self, *, length: int = 2048, fast: int = 256, width: int = 64, bits: int = 32, **texts: str
    ):
        super().__init__(
            choices={"length": LENGTHS, "fast": FAST, "width": WIDTHS, "bits": BITS},
            length=checks.integer("length", length),
            fast=checks.integer("fast", fast),
            width=checks.integer("width", width),
            bits=checks.integer("bits", bits),
            **texts,
        )

    def compute(self) -> dict:
        """The side of a tile, bytes both ways, operations for each of them, and whether the whole
        table would fit the fast memory."""
        L, E, size = self.length, self.width, self.bits // 8
        room = 1024 * self.fast // size
        side = 1
        while side < L and (2 * side) ** 2 + 4 * 2 * side * E <= room:
            side *= 2
        whole = size * (4 * L * E + 4 * L * L)
        tiles = size * (2 * L * E + 2 * L * E * (L // side))
        operations = 4 * L * L * E
        return {
            "side": side,
            "used": size * (side**2 + 4 * side * E),
            "table": size * L * L,
            "whole": whole,
            "tiles": tiles,
            "intensity": [operations / whole, operations / tiles],
        }

    def figure(self) -> Figure:
        figure, ax = plain_axes((6.4, 1.8), self.title or "Bytes between slow and fast memory")
        now = self.compute()
        ax.barh(["tiles", "whole"], [now["tiles"] / 2**20, now["whole"] / 2**20])
        ax.set_xlabel("MiB")
        return figure

    def _words(self) -> str:
        return (
            "The table of scores of one head, the tile of it that fits a fast memory, and the "
            "bytes that cross to slow memory and back, with the whole table and in tiles."
        )
