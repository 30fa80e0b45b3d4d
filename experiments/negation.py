"""Is *not* needed where it is, or read from its neighbours? The translators of the cover are asked.

    python -m experiments.negation            9 runs, about two minutes of one core
    python -m experiments.negation --quick    a few sentences, to see that it runs

Both toy translators, GRU and Transformer, read sentences with one *not* that the grammar drew, and
the Transformer that translates the reader's own sentence some of Tatoeba's test split.
Each is translated as it is; with *not* hidden from the attention, while the encoder reads it; and
with *not* left out of the sentence. Counted are the translations with a *pas*.
"""

import random
from collections.abc import Sequence

import torch

from attnbook import translators
from attnbook.machines.live_translator import shown
from attnlab import Translator, tasks
from experiments import _record as record

SEEDS, WORD, SIGN = (0, 1, 2), "not", "pas"
CASES = ("as it is", "hidden", "left out")
REAL = "Transformer, real English"


def sentences(count: int, seed: int) -> list[list[str]]:
    """So many sentences with one *not*."""
    drawn = tasks.toy_french(20 * count, max_words=8, seed=7000 + seed)
    return [list(pair.source) for pair in drawn if pair.source.count(WORD) == 1][:count]


def real_sentences(translator: Translator, count: int, seed: int) -> list[list[str]]:
    """So many of the 46 of Tatoeba's test split that have one *not*."""
    texts = dict.fromkeys(pair[0] for pair in tasks.tatoeba(split="test"))
    read = (shown.read_source(translator, text) for text in texts)
    return random.Random(seed).sample([words for words in read if words.count(WORD) == 1], count)


def measure(setting: dict, *, device: torch.device) -> dict:
    """In how many sentences each case has a *pas*; on the CPU, where single sentences are fast."""
    name, count = setting["model"], setting["sentences"]
    if name == REAL:
        translator = Translator.load(translators.REAL_MODELS["Transformer"])
        asked_for = real_sentences(translator, count, setting["seed"])
    else:
        translator = translators.toy_french()[name]
        asked_for = sentences(count, setting["seed"])
    counts = dict.fromkeys(CASES, 0)
    for words in asked_for:
        place = words.index(WORD)
        asked = ((words, ()), (words, (place,)), (words[:place] + words[place + 1 :], ()))
        for case, (source, hidden) in zip(CASES, asked, strict=True):
            found = shown.translate(translator, source, hidden, 24)
            counts[case] += SIGN in found.by_word()[1]
    return {"negated": counts}


def settings(quick: bool) -> list[dict]:
    """Every model and seed."""
    counts = dict.fromkeys(translators.MODELS, 100) | {REAL: 30}
    return [
        {"model": model, "sentences": 3 if quick else count, "seed": seed}
        for model, count in counts.items()
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
