"""PyTorch's transforms on every mechanism, with a mask and without (contract, point 8)."""

import copy
from shutil import which
from unittest.mock import Mock

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import Dim
from torch.func import functional_call, grad, vmap
from torch.fx.experimental.proxy_tensor import make_fx

from attnkit import MultiHeadAttention, masks

from .mechanisms import MECHANISMS, InTiles, small_tiles
from .test_contract import DEVICES, close, inputs
from .test_contract import make as make_whole


@pytest.fixture(params=MECHANISMS, ids=repr)
def mechanism(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["free", "masked"])
def masked(request):
    return request.param


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch._dynamo.reset()
    with small_tiles():
        yield
    torch._dynamo.reset()


def make(mechanism, **options):
    """The mechanism, without the wrapper that makes its tiles small: here a fixture does that."""
    module = make_whole(mechanism, **options)
    return module.module if isinstance(module, InTiles) else module


@pytest.fixture
def module(mechanism):
    return make(mechanism, dtype=torch.float32)


@pytest.fixture
def drawn(mechanism, masked):
    return draw(mechanism, masked=masked)


def draw(mechanism, *, batch=2, queries=5, keys=7, masked=False, seed=0):
    """Query, key and value in float32, and a mask (B, L, S) that hides the last key, or None."""
    tensors = inputs(
        mechanism, dtype=torch.float32, batch=batch, queries=queries, keys=keys, seed=seed
    )
    mask = None
    if masked:
        mask = torch.ones(batch, queries, keys, dtype=torch.bool)
        mask[..., -1] = False
    return tensors, mask


def count_graphs(module):
    """The module compiled whole, and a list with one entry for each graph that was made."""
    graphs = []

    def backend(graph, _):
        graphs.append(graph)
        return graph.forward

    def call(tensors, mask):
        return module(*tensors, mask=mask).output

    return torch.compile(call, backend=backend, fullgraph=True), graphs


# The others share their code with these.
DAILY = ("sdpa", "additive-tiled", "luong-general", "flash", "linear", "multihead-grouped", "sink")
some_daily = pytest.mark.parametrize(
    "mechanism",
    [one if one.name in DAILY else pytest.param(one, marks=pytest.mark.slow) for one in MECHANISMS],
    ids=repr,
)


CHANGING = [{"batch": 2 + n % 4, "queries": 5 + n % 3, "keys": 9 + n % 7} for n in range(20)]


@some_daily
@pytest.mark.build
@pytest.mark.parametrize(
    "sizes, most", [([{}] * 20, 1), pytest.param(CHANGING, 3, marks=pytest.mark.slow)]
)
def test_one_shape_makes_one_graph_and_changing_ones_few(mechanism, masked, module, sizes, most):
    compiled, graphs = count_graphs(module)
    for seed, size in enumerate(sizes):
        tensors, mask = draw(mechanism, **size, masked=masked, seed=seed)
        output = compiled(tensors, mask)
    assert 1 <= len(graphs) <= most
    close(output, module(*tensors, mask=mask).output, 1e-5)


@pytest.mark.slow
@pytest.mark.skipif(which("g++") is None, reason="Inductor needs a C++ compiler")
def test_the_default_compiler_takes_a_mask_made_inside(mechanism, module):
    """Of maxima over bytes that are booleans Inductor writes C++ that does not compile."""
    tensors, _ = draw(mechanism, queries=6, keys=6)
    tensors = [x.requires_grad_() for x in tensors]

    def call(*tensors):
        return module(*tensors, mask=masks.causal(6)).output

    compiled = torch.compile(call, fullgraph=True)(*tensors)
    plain = call(*tensors)
    close(compiled, plain, 1e-5)
    ours, expected = (torch.autograd.grad(x.sum(), tensors) for x in (compiled, plain))
    for mine, right in zip(ours, expected, strict=True):
        close(mine, right, 1e-4)


