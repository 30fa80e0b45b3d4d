"""What all-MiniLM-L6-v2's own task loses without a head, or without its sinks.

    python -m experiments.similar            about two minutes of one core
    python -m experiments.similar --quick    a few sentences, in seconds

The model was trained to find the sentence that says the same. So 150 pairs of English sentences
with the same French translation are drawn from Tatoeba: for the first of a pair it must pick the
second out of all 150. Each of the 72 heads is switched off alone, then whole layers, then all; and
the weight on [CLS], on [SEP], on both, or, as a control, on the first word is taken away, with and
without giving it to the other tokens. Of every head there is what it rests on: the mean weight that
words give to [CLS], [SEP], themselves and the word before.
"""

import random
from collections import defaultdict

import torch
from torch import Tensor

from attnlab import pretrained, tasks
from attnlab.pretrained.reader import mean_of_real
from experiments import _minilm as minilm
from experiments import _record as record

PAIRS, SEED = 150, 0
EVERY_HEAD = [(layer, head) for layer in range(minilm.LAYERS) for head in range(minilm.HEADS)]
SPECIAL = {"[CLS]": ["first"], "[SEP]": ["last"], "[CLS] and [SEP]": ["first", "last"]}
COLUMNS = SPECIAL | {"the first word": ["second"]}


def pairs(count: int, seed: int) -> list[tuple[str, str]]:
    """English sentences with the same French translation of five words or more, which differ in at
    least a third of their words."""
    said = defaultdict(list)
    for english, french in tasks.tatoeba("train"):
        if len(french.split()) >= 5:
            said[french].append(english)
    found = [tuple(same[:2]) for same in said.values() if _differ(same)]
    random.Random(seed).shuffle(found)
    unique = {}
    for one, other in found:
        if one not in unique and other not in unique.values():
            unique[one] = other
    return list(unique.items())[:count]


def _differ(same: list[str]) -> bool:
    if len(same) < 2:
        return False
    one, other = (set(text.lower().strip(".!?").split()) for text in same[:2])
    return len(one & other) <= 2 * max(len(one), len(other)) / 3


class Found:
    """The sentences of both sides as one batch, and how well the pairs find each other.

    States before each layer are kept, so that a change in layer n costs the layers from n on.
    """

    def __init__(self, reader: pretrained.Reader, texts: list[tuple[str, str]]):
        self.model, self.texts = reader.model, texts
        flat = [text for side in zip(*texts, strict=True) for text in side]
        tokens, self.lengths = reader.batch(flat)
        places = torch.arange(tokens.shape[1])
        self.real = (places < torch.tensor(self.lengths)[:, None])[:, None]  # (N, 1, L)
        with torch.no_grad():
            self.plain = minilm.run(self.model, self.model.embed(tokens), self.real)

    @torch.no_grad()
    def with_edit(self, edit: minilm.Edit, first: int = 0) -> Tensor:
        """Rank, from 0, of each right sentence when `edit` changes layers from `first` on."""
        x = self.plain.states[:, first]
        for number in range(first, minilm.LAYERS):
            layer = self.model.encoder.layers[number]
            x = layer.norm1(x + minilm.attend(layer, x, self.real, number, edit)[0])
            x = layer.norm2(x + layer.feed_forward(x))
        return self.ranks(x)

    def ranks(self, outputs: Tensor) -> Tensor:
        vectors = mean_of_real(outputs, self.lengths)
        one, other = vectors.chunk(2)
        likeness = one @ other.T  # (P, P)
        return (likeness > likeness.diagonal()[:, None]).sum(-1)

    def column(self, kind: str) -> Tensor:
        """Boolean (N, L): the tokens of that kind."""
        length = torch.tensor(self.lengths)[:, None]  # (N, 1)
        target = {"first": 0 * length, "second": 0 * length + 1, "last": length - 1}[kind]
        return torch.arange(self.real.shape[-1]) == target


def scores(ranks: Tensor, plain: Tensor) -> dict:
    """Share found at once, mean reciprocal rank, and how many pairs were lost and won."""
    return {
        "found": round((ranks == 0).float().mean().item(), 4),
        "reciprocal": round((1 / (1 + ranks)).mean().item(), 4),
        "lost": int(((plain == 0) & (ranks > 0)).sum()),
        "won": int(((plain > 0) & (ranks == 0)).sum()),
    }


