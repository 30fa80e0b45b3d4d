"""One text on several devices: queries stay, keys and values travel round a ring."""

from typing import Any, ClassVar

import numpy as np
import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine, softmax
from attnkit.viz.heatmap import plain_axes
from attnlab.parallel.placement import shards

CHUNKS = 16
"""Into so many chunks the text is cut, whatever the number of devices."""

COUNTS = [1, 2, 4, 8]
LENGTHS = [8192, 32768, 131072, 262144, 1048576]
LINKS = {
    450: "NVLink: 450 GB/s",
    50: "400-gigabit: 50 GB/s",
    12.5: "100-gigabit: 12.5 GB/s",
}
"""GB that one device sends in a second, and what the page calls it."""

GROUPS = {32: "32, one for each head", 8: "8, four heads share", 1: "1, all heads share"}

SHAPE = {
    "layers": 32,
    "heads": 32,
    "head": 128,  # features
    "weights": 16e9,  # bytes
    "memory": 80e9,  # bytes
    "flops": 989e12,  # a second, 16 bits
}
"""Llama 3.1 8B in 16 bits on an H100."""

SAME = 1.000001


class RingMachine(Machine):
    r"""Attention over a text that several devices share, as `attnlab.parallel.ring_attention` does.

    Each device has the queries of its part of the text; the parts of keys and values go round. A
    step takes as long as its slowest device, or as the message that travels meanwhile: a device
    computes 4HE operations for a pair of tokens that it sees, H heads of E features, and sends
    2 * 2GE bytes a token with G heads of keys and values. In 16 chunks of one token the outputs are
    computed as well, part by part, joined by their logsumexps.

    Args:
        devices: how many share the text, of `COUNTS`. A trait, as are the next six: set them and
            the page follows.
        tokens: length of the text, of `LENGTHS`.
        link: GB that a device sends in a second, of `LINKS`.
        kv_heads: heads of keys and values, of `GROUPS`.
        zigzag: an early chunk and a late one for each, in place of one stretch.
        causal: whether a query sees only keys up to its own.
        step: of the ring, from 0; beyond the last it is the last.
        title, caption: plain text above and below.

    Raises:
        ValueError: a setting that does not fit.

    Example:
        >>> ring = RingMachine(devices=4)
        >>> now = ring.compute()
        >>> now["bound"], round(now["speed"], 2)
        ('uneven', 2.29)
        >>> ring.zigzag = True
        >>> round(ring.compute()["speed"], 2)
        4.0
    """

    _kits = (*Machine._kits, "layers")
    _about = (
        "Times are worked out from the peaks of an H100 and of the link, not measured, for the "
        "shape of Llama 3.1 8B. The outputs are computed: those of a text of 16 tokens, one a row."
    )
    _limits: ClassVar = {
        "devices": lambda _: COUNTS,
        "tokens": lambda _: LENGTHS,
        "link": lambda _: list(LINKS),
        "kv_heads": lambda _: list(GROUPS),
        "zigzag": None,
        "causal": None,
        "step": lambda _: (0, max(COUNTS) - 1),
    }

    shape = t.Dict(SHAPE).tag(sync=True)
    query = t.List().tag(sync=True)
    key = t.List().tag(sync=True)
    value = t.List().tag(sync=True)
    places = t.Dict().tag(sync=True)  # by devices: of stretches, of zigzag
    counts = t.List(COUNTS).tag(sync=True)
    lengths = t.List(LENGTHS).tag(sync=True)
    links = t.List([list(one) for one in LINKS.items()]).tag(sync=True)
    groups = t.List([list(one) for one in GROUPS.items()]).tag(sync=True)
    devices = t.Int(4).tag(sync=True)
    tokens = t.Int(1048576).tag(sync=True)
    link = t.Float(450).tag(sync=True)
    kv_heads = t.Int(8).tag(sync=True)
    zigzag = t.Bool(False).tag(sync=True)
    causal = t.Bool(True).tag(sync=True)
    step = t.Int(0).tag(sync=True)

    def __init__(self, **rest: Any):
        some = np.random.default_rng(0)
        query, key = some.normal(size=(2, CHUNKS, 2)).round(2).tolist()
        value = some.integers(1, 10, CHUNKS).tolist()
        places = {str(n): [owners(n, z) for z in (False, True)] for n in COUNTS}
        super().__init__(places=places, query=query, key=key, value=value, **rest)

    def compute(self) -> dict:
        devices, shape = self.devices, self.shape
        held = np.array(self.places[str(devices)][self.zigzag])
        at = min(self.step, devices - 1)
        shares = np.tri(CHUNKS) - np.eye(CHUNKS) / 2 if self.causal else np.ones((CHUNKS, CHUNKS))
        met = (held[:, None] - held) % devices  # (queries, keys): at which step
        work = [
            [float(shares[(met == step) & (held == d)[:, None]].sum()) for d in range(devices)]
            for step in range(devices)
        ]
        pair = 4 * shape["heads"] * shape["head"] / shape["flops"]
        busy = np.array(work) * pair * (self.tokens / CHUNKS) ** 2  # (steps, devices), seconds
        part = 4 * self.kv_heads * shape["head"] * self.tokens / devices  # bytes
        send, slowest = part / self.link / 1e9, busy.max(1)
        times = np.maximum(slowest, [send] * (devices - 1) + [0])
        total, alone = times.sum(), busy.sum()
        kept, passing = shape["layers"] * part, 2 * part if devices > 1 else 0.0
        need = shape["weights"] + kept + passing
        bound = "arithmetic"
        if total > slowest.sum() * SAME:
            bound = "link"
        elif slowest.sum() * devices > alone * SAME:
            bound = "uneven"
        return {
            "at": at,
            "held": held.tolist(),
            "met": met.tolist(),
            "busy": busy.tolist(),
            "times": times.tolist(),
            "total": float(total),
            "speed": float(alone / total),
            "idle": (1 - busy.sum(0) / total).tolist(),
            "bound": bound,
            "send": send,
            "sent": (devices - 1) * part,
            "kept": kept,
            "passing": passing,
            "need": need,
            "fits": need <= shape["memory"],
            "outputs": self.outputs(met, at + 1),
            "whole": self.outputs(0 * met, 1),
        }

    def outputs(self, met: np.ndarray, steps: int) -> list[float]:
        """The outputs of 16 tokens after so many steps, where `met` says when a query meets a key:
        found step by step, and joined by their logsumexps."""
        query, key, value = map(np.array, (self.query, self.key, self.value))
        scores = query @ key.T / query.shape[1] ** 0.5
        seen = np.tri(CHUNKS, dtype=bool) if self.causal else np.ones_like(scores, dtype=bool)
        found, log = np.zeros(CHUNKS), np.full(CHUNKS, -np.inf)
        for step in range(steps):
            for i, here in enumerate(seen & (met == step)):
                if here.any():
                    came = softmax(scores[i, here]) @ value[here]
                    other = np.logaddexp.reduce(scores[i, here])
                    share = 1 / (1 + np.exp(log[i] - other))
                    found[i] += share * (came - found[i])
                    log[i] = np.logaddexp(log[i], other)
        return found.tolist()

    def figure(self) -> Figure:
        figure, ax = plain_axes((6.4, 2.6), self.title or "One text on several devices")
        now = self.compute()
        starts = np.cumsum([0, *now["times"]])
        for step, row in enumerate(now["busy"]):
            ax.barh(range(self.devices), row, left=starts[step], color="#1f4fc4", edgecolor="white")
        ax.set(xlabel="seconds of one layer", ylabel="device", yticks=range(self.devices))
        ax.invert_yaxis()
        return figure

    def _words(self) -> str:
        return (
            "A text that 1 to 8 devices share, in stretches or in zigzag: which tiles of scores "
            "each computes at which step, who waits for what, and what each keeps and sends."
        )


def owners(devices: int, zigzag: bool) -> list[int]:
    """The device that has each of the 16 chunks."""
    placed = shards(CHUNKS, devices, zigzag=zigzag)
    return [next(d for d, held in enumerate(placed) if any(c in one for one in held))
            for c in range(CHUNKS)]  # fmt: skip
