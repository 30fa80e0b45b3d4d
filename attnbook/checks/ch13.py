"""Checks of the exercises of chapter 13."""

import math

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from attnbook.exercises import ask, checker, compare, unaided


def count(got, expected, what):
    "Hold a count to what is right, to the last one."
    if isinstance(got, bool) or not isinstance(got, int):
        return f"{what}: expected an int, got {type(got).__name__}."
    if got != expected:
        return f"{what}: {got:,} is {got / expected:.4g} times what it is."


class Multiplications(TorchDispatchMode):
    "Counts what torch multiplies, in products of matrices and of single numbers."

    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        found = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__.strip("_")
        if name in ("mm", "bmm", "mv", "dot"):
            self.count += found.numel() * args[0].shape[-1]
        elif name in ("addmm", "addmv", "baddbmm"):
            self.count += found.numel() * args[1].shape[-1]
        elif name in ("mul", "addcmul"):
            self.count += found.numel()
        return found


@checker(1)
def check_latents(answer):
    generator = torch.Generator().manual_seed(1)
    for heads, width, size, tokens in ((1, 4, 4, 1), (3, 8, 8, 5), (2, 16, 4, 40), (4, 24, 8, 200)):
        q, C = (
            torch.randn(n, m, generator=generator).double()
            for n, m in ((heads, width), (tokens, size))
        )
        W_K, W_V = torch.randn(2, heads, width, size, generator=generator).double()
        keys, values = (C @ W.mT for W in (W_K, W_V))  # (H, S, D) each
        weights = (keys @ q[..., None] / width**0.5).softmax(-2)
        right = (weights * values).sum(-2)
        what = f"{heads} heads of {width}, {tokens} latents of {size}"
        with unaided(), Multiplications() as done:
            got = ask(answer, q, C, W_K, W_V)
        # Brought once, queries take 2 H c (D + S); keys or values alone, however made, H S D c.
        if tokens > 2 * width and done.count >= heads * tokens * width * size:
            made = "it makes a key or a value of every latent, or brings a query afresh to each."
            return f"{what}: {made}"
        if problem := compare(got, right, 1e-9, what):
            return problem


