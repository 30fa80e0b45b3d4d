"""What public reports of other libraries told of: each kind of fault, asked of attnkit."""

import copy
import threading

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from attnkit import KVCache, MultiHeadAttention, SelfAttention, functional, masks
from attnkit import scaled_dot_product_attention as sdpa
from attnkit.trace import record


class Served(nn.Module):
    """A model that waits in the middle of its call."""

    def __init__(self):
        super().__init__()
        self.attention = SelfAttention(8)
        self.inside, self.go_on = threading.Event(), threading.Event()

    def forward(self, x):
        self.inside.set()
        assert self.go_on.wait(10)
        return self.attention(x).output


def test_a_recorder_that_comes_while_another_thread_is_inside_the_model_does_not_stop_it():
    model, said = Served(), []
    model.register_forward_hook(lambda *_: None)  # with any hook, PyTorch asks for all of them

    def request():
        try:
            said.append(model(torch.randn(1, 3, 8)).shape)
        except Exception as error:
            said.append(error)

    thread = threading.Thread(target=request)
    thread.start()
    assert model.inside.wait(10)
    with record(model) as calls:
        model.go_on.set()
        thread.join()
        model(torch.randn(2, 3, 8))
    assert said == [torch.Size([1, 3, 8])]
    assert [call.module for call in calls] == ["attention"]
    assert calls[0]["output"].shape[0] == 2


def test_a_recorder_that_comes_inside_a_call_names_what_it_sees():
    class Late(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = SelfAttention(8)

        def forward(self, x):
            with record(self) as self.calls:
                return self.attention(x).output

    late = Late()
    late(torch.randn(1, 3, 8))
    late(torch.randn(1, 3, 8))
    assert [call.module for call in late.calls] == ["attention"]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_bias_that_is_too_low_for_the_dtype_masks_the_same_with_and_without_weights(dtype):
    x = torch.randn(1, 2, 4, 8, dtype=dtype)
    bias = torch.zeros(4, 4)
    bias[0], bias[1, :3] = torch.finfo(torch.float32).min, torch.finfo(torch.float32).min
    plain, weighed = (sdpa(x, x, x, bias=bias, need_weights=need).output for need in (False, True))
    torch.testing.assert_close(plain, weighed, atol=2e-2, rtol=2e-2)
    module = MultiHeadAttention(16, 2).to(dtype).eval()
    y = torch.randn(1, 4, 16, dtype=dtype)
    plain, weighed = (module(y, bias=bias, need_weights=need).output for need in (False, True))
    torch.testing.assert_close(plain, weighed, atol=2e-2, rtol=2e-2)
    assert plain.isfinite().all()


@pytest.mark.parametrize("junk", [float("nan"), float("inf"), -float("inf")])
def test_attend_lets_no_masked_value_through(junk):
    """A mechanism is its scores, followed by this: so it keeps what every mechanism promises."""
    value = torch.tensor([[1.0], [3.0], [junk]], requires_grad=True)
    scores = torch.tensor([[0.0, 0.0, junk]], requires_grad=True)
    output, weights = functional.attend(scores, value, mask=torch.tensor([True, True, False]))
    assert output.tolist() == [[2.0]]
    assert weights.tolist() == [[0.5, 0.5, 0.0]]
    output.sum().backward()
    assert scores.grad.isfinite().all()
    assert value.grad.tolist() == [[0.5], [0.5], [0.0]]
    seen = functional.attend(torch.zeros(1, 3), value, mask=torch.ones(3, dtype=torch.bool))
    assert not seen.output.isfinite().any()


class Whole(torch.Tensor):
    """A weight that can be multiplied and not cut, as torchao's int8 is."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        cuts = torch.Tensor.split, torch.split, torch.Tensor.chunk, torch.Tensor.__getitem__
        if function in cuts:
            raise NotImplementedError(f"{function.__name__} of a quantized weight")
        result = super().__torch_function__(function, types, args, kwargs or {})
        return result.as_subclass(torch.Tensor) if function is nn.functional.linear else result


@pytest.mark.parametrize("kv_heads", [None, 2])
def test_a_weight_that_is_no_plain_tensor_is_used_as_a_whole(kv_heads):
    torch.manual_seed(0)
    plain = MultiHeadAttention(8, 4, num_kv_heads=kv_heads)
    quantized = copy.deepcopy(plain)
    weight = quantized.in_proj.weight.detach().as_subclass(Whole)
    quantized.in_proj.weight = nn.Parameter(weight, requires_grad=False)
    x, y = torch.randn(1, 3, 8), torch.randn(1, 5, 8)
    for key, value in ((y, y), (y, torch.randn(1, 5, 8))):
        expected = plain(x, key, value).output
        torch.testing.assert_close(quantized(x, key, value).output, expected)


def test_with_weights_every_form_can_be_differentiated_twice():
    torch.manual_seed(0)
    module = MultiHeadAttention(4, 2).double()
    x = torch.randn(1, 3, 4, dtype=torch.float64, requires_grad=True)

    def output(x):
        return module(x, mask=masks.causal(3), need_weights=True).output

    assert torch.autograd.gradgradcheck(output, (x,))
    assert "second derivative" in " ".join((sdpa.__doc__ or "").split())
    assert "second derivative" in " ".join((MultiHeadAttention.forward.__doc__ or "").split())


@pytest.mark.parametrize("masked", [False, True])
def test_a_module_can_be_traced_and_asks_the_new_values_for_rows_that_see_nothing(masked):
    class Traced(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = MultiHeadAttention(8, 2)

        def forward(self, x, mask):
            return self.attention(x, mask=mask if masked else None).output

    torch.manual_seed(0)
    plain = Traced().eval()
    traced = torch.jit.trace(plain, (torch.randn(2, 5, 8), masks.padding([5, 3])))
    other, empty = torch.randn(2, 5, 8), masks.padding([2, 0], max_len=5)
    if masked:  # as a key it is hidden, and as a query left out of the comparison
        other[0, 3] = float("nan")
    torch.testing.assert_close(traced(other, empty)[:, :3], plain(other, empty)[:, :3])


def test_a_mask_can_be_made_of_a_length_that_is_traced():
    class Causal(nn.Module):
        def forward(self, x):
            return masks.causal(x.shape[1])

    traced = torch.jit.trace(Causal(), torch.zeros(1, 4, 2), check_trace=False)
    assert torch.equal(traced(torch.zeros(1, 4, 2)), masks.causal(4))


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_cache_inside_a_checkpoint_is_refused_before_the_gradient_is_wrong(reentrant):
    torch.manual_seed(0)
    module, cache = MultiHeadAttention(8, 2), KVCache()
    x = torch.randn(1, 3, 8, requires_grad=True)

    def call(x):
        return module(x, cache=cache).output

    with pytest.raises(RuntimeError, match="cache: expected no gradient checkpointing"):
        checkpoint(call, x, use_reentrant=reentrant).sum().backward()
