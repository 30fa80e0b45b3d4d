"""Positions: what tells attention the order of its keys, which by itself it cannot see.

Three places to put them, and each function here belongs to one:

- added to the embeddings: `sinusoidal`, and its module `SinusoidalPositions`; `LearnedPositions`
- turning queries and keys: `rotary`, and its module `Rotary` (`MultiHeadAttention(rotate=...)`)
- added to the scores: `alibi`, `ClippedRelativeBias`, `BucketedRelativeBias` (`bias=...`)

Wherever queries and keys have positions of their own, `offset` says how far the keys run ahead of
the queries, as in `masks.causal`: query i stands at position i + offset.
"""

from attnkit.positions.absolute import LearnedPositions, SinusoidalPositions, sinusoidal
from attnkit.positions.relative import (
    BucketedRelativeBias,
    ClippedRelativeBias,
    alibi,
    alibi_slopes,
    relative_positions,
)
from attnkit.positions.rotation import Rotary, rotary

__all__ = [
    "BucketedRelativeBias",
    "ClippedRelativeBias",
    "LearnedPositions",
    "Rotary",
    "SinusoidalPositions",
    "alibi",
    "alibi_slopes",
    "relative_positions",
    "rotary",
    "sinusoidal",
]
