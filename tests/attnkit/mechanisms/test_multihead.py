"""Multi-head attention against torch and by hand: weights, masks, biases, heads, dropout."""

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attnkit import (
    KVCache,
    MultiHeadAttention,
    ProjectedAttention,
    SelfAttention,
    masks,
    mechanisms,
    trace,
)

B, L, S, E, H = 2, 3, 5, 8, 4


@pytest.fixture
def attention():
    return build()


def build(**options):
    """A module whose biases, which start at 0, have something to be wrong about."""
    torch.manual_seed(0)
    module = MultiHeadAttention(E, H, **options)
    for name, parameter in module.named_parameters():
        if name.endswith("bias"):
            nn.init.uniform_(parameter, -1, 1)
    return module


def tensors(*lead, seed=1):
    generator = torch.Generator().manual_seed(seed)
    lead = lead or (B,)
    return [torch.randn(*lead, n, E, generator=generator) for n in (L, S, S)]


# ---------------------------------------------------------------- nn.MultiheadAttention


def torch_module(**options):
    torch.manual_seed(0)
    module = nn.MultiheadAttention(E, H, **options)
    for name, parameter in module.named_parameters():
        if name.endswith("bias"):
            nn.init.uniform_(parameter, -1, 1)
    return module


def turn(module, x):
    return x if module.batch_first else x.transpose(0, 1)


@pytest.mark.parametrize("batch_first", [True, False], ids=["batch first", "time first"])
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("sizes", [{}, {"kdim": 6}, {"vdim": 5}, {"kdim": 6, "vdim": 5}], ids=str)
def test_from_torch_agrees_in_outputs_and_weights(batch_first, bias, sizes):
    """Masked ones do in tests/contract/test_oracles_torch_cases.py."""
    reference = torch_module(batch_first=batch_first, bias=bias, **sizes)
    made = [torch.randn(B, S, n) for n in (E, sizes.get("kdim", E), sizes.get("vdim", E))]
    expected = reference(*(turn(reference, x) for x in made), average_attn_weights=False)
    found = MultiHeadAttention.from_torch(reference)(*made, need_weights=True)
    assert_close(found.output, turn(reference, expected[0]), atol=1e-6, rtol=0)
    assert_close(found.weights, expected[1], atol=1e-6, rtol=0)


@pytest.mark.parametrize("sizes", [{}, {"kdim": 6, "vdim": 5}], ids=["packed", "apart"])
@pytest.mark.parametrize("bias", [True, False])
def test_from_torch_keeps_what_is_frozen_and_shares_nothing(sizes, bias):
    reference = torch_module(bias=bias, **sizes).train(bias)
    reference.out_proj.weight.requires_grad_(False)
    if bias:
        reference.in_proj_bias.requires_grad_(False)
    with torch.no_grad():  # a copy made here is frozen no more than one made elsewhere
        ours = MultiHeadAttention.from_torch(reference)
    assert ours.training is ours.out_proj.training is bias  # and its mode
    frozen = {name for name, x in ours.named_parameters() if not x.requires_grad}
    inputs = ["in_proj"] if not sizes else ["query_proj", "key_proj", "value_proj"]
    assert frozen == {"out_proj.weight", *(f"{name}.bias" for name in inputs if bias)}
    shared = {x.data_ptr() for x in reference.parameters()}
    assert not shared & {x.data_ptr() for x in ours.parameters()}


def test_from_torch_gives_the_class_it_is_asked_of():
    class Mine(MultiHeadAttention):
        pass

    assert type(Mine.from_torch(torch_module())) is Mine


def test_starts_as_torch_does():
    torch.manual_seed(5)
    ours = MultiHeadAttention(64, 4)
    bound = math.sqrt(6 / (64 + 3 * 64))
    assert 0.98 * bound < ours.in_proj.weight.abs().max() <= bound
    assert (ours.in_proj.bias == 0).all()
    assert (ours.out_proj.bias == 0).all()
    assert 0.97 / 8 < ours.out_proj.weight.abs().max() <= 1 / 8
    separate = MultiHeadAttention(64, 4, kdim=32, num_kv_heads=2)
    bound = math.sqrt(6 / (32 + 32))
    assert 0.98 * bound < separate.key_proj.weight.abs().max() <= bound
    assert (separate.key_proj.bias == 0).all()
    before = ours.out_proj.weight.clone()
    ours.reset_parameters()
    assert not torch.equal(ours.out_proj.weight, before)


# ---------------------------------------------------------------- projections and heads


