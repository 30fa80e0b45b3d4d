"""Masks that give each query one range of keys: causal, windowed, or both, without an (L, S)."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attnkit.call import Call
from attnkit.formula import repeat_heads
from attnkit.guard import checks


class KeyRanges(NamedTuple):
    """Query i of `queries` may see the keys i + low <= j < i + high among the first `keys`."""

    queries: int
    keys: int
    low: int
    high: int
    device: torch.device

    def rows(self, rows: slice) -> "KeyRanges":
        """The ranges of some of the queries."""
        first, last = rows.start, min(rows.stop, self.queries)
        low, high = self.low + first, self.high + first
        return KeyRanges(last - first, self.keys, low, high, self.device)

    def span(self) -> slice:
        """The keys that any of the queries may see."""
        first = max(0, 1 - self.high)
        last = min(self.queries - 1, self.keys - 1 - self.low)
        if first > last:
            return slice(0, 0)
        return slice(max(0, first + self.low), min(self.keys, last + self.high))

    def covers(self, keys: slice) -> bool:
        """Whether every query may see all of these keys, so that no mask is needed."""
        return self.queries - 1 + self.low <= keys.start and self.high >= keys.stop

    def mask(self, keys: slice) -> Tensor:
        """The mask (L, s) of some keys."""
        size = self.queries, keys.stop - keys.start
        ones = torch.ones(size, dtype=torch.bool, device=self.device)
        return ones.triu_(self.low - keys.start).tril_(self.high - 1 - keys.start)

    def whole(self, mask: Tensor | None) -> Tensor:
        """The mask (..., L, S) of the ranges, and of `mask` on top."""
        whole = self.mask(slice(0, self.keys))  # (L, S)
        return whole if mask is None else mask & whole

    def any(self, flags: Tensor) -> Tensor:
        """Whether a query sees any flagged key: flags (..., S) -> (..., L, 1), in linear time."""
        flags = flags.expand(*flags.shape[:-1], self.keys)
        before = torch.nn.functional.pad(flags.long().cumsum(-1), (1, 0))  # (..., S + 1)
        places = torch.arange(self.queries, device=self.device)
        first, last = ((places + edge).clamp(0, self.keys) for edge in (self.low, self.high))
        return (before[..., last] > before[..., first])[..., None]


def key_ranges(
    query_len: int,
    key_len: int,
    *,
    causal: bool,
    window: int | None,
    offset: int | None,
    device: torch.device,
) -> KeyRanges | None:
    """The range of keys of each query, as in `masks.causal` and `masks.sliding_window`.

    None when neither is asked for. `window` counts the query's own key.

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: `window` is below 1, or `offset` is missing although L != S.
    """
    checks.flag("causal", causal)
    window = None if window is None else checks.integer("window", window, minimum=1)
    offset = None if offset is None else checks.integer("offset", offset)
    if not causal and window is None:
        return None
    if offset is None and query_len != key_len:
        checks.fail(
            "offset",
            f"an int when there are {query_len} queries and {key_len} keys: 0 aligns the first "
            f"query with the first key, S - L = {key_len - query_len} the last with the last",
            "None",
        )
    own = offset or 0  # the key at the place of query 0
    low = -query_len if window is None else own - window + 1  # -L: from the first key on
    return KeyRanges(query_len, key_len, low, own + (1 if causal else window), device)


def joined(pieces: Sequence[Tensor], chosen: Iterable[int]) -> Tensor:
    """Some of the pieces (..., s, E) that `split` made of a tensor, one after the other.

    A slice of the whole would be no copy, but its gradient would be as large as the whole: with a
    slice for every block, the backward pass would be quadratic in the length.
    """
    some = [pieces[index] for index in chosen] or [pieces[0][..., :0, :]]
    return torch.cat(some, -2) if len(some) > 1 else some[0]


def keys_alone(mask: Tensor | None) -> bool:
    """Whether a mask says the same for every query: (..., 1, S)."""
    return mask is None or mask.shape[-2] == 1


def zeros(call: Call, query: Tensor) -> Tensor:
    """The output (*lead, l, Ev) of queries (..., l, E) that see nothing, with a gradient of 0."""
    key, value = call.key[..., :0, :], call.value[..., :0, :]
    if call.grouped:
        key, value = repeat_heads(key, query.shape[-3]), repeat_heads(value, query.shape[-3])
    return (query @ key.mT @ value).expand(*call.lead, -1, -1)


def part_of(mask: Tensor, rows: slice, columns: slice | Tensor) -> Tensor:
    """Some rows and columns of a mask, either of which may be broadcast."""
    if mask.shape[-2] > 1:
        mask = mask[..., rows, :]
    return mask[..., columns] if mask.shape[-1] > 1 else mask
