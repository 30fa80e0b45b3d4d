"""Start a chapter: what ``make chapter N=10 NAME=translation`` runs.

It writes a notebook that passes the gates, the modules with the check of its exercise and with
wrong answers to it, and the lines in ``_toc.yml`` and ``index.md``. The notebook still has to be
executed.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from booktools import colab, normal_form
from booktools.address import ROOT, read_address

CHECKS = '''\
"""Checks of the exercises of chapter {number}."""

import torch

from attnbook.exercises import ask, checker, compare


@checker(1)
def check_average(answer):
    value = torch.arange(12.0).view(4, 3)
    for weights in (torch.full((2, 4), 0.25), torch.eye(4)[:2]):
        got = ask(answer, weights, value)
        if problem := compare(got, weights @ value, 1e-6, "two queries"):
            return problem
'''

MEASURE = """\
import torch

import attnkit

x = torch.randn(1, 4, 8, generator=torch.Generator().manual_seed(0))
_, weights = attnkit.scaled_dot_product_attention(x, x, x, need_weights=True)
print(f"rows sum to {weights.sum(-1).mean():.1f}")
"""

MACHINE = """\
from attnbook.machines import DMachine

DMachine(d=1024, scale="none", anchor="machine-{number}", title="A machine")
"""

QUESTION = """\
from attnbook.machines import Question

Question(
    "What does a row of weights sum to?",
    right=1,
    replies={{4: "That is the number of keys."}},
    because="Whatever the scores are.",
    anchor="question-{number}-1",
)
"""

RECORDED = """\
from attnbook import recorded

run = recorded.results("scales")  # yours: python -m experiments.NAME
by_scale = {(row["optimizer"], row["scale"]): row for row in run["rows"]}
right = by_scale["adam", "1/sqrt(d)"]["accuracy"]["2000"]
print(recorded.origin(run))
print(f"right answers: {right['median']:.2f}")
"""

EXERCISE = """\
def average(weights, value):
    return ...  # -> (L, Ev)


check_average(average)
"""

HELP = """\
<details>
<summary>Hint for exercise 1</summary>

Which dimension do weights (L, S) and values (S, Ev) share?

</details>

<details>
<summary>Solution of exercise 1</summary>

```python
def average(weights, value):
    return weights @ value
```

