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
    {"library": "transformers", "given": "hide", "layer": "first"},
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


def with_transformers(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """As its `get_extended_attention_mask` has it, in float32."""
    added = (1.0 - mask.float()) * torch.finfo(torch.float32).min
    scores = (query @ key.mT / 2).float() + added
    return (scores.softmax(-1).double()) @ value


CALLS: dict[str, Callable] = {
    "attnkit": lambda q, k, v, m: attnkit.scaled_dot_product_attention(q, k, v, mask=m).output,
    "sdpa": lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m),
    "mha": with_mha,
    "keras": with_keras,
    "transformers": with_transformers,
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
    huge = added.isfinite() & (added.abs() > 1e30)

    def attend(x, matrices, added, huge):
        query, key, value = (x @ matrix.T for matrix in matrices)
        scores = query @ key.mT / 2
        if machine.layer == "after":
            return scores.softmax(-1) * (added > -1e4) @ value
        summed = torch.where(huge, added, scores + added)
        return attnkit.masked_softmax(summed, ~added.isneginf()) @ value

    def layer(x):
        if machine.layer == "normed":
            x = (x - x.mean(0)) / x.std(0)
        out = attend(x, matrices[0], added, huge)
        if machine.layer == "first":
            out = attend(out, matrices[1], torch.zeros_like(added), torch.zeros_like(huge))
        return out

    slopes = torch.autograd.functional.jacobian(layer, torch.tensor(machine.x).double())
    reached = slopes.abs().sum((1, 3)) > 1e-12  # (L, S)
    assert [[v > 1e-9 for v in row] for row in now["reach"]] == reached.tolist()
    above = reached & ~torch.ones(6, 6).tril().bool()
    assert now["leaks"] == int(above.sum())


def test_one_state_without_a_leak_has_lost_its_scores():
    lost = []
    for library in LIBRARIES:
        for given in GIVEN:
            now = make(library=library, given=given).compute()
            seen = [[w for w in row if w > 0] for row in now["weights"]]
            if not now["leaks"] and any(len(row) > 1 and np.ptp(row) < 1e-12 for row in seen):
                lost.append((library, given, seen))
    ((library, given, seen),) = lost
    assert (library, given) == ("transformers", "added")
    assert seen == [pytest.approx([1 / n] * n) for n in range(1, 7)]


def test_a_hidden_word_changes_weights_only_where_the_mask_comes_late():
    for layer in ("before", "after"):
        now = make(layer=layer, library="sdpa", word=5).compute()
        changed = np.abs(np.array(now["now"]) - now["weights"])[:5].max()
        assert (changed > 0.01) == (layer == "after")
