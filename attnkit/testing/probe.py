"""What the checks measure: who sees whom, which scale is in use, how far two outputs differ."""

import torch
from torch import Tensor

from attnkit import masks
from attnkit.testing.adapter import Adapted, NotApplicable

#: How far an output may move, relative to its largest number, and still count as the same.
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.bfloat16: 0.1, torch.float16: 0.02}


def same(one: Tensor, other: Tensor, *, loose: float = 1.0) -> Tensor:
    """Elementwise, whether two outputs agree; NaN agrees with nothing."""
    largest = torch.cat([one.flatten(), other.flatten()]).nan_to_num(0.0, 0.0, 0.0).abs().max()
    tolerance = TOLERANCE[one.dtype] * loose * largest.clamp_min(1e-30)
    return (one - other).abs() <= tolerance


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
        if not mask_given:
            return "nothing is masked: the causal mask is missing, or never reached the scores."
        return (
            "the mask has no effect: it is accepted and ignored, not passed on, or applied where "
            "it cannot be felt."
        )
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


def random_mask(
    attention: Adapted, batch: int, queries: int, keys: int, seed: int
) -> Tensor | None:
    """A random mask in which every query sees a key, its own where there is one."""
    if not attention.takes_mask:
        return None
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(batch, queries, keys, generator=generator) < 0.6
    mask |= torch.arange(queries)[:, None] % keys == torch.arange(keys)
    return mask.to(attention.device)


def recover_weights(
    attention: Adapted, query: Tensor, key: Tensor, mask: Tensor | None = None
) -> Tensor:
    """The weights, returned, or read off values that are unit vectors: (B, H, L, S)."""
    if attention.self_attention:
        key = query
    value = attention.inputs(query.shape[0], query.shape[-2], key.shape[-2])[2]
    if attention.heads is not None:
        size = key.shape[-2]
        value = torch.eye(size, dtype=key.dtype, device=key.device).expand(*key.shape[:-1], size)
        return attention(query, key, value, mask)[0]
    weights = attention(query, key, value, mask)[1]
    if weights is None:
        raise NotApplicable(f"{attention.name} returns no weights, and its values are projected")
    return weights.unsqueeze(1) if weights.dim() == 3 else weights


def fit_scale(attention: Adapted, queries: int, keys: int, seed: int) -> tuple[Tensor, Tensor, int]:
    """Fit log-weights to products of query and key: slope and residual of each head, and D.

    Of weights that are a softmax of scale * q·k the differences of the logarithms are scale times
    the differences of the products, whatever else was added to a row.
    """
    if attention.project is None:
        raise NotApplicable(
            f"the projected heads of {attention.name} are not known: give adapt(project=...)"
        )
    query, key, _ = attention.inputs(1, queries, keys, std=1.0, seed=seed)
    with torch.no_grad():
        weights = recover_weights(attention, query, key)[0].double()  # (H, L, S)
        q, k = (x[0].double() for x in attention.project(query, key))  # (H, L, D), (H, S, D)
    if k.shape[0] != q.shape[0]:
        k = k.repeat_interleave(q.shape[0] // k.shape[0], 0)
    if weights.shape[0] != q.shape[0]:
        raise NotApplicable(
            f"{attention.name} returns weights of {weights.shape[0]} heads, and has {q.shape[0]}"
        )
    products = q @ k.mT  # (H, L, S)
    logs = weights.clamp_min(1e-30).log()
    kept = (weights > 1e-6) & (weights[..., :1] > 1e-6)  # what underflowed says nothing
    products = ((products - products[..., :1]) * kept).flatten(1)
    logs = ((logs - logs[..., :1]) * kept).flatten(1)
    slope = (products * logs).sum(1) / products.square().sum(1).clamp_min(1e-30)
    residual = (logs - slope[:, None] * products).norm(dim=1) / logs.norm(dim=1).clamp_min(1e-12)
    return slope, residual, q.shape[-1]
