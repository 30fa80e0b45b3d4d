"""Checks of the exercises of chapter 09."""

import torch
from torch import nn
from torch.nn import functional

from attnbook.exercises import ask, checker, compare
from attnlab.transformer import EncoderLayer


@checker(1)
def check_count(answer):
    for sizes in ((8, 2, 16), (8, 4, 16), (12, 3, 7), (64, 4, 256)):
        layer = EncoderLayer(*sizes)
        expected = sum(p.numel() for p in layer.parameters())
        got = ask(answer, *sizes)
        if got != expected:
            return f"embed_dim, num_heads, hidden_dim = {sizes}: expected {expected}, got {got}."


@checker(2)
def check_layer(answer):
    torch.manual_seed(2)
    E, hidden = 6, 10
    mix = nn.Linear(5, 5).double()

    def attention(x):  # any function that mixes places will do
        return mix(x.transpose(1, 2)).transpose(1, 2)

    norm1, norm2 = nn.LayerNorm(E).double(), nn.LayerNorm(E).double()
    for part in (norm1, norm2):
        nn.init.normal_(part.weight)
        nn.init.normal_(part.bias)
    linear1 = nn.Linear(E, hidden).double()
    linear2 = nn.Linear(hidden, E).double()
    x = 3 * torch.randn(2, 5, E).double() + 1
    for norm_first in (True, False):
        parts = attention, norm1, norm2, linear1, linear2
        got = ask(answer, x, *parts, norm_first)
        if norm_first:
            y = x + attention(norm1(x))
            z = y + linear2(linear1(norm2(y)).relu())
        else:
            y = norm1(x + attention(x))
            z = norm2(y + linear2(linear1(y).relu()))
        what = f"norm_first={norm_first}"
        if problem := compare(got, z, 1e-8, what):
            return problem


@checker(3)
def check_unordered(answer):
    torch.manual_seed(3)
    lines = [[7, 7, 1, 2, 3, 5, 9], [0, 1, 2, 3, 4, 5, 6], [0, 4, 4, 4, 8, 8, 8]]
    lines += torch.randint(10, (200, 7)).tolist()
    for others in lines:
        cases = [others.count(digit) + (digit == 0) for digit in range(10)]
        got = ask(answer, list(others))
        if got not in range(10):
            return f"others = {others}: expected a number from 0 to 9, got {got!r}."
        if cases[got] < max(cases):
            most = cases.index(max(cases))
            return (
                f"others = {others}: {got} is right in {cases[got]} of the eight cases, {most} in "
                f"{cases[most]}."
            )


class Named(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Late(nn.Module):
    "In eval mode it mixes places."

    def forward(self, x):
        return x if self.training else x + 1e-3 * x.mean(1, keepdim=True)


class Batched(nn.Module):
    "A batch norm: in train mode it takes means over the batch."

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x):
        return self.norm(x.transpose(1, 2)).transpose(1, 2)


def network():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))


def make_parts():
    torch.manual_seed(4)
    inner = network()
    wide = nn.Sequential(nn.Linear(40, 40), nn.ReLU())
    right = {
        "layer norm": nn.LayerNorm(8),
        "feed-forward network": network(),
        "root mean square norm": Named(lambda x: x / x.pow(2).mean(-1, keepdim=True).sqrt()),
        "residual and norm": Named(lambda x: x + inner(x)),
    }
    wrong = {
        "a norm over places": Named(
            lambda x: (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)
        ),
        "a norm over places and features": Named(lambda x: functional.layer_norm(x, x.shape[1:])),
        "a network over flattened places": Named(lambda x: wide(x.flatten(1)).view_as(x)),
        "a batch norm, which mixes in train mode only": Batched(),
        "a part that mixes in eval mode only": Late(),
        "a whisper from the places before": Named(lambda x: x + 1e-3 * x.cumsum(1)),
        "a whisper from the places after": Named(lambda x: x + 1e-3 * x.flip(1).cumsum(1).flip(1)),
        "a mean over the batch": Named(lambda x: x - x.mean(0, keepdim=True)),
    }
    return right, wrong


@checker(4)
def check_apart(answer):
    right, wrong = make_parts()
    for expected, parts in ((True, right), (False, wrong)):
        for what, part in parts.items():
            got = ask(answer, part.train())
            if not isinstance(got, bool):
                return f"Expected True or False, got {type(got).__name__}."
            if got != expected:
                verb = "turn down" if expected else "let pass"
                return f"You {verb} this one: {what}."


@checker(5)
def check_itself(answer):
    before, after = ask(answer)
    if abs(after - 1) > 0.005:
        return (
            f"With the causal mask: got {after}. The first word has one key left, itself. What "
            "does a softmax make of a single score?"
        )
    if abs(before - 0.057) > 0.011:
        return f"Without a mask: got {before}. Set the mask to none, and click row our, column our."
