"""What the vector of `bottleneck` holds when its decoder practises longer, and when it is larger.

    python -m experiments.read_longer            12 runs, about 8 minutes of one CPU core
    python -m experiments.read_longer --quick    tiny, to see that it runs

"reverse" and "copy" learn on words of eight letters alone, so that every place is practised alike.
Then the encoder of "reverse" is frozen, and its decoder alone goes on; in "both", both do. "wide"
has eight times the numbers and learns on one to eight letters, as in `bottleneck`. Letters count at
their place, in the order of writing: by the model itself; given the right ones so far; and given
them with the vector of another word, which is chance.
"""

from collections.abc import Sequence

import torch

from attnlab.decoding.predictions import predict
from attnlab.rnn import Seq2Seq
from experiments import _record as record
from experiments import bottleneck
from experiments._training import fit, parameters

LONGEST, STEPS, MORE, WIDTH = 8, 500, 2000, 64
CASES = {  # the task, the numbers in the vector, the shortest word, the later updates
    "reverse": ("reverse", WIDTH, LONGEST, MORE),
    "both": ("reverse", WIDTH, LONGEST, MORE),
    "copy": ("copy", WIDTH, LONGEST, 0),
    "wide": ("reverse", LONGEST * WIDTH, 1, 0),
}
GROUP = ("case",)


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train and test one model, and once more after it, or its decoder alone, went on."""
    task, width, shortest, more = CASES[setting["case"]]
    seed, steps, rate = setting["seed"], setting["steps"], bottleneck.RATE
    told = {**setting, "task": task}
    known = bottleneck.batches(told, bottleneck.BATCH * steps, 1000 + seed, shortest, LONGEST)
    torch.manual_seed(seed)
    model = bottleneck.build("fixed", width, len(known.source_vocab)).to(device)
    seconds = fit(model, known, steps=steps, lr=rate, seed=seed, device=device)
    found = {"parameters": parameters(model), "cpu_seconds": seconds, **_read(model, told)}
    if more:
        for weight in model.encoder.parameters():
            weight.requires_grad_(setting["case"] == "both")
        steps = steps * more // STEPS
        known = bottleneck.batches(told, bottleneck.BATCH * steps, 3000 + seed, shortest, LONGEST)
        fit(model, known, steps=steps, lr=rate, seed=seed, device=device)
        found |= {f"later {name}": shares for name, shares in _read(model, told).items()}
    return found


def _read(model: Seq2Seq, setting: dict) -> dict[str, list[float]]:
    """Shares of exact answers of 6 and 8 letters, and of 8 the letters right at their place."""
    model.eval()
    found, seed, count = {"exact": []}, setting["seed"], setting["tested"]
    for n in (6, LONGEST):
        new = bottleneck.batches(setting, count, 2000 + 100 * seed + n, n, n)
        written = predict(model, new)
        found["exact"].append(bottleneck._counts(new.pairs, written)[1] / count)
    found["alone"] = [bottleneck._right(new.pairs, written, t) / count for t in range(LONGEST)]
    device = next(model.parameters()).device
    given, other = torch.zeros(2, LONGEST)
    for batch in new:
        source, lengths, target_in, goal = (
            tensor.to(device)
            for tensor in (batch.source, batch.source_lengths, batch.target_in, batch.target_out)
        )
        with torch.no_grad():
            for total, words in ((given, source), (other, source.roll(1, 0))):
                right = model(words, lengths, target_in).argmax(-1) == goal
                total += right[:, :LONGEST].sum(0).cpu()
    return found | {"given": (given / count).tolist(), "chance": (other / count).tolist()}


def settings(quick: bool) -> list[dict]:
    """Every case and seed; the long ones last."""
    return [{"case": case, "steps": 2 if quick else STEPS, "seed": seed,
             "tested": 8 if quick else 500}
            for case in CASES for seed in ((0, 1) if quick else bottleneck.SEEDS)]  # fmt: skip


def summarise(runs: Sequence[dict]) -> list[dict]:
    """One row a case, over seeds."""
    rows = []
    for same, group in record.grouped(runs, GROUP):
        shares = {
            name: [record.median_interval(list(each)) for each in
                   zip(*(run[name] for run in group), strict=True)]
            for name, value in group[0].items() if isinstance(value, list)
        }  # fmt: skip
        rows.append({**same, **record.median_intervals(group, ["parameters", "cpu_seconds"])}
                    | shares)  # fmt: skip
    return rows


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("read_longer", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {
            "training": record.training(
                [run | {"rate": bottleneck.RATE} for run in runs], GROUP,
                score=lambda run: run["exact"][1], of="exact answers of eight letters",
            ),
            "rows": summarise(runs),
        },
    )  # fmt: skip


if __name__ == "__main__":
    main()