def test_self_attention_projects_once_and_gives_the_same(attention):
    _, x, _ = tensors()
    calls = []
    hook = attention.in_proj.register_forward_hook(lambda *_: calls.append(1))
    once = attention(x, need_weights=True)
    assert calls == [1]
    watched = attention(x, x.clone(), x.clone(), need_weights=True)
    assert calls == [1] * 4
    hook.remove()
    apart = attention(x, x.clone(), x.clone(), need_weights=True)
    assert_close(once, watched, atol=1e-6, rtol=0)
    assert_close(once, apart, atol=1e-6, rtol=0)
    value = x.flip(1)
    half = attention(x, x, value, need_weights=True)
    expected = attention(x, x.clone(), value, need_weights=True)
    assert_close(half, expected, atol=1e-6, rtol=0)
    assert_close(half.weights, once.weights, atol=1e-6, rtol=0)
    assert not torch.equal(half.output, once.output)


def test_one_object_stays_one_when_junk_is_replaced(attention):
    _, x, _ = tensors()
    x[1, 3:] = math.nan
    calls = []
    attention.in_proj.register_forward_hook(lambda *_: calls.append(1))
    attention(x, mask=masks.padding([S, 3]))
    assert calls == [1]


# ---------------------------------------------------------------- masks


def per_head_mask():
    mask = torch.rand(B, H, L, S, generator=torch.Generator().manual_seed(2)) < 0.6
    mask[..., 0] = True
    return mask


MASK_FORMS = {
    "(S,)": lambda m: m[0, 0, 0],
    "(L, 1)": lambda m: m[0, 0, :, 1:2] | True,
    "(1, L, S)": lambda m: m[:1, 0],
    "(B, 1, L, S)": lambda m: m[:, :1],
    "(1, H, L, S)": lambda m: m[:1],
    "(1, H, 1, S)": lambda m: m[:1, :, :1],
    "(B, H, L, S)": lambda m: m,
}


@pytest.mark.parametrize("form", MASK_FORMS.values(), ids=MASK_FORMS)
@pytest.mark.parametrize("kv_heads", [H, 2])
def test_a_mask_of_any_form_means_what_its_full_form_means(form, kv_heads):
    module, mask = build(num_kv_heads=kv_heads), form(per_head_mask())
    query, key, value = tensors()
    full = (mask[:, None] if mask.dim() == 3 else mask).expand(B, H, L, S)
    _, free = module(query, key, value, need_weights=True)
    by_hand = free.masked_fill(~full, 0.0)
    by_hand = by_hand / by_hand.sum(-1, keepdim=True)
    output, weights = module(query, key, value, mask=mask, need_weights=True)
    assert_close(weights, by_hand, atol=1e-6, rtol=0)
    assert_close(module(query, key, value, mask=mask).output, output, atol=1e-6, rtol=0)
    assert_close(module(query, key, value, mask=full).output, output, atol=1e-6, rtol=0)


def test_a_mask_for_each_head_without_a_batch():
    module, mask = build(), per_head_mask()
    query, key, value = (x[0] for x in tensors())
    expected = module(query[None], key[None], value[None], mask=mask[:1], need_weights=True)
    got = module(query, key, value, mask=mask[0], need_weights=True)
    assert_close(got.output, expected.output[0], atol=1e-6, rtol=0)
    assert_close(got.weights, expected.weights[0], atol=1e-6, rtol=0)


@pytest.mark.parametrize("need_weights", [False, True])
def test_a_head_that_sees_nothing_adds_nothing_and_the_others_go_on(attention, need_weights):
    query, key, value = tensors()
    mask = torch.ones(B, H, L, S, dtype=torch.bool)
    mask[0, :3, 1] = False
    output, _ = attention(query, key, value, mask=mask, need_weights=need_weights)
    with trace.record() as calls:
        attention(query, key, value)
    heads = calls[0]["output"][0, :, 1].clone()  # (H, head_dim)
    heads[:3] = 0
    expected = attention.out_proj(heads.flatten())
    assert_close(output[0, 1], expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("gives", "got"),
    [("a word", "str"), (torch.ones(1), r"\(1,\)"), (torch.ones(B, H, L, 1), r"\(2, 4, 3, 1\)")],
)
def test_a_rotation_that_gives_something_else_is_refused(attention, gives, got):
    cache = KVCache()
    with pytest.raises(ValueError, match=rf"rotate: expected .* keeps the shape .*, got {got}$"):
        attention(torch.randn(B, L, E), rotate=lambda x, offset: gives, cache=cache)
    assert cache.length == 0


