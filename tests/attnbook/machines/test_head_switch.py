"""The switch of heads: its answers are torch's, and a wrong call names the argument."""

import numpy as np
import pytest
import torch
from traitlets import TraitError

from attnbook.machines import HeadSwitch
from attnkit import MultiHeadAttention

WORDS = ["one", "two", "three", "four"]
LABELS = ["a", "b", "c"]


def a_model(heads=2, embed_dim=8, seed=0):
    """A layer of attention, a linear read-out of 2 questions, words, and the switch of both."""
    torch.manual_seed(seed)
    layer = MultiHeadAttention(embed_dim, heads)
    read = torch.nn.Linear(embed_dim, 2 * len(LABELS))
    x = torch.randn(1, len(WORDS), embed_dim)
    return layer, read, x


def switch_of(layer, read, x, row=2, **options):
    heads = layer.num_heads
    with torch.no_grad():
        weights = layer(x, need_weights=True).weights[0]  # (H, L, S)
        value = layer.in_proj(x).chunk(3, -1)[2].unflatten(-1, (heads, -1))[0]  # (S, H, D)
        out = layer.out_proj.weight.unflatten(1, (heads, -1))  # (E, H, D)
        effects = torch.einsum("khd,ehd,ae->hka", value, out, read.weight)
        bias = read(layer.out_proj.bias)
    return HeadSwitch(
        weights,
        effects.unflatten(-1, (2, -1)),
        bias.unflatten(-1, (2, -1)),
        tokens=WORDS,
        row=row,
        questions=["first?", "second?"],
        answers=LABELS,
        **options,
    )


def make(text: str = "hang", **changed) -> HeadSwitch:
    """Two heads over a short sentence, of which `text` is a word."""
    words = [text, "them", "not", "let", "them", "go"]
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(2, 6, 6, generator=generator).softmax(-1)
    effects = 3 * torch.randn(2, 6, 2, 4, generator=generator)
    given = {"tokens": words, "row": 2, "questions": ["comma after", "comma before"]}
    given |= {"answers": ["hang", "let", "pay", "free"], "expected": [1, 0], "title": "A title"}
    return HeadSwitch(weights, effects, torch.randn(2, 4, generator=generator), **given | changed)


SETTINGS = [{"on": [False, True]}, {"on": [False, False]}, {"on": [True, False]}]


@pytest.mark.parametrize("off", [(), (0,), (1,), (0, 1)])
def test_the_answers_are_torchs_with_every_choice_of_heads(off):
    layer, read, x = a_model()
    switch = switch_of(layer, read, x, on=[head not in off for head in range(2)])
    with torch.no_grad():
        for head in off:
            layer.out_proj.weight.unflatten(1, (2, -1))[:, head] = 0
        expected = read(layer(x).output)[0, 2].unflatten(-1, (2, -1)).double()
    assert switch.logits() == pytest.approx(expected.numpy(), abs=1e-6)
    assert switch.given() == [LABELS[place] for place in expected.argmax(-1)]


def test_without_heads_the_bias_is_left():
    layer, read, x = a_model()
    switch = switch_of(layer, read, x, on=[False, False])
    bias = np.frombuffer(switch.bias, np.float32).astype(float)
    assert switch.logits().ravel().tolist() == bias.tolist()


def test_its_picture_and_words_hold_no_measured_number():
    switch = switch_of(*a_model(), title="Trial", head_names=["left", "right"], on=[True, False])
    data, metadata = switch._repr_mimebundle_()
    words = (
        "Trial. Heat maps of the attention weights of 2 heads, off: right: 4 queries by 4 keys, "
        "and the answers at “three”."
    )
    assert data["text/plain"] == metadata["image/png"]["alt"] == words
    assert data["image/png"]
    assert repr(switch) == f"HeadSwitch({words!r})"


def call(**changed):
    given = {
        "weights": torch.rand(2, 4, 4),
        "effects": torch.rand(2, 4, 1, 3),
        "bias": torch.rand(1, 3),
        "tokens": WORDS,
        "row": 1,
        "questions": ["which?"],
        "answers": LABELS,
    }
    given |= changed
    data = [given.pop(name) for name in ("weights", "effects", "bias")]
    return HeadSwitch(*data, **given)


WRONG = [
    ({"weights": "w"}, TypeError, "weights: expected a tensor"),
    ({"weights": torch.rand(2, 3, 4)}, ValueError, "weights: expected L == S, got L = 3, S = 4"),
    ({"effects": torch.rand(2, 4, 3)}, ValueError, r"effects: .*\(2, 4, 1, 3\), got \(2, 4, 3\)"),
    ({"effects": torch.rand(1, 4, 1, 3)}, ValueError, r"effects: expected shape \(H, S, Q, N\)"),
    ({"bias": torch.rand(3)}, ValueError, r"bias: expected shape \(Q, N\) = \(1, 3\), got \(3,\)"),
    ({"tokens": WORDS[:3]}, ValueError, "tokens: expected 4 strings, got 3"),
    ({"row": 4}, ValueError, "row: expected"),
    ({"row": "not"}, TypeError, "row: expected"),
    ({"questions": "which?"}, TypeError, "questions: expected a list of strings"),
    ({"answers": [1, 2, 3]}, TypeError, r"answers\[0\]: expected a string"),
    ({"expected": [0, 1]}, ValueError, "expected: expected 1 indices, got 2"),
    ({"expected": [3]}, ValueError, r"expected\[0\]: expected"),
    ({"on": [True]}, ValueError, "on: expected 2 booleans"),
    ({"on": ["yes", "no"]}, TraitError, "on.*expected a boolean"),
    ({"head_names": ["a"]}, ValueError, "head_names: expected 2 strings"),
    ({"caption": 3}, TypeError, r"caption\[0\]: expected a string"),
]


@pytest.mark.parametrize("changed, kind, words", WRONG)
def test_a_wrong_call_names_the_argument(changed, kind, words):
    with pytest.raises(kind, match=words):
        call(**changed)


def test_a_wrong_choice_later_leaves_the_old_one():
    switch = call()
    with pytest.raises(ValueError, match="on: expected 2 booleans"):
        switch.on = [True, False, True]
    assert switch.on == [True, True]
