"""The exercises of chapter 06: each solution printed in the book passes its check, plausible wrong
answers do not, and an untouched exercise says so.

The checks and the solutions are read from the notebook itself, so what is tested is what is read.
"""

import re
from pathlib import Path

import nbformat
import pytest

import attnkit

CHAPTER = Path(__file__).parents[2] / "chapters" / "06_masks.ipynb"
CHECKS = {
    1: "check_translation",
    2: "check_softmax",
    3: "check_cached",
    4: "check_finder",
    5: "check_packed",
}

# Wrong answers by exercise: what is wrong, and what the check has to say of it.
WRONG = {
    (1, "both upside down"): (
        "lambda x: ~(tril(x) & ~x[:, None, None])",
        "query 0 may attend to key 0",
    ),
    (1, "padding not turned round"): (
        "lambda x: tril(x) & x[:, None, None]",
        "query 0 may attend to key 0",
    ),
    (1, "either rule is enough"): (
        "lambda x: tril(x) | ~x[:, None, None]",
        "query 0 must not attend to key 1",
    ),
    (1, "hides rows in place of columns"): (
        "lambda x: tril(x) & ~x[:, None, :, None]",
        "query 3 may attend to key 0",
    ),
    (1, "no dimension for the heads"): ("lambda x: tril(x) & ~x[:, None]", "expected shape"),
    (1, "a float mask"): (
        "lambda x: (tril(x) & ~x[:, None, None]).float()",
        "expected a boolean mask",
    ),
    (1, "attnkit's"): (
        "lambda x: (masks.causal(x.shape[1]) & masks.from_torch_padding(x))[:, None]",
        "a ready-made function",
    ),
    (2, "fills with -1e9"): (
        "lambda s, m: s.float().masked_fill(~m, -1e9).softmax(-1).to(s.dtype)",
        "a hidden key has a weight",
    ),
    (2, "-1e9 in the dtype of the scores"): (
        "lambda s, m: s.masked_fill(~m, -1e9).softmax(-1).masked_fill(~m, 0)",
        "cannot be converted",
    ),
    (2, "-inf on an empty row"): (
        "lambda s, m: s.masked_fill(~m, -math.inf).softmax(-1)",
        "the weights hold NaN",
    ),
    (2, "multiplies after the softmax"): ("lambda s, m: s.softmax(-1) * m", "hold NaN"),
    (2, "zeroes after the softmax"): (
        "lambda s, m: s.softmax(-1).masked_fill(~m, 0)",
        "NaN",
    ),
    (2, "adds a bias"): (
        "lambda s, m: torch.nan_to_num((s + bias(m)).softmax(-1))",
        "weights of visible keys are off",
    ),
    (2, "a fill not low enough"): (
        "lambda s, m: s.masked_fill(~m, -1e4).softmax(-1).masked_fill(~m, 0)",
        "weights of visible keys are off",
    ),
    (2, "stays in float32"): (
        "lambda s, m: my_masked_softmax(s.float(), m)",
        "shape or dtype",
    ),
    (2, "guards the division when it is too late"): ("too_late", "the gradient holds NaN"),
    (2, "fills the caller's scores"): (
        "lambda s, m: my_masked_softmax(s.data.masked_fill_(~m, 0) + 0 * s, m)",
        "It changes the caller's scores",
    ),
    (2, "attnkit's"): (
        "lambda s, m: attnkit.masked_softmax(s, m)",
        "a ready-made function",
    ),
    (3, "upper left"): (
        "lambda n, c, w: band(n, c, w, 0)",
        "query 0 must not attend to key 0",
    ),
    (3, "one key too many"): (
        "lambda n, c, w: band(n, c, w + 1, c)",
        "must not attend",
    ),
    (3, "one key too few"): ("lambda n, c, w: band(n, c, w - 1, c)", "may attend"),
    (3, "sees the next word"): ("lambda n, c, w: band(n, c, w + 1, c + 1)", "must not attend"),
    (3, "no window"): ("lambda n, c, w: band(n, c, 99, c)", "must not attend"),
    (3, "looks ahead as well"): (
        "lambda n, c, w: (place(n, c) - torch.arange(c + n)).abs() < w",
        "must not attend",
    ),
    (3, "only the new keys"): ("lambda n, c, w: band(n, c, w, c)[:, c:]", "expected shape"),
    (3, "True means ignore"): ("lambda n, c, w: ~band(n, c, w, c)", "must not attend"),
    (4, "lets everything pass"): ("lambda f: True", "sees one word ahead"),
    (4, "lets nothing pass"): ("lambda f: False", "turn down a causal layer."),
    (4, "only in train mode"): ("lambda f: look(f, modes=(True,))", "train mode only"),
    (4, "only short sentences"): ("lambda f: look(f, lengths=(4,))", "beyond eight words"),
    (4, "only one sentence"): ("lambda f: look(f, batch=False)", "sentences of a batch"),
    (4, "sums the features, with a tolerance"): (
        "lambda f: look(f, plain_sum=True)",
        "masks after the softmax",
    ),
    (4, "only the next word"): (
        "lambda f: look(f, ahead=2)",
        "sees one word ahead",
    ),
    (5, "causal within a document"): (
        "lambda n, p: packed_prefix(n, [0] * len(n))",
        "query 3 may attend to key 4",
    ),
    (5, "prefix of the row, not of the document"): (
        "lambda n, p: same(n) & (lower(n) | (torch.arange(sum(n)) < p[0]))",
        "may attend",
    ),
    (5, "sees other documents"): (
        "lambda n, p: packed_prefix(n, p) | lower(n)",
        "query 3 must not attend to key 0",
    ),
    (5, "whole documents"): ("lambda n, p: same(n)", "must not attend"),
    (5, "only the prefix"): (
        "lambda n, p: packed_prefix(n, p) & ~lower(n)",
        "query 0 may attend to key 0",
    ),
}

