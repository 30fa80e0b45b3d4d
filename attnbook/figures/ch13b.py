"""The machine of 13b, with what smaller caches cost a language model."""

from attnbook import recorded
from attnbook.machines import CacheTiles

MODEL = {"name": "SmolLM2-135M", "layers": 30, "heads": 9, "groups": 3, "dim": 64}
"""Sizes, as its configuration has them."""


def named(form: str) -> str:
    """What the tiles call a measured form."""
    return "groups" if form == "three" else form.replace(" ", "-")


def tiles(**settings) -> CacheTiles:
    """The bytes of one token, with the recorded losses of SmolLM2, and what it wrote."""
    run = recorded.results("smaller_caches")
    measured = [
        {"form": named(row["form"]), "bits": row["bits"], "loss": row["mean_loss"]}
        | {"said": f" {' '.join(row['said'].split())} …"}
        | {name: row[name]["median"] for name in ("keys", "values")}
        for row in run["rows"]
    ]
    return CacheTiles(MODEL | {"beginning": run["beginning"]}, measured, **settings)
