"""The contract of DESIGN: what every attention mechanism promises, whatever its scores.

Each test takes a mechanism from `mechanisms.py`. Comparisons never let NaN equal NaN: see `close`.
"""

import copy
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.func import functional_call

from attnkit import masks, trace

from .mechanisms import MECHANISMS

B, L, S = 2, 5, 7
DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
DEVICES = ["cpu"] + [pytest.param("cuda", marks=pytest.mark.gpu)] * torch.cuda.is_available()
MASKS = {
    "none": lambda: None,
    "causal": lambda: masks.causal(L, S, offset=S - L),
    "padding": lambda: masks.padding([S, 3], S),
    "window": lambda: masks.sliding_window(L, S, window=2, offset=1),
    "prefix": lambda: masks.prefix(S, 3)[:L],
    "composed": lambda: masks.causal(L, S, offset=0) & masks.padding([S, 4], S),
    "per-sequence": lambda: torch.rand(B, L, S, generator=torch.Generator().manual_seed(4)) < 0.6,
}


@pytest.fixture(params=MECHANISMS, ids=repr)
def mechanism(request):
    return request.param


@pytest.fixture(params=MASKS.values(), ids=MASKS.keys())
def mask(request):
    return request.param()


def make(mechanism, *, dtype=torch.float64, device="cpu", train=False):
    torch.manual_seed(0)
    return mechanism.build().to(device, dtype).train(train)


def inputs(mechanism, *, dtype=torch.float64, device="cpu", batch=B, queries=L, keys=S, seed=1):
    generator = torch.Generator().manual_seed(seed)
    sizes = [(queries, mechanism.query_dim), (keys, mechanism.key_dim), (keys, mechanism.value_dim)]
    made = [torch.randn(batch, *size, generator=generator, dtype=torch.float64) for size in sizes]
    return [x.to(device, dtype) for x in made]


def close(actual, expected, tolerance=1e-10):
    assert actual.shape == expected.shape
    assert not actual.isnan().any()
    assert not expected.isnan().any()
    error = (actual.double() - expected.double()).abs().max().item() if actual.numel() else 0.0
    assert error <= tolerance, f"differs by {error:.3g}, more than {tolerance:.3g}"


def over_heads(mask, weights):
    if mask.dim() == 3 and weights.dim() == 4:
        mask = mask.unsqueeze(1)
    return mask.expand(weights.shape)


def test_rows_sum_to_one_and_masked_weights_are_zero(mechanism, mask):
    """To less than one where a share goes to no key."""
    _, weights = make(mechanism)(*inputs(mechanism), mask=mask, need_weights=True)
    assert (weights >= 0).all()
    visible = torch.ones_like(weights, dtype=torch.bool)
    if mask is not None:
        visible = over_heads(mask, weights)
    assert (weights[~visible] == 0).all()
    sums, whole = weights.sum(-1), visible.any(-1).to(weights.dtype)
    if mechanism.sums_to_one:
        close(sums, whole)
    else:
        assert (sums <= whole).all()
        assert (sums[whole > 0] > 0).all()


def test_agrees_with_its_peer(mechanism, mask):
    module, (query, key, value) = make(mechanism), inputs(mechanism)
    if mask is not None:
        mask = mask | ~mask.any(-1, keepdim=True)
    output = module(query, key, value, mask=mask).output
    close(output, mechanism.peer(module, query, key, value, mask))


@pytest.mark.parametrize("train", [False, True], ids=["eval", "train"])
def test_asking_for_weights_does_not_change_the_output(mechanism, mask, train):
    module, given_inputs = make(mechanism, train=train), inputs(mechanism)
    torch.manual_seed(3)
    without = module(*given_inputs, mask=mask)
    torch.manual_seed(3)
    with_weights = module(*given_inputs, mask=mask, need_weights=True)
    assert without.weights is None
    assert with_weights.weights is not None
    close(without.output, with_weights.output)


