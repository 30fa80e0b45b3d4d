"""The gated delta rule: chunked and recurrent are one, and equal to transformers' Qwen3-Next."""

from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from attnkit.efficient import gated_delta_recurrent, gated_delta_segment
from tests.attnkit.efficient.same import assert_same

FORMS = [gated_delta_segment, gated_delta_recurrent]


def problem(length, lead=(2, 3), dtype=torch.float64, gated=True):
    draw = torch.Generator().manual_seed(length)
    shapes = [(*lead, length, 6), (*lead, length, 6), (*lead, length, 5), (*lead, length)]
    made = [torch.randn(shape, generator=draw, dtype=torch.float64) for shape in shapes]
    query, key, value, write = made
    parts = [query, F.normalize(key, dim=-1), value, write.sigmoid()]
    if gated:
        parts.append(F.logsigmoid(torch.randn(write.shape, generator=draw, dtype=torch.float64)))
    return [x.to(dtype).requires_grad_() for x in parts]


def by_the_paper(query, key, value, write, log_decay=None):
    """Equation 10 of Yang et al. (2025) with its matrices written out, token by token."""
    state, outputs = value.new_zeros(*value.shape[:-2], key.shape[-1], value.shape[-1]), []
    for t in range(query.shape[-2]):
        k, beta = key[..., t, :, None], write[..., t, None, None]
        alpha = 1.0 if log_decay is None else log_decay[..., t, None, None].exp()
        forget = torch.eye(key.shape[-1], dtype=key.dtype) - beta * (k @ k.mT)
        state = alpha * (forget @ state) + beta * k @ value[..., t, None, :]
        outputs.append(query[..., t, None, :] @ state)
    return torch.cat(outputs, -2)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("gated", [True, False])
@pytest.mark.parametrize("length", [1, 4, 7, 33])
def test_both_forms_are_the_papers_equation(form, gated, length):
    assert_same(lambda *x: form(*x)[0], by_the_paper, problem(length, gated=gated))


@pytest.mark.parametrize("form", FORMS)
def test_equal_to_the_code_of_a_model_that_uses_it(form):
    theirs = pytest.importorskip("transformers.models.qwen3_next.modeling_qwen3_next")
    query, key, value, write, log_decay = problem(130, lead=(2, 3), dtype=torch.float32)
    by_token = [x.transpose(1, 2) for x in (query, key, value, log_decay, write)]
    for name in ("torch_recurrent_gated_delta_rule", "torch_chunk_gated_delta_rule"):
        expected, last = getattr(theirs, name)(
            *by_token, initial_state=None, output_final_state=True, use_qk_l2norm_in_kernel=False
        )
        output, state = form(query / query.shape[-1] ** 0.5, key, value, write, log_decay)
        assert (output.transpose(1, 2) - expected).abs().max().item() <= 1e-5
        assert (state - last).abs().max().item() <= 1e-5


@settings(max_examples=20, deadline=None)
@given(cuts=st.lists(st.integers(0, 17), max_size=4), forms=st.lists(st.booleans(), min_size=5))
def test_segments_carry_the_state(cuts, forms):
    inputs = [x.detach() for x in problem(17)]
    state, outputs = None, []
    for i, (start, stop) in enumerate(pairwise([0, *sorted(cuts), 17])):
        query, key, value = (x[..., start:stop, :] for x in inputs[:3])
        gates = (x[..., start:stop] for x in inputs[3:])
        output, state = FORMS[forms[i % 5]](query, key, value, *gates, state)
        outputs.append(output)
    whole, last = gated_delta_segment(*inputs)
    assert (torch.cat(outputs, -2) - whole).abs().max().item() <= 1e-10
    assert (state - last).abs().max().item() <= 1e-10


@pytest.mark.parametrize("form", FORMS)
def test_padding_that_writes_nothing_changes_nothing(form):
    query, key, value, write, log_decay = (x.detach() for x in problem(6))
    output, state = form(query, key, value, write, log_decay)
    padded = [F.pad(x, (0, 0, 0, 3), value=9.0) for x in (query, key, value)]
    padded += [F.pad(x, (0, 3)) for x in (write, log_decay)]
    longer, same = form(*padded)
    assert (longer[..., :6, :] - output).abs().max() <= 1e-12
    assert (same - state).abs().max() <= 1e-12


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bad", range(5), ids=["query", "key", "value", "write", "log_decay"])
def test_what_is_not_finite_reaches_its_own_token_and_later_ones(form, bad):
    inputs = [x.detach().clone() for x in problem(9, lead=(2,))]
    clean, _ = form(*inputs)
    inputs[bad][0, 5] = torch.nan
    output, state = form(*inputs)
    assert output[0, :5].equal(clean[0, :5])
    assert (output[1] - clean[1]).abs().max() <= 1e-12
    spoilt = slice(5, 6) if bad == 0 else slice(5, None)
    assert output[0, spoilt].isnan().all()
    assert state[0].isnan().all() == (bad != 0)
    assert state[1].isfinite().all()
    again, _ = form(*[x[..., :3, :] for x in inputs[:3]], *[x[..., :3] for x in inputs[3:]], state)
    assert again[0].isnan().any() == (bad != 0)


@pytest.mark.parametrize("form", FORMS)
def test_half_inputs_keep_a_wide_state_and_no_tokens_are_fine(form):
    inputs = [x.detach() for x in problem(70, dtype=torch.bfloat16)]
    output, state = form(*inputs)
    exact, _ = form(*(x.double() for x in inputs))
    assert output.dtype == torch.bfloat16
    assert state.dtype == torch.float32
    assert (output - exact).abs().max() <= 2**-7 * exact.abs().max()
    nothing, kept = form(
        *(x[..., :0, :] for x in inputs[:3]), *(x[..., :0] for x in inputs[3:]), state
    )
    assert nothing.shape == (2, 3, 0, 5)
    assert torch.equal(kept, state)


def test_transforms_of_torch():
    inputs = [x.detach() for x in problem(9, lead=(3,))]
    expected, _ = gated_delta_segment(*inputs)
    each, _ = torch.func.vmap(gated_delta_segment)(*inputs)
    assert (each - expected).abs().max() <= 1e-12
    compiled = torch.compile(gated_delta_segment, backend="eager", fullgraph=True)
    assert (compiled(*inputs)[0] - expected).abs().max() <= 1e-12
    assert gated_delta_segment(*(x.to("meta") for x in inputs))[0].shape == expected.shape


def test_gradients_pass_gradcheck():
    inputs = problem(5, lead=())
    assert torch.autograd.gradcheck(lambda *x: gated_delta_segment(*x), inputs)
