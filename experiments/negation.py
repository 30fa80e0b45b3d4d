"""Is *not* needed where it is, or read from its neighbours? The translators of the cover are asked.

    python -m experiments.negation            6 runs, about a minute of one core
    python -m experiments.negation --quick    a few sentences, to see that it runs

Both toy translators, GRU and Transformer, read sentences with one *not* that the grammar drew. Each
is translated as it is; with *not* hidden from the attention, while the encoder reads it; and with
*not* left out of the sentence. Counted are the translations with a *pas*.
"""

from collections.abc import Sequence

import torch

from attnbook import translators
from attnbook.machines.live_translator import shown
from attnlab import tasks
from experiments import _record as record

SEEDS, WORD, SIGN = (0, 1, 2), "not", "pas"
CASES = ("as it is", "hidden", "left out")


def sentences(count: int, seed: int) -> list[list[str]]:
    """So many sentences with one *not*."""
    drawn = tasks.toy_french(20 * count, max_words=8, seed=7000 + seed)
    return [list(pair.source) for pair in drawn if pair.source.count(WORD) == 1][:count]


def measure(setting: dict, *, device: torch.device) -> dict:
    """In how many sentences each case has a *pas*; on the CPU, where single sentences are fast."""
    translator = translators.toy_french()[setting["model"]]
    counts = dict.fromkeys(CASES, 0)
    for words in sentences(setting["sentences"], setting["seed"]):
        place = words.index(WORD)
        asked = ((words, ()), (words, (place,)), (words[:place] + words[place + 1 :], ()))
        for case, (source, hidden) in zip(CASES, asked, strict=True):
            counts[case] += SIGN in shown.translate(translator, source, hidden, 20).target
    return {"negated": counts}


def settings(quick: bool) -> list[dict]:
    """Every model and seed."""
    return [
        {"model": model, "sentences": 3 if quick else 100, "seed": seed}
        for model in translators.MODELS
        for seed in (SEEDS[:2] if quick else SEEDS)
    ]


def summarise(runs: Sequence[dict]) -> list[dict]:
    """One row a model: how many are negated in each case, over the draws of a seed each."""
    return [
        {
            **same,
            "sentences": group[0]["sentences"],
            "negated": record.median_intervals([run["negated"] for run in group]),
        }
        for same, group in record.grouped(runs, ("model",))
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("negation", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {"rows": summarise(runs)},
    )


if __name__ == "__main__":
    main()
