"""What the checks of exercises share: nothing borrowed gets by, and every answer gets a line."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import attnkit
from attnbook.exercises import Borrowed, Unanswered, ask, checker, compare, unaided

X = torch.randn(2, 3, 8)
MULTIHEAD = nn.MultiheadAttention(8, 2, batch_first=True)
LAYER = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
OURS = attnkit.MultiHeadAttention(8, 2)


@pytest.mark.parametrize("function, name", [
    (lambda x: F.scaled_dot_product_attention(x, x, x), "scaled_dot_product_attention"),
    (lambda x: MULTIHEAD(x, x, x)[0], "multi_head_attention_forward"),
    (lambda x: MULTIHEAD.eval()(x, x, x)[0], "multi_head_attention"),
    (lambda x: LAYER.train()(x), "multi_head_attention_forward"),
    (lambda x: OURS(x).output, "attnkit."),
    (lambda x: [attnkit.masked_softmax(y) for y in [x]], "attnkit.functional.masked_softmax"),
])  # fmt: skip
def test_what_is_ready_made_is_refused_by_name_and_only_within(function, name):
    with torch.no_grad():
        function(X)
        with unaided(), pytest.raises(Borrowed) as refused:
            ask(function, X)
        assert name in str(refused.value)
        function(X)


def test_the_readers_own_work_is_let_through_on_tensors_and_modules():
    linear = nn.Linear(8, 8)
    with unaided():
        got = ask(lambda x: (linear(x) @ x.mT).softmax(-1) @ x, X)
    assert got.shape == X.shape


def test_what_is_allowed_may_call_what_is_not():
    with unaided(allow=["attnkit.functional"]):
        ask(lambda x: attnkit.scaled_dot_product_attention(x, x, x), X)
        with pytest.raises(Borrowed, match=r"attnkit\.masks\.causal"):
            ask(lambda x: attnkit.masks.causal(4), X)
        with pytest.raises(Borrowed, match="scaled_dot_product_attention"):
            ask(lambda x: F.scaled_dot_product_attention(x, x, x), X)
    with unaided(allow=["attnkit.func"]), pytest.raises(Borrowed):
        ask(attnkit.masked_softmax, X)
    with unaided(allow=["scaled_dot_product_attention"]):
        ask(lambda x: F.scaled_dot_product_attention(x, x, x), X)


@pytest.mark.parametrize("nothing", [..., (..., ...)])
def test_an_answer_that_is_not_written_is_told_from_one_that_is(nothing):
    with pytest.raises(Unanswered):
        ask(lambda: nothing)


@pytest.mark.parametrize("something", [0, False, (), "", (..., 1), [...]])
def test_an_empty_answer_is_an_answer(something):
    assert ask(lambda: something) == something


def test_an_answer_cannot_write_to_the_checks_tensors_unless_asked_to():
    x = torch.zeros(3)
    ask(lambda x: x.add_(1), x)
    ask(lambda xs: xs[0][0].add_(1), ([x],))
    assert not x.any()
    ask(lambda x: x.add_(1), x, copy=False)
    assert x.all()


def test_gradients_reach_what_the_answer_was_called_with():
    x = torch.ones(3, requires_grad=True)
    (gradient,) = torch.autograd.grad(ask(lambda x: (x * x).sum(), x), x)
    assert torch.equal(gradient, torch.full((3,), 2.0))


@pytest.mark.parametrize("got, said", [
    (torch.tensor([1.0, 2.0]), None),
    (torch.tensor([1.0, 2.0], dtype=torch.float16), None),
    ([1.0, 2.0], "case: expected a tensor, got list."),
    (torch.tensor([1.0]), "case: expected shape (2,), got (1,)."),
    (torch.tensor([1.0, float("nan")]), "case: the result holds NaN or Inf."),
    (torch.tensor([1.0, float("inf")]), "case: the result holds NaN or Inf."),
    (torch.tensor([1.0, 2.5]), "case: off by up to 0.5."),
])  # fmt: skip
def test_compare_says_the_first_difference(got, said):
    assert compare(got, torch.tensor([1.0, 2.0]), 1e-6, "case") == said
    assert compare(torch.zeros(0), torch.zeros(0), 0.0, "case") is None


def raises(_):
    raise ValueError("no")


@pytest.mark.parametrize("answer, said", [
    (lambda x: x, "right."),
    (lambda x: -x, "not yet. Wrong way."),
    (lambda x: ..., "no answer yet."),
    (lambda x: None, "not yet. It returned None: is a `return` missing?"),
    (raises, "not yet. It raised ValueError: no"),
    (lambda x: attnkit.masked_softmax(X),
     "not yet. It calls a ready-made function: attnkit.functional.masked_softmax."),
])  # fmt: skip
def test_a_check_prints_one_line_and_gives_its_verdict_to_who_asks(answer, said, capsys):
    @checker(7)
    def check(answer):
        with unaided():
            return None if ask(answer, 1) == 1 else "Wrong way."

    assert check.verdict(answer) == (said == "right.", f"Exercise 7: {said}")
    assert capsys.readouterr().out == ""
    assert check(answer) is None
    assert capsys.readouterr().out == f"Exercise 7: {said}\n"
    assert check.__name__ == "check"


def test_a_reader_can_stop_a_check():
    @checker(1)
    def check(answer):
        ask(answer)

    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check(interrupted)
