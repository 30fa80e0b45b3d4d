"""The leak detector: each library is taken at its word, by running it."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import attnkit
from attnbook.machines import LeakDetector
from attnbook.machines.leak_detector import GIVEN, LIBRARIES
from tests import keras_on_torch as keras


def make(*, text: str = "the", **settings) -> LeakDetector:
    names = [text, "cat", "sat", "on", "a", "mat"]
    return LeakDetector(names, **{"title": "A title"} | settings)


SETTINGS = [
    {"library": "mha", "given": "look", "word": 5},
    {"library": "sdpa", "given": "ones", "word": 3},
    {"library": "attnkit", "given": "added"},
    {"library": "keras", "given": "hide", "layer": "first"},
    {"library": "keras", "given": "added", "word": 2, "layer": "normed"},
    {"layer": "after", "word": 4},
]


def with_mha(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    layer = nn.MultiheadAttention(4, 1, bias=False, batch_first=True).double()
    with torch.no_grad():  # nothing is projected
        layer.in_proj_weight.copy_(torch.eye(4).repeat(3, 1))
        layer.out_proj.weight.copy_(torch.eye(4))
        return layer(query, key, value, attn_mask=mask, need_weights=False)[0]


def with_keras(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    layer = keras.layers.MultiHeadAttention(1, 4, use_bias=False, dtype="float64")
    layer.build(query.shape, value.shape, key.shape)
    shapes = [(4, 1, 4)] * 3 + [(1, 4, 4)]
    layer.set_weights([torch.eye(4).reshape(shape) for shape in shapes])
    with torch.no_grad():
        return layer(query, value, key, attention_mask=mask[None]).cpu()


CALLS: dict[str, Callable] = {
    "attnkit": lambda q, k, v, m: attnkit.scaled_dot_product_attention(q, k, v, mask=m).output,
    "sdpa": lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m),
    "mha": with_mha,
    "keras": with_keras,
}


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_librarys_output_is_what_the_library_gives(library, given):
    machine = make(library=library, given=given)
    x, matrices = torch.tensor(machine.x).double(), torch.tensor(machine.matrices).double()[0]
    given_to = (*((x @ matrix.T)[None] for matrix in matrices), torch.tensor(machine.handed()))
    if machine.compute()["refused"]:
        with pytest.raises(TypeError, match="mask: expected a boolean tensor"):
            CALLS[library](*given_to)
        return
    expected = CALLS[library](*given_to)[0]
    _, output = machine.run(np.array(machine.x))
    assert output == pytest.approx(expected.numpy(), abs=1e-6)


@pytest.mark.parametrize("settings", SETTINGS)
def test_an_output_moves_just_where_its_gradient_is(settings):
    machine = make(**settings)
    now = machine.compute()
    if now["refused"]:
        return
    matrices = torch.tensor(machine.matrices).double()
    added = torch.tensor(machine.added())

    def attend(x, matrices, added):
        query, key, value = (x @ matrix.T for matrix in matrices)
        scores = query @ key.mT / 2
        if machine.layer == "after":
            return scores.softmax(-1) * (added > -1e4) @ value
        weights = attnkit.masked_softmax(scores + added, ~added.isneginf())
        if machine.library == "keras":
            weights = torch.where(added.isneginf().all(1, keepdim=True), 1 / 6, weights)
        return weights @ value

    def layer(x):
        if machine.layer == "normed":
            x = (x - x.mean(0)) / x.std(0)
        out = attend(x, matrices[0], added)
        if machine.layer == "first":
            out = attend(out, matrices[1], torch.zeros_like(added))
        return out

    slopes = torch.autograd.functional.jacobian(layer, torch.tensor(machine.x).double())
    reached = slopes.abs().sum((1, 3)) > 1e-12  # (L, S)
    assert [[v > 1e-9 for v in row] for row in now["reach"]] == reached.tolist()
    above = reached & ~torch.ones(6, 6).tril().bool()
    assert now["leaks"] == int(above.sum())


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_an_empty_row_of_a_module_as_built_is_nan_only_in_eval_without_grad(training, grad):
    layer, may = (
        nn.MultiheadAttention(8, 2, batch_first=True).train(training),
        attnkit.masks.causal(4),
    )
    x = torch.randn(1, 4, 8)
    with torch.set_grad_enabled(grad):
        output = layer(x, x, x, attn_mask=may, need_weights=False)[0][0]
    assert output.isnan().any(1).tolist() == [False] * 3 + [not (training or grad)]


@pytest.mark.parametrize("layers", [1, 2])
def test_right_masks_and_padding_before_are_nan_in_eval_and_the_second_layer_spreads_it(layers):
    one = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = nn.TransformerEncoder(one, layers, enable_nested_tensor=False).eval()
    may, real = attnkit.masks.causal(4), torch.tensor([[False, False, True, True]])
    with torch.no_grad():
        x = torch.randn(1, 4, 8)
        output = encoder(x, mask=~may, src_key_padding_mask=~real)[0]
    assert output.isnan().any(1).tolist() == [True, True, layers == 2, layers == 2]


def test_is_causal_makes_a_module_drop_its_mask_unless_weights_are_asked_for():
    layer, may = nn.MultiheadAttention(8, 2, batch_first=True), attnkit.masks.causal(4)
    x = torch.randn(1, 4, 8)
    right = layer(x, x, x, attn_mask=~may, need_weights=False)[0]
    for weights in (False, True):
        found = layer(x, x, x, attn_mask=may, is_causal=True, need_weights=weights)[0]
        assert found.allclose(right) != weights


@pytest.mark.parametrize(("dropout", "asked"), [(0.0, False), (0.0, True), (0.1, False)])
def test_keras_averages_in_an_empty_row_unless_asked_for_weights_or_built_with_dropout(
    dropout, asked
):
    layer = keras.layers.MultiHeadAttention(1, 4, use_bias=False, dropout=dropout)
    x, eye = torch.randn(1, 3, 4), torch.eye(4)
    layer.build(x.shape, x.shape, x.shape)
    layer.set_weights([eye.reshape(4, 1, 4)] * 3 + [eye.reshape(1, 4, 4)])
    mask = ~attnkit.masks.causal(3)[None]
    output = layer(x, x, attention_mask=mask, return_attention_scores=asked)
    row = (output[0] if asked else output).detach().cpu()[0, -1]
    assert row.allclose(torch.zeros(4) if dropout or asked else x[0].mean(0), atol=1e-6)


def test_a_hidden_word_changes_weights_only_where_the_mask_comes_late():
    for layer in ("before", "after"):
        now = make(layer=layer, library="sdpa", word=5).compute()
        changed = np.abs(np.array(now["now"]) - now["weights"])[:5].max()
        assert (changed > 0.01) == (layer == "after")
