"""Checks of masks: who may see whom, and what hidden keys and padding must not change."""

from typing import Any

import torch
from torch import Tensor

from attnkit import masks
from attnkit.guard import checks
from attnkit.testing.adapter import TOLERANCE, Adapted, NotApplicable, adapt, random_mask, same

#: Lengths that the checks try, the smallest first, so that the first failure is the smallest.
LENGTHS = (2, 3, 5)


def assert_sees(
    attention: Any, expected: Tensor, *, mask: Tensor | None = None, train: bool = False
) -> None:
    """Check that each query sees exactly the keys that `expected` (L, S) says.

    What is seen is measured: each key and value is replaced in turn, and every query whose output
    moves has seen it.

    Args:
        attention: anything that `adapt` takes.
        expected: boolean (L, S), True where the query must see the key.
        mask: the mask (L, S) to pass; `expected` when omitted, none if the attention takes none.
        train: measure in train mode, where only what must stay hidden is checked, since dropout
            hides visible keys.

    Raises:
        AssertionError: the map that was found differs; the message shows both and the likely bug.

    Example:
        >>> import torch.nn.functional as F
        >>> from attnkit import masks
        >>> assert_sees(F.scaled_dot_product_attention, masks.sliding_window(5, window=2))
    """
    checks.boolean("expected", expected)
    attention = adapt(attention)
    _assert_sees("assert_sees", attention, expected, mask, train=train)


def _assert_sees(
    check: str,
    attention: Adapted,
    expected: Tensor,
    mask: Tensor | None = None,
    *,
    train: bool = False,
    built_in: bool = False,
    larger: Tensor | None = None,
) -> None:
    """Raise where the map measured is not the one expected.

    `larger`, a map of the same kind, is measured after a failure: the smallest map says least
    about which bug it was.
    """
    queries, keys = expected.shape
    if attention.self_attention and queries != keys:
        return

    def measure(expected: Tensor) -> tuple[Tensor, Tensor]:
        given = None
        if attention.takes_mask and not built_in:
            given = (expected if mask is None else mask).to(attention.device)[None]
        found = seen(attention, 1, *expected.shape, given, train=train)[0]
        expected = expected.cpu()
        if attention.self_attention:  # a token moves its own output, by way of its query
            expected = expected | torch.eye(len(expected), dtype=torch.bool)
        # Dropout may hide what is visible; it shows nothing that is hidden.
        return expected, found | expected if train else found

    wanted, found = measure(expected)
    if torch.equal(found, wanted):
        return
    i, j = (found != wanted).nonzero()[0].tolist()
    verb = "sees" if found[i, j] else "does not see"
    given = attention.takes_mask and not built_in
    bug = likely(*(measure(larger) if larger is not None else (wanted, found)), given)
    raise AssertionError(
        f"{check}: query {i} {verb} key {j} ({attention.name}, {'train' if train else 'eval'} "
        f"mode, {queries} queries, {keys} keys).\n{side_by_side(wanted, found)}\n"
        f"    Likely bug: {bug}"
    )


def assert_causal(attention: Any, *, offset: int | None = None) -> None:
    """Check that no query sees a later key, and that each sees its own and all before.

    For lengths 1 to 5, in eval mode, and once more in train mode for what must stay hidden. With
    `offset` also for fewer queries than keys, aligned at the last key, as in decoding with a cache:
    query i sees key j when j <= i + S - L. An attention that takes a mask gets the causal mask,
    unless it is causal by itself (`adapt(..., causal=True)`).

    Args:
        attention: anything that `adapt` takes.
        offset: None for as many queries as keys; a number n >= 0 for n more keys than queries too.

    Raises:
        AssertionError: with the first query and key that are wrong, at the smallest length.

    Example:
        >>> import torch
        >>> assert_causal(torch.nn.MultiheadAttention(8, 2))
        >>> assert_causal(lambda query, key, value: query + value)
        Traceback (most recent call last):
            ...
        AssertionError: assert_causal: query 1 does not see key 0 (<lambda>, eval mode, ...
    """
    attention = adapt(attention)
    modes = [False, True] if repeatable(attention, train=True) else [False]
    for train in modes:
        for length in (1, *LENGTHS):
            for more in dict.fromkeys((0, offset or 0)):
                expected = masks.causal(length, length + more, offset=more)
                built_in = attention.causal or not attention.takes_mask
                _assert_sees(
                    "assert_causal", attention, expected, train=train, built_in=built_in,
                    larger=masks.causal(LENGTHS[-1], LENGTHS[-1] + more, offset=more),
                )  # fmt: skip


