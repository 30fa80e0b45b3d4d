"""How far does each model get? Accuracy by source length on three tasks, on one budget.

    python -m experiments.by_length                    all tasks, 15 to 18 minutes of one core each
    python -m experiments.by_length --task toy_french  only that; or reverse, or dates
    python -m experiments.by_length --quick            tiny, to see that it runs

Ten models, the same data, batches and updates, and the same number of parameters within 10%: the
hidden size is chosen so. Each is trained on sources of up to `LONGEST[task]` tokens and tested to
twice that and beyond. Greedy decoding counts exact answers and right tokens; models with attention
are also scored by the alignment error rate of their argmax links, given the right targets, on
sources as long as those they were trained on. Some models of seed 0 are kept in `models/`.
"""

import sys
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache, lru_cache, partial

import torch

from attnbook import recorded
from attnlab import tasks
from attnlab.decoding import SequenceModel
from attnlab.decoding.predictions import align, predict
from attnlab.metrics.intervals import wilson
from attnlab.tasks import Batches, Pair
from experiments import _record as record
from experiments._scoring import error_rate, exact, reaches
from experiments._training import fit, parameters

SEEDS, BATCH = (0, 1, 2, 3, 4), 64
TASKS = ("reverse", "dates", "toy_french")
LONGEST = {"reverse": 10, "dates": 14, "toy_french": 8}
TESTED = {"reverse": range(1, 25), "dates": range(8, 30), "toy_french": range(2, 19)}
STEPS = {"reverse": 1200, "dates": 600, "toy_french": 1000}
PARAMETERS = {"reverse": 150_000, "dates": 150_000, "toy_french": 180_000}
EMBED_DIM = 64
FIXED = {"attention": "none", "bidirectional": False}
# The source is turned round before it is read (Sutskever et al. 2014, section 3.3).
REVERSED = {"reversed source": True}
LUONG = {"input_feeding": False}
MODELS = {
    "fixed GRU": FIXED,
    "fixed GRU, reversed source": FIXED | REVERSED,
    "fixed LSTM": FIXED | {"cell": "lstm"},
    "fixed LSTM, reversed source": FIXED | {"cell": "lstm"} | REVERSED,
    "additive": {"attention": "additive"},
    "dot": {"attention": "dot"} | LUONG,
    "general": {"attention": "general"} | LUONG,
    "concat": {"attention": "concat"} | LUONG,
    "dot, input feeding": {"attention": "dot", "input_feeding": True},
    "transformer": {"num_heads": 4, "num_layers": 2, "dropout": 0.0, "norm_first": True},
}
# Those of `look_controls`: with all else that "additive" has, no look, or one blind to its query.
CONTROLS = {
    "fixed GRU, every step": {"attention": "none", "context": "every"},
    "additive, no tanh": {"attention": "additive"},
}
OPTIONS = MODELS | CONTROLS
# Models of seed 0 whose weights are kept in `models/`, for the chapters to open.
KEPT = {
    "reverse": ("additive",),
    "toy_french": ("fixed GRU", "additive", "dot", "transformer"),
}
# The rate of most, as in `learning`, and of two others. `score_rates` has the rest of a grid.
RATE, RATES = 0.004, {"transformer": 0.002, "general": 0.002}


def plan(name: str, task: str, sizes: tuple[int, int]) -> tuple[str, dict]:
    """Kind and arguments of a model whose hidden size comes closest to the budget of the task."""
    kind, arguments = _plan(name, task, sizes)
    return kind, dict(arguments)


