"""Positions, without which attention does not know the order of its keys.

Three places to put them, and each function here belongs to one:

- added to the embeddings: `sinusoidal`, and its module `SinusoidalPositions`; `LearnedPositions`
- rotating queries and keys: `rotary`, and its module `Rotary` (`MultiHeadAttention(rotate=...)`)
- added to the scores: `alibi`, `ClippedRelativeBias`, `BucketedRelativeBias` (`bias=...`)

Where queries and keys have positions of their own, query i stands at position i + `offset`, as in
`masks.causal`.
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
