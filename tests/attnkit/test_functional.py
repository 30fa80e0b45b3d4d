"""The functions that every mechanism is made of, against loops, torch and float64."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

import attnkit
from attnkit import device, formula, functional, masks, trace
from attnkit.call import Call
from tests.attnkit.efficient.memory import Living


def randn(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def close(actual, expected, tolerance=1e-12):
    assert actual.shape == expected.shape
    assert not actual.isnan().any()
    assert (actual.double() - expected.double()).abs().max() <= tolerance


def by_hand(query, key, value, mask, bias, scale):
    """Equation 1 one number at a time, for (L, E), (S, E), (S, Ev)."""
    output = torch.zeros(len(query), value.shape[1], dtype=torch.float64)
    weights = torch.zeros(len(query), len(key), dtype=torch.float64)
    for i, q in enumerate(query.tolist()):
        scores = {
            j: scale * sum(a * b for a, b in zip(q, k, strict=True)) + float(bias[i, j])
            for j, k in enumerate(key.tolist())
            if mask[i, j]
        }
        total = sum(math.exp(s) for s in scores.values())
        for j, score in scores.items():
            weights[i, j] = math.exp(score) / total
            output[i] += weights[i, j] * value[j]
    return output, weights


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 5), st.integers(1, 4)),
    seed=st.integers(0, 999),
    need_weights=st.booleans(),
    scale=st.sampled_from([None, 0.0, 0.7, -1.3]),
)
def test_scaled_dot_product_attention_by_hand(sizes, seed, need_weights, scale):
    queries, keys, features, value_features = sizes
    q, k = randn(queries, features, seed=seed), randn(keys, features, seed=seed + 1)
    v, bias = randn(keys, value_features, seed=seed + 2), randn(queries, keys, seed=seed + 3)
    mask = randn(queries, keys, seed=seed + 4) > -0.3
    expected, expected_weights = by_hand(
        q, k, v, mask, bias, 1 / math.sqrt(features) if scale is None else scale
    )
    output, weights = attnkit.scaled_dot_product_attention(
        q, k, v, mask=mask, bias=bias, scale=scale, need_weights=need_weights
    )
    close(output, expected)
    if need_weights:
        close(weights, expected_weights)
    else:
        assert weights is None


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize(
    "lead", [((), (), ()), ((3,), (3,), (3,)), ((2, 1), (3,), (2, 3)), ((2, 1, 2), (2, 3, 1), (1,))]
)
def test_leading_dimensions_broadcast(lead, need_weights):
    q, k, v = (randn(*d, *size) for d, size in zip(lead, [(4, 3), (5, 3), (5, 2)], strict=True))
    shape = torch.broadcast_shapes(*lead)
    mask = randn(*shape, 4, 5, seed=3) > -0.5
    mask[..., 0] = True
    bias = randn(4, 5, seed=8)
    output, weights = attnkit.scaled_dot_product_attention(
        q, k, v, mask=mask, bias=bias, need_weights=need_weights
    )
    expected = torch.where(mask, q @ k.mT / math.sqrt(3) + bias, -math.inf).softmax(-1)
    close(output, expected @ v)
    assert output.shape == (*shape, 4, 2)
    if need_weights:
        close(weights, expected)


@pytest.mark.parametrize("lead", [(), (3,), (2, 3), (2, 1, 3)])
def test_the_fused_kernel_runs_however_many_dimensions_there_are(lead):
    q = randn(*lead, 16, 8, dtype=torch.float32)
    ran = device.sdpa_backend(lambda: attnkit.scaled_dot_product_attention(q, q, q))
    assert ran == "flash (CPU)"


def test_without_a_mask_nothing_is_replaced():
    q, k = randn(2, 3), randn(4, 3)
    k[1, 0] = math.inf
    expected = F.scaled_dot_product_attention(q, k, k)
    actual = attnkit.scaled_dot_product_attention(q, k, k).output
    assert torch.equal(actual.isnan(), expected.isnan())
    assert actual.isnan().any()


def test_a_huge_finite_key_is_no_false_alarm():
    k = torch.full((4, 3), 2e38)  # the sum overflows
    call = Call(k, k, k, masks.causal(4), lead=())
    assert not call.nan_rows.any()
    assert torch.equal(call.key, k)
    assert Call(k / 1e9, k / 1e9, k / 1e9, masks.causal(4), lead=()).nan_rows is None


@pytest.mark.parametrize("need_weights", [False, True])
def test_junk_under_the_mask_is_replaced_where_no_value_can_be_read(need_weights):
    """Inside a transform nobody can look whether there is a NaN, so it is always expected."""
    queries, key = randn(4, 3, 5), randn(6, 5, seed=1)
    mask = masks.padding([4], 6)[0]

    def attend(query):
        return attnkit.scaled_dot_product_attention(
            query, key, key, mask=mask, need_weights=need_weights
        ).output

    clean = attend(queries)
    key[4:] = math.nan
    close(torch.func.vmap(attend)(queries), clean)
    gradients = torch.func.grad(lambda query: attend(query).sum())(queries)
    assert gradients.isfinite().all()


def test_a_numpy_mask_goes_where_the_query_is_whatever_the_default_device():
    q, mask = randn(3, 4), np.tri(3, dtype=bool)
    expected = attnkit.scaled_dot_product_attention(q, q, q, mask=masks.causal(3)).output
    with torch.device("meta"):
        close(attnkit.scaled_dot_product_attention(q, q, q, mask=mask).output, expected)


def test_a_mask_without_empty_rows_is_known_to_have_none():
    assert formula.empty_rows(masks.causal(3)) is None
    assert formula.empty_rows(masks.padding([2, 0])).tolist() == [[[False]], [[True]]]


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("lead", [(), (2,), (2, 1)])
def test_a_nan_reaches_its_own_group_alone_however_many_dimensions_there_are(lead, need_weights):
    q, k = randn(*lead, 4, 3, 3), randn(*lead, 2, 5, 3, seed=1)
    mask = masks.causal(3, 5, offset=1)
    options = {"mask": mask, "enable_gqa": True, "need_weights": need_weights}
    clean = attnkit.scaled_dot_product_attention(q, k, k, **options).output
    k[..., 1, 3, :] = math.nan  # seen by the last query alone
    output = attnkit.scaled_dot_product_attention(q, k, k, **options).output
    assert output[..., 2:, 2, :].isnan().all()
    output[..., 2:, 2, :] = clean[..., 2:, 2, :]
    close(output, clean)


@pytest.mark.parametrize("junk", [math.nan, math.inf])
def test_heads_may_share_keys_that_have_no_dimension_for_them(junk):
    q, k = randn(4, 3, 3), randn(5, 3, seed=1)
    mask = masks.padding([4], 5)[0]  # (1, S)
    clean = attnkit.scaled_dot_product_attention(q, k, k, mask=mask).output
    k[4] = junk
    close(attnkit.scaled_dot_product_attention(q, k, k, mask=mask).output, clean)


@pytest.mark.parametrize("wants", ["query", "key", "value", "bias"])
def test_the_kernel_is_given_no_empty_row_when_a_gradient_is_wanted(wants, monkeypatch):
    fused, seen = F.scaled_dot_product_attention, []

    def watched(*tensors, attn_mask, **options):
        seen.append(attn_mask if attn_mask.dtype == torch.bool else attn_mask > -math.inf)
        return fused(*tensors, attn_mask=attn_mask, **options)

    monkeypatch.setattr(formula.F, "scaled_dot_product_attention", watched)
    mask = masks.causal(3, offset=-1)
    tensors = {name: randn(2, 3, 4, seed=len(name)) for name in ("query", "key", "value")}
    if wants == "bias":
        tensors["bias"] = torch.where(mask, 0.0, -math.inf)
    else:
        tensors["mask"] = mask
    tensors[wants].requires_grad_()
    output = attnkit.scaled_dot_product_attention(**tensors).output
    assert (output[:, 0] == 0).all()
    assert (output[:, 1:] != 0).all()
    assert len(seen) == 1
    assert seen[0].any(-1).all()


@pytest.mark.parametrize("wants", ["query", "key", "value"])
def test_a_nan_in_a_query_spoils_no_gradient_whichever_input_wants_one(wants):
    tensors = {name: randn(2, 3, 4, seed=len(name)) for name in ("query", "key", "value")}
    tensors["query"][0, 1, 0] = math.nan
    tensors[wants].requires_grad_()
    output = attnkit.scaled_dot_product_attention(**tensors, mask=masks.causal(3)).output
    assert output[0, 1].isnan().all()
    output.nan_to_num().sum().backward()
    assert tensors[wants].grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(("lead", "length", "features"), [((2, 4), 5, 8), ((3,), 70, 64)])
def test_the_kernel_itself_gives_an_empty_row_zero_on_a_cpu(dtype, lead, length, features):
    """What `Call.fused` trusts when no gradient is wanted."""
    q = randn(*lead, length, features, dtype=dtype)
    mask = masks.causal(length, offset=-2)
    for hide in (mask, torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, -math.inf)):
        output = F.scaled_dot_product_attention(q, q, q, attn_mask=hide)
        assert (output[..., :2, :] == 0).all()
        assert output.isfinite().all()


@pytest.mark.parametrize("need_weights", [False, True])
def test_a_bias_of_another_precision_is_added_as_one_of_the_same(need_weights):
    q, bias = randn(2, 3, 4, dtype=torch.float32), randn(3, 3)
    options = {"need_weights": need_weights, "mask": masks.causal(3)}
    mixed = attnkit.scaled_dot_product_attention(q, q, q, bias=bias, **options)
    same = attnkit.scaled_dot_product_attention(q, q, q, bias=bias.float(), **options)
    assert mixed.output.dtype == torch.float32
    close(mixed.output, same.output, 1e-6)


@pytest.mark.parametrize("need_weights", [False, True])
def test_a_bias_of_minus_infinity_masks(need_weights):
    q, k, bias = randn(3, 4), randn(5, 4, seed=1), randn(3, 5, seed=2)
    mask = masks.causal(3, 5, offset=-1)
    k[4] = math.nan
    hidden = bias.masked_fill(~mask, -math.inf)
    by_bias = attnkit.scaled_dot_product_attention(q, k, k, bias=hidden, need_weights=need_weights)
    by_mask = attnkit.scaled_dot_product_attention(q, k, k, mask=mask, bias=bias)
    close(by_bias.output, by_mask.output)
    assert (by_bias.output[0] == 0).all()
    both = attnkit.scaled_dot_product_attention(q, k, k, mask=~mask, bias=hidden)
    assert (both.output == 0).all()


def test_one_seed_gives_one_output_under_dropout():
    q = randn(2, 8, 4)
    outputs = []
    for need_weights in (False, True):
        torch.manual_seed(5)
        outputs.append(
            attnkit.scaled_dot_product_attention(q, q, q, dropout_p=0.5, need_weights=need_weights)
        )
    assert torch.equal(outputs[0].output, outputs[1].output)
    assert outputs[0].weights is None
    plain = attnkit.scaled_dot_product_attention(q, q, q, need_weights=True)
    close(outputs[1].weights, plain.weights)
    assert (outputs[1].output - plain.output).abs().max() > 0.01


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_softmax_runs_in_float32(dtype):
    scores = randn(64, 512, dtype=torch.float32).to(dtype)
    exact = scores.double().softmax(-1)
    ours = attnkit.masked_softmax(scores, torch.ones(512, dtype=torch.bool))
    assert ours.dtype == dtype
    assert (
        torch.equal(ours, exact.to(dtype))
        or ((ours.double() - exact).abs() <= exact * 1.01 * torch.finfo(dtype).eps + 6e-8).all()
    )
    assert torch.equal(attnkit.masked_softmax(scores), ours)


@pytest.mark.parametrize("junk", [math.nan, math.inf, -math.inf])
def test_masked_softmax_ignores_masked_junk_in_value_and_gradient(junk):
    scores = torch.tensor([[1.0, junk, 2.0], [junk, junk, junk]], requires_grad=True)
    mask = torch.tensor([[True, False, True], [False, False, False]])
    weights = attnkit.masked_softmax(scores, mask)
    (weights * torch.tensor([1.0, 5.0, 3.0])).sum().backward()
    e = math.exp(1)
    close(weights, torch.tensor([[1 / (1 + e), 0, e / (1 + e)], [0, 0, 0]]), 1e-7)
    slope = 2 * e / (1 + e) ** 2
    close(scores.grad, torch.tensor([[-slope, 0, slope], [0, 0, 0]]), 1e-6)


@pytest.mark.parametrize("seen", [[True, True, False], [False] * 3], ids=["some", "none"])
def test_a_loss_that_is_not_finite_under_the_mask_spoils_no_gradient(seen):
    scores, mask = torch.tensor([[0.5, -0.5, 2.0]] * 2).requires_grad_(), torch.tensor(seen)
    weights = attnkit.masked_softmax(scores, mask)
    torch.where(mask, weights.log(), 0.0)[:, 0].sum().backward()  # log 0 has slope 1/0
    expected = torch.tensor([1.0, 0.0, 0.0]) - scores.detach().masked_fill(~mask, -9e9).softmax(-1)
    assert torch.allclose(scores.grad, expected * mask, atol=1e-6)


@pytest.mark.parametrize("mask", [None, masks.causal(6)], ids=["all", "causal"])
def test_the_scores_are_given_back_before_the_values_are_weighed(mask):
    query, key, value = (torch.randn(2, 3, 6, 4) for _ in range(3))
    with Living(6 * 6 * 2 * 3) as living, torch.no_grad():
        functional.scaled_dot_product_attention(query, key, value, mask=mask, need_weights=True)
    assert living.at_last == 1  # the weights


def test_no_nan_arises_on_the_way_through_an_empty_row():
    scores = torch.zeros(2, 3, requires_grad=True)
    mask = torch.tensor([[True, False, True], [False, False, False]])
    with torch.autograd.set_detect_anomaly(True):
        attnkit.masked_softmax(scores, mask)[:, 0].sum().backward()
    assert scores.grad.isfinite().all()


def test_dot_and_general_scores_take_any_leading_dims():
    q, k, w = randn(2, 1, 3, 4), randn(3, 5, 4, seed=1), randn(4, 6, seed=2)
    dots = torch.einsum("abqe,bke->abqk", q, k)
    close(functional.dot_scores(q, k), dots)
    close(functional.dot_scores(q, k, scale=-0.5), -dots / 2)
    wide = randn(3, 5, 6, seed=3)
    close(functional.general_scores(q, wide, w), torch.einsum("abqe,ef,bkf->abqk", q, w, wide))


def test_attend_takes_a_mask_of_the_leading_dims_of_both():
    scores, value = randn(2, 1, 3, 5), randn(4, 5, 6, seed=1)
    mask = randn(2, 4, 3, 5, seed=2) > -0.5
    output, weights = functional.attend(scores, value, mask=mask)
    close(weights, attnkit.masked_softmax(scores.expand(2, 4, 3, 5), mask))
    close(output, weights @ value)
    with pytest.raises(ValueError, match="mask: expected"):
        functional.attend(scores[0], value, mask=mask)


def test_attend_returns_the_dtype_of_the_scores_and_records_what_it_did():
    scores, value = randn(3, 5).bfloat16(), randn(5, 2, seed=1).bfloat16()
    mask = masks.causal(3, 5, offset=2)
    with trace.record() as calls:
        output, weights = functional.attend(scores, value, mask=mask)
    assert weights.dtype == output.dtype == torch.bfloat16
    (call,) = calls
    assert torch.equal(call["scores"], scores)
    assert torch.equal(call["masked_scores"].isneginf(), ~mask)
    assert torch.equal(call["weights"], weights)
    assert torch.equal(call["output"], output)


def test_attend_drops_weights_but_returns_them_whole():
    torch.manual_seed(1)
    value = torch.eye(50, dtype=torch.float64)
    output, weights = functional.attend(
        torch.zeros(1, 50, dtype=torch.float64), value, dropout_p=0.5
    )
    close(weights, torch.full((1, 50), 0.02, dtype=torch.float64))
    assert set(output.mul(100).round().int().flatten().tolist()) == {0, 4}


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
@pytest.mark.parametrize("lead, shape", [
    ((4,), (5, 6)),
    ((3, 4), ()),
    ((3, 4), (6,)),
    ((3, 4), (5, 1)),
    ((3, 4), (4, 1, 6)),
    ((3, 4), (3, 1, 1, 6)),
    ((3, 4), (3, 4, 5, 6)),
    ((2, 3, 4), (5, 6)),
    ((2, 3, 4), (3, 1, 1, 6)),
    ((2, 3, 4), (2, 1, 1, 1, 6)),
    ((2, 1, 3, 4), (2, 1, 1, 1, 1, 6)),
])  # fmt: skip
def test_a_mask_of_any_rank_runs_the_kernel_that_holds_no_weights(lead, shape, kv_heads):
    q = randn(*lead, 5, 8, dtype=torch.float32)
    k, v = (randn(*lead[:-1], kv_heads, 6, 8, seed=n, dtype=torch.float32) for n in (1, 2))
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(0)) > 0.5

    def call(need_weights=False):
        options = {"mask": mask, "enable_gqa": kv_heads < 4, "need_weights": need_weights}
        return attnkit.scaled_dot_product_attention(q, k, v, **options).output

    assert device.sdpa_backend(call) == "flash (CPU)"
    close(call(), call(need_weights=True), 1e-5)


@pytest.mark.parametrize("kv_heads", [2, 1])
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_multi_head_attention_runs_it_with_a_mask_too(batch, kv_heads):
    attention = attnkit.MultiHeadAttention(8, 2, num_kv_heads=kv_heads)
    x = torch.randn(*batch, 5, 8)
    for mask in (masks.causal(5), masks.padding([5, 4, 2]) if batch else masks.causal(5)):
        assert device.sdpa_backend(lambda m=mask: attention(x, mask=m)) == "flash (CPU)"