@cache  # every seed and rate asks again
def _plan(name: str, task: str, sizes: tuple[int, int]) -> tuple[str, dict]:
    kind = "transformer" if name == "transformer" else "seq2seq"
    options = {key: value for key, value in OPTIONS[name].items() if key not in REVERSED}

    def arguments(hidden_dim: int) -> dict:
        return {"source_vocab": sizes[0], "target_vocab": sizes[1], "embed_dim": EMBED_DIM,
                "hidden_dim": hidden_dim, **options}  # fmt: skip

    def over_budget(hidden_dim: int) -> int:
        with torch.device("meta"):
            model = recorded.build(kind, arguments(hidden_dim))
        return parameters(model) - PARAMETERS[task]

    sizes_to_try = range(16, 257, 4)
    # The number of parameters grows with the size: the closest is beside the first that exceeds.
    above = bisect_left(sizes_to_try, 0, key=over_budget)
    beside = sizes_to_try[max(0, above - 1) : above + 1]
    return kind, arguments(min(beside, key=lambda hidden_dim: abs(over_budget(hidden_dim))))


def examples(setting: dict) -> tuple[list[Pair], list[Pair]]:
    """Sources to learn from, and unseen ones to test on, as many of each length as there are."""
    task, seed, steps, tested = (setting[key] for key in ("task", "seed", "steps", "tested"))
    longest, most = setting["longest"], setting["most"]
    if task == "reverse":
        known = tasks.reverse(BATCH * steps, max_length=longest, seed=1000 + seed)
        new = [
            pair
            for n in range(1, most + 1)
            for pair in tasks.reverse(
                tested, min_length=n, max_length=n, seed=2000 + 100 * seed + n
            )
        ]
        return known, new
    drawn = corpus(task, seed, setting["drawn"], most)
    to_learn = len(drawn) * 3 // 5
    pool, kept = tasks.split(drawn, to_learn, len(drawn) - to_learn, seed=seed)
    known = [pair for pair in pool if len(pair.source) <= longest]
    seen = {pair.source for pair in known}
    lengths: dict[int, list[Pair]] = {}
    for pair in kept:
        if pair.source not in seen and len(pair.source) <= most:
            lengths.setdefault(len(pair.source), []).append(pair)
    return known, [pair for n in sorted(lengths) for pair in lengths[n][:tested]]


@lru_cache(maxsize=1)
def corpus(task: str, seed: int, count: int, most: int) -> list[Pair]:
    """Dates or sentences of up to `most` words; every model of a seed has the same."""
    if task == "dates":
        return tasks.dates(count, seed=3000 + seed)
    return tasks.toy_french(count, max_words=most, seed=3000 + seed)


def measure(setting: dict, *, device: torch.device, command: str, save: bool) -> dict:
    """Train and test one model of one seed, at the rate of `RATES` unless the setting has one."""
    name, task, seed, steps = (setting[key] for key in ("model", "task", "seed", "steps"))
    known, new = examples(setting)
    if "reversed source" in OPTIONS[name]:
        known, new = tasks.reverse_source(known), tasks.reverse_source(new)
    vocabs = tasks.vocabs([*known, *new])
    kind, arguments = plan(name, task, (len(vocabs[0]), len(vocabs[1])))
    torch.manual_seed(seed)
    model = recorded.build(kind, arguments)
    if name == "additive, no tanh":
        model.decoder.attention.scores = partial(_added, model.decoder.attention.v)
    batches = Batches(known, *vocabs, batch_size=BATCH, seed=seed)
    rate = setting.get("rate", RATES.get(name, RATE))
    seconds = fit(model, batches, steps=steps, lr=rate, seed=seed, device=device)
    found = {
        "parameters": parameters(model),
        "hidden_dim": arguments["hidden_dim"],
        "cpu_seconds": seconds,
        **_scores(model, Batches(new, *vocabs, batch_size=100)),
    }
    near = [pair for pair in new if len(pair.source) <= setting["longest"]]
    if OPTIONS[name].get("attention") != "none":
        links = align(model, Batches(near, *vocabs, batch_size=100))
        found["error_rate"] = error_rate(links, near)
    if save and seed == 0 and name in KEPT.get(task, ()):
        about = {"task": task, "model": name, "seed": seed, "command": command}
        file = recorded.model_file(f"{task}_{name}".replace(" ", "_").lower())
        recorded.save_model(file, model, kind, arguments, vocabs, about)
    return found


