"""How far would other test sentences move BLEU? A paired bootstrap over the translators.

    python -m experiments.resampled            four searches, a minute of one core
    python -m experiments.resampled --quick    a few sentences, to see that it runs

The three translators that the book shows, rounded to eight bits, translate the whole test, greedily
and with a beam of five, whose length penalty is the default of 0.6; the Transformer also with 1.8,
which its run chose on the validation split. Then as many test sentences are drawn as there are,
with replacement, and two lists of translations are scored on the same draw (Koehn 2004). An
interval holds the middle 95% of the differences over all draws. It says what other sentences of
this kind could have done to the difference of these two lists, and nothing of what training with
another seed would do.
"""

from collections.abc import Sequence

import numpy as np
import torch
from sacrebleu.metrics import BLEU

from attnlab import Translator, tasks
from experiments import _record as record
from experiments import translate

MODELS = {"fixed": "tatoeba-en-fr-fixed", "additive": "tatoeba-en-fr-additive",
          "transformer": "tatoeba-en-fr"}  # fmt: skip
PENALTIES = {"fixed": (0.6,), "additive": (0.6,), "transformer": (0.6, 1.8)}
BEAM, DRAWS = 5, 10_000


def settings(quick: bool) -> list[dict]:
    """Every model and length penalty, once; the seed is that of the draws."""
    return [
        {"model": model, "length_penalty": penalty, "sentences": 6 if quick else 0, "seed": 0}
        for model, penalties in PENALTIES.items()
        for penalty in penalties
    ]


def measure(setting: dict, *, device: torch.device) -> dict:
    """Translate; `sentences` of the test, all when it is 0."""
    data = translate.data_of("tatoeba", "en-fr")
    some = data._replace(sources=data.sources[: setting["sentences"] or None])
    translator = Translator.load(MODELS[setting["model"]])
    translator.model.to(device)
    return {
        "greedy": translate.translate(translator, some),
        "beam": translate.translate(translator, some, BEAM, setting["length_penalty"]),
    }


def counts(said: Sequence[str], references: Sequence[Sequence[str]]) -> np.ndarray:
    """What each sentence adds to a corpus's BLEU: hits and runs of 1 to 4, and both lengths."""
    metric, rows = BLEU(lowercase=True, effective_order=True), []  # else it warns
    for one, known in zip(said, references, strict=True):
        found = metric.sentence_score(one, list(known))
        rows.append([*found.counts, *found.totals, found.sys_len, found.ref_len])
    return np.array(rows, dtype=float)  # (N, 10)


def bleu(summed: np.ndarray) -> np.ndarray:
    """BLEU, without smoothing, from sums of `counts`: (..., 10) to (...)."""
    shares = summed[..., :4] / np.maximum(summed[..., 4:8], 1)
    brevity = np.minimum(1, np.exp(1 - summed[..., 9] / np.maximum(summed[..., 8], 1)))
    return 100 * brevity * np.prod(shares, axis=-1) ** (1 / 4)


def results(runs: list[dict]) -> dict:
    """By model and penalty what a beam changes, and by how much the Transformer is ahead."""
    _, references = tasks.references(tasks.tatoeba("test"))
    references = references[: len(runs[0]["greedy"])]
    known = [{tasks.detokenize(tasks.tokenize(text)) for text in texts} for texts in references]
    draws = np.random.default_rng(runs[0]["seed"]).multinomial(
        len(known), [1 / len(known)] * len(known), size=DRAWS
    )  # (draws, N): how often each sentence is in it
    found, rows = {}, []
    for run in runs:
        each = {search: counts(run[search], references) for search in ("greedy", "beam")}
        pairs = list(zip(run["greedy"], run["beam"], known, strict=True))
        rows.append({
            "model": run["model"],
            "length_penalty": run["length_penalty"],
            **{search: round(float(bleu(each[search].sum(0))), 2) for search in each},
            **difference(each["beam"], each["greedy"], draws),
            "changed": sum(one != other for one, other, _ in pairs),
            "gained": sum(other in right and one not in right for one, other, right in pairs),
            "lost": sum(one in right and other not in right for one, other, right in pairs),
        })  # fmt: skip
        found.setdefault(run["model"], each)  # with the default penalty
    ahead = [
        {"search": search}
        | difference(found["transformer"][search], found["additive"][search], draws)
        for search in ("greedy", "beam")
    ]
    return {
        "sentences": len(known),
        "draws": DRAWS,
        "rows": rows,
        "transformer_over_additive": ahead,
    }


def difference(one: np.ndarray, other: np.ndarray, draws: np.ndarray) -> dict:
    """BLEU of one list of translations less that of another, as `counts`, and its interval."""
    drawn = bleu(draws @ one) - bleu(draws @ other)
    return {
        "difference": round(float(bleu(one.sum(0)) - bleu(other.sum(0))), 2),
        "interval_95": np.percentile(drawn, (2.5, 97.5)).round(2).tolist(),
    }


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("resampled", __doc__, argv)
    return record.run(chosen, settings=settings, measure=measure, results=results)


if __name__ == "__main__":
    main()
