"""Three translators on equal terms: one vector, additive attention, a Transformer.

    python -m experiments.equal_updates            45 runs, an hour and a quarter of one CPU core
    python -m experiments.equal_updates --quick    few sentences, in seconds

The models, pieces and sentences are those of `translate`, whose runs had other peak rates and other
numbers of updates. Here all three have the same batches in the same order, as many updates, the
same schedule, and the best of the same peak rates. A batch has 64 sentences, so that many runs fit
an hour. Greedy decoding scores them: it has no length penalty. What stays unequal is the number of
parameters.
"""

import time

import torch

from attnlab import Translator, training
from attnlab.tasks import Subwords
from experiments import _record as record
from experiments import translate
from experiments._training import parameters

MODELS = ("fixed", "additive", "transformer")
# The peak rates tried, by number of updates.
RATES = {244: (0.002, 0.004), 976: (0.002, 0.004, 0.008)}
BATCH, SEEDS = 64, (0, 1, 2)


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train one model at one rate; score it on the test sentences."""
    data = translate.data_of("tatoeba", "en-fr", setting["most"])
    made = translate.recipe("tatoeba", setting["model"])
    sides = (side for pair in data.train for side in pair[:2])
    vocab = Subwords.build(sides, max_size=setting["pieces"])
    torch.manual_seed(setting["seed"])
    translator = Translator(vocab, vocab, made.kind, **made.options)
    model, steps = translator.model, setting["steps"]
    start = time.process_time()
    training.fit(
        model,
        translator.batches(data.train, batch_size=BATCH, seed=setting["seed"]),
        steps=steps,
        loss=translate.loss_of(),
        lr=setting["rate"],
        schedule=translate.schedule(steps, steps // 4),
        seed=setting["seed"],
        device=device,
        progress=False,
    )
    seconds = round(time.process_time() - start, 1)
    valid = translator.batches(data.valid, batch_size=BATCH, shuffle=False)
    found = translate.scores(translate.translate(translator, data), data, ((1, 99),))
    return {
        "parameters": parameters(model),
        "cpu_seconds": seconds,
        "valid_loss": round(training.evaluate(model, valid, loss=translate.loss_of()), 4),
        "bleu": found["bleu"],
        "chrf": found["chrf"],
    }


def settings(quick: bool) -> list[dict]:
    """Every rate and model for the first seed, then for the next; the shorter budget first."""
    sizes = {"pieces": 300, "most": 20} if quick else {"pieces": 4000, "most": None}
    return [
        {"model": model, "steps": steps, "rate": rate, "seed": seed, **sizes}
        for steps, rates in ({4: (0.002,)} if quick else RATES).items()
        for seed in (SEEDS[:2] if quick else SEEDS)
        for rate in rates
        for model in MODELS
    ]


def summarise(runs: list[dict]) -> dict:
    """The training behind the file, and a row for each model and rate."""
    trained = record.training(
        runs, ("model",), score=lambda run: run["bleu"] / 100, of="greedy BLEU, as a share of 100"
    )
    measured = ("bleu", "chrf", "valid_loss", "cpu_seconds")
    rows = [
        same | record.median_intervals(group, measured) | {"runs": group}
        for same, group in record.grouped(runs, ("model", "steps", "rate"))
    ]
    return {"batch": BATCH, "training": trained, "rows": rows}


def main(argv: list[str] | None = None) -> dict:
    """Run everything and write the results file; return what was written."""
    chosen = record.options("equal_updates", __doc__, argv)
    return record.run(chosen, settings=settings, measure=measure, results=summarise)


if __name__ == "__main__":
    main()
