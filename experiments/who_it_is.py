"""Does the head of "it" look for what is alive, or for the subject of the sentence?

    python -m experiments.who_it_is            five minutes of one core
    python -m experiments.who_it_is --quick    two sentences of each form, in seconds

In "The animal didn't cross the street because it" the animate noun is also the subject. So a
hundred sentences of that form (experiments.reference), and of three more: with a thing in place of
the animate noun, and with the animate noun as the object, of a thing and of the place. For the
famous head (experiments.too_tired), how much "it" gives to the subject and to the object, and
how often either is the word it gives most to, the first token apart. The texts end at "it": in a
model that reads from left to right nothing later can matter.
"""

import torch

from experiments import _record as record
from experiments import _smollm as smollm
from experiments import reference
from experiments.too_tired import end_of

ITEMS = 100
LAYER, HEAD = 13, 8
FRAMES = {  # of each its subject and its object: an animate noun, a place, or a thing
    "animate, place": ("a", "p"),
    "thing, place": ("t", "p"),
    "thing, animate": ("t", "a"),
    "place, animate": ("p", "a"),
}
THINGS = (
    "stone", "cart", "truck", "wall", "box", "chair", "table", "wheel", "rock", "log", "train",
    "ship", "boat", "car", "lamp", "bottle", "barrel", "ball", "wagon", "statue", "basket",
    "bucket", "door", "clock",
)  # fmt: skip


def settings(quick: bool) -> list[dict]:
    """One for each item and form; the seed is the item's number."""
    return [
        {"frame": frame, "seed": item} for frame in FRAMES for item in range(2 if quick else ITEMS)
    ]


def measure(setting: dict, *, device: torch.device) -> dict:
    """The weight of "it" on the subject, on the object and on its largest word but the first."""
    item = reference.items(ITEMS)[setting["seed"]]
    item["t"] = THINGS[setting["seed"] % len(THINGS)]
    nouns = [item[part] for part in FRAMES[setting["frame"]]]
    text = f"The {nouns[0]} didn't {item['v']} the {nouns[1]} because it"
    tokens, _ = smollm.reader().batch([text])
    words = [*smollm.reader().words(tokens[0].tolist()), " "]
    row = smollm.read(tokens, need_weights=True).weights[0, LAYER, HEAD, -1]
    subject, other = (round(row[end_of(words, noun)].item(), 4) for noun in nouns)
    return {"subject": subject, "object": other, "most": round(row[1:].max().item(), 4)}


def results(runs: list[dict]) -> dict:
    """Of each form the weights, and how often either noun gets most."""
    rows = []
    for frame in FRAMES:
        mine = [run for run in runs if run["frame"] == frame]
        row = {"frame": frame, "sentences": len(mine)}
        for name in ("subject", "object"):
            row[f"on_{name}"] = record.median_interval([run[name] for run in mine])
            row[f"most_to_{name}"] = sum(run[name] == run["most"] for run in mine)
        rows.append(row)
    return {"model": smollm.NAME, "items": ITEMS, "layer": LAYER, "head": HEAD, "rows": rows}


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("who_it_is", __doc__, argv)
    return record.run(chosen, settings=settings, measure=measure, results=results)


if __name__ == "__main__":
    main()
