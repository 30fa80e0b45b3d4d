"""Entropy, its penalty and the residual of rank do what their formulas say."""

from functools import partial

import pytest
import torch
from torch.autograd import gradcheck

from attnlab import metrics
from attnlab.metrics import collapse as regularizers

WEIGHTS = torch.randn(2, 3, 4, 5, dtype=torch.float64).softmax(-1)


def test_low_entropy_penalty_counts_the_rows_that_count():
    penalty = partial(regularizers.low_entropy_penalty, minimum=2.0)
    missing = 2.0 - metrics.entropy(WEIGHTS)
    assert penalty(WEIGHTS).item() == pytest.approx(missing.mean().item())
    rows = torch.tensor([True, True, False, False])
    expected = missing[..., :2].mean().item()
    assert penalty(WEIGHTS, rows=rows).item() == pytest.approx(expected)
    with_empty = torch.cat([WEIGHTS, torch.zeros(2, 3, 1, 5)], -2)
    assert penalty(with_empty).item() == pytest.approx(missing.mean().item())
    assert penalty(torch.zeros(2, 3)).item() == 0
    even = torch.full((3, 4), 0.25)
    assert penalty(even, minimum=1.38).item() == 0, "log 4 is more"


def test_gradients_are_right_and_finite_at_one_hot_rows():
    scores = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: regularizers.low_entropy_penalty(x.softmax(-1), minimum=1.2), scores)
    hot = torch.eye(3).requires_grad_()
    regularizers.low_entropy_penalty(hot, minimum=1.0).backward()
    assert hot.grad.isfinite().all()


def test_rank_one_residual():
    assert regularizers.rank_one_residual(torch.ones(2, 5, 3)).tolist() == [0, 0]
    x = torch.randn(6, 4)
    expected = torch.linalg.norm(x - x.mean(0)) / torch.linalg.norm(x)
    assert regularizers.rank_one_residual(x).item() == pytest.approx(expected.item())
    assert regularizers.rank_one_residual(torch.zeros(3, 3)).item() == 0
