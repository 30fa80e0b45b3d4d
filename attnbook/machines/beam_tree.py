"""A beam over a real translator as a tree: how wide it is, and what length costs."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import torch
import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine
from attnkit.guard import checks
from attnkit.viz import arrays as inputs
from attnlab.applications import Translator
from attnlab.decoding.step import Symbols
from attnlab.tasks import detokenize, tokenize

LONGEST = 24
"""Pieces of a translation, its end included."""
PENALTIES = [round(0.2 * n, 1) for n in range(11)]
"""What the slider offers; 0 takes the sum of the logarithms as it is."""


class Path(NamedTuple):
    """A beginning: its node, the sum of its logarithms, its length, whether it has ended."""

    node: int
    total: float
    length: int
    ended: bool

    def score(self, penalty: float) -> float:
        """What is compared at the end."""
        return self.total / ((5 + self.length) / 6) ** penalty


class BeamTree(Machine):
    r"""The beginnings that a beam search keeps at each step, and the sentence that it takes.

    The search is `attnlab.decoding.beam_search`: a finished sentence keeps its place among K, and
    the best is the one with the largest

    .. math:: \sum_t \log p(y_t) \Big/ \Big(\frac{5 + T}{6}\Big)^\alpha .

    A box shows the probability of everything up to there, and a row is in its order. What may
    follow each beginning that any width up to the widest keeps was computed beforehand.

    Args:
        translator: with any model.
        sentences: to translate, a button each.
        people: a person's translation of each.
        meanings: what a translation says in English, where it should be said.
        widest: the largest K.
        sentence: which one is on show; a trait, as are the next three.
        width: K.
        penalty: :math:`\alpha`, one of `PENALTIES`.
        box: the node whose probability is multiplied out; 0, or one that is not kept, for none.
        title, caption: plain text above and below.

    Raises:
        TypeError: `translator` is none.
        ValueError: not a person's translation for each sentence, or a setting out of range.

    Example:
        >>> from attnbook.figures import ch10
        >>> tree = ch10.beam_tree(width=1)
        >>> tree.compute()["found"][0]["text"]
        'son vieil est encore en vie.'
    """

    _about = "The probabilities are a real model's, computed beforehand; the search runs here."
    _limits: ClassVar = {
        "box": lambda self: (0, max(map(len, self.trees)) - 1),
        "sentence": lambda self: (0, len(self.sentences) - 1),
        "width": lambda self: (1, self.widest),
        "penalty": lambda self: PENALTIES,
    }

    sentences = t.List(t.Unicode()).tag(sync=True)
    people = t.List(t.Unicode()).tag(sync=True)
    meanings = t.Dict(value_trait=t.Unicode(), key_trait=t.Unicode()).tag(sync=True)
    # of each sentence all nodes [parent, piece, log-probability, text of the sentence if it ends];
    # the first is the root
    trees = t.List().tag(sync=True)
    widest = t.Int().tag(sync=True)
    longest = t.Int().tag(sync=True)
    penalties = t.List(t.Float()).tag(sync=True)
    sentence = t.Int(0).tag(sync=True)
    width = t.Int().tag(sync=True)
    penalty = t.Float(0.6).tag(sync=True)
    box = t.Int(0).tag(sync=True)

    def __init__(
        self,
        translator: Translator,
        *,
        sentences: Sequence[str],
        people: Sequence[str],
        meanings: Mapping[str, str] | None = None,
        widest: int = 5,
        **rest: Any,
    ):
        checks.instance("translator", translator, Translator, "a Translator")
        sentences = inputs.strings("sentences", sentences)
        super().__init__(
            sentences=sentences,
            people=inputs.strings("people", people, len(sentences)),
            meanings=dict(meanings or {}),
            trees=[_grown(translator, sentence, widest) for sentence in sentences],
            widest=widest,
            longest=LONGEST,
            penalties=PENALTIES,
            **{"width": widest} | rest,
        )

    def compute(self) -> dict:
        tree = self.trees[self.sentence]
        rows, beam = searched(tree, self.width, self.penalty)
        (greedy,) = searched(tree, 1, 0.0)[1]
        best = [path for path in beam if path.ended] or beam
        best.sort(key=lambda path: -path.score(self.penalty))
        return {
            "rows": [[path.node for path in row] for row in rows],
            "found": [
                {
                    "node": path.node,
                    "text": _text(tree, path),
                    "total": path.total,
                    "length": path.length,
                    "score": path.score(self.penalty),
                }
                for path in best
            ],
            "greedy": _text(tree, greedy),
            "chain": _chain(tree, rows, self.box),
        }

    def figure(self) -> Figure:
        tree, now = self.trees[self.sentence], self.compute()
        figure = Figure(figsize=(7, 0.6 + 0.4 * len(now["rows"])), layout="constrained")
        ax = figure.subplots()
        where = {node: (at, -step) for step, row in enumerate(now["rows"])
                 for at, node in enumerate(row)}  # fmt: skip
        for node, (x, y) in where.items():
            parent, piece, _, text = tree[node]
            share = math.exp(sum(tree[one][2] for one in _lineage(tree, node)))
            ax.text(x, y, f"{'end' if text else piece} {share:.2g}", ha="center")
            if parent in where:
                ax.plot(*zip(where[parent], (x, y), strict=True), color="0.8", zorder=0)
        ax.set_xlim(-0.5, self.widest - 0.5)
        ax.set_ylim(-len(now["rows"]), 1)
        ax.set_axis_off()
        ax.set_title(now["found"][0]["text"])
        return figure

    def _words(self) -> str:
        now = self.compute()
        best = now["found"][0]
        return (
            f"“{self.sentences[self.sentence]}” with a beam of {self.width} and a length penalty "
            f"of {self.penalty:g}: “{best['text']}”, with {best['score']:.2f}. Greedy: "
            f"“{now['greedy']}”."
        )


def searched(
    tree: Sequence[Sequence], width: int, penalty: float
) -> tuple[list[list[Path]], list[Path]]:
    """The beginnings that were kept and are new at each step, and those left at the end."""
    rows, beam = [], [Path(0, 0.0, 0, False)]
    most = ((5 + LONGEST) / 6) ** penalty
    while len(rows) < LONGEST and not all(path.ended for path in beam):
        rows.append(_longer(tree, beam, width))
        beam = [path for path in beam if path.ended] + rows[-1]
        finished = [path.score(penalty) for path in beam if path.ended]
        hope = [path.total / most for path in beam if not path.ended]
        if finished and max(finished) >= max(hope, default=-math.inf):
            break
    return rows, beam


def _longer(tree: Sequence[Sequence], beam: Sequence[Path], width: int) -> list[Path]:
    """The best continuations that the finished ones of a beam leave room for."""
    found = [
        Path(node, path.total + tree[node][2], path.length + 1, bool(tree[node][3]))
        for path in beam
        if not path.ended
        for node in _children(tree, path.node)
    ]
    found.sort(key=lambda path: -path.total)
    return found[: width - sum(path.ended for path in beam)]


def _children(tree: Sequence[Sequence], node: int) -> list[int]:
    return [at for at in range(node + 1, len(tree)) if tree[at][0] == node]


def _text(tree: Sequence[Sequence], path: Path) -> str:
    """A finished sentence, or the pieces so far."""
    if path.ended:
        return tree[path.node][3]
    return "".join(_pieces(tree, path.node)).replace("▁", " ").strip() + " …"


def _lineage(tree: Sequence[Sequence], node: int) -> list[int]:
    found: list[int] = []
    while node > 0:
        found.insert(0, node)
        node = tree[node][0]
    return found


def _pieces(tree: Sequence[Sequence], node: int) -> list[str]:
    return [tree[at][1] for at in _lineage(tree, node)]


def _chain(tree: Sequence[Sequence], rows: Sequence[Sequence[Path]], node: int) -> list[dict]:
    """What leads to a node that a row keeps, and the probability of all up to there."""
    if not any(path.node == node for row in rows for path in row):
        return []
    found, total = [], 0.0
    for at in _lineage(tree, node):
        total += tree[at][2]
        found.append({"node": at, "so_far": math.exp(total)})
    return found


@torch.no_grad()
def _grown(translator: Translator, sentence: str, widest: int) -> list[list]:
    """A tree with all that a beam of up to `widest` looks at until its last sentence has ended."""
    model, vocab = translator.model.eval(), translator.target_vocab
    source = torch.tensor([translator.source_vocab.encode(tokenize(sentence))])
    symbols = Symbols(model.pad, model.bos, model.eos)
    tree: list[list] = [[-1, "", 0.0, ""]]
    ids: dict[int, list[int]] = {0: [model.bos]}
    beams = {width: [Path(0, 0.0, 0, False)] for width in range(1, widest + 1)}
    for _ in range(LONGEST):
        open_ = sorted({path.node for beam in beams.values() for path in beam if not path.ended})
        if not open_:
            break
        written = torch.tensor([ids[node] for node in open_])  # (N, T)
        logits = model(source.expand(len(open_), -1), None, written)[:, -1]  # (N, V)
        best = symbols.log_probs(logits, may_end=True).topk(widest)
        for node, nats, tokens in zip(open_, *(side.tolist() for side in best), strict=True):
            for one, token in zip(nats, tokens, strict=True):
                ids[len(tree)] = [*ids[node], token]
                ended = token == model.eos
                text = detokenize(vocab.decode(ids[node][1:])) if ended else ""
                piece = "" if ended else vocab.tokens[token]
                tree.append([node, piece, round(one, 5), text or "∅" * ended])
        for width, beam in beams.items():
            longer = _longer(tree, beam, width)
            beams[width] = [path for path in beam if path.ended] + longer
    return tree
