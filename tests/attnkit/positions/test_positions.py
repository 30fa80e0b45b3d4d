"""Positions: against the papers' formulas written out, and by the properties they are made for."""

import math

import pytest
import torch
from torch.testing import assert_close

from attnkit import MultiHeadAttention, positions

LAYOUTS = ["interleaved", "half"]


@pytest.mark.parametrize("offset", [0, 7])
def test_sinusoidal_is_the_papers_formula(offset):
    table = positions.sinusoidal(5, 6, offset=offset, dtype=torch.float64)
    for p in range(5):
        for i in range(3):
            angle = (p + offset) / 10000 ** (2 * i / 6)
            assert table[p, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-12)
            assert table[p, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-12)


def test_sinusoidal_is_precise_far_out():
    far = positions.sinusoidal(1, 2, offset=1_000_000)
    assert far[0, 0].item() == pytest.approx(math.sin(1_000_000), abs=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_sinusoidal_module_adds_the_table_and_keeps_the_dtype(dtype):
    x = torch.randn(2, 3, 5, 8).to(dtype)
    kept = x.clone()
    out = positions.SinusoidalPositions(8)(x, offset=2)
    assert out.dtype == dtype
    assert_close(out, x + positions.sinusoidal(5, 8, offset=2, dtype=dtype))
    assert torch.equal(x, kept)


def test_learned_positions_add_their_rows_and_learn():
    module = positions.LearnedPositions(6, 4)
    x = torch.randn(2, 3, 4)
    assert_close(module(x, 3) - x, module.weight[3:6].expand(2, 3, 4), atol=1e-6, rtol=1e-5)
    module(x, 3).sum().backward()
    assert_close(module.weight.grad[:3], torch.zeros(3, 4))
    assert_close(module.weight.grad[3:], torch.full((3, 4), 2.0))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rotary_is_the_rotation_of_each_pair(layout):
    x = torch.randn(3, 6, dtype=torch.float64)
    turned = positions.rotary(x, 5, layout=layout)
    for p in range(3):
        for i in range(3):
            a, b = (2 * i, 2 * i + 1) if layout == "interleaved" else (i, i + 3)
            angle = (p + 5) * 10000 ** (-2 * i / 6)
            pair = complex(x[p, a], x[p, b]) * complex(math.cos(angle), math.sin(angle))
            assert turned[p, a].item() == pytest.approx(pair.real, abs=1e-12)
            assert turned[p, b].item() == pytest.approx(pair.imag, abs=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_rotary_in_half_precision_turns_in_float32(dtype):
    x = torch.randn(1, 60, 8).to(dtype)
    turned = positions.rotary(x, 30_000)
    assert turned.dtype == dtype
    # Turned in float32 and rounded once, it is the rounded truth but for ties.
    assert (turned == positions.rotary(x.double(), 30_000).to(dtype)).double().mean() > 0.99


def test_rotary_in_multihead_attention_sees_order_and_only_distances():
    torch.manual_seed(0)
    attention = MultiHeadAttention(8, 2).double()
    x = torch.randn(1, 5, 8, dtype=torch.float64)
    rotary = positions.Rotary(4)
    plain = attention(x, rotate=rotary).output
    shifted = attention(x, rotate=lambda x, offset: rotary(x, offset + 100)).output
    assert_close(plain, shifted)
    turned_round = attention(x.flip(1), rotate=rotary).output.flip(1)
    assert not torch.allclose(plain, turned_round)


def test_alibi_slopes_of_a_power_of_two():
    assert_close(positions.alibi_slopes(8), 2.0 ** -torch.arange(1.0, 9.0))
    assert_close(positions.alibi_slopes(16), 2.0 ** -torch.arange(0.5, 8.5, 0.5))
    assert_close(positions.alibi_slopes(1), torch.tensor([2.0**-8]))


def test_alibi_slopes_of_other_numbers_of_heads_are_those_of_the_authors_code():
    # get_slopes(12) of the authors: the eight of H = 8, then every other one of H = 16.
    expected = [2.0**-i for i in range(1, 9)] + [2.0**-i for i in (0.5, 1.5, 2.5, 3.5)]
    assert_close(positions.alibi_slopes(12), torch.tensor(expected))
    expected = [2.0**-4, 2.0**-8, 2.0**-2]
    assert_close(positions.alibi_slopes(3), torch.tensor(expected))


def test_alibi_is_minus_slope_times_distance():
    bias = positions.alibi(4, 3, 5, offset=2)
    slopes = positions.alibi_slopes(4)
    assert bias.shape == (4, 3, 5)
    for h in range(4):
        for i in range(3):
            for j in range(5):
                assert bias[h, i, j].item() == pytest.approx(-slopes[h].item() * abs(i + 2 - j))


@pytest.mark.parametrize(
    "bias",
    [
        lambda *sizes, **offset: positions.alibi(3, *sizes, **offset),
        positions.ClippedRelativeBias(3, 4),
        positions.BucketedRelativeBias(3, num_buckets=8, max_distance=12),
        positions.BucketedRelativeBias(3, num_buckets=8, max_distance=12, bidirectional=False),
    ],
    ids=["alibi", "clipped", "bucketed", "bucketed-causal"],
)
def test_a_bias_depends_on_the_distance_alone_and_continues_at_an_offset(bias):
    if isinstance(bias, torch.nn.Module):
        torch.nn.init.normal_(bias.weight)
    whole = bias(20)
    assert whole.shape == (3, 20, 20)
    for distance in range(-19, 20):
        diagonal = whole.diagonal(distance, 1, 2)
        assert_close(diagonal, diagonal[:, :1].expand_as(diagonal))
    assert_close(bias(5, 20, offset=15), whole[:, 15:])
    assert_close(bias(1, 8, offset=7), whole[:, 7:8, :8])


def test_clipped_bias_shares_a_weight_beyond_its_distance():
    bias = positions.ClippedRelativeBias(2, 3)
    torch.nn.init.normal_(bias.weight)
    table = bias(10)
    assert_close(table[:, 0, 3:], table[:, 0, 3:4].expand(2, 7))
    assert len(set(table[0, 5].tolist())) == 7
    assert_close(table[:, 0, 1], bias.weight[:, 4])


def _t5_bucket(ahead, bidirectional, num_buckets, max_distance):
    """Raffel et al.'s code, one number at a time."""
    bucket, distance = 0, -ahead
    if bidirectional:
        num_buckets //= 2
        if distance < 0:
            bucket += num_buckets
        distance = abs(distance)
    else:
        distance = max(distance, 0)
    exact = num_buckets // 2
    if distance < exact:
        return bucket + distance
    log = math.log(distance / exact) / math.log(max_distance / exact) * (num_buckets - exact)
    return bucket + min(exact + int(log + 1e-9), num_buckets - 1)


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("num_buckets, max_distance", [(32, 128), (8, 20), (4, 9)])
def test_buckets_are_those_of_t5(bidirectional, num_buckets, max_distance):
    bias = positions.BucketedRelativeBias(
        1, num_buckets=num_buckets, max_distance=max_distance, bidirectional=bidirectional
    )
    ahead = torch.arange(-300, 301)
    expected = [_t5_bucket(a, bidirectional, num_buckets, max_distance) for a in ahead.tolist()]
    assert bias.bucket(ahead).tolist() == expected
    assert set(expected) <= set(range(num_buckets))


def test_a_relative_bias_starts_at_zero_learns_and_goes_into_attention():
    torch.manual_seed(0)
    attention = MultiHeadAttention(8, 2)
    x = torch.randn(3, 5, 8)
    for bias in (positions.ClippedRelativeBias(2, 3), positions.BucketedRelativeBias(2)):
        assert_close(attention(x, bias=bias(5)).output, attention(x).output)
        attention(x, bias=bias(5)).output.pow(2).sum().backward()
        assert bias.weight.grad.abs().sum() > 0