class Call(nn.Module):
    """A mechanism whose mask is positional, which `torch.export` likes better."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, query, key, value, mask):
        return self.module(query, key, value, mask=mask).output


@pytest.mark.slow
def test_export_with_dynamic_batch_and_lengths(mechanism, masked, module):
    tensors, mask = draw(mechanism, batch=3, masked=masked)
    batch, queries, keys = Dim("batch", min=2), Dim("queries", min=2), Dim("keys", min=2)
    sizes = {"batch": 4, "queries": 6, "keys": 11}
    dynamic = (
        {0: batch, 1: queries},
        {0: batch, 1: keys},
        {0: batch, 1: keys},
        ({0: batch, 1: queries, 2: keys} if queries else {0: batch}) if masked else None,
    )
    exported = torch.export.export(Call(module), (*tensors, mask), dynamic_shapes=dynamic)
    tensors, mask = draw(mechanism, **sizes, masked=masked)
    close(exported.module()(*tensors, mask), module(*tensors, mask=mask).output, 1e-5)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shared", [False, True])
def test_vmap_over_the_batch(masked, module, drawn, shared, device):
    """With a mask for each sample, or the first one's for all."""
    module = module.to(device)
    tensors, mask = [x.to(device) for x in drawn[0]], drawn[1]
    if mask is None:
        output = vmap(lambda q, k, v: module(q, k, v).output)(*tensors)
    else:
        mask = mask[0].to(device) if shared else mask.to(device)
        dims = (0, 0, 0, None if shared else 0)
        output = vmap(lambda q, k, v, m: module(q, k, v, mask=m).output, dims)(*tensors, mask)
    close(output, module(*tensors, mask=mask).output, 1e-5)


def test_gradients_for_each_sample(masked, module, drawn):
    (query, key, value), mask = drawn
    parameters = {name: x.detach() for name, x in module.named_parameters()}
    parameters["query"] = query[0]  # for the mechanisms that have no parameter of their own

    def loss(given, key, value, mask):
        given = dict(given)
        query = given.pop("query")
        return functional_call(module, given, (query, key, value), {"mask": mask}).output.sum()

    dims = (None, 0, 0, 0 if masked else None)
    by_sample = vmap(grad(loss), in_dims=dims)(parameters, key, value, mask)
    for b in range(len(key)):
        expected = grad(loss)(parameters, key[b], value[b], mask[b] if masked else None)
        for name, found in by_sample.items():
            close(found[b], expected[name], 1e-4)


def test_the_meta_device_gives_shapes(module, drawn):
    tensors, mask = drawn
    expected = module(*tensors, mask=mask, need_weights=True)
    on_meta = copy.deepcopy(module).to("meta")
    mask = None if mask is None else mask.to("meta")
    for need_weights in (False, True):
        output, weights = on_meta(
            *(x.to("meta") for x in tensors), mask=mask, need_weights=need_weights
        )
        assert output.is_meta
        assert output.shape == expected.output.shape
        assert not need_weights or weights.shape == expected.weights.shape


def test_fake_tensors_give_shapes(module, drawn):
    tensors, mask = drawn
    expected = module(*tensors, mask=mask).output
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        mask = None if mask is None else mode.from_tensor(mask)
        output = module(*map(mode.from_tensor, tensors), mask=mask).output
    assert output.shape == expected.shape
    assert output.dtype == expected.dtype


@some_daily
@pytest.mark.build
def test_make_fx_traces(mechanism, masked, module, drawn):
    tensors, mask = drawn
    traced = make_fx(lambda *x: module(*x, mask=mask).output)(*tensors)
    others, _ = draw(mechanism, masked=masked, seed=5)
    close(traced(*others), module(*others, mask=mask).output, 1e-5)


