"""Each exhibit of the museum is caught by the check that its label names."""

import inspect
import math
import re
import sys
import textwrap
from types import ModuleType

import pytest
import torch
from torch import nn

from attnbook import museum
from attnbook.figures import ch16
from attnkit import testing
from booktools import gates, normal_form
from tests import keras_on_torch as keras
from tests.book.chapter import page_cells

LABEL = re.compile(
    r"<summary><b>(?P<name>[^<]+)</b>: [^<]+\. "
    r"Caught by <code>(?P<check>[^<]+)</code>(?P<alone> alone)?\.</summary>"
    r"\n\n```python\n(?P<code>.*?)\n```",
    re.DOTALL,
)


@pytest.fixture(scope="module")
def text():
    return "\n".join(page_cells("16c").values())


@pytest.fixture(scope="module")
def labels(text):
    found = list(LABEL.finditer(text))
    assert len(found) == text.count("<summary><b>")
    return {label["name"]: label for label in found}


def test_every_exhibit_has_a_label_and_every_label_an_exhibit(labels, text):
    assert list(labels) == list(museum.exhibits())
    rooms = re.split(r"^## Room \d", text, flags=re.MULTILINE)[1:]
    assert [room.count("<summary><b>") for room in rooms] == list(museum.ROOMS.values())


@pytest.mark.parametrize("name", museum.exhibits())
def test_the_check_of_a_label_fails_on_the_bug_and_passes_on_the_mended_version(name, labels):
    label, exhibit = labels[name], museum.exhibits()[name]
    assert museum.catches(label["check"], exhibit), name
    catching = [check for check, caught in museum.matrix()[name].items() if caught]
    assert (catching == [label["check"]]) == bool(label["alone"]), (name, catching)


def test_each_label_shows_a_wrong_line_beside_a_right_one(labels):
    for name, label in labels.items():
        marks = re.findall(r"# (wrong|right)\b", label["code"])
        assert sorted(marks) == ["right", "wrong"], name
        inside = "\n".join("    " + line for line in label["code"].splitlines())
        compile(f"def exhibit(self):\n{inside}", name, "exec")


# ---- The lines called right, run in the case that broke other ones.

LEFT = torch.tensor([[True, True], [False, True]])  # two sentences of two places, one padded
H, D = 2, 3


def run(label, called, **names):
    """What names a label's code gives when its lines that are not called so are left out."""
    other = {"right": "# wrong", "wrong": "# right"}[called]
    kept = [line for line in label["code"].splitlines() if other not in line]
    if called == "wrong":  # without what goes with the right line
        kept = [line for line in kept if "# wrong" in line]
    kept[-1] = kept[-1] if re.match(r"\w+ = ", kept[-1]) else f"output = {kept[-1]}"
    names = {"torch": torch, "B": 2, "L": 2, "real": LEFT, "math": math} | names
    exec("\n".join(kept), names)
    return names


def heads(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(2, H, 2, D, generator=generator) for _ in range(3))


def test_places_of_left_padding_can_be_looked_up_in_a_table(labels):
    place = run(labels["left padding counted"], "right")["place"]
    assert place.tolist() == [[0, 1], [0, 0]]
    nn.Embedding(2, 4)(place)


def test_the_mask_of_a_batch_fits_scores_of_heads_when_all_sizes_are_equal(labels):
    hidden = {}
    for called in ("right", "wrong"):
        mask = run(labels["batch taken for length"], called)["mask"]
        hidden[called] = torch.zeros(2, H, 2, 2).masked_fill(~mask, 1.0)
    expected = (~LEFT).float()[:, None, None, :].expand(2, H, 2, 2)
    assert torch.equal(hidden["right"], expected)
    assert not torch.equal(hidden["wrong"], expected)


def test_nan_behind_the_mask_reaches_neither_output_nor_gradient(labels):
    query, key, value = heads()
    key[1, :, 0] = value[1, :, 0] = math.nan
    query.requires_grad_()
    label = labels["NaN behind the mask"]
    for called, fine in (("right", True), ("wrong", False)):
        cleared = run(label, called, key=key, value=value, weights=torch.eye(2)).get("key", key)
        scores = (query @ cleared.mT).masked_fill(~LEFT[:, None, None, :], -math.inf)
        given = {"key": key, "value": value, "weights": scores.softmax(-1)}
        output = run(label, called, **given)["output"]
        (grad,) = torch.autograd.grad(output.sum(), query)
        assert [bool(x.isfinite().all()) for x in (output, grad)] == [fine, fine]
        # What is there stays: the whole sentence in both heads, the other's last word in both.
        if fine:
            assert torch.equal(cleared[0], key[0])
            assert torch.allclose(output[1], value[1, :, 1:].expand(H, 2, D))


def test_the_last_word_is_found_where_padding_is_on_the_right(labels):
    states = torch.arange(4.0).reshape(2, 2, 1)
    for called, expected in (("right", [1, 2]), ("wrong", [1, 3])):
        label = labels["query from the padding"]
        query = run(label, called, states=states, lengths=torch.tensor([2, 1]))["query"]
        assert query.flatten().tolist() == expected


def test_the_usual_tests_pass_what_is_right_and_fail_what_they_look_at():
    assert museum.three_tests(museum.right, museum.right) == (True, True, True)
    assert museum.usual()["scaled too late"] == (False, False, False)
    assert museum.usual()["mask after the softmax"] == (True, False, False)
    assert museum.usual()["no scale"] == (True, True, False)
    assert museum.usual()["filled with -1e4"] == (True, True, True)
    assert museum.usual()["mask over the queries"] == (True, True, True)  # nothing is padded


