"""How many heads of the page's translator are needed, when they are switched off one by one?

    python -m experiments.heads_off            6 runs, two minutes of one core
    python -m experiments.heads_off --quick    a few sentences, to see that it runs

The Transformer of the page that translates has 36 heads in three kinds of attention. It is not
trained again. An order in which they go is found three at a time: always those without which, each
alone, the loss of some validation sentences is lowest (teacher forcing), a draw of sentences for
each seed. The control is an order drawn by lot. Test sentences are translated greedily with so
many heads left, and without each kind: BLEU, and how many translations are the same as with all
heads on.

Voita et al. (2019) pruned heads of large translators while they trained on; Michel et al. (2019)
switched them off in trained ones, as is done here.
"""

import random

import torch
import torch.nn.functional as F

from attnbook.machines.live_translator.shown import heads_of, without_heads
from attnlab import Translator, metrics, tasks
from attnlab.decoding.predictions import predict
from attnlab.tasks import PAD, Batch, Pair
from experiments import _record as record

MODEL, SEEDS = "tatoeba-en-fr", (0, 1, 2)
LEFT = (36, 30, 24, 18, 12, 9, 6, 3, 0)
"""Numbers of heads left on that the test is translated with."""
ORDERS, AT_ONCE = ("missed least first", "by lot"), 3
WAYS = {"English looks at English": 0, "French looks back": 12, "French looks at English": 24}
"""Each kind of attention as the page calls it, and the first of its twelve heads."""


def settings(quick: bool) -> list[dict]:
    """Every order and seed."""
    sizes = {"chosen_on": 1, "tested_on": 1} if quick else {"chosen_on": 60, "tested_on": 100}
    return [
        {"order": order, "seed": seed, **sizes}
        for order in ORDERS
        for seed in (SEEDS[:2] if quick else SEEDS)
    ]


def measure(setting: dict, *, device: torch.device) -> dict:
    """The order, and by the number of heads left BLEU and the share that stays the same."""
    translator = Translator.load(MODEL)
    translator.model.to(device)
    count, seed = len(heads_of(translator.model)), setting["seed"]
    if setting["order"] == ORDERS[0]:
        order = missed_least_first(translator, some("valid", setting["chosen_on"], seed))
    else:
        order = random.Random(seed).sample(range(count), count)
    sources, references = tasks.references(tasks.tatoeba("test"))
    chosen = random.Random(0).sample(range(len(sources)), setting["tested_on"])  # of every setting
    sources, references = ([side[place] for place in chosen] for side in (sources, references))
    whole = said_of(translator, sources, [])
    found = {"heads": count, "order_off": order, "bleu": {}, "same": {}, "exact": {}}
    found["without"] = {}
    for left in LEFT:
        said = said_of(translator, sources, order[: count - left])
        score = metrics.bleu(hypotheses=said, references=references, lowercase=True).score
        found["bleu"][str(left)] = round(score, 2)
        found["same"][str(left)] = share(
            one == before for one, before in zip(said, whole, strict=True)
        )
        found["exact"][str(left)] = share(
            one in [each.lower() for each in known]
            for one, known in zip(said, references, strict=True)
        )
    for way, place in WAYS.items():
        said = said_of(translator, sources, list(range(place, place + count // len(WAYS))))
        score = metrics.bleu(hypotheses=said, references=references, lowercase=True).score
        same = share(one == before for one, before in zip(said, whole, strict=True))
        found["without"][way] = {"bleu": round(score, 2), "same": same}
    return found


def some(split: str, count: int, seed: int) -> list[Pair]:
    """So many pairs of a split, drawn."""
    lines = random.Random(seed).sample(tasks.tatoeba(split), count)
    return [Pair(tuple(tasks.tokenize(en)), tuple(tasks.tokenize(fr))) for en, fr in lines]


def missed_least_first(translator: Translator, pairs: list[Pair]) -> list[int]:
    """All heads in the order in which they go, the one that is missed least first."""
    (batch,) = translator.batches(pairs, batch_size=len(pairs), shuffle=False)
    model = translator.model.eval()
    batch = batch.to(next(model.parameters()).device)
    order, left = [], list(range(len(heads_of(model))))
    while left:
        left.sort(key=lambda one: loss(model, batch, [*order, one]))  # once for each head
        order, left = order + left[:AT_ONCE], left[AT_ONCE:]
    return order


@torch.no_grad()
def loss(model: torch.nn.Module, batch: Batch, off: list[int]) -> float:
    """Nats a piece, without these heads."""
    with without_heads(model, off):
        logits = model(batch.source, batch.source_lengths, batch.target_in)
    return F.cross_entropy(logits.mT, batch.target_out, ignore_index=PAD).item()


def said_of(translator: Translator, sources: list[str], off: list[int]) -> list[str]:
    """The translations, greedily, without these heads."""
    pairs = [Pair(tuple(tasks.tokenize(source)), ()) for source in sources]
    longest = max(len(translator.source_vocab.encode(pair.source)) for pair in pairs)
    batches = translator.batches(pairs, batch_size=100, shuffle=False)
    with without_heads(translator.model, off):
        said = predict(translator.model, batches, max_len=longest + 10)
    return [tasks.detokenize(words) for words in said]


def share(right) -> float:
    """The share of what is right."""
    right = list(right)
    return round(sum(right) / len(right), 4)


def results(runs: list[dict]) -> dict:
    """By order and number of heads left the medians over seeds, and the first run whole."""
    rows = []
    for same, group in record.grouped(runs, ("order",)):
        for left in LEFT:
            values = {
                name: record.median_interval([run[name][str(left)] for run in group])
                for name in ("bleu", "same", "exact")
            }
            rows.append({**same, "left": left, **values})
    names = ("order_off", "bleu", "same", "exact")
    return {
        "model": MODEL,
        "sentences": runs[0]["tested_on"],
        "heads": runs[0]["heads"],
        "first": {name: runs[0][name] for name in names},  # what the page shows
        "without": runs[0]["without"],  # one way of looking after the other
        "rows": rows,
    }


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("heads_off", __doc__, argv)
    return record.run(chosen, settings=settings, measure=measure, results=results)


if __name__ == "__main__":
    main()
