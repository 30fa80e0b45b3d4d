"""The model of chapter 09's machine: a Transformer of one layer a side, each box off once.

    python -m experiments.towers            three seeds, two budgets: three minutes of one core
    python -m experiments.towers --quick    tiny, to see that it runs

It translates the noun phrases of `toy_french`, and is tested on a hundred that it has not seen.
After the training, with nothing trained again, each switch of the machine is off alone, and so are
all norms and all residual connections: how many phrases come out whole? In the encoder's attention
one line is cut: to *old* from the noun, or from *the*. In how many of all phrases with "the old",
seen or not, does the French have the right form of *vieux*? And how large (root mean square) are
the numbers that each norm is given? Weights are rounded to float16, which is what a page gets; seed
0 of the longer training is kept in `models/`.
"""

import statistics
from collections.abc import Sequence

import torch

from attnbook import recorded
from attnbook.machines import recurrent, towers
from attnlab import tasks
from attnlab.tasks import Batches
from experiments import _record as record
from experiments._training import fit, parameters

SEEDS, STEPS, BATCH, RATE = (0, 1, 2), (800, 1600), 64, 0.006
MODEL = {"embed_dim": 24, "num_heads": 4, "num_layers": 1, "hidden_dim": 96}
OPTIONS = {"dropout": 0.0, "norm_first": True}
KNOWN, TESTED = 12_000, 100
SETS = {
    "nothing": (),
    **{name: (name,) for name in towers.SWITCHES},
    "all norms": tuple(name for name in towers.SWITCHES if "Norm" in name),
    "all streams": tuple(name for name in towers.SWITCHES if "Line" in name),
}
"""What is off, by name."""
CUTS = {"none": None, "noun to old": -1, "the to old": 0}
"""Where the line to *old* begins that is cut."""
FORMS = ("vieux", "vieil", "vieille", "vieilles")


def measure(setting: dict, *, device: torch.device, command: str, save: bool) -> dict:
    """Train and round one model; count whole translations for each of `SETS`."""
    seed, steps, tested = (setting[key] for key in ("seed", "steps", "tested"))
    phrases = list(tasks.noun_phrases())
    vocabs = tasks.vocabs(phrases)
    learned, new = tasks.split(phrases, KNOWN, tested, seed=seed)
    arguments = {"source_vocab": len(vocabs[0]), "target_vocab": len(vocabs[1]), **MODEL, **OPTIONS}
    torch.manual_seed(seed)
    model = recorded.build("transformer", arguments)
    batches = Batches(learned, *vocabs, batch_size=BATCH, seed=seed)
    seconds = fit(model, batches, steps=steps, lr=RATE, seed=seed, device=device)
    model.half().float()
    if save and (seed, steps) == (SEEDS[0], STEPS[-1]):
        about = {"task": "noun phrases", "seed": seed, "steps": steps, "command": command}
        file = recorded.model_file("machine_towers")
        recorded.save_model(file, model, "transformer", arguments, vocabs, about)
    net = towers.Net(recurrent.unpacked(**recurrent.halves(model.state_dict())), MODEL["num_heads"])
    right, sizes = dict.fromkeys(SETS, 0), []
    for pair in new:
        source, target = (
            vocab.encode(words)
            for vocab, words in zip(vocabs, (pair.source, pair.target), strict=True)
        )
        for name, off in SETS.items():
            said = towers.translate(net._replace(off=off), source)
            right[name] += said.ended and said.written == target
            if not off:
                sums = (*said.encoder, *said.decoder)  # what each of the seven norms is given
                sizes.append([float((x**2).mean(-1).mean() ** 0.5) for x in sums])
    olds = [pair for pair in phrases if pair.source[:2] == ("the", "old")]
    old = {cut: agreeing(net, vocabs, olds, begin) for cut, begin in CUTS.items()}
    return {
        "parameters": parameters(model), "cpu_seconds": seconds, "right": right, "old": old,
        "sizes": [round(statistics.median(column), 2) for column in zip(*sizes, strict=True)],
    }  # fmt: skip


def agreeing(net: towers.Net, vocabs: Sequence, pairs: Sequence, begin: int | None) -> dict:
    """For each form of *vieux*: how many phrases need it, and how many are written with it."""
    found = {form: {"needed": 0, "written": 0} for form in FORMS}
    for pair in pairs:
        (form,) = set(FORMS) & set(pair.target)
        cut = () if begin is None else [(1, begin)]
        said = towers.translate(net._replace(cut=cut), vocabs[0].encode(pair.source))
        found[form]["needed"] += 1
        found[form]["written"] += vocabs[1].encode([form])[0] in said.written
    return found


def settings(quick: bool) -> list[dict]:
    """All seeds, each with both budgets."""
    seeds, budgets, tested = (SEEDS[:2], (3,), 3) if quick else (SEEDS, STEPS, TESTED)
    return [{"seed": seed, "steps": n, "tested": tested} for seed in seeds for n in budgets]


def summarise(runs: Sequence[dict]) -> list[dict]:
    """One row for each number of updates: whole translations, for each of `SETS`."""
    return [
        {
            **same,
            "parameters": group[0]["parameters"],
            "right": {
                name: record.median_interval([run["right"][name] for run in group]) for name in SETS
            },
            "runs": group,
        }
        for same, group in record.grouped(runs, ("steps", "tested"))
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run everything and write the results file; return what was written."""
    chosen = record.options("towers", __doc__, argv)
    return record.run(
        chosen,
        settings=settings,
        measure=record.keeping(measure, chosen),
        results=lambda runs: {
            "training": record.training(
                [run | {"rate": RATE, "layers": MODEL["num_layers"]} for run in runs],
                ("layers",),
                score=lambda run: run["right"]["nothing"] / run["tested"],
                of="unseen sources whose answer comes out whole",
            ),
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
