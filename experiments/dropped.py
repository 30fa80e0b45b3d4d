"""What a cache with a window loses in SmolLM2-135M-Instruct, and which tokens bring it back.

    python -m experiments.dropped            six minutes of one core
    python -m experiments.dropped --quick    two texts, in half a minute

32 texts of 160 or 352 tokens, of which a token sees all before it, or the last 64 (256) alone, or
those and the first token, the first four, or, as a control, tokens 8 to 11 in their place (Xiao et
al. 2024). Nats of the last 96 tokens, for which the window has left the first one behind.
"""

import copy

import torch

from attnkit import masks
from experiments import _record as record
from experiments import _smollm as smollm

TEXTS, SCORED = 32, 96
WINDOWS = (64, 256)
KEPT = {"nothing": (), "first 1": (0,), "first 4": (0, 1, 2, 3), "tokens 8 to 11": (8, 9, 10, 11)}


def settings(quick: bool) -> list[dict]:
    """One for each text; the seed is the text's number."""
    return [{"seed": text} for text in range(2 if quick else TEXTS)]


def measure(setting: dict, *, device: torch.device) -> dict:
    """Mean nats for each window and what is kept beside it."""
    found = {}
    for size in WINDOWS:
        end = size + SCORED
        found["kind"], tokens = smollm.text(setting["seed"], end)
        # What stands before the window's end sees all: it is read once for all cases.
        caches, rest = smollm.after(tokens, size), tokens[:, size:]
        shown = {"all": masks.causal(end)}
        shown |= {name: smollm.window(end, size, kept) for name, kept in KEPT.items()}
        for name, mask in shown.items():
            read = smollm.read(rest, mask=mask[size:], caches=copy.deepcopy(caches))
            nats = smollm.losses(read.states[:, -1], rest).mean().item()
            found[f"{size}, {name}"] = round(nats, 4)
    return found


def results(runs: list[dict]) -> dict:
    """Nats and perplexity for each window and what is kept, and by how much more than with all."""
    rows = []
    for size in WINDOWS:
        for kept in ("all", *KEPT):
            name = f"{size}, {kept}"
            more = [run[name] - run[f"{size}, all"] for run in runs]
            by_kind = {}
            for kind in smollm.KINDS:
                mine = torch.tensor([run[name] for run in runs if run["kind"] == kind])
                by_kind[kind] = round(mine.mean().exp().item(), 2)
            nats = torch.tensor([run[name] for run in runs])
            rows.append({
                "window": size,
                "kept": kept,
                "perplexity": round(nats.mean().exp().item(), 2),
                "kinds": by_kind,
                "more": record.median_interval(more),
                "worse": sum(each > 0 for each in more),
            })  # fmt: skip
    return {"model": smollm.NAME, "texts": len(runs), "scored": SCORED, "rows": rows}


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("dropped", __doc__, argv)
    return record.run(chosen, settings=settings, measure=measure, results=results)


if __name__ == "__main__":
    main()
