"""Tiled additive attention: equal to the plain form, in its memory and its refusals."""

import math
from functools import partial

import pytest
import torch

from attnkit import masks
from attnkit.efficient import tiled_additive
from attnkit.efficient.tiled_additive import PairTanh, scores_in_tiles, tiled_additive_attention
from attnkit.functional import additive_scores, attend
from tests.attnkit.efficient.memory import largest_tensor
from tests.attnkit.efficient.same import assert_same, drawn, random
from tests.refusals.wrong_calls import refused

MASKS = {
    "none": lambda lead, L, S: None,
    "causal": lambda lead, L, S: masks.causal(L, S, offset=S - L),
    "upper-left": lambda lead, L, S: masks.causal(L, S, offset=0),
    "window": lambda lead, L, S: masks.sliding_window(L, S, window=3, offset=0),
    "keys": lambda lead, L, S: random(*lead, 1, S) < 0.5,
    "holes": lambda lead, L, S: (random(*lead, L, S) < 0.4) & (random(*lead, L, 1) < 0.7),
    "nothing": lambda lead, L, S: torch.zeros(L, S, dtype=torch.bool),
}


def problem(lead=(2,), L=7, S=9, A=5, Ev=3, *, scale=1.0, dtype=torch.float64):
    shapes = (*lead, L, A), (*lead, S, A), (A,), (*lead, S, Ev)
    query, key, v, value = (x.detach() for x in drawn(*shapes, seed=L * 1000 + S, dtype=dtype))
    return [x.requires_grad_() for x in (query * scale, key * scale, v, value)]


def plain(query, key, v, value, *, mask=None):
    return attend(additive_scores(query, key, v), value, mask=mask).output


def tiled(query, key, v, value, *, mask=None):
    return tiled_additive_attention(query, key, v, value, mask=mask).output


def assert_plain(inputs, *, mask=None, tolerance=1e-10):
    forms = (partial(form, mask=mask) for form in (tiled, plain))
    assert_same(*forms, inputs, tolerance, relative=True)


def test_every_pair_is_visited_once():
    query, key = (x.detach() for x in problem((3,), 17, 23, 4)[:2])
    tanh = PairTanh(query, key)
    for tiles in (
        tanh.tiles(tanh.whole),
        (tile for band in tanh.bands() for tile in tanh.tiles(band)),
    ):
        visits = torch.zeros(tanh.shape, dtype=torch.int)
        for tile in tiles:
            visits[tile] += 1
        assert (visits == 1).all()


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())
@pytest.mark.parametrize("L, S", [(1, 1), (1, 7), (7, 1), (7, 129), (129, 7), (33, 33)])
def test_value_and_gradient_are_those_of_the_plain_form(L, S, mask):
    assert_plain(problem(L=L, S=S), mask=mask((2,), L, S))


@pytest.mark.parametrize("lead", [(), (1,), (3,), (2, 3), (2, 1, 2)], ids=str)
@pytest.mark.parametrize("hidden", [1, 96, 200])
def test_any_leading_dimensions_and_hidden_size(lead, hidden):
    mask = MASKS["holes"](lead, 5, 4)
    assert_plain(problem(lead, 5, 4, hidden), mask=mask)


@pytest.mark.parametrize("scale, form", [(0.01, "tanh"), (1, "exponentials"), (300, "sum")])
def test_every_form_of_tanh(scale, form):
    inputs = problem(scale=scale)
    assert PairTanh(*inputs[:2]).form.__name__ == f"_of_{form}"
    assert_plain(inputs)
    assert_plain(problem(scale=scale, dtype=torch.float32), tolerance=1e-5)


@pytest.mark.parametrize("scale", [1e-3, 0.1, 0.3, 1.0, 4.0, 100.0])
def test_error_in_float32_is_at_most_twice_that_of_the_plain_form(scale):
    inputs = [x.detach() for x in problem((4,), 64, 64, 32, 8, scale=scale, dtype=torch.float32)]
    exact = additive_scores(*(x.double() for x in inputs[:3]))
    errors = [
        (scores(*inputs[:3]).double() - exact).square().mean().sqrt()
        for scores in (scores_in_tiles, additive_scores)
    ]
    assert errors[0] <= 2 * errors[1]


def test_scores_alone():
    inputs = problem((2, 3), 7, 12)[:3]
    assert_same(scores_in_tiles, additive_scores, inputs, relative=True)


