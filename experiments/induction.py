"""Which heads of SmolLM2-135M-Instruct remember what came after a token the last time?

    python -m experiments.induction            seven minutes of one core
    python -m experiments.induction --quick    two lists of each part, in half a minute

A list of random pieces of the vocabulary is said twice. Nothing can be known of it the first time;
the second time a model that looks up "what came after this one before" knows all. In 32 lists each
head gets a score: the mean weight that a token of the second time gives to the token behind its
first occurrence (Olsson et al. 2022, "prefix matching"). In 32 other lists the heads with the best
scores are switched off, 1 to 8 of them, and as a control as many others of the same layers,
drawn for each list. The same heads are switched off on fifty ordinary texts.
"""

import random
import statistics
from functools import cache

import torch
from torch import Tensor

from experiments import _record as record
from experiments import _smollm as smollm

LENGTH, LISTS, TEXTS, TEXT = 50, 32, 50, 96
COUNTS = (1, 2, 4, 8)
FIRST_PIECE = 1000  # before it stand special pieces and single bytes


def settings(quick: bool) -> list[dict]:
    """Lists to score heads with, other lists and texts to switch them off on."""
    lists, texts = (2, 2) if quick else (LISTS, TEXTS)
    return [
        *({"part": "score", "seed": seed} for seed in range(lists)),
        *({"part": "off", "seed": seed, "lists": lists} for seed in range(lists, 2 * lists)),
        *({"part": "text", "seed": seed, "lists": lists} for seed in range(texts)),
    ]


def twice(seed: int) -> Tensor:
    """Token ids (1, 2 * LENGTH) of a list without repeats, said twice."""
    vocabulary = smollm.reader().model.vocab_size
    once = random.Random(seed).sample(range(FIRST_PIECE, vocabulary), LENGTH)
    return torch.tensor([once + once])


def scores(weights: Tensor) -> dict[str, list[list[float]]]:
    """Of each head (layers, H), from weights (layers, H, L, L): its mean weight on the token behind
    the first occurrence, and on the token before."""
    behind = weights.diagonal(1 - LENGTH, -2, -1)[..., 1:]  # of places LENGTH, LENGTH + 1, ...
    before = weights.diagonal(-1, -2, -1)[..., LENGTH - 1 :]
    return {
        "induction": [[round(x, 4) for x in row] for row in behind.mean(-1).tolist()],
        "before": [[round(x, 4) for x in row] for row in before.mean(-1).tolist()],
    }


@cache
def best(lists: int) -> list[tuple[int, int]]:
    """The heads in the order of their scores in lists 0, 1, ..., those on second occurrences."""
    total = 0.0
    for seed in range(lists):
        weights = smollm.read(twice(seed), need_weights=True).weights[0]
        total = total + torch.tensor(scores(weights)["induction"])
    order = total.flatten().argsort(descending=True).tolist()
    return [divmod(place, smollm.HEADS) for place in order]


def others(chosen: smollm.Heads, seed: int) -> list[tuple[int, int]]:
    """As many heads of the same layers, none of the chosen where the layer has others left."""
    draw, found = random.Random(seed), []
    for layer in sorted({layer for layer, _ in chosen}):
        mine = [head for other, head in chosen if other == layer]
        rest = [head for head in range(smollm.HEADS) if head not in mine]
        found += [(layer, head) for head in draw.sample(rest, min(len(mine), len(rest)))]
    return found


def loss(tokens: Tensor, heads: smollm.Heads) -> tuple[float, float]:
    """Mean nats of the first half of the tokens and of the second, with these heads off."""
    with smollm.without(heads):
        found = smollm.losses(smollm.read(tokens).states[:, -1], tokens)[0]
    half = tokens.shape[1] // 2
    return round(found[: half - 1].mean().item(), 4), round(found[half:].mean().item(), 4)


def measure(setting: dict, *, device: torch.device) -> dict:
    """Scores of all heads, or losses with heads off."""
    seed = setting["seed"]
    if setting["part"] == "score":
        return scores(smollm.read(twice(seed), need_weights=True).weights[0])
    text = setting["part"] == "text"
    tokens = smollm.text(seed, TEXT)[1] if text else twice(seed)
    found = {"plain": loss(tokens, [])}
    for count in COUNTS[-1:] if text else COUNTS:
        chosen = best(setting["lists"])[:count]
        found[f"best {count}"] = loss(tokens, chosen)
        found[f"others {count}"] = loss(tokens, others(chosen, seed))
    return found


def results(runs: list[dict]) -> dict:
    """The best heads, and for each number of heads off the loss of both halves."""
    scored = [run for run in runs if run["part"] == "score"]
    mean = {
        name: torch.tensor([run[name] for run in scored]).mean(0)
        for name in ("induction", "before")
    }
    ranked = mean["induction"].flatten().argsort(descending=True).tolist()
    heads = []
    for place in ranked[:16]:
        layer, head = divmod(place, smollm.HEADS)
        values = [run["induction"][layer][head] for run in scored]
        heads.append({"layer": layer, "head": head, **record.median_interval(values)})
    place = int(mean["before"].argmax())
    layer, head = divmod(place, smollm.HEADS)
    rows = []
    for part in ("off", "text"):
        of_part = [run for run in runs if run["part"] == part]
        for off in [name for name in of_part[0] if name not in ("part", "seed", "lists")]:
            rows.append({
                "part": part,
                "off": off,
                "first": record.median_interval([run[off][0] for run in of_part]),
                "second": record.median_interval([run[off][1] for run in of_part]),
            })  # fmt: skip
    all_scores = mean["induction"].flatten().tolist()
    return {
        "model": smollm.NAME,
        "length": LENGTH,
        "heads": heads,
        "before": {"layer": layer, "head": head,
                   **record.median_interval([run["before"][layer][head] for run in scored])},
        "median_score": round(statistics.median(all_scores), 4),
        "above_half": sum(score > 0.5 for score in all_scores),
        "scores": [[round(x, 4) for x in row] for row in mean["induction"].tolist()],
        "rows": rows,
    }  # fmt: skip


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("induction", __doc__, argv)
    return record.run(chosen, settings=settings, measure=measure, results=results)


if __name__ == "__main__":
    main()
