"""A hotel porter with a choice of memories: what each keeps of the guests, and what it answers."""

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

import numpy as np
import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine
from attnkit.viz import arrays as inputs
from attnkit.viz.heatmap import heatmap
from attnkit.viz.widget import expect

LABELS = {
    "all": "everything",
    "window": "last 4",
    "best": "best 4",
    "sum": "sum",
    "delta": "delta rule",
    "gated": "gated delta",
}
MEMORIES = tuple(LABELS)
WRITERS = MEMORIES[3:]
"""The memories that keep a matrix."""

_GUESTS = (
    "Ann Ben Cid Dot Eve Fay Gus Hal Ida Jon Kim Lea Max Nia Oda Pam Ray Sue Tom Una Val Wim Xia "
    "Yan Zoe Abe Bea Cal Dee Eli Flo Gil Hua Ivy Jed Kit Lou Mia Nat Ola Pia Quy Ron Sam Tia Uwe "
    "Viv Wyn"
)
NAMES = tuple(_GUESTS.split())
"""Guests that a button adds, in this order."""

FEATURES, ROOMS, BYTES = 8, 10, 2
WINDOW, BEST = 4, 4
MOST, LONGEST = 48, 600
"""Pairs that are heard, and letters of what is said."""

SHARP, AGE, SILENCE = 60.0, 0.15, 45.0
"""Of attention: the scale, what a score loses for each pair told since, the score of silence."""

UNSURE, SAME = 0.2, 1e-9


class Porter(Machine):
    r"""Pairs of a name and a room that the reader types, and a memory to choose.

    The key of a name is a unit vector k of 8 features that its letters choose; the value of a room
    is one-hot, v of 10 numbers. "all" attends to every pair, "window" to the last 4, "best" to the
    4 whose signs agree with the query's in most features. Their softmax has a scale of 60, prefers
    newer pairs a little, and has a score of 45 for saying nothing. The others keep a matrix S, here
    for a key of length 1,

    .. math::
        S_t = S_{t-1} + v_t k_t^\top \qquad
        S_t = \alpha_t S_{t-1} (I - k_t k_t^\top) + v_t k_t^\top

    and answer with S q: "sum" by the first (Katharopoulos et al. 2020, without a feature map);
    "delta" by the second with alpha 1 (Schlag et al. 2021; Yang et al. 2024); "gated" with an alpha
    that is 0 at a slash, where a new day begins, and else 1 (Yang et al. 2025). The answer is the
    largest of the ten numbers, and none where that is under 0.2. "own" is how much of the pair that
    a guest was told last is in the answer: what multiplies its v. At a slash all guests leave;
    `compute` counts who is "gone", and for how many of them the old room is still the answer.
    "Ann" and "ann" are one guest.

    Args:
        said: what the porter hears, such as "Ann 3, Ben 7 / Cid 1". Rooms are digits. A trait, as
            are the next two: set them and the page follows.
        memory: one of `MEMORIES`.
        ask: the place of the guest asked for among those of the last day.
        title, caption: plain text above and below.

    Raises:
        TypeError: no string.
        ValueError: a setting out of range.

    Example:
        >>> porter = Porter("Ann 3, Ben 7", memory="all")
        >>> porter.compute()["answers"], porter.compute()["kept"]
        ([3, 7], 72)
        >>> porter.memory = "sum"
        >>> porter.compute()["kept"]
        160
    """

    _kits = (*Machine._kits, "layers")
    _about = (
        "Nothing is trained: a name's letters choose its key, 8 numbers of length 1. "
        "A number takes two bytes."
    )
    _limits: ClassVar = {
        "said": None,
        "memory": lambda _: list(MEMORIES),
        "ask": lambda _: (0, MOST - 1),
    }

    names = t.List(t.Unicode()).tag(sync=True)
    labels = t.List([list(one) for one in LABELS.items()]).tag(sync=True)  # in this order
    said = t.Unicode("").tag(sync=True)
    memory = t.Unicode("sum").tag(sync=True)
    ask = t.Int(0).tag(sync=True)

    def __init__(
        self,
        said: str = "",
        *,
        memory: str = "sum",
        ask: int = 0,
        names: Sequence[str] = NAMES,
        **texts: str,
    ):
        names = inputs.strings("names", names, len(names))
        super().__init__(names=names, said=said, memory=memory, ask=ask, **texts)

    @t.validate("said")
    def _short_enough(self, proposal):
        fits = len(proposal.value) <= LONGEST
        return expect(proposal, f"at most {LONGEST} letters", fits)

    def heard(self) -> list[tuple[str, int] | None]:
        """The pairs in the order in which they were told; None where a new day begins."""
        found = []
        for name, room in re.findall(r"([^\W\d_]+) ?([0-9])(?![0-9])|/", self.said):
            if name and sum(one is not None for one in found) == MOST:
                break
            found.append((name, int(room)) if name else None)
        return found

    def guests(self) -> dict[str, int]:
        """The guests of the last day, and the room that each was told last."""
        heard = self.heard()
        days = [at + 1 for at, one in enumerate(heard) if one is None]
        return dict(_guests(heard[days[-1] if days else 0 :]).values())

    def gone(self) -> dict[str, int]:
        """The guests of earlier days who are not here today, and the last room of each."""
        here = {name.lower() for name in self.guests()}
        return dict(one for name, one in _guests(self.heard()).items() if name not in here)

    def compute(self) -> dict:
        heard, guests, gone = self.heard(), self.guests(), self.gone()
        pairs = [one for one in heard if one]
        who = (*guests, *gone)
        queries = np.array([key(name) for name in who]).reshape(-1, FEATURES)
        asked = min(self.ask, len(guests) - 1)
        state, shares = np.zeros((0, FEATURES)), np.zeros((len(queries), 0))
        if self.memory in WRITERS:
            state = written(heard, self.memory)
            bars = queries @ state.T  # (guests and gone, rooms)
            own = left(heard, self.memory)
        else:
            shares = looked(queries, pairs, self.memory)
            last = {name.lower(): at for at, (name, _) in enumerate(pairs)}
            own = {name.lower(): shares[at, last[name.lower()]] for at, name in enumerate(who)}
            bars = shares @ np.eye(ROOMS)[[room for _, room in pairs]].reshape(-1, ROOMS)
        answers = [_loudest(row) for row in bars]
        same = [a == b for a, b in zip(answers, (guests | gone).values(), strict=True)]
        return {
            "guests": list(guests),
            "rooms": list(guests.values()),
            "pairs": len(pairs),
            "asked": asked,
            "answers": answers[: len(guests)],
            "right": sum(same[: len(guests)]),
            "own": [float(own[name.lower()]) for name in who],
            "gone": len(gone),
            "left": [*gone],
            "old": [*gone.values()],
            "sent": answers[len(guests) :],
            "stale": sum(same[len(guests) :]),
            "bars": bars[asked].tolist() if guests else [0.0] * ROOMS,
            "shares": shares[asked].tolist() if guests else [],
            "state": state.tolist(),
            **_bytes(self.memory, len(pairs)),
        }

    def figure(self) -> Figure:
        size = np.abs(written(self.heard(), self.memory if self.memory in WRITERS else "sum"))
        return heatmap(
            size / max(size.max(), SAME),
            query_tokens=[f"room {room}" for room in range(ROOMS)],
            key_tokens=[f"feature {feature}" for feature in range(FEATURES)],
            title=self.title or "What is left of the guests",
            vmax=1.0,
        )

    def _words(self) -> str:
        return (
            f"A porter is told {json.dumps(self.said)} and asked for each name; six memories to "
            "choose from, what each keeps, and what it answers."
        )


