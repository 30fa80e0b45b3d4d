"""Entropy penalties and ranks do what their formulas say, with gradients that can be used."""

import math

import pytest
import torch
from torch.autograd import gradcheck

from attnlab import metrics
from attnlab.metrics import collapse as regularizers

WEIGHTS = torch.randn(2, 3, 4, 5, dtype=torch.float64).softmax(-1)


def test_mean_entropy_counts_the_rows_that_count():
    assert regularizers.mean_entropy(WEIGHTS).item() == pytest.approx(
        metrics.entropy(WEIGHTS).mean().item()
    )
    rows = torch.tensor([True, True, False, False])
    picked = metrics.entropy(WEIGHTS[..., :2, :]).mean()
    assert regularizers.mean_entropy(WEIGHTS, rows).item() == pytest.approx(picked.item())
    with_empty = torch.cat([WEIGHTS, torch.zeros(2, 3, 1, 5)], -2)
    assert regularizers.mean_entropy(with_empty).item() == pytest.approx(
        metrics.entropy(WEIGHTS).mean().item()
    )
    assert regularizers.mean_entropy(torch.zeros(2, 3)).item() == 0


def test_low_entropy_penalty_is_nothing_above_its_minimum():
    sharp = torch.tensor([[1.0, 0.0], [0.5, 0.5]])
    assert regularizers.low_entropy_penalty(sharp, minimum=0.6).item() == pytest.approx(0.3)
    even = torch.full((3, 4), 0.25)
    assert regularizers.low_entropy_penalty(even, minimum=1.38).item() == 0
    assert regularizers.low_entropy_penalty(even, minimum=1.5).item() == pytest.approx(
        1.5 - math.log(4)
    )
    rows = torch.tensor([False, True])
    assert regularizers.low_entropy_penalty(sharp, minimum=0.6, rows=rows).item() == 0


def test_gradient_steps_on_the_penalty_raise_low_entropy_to_the_minimum_and_stop():
    scores = torch.tensor([[6.0, 0.0, 0.0, 0.0], [0.1, 0.0, 0.0, 0.0]], requires_grad=True)
    before = metrics.entropy(scores.softmax(-1)).detach()
    optimizer = torch.optim.SGD([scores], lr=5.0)
    for _ in range(400):
        optimizer.zero_grad()
        regularizers.low_entropy_penalty(scores.softmax(-1), minimum=0.9).backward()
        optimizer.step()
    after = metrics.entropy(scores.softmax(-1)).detach()
    assert before[0] < 0.1
    assert after[0].item() == pytest.approx(0.9, abs=0.1)
    assert after[1] == before[1], "a row above the minimum is left alone"


def test_gradients_are_right_and_finite_at_one_hot_rows():
    scores = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: regularizers.mean_entropy(x.softmax(-1)), scores)
    assert gradcheck(lambda x: regularizers.low_entropy_penalty(x.softmax(-1), minimum=1.2), scores)
    hot = torch.eye(3).requires_grad_()
    regularizers.low_entropy_penalty(hot, minimum=1.0).backward()
    assert hot.grad.isfinite().all()


def test_effective_rank_between_one_and_full():
    assert regularizers.effective_rank(torch.eye(6)).item() == pytest.approx(6)
    column, row = torch.rand(5, 1), torch.rand(1, 7)
    assert regularizers.effective_rank(column @ row).item() == pytest.approx(1, abs=1e-3)
    assert regularizers.effective_rank(torch.zeros(3, 3)).item() == 0
    diagonal = torch.diag(torch.tensor([3.0, 1.0]))  # p = 3/4, 1/4
    expected = math.exp(-(0.75 * math.log(0.75) + 0.25 * math.log(0.25)))
    assert regularizers.effective_rank(diagonal).item() == pytest.approx(expected)
    ranks = regularizers.effective_rank(torch.randn(20, 4, 6))
    assert ranks.shape == (20,)
    assert ((ranks > 1) & (ranks <= 4)).all()


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_effective_rank_knows_neither_scale_nor_rotation(factor):
    matrix = torch.randn(5, 5, dtype=torch.float64)
    turn = torch.linalg.qr(torch.randn(5, 5, dtype=torch.float64))[0]
    expected = regularizers.effective_rank(matrix).item()
    assert regularizers.effective_rank(factor * turn @ matrix).item() == pytest.approx(expected)


def test_stacked_rank_is_that_of_the_product_in_order():
    layers = [torch.randn(2, 6, 6, dtype=torch.float64).softmax(-1) for _ in range(3)]
    ranks = regularizers.stacked_rank(layers)
    assert ranks.shape == (3, 2)
    for depth, product in enumerate(
        (layers[0], layers[1] @ layers[0], layers[2] @ layers[1] @ layers[0])
    ):
        assert torch.allclose(ranks[depth], regularizers.effective_rank(product))


def test_stacked_attention_loses_rank_with_depth_as_dong_et_al_prove():
    torch.manual_seed(0)
    layers = [torch.randn(16, 16, dtype=torch.float64).softmax(-1) for _ in range(10)]
    ranks = regularizers.stacked_rank(layers)
    assert (ranks[1:] < ranks[:-1]).all()
    assert ranks[-1].item() == pytest.approx(1, abs=1e-3)


def test_rank_one_residual():
    assert regularizers.rank_one_residual(torch.ones(2, 5, 3)).tolist() == [0, 0]
    x = torch.randn(6, 4)
    expected = torch.linalg.norm(x - x.mean(0)) / torch.linalg.norm(x)
    assert regularizers.rank_one_residual(x).item() == pytest.approx(expected.item())
    assert regularizers.rank_one_residual(torch.zeros(3, 3)).item() == 0
    for _ in range(20):  # no other single row comes closer than the mean
        other = x.mean(0) + 0.1 * torch.randn(4)
        assert torch.linalg.norm(x - other) >= torch.linalg.norm(x - x.mean(0))
