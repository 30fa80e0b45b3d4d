"""The key-value cache: decode one token at a time without projecting the past again."""

import torch
from torch import Tensor

from attnkit import masks
from attnkit.guard import checks


class KVCache:
    r"""Keys and values that one attention layer has projected so far.

    A decoder that has written t tokens needs the keys and values of all of them for the next one,
    but they have not changed. With a cache a step costs one projection and t scores, and not t
    projections and :math:`t^2` scores (Shazeer 2019 counts what it reads). The
    cache is passed in; the module that fills it keeps nothing. Each layer needs one of its own::

        cache = KVCache()
        for token in tokens:                                             # (B, 1, E)
            output, _ = attention(token, cache=cache, mask=cache.mask(1))

    With grouped heads it holds the H_kv heads of the keys, which is where they save memory. With
    a `window` it forgets what no later query may see (Beltagy et al. 2020), and `length` still
    counts every token, so that positions stay right.

    **Cross-attention**: give the whole memory as keys at the first step, and an empty slice,
    `memory[:, :0]`, at every other: nothing is appended, nothing is projected again.

    Args:
        window: number of keys a query may see, its own included, as in `masks.sliding_window`;
            None for all.

    Raises:
        TypeError: `window` is not an int.
        ValueError: `window` is below 1.

    Example:
        >>> import torch
        >>> from attnkit.efficient import KVCache
        >>> cache = KVCache(window=3)
        >>> for _ in range(5):
        ...     key, value = cache.update(torch.randn(1, 2, 1, 4), torch.randn(1, 2, 1, 4))
        >>> key.shape, cache.length, cache.kept
        (torch.Size([1, 2, 3, 4]), 5, 2)
    """

    def __init__(self, *, window: int | None = None):
        self.window = None if window is None else checks.integer("window", window, minimum=1)
        #: Number of tokens given so far, those that a window has let go included.
        self.length = 0
        # Buffers with spare capacity; what is kept is at _start to _stop.
        self._key: Tensor | None = None
        self._value: Tensor | None = None
        self._start = self._stop = 0

    @property
    def kept(self) -> int:
        """Number of keys held. Below `length` when a window has dropped some."""
        return self._stop - self._start

    @property
    def nbytes(self) -> int:
        """Bytes that the keys and values held take, without spare capacity."""
        if self._key is None:
            return 0
        return sum(x[..., : self.kept, :].nbytes for x in (self._key, self._value))

    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Append the new keys and values; return all that the new queries may see.

        Args:
            key: (B, H_kv, L, D), L new keys, 0 allowed.
            value: (B, H_kv, L, Dv).

        Returns:
            keys (B, H_kv, S, D) and values (B, H_kv, S, Dv), oldest first, S = kept before + L.
            They are not to be written to.

        Raises:
            TypeError: a tensor is not floating, or its dtype is not that of the cache.
            ValueError: the shapes do not fit each other, or do not continue those of the cache.
            RuntimeError: gradient checkpointing runs the call again, in a backward pass.
        """
        self._check(key, value)
        if torch._C._current_graph_task_id() != -1:
            expected = "no gradient checkpointing around the call"
            got = "its second run, which would append the same keys again"
            checks.fail("cache", expected, got, RuntimeError)
        stop = self._stop + key.shape[-2]
        if torch.is_grad_enabled():
            # Writing into a buffer would change what autograd saved of it.
            self._join(key, value)
        else:
            if self._key is None or stop > self._key.shape[-2] or self._is_read_only():
                self._make_room(key, value)
            new = slice(self._stop, self._stop + key.shape[-2])
            self._key[..., new, :] = key
            self._value[..., new, :] = value
            self._stop = new.stop
        self.length += key.shape[-2]
        seen = slice(self._start, self._stop)
        if self.window is not None:
            self._start = max(self._start, self._stop - (self.window - 1))
        return self._key[..., seen, :], self._value[..., seen, :]  # (B, H_kv, S, D)

    def mask(self, query_len: int) -> Tensor | None:
        """Causal mask (and window) of the next `query_len` queries, to use in the next call.

        Returns:
            boolean (L, S) with S = kept + L; None when L is 1, since one query sees all.

        Raises:
            TypeError: `query_len` is not an int.
            ValueError: `query_len` is below 1.
        """
        if checks.integer("query_len", query_len, minimum=1) == 1:
            return None
        place = {"offset": self.kept, "device": None if self._key is None else self._key.device}
        key_len = self.kept + query_len
        if self.window is None:
            return masks.causal(query_len, key_len, **place)  # (L, S)
        return masks.sliding_window(query_len, key_len, window=self.window, **place)  # (L, S)

    def select(self, rows: Tensor) -> "KVCache":
        """A cache that holds the given rows of the batch, as when beams are reordered.

        Args:
            rows: integers (N,), row numbers below B; one may come several times.

        Raises:
            TypeError: `rows` is not an integer tensor.
            ValueError: `rows` is not one-dimensional.
        """
        _check_rows(rows)
        chosen = KVCache(window=self.window)
        chosen.length, chosen._start, chosen._stop = self.length, self._start, self._stop
        if self._key is not None:
            chosen._key = self._key.index_select(0, rows)
            chosen._value = self._value.index_select(0, rows)
        return chosen

    def __repr__(self) -> str:
        return f"KVCache(window={self.window}, length={self.length}, kept={self.kept})"

    def _join(self, key: Tensor, value: Tensor) -> None:
        kept = slice(self._start, self._stop)
        if self._key is not None:
            key = torch.cat((self._key[..., kept, :], key), dim=-2)
            value = torch.cat((self._value[..., kept, :], value), dim=-2)
        self._key, self._value = key, value
        self._start, self._stop = 0, key.shape[-2]

    def _make_room(self, key: Tensor, value: Tensor) -> None:
        # Doubling makes the copies cost as much as one more copy of each key, on average.
        needed = self.kept + key.shape[-2]
        kept = slice(self._start, self._stop)
        rooms = []
        for old, new in ((self._key, key), (self._value, value)):
            room = new.new_zeros(*new.shape[:-2], 2 * needed, new.shape[-1])
            if old is not None:
                room[..., : self.kept, :] = old[..., kept, :]
            rooms.append(room)
        self._start, self._stop = 0, self.kept
        self._key, self._value = rooms

    def _is_read_only(self) -> bool:
        # What inference mode has made may not be written to outside of it.
        return self._key.is_inference() and not torch.is_inference_mode_enabled()

    def _check(self, key: Tensor, value: Tensor) -> None:
        for name, new in {"key": key, "value": value}.items():
            checks.floating(name, new)
            if new.dim() != 4:
                checks.fail(name, "shape (B, H_kv, L, D)", f"shape {checks.shape(new)}")
        if value.shape[:-1] != key.shape[:-1]:
            expected = f"shape {(*key.shape[:-1], '*')}, one value for each key"
            checks.fail("value", expected, f"shape {checks.shape(value)}")
        for name, new, old in (("key", key, self._key), ("value", value, self._value)):
            if old is not None:
                _continues(name, new, old)


def _continues(name: str, new: Tensor, old: Tensor) -> None:
    (batch, heads, _, features), got = old.shape, checks.shape(new)
    if (batch, heads, features) != (got[0], got[1], got[3]):
        expected = f"shape {(batch, heads, 'L', features)}, to continue what the cache holds"
        checks.fail(name, expected, f"shape {got}")
    if new.dtype != old.dtype:
        checks.fail(name, f"dtype {old.dtype} (that of the cache)", str(new.dtype), TypeError)
    if new.device != old.device:
        checks.fail(name, f"device {old.device} (that of the cache)", str(new.device))


def _check_rows(rows: Tensor) -> None:
    checks.tensor("rows", rows)
    if rows.dtype not in (torch.int32, torch.int64):
        checks.fail("rows", "an integer tensor of row numbers", str(rows.dtype), TypeError)
    if rows.dim() != 1:
        checks.fail("rows", "shape (N,)", f"shape {checks.shape(rows)}")