def test_the_weights_that_come_back_are_those_that_made_the_output(mechanism, mask):
    """Gradient times attention asks for the gradient of the output by the weights."""
    widened = "tiled" in mechanism.name or mechanism.name == "linear"  # half is cast at the end
    for dtype in DTYPES[: 2 if widened else None]:
        tensors = [x.requires_grad_() for x in inputs(mechanism, dtype=dtype)]
        output, weights = make(mechanism, dtype=dtype)(*tensors, mask=mask, need_weights=True)
        (gradient,) = torch.autograd.grad(output.float().square().sum(), weights)
        assert gradient.shape == weights.shape
        assert gradient.abs().max() > 0


def test_keys_may_come_in_any_order(mechanism, mask):
    module, (query, key, value) = make(mechanism), inputs(mechanism)
    order = torch.randperm(S, generator=torch.Generator().manual_seed(2))
    straight = module(query, key, value, mask=mask, need_weights=True)
    shuffled_mask = mask if mask is None else mask.expand(*mask.shape[:-1], S)[..., order]
    shuffled = module(query, key[:, order], value[:, order], mask=shuffled_mask, need_weights=True)
    close(shuffled.output, straight.output)
    close(shuffled.weights, straight.weights[..., order])


def test_each_query_is_answered_alone(mechanism):
    module, (query, key, value) = make(mechanism), inputs(mechanism)
    whole = module(query, key, value).output
    close(torch.cat([module(q, key, value).output for q in query.split(1, dim=1)], dim=1), whole)


def test_padding_changes_nothing(mechanism):
    module, (query, key, value) = make(mechanism), inputs(mechanism)
    _, junk_key, junk_value = inputs(mechanism, keys=3, seed=9)
    padded = module(
        query,
        torch.cat([key, 50 * junk_key], dim=1),
        torch.cat([value, 50 * junk_value], dim=1),
        mask=masks.padding([S, S], S + 3),
        need_weights=True,
    )
    plain = module(query, key, value, need_weights=True)
    close(padded.output, plain.output)
    close(padded.weights[..., :S], plain.weights)


def test_batch_changes_nothing(mechanism):
    module, (query, key, value) = make(mechanism), inputs(mechanism)
    mask = masks.padding([S, 3], S)
    whole = module(query, key, value, mask=mask).output
    for b in range(B):
        one = slice(b, b + 1)
        close(module(query[one], key[one], value[one], mask=mask[one]).output, whole[one])


@pytest.mark.parametrize("need_weights", [False, True])
def test_no_gradient_flows_from_a_query_to_a_later_key(mechanism, need_weights):
    module, (query, key, value) = make(mechanism), inputs(mechanism, queries=S)
    key.requires_grad_()
    value.requires_grad_()
    output = module(query, key, value, mask=masks.causal(S), need_weights=need_weights).output
    for i in range(S):
        grads = torch.autograd.grad(output[:, i].square().sum(), (key, value), retain_graph=True)
        for grad in grads:
            assert (grad[:, i + 1 :] == 0).all()
        assert (grads[1][:, : i + 1].abs().sum(-1) > 0).all()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("need_weights", [False, True], ids=["fused", "weights"])
