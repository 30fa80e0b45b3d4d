"""A race of two writers, one model, with a cache and without; and six bugs of the cache."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
import traitlets as t
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.machines import recurrent
from attnbook.machines.base import Machine, softmax
from attnkit.guard import checks
from attnkit.viz.heatmap import plain_axes

BUGS = {
    "none": "no bug",
    "place": "the position is not advanced",
    "readers": "two readers share one cache",
    "draft": "a rejected draft stays",
    "layers": "one cache for all layers",
    "left": "the mask is at the upper left",
    "old": "the last reader's words stay",
}
"""What the page calls each."""

DRAFTED, DRAFT, LEFT_BEHIND = 8, 2, 24
"""How often a draft is made, of how many words; how many words the last reader left."""

SEEN = 1e-4
"""A difference of logits that rounding does not make."""

Network = dict[str, np.ndarray]


class Cache:
    """Keys and values (n, E) of each layer, and how many words there were."""

    def __init__(self, layers: int, *, one: bool = False):
        made = [([], []) for _ in range(1 if one else layers)]
        self.layers = made * layers if one else made
        self.length = 0


class Run(NamedTuple):
    """What a writer wrote, and the logits (n, V) of each step over the song itself."""

    written: list[int]
    logits: np.ndarray


class DecodeRace(Machine):
    r"""Two writers of one model race: one keeps keys and values, one computes everything again.

    The model is a decoder of Llama's form that knows some songs by heart; it begins with the first
    word of one. Multiply-adds are counted, milliseconds are measured where the page runs. With a
    cache, step t takes :math:`N (4E^2 + 3EH + 2tE) + VE` of them, for N layers of E features, H
    inner ones and V words; without, the layers do that for all t words, each of which looks at
    those up to itself. A bug changes what the writer with the cache says; what is right is what the
    other says here, where it reads all its words in one call.

    Args:
        weights: the tensors of a `LanguageModel`, gated, with norms by the root mean square, rotary
            positions and tied embeddings, as `experiments.songs` keeps them.
        words: its vocabulary, in order.
        titles: of the songs.
        songs: the words of each, of one length.
        heads: of each layer.
        song: which one is written. A trait, as are the next two: set them and the page follows.
        bug: a name of `BUGS`.
        step: words written after the first.
        title, caption: plain text above and below.

    Raises:
        ValueError: tensors that do not belong to the vocabulary, songs of unknown words, a setting
            that does not fit.

    Example:
        >>> from attnbook.figures import ch13
        >>> shown = ch13.race(step=150, bug="draft").compute()
        >>> shown["caught"] < shown["differs"]
        True
    """

    _kits = (*Machine._kits, "layers")
    _about = (
        "Milliseconds are measured here. A library would read everything again in one call, and "
        "lose less time."
    )
    _limits: ClassVar = {
        "song": lambda m: (0, len(m.songs) - 1),
        "bug": lambda _: list(BUGS),
        "step": lambda m: (1, len(m.songs[0]) - 1),
    }

    words = t.List(t.Unicode()).tag(sync=True)
    shapes = t.List().tag(sync=True)
    weights = t.Bytes().tag(sync=True)  # float16
    heads = t.Int().tag(sync=True)
    bugs = t.List().tag(sync=True)  # BUGS: name, what it is called
    titles = t.List(t.Unicode()).tag(sync=True)
    songs = t.List().tag(sync=True)  # places of words
    song = t.Int(0).tag(sync=True)
    bug = t.Unicode("none").tag(sync=True)
    step = t.Int(1).tag(sync=True)

    def __init__(
        self,
        weights: Mapping[str, Tensor],
        *,
        words: Sequence[str],
        titles: Sequence[str],
        songs: Sequence[Sequence[str]],
        heads: int,
        **rest: Any,
    ):
        if len(words) != len(weights["embedding.weight"]):
            found = f"{len(weights['embedding.weight'])} rows"
            checks.fail("weights", f"a table of {len(words)} words", found)
        for song in songs:
            if len(song) != len(songs[0]) or not set(song) <= set(words):
                checks.fail("songs", "known words, as many in each", " ".join(song))
        super().__init__(
            words=list(words),
            **recurrent.halves(dict(weights)),
            heads=heads,
            bugs=[list(each) for each in BUGS.items()],
            titles=list(titles),
            songs=[[list(words).index(word) for word in song] for song in songs],
            **rest,
        )
        self._run = cache(self._run)

    def counts(self, step: int) -> tuple[int, int]:
        """Multiply-adds of one step with a cache, and of everything again."""
        shapes = dict(self.shapes)
        V, E = shapes["embedding.weight"]
        layers = sum("in_proj" in name for name in shapes)
        word = 4 * E**2 + 3 * E * shapes["stack.layers.0.gate.weight"][0]
        kept = layers * (word + 2 * step * E) + V * E
        again = layers * (step * word + step * (step + 1) * E) + V * E
        return kept, again

    def compute(self) -> dict:
        right, run = self._run(self.song, "again"), self._run(self.song, self.bug)
        song = self.songs[self.song]
        apart = np.abs(run.logits - right.logits).max(1)
        caught = np.flatnonzero(apart > SEEN)
        differs = [n + 1 for n, word in enumerate(run.written) if word != right.written[n]]
        each = [self.counts(n) for n in range(1, self.step + 1)]
        return {
            "written": [self.words[n] for n in (song[0], *run.written[: self.step])],
            "right": [self.words[n] for n in (song[0], *right.written[: self.step])],
            "caught": int(caught[0]) + 1 if len(caught) else 0,
            "differs": differs[0] if differs else 0,
            "now": list(each[-1]),
            "all": [sum(one) for one in zip(*each, strict=True)],
        }

    def _run(self, song: int, bug: str) -> Run:
        net = recurrent.unpacked(self.shapes, self.weights)
        ids, other = self.songs[song], self.songs[(song + 1) % len(self.songs)]
        following = [None, *ids[1:-1]]
        logits = np.array([row for row, _ in write(net, self.heads, ids, other, bug, following)])
        written = [n for _, n in write(net, self.heads, ids, other, bug, [None] * len(following))]
        return Run(written, logits)

    def figure(self) -> Figure:
        figure, ax = plain_axes((6.4, 3.2), self.title or "What the next word costs")
        steps = range(1, len(self.songs[0]))
        for way, name, style in (
            (1, "everything again", {"color": "#D55E00"}),
            (0, "with a cache", {"color": "#0072B2"}),
        ):
            ax.plot(steps, [self.counts(n)[way] / 1e6 for n in steps], label=name, **style)
        ax.set(xlabel="words so far", ylabel="millions of multiply-adds of this step")
        ax.legend()
        return figure

    def _words(self) -> str:
        return (
            f"A race of two writers of one small model over {len(self.songs[0])} words, with a "
            "cache and without, with a clock of your browser, and bugs to put into the cache."
        )


def read(
    net: Network, heads: int, words: Sequence[int], kept: Cache, bug: str = "none"
) -> np.ndarray:
    """The last states (L, E) of words that follow those in the cache, which they join."""
    x, L = net["embedding.weight"][list(words)], len(words)
    places = np.arange(L) + (0 if bug == "place" else kept.length)
    kept.length += L
    for n, (keys, values) in enumerate(kept.layers):
        at = f"stack.layers.{n}"
        made = _normed(x, net[f"{at}.norm1.weight"]) @ net[f"{at}.attention.in_proj.weight"].T
        query, key, value = made.reshape(L, 3, heads, -1).swapaxes(0, 1)  # (L, H, D) each
        keys.extend(_turned(key, places))
        values.extend(value)
        Q, K, V = (np.array(a).swapaxes(0, 1) for a in (_turned(query, places), keys, values))
        seen = np.tri(L, K.shape[1], 0 if bug == "left" else K.shape[1] - L, dtype=bool)
        scores = Q @ K.swapaxes(1, 2) / np.sqrt(K.shape[-1])  # (H, L, S)
        weights = softmax(np.where(seen, scores, -np.inf))
        found = (weights @ V).swapaxes(0, 1).reshape(L, -1)
        x = x + found @ net[f"{at}.attention.out_proj.weight"].T
        y = _normed(x, net[f"{at}.norm2.weight"])
        gate = y @ net[f"{at}.gate.weight"].T
        inner = gate / (1 + np.exp(-gate)) * (y @ net[f"{at}.linear1.weight"].T)
        x = x + inner @ net[f"{at}.linear2.weight"].T
    return x


def say(net: Network, x: np.ndarray) -> np.ndarray:
    """The logits (V,) of the next word."""
    return net["embedding.weight"] @ _normed(x, net["stack.norm.weight"])


def write(
    net: Network,
    heads: int,
    song: Sequence[int],
    other: Sequence[int],
    bug: str,
    following: Sequence[int | None],
) -> Iterator[tuple[np.ndarray, int]]:
    """Logits (V,) and the likeliest word, step by step with a cache; as the bug "again" without.

    Step n reads `following[n]`; where that is None, what was written last, and `song[0]` first.
    `other` is what another reader has it write.
    """
    layers = sum("in_proj" in name for name in net)
    kept = Cache(layers, one=bug == "layers")
    if bug == "old":
        read(net, heads, other[:LEFT_BEHIND], kept)
    words = [song[0]]
    for n, given in enumerate(following):
        if given is not None:
            words[n] = given
        if bug == "draft" and n and n % DRAFTED == 0:
            read(net, heads, song[:DRAFT], kept)
        if bug == "again":
            kept = Cache(layers)
        logits = say(net, read(net, heads, words if bug == "again" else words[n:], kept, bug)[-1])
        if bug == "readers":
            read(net, heads, other[n : n + 1], kept)
        words.append(int(logits.argmax()))
        yield logits, words[-1]


def _normed(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * weight


def _turned(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Pairs of features (L, H, D) turned by the places, as `positions.rotary` turns them."""
    angles = places[:, None, None] / 10000 ** (np.arange(0, x.shape[-1], 2) / x.shape[-1])
    a, b = x[..., ::2], x[..., 1::2]
    cos, sin = np.cos(angles), np.sin(angles)
    return np.stack((a * cos - b * sin, a * sin + b * cos), -1).reshape(x.shape)
