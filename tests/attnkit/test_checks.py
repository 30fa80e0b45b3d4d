"""Every check by itself: what it lets through, and the words in which it refuses."""

import pytest
import torch
from torch import nn

from attnkit.guard import checks, dtypes
from tests.refusals.wrong_calls import refused

X, MASK = torch.zeros(2, 3), torch.ones(2, 3, dtype=torch.bool)

LETS_THROUGH = [
    lambda: checks.tensor("x", X) is X,
    lambda: checks.floating("x", X) is X,
    lambda: checks.boolean("x", MASK) is MASK,
    lambda: checks.dims("x", X, 2, "(L, E)") is X,
    lambda: checks.size("x", X, -1, 3, "E") is X,
    lambda: checks.instance("x", 2, int, "an int") == 2,
    lambda: checks.function("x", len, "a function") is len,
    lambda: checks.integer("n", 0) == 0,
    lambda: checks.integer("n", 3, minimum=3, maximum=3) == 3,
    lambda: checks.number("n", -2) == -2,
    lambda: checks.number("n", 0.5) == 0.5,
    lambda: checks.positive("n", 0.1) == 0.1,
    lambda: checks.probability("p", 0) == 0,
    lambda: checks.probability("p", 0.99) == 0.99,
    lambda: checks.flag("f", False) is False,
    lambda: checks.choice("c", "a", ("a", "b")) == "a",
    lambda: checks.same_device(a=X, b=None, c=MASK) is None,
    lambda: checks.same_dtype(a=X, b=X) is None,
    lambda: checks.broadcasts_to("x", X[:1], (4, 2, 3), "(B, L, S)").shape == (1, 3),
    lambda: checks.leading_dims(a=X, b=torch.zeros(4, 1, 3)) == (4,),
    lambda: checks.leading_dims(a=torch.zeros(4, 1, 3), b=torch.zeros(4, 2, 3)) == (4,),
    lambda: checks.mask(MASK, (4, 2, 3), device=X.device) is MASK,
    lambda: checks.bias(X, (4, 2, 3), device=X.device) is X,
    lambda: checks.shape(X) == (2, 3),
]


@pytest.mark.parametrize("call", LETS_THROUGH)
def test_what_is_right_passes_and_comes_back(call):
    assert call()


test_what_is_wrong_is_refused = refused("checks", "checks", names=globals())


def test_dtypes_must_agree_on_the_meta_device_too():
    x, y = X.to("meta"), X.to("meta", torch.float64)
    with pytest.raises(TypeError, match=r"key: expected dtype torch\.float32"):
        checks.same_dtype(query=x, key=y)
    with torch.autocast("cpu", torch.bfloat16):
        assert checks.same_dtype(query=X, key=X.double()) is None


def test_autocast_leaves_float64_alone():
    with torch.autocast("cpu", torch.bfloat16):
        narrow, wide = dtypes.as_autocast(X, X.double())
    assert (narrow.dtype, wide.dtype) == (torch.bfloat16, torch.float64)


@pytest.mark.parametrize(("value", "said"), [
    (torch.zeros(40, 3), "Tensor of shape (40, 3)"),
    ("a b", "str 'a b'"),
    (2.5, "float 2.5"),
    (nn.Linear(2, 3), "Linear(in_features=2, out_features=3, bias=True)"),
    (range(3), "range(0, 3)"),
    (["word"] * 90, "list ['word', 'word',"),
])  # fmt: skip
def test_a_message_names_a_large_value_in_one_short_line(value, said):
    with pytest.raises(TypeError) as caught:
        checks.integer("n", value)
    message = str(caught.value)
    assert message.startswith(f"n: expected an int, got {said}")
    assert "\n" not in message
    assert len(message) < 120


@pytest.mark.parametrize(("shape", "target", "hint"), [
    ((2, 4), (2, 3, 4), " (pass mask[:, None])"),
    ((2, 4), (2, 5, 3, 4), " (pass mask[:, None, None])"),
    ((2, 3, 4), (2, 5, 3, 4), " (pass mask[:, None])"),
    ((5, 4), (2, 3, 4), ""),
    ((2, 4), (2, 4, 3), ""),
    ((7,), (2, 3, 4), ""),
])  # fmt: skip
def test_a_mask_that_lacks_dimensions_is_told_which(shape, target, hint):
    given = torch.ones(shape, dtype=torch.bool)
    with pytest.raises(ValueError, match="mask: expected a shape that broadcasts") as caught:
        checks.mask(given, target, device=given.device)
    assert str(caught.value).endswith(f"got shape {shape}{hint}")
    if hint:
        added = given[:, None] if hint.count("None") == 1 else given[:, None, None]
        checks.mask(added, target, device=given.device)


def test_this_pytorch_has_the_private_names_that_tell_when_values_cannot_be_read():
    """Without them `import attnkit` works, but not every transform does: see `guard.dtypes`."""
    assert dtypes._PROXY is not None
    assert dtypes._FUNCTORCH is not None


def test_without_the_private_names_a_plain_tensor_can_be_read(monkeypatch):
    monkeypatch.setattr(dtypes, "_PROXY", None)
    monkeypatch.setattr(dtypes, "_FUNCTORCH", None)
    assert not dtypes.values_unavailable(X)
    assert dtypes.values_unavailable(X.to("meta"))
