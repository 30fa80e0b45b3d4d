"""What an explorer holds, in arrays: the twin of `readData` in compute.js."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from attnkit.viz import arrays as inputs


class Frame(NamedTuple):
    """What was recorded at one length."""

    weights: np.ndarray  # float32 (H, L, S)
    mask: np.ndarray | None  # boolean (H, L, S), True may be attended; None where not known
    tokens: tuple[list[str], list[str]] | None  # of queries and keys, where they are its own


@dataclass(frozen=True, eq=False)
class Data:
    """Arrays by head or by length, tokens and names: nothing here changes with the settings."""

    heads: int
    rows: int  # L, of the longest
    names: list[str]  # of the heads
    keys: list[str]
    queries: list[str] | None  # None when they are the keys
    scale: float | None
    raw: np.ndarray | None = None  # scores before the scale, float64 (H, L, S)
    value: np.ndarray | None = None  # float64 (H, S, Ev)
    frames: dict[int, Frame] = field(default_factory=dict)


def read(traits) -> Data:
    """The data in the traits of an explorer."""
    heads, rows, columns = traits.shape[:3]
    value = inputs.stored(traits.value).reshape(heads, columns, -1)
    return Data(
        heads=heads,
        rows=rows,
        names=list(traits.head_names),
        keys=list(traits.key_tokens),
        queries=None if traits.query_tokens is None else list(traits.query_tokens),
        scale=traits.scale,
        raw=_raw_scores(traits, heads, rows, columns),
        value=value if value.size else None,
        frames=_frames(traits, heads),
    )


def _raw_scores(traits, heads: int, rows: int, columns: int) -> np.ndarray | None:
    if traits.kind == "frames":
        return None
    if traits.kind == "scores":
        return inputs.stored(traits.scores).reshape(heads, rows, columns)
    query = inputs.stored(traits.query).reshape(heads, rows, -1)
    key = inputs.stored(traits.key).reshape(heads, columns, -1)
    return query @ key.transpose(0, 2, 1)


def _frames(traits, heads: int) -> dict[int, Frame]:
    weights = np.frombuffer(traits.frames, np.float32)
    bits = np.frombuffer(traits.frame_masks, np.uint8)
    visible = np.unpackbits(bits, bitorder="little").astype(bool) if len(bits) else None
    found, start = {}, 0
    for place, (length, rows, columns) in enumerate(traits.frame_shapes):
        part = slice(start, start + heads * rows * columns)
        own = traits.frame_tokens[place] if traits.frame_tokens else None
        found[length] = Frame(
            weights[part].reshape(heads, rows, columns),
            None if visible is None else visible[part].reshape(heads, rows, columns),
            None if own is None else (list(own[0]), list(own[1])),
        )
        start = part.stop
    return found
