"""SmolLM2-135M-Instruct for the experiments of chapter 17: texts, losses, and what to change."""

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from attnkit import masks
from attnkit.positions import rotary
from attnlab import pretrained, tasks
from attnlab.pretrained import LanguageReader
from attnlab.transformer import States
from experiments import _docstrings as docstrings

NAME = "SmolLM2-135M-Instruct"
LAYERS, HEADS, KV_HEADS, HEAD_DIM, BASE = 30, 9, 3, 64, 100_000.0
KINDS = ("documentation", "sentences")
Rotate = Callable[[Tensor, int], Tensor]
Heads = Sequence[tuple[int, int]]


@cache
def reader() -> LanguageReader:
    """The model with its tokenizer, on the CPU. Raises FileNotFoundError where it is missing."""
    return pretrained.load(NAME)


@cache
def stream(kind: str) -> Tensor:
    """All token ids of a kind of text: the docstrings of Python's own library one after another, or
    3,000 of Tatoeba's English sentences in random order."""
    if kind == "documentation":
        said = [" ".join(source.sentences) for source in docstrings.python_library()]
    else:
        every = list(dict.fromkeys(english for english, _ in tasks.tatoeba("train")))
        said = random.Random(0).sample(every, 3000)
    return torch.tensor(reader().tokenizer.encode(" ".join(said)).ids)


def text(number: int, length: int) -> tuple[str, Tensor]:
    """Text `number`, of the two kinds in turn: its kind and its token ids (1, length).

    It begins wherever its place in the stream falls, in the middle of a sentence or of a word.
    """
    kind = KINDS[number % 2]
    ids = stream(kind)
    start = (number // 2) * 397 % (len(ids) - length)
    return kind, ids[None, start : start + length]


@torch.no_grad()
def read(
    tokens: Tensor,
    *,
    mask: Tensor | None = None,
    rotate: Rotate | str | None = "own",
    caches: list | None = None,
    need_weights: bool = False,
) -> States:
    """States (B, layers + 1, L, E) and weights of token ids (B, L), with another mask (L, S) or
    other positions; without any change it is `reader().model.states(tokens)`."""
    model = reader().model
    rotate = model.positions.rotate if rotate == "own" else rotate
    mask = masks.causal(tokens.shape[1]) if mask is None else mask
    x = model.embedding(tokens)
    return model.stack.states(x, mask=mask, rotate=rotate, caches=caches, need_weights=need_weights)


@torch.no_grad()
def losses(states: Tensor, tokens: Tensor) -> Tensor:
    """Nats of each next token (B, L - 1), from the states (B, L, E) after the last layer."""
    model = reader().model
    logits = model.output(model.stack.norm(states[:, :-1]))  # (B, L - 1, V)
    return F.cross_entropy(logits.transpose(1, 2), tokens[:, 1:], reduction="none")


def shifted(by: int) -> Rotate:
    """Positions by, by + 1, ... in place of 0, 1, ..."""
    return lambda x, offset: rotary(x, offset + by, base=BASE)


def spread(factor: int) -> Rotate:
    """Positions 0, factor, 2 factor, ..."""
    return lambda x, offset: rotary(x.repeat_interleave(factor, -2), base=BASE)[..., ::factor, :]


def window(length: int, size: int, kept: Sequence[int] = ()) -> Tensor:
    """The causal mask (length, length) of a window, beside which the tokens `kept` stay seen."""
    seen = masks.sliding_window(length, window=size)
    seen[:, list(kept)] = True
    return seen & masks.causal(length)


def after(tokens: Tensor, length: int) -> list:
    """The caches that hold the first `length` tokens, read with nothing changed."""
    caches = reader().model.new_caches()
    with torch.no_grad():
        reader().model(tokens[:, :length], caches=caches)
    return caches


@contextlib.contextmanager
def without(heads: Heads) -> Iterator[None]:
    """Within it these (layer, head) add nothing to their layer's output."""
    handles = []
    for number, layer in enumerate(reader().model.stack.layers):
        off = [head for other, head in heads if other == number]
        if off:
            handles.append(layer.attention.out_proj.register_forward_pre_hook(_silence(off)))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _silence(off: list[int]) -> Callable:
    def hook(module: torch.nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
        heads = inputs[0].unflatten(-1, (HEADS, HEAD_DIM)).clone()
        heads[..., off, :] = 0.0
        return (heads.flatten(-2),)

    return hook
