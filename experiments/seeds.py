"""The tables of several seeds in chapters that train one: their own cells, run with more `SEEDS`.

    python -m experiments.seeds          every chapter in `CHAPTERS`, ten minutes of one CPU core
    python -m experiments.seeds 05b 06   these

A chapter that trains small models while it runs says `SEEDS = range(1)`, since a reader should not
wait for more, and hands what it measured to `recorded.every_seed`, which gives back the numbers of
all seeds. Here the chapter itself runs with all of them, in a kernel of its own, and what it hands
over is written to `results/seeds_CHAPTER.json`. So the code is the chapter's, and each run of the
chapter compares its one seed with the file.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch
from nbformat import NotebookNode, v4

import attnkit
from booktools import gates, normal_form
from booktools.notebooks import execute
from experiments import _record as record

CHAPTERS = {
    "04": 6,
    "05b": 3,
}
"""The number of seeds of each chapter."""

ONE_SEED = "SEEDS = range(1)"
KEEP = """
from attnbook import recorded

recorded.kept = {}  # not a name that the chapter may use for something else


def keep(chapter, name, live):
    recorded.kept[name] = live
    return live


recorded.every_seed = keep
"""
WRITE = """
import json
import pathlib

pathlib.Path({path!r}).write_text(json.dumps(recorded.kept))
"""


def with_seeds(nb: NotebookNode, seeds: int, path: Path) -> NotebookNode:
    """A notebook that measures with so many seeds and writes to `path` what it hands over.

    Raises:
        ValueError: `ONE_SEED` does not stand in it just once, or nothing is handed over.
    """
    sources = [cell.source for cell in nb.cells if cell.cell_type == "code"]
    handing = [place for place, source in enumerate(sources) if "every_seed(" in source]
    count = sum(source.count(ONE_SEED) for source in sources)
    if count != 1 or not handing:
        raise ValueError(
            f"nb: expected one {ONE_SEED!r} and a call of every_seed, got {count} and "
            f"{len(handing)}"
        )
    told = [source.replace(ONE_SEED, f"SEEDS = range({seeds})") for source in sources]
    cells = [KEEP, *told[: handing[-1] + 1], WRITE.format(path=str(path))]
    return v4.new_notebook(cells=[v4.new_code_cell(source) for source in cells])


def measure(notebook: Path, seeds: int) -> dict:
    """What a notebook hands to `recorded.every_seed` when it runs with so many seeds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kept.json")
        execute(with_seeds(normal_form.read(notebook), seeds, path), notebook.parent)
        return json.loads(path.read_text())


def trained(chapter: str) -> list[dict]:
    """What is known here of the training: the seeds; the chapter's cells say how long."""
    return [
        {
            "chapter": chapter,
            "score": "as its cells say",
            "parameters": None,
            "rates": [],
            "unit": "updates",
            "seeds": CHAPTERS[chapter],
            "budgets": [],
            "moved": None,
            "plateau": False,
        }
    ]


def main(argv: Sequence[str] | None = None) -> None:
    """Run the chapters and write a results file for each."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.seeds", description=__doc__.splitlines()[0]
    )
    parser.add_argument("chapters", nargs="*", help=f"of {', '.join(CHAPTERS)} (default: all)")
    chosen = parser.parse_args(argv).chapters or list(CHAPTERS)
    if unknown := set(chosen) - CHAPTERS.keys():
        parser.error(f"expected chapters of {', '.join(CHAPTERS)}, got {', '.join(unknown)}")
    torch.set_num_threads(1)  # as the chapters do
    for chapter in chosen:
        (notebook,) = (path for path in gates.chapters() if path.name.startswith(f"{chapter}_"))
        record.write(
            record.RESULTS / f"seeds_{chapter}.json",
            command=f"python -m experiments.seeds {chapter}",
            seeds=range(CHAPTERS[chapter]),
            device=attnkit.device.choose(),
            results={
                "training": trained(chapter),
                "rows": measure(notebook, CHAPTERS[chapter]),
            },
        )


if __name__ == "__main__":
    main()
