"""The models inside two machines, small enough to be shown whole: how often are they right?

    python -m experiments.machine_models            both, about two minutes of one core
    python -m experiments.machine_models --quick    tiny, to see that it runs

One translates `toy_french` and scores with eight features; the other writes words of ten letters
backwards. Their weights are rounded to float16, which is what a page gets, and the rounded model is
tested and kept in `models/`.
"""

from collections.abc import Sequence
from functools import cache

import torch

from attnbook import recorded
from attnkit import AdditiveAttention
from attnlab import tasks
from attnlab.decoding.predictions import align, predict
from attnlab.tasks import Batches, Pair, Vocab
from experiments import _record as record
from experiments._scoring import error_rate, exact
from experiments._training import fit, parameters

SEEDS, BATCH, RATE, LONGEST = (0,), 64, 0.006, {"toy_french": 8, "reverse": 10}
SIZES = {
    "toy_french": {"embed_dim": 24, "hidden_dim": 32},
    "reverse": {"embed_dim": 16, "hidden_dim": 48},
}
FEATURES = {"toy_french": 8, "reverse": 16}  # of the score
BUDGETS = {
    "toy_french": {"steps": 2500, "known": 30_000, "tested": 2000},
    "reverse": {"steps": 1500, "known": 96_000, "tested": 1000},
}
SYMBOLS = 10
KEPT = {"toy_french": "machine_french", "reverse": "machine_reverse"}


def examples(setting: dict) -> tuple[list[Pair], list[Pair], tuple[Vocab, Vocab]]:
    """Sources to learn from, unseen ones, and the vocabularies."""
    task, seed, known, tested = (setting[key] for key in ("task", "seed", "known", "tested"))
    longest = LONGEST[task]
    if task == "reverse":
        sizes = {"max_length": longest, "symbols": SYMBOLS}
        learned = tasks.reverse(known, min_length=2, seed=1000 + seed, **sizes)
        return learned, tasks.reverse(tested, min_length=8, seed=2, **sizes), tasks.vocabs(learned)
    drawn = tasks.toy_french(known + tested, max_words=longest, seed=6000 + seed)
    learned, new = tasks.split(drawn, known, tested, seed=seed)
    return learned, new, _vocabs(min(20_000, known))


@cache
def _vocabs(sentences: int) -> tuple[Vocab, Vocab]:
    return tasks.vocabs(tasks.toy_french(sentences, max_words=12, seed=4999))


def measure(setting: dict, *, device: torch.device, command: str, save: bool) -> dict:
    """Train, round and test one model of one seed."""
    task, seed, steps = (setting[key] for key in ("task", "seed", "steps"))
    known, new, vocabs = examples(setting)
    arguments = {"source_vocab": len(vocabs[0]), "target_vocab": len(vocabs[1]), **SIZES[task]}
    torch.manual_seed(seed)
    model = recorded.build("seq2seq", arguments)
    # The score last, so that its size changes no other number that the training begins with.
    sizes = SIZES[task]["hidden_dim"], model.encoder.output_dim, FEATURES[task]
    model.decoder.attention = AdditiveAttention(*sizes)
    arguments["attention_dim"] = FEATURES[task]
    batches = Batches(known, *vocabs, batch_size=BATCH, seed=seed)
    seconds = fit(model, batches, steps=steps, lr=RATE, seed=seed, device=device)
    model.half().float()
    unseen = Batches(new, *vocabs, batch_size=100, shuffle=False)
    right = sum(exact(predict(model, unseen), new))
    if save:
        about = {"task": task, "seed": seed, "steps": steps, "command": command}
        file = recorded.model_file(KEPT[task])
        recorded.save_model(file, model, "seq2seq", arguments, vocabs, about)
    return {
        "parameters": parameters(model),
        "cpu_seconds": seconds,
        "tested": len(new),
        "right": right,
        "error_rate": error_rate(align(model, unseen), new),
    }


def settings(quick: bool) -> list[dict]:
    """Both tasks."""
    return [
        {"task": task, "seed": seed}
        | ({"steps": 3, "known": 200, "tested": 20} if quick else BUDGETS[task])
        for seed in ((0, 1) if quick else SEEDS)
        for task in SIZES
    ]


def summarise(runs: Sequence[dict]) -> list[dict]:
    """One row a task."""
    return [
        {
            **same,
            "tested": sum(run["tested"] for run in group),
            "right": sum(run["right"] for run in group),
            "error_rate": record.median_interval([run["error_rate"] for run in group]),
            "runs": group,
        }
        for same, group in record.grouped(runs, ("task", "steps"))
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run everything and write the results file; return what was written."""
    chosen = record.options("machine_models", __doc__, argv)
    return record.run(
        chosen,
        settings=settings,
        measure=record.keeping(measure, chosen),
        results=lambda runs: {
            "training": record.training(
                [run | {"rate": RATE} for run in runs],
                ("task",),
                score=lambda run: run["right"] / run["tested"],
                of="unseen sources whose answer comes out whole",
            ),
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
