"""Collapse of attention: entropy, its penalty, and what is left of rank.

Dropout of the weights themselves is `dropout_p` of `functional.attend` and `dropout` of the
modules (Vaswani et al. 2017, as commonly implemented); the rest is here.
"""

import torch
from torch import Tensor

from attnkit.guard import checks
from attnkit.guard.dtypes import widen


def entropy(weights: Tensor) -> Tensor:
    """Entropy of each row of weights in nats: H = -sum_j w_j ln w_j.

    0 when one key has all the weight, ln S when S keys share it evenly. Masked keys, with weight
    0, add nothing, and a fully masked row has entropy 0. Gradients are finite throughout.

    Args:
        weights: (..., S), non-negative. Computed in at least float32.

    Returns:
        (...), one number for each row.

    Raises:
        TypeError: `weights` is not a floating tensor.
        ValueError: it has no dimensions.

    >>> entropy(torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    tensor([0.6931, 0.0000, 0.0000])
    """
    checks.floating("weights", weights)
    checks.dims("weights", weights, 1, "(..., S)")
    (wide,) = widen(weights)
    logarithm = torch.where(wide == 0, 1.0, wide).log()  # ln 0 never arises, in the gradient too
    return (0.0 - (wide * logarithm).sum(-1)).clamp(min=0)  # (...)


def low_entropy_penalty(weights: Tensor, *, minimum: float, rows: Tensor | None = None) -> Tensor:
    """Mean of max(0, minimum - H) over the rows that count: no cost for attention that is spread.

    Entropy collapse, where rows come close to one-hot early in training, goes with unstable
    training (Zhai et al. 2023). The penalty pushes back below `minimum` only.

    Args:
        weights: (..., L, S).
        minimum: entropy in nats below which a row costs; at most ln S makes sense.
        rows: boolean, broadcastable to (..., L), True for queries that count.

    Raises:
        TypeError: `weights` is not floating, `minimum` is not a number, or `rows` not boolean.
        ValueError: `minimum` is not positive, or `rows` does not broadcast.

    >>> low_entropy_penalty(torch.tensor([[0.5, 0.5], [1.0, 0.0]]), minimum=0.5)
    tensor(0.2500)
    """
    checks.positive("minimum", minimum)
    missing = (minimum - entropy(weights)).relu()  # (..., L)
    return _mean(missing, _counting(weights, rows))


def rank_one_residual(x: Tensor) -> Tensor:
    r"""How far the rows of x are from all being the same, 0 to 1.

    .. math:: \frac{\lVert x - 1 m^\top \rVert}{\lVert x \rVert}

    The norm is Frobenius', and m, the mean row, is the best single row (Dong et al. 2021 follow
    the same residual through depth in another norm). 0 for a matrix of zeros.

    Args:
        x: (..., L, E), such as the states after a layer, or (..., L, S), weights.

    Returns:
        (...), one number for each matrix.

    Raises:
        TypeError: `x` is not a floating tensor.
        ValueError: it has fewer than two dimensions, or holds NaN or Inf.

    >>> rank_one_residual(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))
    tensor(1.)
    """
    _finite_matrix("x", x)
    residual = (x - x.mean(-2, keepdim=True)).flatten(-2).norm(dim=-1)  # (...)
    size = x.flatten(-2).norm(dim=-1)  # (...)
    return residual / torch.where(size == 0, 1.0, size)  # (...)


def _counting(weights: Tensor, rows: Tensor | None) -> Tensor:
    """Which rows count: those that are not fully masked, and are True in `rows`. (..., L)"""
    checks.dims("weights", weights, 2, "(..., L, S)")
    counting = (weights.detach() != 0).any(-1)  # (..., L)
    if rows is None:
        return counting
    checks.boolean("rows", rows)
    return counting & checks.broadcasts_to("rows", rows, counting.shape, "(..., L)")


def _mean(values: Tensor, counting: Tensor) -> Tensor:
    return torch.where(counting, values, 0.0).sum() / counting.sum().clamp(min=1)


def _finite_matrix(name: str, value: Tensor) -> None:
    checks.floating(name, value)
    checks.dims(name, value, 2, "(..., rows, columns)")
    if not value.isfinite().all():
        checks.fail(name, "finite numbers", "NaN or Inf")