def test_a_key_with_junk_that_one_head_sees_spoils_the_query(attention):
    query, key, value = tensors()
    mask = torch.ones(B, H, L, S, dtype=torch.bool)
    mask[..., 4] = False
    mask[0, 2, 1, 4] = True
    clean = attention(query, key, value, mask=mask).output
    value[:, 4] = math.nan
    output = attention(query, key, value, mask=mask).output
    assert output[0, 1].isnan().all()
    kept = torch.ones(B, L, dtype=torch.bool)
    kept[0, 1] = False
    assert_close(output[kept], clean[kept], atol=1e-6, rtol=0)


# ---------------------------------------------------------------- bias, rotation, cache


@pytest.mark.parametrize("shape", [(), (S,), (L, S), (H, L, S), (B, 1, 1, S), (B, H, L, S)])
@pytest.mark.parametrize("need_weights", [False, True])
def test_bias_is_added_to_the_scaled_scores(attention, shape, need_weights):
    query, key, value = tensors()
    bias = torch.randn(shape, generator=torch.Generator().manual_seed(3))
    with trace.record() as calls:
        attention(query, key, value)
    expected = (calls[0]["scores"] + bias).softmax(-1)
    heads = (expected @ projected_values(attention, value)).transpose(1, 2).flatten(-2)
    output, weights = attention(query, key, value, bias=bias, need_weights=need_weights)
    assert_close(output, attention.out_proj(heads), atol=1e-6, rtol=0)
    if need_weights:
        assert_close(weights, expected, atol=1e-6, rtol=0)


def projected_values(attention, value):
    weight, bias = attention.in_proj.weight[-E:], attention.in_proj.bias[-E:]
    return (value @ weight.T + bias).unflatten(-1, (H, -1)).transpose(1, 2)


def test_a_key_with_junk_behind_a_bias_never_reaches_a_gradient(attention):
    query, key, value = tensors()
    key[:, 4], value[:, 4] = math.nan, math.inf
    bias = torch.zeros(S)
    bias[4] = -math.inf
    attention(query, key, value, bias=bias).output.sum().backward()
    assert all(x.grad.isfinite().all() for x in attention.parameters())


def test_rotate_is_called_for_queries_and_keys_with_the_offset():
    module, (query, key, value) = build(num_kv_heads=2), tensors()
    seen = []

    def rotate(x, offset):
        seen.append((tuple(x.shape), offset))
        return 2 * x

    plain = module(query, key, value, need_weights=True)
    turned = module(query, key, value, rotate=rotate, need_weights=True)
    assert seen == [((B, H, L, 2), 0), ((B, 2, S, 2), 0)]
    sharper = plain.weights.pow(4) / plain.weights.pow(4).sum(-1, keepdim=True)
    assert_close(turned.weights, sharper, atol=1e-5, rtol=0)
    seen.clear()
    cache = KVCache()
    module(query, cache=cache, rotate=rotate)
    module(query[:, :1], cache=cache, rotate=rotate)
    assert [offset for _, offset in seen] == [0, 0, L, L]


@pytest.mark.parametrize("need_weights", [False, True])
def test_a_bias_that_hides_every_cached_key_gives_zero(attention, need_weights):
    _, x, _ = tensors()
    bias = torch.zeros(S, S)
    bias[1] = -math.inf
    output = attention(x, cache=KVCache(), bias=bias, need_weights=need_weights).output
    assert (output[:, 1] == 0).all()
    assert (output[:, [0, *range(2, S)]] != 0).all()


def test_masks_and_biases_of_a_cached_call_count_all_keys(attention):
    _, x, _ = tensors()
    cache = KVCache()
    attention(x[:, :3], cache=cache)
    mask = torch.tensor([[[True, False, False, True]], [[False] * 4]])  # (B, 1, 4)
    bias = torch.tensor([0.0, 0.0, 0.0, -math.inf])
    output, weights = attention(x[:, 3:4], mask=mask, bias=bias, cache=cache, need_weights=True)
    assert weights[0, :, 0].tolist() == [[1, 0, 0, 0]] * H
    assert (weights[1] == 0).all()
    assert (output[1] == 0).all()
    assert (output[0] != 0).any()


# ---------------------------------------------------------------- dropout, precision, text


