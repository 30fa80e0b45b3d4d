"""The models that write a typed word backwards in the page, each rounded to 8 bits.

    python -m experiments.backwards            three models, about a minute of one CPU core
    python -m experiments.backwards --quick    tiny, to see that it runs

The models of `bottleneck` once more, with smaller embeddings and all 26 letters. Every row of their
weights is rounded to eight bits, and from there on the rounded model is the model: it is the one
that is tested, kept in `models/` (of seed 0) and sent to the page.
"""

import string
from collections.abc import Sequence
from functools import partial

import torch

from attnbook import recorded
from attnlab import tasks
from attnlab.decoding.predictions import predict
from attnlab.tasks import Batches
from attnlab.training.quantization import round_to_eight_bits
from experiments import _record as record
from experiments._scoring import exact
from experiments._training import fit, parameters

BATCH, RATE, LONGEST, TESTED = 64, 0.004, 8, 12
SIZES = {"embed_dim": 16, "hidden_dim": 64, "bidirectional": False}
ATTENTION = {"vector": "none", "look back": "additive"}
MODELS = (("vector", 500), ("vector", 2000), ("look back", 500))
VOCAB = tasks.Vocab(list(string.ascii_lowercase))


def words(count: int, lengths: tuple[int, int], seed: int) -> Batches:
    """Words of random letters, each with its letters backwards."""
    pairs = tasks.reverse(
        count, min_length=lengths[0], max_length=lengths[1], symbols=len(VOCAB) - 4, seed=seed
    )
    return Batches(pairs, VOCAB, VOCAB, batch_size=BATCH, seed=seed)


def file_name(model: str, steps: int) -> str:
    """The name of the file in `models/`."""
    return f"backwards_{model.replace(' ', '_')}_{steps}"


def measure(setting: dict, *, device: torch.device, command: str, save: bool) -> dict:
    """Train, round and test one model of one seed."""
    name, seed, steps = (setting[key] for key in ("model", "seed", "steps"))
    arguments = {"source_vocab": len(VOCAB), "target_vocab": len(VOCAB),
                 "attention": ATTENTION[name], **SIZES}  # fmt: skip
    torch.manual_seed(seed)
    model = recorded.build("seq2seq", arguments)
    known = words(BATCH * steps, (1, LONGEST), 1000 + seed)
    seconds = fit(model, known, steps=steps, lr=RATE, seed=seed, device=device)
    round_to_eight_bits(model)
    found = {}
    for n in range(1, TESTED + 1):
        new = words(setting["tested"], (n, n), 2000 + 100 * seed + n)
        found[str(n)] = [len(new.pairs), sum(exact(predict(model, new), new.pairs))]
    if save and seed == 0:
        about = {"task": "reverse", "model": name, "seed": seed, "command": command}
        file = recorded.model_file(file_name(name, setting["steps"]))
        recorded.save_model(file, model, "seq2seq", arguments, (VOCAB, VOCAB), about)
    return {"parameters": parameters(model), "cpu_seconds": seconds, "by_length": found}


def settings(quick: bool) -> list[dict]:
    """Every model, and in the quick form two seeds of each."""
    tested = 5 if quick else 500
    return [{"model": name, "steps": 3 if quick else steps, "seed": seed, "tested": tested}
            for seed in ((0, 1) if quick else (0,))
            for name, steps in (MODELS[1:] if quick else MODELS)]  # fmt: skip


def summarise(runs: Sequence[dict]) -> list[dict]:
    """One row a model and number of updates: the share of exact answers by length."""
    rows = []
    for same, group in record.grouped(runs, ("model", "steps")):
        shares = {n: record.median_interval([run["by_length"][n][1] / run["by_length"][n][0]
                                             for run in group])
                  for n in group[0]["by_length"]}  # fmt: skip
        numbers = record.median_intervals(group, ["parameters", "cpu_seconds"])
        rows.append({**same, **numbers, "by_length": shares})
    return rows


def trained(runs: Sequence[dict]) -> list[dict]:
    """What the training behind the file was, by model."""
    return record.training(
        [run | {"rate": RATE} for run in runs],
        ("model",),
        score=lambda run: run["by_length"][str(LONGEST)][1] / run["by_length"][str(LONGEST)][0],
        of="exact answers at the longest length in training",
    )


def main(argv: list[str] | None = None) -> dict:
    """Run everything and write the results file; return what was written."""
    chosen = record.options("backwards", __doc__, argv)
    return record.run(
        chosen,
        settings=settings,
        measure=partial(measure, command=chosen.command, save=not chosen.quick),
        results=lambda runs: {
            "trained_to": LONGEST, "training": trained(runs), "rows": summarise(runs),
        },
    )  # fmt: skip


if __name__ == "__main__":
    main()
