"""Would somebody who reads French take these translations? Three translators, judged blind.

    python -m experiments.judged            three models, half a minute of one core
    python -m experiments.judged --quick    a few sentences, to see that it runs

The first sentence of every hundredth part of the test, by the three translators that the book
shows, greedy. A judge saw the English, the references, and up to three translations in random
order without the names of the models; equal ones were judged once. Two questions of each: is the
meaning kept, and is the French right? There were two judges, two sessions of a large language
model in November 2026, neither of which saw the verdicts of the other. Theirs are in
`french_verdicts.json`; a model that is trained again writes others, which need verdicts first.
"""

import json
from collections import Counter
from pathlib import Path

import torch

from attnlab import Translator
from experiments import _record as record
from experiments import translate

MODELS = {
    "One vector": "tatoeba-en-fr-fixed",
    "Bahdanau": "tatoeba-en-fr-additive",
    "Transformer": "tatoeba-en-fr",
}
PARTS = 100
MEANING, FRENCH = ("kept", "partly", "lost"), ("right", "slip", "broken")
VERDICTS = Path(__file__).with_name("french_verdicts.json")


def verdicts() -> dict[tuple[str, str], list[list[str]]]:
    """From a sentence and a translation to the meaning and the French, by each judge."""
    held = json.loads(VERDICTS.read_text("utf-8"))
    return {(one["source"], said): found for one in held for said, found in one["verdicts"].items()}


def settings(quick: bool) -> list[dict]:
    """Every model, once: nothing is drawn."""
    return [{"model": model, "sentences": 3 if quick else PARTS, "seed": 0} for model in MODELS]


def measure(setting: dict, *, device: torch.device) -> dict:
    """Translate, and look the verdicts up.

    Raises:
        LookupError: a translation has no verdict.
    """
    data, count = translate.data_of("tatoeba", "en-fr"), setting["sentences"]
    rows = [part * len(data.sources) // PARTS for part in range(count)]
    some = data._replace(sources=[data.sources[row] for row in rows])
    translator = Translator.load(MODELS[setting["model"]])
    translator.model.to(device)
    known, found = verdicts(), []
    for source, said in zip(some.sources, translate.translate(translator, some), strict=True):
        if (source, said) not in known:
            raise LookupError(f"expected a verdict in {VERDICTS.name} of: {source} | {said}")
        found.append({"source": source, "said": said, "verdicts": known[source, said]})
    return {"translations": found}


def taken(verdict: list[str]) -> bool:
    """Whether a translation would be taken as it is."""
    return verdict == [MEANING[0], FRENCH[0]]


def summarise(runs: list[dict]) -> dict:
    """A row a model: sentences by verdict, for each judge; and on how many the judges agree."""
    rows = []
    every = {}
    for run in runs:
        by_judge = list(zip(*(one["verdicts"] for one in run["translations"]), strict=True))
        every |= {(one["source"], one["said"]): one["verdicts"] for one in run["translations"]}
        rows.append(
            {
                "model": run["model"],
                "sentences": run["sentences"],
                "taken": [sum(map(taken, judge)) for judge in by_judge],
                "meaning": [counted(judge, 0, MEANING) for judge in by_judge],
                "french": [counted(judge, 1, FRENCH) for judge in by_judge],
                "translations": run["translations"],
            }
        )
    same = sum(taken(first) == taken(second) for first, second in every.values())
    return {"translations": len(every), "judges_agree": same, "rows": rows}


def counted(judge: list[list[str]], question: int, grades: tuple[str, ...]) -> dict[str, int]:
    """How many sentences got each grade."""
    counts = Counter(verdict[question] for verdict in judge)
    return {grade: counts[grade] for grade in grades}


def main(argv: list[str] | None = None) -> dict:
    """Look everything up and write the results file; return what was written."""
    chosen = record.options("judged", __doc__, argv)
    return record.run(chosen, settings=settings, measure=measure, results=summarise)


if __name__ == "__main__":
    main()