def _added(v: torch.Tensor, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    return (query @ v)[..., :, None] + (key @ v)[..., None, :]  # (B, L, S)


def _scores(model: SequenceModel, batches: Batches) -> dict:
    """Counts by source length: examples, exact answers, target tokens, right ones."""
    predicted = predict(model, batches)
    lengths: dict[str, list[int]] = {}
    right = exact(predicted, batches.pairs)
    for pair, tokens, all_right in zip(batches.pairs, predicted, right, strict=True):
        counts = lengths.setdefault(str(len(pair.source)), [0, 0, 0, 0])
        counts[0] += 1
        counts[1] += all_right
        counts[2] += max(len(pair.target), len(tokens))
        counts[3] += sum(a == b for a, b in zip(pair.target, tokens, strict=False))
    return {"by_length": lengths}


def settings(task: str, quick: bool) -> list[dict]:
    """Every model and seed; seeds outermost, so that a first look comes early."""
    sizes = {
        "steps": 3 if quick else STEPS[task],
        "longest": LONGEST[task],
        "most": LONGEST[task] + 1 if quick else TESTED[task][-1],
        "tested": 3 if quick else 100,
        "drawn": 500 if quick else 30_000,
    }
    return [
        {"task": task, "model": name, "seed": seed, **sizes}
        for seed in (SEEDS[:2] if quick else SEEDS)
        for name in MODELS
    ]


def summarise(runs: Sequence[dict]) -> list[dict]:
    """One row a model: by length, over seeds, with intervals; and each run's counts."""
    rows = []
    for same, group in record.grouped(runs, ("model", "steps")):
        row: dict = {**same, "by_length": {}}
        for n in sorted({int(n) for run in group for n in run["by_length"]}):
            counts = [run["by_length"][str(n)] for run in group if str(n) in run["by_length"]]
            sums = [sum(column) for column in zip(*counts, strict=True)]
            row["by_length"][str(n)] = {
                "exact": record.median_interval([c[1] / c[0] for c in counts]),
                "tokens": record.median_interval([c[3] / c[2] for c in counts]),
                "pooled": wilson(sums[1], sums[0])._asdict() | {"n": sums[0]},
            }
        row["reaches_90"] = record.median_interval([reaches(run) for run in group])
        numbers = ("parameters", "hidden_dim", "error_rate", "cpu_seconds")
        row |= record.median_intervals(group, [name for name in numbers if name in group[0]])
        rows.append(row | {"runs": group})
    return rows


def trained(runs: Sequence[dict]) -> list[dict]:
    """What the training behind the file was, by model."""
    return record.training(
        [{"rate": RATES.get(run["model"], RATE)} | run for run in runs],
        ("model",),
        score=within,
        of="exact answers up to the longest length in training",
    )


def within(run: dict) -> float:
    """The share of exact answers on sources as long as those in training."""
    counts = [c for n, c in run["by_length"].items() if int(n) <= run["longest"]]
    return sum(c[1] for c in counts) / sum(c[0] for c in counts)


def main(argv: list[str] | None = None) -> dict:
    """Run one task and write its results file, or all of them; return what was written.

    For all tasks that is a dict, by task.
    """
    argv = sys.argv[1:] if argv is None else argv
    chosen = record.options("by_length", __doc__, argv, tasks=TASKS)
    if chosen.task is None:
        return {task: main(["--task", task, *argv]) for task in TASKS}
    return record.run(
        chosen,
        settings=partial(settings, chosen.task),
        measure=partial(measure, command=chosen.command, save=not chosen.quick),
        results=lambda runs: {
            "task": chosen.task,
            "trained_to": LONGEST[chosen.task],
            "budget": PARAMETERS[chosen.task],
            "training": trained(runs),
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