@pytest.mark.parametrize(
    "module",
    [
        MultiHeadAttention(1, 1, dropout=0.25, bias=False),
        mechanisms.SinkAttention(1, 1, dropout=0.25, bias=False),
        mechanisms.SoftCapAttention(1, 1, dropout=0.25, bias=False),
        SelfAttention(1, dropout=0.25),
    ],
)
def test_dropout_drops_weights_in_training_alone(module):
    x = torch.ones(4000, 1, 1)
    module.eval()
    plain = module(x, need_weights=True)
    assert torch.equal(module(x).output, plain.output)
    module.train()
    torch.manual_seed(0)
    output, weights = module(x, need_weights=True)
    assert torch.equal(weights, plain.weights)
    ratio = output / plain.output
    dropped = ratio.abs() < 1e-6
    assert_close(ratio[~dropped], torch.full_like(ratio[~dropped], 1 / 0.75))
    assert abs(dropped.float().mean().item() - 0.25) < 0.03
    torch.manual_seed(0)
    assert torch.equal(module(x).output, output)


@pytest.mark.parametrize(
    ("build_one", "features"),
    [
        (lambda **scale: MultiHeadAttention(8, 2, **scale), 4),
        (lambda **scale: ProjectedAttention(8, 8, 6, **scale), 6),
        (lambda **scale: SelfAttention(8, 4, **scale), 4),
    ],
    ids=["multihead", "projected", "self"],
)  # fmt: skip
@pytest.mark.parametrize("masked", [False, True])
def test_a_scale_takes_the_place_of_the_usual_one(build_one, features, masked):
    x, mask = torch.randn(2, 5, 8), masks.causal(5) if masked else None
    usual, other = build_one(), build_one(scale=0.3)
    other.load_state_dict(usual.state_dict())
    with trace.record() as calls:
        usual(x, mask=mask)
        output = other(x, mask=mask).output
        again, weights = other(x, mask=mask, need_weights=True)
    assert_close(calls[1]["scores"], calls[0]["scores"] * 0.3 * features**0.5)
    assert_close(calls[1]["weights"], weights)
    assert_close(output, again)
    assert not torch.allclose(output, usual(x, mask=mask).output)


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
@pytest.mark.parametrize("head_dim", [1, E // H, 3, 8])
@pytest.mark.parametrize("kdim", [None, 6])
def test_heads_of_any_size_are_those_computed_one_by_one(head_dim, kv_heads, kdim):
    module = build(num_kv_heads=kv_heads, head_dim=head_dim, kdim=kdim)
    query, key, value = tensors()
    key = key[..., : kdim or E]
    assert module.out_proj.weight.shape == (E, H * head_dim)
    heads, each = [], []
    for head in range(H):
        group, parts = head // (H // kv_heads), projected(module, query, key, value)
        q, k, v = (
            x[..., place * head_dim : (place + 1) * head_dim]
            for x, place in zip(parts, (head, group, group), strict=True)
        )
        each.append((q @ k.mT / math.sqrt(head_dim)).softmax(-1))
        heads.append(each[-1] @ v)
    expected = module.out_proj(torch.cat(heads, -1))
    for need_weights in (False, True):
        output, weights = module(query, key, value, need_weights=need_weights)
        assert_close(output, expected, atol=1e-6, rtol=1e-5)
    assert_close(weights, torch.stack(each, 1))
    if kdim is None:  # one product for all three, and one for two
        for same in ((query,), (query, key)):
            whole = module(*same).output
            assert_close(whole, module(*same, *(same[-1].clone(),) * (3 - len(same))).output)


def projected(module, query, key, value):
    if module.packed:
        return [
            rows.split(module.sizes, -1)[place]
            for place, rows in enumerate(map(module.in_proj, (query, key, value)))
        ]
    return module.query_proj(query), module.key_proj(key), module.value_proj(value)


@pytest.mark.parametrize("need_weights", [False, True])
def test_what_a_rotation_makes_of_a_hidden_key_is_harmless(need_weights):
    """The heads were finite when they were projected, and are no longer."""
    attention, x = MultiHeadAttention(8, 2), torch.randn(2, 5, 8, requires_grad=True)
    mask = masks.padding([4, 4], 5)

    def spoil(heads, offset):
        last = torch.arange(heads.shape[-2])[:, None] == heads.shape[-2] - 1
        return heads.masked_fill(last, math.inf)

    output = attention(x, mask=mask, rotate=spoil, need_weights=need_weights).output
    plain = attention(x, mask=mask, need_weights=need_weights).output
    assert torch.allclose(output[:, :4], plain[:, :4], atol=1e-6)
    assert output[:, 4].isnan().all()  # that query is spoilt, and sees keys
    output[:, :4].sum().backward()
    assert x.grad.isfinite().all()