def test_masks_are_built_inside_a_graph_of_dynamic_length():
    class Causal(nn.Module):
        def forward(self, x):
            return masks.causal(x.shape[1]) & masks.sliding_window(x.shape[1], window=3)

    length = Dim("length", min=3)
    exported = torch.export.export(Causal(), (torch.randn(2, 5, 4),), dynamic_shapes=({1: length},))
    assert torch.equal(exported.module()(torch.randn(2, 9, 4)), Causal()(torch.randn(2, 9, 4)))


def test_padding_compiles_when_the_longest_length_is_named():
    compiled = torch.compile(lambda x: masks.padding(x, 6), backend="eager", fullgraph=True)
    lengths = torch.tensor([3, 6, 0])
    assert torch.equal(compiled(lengths), masks.padding(lengths, 6))


# ---------------------------------------------------------------- every use of a projection


def linears(module):
    return {name: part for name, part in module.named_modules() if isinstance(part, nn.Linear)}


def test_hooks_see_every_projection(mechanism, masked):
    module, seen = make(mechanism, dtype=torch.float32), set()
    for name, part in linears(module).items():
        part.register_forward_hook(lambda *_, name=name: seen.add(name))
    tensors, mask = draw(mechanism, masked=masked)
    module(*tensors, mask=mask)
    assert seen == set(linears(module))


class Added(nn.Module):
    """An adapter as LoRA's: the projection it wraps, and a low-rank product beside it."""

    def __init__(self, base, rank=2):
        super().__init__()
        self.base = base
        self.down = nn.Parameter(torch.randn(rank, base.in_features))
        self.up = nn.Parameter(torch.randn(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + x @ self.down.T @ self.up.T

    def merged(self):
        """One linear layer that computes the same."""
        same = copy.deepcopy(self.base)
        with torch.no_grad():
            same.weight += self.up @ self.down
        return same


@pytest.mark.parametrize("need_weights", [False, True])
def test_adapters_change_every_use_of_a_projection(mechanism, masked, need_weights):
    adapted = make(mechanism, dtype=torch.float32)
    merged = copy.deepcopy(adapted)
    for name in linears(merged):
        torch.manual_seed(1)
        wrapped = Added(adapted.get_submodule(name))
        adapted.set_submodule(name, wrapped)
        merged.set_submodule(name, wrapped.merged())
    tensors, mask = draw(mechanism, masked=masked)
    output = adapted(*tensors, mask=mask, need_weights=need_weights).output
    close(output, merged(*tensors, mask=mask, need_weights=need_weights).output, 1e-4)


@pytest.mark.parametrize(
    "way", ["forward_hook", "forward_pre_hook", "full_backward_hook", "forward", "global"]
)
def test_cross_attention_goes_through_a_watched_projection(way):
    torch.manual_seed(0)
    module, note = MultiHeadAttention(8, 2), Mock(return_value=None)
    query, memory = torch.randn(2, 3, 8), torch.randn(2, 5, 8)
    plain = module(query, memory).output
    projection = module.in_proj
    if way == "global":
        handle = nn.modules.module.register_module_forward_hook(
            lambda part, *_: note() if part is projection else None
        )
    elif way == "forward":
        projection.forward = note = Mock(side_effect=projection.forward)
    else:
        getattr(projection, f"register_{way}")(note)
    output = module(query, memory).output
    output.sum().backward()
    if way == "global":
        handle.remove()
    close(output, plain, 1e-6)
    assert note.call_count == 2  # once for the query, once for the memory


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_quantized_projections_are_used():
    torch.manual_seed(0)
    module = MultiHeadAttention(16, 2).eval()
    query, memory = torch.randn(2, 3, 16), torch.randn(2, 5, 16)
    quantized = torch.ao.quantization.quantize_dynamic(module, {nn.Linear})
    mask = masks.padding([5, 3])
    output = quantized(query, memory, mask=mask).output
    expected = module(query, memory, mask=mask).output
    assert not torch.equal(output, expected)
    close(output, expected, 0.1)