def test_a_comparison_on_rich_inputs_sees_padding_large_scores_and_a_second_call():
    missed = {name for name, (*_, same) in museum.usual().items() if same}
    assert missed - {name for name, same in museum.richly().items() if same} == {
        "mask over the queries", "batch taken for length", "left padding counted",
        "query from the padding", "filled with -1e4", "scaled in place", "mask changed in place",
    }  # fmt: skip
    for name, (_, mended, _) in museum.exhibits().items():
        assert mended is None or museum.compared_richly(mended, mended), name


@pytest.mark.parametrize("output, weights", [
    (torch.zeros(2, 3, 5), None),
    (torch.full((2, 3, 4), torch.nan), None),
    (torch.zeros(2, 3, 4), torch.full((2, 3, 3), 0.3)),
])  # fmt: skip
def test_the_usual_test_fails_another_shape_no_number_and_no_sum(output, weights):
    value = torch.zeros(2, 3, 4)
    assert museum.looks_right(value, torch.full((2, 3, 3), 1 / 3), value)
    assert not museum.looks_right(output, weights, value)


def test_what_the_figure_counts_is_what_the_tests_find():
    found = ch16.caught()
    passed = [sum(each) for each in zip(*museum.usual().values(), strict=True)]
    assert [39 - n for n in passed] == [found[name] for name in museum.USUAL]
    assert len(museum.exhibits()) == sum(museum.ROOMS.values())


class Own(nn.Module):
    """A correct layer of a reader's own: causal by itself or not, with a mask or none."""

    causal, scale = False, 0.5

    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, mask=None, hidden=None):
        parts = self.qkv(x).chunk(3, -1)
        q, k, v = (x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for x in parts)
        mask = mask if hidden is None else ~hidden
        seen = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool)
        seen = seen.tril() if self.causal else seen
        seen = seen if mask is None else seen & mask[:, None]
        weights = (q @ k.mT * self.scale).masked_fill(~seen, -1e9).softmax(-1) * seen
        return self.out((weights @ v).transpose(1, 2).flatten(2)), weights


class OutputAlone(Own):
    def forward(self, x, mask=None):
        return super().forward(x, mask)[0]


class NoMask(Own):
    causal = True

    def forward(self, x):
        return super().forward(x)[0]


class CausalByItself(Own):
    causal = True


class Unscaled(Own):
    scale = 1.0


@pytest.fixture
def page_file(monkeypatch):
    """What the test file on page 16 gives for a class, check by check, and with the fold's way to
    hand over heads if `adapted`."""
    (path,) = gates.CHAPTERS.glob("16_*.ipynb")
    (cell,) = (cell for cell in normal_form.read(path).cells if cell.id == "tests-read")
    file, fold = re.findall(r"```python\n(.*?)```", cell.source, re.DOTALL)

    def run(kind, adapted=False):
        own = ModuleType("my_model")
        own.MyAttention = lambda *args, **options: torch.manual_seed(0) and kind(*args, **options)
        monkeypatch.setitem(sys.modules, "my_model", own)
        exec(file.replace("causal=False", f"causal={getattr(kind, 'causal', False)}"), names := {})
        said = {}
        if adapted:
            monkeypatch.setattr(testing, "adapt", museum.adapt)
            exec(fold, names)
            monkeypatch.setattr(testing, "adapt", lambda *_, **__: names["adapted"])
        for check in names["CHECKS"]:
            try:
                names["test_attention"](check)
                said[check.__name__] = "passes"
            except pytest.skip.Exception:
                said[check.__name__] = "skipped"
            except AssertionError:
                said[check.__name__] = "fails"
        return said

    return run


NEED_HEADS = {"assert_scale", "assert_heads_independent"}


@pytest.mark.parametrize("kind, skipped", [
    (Own, NEED_HEADS), (OutputAlone, NEED_HEADS), (nn.MultiheadAttention, set()),
    (CausalByItself, NEED_HEADS | {"assert_combines_masks"}),
    (NoMask, NEED_HEADS | {"assert_padding_invariant", "assert_combines_masks",
                           "assert_masked_values_ignored"}),
])  # fmt: skip
def test_the_pages_file_fails_no_correct_layer(page_file, kind, skipped):
    said = page_file(kind)
    assert tuple(said) == museum.TEN
    assert {name for name, word in said.items() if word != "passes"} == skipped
    assert "fails" not in said.values()


def test_with_its_heads_handed_over_the_pages_file_sees_a_missing_scale(page_file):
    assert set(page_file(Own, adapted=True).values()) == {"passes"}
    said = page_file(Unscaled, adapted=True)
    assert [name for name, word in said.items() if word == "fails"] == ["assert_scale"]


def test_ten_checks_pass_on_keras_with_its_bug_unless_they_make_the_models_call(monkeypatch):
    kind = keras.layers.MultiHeadAttention
    layer = kind(2, 4, dropout=0.1)
    by_name = testing.adapt(layer, lambda q, k, v: layer(q, v, k, use_causal_mask=True))
    testing.assert_causal(by_name)
    source = textwrap.dedent(inspect.getsource(kind._compute_attention))
    repair = "if use_causal_mask:\n        causal_mask"  # Keras #23040
    assert source.count(repair) == 1
    source = source.replace(repair, repair.replace("use_causal_mask:", "False:"))
    exec(source, vars(sys.modules[kind.__module__]), names := {})
    monkeypatch.setattr(kind, "_compute_attention", names["_compute_attention"])
    for name in museum.TEN:
        getattr(testing, name)(layer)
    with pytest.raises(AssertionError, match="query 0 sees key 1"):
        testing.assert_causal(by_name)


def test_maps_of_an_exhibit_have_its_name():
    maps = set(ch16.walk()[0]) - {"correct", "window of 3"}
    broken = {one.name for one in ch16.quiz() if one.broken}
    assert maps | broken <= set(museum.exhibits())
