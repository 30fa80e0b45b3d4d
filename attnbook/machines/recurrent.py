"""A small trained encoder and decoder, with additive attention or one vector, as a page has it.

The numbers are those of `attnlab.rnn.Seq2Seq` with a `BahdanauDecoder` or a `FixedVectorDecoder`,
one layer each, in float64; recurrent.js has the same functions. `packed` and `unpacked` are for
weights in float16.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from attnbook.machines.base import softmax
from attnkit.guard import checks
from attnkit.viz.widget import KITS
from attnlab.rnn import BahdanauDecoder, Seq2Seq

KITS["recurrent"] = (Path(__file__).with_name("recurrent.js"),)

Network = dict[str, np.ndarray]


class Look(NamedTuple):
    """One look of the decoder: features `asked` (A,) and `keys` (S, A), scores and weights (S,),
    and the context (F,)."""

    asked: np.ndarray
    keys: np.ndarray
    scores: np.ndarray
    weights: np.ndarray
    context: np.ndarray


def packed(model: Seq2Seq) -> dict[str, Any]:
    """The traits `shapes` and `weights` of a machine: names and shapes, and float16 numbers.

    Raises:
        TypeError: `model` is no Seq2Seq with a decoder of Bahdanau's.
    """
    decoder = getattr(model, "decoder", None)
    if not isinstance(model, Seq2Seq) or not isinstance(decoder, BahdanauDecoder):
        expected = "a Seq2Seq with additive attention"
        checks.fail("model", expected, type(model).__name__, TypeError)
    return halves(model.state_dict())


def halves(state: dict[str, Tensor]) -> dict[str, Any]:
    """Names, shapes and float16 numbers of tensors, as a page gets them."""
    tensors = {name: x.detach().cpu().numpy() for name, x in state.items()}
    return {
        "shapes": [[name, list(x.shape)] for name, x in tensors.items()],
        "weights": b"".join(x.astype("<f2").tobytes() for x in tensors.values()),
    }


def unpacked(shapes: list, weights: bytes) -> Network:
    """The tensors by name, float64."""
    numbers, found, at = np.frombuffer(weights, "<f2").astype(float), {}, 0
    for name, shape in shapes:
        size = int(np.prod(shape))
        found[name], at = numbers[at : at + size].reshape(shape), at + size
    return found


def gru(net: Network, name: str, part: str, x: np.ndarray, state: np.ndarray) -> np.ndarray:
    """One step of `nn.GRU`; `part` ends the names of its weights: "l0" or "l0_reverse"."""
    read, kept = (
        net[f"{name}.weight_{side}_{part}"] @ given + net[f"{name}.bias_{side}_{part}"]
        for side, given in (("ih", x), ("hh", state))
    )
    n = len(state)
    reset, keep = (1 / (1 + np.exp(-(read[g] + kept[g]))) for g in (slice(n), slice(n, 2 * n)))
    return (1 - keep) * np.tanh(read[2 * n :] + reset * kept[2 * n :]) + keep * state


def encode(net: Network, ids: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """States (S, F) of the source, read in the directions that there are, and the decoder's first
    state (H,)."""
    halves, ends = [], []
    for part in ("l0", "l0_reverse"):
        if f"encoder.rnn.weight_hh_{part}" not in net:
            continue
        state, states = np.zeros(net[f"encoder.rnn.weight_hh_{part}"].shape[1]), {}
        places = range(len(ids))
        for at in reversed(places) if part.endswith("reverse") else places:
            x = net["encoder.embedding.weight"][ids[at]]
            states[at] = state = gru(net, "encoder.rnn", part, x, state)
        halves.append([states[at] for at in places])
        ends.append(state)
    last = np.concatenate(ends)
    first = np.tanh(net["decoder.bridge.weight"] @ last + net["decoder.bridge.bias"])
    return np.concatenate(halves, 1), first


def look(net: Network, state: np.ndarray, states: np.ndarray, mask, *, squash=np.tanh) -> Look:
    """Score every state of the source, weigh those that the mask (S,) allows, and average."""
    attention = "decoder.attention"
    asked = net[f"{attention}.query_proj.weight"] @ state + net[f"{attention}.query_proj.bias"]
    keys = states @ net[f"{attention}.key_proj.weight"].T
    scores = squash(asked + keys) @ net[f"{attention}.v"]
    weights = softmax(np.where(mask, scores, -np.inf))
    return Look(asked, keys, scores, weights, weights @ states)


def advance(
    net: Network, token: int, state: np.ndarray, context: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The decoder's step: the next state (H,), and the chances (V,) of the next token.

    Without a context the readout sees the state alone, as a `FixedVectorDecoder`'s does.
    """
    x = net["decoder.embedding.weight"][token]
    given = [x] if context is None else [x, context]
    state = gru(net, "decoder.rnn", "l0", np.concatenate(given), state)
    seen = [state] if context is None else [state, context, x]
    logits = net["decoder.readout.weight"] @ np.concatenate(seen)
    return state, softmax(logits + net["decoder.readout.bias"])
