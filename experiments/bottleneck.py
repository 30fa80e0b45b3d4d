"""What one vector carries, by training, beside a model that looks back.

    python -m experiments.bottleneck            26 runs, about 8 minutes of one CPU core
    python -m experiments.bottleneck --quick    a few of them, in seconds

A GRU reads letters, a decoder writes them again from its last state alone: backwards (`reverse`) or
in order (`copy`). "attention" is the same model with additive attention over all states of the same
encoder. All are trained on words of up to 8 letters, for budgets in factors of four, each with its
own cosine schedule. Each run counts exact answers by length. Those with one vector also say which
letters survive at the longest length: at their place, and in the answer aligned with the word, so
that one letter left out does not spoil all that follow.
"""

import string
from collections.abc import Sequence

import torch

from attnlab import tasks
from attnlab.decoding.predictions import predict
from attnlab.rnn import Seq2Seq, seq2seq
from attnlab.tasks import Batches, Pair
from experiments import _record as record
from experiments._scoring import aligned, exact, reaches
from experiments._training import fit, parameters

SEEDS, BATCH, EMBED_DIM, LETTERS = (0, 1, 2), 64, 32, 20
LONGEST, TESTED = 8, 16
STEPS = (500, 2000, 8000)
WIDTH = 64
RATE, RATES = 0.004, (0.002, 0.004, 0.008)
TASKS = {"reverse": tasks.reverse, "copy": tasks.copy}
GROUP = ("task", "model", "width", "steps", "rate")
SIDE = ("task", "model", "width")


def build(model: str, width: int, size: int) -> Seq2Seq:
    """Make an untrained model with `width` numbers in each of its states."""
    attention = "additive" if model == "attention" else "none"
    context = {"context": "every"} if model == "every step" else {}
    return seq2seq(size, size, attention=attention, embed_dim=EMBED_DIM, hidden_dim=width,
                   bidirectional=False, **context)  # fmt: skip


