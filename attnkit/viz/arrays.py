"""What the pictures are given: arrays by head and lists of tokens, checked and converted."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from attnkit.guard import checks

Array = torch.Tensor | np.ndarray | Sequence


def floats(name: str, value) -> np.ndarray:
    """Return `value` (tensor, array or nested list of numbers) as a float32 array.

    Raises TypeError, naming the argument, when `value` does not hold real numbers.
    """
    given = value
    try:
        if not isinstance(value, torch.Tensor):
            # torch warns of arrays that it may not write to and of lists of arrays, and refuses
            # reversed ones.
            value = np.array(value)
        tensor = torch.as_tensor(value).detach()
    except (TypeError, ValueError, RuntimeError):
        checks.fail(name, "a tensor or an array of numbers", type(given).__name__, TypeError)
    if tensor.dtype == torch.bool or tensor.is_complex():
        checks.fail(name, "real numbers", str(tensor.dtype), TypeError)
    return tensor.to("cpu", torch.float32).contiguous().numpy()


def by_head(name: str, value, layout: str) -> np.ndarray:
    """Return `value` as float32 (H, rows, columns); two dimensions are taken as one head.

    `layout` names the axes in messages, for example "(H, L, E)". Raises ValueError for any other
    number of dimensions (a batch, too) and for an empty dimension.
    """
    array = floats(name, value)
    if array.ndim == 2:
        array = array[None]
    if array.ndim != 3:
        hint = " (a batch: pass one item of it)" if array.ndim == 4 else ""
        checks.fail(name, f"shape {layout} or one head of it", f"shape {array.shape}{hint}")
    if 0 in array.shape:
        checks.fail(name, f"no empty dimension in {layout}", f"shape {array.shape}")
    return array


def heads_of_layers(weights) -> tuple[np.ndarray, list[str] | None]:
    """Return the weights of one layer or of a list of layers as (H, L, S), and the heads' names.

    A layer is (H, L, S), (L, S), or (1, H, L, S), as a model gives it for a batch of one. The heads
    of a single layer get no names. Raises ValueError for layers of several sizes.
    """
    several = isinstance(weights, tuple | list) and len(weights) > 0
    layered = several and getattr(weights[0], "ndim", 0) > 1
    arrays = []
    for place, layer in enumerate(weights if layered else [weights]):
        alone = layer[0] if getattr(layer, "ndim", 0) == 4 and len(layer) == 1 else layer
        name = f"weights[{place}]" if layered else "weights"
        arrays.append(by_head(name, alone, "(H, L, S)"))
        if arrays[-1].shape[1:] != arrays[0].shape[1:]:
            checks.fail(name, f"L, S = {arrays[0].shape[1:]}, as before", f"{arrays[-1].shape[1:]}")
    names = [
        f"layer {place}, head {head}"
        for place, array in enumerate(arrays)
        for head in range(len(array))
    ]
    return np.concatenate(arrays), names if len(arrays) > 1 else None


def strings(name: str, value, count: int | None = None) -> list[str]:
    """Return `value` as a list of `count` strings (any number when `count` is None).

    Raises TypeError when it is not a sequence of strings and ValueError for a wrong count, both
    naming the argument.
    """
    if isinstance(value, str) or not isinstance(value, Sequence):
        checks.fail(name, "a list of strings", checks.described(value), TypeError)
    for place, item in enumerate(value):
        if not isinstance(item, str):
            checks.fail(f"{name}[{place}]", "a string", f"{type(item).__name__}", TypeError)
    if count is not None and len(value) != count:
        checks.fail(name, f"{count} strings", f"{len(value)}")
    return list(value)


def numbered(count: int) -> list[str]:
    """Return stand-in names "0", "1", ... for a picture without words."""
    return [str(place) for place in range(count)]


def head_names(value: Sequence[str] | None, heads: int) -> list[str]:
    """Return the names of the heads, "head 0" and so on when left out."""
    if value is None:
        return [f"head {place}" for place in range(heads)]
    return strings("head_names", value, heads)


def note(caption: str, provenance: str) -> str:
    """Return the line below a widget: the caption, and how its numbers came about."""
    return " ".join(strings("caption", [caption, provenance])).strip()


def stored(data: bytes) -> np.ndarray:
    """Return the numbers that a widget's trait keeps as float32, as float64 to compute with."""
    return np.frombuffer(data, np.float32).astype(np.float64)