HELPERS = """
def tril(ignore):
    return torch.ones(ignore.shape[1], ignore.shape[1]).tril().bool()

def bias(may):
    return torch.zeros(may.shape).masked_fill(~may, -math.inf)

def too_late(scores, may):  # 0/0 on an empty row is covered up, but not its gradient
    dtype, scores = scores.dtype, scores.nan_to_num(0, 0, 0).float()
    top = scores.masked_fill(~may, -math.inf).amax(-1, keepdim=True)
    top = torch.where(may.any(-1, keepdim=True), top, scores.amax(-1, keepdim=True))
    parts = (scores - top).clamp(max=0).exp() * may
    total = parts.sum(-1, keepdim=True)
    return torch.where(total > 0, parts / total, 0.0).to(dtype)

def place(new, cached):
    return cached + torch.arange(new)[:, None]

def band(new, cached, window, offset):
    query, key = offset + torch.arange(new)[:, None], torch.arange(cached + new)
    return (key <= query) & (key > query - window)

def same(lengths):
    document = torch.arange(len(lengths)).repeat_interleave(torch.tensor(lengths))
    return document[:, None] == document

def lower(lengths):
    return torch.ones(sum(lengths), sum(lengths)).tril().bool()

def look(layer, modes=(True, False), lengths=(4, 12), batch=True, plain_sum=False, ahead=1):
    for training in modes:
        layer.train(training)
        for length in lengths:
            x = torch.randn(2, length, 8).double().requires_grad_()
            direction = torch.ones(8) if plain_sum else torch.randn(8)
            along = layer(x) @ direction.double()
            for i in range(length):
                (grad,) = torch.autograd.grad(along[0, i], x, retain_graph=True)
                small = 1e-9 if plain_sum else 0.0
                if (grad[0, i + ahead :].abs() > small).any():
                    return False
                if batch and (grad[1].abs() > small).any():
                    return False
    return True
"""


@pytest.fixture(scope="module")
def cells():
    return {cell.id: cell for cell in nbformat.read(CHAPTER, as_version=4).cells}


@pytest.fixture(scope="module")
def book(cells):
    """What the folded cell of checks brings, without the rest of the chapter, and the solutions."""
    names: dict = {"__name__": "__main__"}
    exec(cells["exercise-checkers"].source, names)
    for number in CHECKS:
        exec(solution(cells, number), names)
    return names


@pytest.fixture(scope="module")
def wrong(book):
    """The names that the wrong answers need beside those of the book."""
    names = {**book, "attnkit": attnkit, "masks": attnkit.masks}
    exec(HELPERS, names)
    return names


def solution(cells, number: int) -> str:
    (code,) = re.findall(r"```python\n(.*?)```", cells[f"exercise-{number}-help"].source, re.DOTALL)
    return code


def verdict(capsys, book, number: int, answer) -> str:
    book[CHECKS[number]](answer)
    return capsys.readouterr().out.strip()


@pytest.mark.parametrize("number", CHECKS)
def test_the_solution_in_the_book_passes(number, cells, book, capsys):
    name = re.search(r"def (\w+)", solution(cells, number))[1]
    assert f"{CHECKS[number]}({name})" in cells[f"exercise-{number}-code"].source
    assert verdict(capsys, book, number, book[name]) == f"Exercise {number}: right."


@pytest.mark.parametrize("number, what", WRONG)
def test_a_plausible_wrong_answer_hears_what_is_wrong(number, what, book, wrong, capsys):
    answer, reason = WRONG[number, what]
    said = verdict(capsys, book, number, eval(answer, wrong))
    assert said.startswith(f"Exercise {number}: not yet. "), said
    assert reason in said, said


@pytest.mark.parametrize("number", CHECKS)
def test_every_exercise_has_three_wrong_answers(number):
    assert sum(key[0] == number for key in WRONG) >= 3


@pytest.mark.parametrize("number", CHECKS)
def test_an_untouched_exercise_says_that_there_is_no_answer_yet(number, cells, book, capsys):
    exec(cells[f"exercise-{number}-code"].source, dict(book))
    assert capsys.readouterr().out.strip() == f"Exercise {number}: no answer yet."


@pytest.mark.parametrize("number", CHECKS)
@pytest.mark.parametrize(
    "answer", ["lambda *_: 'two'", "lambda *_: math.nan", "lambda *_: torch.tensor(math.nan)"]
)
def test_nonsense_does_not_pass_and_does_not_stop_the_notebook(number, answer, book, capsys):
    said = verdict(capsys, book, number, eval(answer, book))
    assert said.startswith(f"Exercise {number}: not yet. "), said


def test_leaks_misses_three_of_the_six_broken_layers(cells, book):
    """As exercise 4 says of the chapter's own check, on a layer as it comes."""
    names = {"torch": book["torch"]}
    exec(cells["leaks-code"].source, names)
    causal = attnkit.masks.causal(6)
    caught = {
        what for what, layer in book["BUGS"].items() if names["leaks"](layer.train(), causal).any()
    }
    assert len(book["BUGS"]) == 6
    assert caught == {
        "sees one word ahead",
        "masks after the softmax",
        "takes a mean over the sentence",
    }
    for layer in book["RIGHT"].values():
        assert not names["leaks"](layer.train(), causal).any()
