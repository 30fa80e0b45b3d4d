"""Checks of the exercises of chapter 06."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from attnbook.exercises import ask, checker, unaided


def compare(got, rule, what, shape=None):
    "Hold a mask to a rule: a function of the indices of a cell."
    if not isinstance(got, torch.Tensor):
        return f"{what}: expected a tensor, got {type(got).__name__}."
    if got.dtype != torch.bool:
        return f"{what}: expected a boolean mask, got {got.dtype}."
    if tuple(got.shape) != shape:
        return f"{what}: expected shape {shape}, got {tuple(got.shape)}."
    for cell in torch.cartesian_prod(*map(torch.arange, shape)).tolist():
        if got[tuple(cell)] != rule(*cell):
            must = "may" if rule(*cell) else "must not"
            i, j = cell[-2:]
            row = f"row {cell[0]}, " if len(cell) > 2 else ""
            return f"{what}: {row}query {i} {must} attend to key {j}."


@checker(1)
def check_combination(answer):
    for filler, rows in (  # rows: lengths of the documents, of the questions
        (0, (([4], [0]), ([2, 2], [0, 0]))),
        (2, (([3], [0]), ([3], [2]))),
        (1, (([3, 4], [1, 2]), ([2, 1, 4], [0, 1, 4]))),
    ):
        S = filler + sum(rows[0][0])
        document = torch.zeros(2, S, dtype=torch.long)
        question = torch.zeros(2, S, dtype=torch.bool)
        ignore = torch.arange(S).expand(2, S) < filler  # in front
        for row, (lengths, asked) in enumerate(rows):
            start = filler
            for number, n in enumerate(lengths):
                document[row, start : start + n] = number
                question[row, start : start + asked[number]] = True
                start += n
        with unaided():
            got = ask(answer, ignore, document, question)

        def rule(b, _, i, j, d=document, q=question, ignored=ignore):
            seen = j <= i or bool(q[b, j])
            return seen and bool(d[b, i] == d[b, j]) and not ignored[b, j]

        what = f"{filler} filler, documents of {[n for n, _ in rows]} words"
        if problem := compare(got, rule, what, (2, 1, S, S)):
            return problem


@checker(2)
def check_softmax(answer):
    generator = torch.Generator().manual_seed(2)
    for dtype in (torch.float32, torch.float16):
        for size in (1.0, 3e4):
            scores = torch.randn(2, 5, 4, generator=generator)
            scores = (scores.clamp(-2, 2) * size).to(dtype)
            may = torch.rand(2, 5, 4, generator=generator) < 0.6
            may[0, 1], may[1, 2] = False, True  # an empty row, a full one
            may[1, 3] = torch.tensor([False, True, False, False])
            scores[1, 3, 0], scores[1, 3, 2] = math.nan, math.inf
            scores[1, 3, 1] = torch.finfo(dtype).min  # and yet the only one
            asked = scores.clone().requires_grad_()
            with unaided():
                got = ask(answer, asked, may, copy=False)
            what = f"{dtype}".removeprefix("torch.")
            what = f"{what}, scores of about {size:.0f}"
            if not isinstance(got, torch.Tensor):
                return f"Expected a tensor, got {type(got).__name__}."
            if got.shape != scores.shape or got.dtype != dtype:
                return f"{what}: shape or dtype is not that of the scores."
            if not got.isfinite().all():
                return f"{what}: the weights hold NaN or Inf."
            if got[~may].any():
                return f"{what}: a hidden key has a weight."
            exact = torch.where(may, scores.double(), -math.inf)
            exact = exact.softmax(-1).nan_to_num(0.0)
            off = (got.double() - exact).abs().amax(-1) >= 1e-3  # (2, 5)
            if off.any():
                only = off.nonzero().tolist() == [[1, 3]]
                row = ", in a row whose one visible key has the lowest score there is" * only
                return f"{what}: the weights of visible keys are off{row}."
            probe = torch.randn(2, 5, 4, generator=generator).to(dtype)
            (grad,) = torch.autograd.grad((got * probe).sum(), asked)
            if not grad.isfinite().all():
                return f"{what}: the gradient holds NaN or Inf."
            if not torch.equal(asked.detach().nan_to_num(7), scores.nan_to_num(7)):
                return "It changes the caller's scores."
    with unaided():
        got = ask(answer, torch.tensor([[math.nan, 1.0]]), torch.ones(1, 2).bool())
    if not got.isnan().any():
        return "It covers up the NaN of a key that is visible."


@checker(3)
def check_cached(answer):
    for new, cached, window in ((1, 4, 3), (3, 2, 2), (4, 0, 9), (2, 6, 1)):
        with unaided():
            got = ask(answer, new, cached, window)
        if problem := compare(
            got,
            lambda i, j, c=cached, w=window: i + c - w < j <= i + c,
            f"{new} new, {cached} cached, window {window}",
            (new, cached + new),
        ):
            return problem


class Layer(nn.Module):
    "Self-attention (B, L, 8) -> (B, L, 8). `bug` says what is wrong."

    def __init__(self, bug=None, window=99, norm=False):
        super().__init__()
        self.bug, self.window, self.norm = bug, window, norm
        generator = torch.Generator().manual_seed(4)
        W = torch.randn(3, 8, 8, generator=generator).double() / 8**0.5
        self.W = nn.Parameter(W)

    def forward(self, x):
        L, dtype = x.shape[1], x.dtype
        if self.bug == "mixes the sentences of a batch":
            x = x - x.mean(0)
        if self.bug == "takes a mean over the sentence":
            x = x - x.mean(1, keepdim=True)
        if self.bug == "takes its rounding from the whole sentence":
            step = x.detach().abs().amax((1, 2), keepdim=True) / 127
            x = x + ((x / step).round() * step - x).detach()
        ahead = int(self.bug == "sees one word ahead")
        i, j = torch.arange(L)[:, None], torch.arange(L)
        may = (j <= i + ahead) & (j > i - self.window)  # (L, S)
        if self.bug == "is causal in train mode only" and not self.training:
            may = torch.ones_like(may)
        if self.bug == "forgets the mask beyond eight words" and L > 8:
            may = torch.ones_like(may)
        q, k, v = (x @ w for w in self.W.to(dtype))  # (B, L, 8)
        scores = q @ k.mT / 8**0.5  # (B, L, S)
        if self.bug == "masks after the softmax":
            out = (scores.softmax(-1) * may) @ v
        else:
            out = scores.masked_fill(~may, -math.inf).softmax(-1) @ v
        return F.layer_norm(out, (8,)) if self.norm else out


RIGHT = {
    "": Layer(),
    " with a window": Layer(window=3),
    " with a layer norm": Layer(norm=True),
}
BUGS = {
    what: Layer(what, norm="after" in what)
    for what in (
        "sees one word ahead",
        "masks after the softmax",
        "takes a mean over the sentence",
        "is causal in train mode only",
        "forgets the mask beyond eight words",
        "mixes the sentences of a batch",
        "takes its rounding from the whole sentence",
    )
}


@checker(4)
def check_finder(answer):
    torch.manual_seed(0)
    for what, layer in (RIGHT | BUGS).items():
        verdict = ask(answer, layer.train())
        if not isinstance(verdict, bool):
            return f"Expected True or False, got {type(verdict).__name__}."
        if not verdict and what in RIGHT:
            return f"You turn down a causal layer{what}."
        if verdict and what in BUGS:
            return f"You let a layer pass that {what}."


@checker(5)
def check_prefix(answer):
    length, row = ask(answer)
    if length != 3:
        return (
            f"Prefix of {length}: expected the smallest number of words that includes *ne*, the "
            "third column. Move the slider until the cell in row *ils* is no longer hatched."
        )
    if row != 2:
        return (
            f"Row {row}: a row changes when the prefix shows it a key behind its own place. "
            "Compare with the causal mask, row by row."
        )