def token_traits(rows, columns, tokens, query_tokens, key_tokens) -> dict[str, list[str] | None]:
    """The token traits; `query_tokens` is None when the queries are the keys."""
    if tokens is not None:
        if query_tokens is not None or key_tokens is not None:
            checks.fail("tokens", "no query_tokens or key_tokens beside it", "both", TypeError)
        if rows != columns:
            checks.fail(
                "tokens",
                "L == S (use query_tokens and key_tokens for cross-attention)",
                f"L = {rows}, S = {columns}",
            )
        return {"key_tokens": strings("tokens", tokens, columns), "query_tokens": None}
    if query_tokens is None and key_tokens is None and rows == columns:
        return {"key_tokens": numbered(columns), "query_tokens": None}
    given = {"query_tokens": (query_tokens, rows), "key_tokens": (key_tokens, columns)}
    return {
        name: numbered(count) if value is None else strings(name, value, count)
        for name, (value, count) in given.items()
    }


def frames_by_length(frames: Mapping[int, object]) -> dict[int, np.ndarray]:
    """The frames as arrays (H, L, S), shortest first, all with the same number of heads."""
    if not isinstance(frames, Mapping) or not frames:
        expected = "a mapping length -> weights, such as {weights.shape[-1]: weights}"
        checks.fail("frames", expected, checks.described(frames), TypeError)
    for length in frames:
        checks.integer("a length in frames", length, minimum=1)
    arrays = {
        length: by_head(f"frames[{length}]", frames[length], "(H, L, S)")
        for length in sorted(frames)
    }
    heads = {array.shape[0] for array in arrays.values()}
    if len(heads) > 1:
        checks.fail("frames", "one number of heads", f"{sorted(heads)}")
    return arrays


def frame_tokens(arrays, query_tokens, key_tokens) -> list[list[list[str]]]:
    """[query tokens, key tokens] of each frame, from lists or mappings length -> tokens."""
    found = []
    for length, array in arrays.items():
        pair = []
        given = (("query_tokens", query_tokens), ("key_tokens", key_tokens))
        for (name, value), count in zip(given, array.shape[1:], strict=True):
            if isinstance(value, Mapping):
                if length not in value:
                    checks.fail(name, f"tokens for length {length}", f"lengths {sorted(value)}")
                pair.append(strings(f"{name}[{length}]", value[length], count))
            elif value is None:
                pair.append(numbered(count))
            else:
                pair.append(strings(name, value)[:count])
        found.append(pair)
    return found


def frame_masks(arrays: Mapping[int, np.ndarray], mask) -> bytes:
    """The masks of the frames as bits, one (H, L, S) after another, the lowest bit first.

    `mask` is a boolean array that broadcasts to the longest frame's (H, L, S), of which shorter
    frames take the first rows and columns; or "causal" or "none"; or a mapping from each length to
    one of these. None gives no bytes: nothing is known.
    """
    if mask is None:
        return b""
    bits = []
    for length, array in arrays.items():
        name, own = "mask", mask
        if isinstance(mask, Mapping):
            if length not in mask:
                checks.fail("mask", f"a mask for length {length}", f"lengths {sorted(mask)}")
            name, own = f"mask[{length}]", mask[length]
        bits.append(_frame_mask(name, own, array.shape).ravel())
    return np.packbits(np.concatenate(bits), bitorder="little").tobytes()


def _frame_mask(name: str, mask, shape: tuple[int, ...]) -> np.ndarray:
    rows, columns = shape[1:]
    if isinstance(mask, str):
        checks.choice(name, mask, ("causal", "none"))
        if mask == "none":
            return np.ones(shape, bool)
        if rows != columns:
            checks.fail(name, "L == S where it is causal", f"L = {rows}, S = {columns}")
        return np.broadcast_to(np.tri(rows, dtype=bool), shape)
    mask = np.asarray(mask)
    if mask.dtype != bool:
        checks.fail(name, "booleans, True where the query may attend", str(mask.dtype), TypeError)
    try:
        return np.broadcast_to(mask[..., :rows, :columns], shape)
    except (ValueError, IndexError):
        checks.fail(name, f"a shape that broadcasts to (H, L, S) = {shape}", f"{mask.shape}")