@lru_cache(4096)
def key(name: str) -> np.ndarray:
    """The key (8,) of a name, of length 1: a hash (Wellons' lowbias32) of its letters."""
    mixed = 0
    for letter in name.lower():
        mixed = _mixed(mixed ^ ord(letter))
    found = np.array([_mixed(mixed + at + 1) for at in range(FEATURES)]) / 2**31 - 1
    return found / np.linalg.norm(found)


def _guests(pairs: list) -> dict[str, tuple[str, int]]:
    """By name in small letters, the name as it was told first and the room told last."""
    found: dict[str, tuple[str, int]] = {}
    for name, room in filter(None, pairs):
        small = name.lower()
        found[small] = (found.get(small, (name,))[0], room)
    return found


def _mixed(x: int) -> int:
    for shift, factor in ((16, 0x21F0AAAD), (15, 0x735A2D97)):
        x = (x ^ (x >> shift)) * factor % 2**32
    return x ^ (x >> 15)


def written(heard: list, rule: str) -> np.ndarray:
    """The state S (rooms, features) that is left after all that was heard."""
    state = np.zeros((ROOMS, FEATURES))
    for one in heard:
        if one is None:
            state = state * (rule != "gated")
            continue
        k, value = key(one[0]), np.eye(ROOMS)[one[1]]
        state = state + np.outer(value - (rule != "sum") * (state @ k), k)
    return state


def left(heard: list, rule: str) -> dict[str, float]:
    """How much of each guest's last pair is in the answer: what multiplies its value."""
    traces: dict[str, np.ndarray] = {}
    for one in heard:
        if one is None:
            traces = {name: trace * (rule != "gated") for name, trace in traces.items()}
            continue
        k = key(one[0])
        if rule != "sum":
            traces = {name: trace - (trace @ k) * k for name, trace in traces.items()}
        traces[one[0].lower()] = k
    return {name: float(trace @ key(name)) for name, trace in traces.items()}


def looked(queries: np.ndarray, pairs: list, memory: str) -> np.ndarray:
    """The shares of all pairs for each query (guests, pairs)."""
    keys, count = np.array([key(name) for name, _ in pairs]).reshape(-1, FEATURES), len(pairs)
    age = np.arange(count)[::-1]
    raised = np.exp(SHARP * queries @ keys.T - AGE * age - SILENCE)  # (guests, pairs)

    def attend(kept: np.ndarray) -> np.ndarray:
        return raised * kept / ((raised * kept).sum(-1, keepdims=True) + 1)

    if memory == "best":
        agreed = np.sign(queries) @ np.sign(keys).T  # (guests, pairs)
        order = np.lexsort((np.broadcast_to(age, agreed.shape), -agreed))
        kept = np.zeros(agreed.shape, bool)
        np.put_along_axis(kept, order[:, :BEST], True, -1)
        return attend(kept)
    return attend(age < WINDOW if memory == "window" else np.ones(count, bool))


def _loudest(bars: np.ndarray) -> int:
    """The room whose bar is longest, the first of equals; -1 where it is too short."""
    most = bars.max()
    return -1 if most < UNSURE else int((bars > most - SAME).argmax())


def _bytes(memory: str, pairs: int) -> dict[str, int]:
    """What a layer keeps, and what it reads for one answer."""
    one, near = (FEATURES + ROOMS) * BYTES, min(pairs, WINDOW)
    state = FEATURES * ROOMS * BYTES
    kept = {"all": one * pairs, "window": one * near}
    # A chosen pair is found by the signs of its key, one byte.
    kept["best"] = (one + 1) * pairs
    read = kept | {"best": pairs + one * min(pairs, BEST)}
    return {"kept": kept.get(memory, state), "read": read.get(memory, state)}
