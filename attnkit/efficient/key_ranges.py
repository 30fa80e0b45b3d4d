"""Masks that give each query one stretch of keys: causal, windowed, or both, without an (L, S)."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attnkit import checks
from attnkit.numerics import finite, set_aside_nonfinite


class Spans(NamedTuple):
    """Query i may see the keys first[i] <= j < last[i]; two integer tensors (L,)."""

    first: Tensor
    last: Tensor

    def rows(self, rows: slice) -> "Spans":
        return Spans(self.first[rows], self.last[rows])

    def span(self) -> slice:
        """The keys that any of the queries may see."""
        seeing = self.first < self.last
        if not seeing.any():
            return slice(0, 0)
        return slice(int(self.first[seeing].min()), int(self.last[seeing].max()))

    def mask(self, keys: slice) -> Tensor:
        """The mask (L, s) of some keys."""
        places = torch.arange(keys.start, keys.stop, device=self.first.device)
        return (places >= self.first[:, None]) & (places < self.last[:, None])

    def covers(self, keys: slice) -> bool:
        """Whether every query may see all of these keys, so that no mask is needed."""
        return bool((self.first <= keys.start).all() and (self.last >= keys.stop).all())

    def any(self, flags: Tensor) -> Tensor:
        """Whether a query sees any flagged key: flags (..., S) -> (..., L, 1), in linear time."""
        before = torch.nn.functional.pad(flags.long().cumsum(-1), (1, 0))  # (..., S + 1)
        return (before[..., self.last] > before[..., self.first])[..., None]


def spans(
    query_len: int,
    key_len: int,
    *,
    causal: bool,
    window: int | None,
    offset: int | None,
    device: torch.device,
) -> Spans | None:
    """The stretch of keys of each query, as in `masks.causal` and `masks.sliding_window`.

    None when neither is asked for. `window` counts the query's own key.

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: `window` is below 1, or `offset` is missing although L != S.
    """
    checks.flag("causal", causal)
    if window is not None:
        checks.integer("window", window, minimum=1)
    if offset is not None:
        checks.integer("offset", offset)
    if not causal and window is None:
        return None
    if offset is None and query_len != key_len:
        checks.fail(
            "offset",
            f"an int when there are {query_len} queries and {key_len} keys: 0 aligns the first "
            f"query with the first key, S - L = {key_len - query_len} the last with the last",
            "None",
        )
    own = torch.arange(query_len, device=device) + (offset or 0)  # the key at the query's place
    ahead = 1 if causal else window
    first = torch.zeros_like(own) if window is None else own - window + 1
    return Spans(first.clamp(0, key_len), (own + ahead).clamp(0, key_len))


def set_aside(
    key: Tensor, value: Tensor, mask: Tensor | None, seen: Spans | None, target: tuple[int, ...]
) -> tuple[Tensor, Tensor, Tensor | None]:
    """`numerics.set_aside_nonfinite`, in linear memory where `seen` and a mask of keys allow it.

    Args:
        key: (..., S, E).
        value: (..., S, Ev).
        mask: boolean, broadcastable to `target`, or None.
        seen: the keys of each query, or None.
        target: (..., L, S), with the query's heads where heads are grouped.
    """
    if seen is None and mask is None:
        return key, value, None
    if seen is None or not keys_alone(mask):
        whole = whole_mask(mask, seen, target[-1])
        return set_aside_nonfinite(key, value, whole, query_heads=tuple(target[-3:-2]))
    if key.is_cpu and not torch.compiler.is_compiling() and finite(key) and finite(value):
        return key, value, None
    key_ok, value_ok = key.isfinite(), value.isfinite()
    bad = ~(key_ok.all(-1) & value_ok.all(-1))  # (..., S)
    if bad.dim() > 1 and bad.shape[-2] not in (1, *target[-3:-2]):  # grouped heads
        bad = bad.repeat_interleave(target[-3] // bad.shape[-2], dim=-2)  # (..., H, S)
    if mask is not None:
        bad = bad & mask.expand(*mask.shape[:-2], 1, target[-1])[..., 0, :]
    return torch.where(key_ok, key, 0.0), torch.where(value_ok, value, 0.0), seen.any(bad)


def joined(pieces: Sequence[Tensor], chosen: Iterable[int]) -> Tensor:
    """Some of the pieces (..., s, E) that `split` made of a tensor, one after the other.

    A slice of the whole would be no copy, but its gradient would be as large as the whole: with a
    slice for every block, the backward pass would be quadratic in the length.
    """
    some = [pieces[place] for place in chosen] or [pieces[0][..., :0, :]]
    return torch.cat(some, -2) if len(some) > 1 else some[0]


def keys_alone(mask: Tensor | None) -> bool:
    """Whether a mask says the same for every query: (..., 1, S)."""
    return mask is None or mask.dim() < 2 or mask.shape[-2] == 1


def whole_mask(mask: Tensor | None, seen: Spans | None, keys: int) -> Tensor | None:
    """The mask (..., L, S) that `mask` and `seen` make together."""
    if seen is None:
        return mask
    whole = seen.mask(slice(0, keys))  # (L, S)
    return whole if mask is None else mask & whole


def part_of(mask: Tensor, rows: slice, columns: slice | Tensor) -> Tensor:
    """Some rows and columns of a mask, either of which may be broadcast."""
    if mask.dim() > 1 and mask.shape[-2] > 1:
        mask = mask[..., rows, :]
    return mask[..., columns] if mask.dim() and mask.shape[-1] > 1 else mask
