"""Does SmolLM2-135M-Instruct say with its attention what "it" means?

    python -m experiments.too_tired            two minutes of one core
    python -m experiments.too_tired --quick    six sentences, in seconds

"The animal didn't cross the street because it was too tired." and 99 more, each with the other
adjective too (experiments.reference): in the passive the animate noun and the place change parts.
The famous head is the one of all 270 that gives most of "it" to *animal* in that first sentence. Of
the others: how much it gives to the animate noun, how often that is the word it gives most to (the
first token apart), and whether the last word changes anything, which in a model that reads from
left to right it cannot. Then the weights of the adjective itself, for which both nouns and "it" are
already read: the head is chosen on one half of the items and tried on the other. And, as what the
model knows, whether "because the animal was too" makes *tired* more probable than "because the
street was too" does, beside the same question without the first clause.
"""

import torch
from torch import Tensor

from experiments import _record as record
from experiments import _smollm as smollm
from experiments import reference

ITEMS = 100
FRAMES = ("active", "passive")
MEANT = ("tired", "wide")


def settings(quick: bool) -> list[dict]:
    """One for each item and frame; the seed is the item's number."""
    items, frames = (2, FRAMES) if quick else (ITEMS, FRAMES)
    return [{"frame": frame, "seed": item} for frame in frames for item in range(items)]


def measure(setting: dict, *, device: torch.device) -> dict:
    """Weights (layers, H) of "it" on both nouns and on its largest word but the first, of the
    adjective on both nouns; how far the two sentences' "it" differ; and which noun is likelier."""
    item = reference.items(ITEMS)[setting["seed"]]
    nouns = {"a": item["a"], "p": item["p"]}
    found = {"nouns": [item["a"], item["p"]]}
    rows = []
    texts = [reference.sentence(item, setting["frame"], meant) for meant in MEANT]
    tokens, lengths = smollm.reader().batch(texts)
    every = smollm.read(tokens, need_weights=True).weights  # (2, layers, H, L, L)
    for meant, ids, length, weights in zip(MEANT, tokens, lengths, every, strict=True):
        words = smollm.reader().words(ids[:length].tolist())
        places = [end_of(words, noun) for noun in nouns.values()]
        it = max(place for place, word in enumerate(words) if word == " it")
        rows.append(weights[:, :, it])
        last = weights[:, :, length - 2]  # the end of the adjective
        found[f"{meant}: adjective"] = [_flat(last[..., place]) for place in places]
    found["it"] = [_flat(rows[0][..., place]) for place in places]
    found["most"] = _flat(rows[0][..., 1 : it + 1].amax(-1))
    found["first"] = _flat(rows[0][..., 0])
    shared = slice(0, it + 1)
    found["differs"] = float((rows[0][..., shared] - rows[1][..., shared]).abs().max())
    if setting["frame"] == "active":
        found["likelier"] = _likelier(item)
    return found


def end_of(words: list[str], noun: str) -> int:
    """The place of a noun's last piece, which stands for the noun in later layers."""
    said = ""
    for place, word in enumerate(words):
        said += word
        if said.lower().endswith(f" {noun}") and not (words[place + 1] or " ")[0].isalpha():
            return place
    raise ValueError(f"no {noun!r} in {words}")


def _flat(x: Tensor) -> list[float]:
    return [round(value, 4) for value in x.flatten().tolist()]


def _likelier(item: dict) -> dict[str, list[bool]]:
    """For each adjective whether the noun it is said of makes it more probable than the other
    noun does: after the whole first clause, and without it."""
    clause = "The {a} didn't {v} the {p} because the {n} was too"
    found = {}
    for name, frame in (("after the clause", clause), ("alone", "The {n} was too")):
        nats = _nats(
            [frame.format(**item, n=item[noun]) for _ in MEANT for noun in ("a", "p")],
            [" " + item[meant] for meant in MEANT for _ in ("a", "p")],
        ).view(2, 2)  # adjective, noun
        found[name] = [bool(nats[0, 0] < nats[0, 1]), bool(nats[1, 1] < nats[1, 0])]
    return found


def _nats(begins: list[str], ends: list[str]) -> Tensor:
    """Nats of each end after its beginning."""
    _, starts = smollm.reader().batch(begins)
    tokens, lengths = smollm.reader().batch([a + b for a, b in zip(begins, ends, strict=True)])
    nats = smollm.losses(smollm.read(tokens).states[:, -1], tokens)  # (N, L - 1)
    spans = zip(nats, starts, lengths, strict=True)
    return torch.stack([row[start - 1 : end - 1].sum() for row, start, end in spans])


def results(runs: list[dict]) -> dict:
    """The famous head over all sentences, the best head of the adjective, and what is likelier."""
    active = [run for run in runs if run["frame"] == "active"]
    famous = int(torch.tensor(active[0]["it"][0]).argmax())
    rows = []
    for frame in FRAMES:
        mine = [run for run in runs if run["frame"] == frame]
        animate, place, most, first = (
            [get(run)[famous] for run in mine]
            for get in (lambda run: run["it"][0], lambda run: run["it"][1],
                        lambda run: run["most"], lambda run: run["first"])
        )  # fmt: skip
        best = _best_adjective(mine)
        rows.append({
            "frame": frame,
            "sentences": len(mine),
            "on_animate": record.median_interval(animate),
            "on_place": record.median_interval(place),
            "on_first": record.median_interval(first),
            "most_to_animate": sum(a == m for a, m in zip(animate, most, strict=True)),
            "most_to_place": sum(p == m for p, m in zip(place, most, strict=True)),
            "differs": max(run["differs"] for run in mine),
            "adjective": best,
        })  # fmt: skip
    likelier = {
        name: {
            meant: sum(run["likelier"][name][column] for run in active)
            for column, meant in enumerate(MEANT)
        } | {"both": sum(all(run["likelier"][name]) for run in active)}
        for name in ("after the clause", "alone")
    }  # fmt: skip
    layer, head = divmod(famous, smollm.HEADS)
    first = torch.tensor(active[0]["it"][0])
    return {
        "model": smollm.NAME,
        "items": len(active),
        "sentence": reference.sentence(reference.items(ITEMS)[0], "active", "tired"),
        "famous": {"layer": layer, "head": head, "weight": round(first[famous].item(), 4),
                   "heads_above_half": int((first > 0.5).sum())},
        "likelier": likelier,
        "rows": rows,
    }  # fmt: skip


def _best_adjective(runs: list[dict]) -> dict:
    """The head whose adjective moves most from one noun to the other with what it says, chosen on
    the even items; in how many of the odd ones it looks more at the noun meant, both times."""
    more = torch.tensor([
        [[a - p for a, p in zip(*run[f"{meant}: adjective"], strict=True)] for meant in MEANT]
        for run in runs
    ])  # fmt: skip  # (N, 2, layers * H)
    right = torch.stack([more[:, 0] > 0, more[:, 1] < 0], 1).float().mean(1)  # (N, layers * H)
    moved = (more[:, 0] - more[:, 1]).sign()
    best = int((right + 1e-3 * moved)[::2].mean(0).argmax())
    layer, head = divmod(best, smollm.HEADS)
    return {
        "layer": layer,
        "head": head,
        "right": round(right[1::2, best].mean().item(), 4),
        "both_right": round((right[1::2, best] == 1).float().mean().item(), 4),
        "tried_on": len(runs) // 2,
    }


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("too_tired", __doc__, argv)
    return record.run(chosen, settings=settings, measure=measure, results=results)


if __name__ == "__main__":
    main()
