"""The labels of chapter 16 say of each exhibit what the chapter's own checks find."""

import re

import pytest

from booktools import gates, normal_form

LABEL = re.compile(
    r"<summary><b>(?P<name>[^<]+)</b>: [^<]+\. "
    r"Caught by <code>(?P<check>[^<]+)</code>(?P<alone> alone)?\.</summary>"
    r"\n\n```python\n(?P<code>.*?)\n```",
    re.DOTALL,
)
EXHIBITS = "imports", "failure-code", "shared", *(f"room-{n}-code" for n in range(1, 5))


@pytest.fixture(scope="module")
def chapter():
    (path,) = gates.CHAPTERS.glob("16_*.ipynb")
    return {cell.id: cell for cell in normal_form.read(path).cells}


@pytest.fixture(scope="module")
def labels(chapter):
    text = "\n".join(cell.source for cell in chapter.values() if cell.cell_type == "markdown")
    found = list(LABEL.finditer(text))
    assert len(found) == text.count("<summary><b>")
    return {label["name"]: label for label in found}


@pytest.mark.build
def test_each_label_names_a_check_that_catches_its_exhibit(chapter, labels):
    """The chapter's own checks, of which only those are asked that the label speaks of."""
    names = {}
    for cell in EXHIBITS:
        exec(chapter[cell].source, names)
    exec(chapter["experiment"].source.partition("\ncaught, usual =")[0], names)
    ask = names["ask"]
    assert set(labels) == set(names["EXHIBITS"])
    for name, label in labels.items():
        named = label["check"].replace(
            "assert_rows_sum_to_one(train=True)", "rows sum to one, in training"
        )
        bug, mended = names["EXHIBITS"][name]
        catching = (
            check
            for check in sorted(names["CHECKS"], key=lambda check: check != named)
            if ask(check, name, bug, True) is False and ask(check, name, mended, False)
        )
        assert next(catching, None) == named, name
        another = next(catching, None)
        assert (another is None) == bool(label["alone"]), (name, another)


def test_each_label_shows_a_wrong_line_beside_a_right_one(labels):
    for name, label in labels.items():
        marks = re.findall(r"# (wrong|right)\b", label["code"])
        assert sorted(marks) == ["right", "wrong"], name
        inside = "\n".join("    " + line for line in label["code"].splitlines())
        compile(f"def exhibit(self):\n{inside}", name, "exec")


def test_each_step_of_the_tour_names_a_check_that_catches_its_bug(chapter, labels):
    """The exhibits that the explorer shows under another name are named here."""
    renamed = {
        "mask ignored": "never assigned",
        "mask after the softmax": "after the softmax",
        "mask over the queries": "over the wrong axis",
        "softmax over the queries": "over the queries",
        "heads split by a view": "view alone",
    }
    source = chapter["explore"].source
    steps = re.findall(r'step\(\s*"([^"]+)",(.*?)\n        \)', source, re.DOTALL)
    assert len(steps) == source.count("step(") - 1
    for name, rest in steps:
        say = "".join(re.findall(r'"([^"]*)"', rest))
        if name == "correct":
            assert "Caught" not in say
            continue
        label = labels[renamed.get(name, name)]
        check = label["check"].partition("(")[0]
        assert check in say.partition("Caught by ")[2], name
        assert say.endswith("alone.") == bool(label["alone"]), name