</details>
"""

ANSWERS = '''\
"""Wrong answers to the exercises of chapter {number}, and what the checks must say of them."""

PARAMETERS = {{1: "w, v"}}

WRONG = {{
    (1, "an equal average"): ("v.mean(0).expand(len(w), -1)", "two queries"),
    (1, "the first value"): ("v[:1].expand(len(w), -1)", "two queries"),
    (1, "transposed"): ("(w @ v).T", "expected"),
}}
'''


def skeleton(number: str, title: str) -> NotebookNode:
    """The cells of a page, in their order, with a machine, a question, two claims, an exercise."""
    claim = {
        "id": f"{number}-rows",
        "sentence": "A row of weights sums to 1 (shown: the mean of the sums).",
        "number": r"rows sum to (\S+)",
    }
    recorded_claim = {
        "id": f"{number}-recorded",
        "sentence": "After 2,000 updates this share of answers is right (shown: median of seeds).",
        "number": r"right answers: (\S+)",
        "source": "results/scales.json",
        "budget": "2,000 updates",
    }
    install = (
        "A page cannot run PyTorch: [Install and use](../appendices/install.md) says how to run"
    )
    figure = {"tags": ["figure", "hide-input"]}
    cells = [
        new_markdown_cell(
            f"# {number} · {title}\n\nThe question, and why somebody who builds things asks it. A "
            "picture of the whole.",
            id="title",
        ),
        new_markdown_cell("## Hold it in your hand\n\nOne thing to try.", id="machine"),
        new_code_cell(
            MACHINE.format(number=number).rstrip(), id="machine-made", metadata=dict(figure)
        ),
        new_markdown_cell("## By hand\n\nThe smallest example, and the formula.", id="by-hand"),
        new_code_cell(MEASURE.rstrip(), id="measure-code", metadata={"attnkit_claim": claim}),
        new_markdown_cell("## In the world\n\nA real model, a number, one bug.", id="world"),
        new_markdown_cell("## Three questions\n\nThe page checks your answers.", id="questions"),
        new_code_cell(
            QUESTION.format(number=number).rstrip(),
            id="question-1",
            metadata={"tags": ["figure", "remove-input"]},
        ),
        new_markdown_cell(
            f"## One exercise in Python\n\n{install} this\nin Jupyter or on Colab.", id="exercises"
        ),
        new_code_cell(
            f"from attnbook.checks.ch{number} import check_average", id="exercise-checkers"
        ),
        new_markdown_cell(
            "### Exercise 1 · an average · easy\n\nReturn the average of `value` (S, Ev) with "
            "`weights` (L, S).",
            id="exercise-1",
        ),
        new_code_cell(EXERCISE.rstrip(), id="exercise-1-code"),
        new_markdown_cell(HELP.rstrip(), id="exercise-1-help"),
        new_markdown_cell(
            "## What you now know\n\nOne sentence, and the next question.", id="summary"
        ),
        new_markdown_cell(
            "## How this was made\n\nWhat a long run measured, read from `results/`; sources.",
            id="made",
        ),
        new_code_cell(
            RECORDED.rstrip(), id="recorded-code", metadata={"attnkit_claim": recorded_claim}
        ),
    ]
    page = {"question": "The question?", "ideas": ["what a reader takes along"]}
    return new_notebook(cells=cells, metadata={"page": page})


def listed(contents: str, number: str, stem: str) -> str:
    """``_toc.yml`` with the chapter behind the one before it."""
    lines = contents.splitlines(keepends=True)
    chapters = [
        (at, match[1])
        for at, line in enumerate(lines)
        if (match := re.search(r"- file: chapters/(\d\d[a-z]?)_", line))
    ]
    before = [at for at, other in chapters if other < number]
    at = before[-1] + 1 if before else chapters[0][0]
    return "".join([*lines[:at], f"      - file: chapters/{stem}\n", *lines[at:]])


def linked(index: str, number: str, title: str, stem: str) -> str:
    """``index.md`` with a row for the chapter: its planned one, or one behind its neighbour."""
    row = f"| {number} | [{title}](chapters/{stem}.ipynb) | The question? | the result |"
    planned = re.compile(rf"^\| {number} \|.*$", re.MULTILINE)
    if planned.search(index):
        return planned.sub(lambda _: row, index, count=1)
    rows = list(re.finditer(r"^\| (\d\d[a-z]?) \|.*\n", index, re.MULTILINE))
    before = [match.end() for match in rows if match[1] < number]
    if not before:
        return index
    return f"{index[: before[-1]]}{row}\n{index[before[-1] :]}"


def create(folder: Path, number: str, name: str) -> list[Path]:
    """Write the chapter's files in ``folder``, a copy of the repository; return what was written.

    Raises:
        ValueError: the number or the name does not fit a file name.
        FileExistsError: there is a chapter of this number.
    """
    if not re.fullmatch(r"\d\d[a-z]?", number) or not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise ValueError(f"expected N=10 NAME=machine_translation, got N={number} NAME={name}")
    if there := list((folder / "chapters").glob(f"{number}_*.ipynb")):
        raise FileExistsError(f"there is a chapter {number}: {there[0].name}")
    stem, title = f"{number}_{name}", name.replace("_", " ").capitalize()
    book = skeleton(number, title)
    colab.set_up(book, read_address(folder / "pyproject.toml"))
    normal_form.normalise(book)
    contents, index = folder / "_toc.yml", folder / "index.md"
    texts = {
        folder / "chapters" / f"{stem}.ipynb": normal_form.dumps(book),
        folder / "attnbook" / "checks" / f"ch{number}.py": CHECKS.format(number=number),
        folder / "tests" / "book" / "answers" / f"ch{number}.py": ANSWERS.format(number=number),
        contents: listed(contents.read_text("utf8"), number, stem),
        index: linked(index.read_text("utf8"), number, title, stem),
    }
    for path, text in texts.items():
        path.write_text(text, "utf8")
    return list(texts)


def main(argv: list[str] | None = None) -> None:
    """Write the chapter into this repository and say what to do next."""
    parser = argparse.ArgumentParser(prog="python -m booktools.new_chapter", description=__doc__)
    parser.add_argument("number", help="two digits, such as 10, or 10b for a second page")
    parser.add_argument("name", help="lower-case words joined by _, such as machine_translation")
    options = parser.parse_args(argv)
    try:
        for path in create(ROOT, options.number, options.name):
            print(path.relative_to(ROOT))
    except (ValueError, FileExistsError) as error:
        parser.error(str(error))
    print(f"Next: write it, then `make notebooks ONLY={options.number}`.")


if __name__ == "__main__":
    main()