def test_leading_dimensions_broadcast():
    query, key, v, value = problem((2, 1), 5, 6)
    key, value = problem((3,), 5, 6)[1], problem((1, 3), 5, 6)[3]
    mask = random(3, 1, 6) < 0.7
    assert tiled(query, key, v, value, mask=mask).shape == (2, 3, 5, 3)
    assert_plain([query, key, v, value], mask=mask)


def test_strided_inputs():
    inputs = [x.detach().mT.contiguous().mT if x.dim() > 1 else x.detach() for x in problem()]
    assert not inputs[0].is_contiguous()
    strided_v = torch.stack([inputs[2], inputs[2]], -1)[:, 0]
    inputs = [x.requires_grad_() for x in (inputs[0], inputs[1], strided_v, inputs[3])]
    assert_plain(inputs, mask=random(2, 9, 7).mT < 0.5)


@pytest.mark.parametrize("wanted", range(4), ids=["query", "key", "v", "value"])
def test_only_one_input_needs_a_gradient(wanted):
    inputs = problem()
    expected = torch.autograd.grad(plain(*inputs).square().sum(), inputs[wanted])[0]
    inputs = [x if i == wanted else x.detach() for i, x in enumerate(inputs)]
    actual = torch.autograd.grad(tiled(*inputs).square().sum(), inputs[wanted])[0]
    assert (actual - expected).abs().max() < 1e-10


@pytest.mark.build
def test_memory_is_linear_in_the_lengths():
    largest = []
    for length in (32, 64, 128):
        inputs = problem((2,), length, length, 16, 4)
        largest.append(largest_tensor(lambda x=inputs: tiled(*x).sum().backward()))
    inputs_size = [2 * length * 16 for length in (32, 64, 128)]
    bands = 2 * 128 * 4  # a band of four rows, at most
    assert all(x <= max(y, bands) for x, y in zip(largest, inputs_size, strict=True))
    assert largest_tensor(lambda: plain(*inputs).sum().backward()) == 2 * 128 * 128 * 16


def test_keys_that_nobody_sees_are_skipped():
    query, key = (x.detach() for x in problem((1,), 64, 64, 4)[:2])
    tanh = PairTanh(query, key, masks.sliding_window(64, window=4)[None])
    pairs = sum(
        math.prod(s.stop - s.start for s in tile)
        for band in tanh.bands()
        for tile in tanh.tiles(band)
    )
    assert pairs < 64 * 64 / 3
    nothing = PairTanh(query, key, torch.zeros(1, 64, 64, dtype=torch.bool))
    assert not list(nothing.bands())


def test_a_tile_has_a_few_queries_however_many_keys_there_are():
    query, key = (x.detach() for x in problem((1,), 64, 64, 4)[:2])
    tanh = PairTanh(query, key)
    tiles = [tile for band in tanh.bands() for tile in tanh.tiles(band)]
    assert min(tile.rows.stop - tile.rows.start for tile in tiles) == tiled_additive.ROWS


def test_small_problems_and_decoder_steps_take_the_plain_form(monkeypatch):
    monkeypatch.undo()
    worth = tiled_additive.worth_tiling
    assert not worth(torch.empty(8, 16, 64), torch.empty(8, 16, 64))
    assert not worth(torch.empty(512, 1, 256), torch.empty(512, 64, 256))
    assert worth(torch.empty(8, 256, 128), torch.empty(8, 256, 128))
    assert worth(torch.empty(256, 128), torch.empty(8, 256, 128))


def test_second_derivatives():
    mask = masks.causal(3, 4, offset=1)
    inputs = problem((1,), 3, 4, 2, 2)
    assert torch.autograd.gradgradcheck(lambda *x: tiled(*x, mask=mask), inputs)
    assert torch.autograd.gradgradcheck(scores_in_tiles, inputs[:3])
    query, *others = inputs
    grad = torch.autograd.grad(
        tiled(query, *(x.detach() for x in others)).sum(), query, create_graph=True
    )[0]
    assert torch.autograd.grad(grad.sum(), query)[0].abs().max() > 0


Q, K, V, X = torch.randn(2, 5, 8), torch.randn(2, 7, 8), torch.randn(8), torch.randn(2, 7, 4)


def call(query=Q, key=K, v=V, value=X, **options):
    return tiled_additive_attention(query, key, v, value, **options)


test_wrong_calls = refused("efficient", "tiled additive", names=globals())
