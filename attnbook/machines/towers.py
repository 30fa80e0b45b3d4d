"""A small Transformer whose every box is a switch, and whose every sum says its words."""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np
import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines import recurrent
from attnbook.machines.base import Machine, softmax
from attnbook.machines.recurrent import Network
from attnbook.recorded import Recorded
from attnkit.guard import checks
from attnkit.viz.heatmap import heatmap
from attnkit.viz.widget import expect
from attnlab.tasks.vocab import BOS, EOS, PAD, UNK
from attnlab.transformer import Transformer

LONGEST, WRITTEN = 6, 8
"""The most words of a sentence, and the most that is written."""

SWITCHES = {
    "ePlaces": ("position", "position, encoder"),
    "eNorm1": ("norm", "norm before the attention, encoder"),
    "eAttention": ("attention", "attention, encoder"),
    "eLine1": ("+", "stream past the attention, encoder"),
    "eNorm2": ("norm", "norm before the feed-forward, encoder"),
    "eForward": ("feed-forward", "feed-forward, encoder"),
    "eLine2": ("+", "stream past the feed-forward, encoder"),
    "eNorm3": ("norm", "norm after the encoder"),
    "dPlaces": ("position", "position, decoder"),
    "dNorm1": ("norm", "norm before the attention to itself"),
    "dSelf": ("attention to itself", "attention to itself"),
    "dLine1": ("+", "stream past the attention to itself"),
    "dNorm2": ("norm", "norm before the attention to the English"),
    "dCross": ("attention to the English", "attention to the English"),
    "dLine2": ("+", "stream past the attention to the English"),
    "dNorm3": ("norm", "norm before the feed-forward, decoder"),
    "dForward": ("feed-forward", "feed-forward, decoder"),
    "dLine3": ("+", "stream past the feed-forward, decoder"),
    "dNorm4": ("norm", "norm before the readout"),
}
"""What can be off, in the order of the way: of the encoder, then of the decoder; what its box says,
and what is heard. A line is the stream beside a part, which a residual connection keeps."""

ROWS = [
    (["english"], "English", "", 0),
    (["ePlaces"], "read out here →", "encoder", 0),
    (["eNorm1", "eAttention", "eLine1"], "", "encoder", 1),
    (["eNorm2", "eForward", "eLine2"], "", "encoder", 2),
    (["eNorm3"], "→ to the decoder", "", 0),
    (["french"], "French, so far", "", 0),
    (["dPlaces"], "read out here →", "decoder", 0),
    (["dNorm1", "dSelf", "dLine1"], "", "decoder", 1),
    (["dNorm2", "dCross", "dLine2"], "", "decoder", 2),
    (["dNorm3", "dForward", "dLine3"], "", "decoder", 3),
    (["dNorm4"], "→ the next word", "", 0),
]
"""From the English down to the French: the switches that lead to a row, or its name; its title; the
sum whose words it has."""


