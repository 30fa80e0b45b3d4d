"""Does every model learn, with correct alignments? Minutes per model on one core.

    python -m experiments.learning            three seeds of each, about 27 minutes of one core
    python -m experiments.learning --quick    short sources and sentences, to see that it runs

`reverse`: trained on lengths 4 to 16, how many fresh sources of each length are reversed without
a mistake, and the alignment error rate at the longest. `toy_french`: the alignment error rate of
argmax links, given the right targets, on sentences that were not trained on; the least that one
link a target word can reach; and by how many places the wrong links miss.
"""

from collections import Counter
from collections.abc import Sequence

import torch

from attnlab import tasks
from attnlab.decoding import SequenceModel
from attnlab.decoding.predictions import align, predict
from attnlab.metrics.intervals import wilson
from attnlab.rnn import seq2seq
from attnlab.tasks import Batches, Pair
from attnlab.transformer import Transformer
from experiments import _record as record
from experiments._scoring import error_rate, exact
from experiments._training import fit

SEEDS, BATCH = (0, 1, 2), 64
LENGTHS = (4, 8, 12, 16)
RNN = {"embed_dim": 64, "hidden_dim": 128}
LUONG = RNN | {"cell": "lstm", "input_feeding": False}
MODELS = {"additive": RNN, "dot": LUONG, "general": LUONG, "concat": LUONG,
          "transformer": {"embed_dim": 64, "num_heads": 4, "num_layers": 2, "hidden_dim": 128,
                          "dropout": 0.0, "norm_first": True}}  # fmt: skip
STEPS = {
    ("reverse", "additive"): 2000,
    ("reverse", "dot"): 3000,
    ("reverse", "general"): 4000,
    ("reverse", "concat"): 2000,
    ("reverse", "transformer"): 2000,
    ("toy_french", "additive"): 1000,
    ("toy_french", "dot"): 1000,
}
RATES = {"transformer": 0.002, "general": 0.002}  # 0.004 for the others


def build(name: str, source_size: int, target_size: int) -> SequenceModel:
    """Make an untrained model of the sizes above."""
    if name == "transformer":
        return Transformer(source_size, target_size, **MODELS[name])
    return seq2seq(source_size, target_size, attention=name, **MODELS[name])


def learn(
    setting: dict, pairs: list[Pair], device: torch.device, *others: list[Pair]
) -> tuple[SequenceModel, list[Batches], float]:
    """Train a model on `pairs`; return it, batches of the other pairs, and the CPU seconds."""
    name, steps, seed = setting["model"], setting["steps"], setting["seed"]
    vocabs = tasks.vocabs([pair for part in (pairs, *others) for pair in part])
    torch.manual_seed(seed)
    model = build(name, *map(len, vocabs))
    batches = Batches(pairs, *vocabs, batch_size=BATCH, seed=seed)
    rate = RATES.get(name, 0.004)
    seconds = fit(model, batches, steps=steps, lr=rate, seed=seed, device=device)
    return model, [Batches(part, *vocabs, batch_size=100) for part in others], seconds


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train and test one model of one seed."""
    task = {"reverse": _reverse, "toy_french": _toy_french}[setting["task"]]
    return task(setting, device)


def _reverse(setting: dict, device: torch.device) -> dict:
    longest, seed = setting["longest"], setting["seed"]
    count = BATCH * setting["steps"]  # no source is met twice on purpose
    train = tasks.reverse(count, min_length=4, max_length=longest, seed=1000 + seed)
    lengths = [length for length in LENGTHS if length <= longest]
    tests = [
        tasks.reverse(setting["tested"], min_length=length, max_length=length, seed=2000 + seed)
        for length in lengths
    ]
    model, batches, seconds = learn(setting, train, device, *tests)
    right = {
        str(length): _exact(model, part) for length, part in zip(lengths, batches, strict=True)
    }
    error = error_rate(align(model, batches[-1]), batches[-1].pairs)
    return {"exact": right, "error_rate": error, "cpu_seconds": seconds}


def _toy_french(setting: dict, device: torch.device) -> dict:
    train, tested = setting["pairs"], setting["tested"]
    corpus = tasks.toy_french(train + tested, seed=3000 + setting["seed"])
    train, test = tasks.split(corpus, train, tested, seed=setting["seed"])
    model, (batches,), seconds = learn(setting, train, device, test)
    links = align(model, batches)
    missed, words, all_words = _mistakes(links, test)
    one_each = [_one_sure_link_each(pair) for pair in test]
    return {
        "exact": {"all": _exact(model, batches)},
        "error_rate": error_rate(links, test),
        "least_error_rate": error_rate(one_each, test),
        "missed_by": {str(n): count for n, count in sorted(missed.items()) if abs(n) <= 3},
        "missed": sum(missed.values()),
        "links": sum(all_words.values()),
        "words": [[word, count, all_words[word]] for word, count in words.most_common(12)],
        "cpu_seconds": seconds,
    }


def _exact(model: SequenceModel, batches: Batches) -> int:
    return sum(exact(predict(model, batches), batches.pairs))


def _one_sure_link_each(pair: Pair) -> set:
    """The best that one link a target word can do."""
    return set({row: (row, place) for row, place in sorted(pair.possible - pair.sure)
                + sorted(pair.sure)}.values())  # fmt: skip


def _mistakes(links: Sequence, pairs: Sequence[Pair]) -> tuple[Counter, Counter, Counter]:
    """Distances of wrong links from the nearest right place; their words; all words."""
    distances, words, all_words = Counter(), Counter(), Counter()
    for found, pair in zip(links, pairs, strict=True):
        for row, place in found:
            all_words[pair.target[row]] += 1
            if (row, place) not in pair.possible:
                right = [column for other, column in pair.possible if other == row]
                distances[min((place - column for column in right), key=abs)] += 1
                words[pair.target[row]] += 1
    return distances, words, all_words


def settings(quick: bool) -> list[dict]:
    """Every task, model and seed; seeds outermost, so that a first look comes early."""
    sizes = {
        "reverse": {"longest": 4 if quick else 16, "tested": 20 if quick else 500},
        "toy_french": {"pairs": 300 if quick else 20_000, "tested": 20 if quick else 1000},
    }
    return [
        {
            "task": task,
            "model": name,
            "steps": 4 if quick else STEPS[task, name],
            "seed": seed,
            **sizes[task],
        }
        for seed in (SEEDS[:2] if quick else SEEDS)
        for task, name in STEPS
    ]


def summarise(runs: list[dict]) -> list[dict]:
    """One row for each task and model: over seeds, and all seeds' test sources together."""
    rows = []
    for same, group in record.grouped(runs, ("task", "model", "steps")):
        tested = sum(run["tested"] for run in group)
        row: dict = {**same, "exact": {}}
        for part in group[0]["exact"]:
            right = sum(run["exact"][part] for run in group)
            row["exact"][part] = wilson(right, tested)._asdict() | {"n": tested}
        numbers = ("error_rate", "least_error_rate", "cpu_seconds")
        row |= record.median_intervals(group, [name for name in numbers if name in group[0]])
        rows.append(row | {"runs": group})
    return rows


def trained(runs: list[dict]) -> list[dict]:
    """What the training behind the file was, by task and model."""
    return record.training(
        [run | {"rate": RATES.get(run["model"], 0.004)} for run in runs],
        ("task", "model"),
        score=lambda run: list(run["exact"].values())[-1] / run["tested"],
        of="exact answers, at the longest length of reverse and on all sentences of toy_french",
    )


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("learning", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {"training": trained(runs), "rows": summarise(runs)},
    )


if __name__ == "__main__":
    main()