@pytest.mark.parametrize("train", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_row_that_sees_nothing_gives_zero(mechanism, dtype, train, need_weights, device):
    module = make(mechanism, dtype=dtype, device=device, train=train)
    given_inputs = [x.requires_grad_() for x in inputs(mechanism, dtype=dtype, device=device)]
    mask = masks.padding([S, 0], S).expand(B, L, S).clone().to(device)
    mask[0, 2] = False
    output, weights = module(*given_inputs, mask=mask, need_weights=need_weights)
    output.float().square().sum().backward()
    assert (output[1] == 0).all()
    assert (output[0, 2] == 0).all()
    assert (output[0, 1] != 0).any()
    if need_weights:
        assert (weights[~over_heads(mask, weights).any(-1)] == 0).all()
    for tensor in (*given_inputs, *module.parameters()):
        assert tensor.grad is None or tensor.grad.isfinite().all()


@pytest.mark.parametrize("need_weights", [False, True], ids=["fused", "weights"])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("sizes", [(B, 0, S), (B, L, 0), (B, 0, 0), (0, L, S)])
def test_of_no_keys_comes_zero_and_of_no_queries_nothing(mechanism, sizes, masked, need_weights):
    batch, queries, keys = sizes
    module, tensors = make(mechanism), inputs(mechanism, batch=batch, queries=queries, keys=keys)
    mask = torch.ones(sizes, dtype=torch.bool) if masked else None
    output, weights = module(*tensors, mask=mask, need_weights=need_weights)
    usual = module(*inputs(mechanism)).output
    assert torch.equal(output, torch.zeros_like(usual[:batch, :queries]))
    assert weights is None or weights.shape[-2:] == (queries, keys)


@pytest.mark.parametrize("need_weights", [False, True], ids=["fused", "weights"])
@pytest.mark.parametrize("lead", [(), (2, 3)], ids=["no batch", "two batch dimensions"])
def test_any_leading_dimensions(mechanism, lead, need_weights):
    module, tensors = make(mechanism), inputs(mechanism, batch=math.prod(lead))
    mask = torch.rand(len(tensors[0]), L, S, generator=torch.Generator().manual_seed(4)) < 0.6
    flat = module(*tensors, mask=mask, need_weights=need_weights)
    *tensors, mask = (x.reshape(*lead, *x.shape[1:]) for x in (*tensors, mask))
    found = module(*tensors, mask=mask, need_weights=need_weights)
    for one, other in zip(found[: 1 + need_weights], flat, strict=False):
        close(one, other.reshape(*lead, *other.shape[1:]))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("junk", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("need_weights", [False, True], ids=["fused", "weights"])
@pytest.mark.parametrize("watched", [False, True], ids=["", "hooks"])
def test_junk_under_the_mask_is_harmless(mechanism, junk, need_weights, watched, device):
    module = make(mechanism, dtype=torch.float32, device=device)
    for part in module.modules() if watched else ():  # a hook wants each projection as a whole
        part.register_forward_hook(lambda *_: None)
    query, key, value = inputs(mechanism, dtype=torch.float32, device=device)
    mask = masks.padding([S, 3], S).to(device)
    clean = module(query, key, value, mask=mask, need_weights=need_weights)
    key[1, 3:], value[1, 3:] = junk, junk
    given_inputs = [x.requires_grad_() for x in (query, key, value)]
    dirty = module(*given_inputs, mask=mask, need_weights=need_weights)
    close(dirty.output, clean.output, 1e-6)
    dirty.output.square().sum().backward()
    for tensor in (*given_inputs, *module.parameters()):
        assert tensor.grad is None or tensor.grad.isfinite().all()


@pytest.mark.parametrize("junk", [math.nan, math.inf])
@pytest.mark.parametrize("need_weights", [False, True], ids=["fused", "weights"])
@pytest.mark.parametrize("wants_grad", [False, True], ids=["no-grad", "grad"])
def test_junk_in_a_query_that_sees_nothing_is_harmless(mechanism, junk, need_weights, wants_grad):
    module, (query, key, value) = make(mechanism), inputs(mechanism)
    mask = masks.causal(L, S, offset=-1)  # the first query sees nothing
    clean = module(query, key, value, mask=mask).output
    query[:, 0] = junk
    tensors = [x.requires_grad_(wants_grad) for x in (query, key, value)]
    with torch.set_grad_enabled(wants_grad):
        output, weights = module(*tensors, mask=mask, need_weights=need_weights)
    close(output, clean)
    assert weights is None or (weights[..., 0, :] == 0).all()
    if wants_grad:
        output.sum().backward()
        for tensor in (*tensors, *module.parameters()):
            assert tensor.grad is None or tensor.grad.isfinite().all()


@pytest.mark.parametrize("need_weights", [False, True], ids=["fused", "weights"])
def test_junk_in_a_padded_token_spoils_its_own_row_alone(mechanism, need_weights):
    """In self-attention a padded token is a query too, and it sees real keys."""
    if len({mechanism.query_dim, mechanism.key_dim, mechanism.value_dim}) > 1:
        pytest.skip("query, key and value differ in size")
    module, (_, x, _) = make(mechanism), inputs(mechanism)
    mask = masks.padding([S, 3], S)
    clean = module(x, mask=mask, need_weights=True)
    x[1, 3:] = math.nan
    output, weights = module(x.requires_grad_(), mask=mask, need_weights=need_weights)
    real = torch.ones(B, S, dtype=torch.bool)
    real[1, 3:] = False
    close(output[real], clean.output[real])
    assert output[~real].isnan().all()
    if need_weights:
        close(weights[1, ..., :3, :], clean.weights[1, ..., :3, :])
        assert weights[1, ..., 3:, :3].isnan().all()
        assert (weights[1, ..., 3:, 3:] == 0).all()
    output[real].sum().backward()
    for tensor in (x, *module.parameters()):
        assert tensor.grad is None or tensor.grad.isfinite().all()


@pytest.mark.parametrize("need_weights", [False, True], ids=["fused", "weights"])
@pytest.mark.parametrize("where", ["key", "value"])
def test_a_nan_reaches_just_the_queries_that_see_it(mechanism, where, need_weights):
    module = make(mechanism)
    query, key, value = inputs(mechanism, queries=S)
    clean = module(query, key, value, mask=masks.causal(S)).output
    (key if where == "key" else value)[:, 4, 0] = math.nan
    output = module(query, key, value, mask=masks.causal(S), need_weights=need_weights).output
    close(output[:, :4], clean[:, :4])
    assert output[:, 4:].isnan().any(-1).all()


@pytest.mark.parametrize("need_weights", [False, True], ids=["fused", "weights"])
def test_gradients_are_those_of_the_numbers(mechanism, need_weights):
    """The gradients of the inputs number by number, and those of the parameters with them."""
    module, tensors = make(mechanism), inputs(mechanism, batch=1, queries=3, keys=4)
    mask = torch.tensor([[True, True, False, True], [False] * 4, [False, True, True, False]])
    options = {"mask": mask, "need_weights": need_weights}
    parameters = dict(module.named_parameters())

    def attend(*tensors):
        own = dict(zip(parameters, tensors[3:], strict=False))
        found = functional_call(module, own, tensors[:3], options)
        return tuple(found) if need_weights else found.output

    tensors = [x.detach().requires_grad_() for x in (*tensors, *parameters.values())]
    assert torch.autograd.gradcheck(attend, tensors[:3])
    assert torch.autograd.gradcheck(attend, tensors, fast_mode=True)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("need_weights", [False, True], ids=["fused", "weights"])
@pytest.mark.parametrize("dtype", DTYPES[1:], ids=str)
def test_error_is_at_most_twice_that_of_torch(mechanism, dtype, need_weights, device):
    module = make(mechanism, dtype=dtype, device=device)
    exact = copy.deepcopy(module).double()
    ours, theirs = 0.0, 0.0
    for seed in range(8):
        tensors = inputs(mechanism, dtype=dtype, device=device, queries=32, keys=48, seed=seed)
        reference = exact(*(x.double() for x in tensors)).output
        output = module(*tensors, need_weights=need_weights).output
        assert output.dtype == dtype
        ours += (output.double() - reference).square().mean().item()
        theirs += (
            (mechanism.peer(module, *tensors, None).double() - reference).square().mean().item()
        )
    assert math.sqrt(ours) <= 2 * math.sqrt(theirs)


@pytest.mark.parametrize(
    "dtype, tolerance", [(torch.float32, 4e-6), (torch.float16, 2.5e-3), (torch.bfloat16, 2e-2)]
)
def test_gradients_are_as_precise_as_the_dtype(mechanism, dtype, tolerance):
    module, found = make(mechanism, dtype=dtype), []
    for one, own in ((module, dtype), (copy.deepcopy(module).double(), torch.float64)):
        tensors = [x.to(own).requires_grad_() for x in inputs(mechanism, dtype=dtype)]
        one(*tensors, mask=MASKS["window"]()).output.double().square().sum().backward()
        found.append([x.grad for x in (*tensors, *one.parameters())])
    for narrow, exact in zip(*found, strict=True):
        assert narrow.dtype == dtype
        assert (narrow.double() - exact).abs().max() <= tolerance * max(1, exact.abs().max())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("need_weights", [False, True], ids=["fused", "weights"])
def test_autocast(mechanism, need_weights, device, mask):
    module = make(mechanism, dtype=torch.float32, device=device)
    tensors = inputs(mechanism, dtype=torch.float32, device=device)
    mask = mask if mask is None else mask.to(device)
    full = module(*tensors, mask=mask).output
    with torch.autocast(device, torch.bfloat16):
        output = module(*tensors, mask=mask, need_weights=need_weights).output
    assert output.dtype == torch.bfloat16
    close(output, full, 0.06)


@st.composite
def problems(draw):
    batch, queries, keys = (draw(st.integers(1, n)) for n in (3, 9, 9))
    shape = draw(
        st.sampled_from([(queries, keys), (1, keys), (batch, 1, keys), (batch, queries, keys)])
    )
    seed = draw(st.integers(0, 2**16))
    share = draw(st.sampled_from([0.0, 0.3, 0.7, 1.0]))
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < share
    return batch, queries, keys, seed, mask


@settings(max_examples=40, deadline=None)
@given(problem=problems(), need_weights=st.booleans())
@pytest.mark.build
def test_any_shape_and_mask(problem, need_weights):
    batch, queries, keys, seed, mask = problem
    for mechanism in MECHANISMS:
        module = make(mechanism)
        tensors = inputs(mechanism, batch=batch, queries=queries, keys=keys, seed=seed)
        output = module(*tensors, mask=mask, need_weights=need_weights).output
        seeing = mask.any(-1, keepdim=True)
        expected = mechanism.peer(module, *tensors, mask | ~seeing)
        close(output, expected.where(seeing, torch.zeros(())))


def test_inputs_are_left_alone_and_nothing_is_remembered(mechanism, mask):
    module, tensors = make(mechanism), inputs(mechanism)
    before = [x.clone() for x in tensors]
    mask_before = None if mask is None else mask.clone()
    state = copy.deepcopy(module.state_dict())
    first = module(*tensors, mask=mask, need_weights=True)
    module(*inputs(mechanism, seed=5), mask=mask)
    second = module(*tensors, mask=mask, need_weights=True)
    assert all(torch.equal(x, y) for x, y in zip(tensors, before, strict=True))
    assert mask is None or torch.equal(mask, mask_before)
    assert all(torch.equal(state[name], new) for name, new in module.state_dict().items())
    assert torch.equal(first.output, second.output)
    assert torch.equal(first.weights, second.weights)


def test_memory_layout_changes_nothing(mechanism, mask):
    module, tensors = make(mechanism), inputs(mechanism)
    strided = [x.transpose(0, 1).contiguous().transpose(0, 1) for x in tensors]
    assert not strided[0].is_contiguous()
    found = []
    for given_inputs in (tensors, strided):
        given_inputs = [x.requires_grad_() for x in given_inputs]
        output = module(*given_inputs, mask=mask).output
        found.append([output, *torch.autograd.grad(output.square().sum(), given_inputs)])
    for plain, other in zip(*found, strict=True):
        close(other, plain)


def test_key_defaults_to_query_and_value_to_key(mechanism):
    if len({mechanism.query_dim, mechanism.key_dim, mechanism.value_dim}) > 1:
        pytest.skip("query, key and value differ in size")
    module, (query, key, _) = make(mechanism), inputs(mechanism)
    close(module(query).output, module(query, query, query).output)
    close(module(query, key).output, module(query, key, key).output)


def test_trace_sees_what_is_returned_and_changes_nothing(mechanism, mask):
    module, tensors = make(mechanism), inputs(mechanism)
    plain = module(*tensors, mask=mask)
    expected = module(*tensors, mask=mask, need_weights=True).weights
    with trace.record(module) as calls:
        traced = module(*tensors, mask=mask)
    assert torch.equal(traced.output, plain.output)
    assert traced.weights is None
    assert len(calls) == 1
    close(calls[0]["weights"].reshape(expected.shape), expected)
    if mechanism.sums_to_one:
        recomputed = calls[0]["masked_scores"].softmax(-1).nan_to_num(0.0)
        close(recomputed, calls[0]["weights"])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_cuda_agrees_with_the_cpu(mechanism, mask):
    module, tensors = make(mechanism), inputs(mechanism)
    expected = module(*tensors, mask=mask, need_weights=True)
    mask = mask if mask is None else mask.cuda()
    actual = module.cuda()(*(x.cuda() for x in tensors), mask=mask, need_weights=True)
    close(actual.output.cpu(), expected.output)
    close(actual.weights.cpu(), expected.weights)