def batches(setting: dict, count: int, seed: int, shortest: int, longest: int) -> Batches:
    """Draw examples of the task, with one vocabulary of all letters for both sides."""
    task = TASKS[setting["task"]]
    pairs = task(count, min_length=shortest, max_length=longest, symbols=LETTERS, seed=seed)
    vocab = tasks.Vocab(list(string.ascii_letters[:LETTERS]))
    return Batches(pairs, vocab, vocab, batch_size=BATCH, seed=setting["seed"])


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train and test one model of one seed."""
    seed, steps = setting["seed"], setting["steps"]
    known = batches(setting, BATCH * steps, 1000 + seed, 1, setting["longest"])
    torch.manual_seed(seed)
    model = build(setting["model"], setting["width"], len(known.source_vocab)).to(device)
    seconds = fit(model, known, steps=steps, lr=setting["rate"], seed=seed, device=device)
    found: dict = {"parameters": parameters(model), "cpu_seconds": seconds, "by_length": {}}
    for n in range(1, setting["most"] + 1):
        new = batches(setting, setting["tested"], 2000 + 100 * seed + n, n, n)
        written = predict(model, new)
        found["by_length"][str(n)] = _counts(new.pairs, written)
        if setting["model"] == "fixed" and n == setting["longest"]:
            found["by_place"] = _survivors(new.pairs, written)
    return found


def _counts(pairs: Sequence[Pair], written: Sequence[Sequence[str]]) -> list[int]:
    """Examples, exact answers, letters, and letters right at their place."""
    places = range(len(pairs[0].target))
    right = sum(_right(pairs, written, t) for t in places)
    return [len(pairs), sum(exact(written, pairs)), len(pairs) * len(places), right]


def _survivors(pairs: Sequence[Pair], written: Sequence[Sequence[str]]) -> dict[str, list[float]]:
    """The share of answers that hold each source letter, from the first read to the last.

    At its place; aligned; and by chance, which aligns the answers with the words of others.
    """
    others = [*written[1:], written[0]]
    found = {
        "place": [_right(pairs, written, t) for t in range(len(pairs[0].target))],
        "aligned": _aligned(pairs, written),
        "chance": _aligned(pairs, others),
    }
    backwards = pairs[0].target == pairs[0].source[::-1]
    return {way: [round(count / len(pairs), 5) for count in (row[::-1] if backwards else row)]
            for way, row in found.items()}  # fmt: skip


def _right(pairs: Sequence[Pair], written: Sequence[Sequence[str]], place: int) -> int:
    return sum(
        len(tokens) > place and tokens[place] == pair.target[place]
        for pair, tokens in zip(pairs, written, strict=True)
    )


def _aligned(pairs: Sequence[Pair], written: Sequence[Sequence[str]]) -> list[int]:
    counts = [0] * len(pairs[0].target)
    for pair, tokens in zip(pairs, written, strict=True):
        for place in aligned(pair.target, tokens):
            counts[place] += 1
    return counts


def settings(quick: bool) -> list[dict]:
    """Every model and seed; seeds outermost, so that a first look comes early."""
    sizes = {"longest": LONGEST, "most": 8 if quick else TESTED, "tested": 10 if quick else 500}
    if quick:
        models = [("reverse", "fixed", 16, 3, RATE), ("copy", "fixed", 16, 3, RATE),
                  ("reverse", "attention", 16, 3, RATE)]  # fmt: skip
        return [_setting(model, seed, sizes) for seed in (0, 1) for model in models]
    both = ("fixed", "attention")
    models = [("reverse", model, WIDTH, STEPS[0], rate) for model in both for rate in RATES]
    models += [
        ("copy", "fixed", WIDTH, STEPS[0], RATE),
        ("reverse", "fixed", WIDTH, STEPS[1], RATE),
    ]
    # The longest budgets, with one seed: they take two minutes and one.
    longest = [("reverse", "fixed", WIDTH, STEPS[2], RATE)]
    longest += [("reverse", "attention", WIDTH, STEPS[1], RATE)]
    return [_setting(model, seed, sizes)
            for seed in SEEDS for model in (models if seed else models + longest)]  # fmt: skip


def _setting(model: tuple, seed: int, sizes: dict) -> dict:
    return {**dict(zip(GROUP, model, strict=True)), "seed": seed, **sizes}


def summarise(runs: Sequence[dict]) -> list[dict]:
    """One row for each task, model, width, number of updates and rate, over seeds."""
    return [same | _row(group) for same, group in record.grouped(runs, GROUP)]


def _row(group: Sequence[dict]) -> dict:
    def over_seeds(numbers: Sequence[Sequence[float]]) -> list[dict]:
        return [record.median_interval(list(column)) for column in zip(*numbers, strict=True)]

    first = group[0]
    by_length = {}
    for n in first["by_length"]:
        counts = [run["by_length"][n] for run in group]
        shares = over_seeds([[c[1] / c[0], c[3] / c[2]] for c in counts])
        by_length[n] = dict(zip(("exact", "letters"), shares, strict=True))
    row = {
        "parameters": first["parameters"],
        **record.median_intervals(group, ["cpu_seconds"]),
        "holds_90": record.median_interval([reaches(run) for run in group]),
        "by_length": by_length,
    }
    if "by_place" not in first:
        return row
    places = {way: over_seeds([run["by_place"][way] for run in group]) for way in first["by_place"]}
    return row | {"by_place": places}


def _at_longest(run: dict) -> float:
    tested, right = run["by_length"][str(run["longest"])][:2]
    return right / tested


def trained(runs: Sequence[dict]) -> list[dict]:
    """How every side was trained, for a results file."""
    return record.training(
        runs, SIDE, score=_at_longest, of="exact answers at the longest length in training"
    )


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("bottleneck", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {
            "trained_to": runs[0]["longest"],
            "training": trained(runs),
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