class Towers(Machine):
    r"""One encoder layer and one decoder layer, trained; what each sum would say if it were read.

    .. math:: x \leftarrow x + f(\mathrm{LN}(x))

    for attention and feed-forward network f, in that order; a decoder has a second attention, to
    the encoder's output, between them. A part that is off adds nothing; a norm that is off gives
    what it is given; a line that is off is left out of the sum. Words are written one at a time,
    the likeliest, 8 at most.

    The words of a sum in the decoder are those that the last norm and the readout make of it (the
    logit lens of nostalgebraist 2020). Those of a sum in the encoder are what a decoder would read
    that looked at that place alone and held nothing else: its last norm, the values and the output
    projection of the cross-attention, then the same readout.

    Args:
        recorded: a `Transformer` of one pre-norm layer a side, with its vocabularies.
        sentences: sources to choose from, of at most 6 words that the model knows.
        sentence: the place of the one that is read. A trait, as is the next: set it and the page
            follows.
        off: the names of the switches that are off, with commas, in the order of `SWITCHES`.
        title, caption: plain text above and below.

    Raises:
        TypeError: `recorded` holds another kind of model.
        ValueError: more layers than one, post-norm, unknown words, a setting out of range.

    Example:
        >>> from attnbook import recorded
        >>> towers = Towers(recorded.model("machine_towers"), ["the black cat"])
        >>> towers.compute()["written"]
        ['le', 'chat', 'noir']
    """

    _kits = (*Machine._kits, "layers")
    _about = "A model of its own, small enough for your browser, which computes everything."
    _limits: ClassVar = {"sentence": lambda m: (0, len(m.sentences) - 1), "off": None}

    shapes = t.List().tag(sync=True)  # [name, shape] of each tensor
    weights = t.Bytes().tag(sync=True)  # all of them, float16
    heads = t.Int(1).tag(sync=True)
    switches = t.List().tag(sync=True)  # SWITCHES: name, what its box says, what is heard
    rows = t.List().tag(sync=True)  # ROWS
    source = t.List(t.Unicode()).tag(sync=True)  # the words of both sides, by id
    target = t.List(t.Unicode()).tag(sync=True)
    sentences = t.List(t.Unicode()).tag(sync=True)
    sentence = t.Int(0).tag(sync=True)
    off = t.Unicode("").tag(sync=True)

    def __init__(self, recorded: Recorded, sentences: Sequence[str], **rest):
        model = checks.instance("recorded", recorded.model, Transformer, "a Transformer")
        layers = [*model.encoder.layers, *model.decoder.layers]
        if len(layers) != 2 or not all(layer.norm_first for layer in layers):
            checks.fail("recorded", "one pre-norm layer a side", f"{len(layers)} layers")
        known = set(recorded.source_vocab.tokens)
        for one in sentences:
            words = one.split()
            if not 1 <= len(words) <= LONGEST or not known.issuperset(words):
                checks.fail("sentences", f"1 to {LONGEST} words that the model knows", one)
        super().__init__(
            **recurrent.halves(model.state_dict()),
            heads=layers[0].attention.num_heads,
            switches=[[name, *said] for name, said in SWITCHES.items()],
            rows=[list(row) for row in ROWS],
            source=list(recorded.source_vocab.tokens),
            target=list(recorded.target_vocab.tokens),
            sentences=list(sentences),
            **rest,
        )

    @t.validate("off")
    def _known(self, proposal):
        given = proposal.value.split(",") if proposal.value else []
        fits = given == [name for name in SWITCHES if name in given]
        return expect(proposal, f"some of {','.join(SWITCHES)}, in that order", fits)

    def _run(self) -> tuple["Net", "Said"]:
        net = Net(recurrent.unpacked(self.shapes, self.weights), self.heads, self.off.split(","))
        words = self.sentences[self.sentence].split()
        return net, translate(net, [self.source.index(word) for word in words])

    def compute(self) -> dict:
        words, (net, said) = self.sentences[self.sentence].split(), self._run()
        whole = said
        if self.off:
            whole = translate(net._replace(off=()), [self.source.index(word) for word in words])

        def spell(ids):
            return [self.target[one] for one in ids]

        def read(logits):
            shares = softmax(logits)
            best = shares.argmax(-1)
            return [spell(best), shares.max(-1).tolist()]

        return {
            "read": words,
            "written": spell(said.written),
            "ended": said.ended,
            "whole": spell(whole.written),
            "encoder": [read(heard(net, x)) for x in said.encoder],
            "decoder": [read(readout(net, x)) for x in said.decoder],
        }

    def figure(self) -> Figure:
        now, looks = self.compute(), self._run()[1].looks
        return heatmap(
            looks,
            query_tokens=[*now["written"], "(end)"][: len(looks)],
            key_tokens=now["read"],
            title="Where the cross-attention looks, mean over heads",
            vmax=1.0,
        )

    def _words(self) -> str:
        heard = "; ".join(SWITCHES[name][1] for name in self.off.split(",") if name)
        off = f" (off: {heard})" if heard else ""
        now = self.compute()
        return (
            f"A Transformer of one layer a side reads “{' '.join(now['read'])}”{off} and writes "
            f"“{' '.join(now['written'])}”. Every part is a switch."
        )


class Net(NamedTuple):
    """Tensors by name, heads, what is off; and of the encoder's attention the (query, key) that are
    cut."""

    tensors: Network
    heads: int
    off: Sequence[str] = ()
    cut: Sequence[tuple[int, int]] = ()

    def linear(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self.tensors[f"{name}.weight"].T + self.tensors[f"{name}.bias"]


class Said(NamedTuple):
    """What is written, whether it came to an end, and all sums on the way: of the encoder (3, S, E)
    and of the decoder (4, T, E); the weights (T, S) of the cross-attention, mean over heads."""

    written: list[int]
    ended: bool
    encoder: np.ndarray
    decoder: np.ndarray
    looks: np.ndarray


def places(count: int, features: int) -> np.ndarray:
    """`attnkit.positions.SinusoidalPositions`: (count, features)."""
    angles = np.arange(count)[:, None] * 10000.0 ** (-np.arange(0, features, 2) / features)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(count, features)


def norm(net: Net, x: np.ndarray, switch: str, name: str) -> np.ndarray:
    """A layer norm, unless it is off."""
    if switch in net.off:
        return x
    x = x - x.mean(-1, keepdims=True)
    x = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)
    return x * net.tensors[f"{name}.weight"] + net.tensors[f"{name}.bias"]