@checker(2)
def check_cost(answer):
    for prompt, new, E, heads, kv_heads in (
        (0, 1, 8, 1, 1),
        (0, 10, 8, 2, 2),
        (6, 0, 8, 2, 2),
        (20, 5, 64, 8, 8),
        (20, 5, 64, 8, 2),
        (1, 50, 32, 4, 1),
    ):
        one = 2 * E * E + 2 * E * (E // heads * kv_heads)
        right = prompt * one + 2 * prompt**2 * E
        for place in range(prompt + 1, prompt + new + 1):
            right += one + 2 * place * E
        what = f"prompt {prompt}, {new} new, {E} features"
        what += f", {heads} heads, {kv_heads} of keys"
        got = ask(answer, prompt, new, E, heads, kv_heads)
        if problem := count(got, right, what):
            return problem


@checker(3)
def check_step(answer):
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(7, 4, generator=generator).double()
    W = torch.randn(3, 4, 4, generator=generator).double()

    def full(x):
        q, k, v = (x @ w for w in W)
        hidden = ~torch.ones(len(x), len(x)).tril().bool()
        scores = (q @ k.T / 2).masked_fill(hidden, -math.inf)
        return scores.softmax(-1) @ v

    def run(parts, cache=None):
        outputs = []
        for part in parts:
            with unaided():
                got = ask(answer, part.clone(), cache, *W.clone(), copy=False)
            if not isinstance(got, tuple) or len(got) != 2:
                return "Expected (output, cache).", None
            output, cache = got
            if not isinstance(output, torch.Tensor):
                name = type(output).__name__
                return f"Expected a tensor of outputs, got {name}.", None
            if output.shape != part.shape:
                shapes = tuple(part.shape), tuple(output.shape)
                return "Expected shape {}, got {}.".format(*shapes), None
            outputs.append(output)
        return torch.cat(outputs), cache

    for sizes in ([1], [1] * 7, [7], [3, 1, 3], [1, 4, 2]):
        got, _ = run(x[: sum(sizes)].split(sizes))
        what = f"words in calls of {sizes}"
        if isinstance(got, str):
            return got
        expected = full(x[: sum(sizes)])
        if problem := compare(got, expected, 1e-9, what):
            return problem
    # Two texts with the same beginning go on from the same cache.
    _, begun = run(x[:3].split(1))
    other = torch.cat([x[:3], -x[3:]])
    for text in (x, other):
        got, _ = run(text[3:].split(1), begun)
        if isinstance(got, str):
            return got
        if compare(got, full(text)[3:], 1e-9, ""):
            return "It changes the cache that it was given."


class Decoder:
    "Causal self-attention (B, T, 8), at once or a word at a time."

    def __init__(self, bug=None, window=99):
        self.bug, self.window = bug, window
        generator = torch.Generator().manual_seed(4)
        self.W = torch.randn(3, 8, 8, generator=generator).double() / 2
        self.place = torch.randn(40, 8, generator=generator).double()
        self.keys, self.values, self.n = [], [], 0

    def whole(self, x):
        "A text at once: x (B, T, 8) -> (B, T, 8)."
        T = x.shape[1]
        q, k, v = (x + self.place[:T]).matmul(self.W[:, None])
        i, j = torch.arange(T)[:, None], torch.arange(T)
        hidden = (j > i) | (j <= i - self.window)  # (T, T)
        scores = (q @ k.mT / 8**0.5).masked_fill(hidden, -math.inf)
        return scores.softmax(-1) @ v

    def start(self):
        "Begin a new batch of texts."
        if self.bug != "still has the text before":
            self.keys, self.values = [], []
        self.n = 0

    def step(self, x):
        "The next word of each text: x (B, 8) -> (B, 8)."
        place = 0 if self.bug == "gives every word position 0" else self.n
        q, k, v = (x + self.place[place]) @ self.W  # (B, 8) each
        self.n += 1
        if self.keys and len(self.keys[0]) != len(x):  # of the text before: another batch
            rows = torch.arange(len(x)) % len(self.keys[0])
            self.keys, self.values = ([k[rows] for k in old] for old in (self.keys, self.values))
        self.keys.append(k)
        self.values.append(v)
        most = self.window
        if self.bug == "forgets words after the eighth":
            most = min(most, 8)
        K, V = (torch.stack(kept[-most:], 1) for kept in (self.keys, self.values))  # (B, S, 8)
        if self.bug == "is aligned at the upper left":
            K, V = K[:, :1], V[:, :1]
        if self.bug == "has one cache for all texts of the batch":
            K, V = K[:1], V[:1]
        weights = (q[:, None] @ K.mT / 8**0.5).softmax(-1)  # (B, 1, S)
        return (weights @ V)[:, 0]

    def reorder(self, rows):
        "Let text i go on from text rows[i], rows (B,) of row numbers."
        if self.bug == "does not reorder":
            return
        self.keys = [k[rows] for k in self.keys]
        if self.bug == "reorders keys, and not values":
            return
        self.values = [v[rows] for v in self.values]


RIGHT = {"": Decoder(), " with a window": Decoder(window=3)}
BUGS = {
    what: Decoder(what)
    for what in (
        "is aligned at the upper left",
        "gives every word position 0",
        "still has the text before",
        "has one cache for all texts of the batch",
        "forgets words after the eighth",
        "does not reorder",
        "reorders keys, and not values",
    )
}


@checker(4)
def check_finder(answer):
    torch.manual_seed(0)
    for what, decoder in (RIGHT | BUGS).items():
        decoder.keys, decoder.values, decoder.n = [], [], 0
        verdict = ask(answer, decoder)
        if not isinstance(verdict, bool):
            return f"Expected True or False, got {type(verdict).__name__}."
        if not verdict and what in RIGHT:
            return f"You turn down a right decoder{what}."
        if verdict and what in BUGS:
            return f"You let a decoder pass that {what}."
