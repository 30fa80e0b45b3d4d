"""The models that translate in the page: how good are they, before and after rounding to 8 bits?

    python -m experiments.live_translator            both models, about 5 minutes of one core
    python -m experiments.live_translator --quick    tiny, to see that it runs

Chapter 03's translator and the small Transformer of chapter 09, each of the size that `by_length`
gave it, trained longer and on sentences of up to `LONGEST` words. Then every row of their weights
is rounded to eight bits, and from there on the rounded model is the model: it is the one that is
tested, kept in `models/` (of seed 0) and sent to the page.
"""

import copy
from collections.abc import Sequence
from functools import lru_cache, partial

import torch

from attnbook import recorded
from attnlab import tasks
from attnlab.decoding import SequenceModel
from attnlab.decoding.predictions import predict
from attnlab.metrics.intervals import wilson
from attnlab.tasks import Batches, Pair, Vocab
from attnlab.training.quantization import pack, round_to_eight_bits
from experiments import _record as record
from experiments._scoring import exact
from experiments._training import fit, parameters

SEEDS, BATCH = (0,), 64
LONGEST = 12
SHARED = {"embed_dim": 64}
MODELS = {
    "additive": ("seq2seq", {**SHARED, "attention": "additive", "hidden_dim": 68}),
    "transformer": (
        "transformer",
        {**SHARED, "hidden_dim": 40, "num_heads": 4, "num_layers": 2, "dropout": 0.0,
         "norm_first": True},
    ),
}  # fmt: skip
RATES = {"additive": 0.004, "transformer": 0.002}


@lru_cache(maxsize=1)
def examples(seed: int, known: int, tested: int) -> tuple[list[Pair], list[Pair]]:
    """Sentences to learn from and unseen ones; both models of a seed have the same."""
    drawn = tasks.toy_french(known + tested, max_words=LONGEST, seed=5000 + seed)
    return tasks.split(drawn, known, tested, seed=seed)


@lru_cache(maxsize=1)
def vocabs(sentences: int) -> tuple[Vocab, Vocab]:
    """One vocabulary for all seeds; that of 20,000 sentences has every word of the grammar."""
    return tasks.vocabs(tasks.toy_french(sentences, max_words=LONGEST, seed=4999))


def measure(setting: dict, *, device: torch.device, command: str, save: bool) -> dict:
    """Train, round and test one model of one seed."""
    name, seed, steps = (setting[key] for key in ("model", "seed", "steps"))
    known, new = examples(seed, setting["known"], setting["tested"])
    words = vocabs(min(20_000, setting["known"]))
    kind, options = MODELS[name]
    arguments = {"source_vocab": len(words[0]), "target_vocab": len(words[1]), **options}
    torch.manual_seed(seed)
    model = recorded.build(kind, arguments)
    batches = Batches(known, *words, batch_size=BATCH, seed=seed)
    seconds = fit(model, batches, steps=steps, lr=RATES[name], seed=seed, device=device)
    rounded = round_to_eight_bits(copy.deepcopy(model))
    unseen = Batches(new, *words, batch_size=100)
    said, said_rounded = predict(model, unseen), predict(rounded, unseen)
    if save and seed == 0:
        about = {"task": "toy_french", "model": name, "seed": seed, "command": command}
        file = recorded.model_file(f"live_translator_{name}")
        recorded.save_model(file, rounded, kind, arguments, words, about)
    return {
        "parameters": parameters(model),
        "bytes": packed_bytes(rounded),
        "cpu_seconds": seconds,
        "tested_sentences": len(new),
        "right": sum(exact(said_rounded, unseen.pairs)),
        "right_before_rounding": sum(exact(said, unseen.pairs)),
        "changed_by_rounding": sum(a != b for a, b in zip(said, said_rounded, strict=True)),
        "by_length": by_length(said_rounded, unseen.pairs),
    }


def packed_bytes(model: SequenceModel) -> int:
    """Bytes of the weights in eight bits."""
    return sum(value.nbytes for value in pack(model.state_dict()).values())


def by_length(said: Sequence[Sequence[str]], pairs: Sequence[Pair]) -> dict[str, list[int]]:
    """By number of source words: sentences, and how many came out whole."""
    counts: dict[str, list[int]] = {}
    for pair, right in zip(pairs, exact(said, pairs), strict=True):
        of_length = counts.setdefault(str(len(pair.source)), [0, 0])
        of_length[0] += 1
        of_length[1] += right
    return {n: counts[n] for n in sorted(counts, key=int)}


def settings(quick: bool) -> list[dict]:
    """Every model and seed; seeds outermost, so that the models that are kept come first."""
    sizes = {
        "steps": 3 if quick else 6000,
        "known": 300 if quick else 80_000,
        "tested": 20 if quick else 4000,
    }
    seeds = (0, 1) if quick else SEEDS
    return [{"model": name, "seed": seed, **sizes} for seed in seeds for name in MODELS]


def summarise(runs: Sequence[dict]) -> list[dict]:
    """One row a model: accuracy on unseen sentences, by length too, and each run's counts."""
    rows = []
    for same, group in record.grouped(runs, ("model", "steps")):
        row: dict = {**same, "by_length": {}}
        for n in sorted({int(n) for run in group for n in run["by_length"]}):
            counts = [run["by_length"][str(n)] for run in group if str(n) in run["by_length"]]
            tested, right = (sum(column) for column in zip(*counts, strict=True))
            row["by_length"][str(n)] = wilson(right, tested)._asdict() | {"n": tested}
        tested = sum(run["tested_sentences"] for run in group)
        for name in ("right", "right_before_rounding", "changed_by_rounding"):
            count = sum(run[name] for run in group)
            row[name] = wilson(count, tested)._asdict() | {"n": tested}
        row |= record.median_intervals(group, ["parameters", "bytes", "cpu_seconds"])
        rows.append(row | {"runs": group})
    return rows


def trained(runs: Sequence[dict]) -> list[dict]:
    """What the training behind the file was, by model."""
    return record.training(
        [run | {"rate": RATES[run["model"]]} for run in runs],
        ("model",),
        score=lambda run: run["right"] / run["tested_sentences"],
        of="unseen sentences that come out whole",
    )


def main(argv: list[str] | None = None) -> dict:
    """Run everything and write the results file; return what was written."""
    chosen = record.options("live_translator", __doc__, argv)
    return record.run(
        chosen,
        settings=settings,
        measure=partial(measure, command=chosen.command, save=not chosen.quick),
        results=lambda runs: {
            "task": "toy_french",
            "trained_to": LONGEST,
            "training": trained(runs),
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