def attend(net: Net, name: str, x: np.ndarray, given: np.ndarray, *, causal: bool = False):
    """Multi-head attention of x (L, E) to given (S, E): (L, E), and weights (L, S), mean over
    heads."""
    wide, size = x.shape[-1], x.shape[-1] // net.heads
    inner, bias = (net.tensors[f"{name}.in_proj.{kind}"] for kind in ("weight", "bias"))
    q, k, v = (
        (side @ inner[rows].T + bias[rows]).reshape(len(side), net.heads, size).swapaxes(0, 1)
        for side, rows in zip(
            (x, given, given), (slice(i * wide, (i + 1) * wide) for i in range(3)), strict=True
        )
    )
    scores = q @ k.swapaxes(1, 2) / np.sqrt(size)  # (H, L, S)
    if causal:
        scores = np.where(np.tri(*scores.shape[1:], dtype=bool), scores, -np.inf)
    for query, key in net.cut if name.startswith("encoder") else ():
        scores[:, query, key] = -np.inf
    weights = softmax(scores)
    mixed = (weights @ v).swapaxes(0, 1).reshape(len(x), wide)
    return net.linear(mixed, f"{name}.out_proj"), weights.mean(0)


def added(net: Net, x: np.ndarray, new: np.ndarray, part: str, line: str) -> np.ndarray:
    """The sum after a part: what comes along the line, and what the part makes of it."""
    kept = np.zeros_like(x) if line in net.off else x
    return kept if part in net.off else kept + new


def begin(net: Net, side: str, ids: Sequence[int]) -> np.ndarray:
    """Embeddings times the root of their size, and places: (L, E)."""
    rows = net.tensors[f"{side}_embedding.weight"][list(ids)]
    wide = rows.shape[-1]
    start = rows * np.sqrt(wide)
    return (
        start
        if f"{'e' if side == 'source' else 'd'}Places" in net.off
        else start + places(len(ids), wide)
    )


def forward(net: Net, name: str, x: np.ndarray) -> np.ndarray:
    """The feed-forward network."""
    return net.linear(np.maximum(net.linear(x, f"{name}.linear1"), 0), f"{name}.linear2")


def encode(net: Net, ids: Sequence[int]) -> np.ndarray:
    """All sums of the encoder (3, S, E); the last, through the last norm, is its output."""
    name, x = "encoder.layers.0", begin(net, "source", ids)
    sums = [x]
    y = norm(net, x, "eNorm1", f"{name}.norm1")
    x = added(net, x, attend(net, f"{name}.attention", y, y)[0], "eAttention", "eLine1")
    sums.append(x)
    y = norm(net, x, "eNorm2", f"{name}.norm2")
    sums.append(added(net, x, forward(net, name, y), "eForward", "eLine2"))
    return np.stack(sums)


def decode(net: Net, ids: Sequence[int], memory: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All sums of the decoder (4, T, E), and the weights of its cross-attention (T, S)."""
    name, x = "decoder.layers.0", begin(net, "target", ids)
    sums = [x]
    y = norm(net, x, "dNorm1", f"{name}.norm1")
    new, _ = attend(net, f"{name}.self_attention", y, y, causal=True)
    x = added(net, x, new, "dSelf", "dLine1")
    sums.append(x)
    y = norm(net, x, "dNorm2", f"{name}.norm2")
    new, looks = attend(net, f"{name}.cross_attention", y, memory)
    x = added(net, x, new, "dCross", "dLine2")
    sums.append(x)
    y = norm(net, x, "dNorm3", f"{name}.norm3")
    sums.append(added(net, x, forward(net, name, y), "dForward", "dLine3"))
    return np.stack(sums), looks


def memory_of(net: Net, x: np.ndarray) -> np.ndarray:
    """What the decoder is given of a sum of the encoder."""
    return norm(net, x, "eNorm3", "encoder.norm")


def readout(net: Net, x: np.ndarray) -> np.ndarray:
    """Logits (..., V) of a sum of the decoder; what is no word cannot be the likeliest."""
    logits = net.linear(norm(net, x, "dNorm4", "decoder.norm"), "output")
    logits[..., [PAD, BOS, UNK]] = -np.inf
    return logits


def heard(net: Net, x: np.ndarray) -> np.ndarray:
    """Logits (S, V) of a sum of the encoder, as a decoder hears it that holds nothing else."""
    name, wide = "decoder.layers.0.cross_attention", x.shape[-1]
    inner, bias = (net.tensors[f"{name}.in_proj.{kind}"][2 * wide :] for kind in ("weight", "bias"))
    return readout(net, net.linear(memory_of(net, x) @ inner.T + bias, f"{name}.out_proj"))


def translate(net: Net, ids: Sequence[int]) -> Said:
    """Read a source, and write the likeliest word after each other."""
    encoder = encode(net, ids)
    memory, written = memory_of(net, encoder[-1]), []
    while True:
        sums, looks = decode(net, [BOS, *written], memory)
        best = int(readout(net, sums[-1][-1]).argmax())
        if best == EOS or len(written) == WRITTEN:
            return Said(written, best == EOS, encoder, sums, looks)
        written.append(best)