def taken_away(hidden: Tensor, share_out: bool) -> minilm.Edit:
    """No weight on the columns `hidden` (N, L), in any layer; the rest as it is, or scaled up."""

    def edit(number: int, weights: Tensor) -> Tensor:
        left = weights.masked_fill(hidden[:, None, None], 0.0)
        return left / left.sum(-1, keepdim=True).clamp(min=1e-9) if share_out else left

    return edit


def rests_on(found: Found) -> list[list[dict]]:
    """Of every head: the mean weight of words on [CLS], [SEP], themselves, the word before, and
    the share of what they receive, |w v|, that comes from [CLS] and [SEP]."""
    weights = found.plain.weights  # (N, layers, H, L, L)
    first, last = found.column("first"), found.column("last")
    words = found.real[:, 0] & ~first & ~last  # (N, L)
    rows = words[:, None, None, :].float()

    def mean(per_row: Tensor) -> Tensor:  # (N, layers, H, L) -> (layers, H)
        return (per_row * rows).sum((0, 3)) / rows.sum()

    before = torch.zeros_like(weights[..., 0])
    before[..., 1:] = weights.diagonal(-1, -2, -1)
    on = {
        "cls": mean(weights[..., 0]),
        "sep": mean((weights * last[:, None, None, None]).sum(-1)),
        "itself": mean(weights.diagonal(0, -2, -1)),
        "before": mean(before),
    }
    received = torch.stack([_received(found, n) for n in range(minilm.LAYERS)], 1)
    special = (first | last)[:, None, None, None]
    share = (received * special).sum(-1) / received.sum(-1)  # (N, layers, H, L)
    on["received"] = mean(share)
    return [
        [{name: round(value[n, h].item(), 4) for name, value in on.items()} for h in range(12)]
        for n in range(minilm.LAYERS)
    ]


@torch.no_grad()
def _received(found: Found, number: int) -> Tensor:
    """|w_ij v_j| of each head (N, H, L, L), zero where j is padding."""
    attention = found.model.encoder.layers[number].attention
    value = attention.in_proj(found.plain.states[:, number]).chunk(3, -1)[2]
    lengths = value.unflatten(-1, (minilm.HEADS, -1)).norm(dim=-1).transpose(1, 2)  # (N, H, L)
    return found.plain.weights[:, number] * lengths[:, :, None]


def measure(reader: pretrained.Reader, count: int, layers: range) -> dict:
    """All numbers of the file."""
    found = Found(reader, pairs(count, SEED))
    plain = found.ranks(found.plain.states[:, -1])
    rests = rests_on(found)
    rows = []
    for layer in layers:
        for head in range(minilm.HEADS):
            ranks = found.with_edit(minilm.without([(layer, head)]), layer)
            row = {"layer": layer, "head": head, **scores(ranks, plain), **rests[layer][head]}
            lost = ((plain == 0) & (ranks > 0)).nonzero()[:, 0].tolist()
            rows.append(row | {"lost_pairs": lost})
    whole = [
        {"layer": layer, **scores(found.with_edit(_all_of(layer), layer), plain)}
        for layer in layers
    ]
    sinks = []
    for name, kinds in COLUMNS.items():
        hidden = torch.stack([found.column(kind) for kind in kinds]).any(0)
        for share_out in (False, True):
            ranks = found.with_edit(taken_away(hidden, share_out))
            sinks.append({"without": name, "shared_out": share_out, **scores(ranks, plain)})
    return {
        "pairs": len(found.texts),
        "plain": scores(plain, plain),
        "texts": [list(pair) for pair in found.texts],
        "layers": whole,
        "no_attention": scores(found.with_edit(minilm.without(EVERY_HEAD)), plain),
        "sinks": sinks,
        "rows": rows,
    }


def _all_of(layer: int) -> minilm.Edit:
    return minilm.without([(layer, head) for head in range(minilm.HEADS)])


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("similar", __doc__, argv)
    torch.set_num_threads(1)
    count, layers = (12, range(5, 6)) if chosen.quick else (PAIRS, range(minilm.LAYERS))
    results = measure(minilm.reader("cpu"), count, layers)
    return record.write(
        chosen.out, command=chosen.command, seeds=[SEED], device=chosen.device, results=results
    )


if __name__ == "__main__":
    main()