def assert_window(attention: Any, window: int, *, causal: bool = True) -> None:
    """Check that an attention with a window of its own sees `window` keys, its own included.

    With `causal=False` it sees as many on the other side too, 2 * window - 1 in all. The
    attention is called without a mask.

    Raises:
        AssertionError: with both maps.

    Example:
        >>> from attnkit import masks, scaled_dot_product_attention
        >>> def local(query, key, value):
        ...     mask = masks.sliding_window(query.shape[-2], window=3)
        ...     return scaled_dot_product_attention(query, key, value, mask=mask).output
        >>> assert_window(local, 3)
    """
    attention = adapt(attention)
    for length in (1, *LENGTHS, window + 2):
        expected, larger = (
            masks.sliding_window(n, window=window, causal=causal) for n in (length, 2 * window + 2)
        )
        _assert_sees("assert_window", attention, expected, built_in=True, larger=larger)


def assert_padding_invariant(attention: Any, *, sides: tuple[str, ...] = ("right", "left")) -> None:
    """Check that a sequence gets the same output alone and padded in a batch.

    The padding holds numbers of its own, and the mask hides it. One of the batches has as many
    sequences as tokens, where a mask of the wrong shape broadcasts without an error.

    Args:
        attention: anything that `adapt` takes, and that takes a mask.
        sides: where to pad. Positions counted from the first token, padding included, do not
            survive padding on the left.

    Raises:
        AssertionError: with length, padding and side of the smallest failure.

    Example:
        >>> import torch
        >>> assert_padding_invariant(torch.nn.MultiheadAttention(8, 2))
    """
    attention = adapt(attention)
    _needs_mask(attention, "assert_padding_invariant")
    for length in (1, 2, 3):
        for extra in (1, 2):
            for side in sides:
                _one_padding(attention, length, extra, side)


def _one_padding(attention: Adapted, length: int, extra: int, side: str) -> None:
    total = length + extra
    queries = total if attention.self_attention else length
    # As many sequences as tokens: what should be (B, 1, S) then fits (L, S) as well.
    batch = max(2, total)
    query, key, value = attention.inputs(batch, queries, total, seed=length)
    hidden = slice(length, None) if side == "right" else slice(0, extra)
    real = slice(0, length) if side == "right" else slice(extra, None)
    # The last sequence is the padded one; the others are whole.
    key, value = key.clone(), value.clone()
    key[-1][..., hidden, :] *= 7
    value[-1][..., hidden, :] *= 7
    mask = torch.ones(batch, queries, total, dtype=torch.bool, device=attention.device)
    mask[-1, :, hidden] = False
    real_key, real_value = (x[-1:][..., real, :] for x in (key, value))
    query, alone = (key, real_key) if attention.self_attention else (query, query[-1:])
    padded = attention(query, key, value, mask)[0][-1:]
    if attention.self_attention and padded.shape[-2] == total:
        padded = padded[..., real, :]
    seen_all = torch.ones(1, alone.shape[-2], length, dtype=torch.bool, device=mask.device)
    expected = attention(alone, real_key, real_value, seen_all)[0]
    if expected.shape != padded.shape or not same(padded, expected).all():
        wrong = "" if expected.shape != padded.shape else _largest(padded, expected)
        raise AssertionError(
            f"assert_padding_invariant: {extra} padded key{'s' * (extra > 1)} on the {side} "
            f"change{'s' * (extra == 1)} the output of a sequence of length {length}{wrong} "
            f"({attention.name}, batch of {batch}).\n    Likely bug: "
            + (
                "the mask is broadcast over queries in place of keys, or positions are counted "
                "from the first place, padding included: count them from the first real token."
                if side == "left" and attention.self_attention
                else "the mask is ignored, flipped, applied after the softmax, broadcast over "
                "queries in place of keys, or a state is read at the end of the padding."
            )
        )


