"""Checks of the exercises of chapter 03."""

import math

import torch
from torch.overrides import TorchFunctionMode

import attnkit
from attnbook.exercises import ask, checker, compare, unaided
from attnlab import metrics


@checker(1)
def check_error_rate(answer):
    generator = torch.Generator().manual_seed(1)
    for T, S in ((3, 3), (4, 6), (7, 5)):
        weights = torch.rand(T, S, generator=generator).softmax(-1)
        place = torch.rand(T, S, generator=generator)
        sure = {(t, place[t].argmax().item()) for t in range(T - 1)}
        sure |= {(t, weights[t].argmax().item()) for t in range(T // 2)}
        possible = sure | {(t, t % S) for t in range(T)}
        links = metrics.argmax_links(weights)
        expected = metrics.alignment_error_rate([links], sure=[sure], possible=[possible])
        with unaided():
            got = ask(answer, weights, sure, possible)
        if not abs(float(got) - expected) < 1e-6:
            return (
                f"{T} target words, {S} source words, {len(sure)} sure and"
                f" {len(possible)} possible links: expected"
                f" {expected:.4f}, got {float(got):.4f}."
            )


class LargestMade(TorchFunctionMode):
    numbers = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        for x in made if isinstance(made, (tuple, list)) else (made,):
            if isinstance(x, torch.Tensor):
                self.numbers = max(self.numbers, x.numel())
        return made


@checker(2)
def check_additive(answer):
    generator = torch.Generator().manual_seed(2)
    for L, S, A, real in ((40, 30, 16, 21), (7, 60, 32, 60), (30, 9, 50, 1)):
        torch.manual_seed(L)
        layer = attnkit.AdditiveAttention(6, 7, A)
        query = torch.randn(L, 6, generator=generator)
        key = torch.randn(S, 7, generator=generator)
        mask = torch.arange(S) < real
        limit = max(L * S, S * A, L * A)
        with torch.no_grad():
            expected = layer(query, key, mask=mask, need_weights=True)
            parts = (
                layer.query_proj.weight,
                layer.key_proj.weight,
                layer.query_proj.bias,
                layer.v,
            )
            with LargestMade() as largest, unaided():
                got = ask(answer, query, key, *parts, mask)
        if not (isinstance(got, tuple) and len(got) == 2):
            return "Expected two tensors, the output and the weights."
        case = f"{L} queries, {S} keys of which {real} are real, {A} features"
        for name, mine, right in zip(("weights", "output"), got[::-1], expected[::-1], strict=True):
            if problem := compare(mine, right, 1e-5, f"{name}, {case}"):
                return problem
        if largest.numbers > limit:
            return (
                f"The numbers are right. But with {case} you made a tensor of"
                f" {largest.numbers} numbers; {limit} are allowed."
            )


def by_hand(query, key, lengths, change=None):
    "Additive attention, (B, L, 4), (B, S, 4) -> (B, L, 4), with a bug."
    B, S = key.shape[:2]
    generator = torch.Generator().manual_seed(4)
    W, U = torch.randn(2, 4, 8, generator=generator).to(query)
    if change == "centres the keys over all places":
        key = key - key.mean(1, keepdim=True)
    hidden = torch.tanh((query @ W)[:, :, None] + (key @ U)[:, None])
    scores = hidden.sum(-1)  # (B, L, S)
    if change == "takes the longest length for all":
        lengths = lengths.max().expand(B)
    if change == "takes the first length for all":
        lengths = lengths[:1].expand(B)
    if change == "shows one place too many":
        lengths = lengths + 1
    may = (torch.arange(S) < lengths[:, None])[:, None]  # (B, 1, S)
    if change == "has no mask":
        may = torch.ones_like(may)
    if change == "masks after the softmax":
        return (scores.softmax(-1) * may) @ key
    fill = -11.0 if change == "fills with -11" else -math.inf
    return scores.masked_fill(~may, fill).softmax(-1) @ key


PADDING_BUGS = (
    "has no mask",
    "takes the longest length for all",
    "takes the first length for all",
    "shows one place too many",
    "masks after the softmax",
    "fills with -11",
    "centres the keys over all places",
)


@checker(3)
def check_padding(answer):
    torch.manual_seed(0)
    for bug in (None, *PADDING_BUGS):

        def attend(query, key, lengths, bug=bug):
            return by_hand(query, key, lengths, bug)

        verdict = ask(answer, attend)
        if not isinstance(verdict, bool):
            return f"Expected True or False, got {type(verdict).__name__}."
        if bug is None and not verdict:
            return "You turn down an attention that hides the padding."
        if bug is not None and verdict:
            return f"You let an attention pass that {bug}."


@checker(4)
def check_survivors(answer):
    generator = torch.Generator().manual_seed(5)
    for B, S, sharp in ((200, 5, 1.0), (300, 8, 3.0), (50, 3, 0.2)):
        weights = torch.randn(B, S, generator=generator) * sharp
        weights = weights.softmax(-1)
        weights[0], weights[0, 1] = 0.0, 1.0  # all of it on one place
        place = torch.randint(S, (B,), generator=generator)
        place[0] = 1
        table = torch.randn(B, S, 6, generator=generator)
        floor = 0.3 * torch.rand(B, 6, generator=generator)

        def read(changed, table=table, floor=floor):  # (B, S) -> (B,)
            if changed.isnan().any():
                return torch.full((len(table),), -1)
            answers = (changed[:, None] @ table)[:, 0] + floor
            return answers.argmax(-1)

        hidden = weights.clone()
        hidden[torch.arange(B), place] = 0.0
        hidden /= hidden.sum(-1, keepdim=True).clamp(min=1e-9)
        expected = (read(hidden) == read(weights)).float().mean().item()
        before = weights.clone()
        got = ask(answer, read, weights, place, copy=False)
        if not torch.equal(weights, before):
            return "It changes the caller's weights."
        if not abs(float(got) - expected) < 1e-6:
            return (
                f"{B} rows of {S} weights: expected {expected:.3f} of the"
                f" answers to survive, got {float(got):.3f}."
            )


@checker(5)
def check_needed(answer):
    expected = {
        "GRU": {"black", "sleep"},
        "Transformer": {"the", "black", "cat", "not"},
    }
    for (model, right), got in zip(expected.items(), ask(answer), strict=True):
        if extra := sorted(set(got) - right):
            return f"{model}: hide {extra[0]!r} alone, and read it again."
        if missing := sorted(right - set(got)):
            return f"{model}: a word is missing. Have you hidden {missing[0]!r}?"
