"""What an explorer shows for the settings now set: in numbers, by torch; in a picture; in words."""

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from matplotlib.figure import Figure

from attnkit import checks, functional, masks
from attnkit.viz import arrays as inputs
from attnkit.viz.explorer.settings import STAGES
from attnkit.viz.heatmap import heatmap

if TYPE_CHECKING:
    from attnkit.viz.explorer import AttentionExplorer


def size(explorer: "AttentionExplorer") -> tuple[int, int]:
    """L and S on show."""
    if explorer.kind == "frames":
        return _frame(explorer).shape[1:]
    rows = explorer.seq_len if explorer.self_attention else explorer.shape[1]
    return rows, explorer.seq_len


def mask(explorer: "AttentionExplorer") -> torch.Tensor:
    """The mask on show, from `attnkit.masks`: boolean (L, S)."""
    rows, columns = size(explorer)
    match explorer.mask:
        case "causal":
            return masks.causal(columns)
        case "window":
            return masks.sliding_window(columns, window=explorer.window)
        case "prefix":
            return masks.prefix(columns, min(explorer.prefix_len, columns))
        case "padding":
            real = columns - min(explorer.padding, columns - 1)
            return masks.padding([real], columns)[0].expand(rows, columns)
    return torch.ones(rows, columns, dtype=torch.bool)


def values(explorer: "AttentionExplorer", stage: str | None = None) -> np.ndarray:
    """Scores, masked scores or weights on show, float64 (H, L, S)."""
    stage = explorer.stage if stage is None else checks.choice("stage", stage, STAGES)
    if explorer.kind == "frames":
        return _frame(explorer).astype(np.float64)
    rows, columns = size(explorer)
    scale = explorer.scale if explorer.scaled and explorer.scale is not None else 1.0
    scores = torch.from_numpy(_raw_scores(explorer)[:, :rows, :columns])
    scores = scores * scale / explorer.temperature
    if stage == "masked scores":
        scores = scores.masked_fill(~mask(explorer), -math.inf)
    elif stage == "weights":
        scores = functional.masked_softmax(scores, mask(explorer))
    return scores.numpy()


def tokens(explorer: "AttentionExplorer") -> tuple[list[str], list[str]]:
    """The query tokens and the key tokens on show."""
    if explorer.frame_tokens:
        queries, keys = explorer.frame_tokens[explorer.lengths.index(explorer.seq_len)]
        return queries, keys
    rows, columns = size(explorer)
    queries = explorer.key_tokens if explorer.self_attention else explorer.query_tokens
    return queries[:rows], explorer.key_tokens[:columns]


def figure(explorer: "AttentionExplorer") -> Figure:
    """A heat map of what is on show."""
    heads = range(explorer.shape[0]) if explorer.head == "all" else [explorer.head]
    queries, keys = tokens(explorer)
    return heatmap(
        values(explorer)[list(heads)],
        query_tokens=queries,
        key_tokens=keys,
        mask=None if explorer.stage == "scores" else mask(explorer),
        names=[explorer.head_names[head] for head in heads] if explorer.shape[0] > 1 else None,
        title=explorer.title or None,
        kind="weights" if explorer.stage == "weights" else "scores",
    )


def words(explorer: "AttentionExplorer") -> str:
    """What is on show, in words that no measurement changes."""
    queries, keys = tokens(explorer)
    all_heads, count = explorer.head == "all", explorer.shape[0]
    which = f"all {count} heads" if all_heads else explorer.head_names[explorer.head]
    how = "recorded" if explorer.kind == "frames" else _settings(explorer)
    return (
        f"Heat map of attention {explorer.stage}, {which}: {len(queries)} queries by "
        f"{len(keys)} keys, {how}."
    )


def _settings(explorer: "AttentionExplorer") -> str:
    scaled = "" if explorer.scale is None else f"{'' if explorer.scaled else 'not '}scaled, "
    return f"mask {explorer.mask}, {scaled}temperature {explorer.temperature:g}"


def _raw_scores(explorer: "AttentionExplorer") -> np.ndarray:
    heads, rows, columns = explorer.shape[:3]
    if explorer.kind == "scores":
        return inputs.stored(explorer.scores).reshape(heads, rows, columns)
    query = inputs.stored(explorer.query).reshape(heads, rows, -1)
    key = inputs.stored(explorer.key).reshape(heads, columns, -1)
    return query @ key.transpose(0, 2, 1)  # (H, L, S)


def _frame(explorer: "AttentionExplorer") -> np.ndarray:
    """The weights recorded at the length on show, float32 (H, L, S)."""
    heads = explorer.shape[0]
    sizes = [heads * rows * columns for _, rows, columns in explorer.frame_shapes]
    place = explorer.lengths.index(explorer.seq_len)
    _, rows, columns = explorer.frame_shapes[place]
    start = sum(sizes[:place])
    flat = np.frombuffer(explorer.frames, np.float32)[start : start + sizes[place]]
    return flat.reshape(heads, rows, columns)
