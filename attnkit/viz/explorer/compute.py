"""What an explorer shows for given settings: in numbers, by torch; in a picture; in words.

Each function is one of `data` (what the explorer holds) and `s` (anything with the settings as
attributes), and has its twin of the same purpose in compute.js.
"""

import math
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import torch
from matplotlib.figure import Figure

from attnkit import functional, masks
from attnkit.guard import checks
from attnkit.viz import arrays as inputs
from attnkit.viz.explorer.settings import STAGES, Settings
from attnkit.viz.heatmap import heatmap


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


def size(data: Data, s) -> tuple[int, int]:
    """L and S on show."""
    if data.frames:
        return data.frames[s.seq_len].weights.shape[1:]
    return (s.seq_len if data.queries is None else data.rows), s.seq_len


def mask(data: Data, s) -> torch.Tensor:
    """The mask on show: boolean (L, S) from `attnkit.masks`; recorded, (H, L, S).

    Hidden keys are False in every row of it.
    """
    columns = size(data, s)[1]
    hidden = torch.tensor([j in s.hidden for j in range(columns)])
    return _mask(data, s) & ~hidden


def _mask(data: Data, s) -> torch.Tensor:
    """The mask without what the reader hides."""
    rows, columns = size(data, s)
    match s.mask:
        case "causal":
            return masks.causal(columns)
        case "window":
            return masks.sliding_window(columns, window=s.window)
        case "prefix":
            return masks.prefix(columns, min(s.prefix_len, columns))
        case "padding":
            real = columns - min(s.padding, columns - 1)
            return masks.padding([real], columns)[0].expand(rows, columns)
    if data.frames and data.frames[s.seq_len].mask is not None:
        return torch.from_numpy(data.frames[s.seq_len].mask)
    return torch.ones(rows, columns, dtype=torch.bool)


def values(data: Data, s, stage: str | None = None) -> np.ndarray:
    """Scores, masked scores or weights on show, float64 (H, L, S)."""
    stage = s.stage if stage is None else checks.choice("stage", stage, STAGES)
    if data.frames:
        return data.frames[s.seq_len].weights.astype(np.float64)
    rows, columns = size(data, s)
    scale = data.scale if s.scaled and data.scale is not None else 1.0
    scores = torch.from_numpy(data.raw[:, :rows, :columns]) * scale / s.temperature
    if stage == "masked scores":
        scores = scores.masked_fill(~mask(data, s), -math.inf)
    elif stage == "weights":
        scores = functional.masked_softmax(scores, mask(data, s))
    return scores.numpy()


def change(data: Data, s) -> np.ndarray:
    """Weights on show minus those of the settings in `s.kept`, where both have rows and columns."""
    names = Settings.class_own_traits()
    old = SimpleNamespace(**({name: getattr(s, name) for name in names} | s.kept))
    heads = slice(None) if s.head == "all" else [s.head]
    before = heads if "all" in (s.head, old.head) else [old.head]
    now, then = values(data, s, "weights")[heads], values(data, old, "weights")[before]
    rows, columns = (min(sizes) for sizes in zip(now.shape[1:], then.shape[1:], strict=True))
    return now[:, :rows, :columns] - then[:, :rows, :columns]


def output(data: Data, s) -> np.ndarray:
    """Weights on show times values, float64 (H, L, Ev)."""
    weights = values(data, s, "weights")
    return weights @ data.value[:, : weights.shape[2]]


def tokens(data: Data, s) -> tuple[list[str], list[str]]:
    """The query tokens and the key tokens on show."""
    if data.frames and data.frames[s.seq_len].tokens:
        return data.frames[s.seq_len].tokens
    rows, columns = size(data, s)
    queries = data.keys if data.queries is None else data.queries
    return queries[:rows], data.keys[:columns]


def figure(data: Data, s, title: str | None = None) -> Figure:
    """A heat map of what is on show, weights coloured from 0 to 1 unless `s.stretch`."""
    heads = list(range(data.heads)) if s.head == "all" else [s.head]
    queries, keys = tokens(data, s)
    visible = None if s.stage == "scores" else mask(data, s)
    if visible is not None and visible.ndim == 3:
        visible = visible[heads]
    weights = s.stage == "weights"
    return heatmap(
        values(data, s)[heads],
        query_tokens=queries,
        key_tokens=keys,
        mask=visible,
        names=[data.names[head] for head in heads] if data.heads > 1 else None,
        title=title,
        kind="weights" if weights else "scores",
        vmax=1.0 if weights and not s.stretch else None,
    )


def words(data: Data, s) -> str:
    """What is on show, in words that no measurement changes."""
    queries, keys = tokens(data, s)
    which = f"all {data.heads} heads" if s.head == "all" else data.names[s.head]
    how = "recorded" if data.frames else _settings(data, s)
    if gone := [f"“{keys[j]}”" for j in s.hidden if j < len(keys)]:
        how += f", {', '.join(gone)} hidden"
    return (
        f"Heat map of attention {s.stage}, {which}: {len(queries)} queries by "
        f"{len(keys)} keys, {how}."
    )


def _settings(data: Data, s) -> str:
    scaled = "" if data.scale is None else f"{'' if s.scaled else 'not '}scaled, "
    return f"mask {s.mask}, {scaled}temperature {s.temperature:g}"