def assert_masked_values_ignored(attention: Any, *, junk: tuple[float, ...] = (1e4,)) -> None:
    """Check that hidden keys and values change nothing, however large they and the scores are.

    Visible scores are also made very negative, so that a finite fill such as -1e4 in place of
    -inf shows: it is then the largest of its row. Where scores of that size overflow before
    anything is hidden, as in float16, they say nothing and are left out.

    Args:
        attention: anything that `adapt` takes, and that takes a mask.
        junk: what hidden keys and values are filled with. Add `math.nan` and `math.inf` to ask
            what `attnkit` promises; PyTorch and Keras let NaN through, since 0 * NaN is NaN.

    Raises:
        AssertionError: with the junk and the size of the scores.

    Example:
        >>> import torch.nn.functional as F
        >>> assert_masked_values_ignored(F.scaled_dot_product_attention)
    """
    attention = adapt(attention)
    _needs_mask(attention, "assert_masked_values_ignored")
    for length in (1, *LENGTHS):
        for std in (1.0, 1000.0, 64.0):  # float16 overflows at 1,000
            for filled in junk:
                _one_junk(attention, length, std, filled)


def _one_junk(attention: Adapted, length: int, std: float, filled: float) -> None:
    total = length + 1  # the last key is hidden from everyone
    queries = total if attention.self_attention else length
    query, key, value = (x.clone() for x in attention.inputs(2, queries, total, std=std, seed=3))
    if std > 1 and not attention.self_attention and query.shape[-1] == key.shape[-1]:
        # Against the queries: without projections, the scores of what is visible are far below 0.
        first = query[..., :1, :]
        if attention.heads is not None:
            first = first[:, :: query.shape[1] // key.shape[1]]  # a query of each group
        key[..., :length, :] = -first
    if std > 1 and not attention.self_attention:
        value = value / std
    mask = torch.ones(2, queries, total, dtype=torch.bool, device=attention.device)
    mask[..., -1] = False
    clean, _ = attention(query, key, value, mask)
    dirty_key, dirty_value = key.clone(), value.clone()
    dirty_key[..., -1, :] = filled
    dirty_value[..., -1, :] = filled
    if attention.self_attention:
        dirty, _ = attention(dirty_key, dirty_key, dirty_key, mask)
        clean, dirty = clean[..., :length, :], dirty[..., :length, :]
    else:
        dirty, _ = attention(query, dirty_key, dirty_value, mask)
    bad = ~((dirty - clean).abs() <= 1e-3 * clean.abs().max().clamp_min(1e-30))
    # The largest scores may overflow float16, whatever is hidden; those of size 64 may not.
    if not bad.any() or (std > 64 and not clean.isfinite().all()):
        return
    large = "" if std == 1 else f", inputs of size {std:g}"
    worst = "NaN" if dirty.isnan().any() else f"{(dirty - clean).abs().max():.3g}"
    raise AssertionError(
        f"assert_masked_values_ignored: {filled:g} in a hidden key and its value moves the output "
        f"by {worst} ({attention.name}, {length} visible key{'s' * (length > 1)}{large}).\n"
        "    Likely bug: "
        + (
            "a finite fill (-1e4, -1e6) that some visible scores are below: fill with -inf."
            if std > 1
            else "the mask is ignored, flipped or applied after the softmax; or hidden values are "
            "multiplied by 0, which keeps NaN."
        )
    )


def assert_empty_rows_see_nothing(attention: Any) -> None:
    """Check that a query with no visible key gets finite numbers that depend on no key.

    Its weights, if there are any, must be 0, and its gradient finite. This is a choice that
    libraries make differently: `attnkit` and `F.scaled_dot_product_attention` give 0,
    `nn.MultiheadAttention` gives NaN when it is asked for weights, and a finite fill gives the
    average of what was hidden.

    Raises:
        AssertionError: with what was found instead.

    Example:
        >>> import attnkit
        >>> assert_empty_rows_see_nothing(attnkit.MultiHeadAttention(8, 2))
    """
    attention = adapt(attention)
    _needs_mask(attention, "assert_empty_rows_see_nothing")
    for length in (1, *LENGTHS):
        mask = torch.ones(1, length, length, dtype=torch.bool, device=attention.device)
        mask[:, 0] = False
        inputs = [x.clone().requires_grad_() for x in attention.inputs(1, length, length, seed=4)]
        output, weights = attention(*inputs, mask)
        what = None
        if not output.isfinite().all():
            what = "gets NaN or Inf. -inf on a whole row makes the softmax 0/0"
        elif output.requires_grad and not _finite_gradients(output, inputs):
            what = "gets a gradient of NaN. The output is repaired, the softmax before it was 0/0"
        elif weights is not None and bool((weights[..., 0, :] != 0).any()):
            row = weights[..., 0, :].detach().flatten(0, -2)[0].tolist()
            shown = ", ".join(f"{x:.2f}" for x in row)
            what = (
                f"has weights ({shown}) on hidden keys. A finite fill makes the scores of a "
                "row all alike, and their softmax uniform"
            )
        else:
            found = seen(attention, 1, length, length, mask)[0, 0]
            found[0] &= not attention.self_attention
            if found.any():
                what = "depends on hidden keys. A finite fill makes its weights uniform"
        if what:
            raise AssertionError(
                f"assert_empty_rows_see_nothing: query 0, with no visible key, {what} "
                f"({attention.name}, {length} queries and keys).\n    Likely bug: no case for "
                "a fully masked row: set its weights to 0, before and not after they are used."
            )


def _finite_gradients(output: Tensor, inputs: list[Tensor]) -> bool:
    grads = torch.autograd.grad(output.square().sum(), inputs, allow_unused=True)
    return all(grad is None or bool(grad.isfinite().all()) for grad in grads)


def assert_combines_masks(attention: Any) -> None:
    """Check a mask of its own for each sequence and query, drawn at random.

    Where `assert_causal` and `assert_padding_invariant` use the two masks that everybody uses,
    this one catches what only they get right, and a mask of one sequence used for another.

    Raises:
        AssertionError: with both maps of the sequence that is wrong.

    Example:
        >>> import torch
        >>> assert_combines_masks(torch.nn.MultiheadAttention(8, 2))
    """
    attention = adapt(attention)
    _needs_mask(attention, "assert_combines_masks")
    if attention.causal:
        raise NotApplicable("assert_combines_masks: the attention adds a causal mask of its own")
    for batch, length in ((1, 2), (2, 2), (2, 3), (3, 4)):
        mask = random_mask(attention, batch, length, length, seed=length)
        found = seen(attention, batch, length, length, mask)
        own = torch.eye(length, dtype=torch.bool) & attention.self_attention
        wanted = mask.cpu() | own
        for sequence in range(batch):
            if not torch.equal(found[sequence], wanted[sequence]):
                raise AssertionError(
                    f"assert_combines_masks: sequence {sequence} of {batch} ({attention.name}, "
                    f"length {length}) sees other keys than its mask says.\n"
                    f"{side_by_side(wanted[sequence], found[sequence])}\n    Likely bug: "
                    f"{likely(wanted[sequence], found[sequence], True)}"
                )


def _needs_mask(attention: Adapted, check: str) -> None:
    if not attention.takes_mask:
        raise NotApplicable(f"{check}: {attention.name} takes no mask")


def _largest(one: Tensor, other: Tensor) -> str:
    difference = (one - other).abs().max().item()
    return " by NaN" if difference != difference else f" by {difference:.3g}"


def seen(
    attention: Adapted,
    batch: int,
    queries: int,
    keys: int,
    mask: Tensor | None,
    *,
    train: bool = False,
    seed: int = 0,
) -> Tensor:
    """Measure which query's output depends on which key: boolean (batch, queries, keys).

    Key and value j are replaced, by numbers of ordinary size and by large ones; every query
    whose output moves has seen them. The inputs are small, so that no visible key gets a weight
    too small to notice. In self-attention a replaced token moves its own output, seen or not.
    """
    inputs = attention.inputs(batch, queries, keys, std=0.3, seed=seed)
    base, _ = attention(*inputs, mask, train=train)
    pairs = torch.zeros(batch, queries, keys, dtype=torch.bool)
    for j in range(keys):
        for std in (0.3, 30.0):
            changed = [x.clone() for x in inputs]
            others = attention.inputs(batch, queries, keys, std=std, seed=seed + 1 + j)
            for n in (0,) if attention.self_attention else (1, 2):
                changed[n][..., j, :] = others[n][..., j, :]
            output, _ = attention(*changed, mask, train=train)
            # Against what was there before: the rows that see the large numbers are larger.
            moved = ~((output - base).abs() <= TOLERANCE[base.dtype] * base.abs().max())
            pairs[:, :, j] |= moved.flatten(3).any(-1).any(1) if moved.dim() > 3 else moved.any(-1)
    return pairs


def repeatable(attention: Adapted, *, train: bool) -> bool:
    """Whether two calls with the same seed give the same numbers."""
    inputs, mask = attention.inputs(1, 2, 2), None
    if attention.takes_mask:
        mask = torch.ones(1, 2, 2, dtype=torch.bool, device=attention.device)
    one, other = (attention(*inputs, mask, train=train)[0] for _ in range(2))
    return bool(torch.equal(one, other))


def picture(pairs: Tensor) -> list[str]:
    """A map of who sees whom, one line a query."""
    return [" ".join("■" if x else "·" for x in row) for row in pairs.tolist()]


def side_by_side(expected: Tensor, found: Tensor) -> str:
    """Both maps in columns; rows are queries, columns keys."""
    left, right = picture(expected), picture(found)
    width = max(len("expected"), len(left[0])) + 4
    lines = ["expected".ljust(width) + "found"]
    lines += [a.ljust(width) + b for a, b in zip(left, right, strict=True)]
    return "\n".join("    " + line for line in lines)


def likely(expected: Tensor, found: Tensor, mask_given: bool) -> str:
    """Name the bug that makes this map out of that one."""
    queries, keys = expected.shape
    if queries != keys and torch.equal(found, masks.causal(queries, keys, offset=0)):
        return (
            "causal, but aligned at the upper left: the first query sits at the first key. With a "
            "cache the last query sits at the last key (offset = S - L); `is_causal=True` of "
            "F.scaled_dot_product_attention does not do that."
        )
    if found.all():
        why = "the causal mask is missing, never reached the scores, or is"
        if mask_given:
            why = "the mask is accepted and ignored, not passed on, or"
        return f"every key moves every query: {why} applied after the softmax."
    own = torch.eye(queries, keys, dtype=torch.bool)
    partly = ~expected.all(-1)  # the rows in which something is hidden
    for other in (~expected, ~expected | own):
        if partly.any() and torch.equal(found[partly], other[partly]):
            return "the mask's polarity is flipped: True is read as 'ignore'. Pass ~mask."
    if queries == keys and torch.equal(found, expected.mT):
        return "the mask is transposed, or broadcast over the queries in place of the keys."
    if torch.equal(expected, masks.causal(queries, keys, offset=keys - queries)):
        for shift in range(-keys, keys):
            if torch.equal(found, masks.causal(queries, keys, offset=keys - queries + shift)):
                where = "off by one" if abs(shift) == 1 else "in the wrong place"
                return f"a causal mask {where}: its diagonal is shifted by {shift}."
    if not found.any(-1).all():
        return "some queries see nothing at all: is the mask broadcast over the wrong axis?"
    extra, missing = (found & ~expected).any(), (expected & ~found).any()
    widest, wanted = found.sum(-1).max().item(), expected.sum(-1).max().item()
    if extra != missing and widest != wanted and wanted < keys:
        return (
            f"queries see up to {widest} keys, expected {wanted}: a window that counts from the "
            "wrong key. Does the number include the query's own key?"
        )
    if extra and missing:
        return (
            "keys are mixed up: is the mask broadcast over the wrong axis, or are batch, heads "
            "and length swapped in a view or transpose?"
        )
    if extra:
        return (
            "hidden keys leak: through the softmax's denominator, a finite fill, or a wrong view."
        )
    return (
        "visible keys are not seen: the mask hides too much, or a view or transpose mixes up "
        "batch, heads and length."
    )
