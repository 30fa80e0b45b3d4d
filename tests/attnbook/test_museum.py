"""Each exhibit of the museum is caught by the check that its label names."""

import re

import pytest
import torch

from attnbook import museum
from attnbook.figures import ch16
from booktools import gates, normal_form

LABEL = re.compile(
    r"<summary><b>(?P<name>[^<]+)</b>: [^<]+\. "
    r"Caught by <code>(?P<check>[^<]+)</code>(?P<alone> alone)?\.</summary>"
    r"\n\n```python\n(?P<code>.*?)\n```",
    re.DOTALL,
)


@pytest.fixture(scope="module")
def text():
    (path,) = gates.CHAPTERS.glob("16c_*.ipynb")
    cells = normal_form.read(path).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


@pytest.fixture(scope="module")
def labels(text):
    found = list(LABEL.finditer(text))
    assert len(found) == text.count("<summary><b>")
    return {label["name"]: label for label in found}


def test_every_exhibit_has_a_label_and_every_label_an_exhibit(labels):
    assert list(labels) == list(museum.exhibits())


@pytest.mark.parametrize("name", museum.exhibits())
def test_the_check_of_a_label_fails_on_the_bug_and_passes_on_the_mended_version(name, labels):
    label, exhibit = labels[name], museum.exhibits()[name]
    assert museum.catches(label["check"], exhibit), name
    catching = [check for check, caught in museum.matrix()[name].items() if caught]
    assert (catching == [label["check"]]) == bool(label["alone"]), (name, catching)


def test_each_label_shows_a_wrong_line_beside_a_right_one(labels):
    for name, label in labels.items():
        marks = re.findall(r"# (wrong|right)\b", label["code"])
        assert sorted(marks) == ["right", "wrong"], name
        inside = "\n".join("    " + line for line in label["code"].splitlines())
        compile(f"def exhibit(self):\n{inside}", name, "exec")


def test_the_rooms_have_as_many_exhibits_as_the_text_has_labels(text):
    rooms = re.split(r"^## Room \d", text, flags=re.MULTILINE)[1:]
    assert [room.count("<summary><b>") for room in rooms] == list(museum.ROOMS.values())


def test_the_usual_tests_pass_what_is_right_and_fail_what_they_look_at():
    assert museum.three_tests(museum.right, museum.right) == (True, True, True)
    assert museum.usual()["scaled too late"] == (False, False, False)
    assert museum.usual()["mask after the softmax"] == (True, False, False)
    assert museum.usual()["no scale"] == (True, True, False)
    assert museum.usual()["filled with -1e4"] == (True, True, True)


@pytest.mark.parametrize("output, weights", [
    (torch.zeros(2, 3, 5), None),
    (torch.full((2, 3, 4), torch.nan), None),
    (torch.zeros(2, 3, 4), torch.full((2, 3, 3), 0.3)),
])  # fmt: skip
def test_the_usual_test_fails_another_shape_no_number_and_no_sum(output, weights):
    value = torch.zeros(2, 3, 4)
    assert museum.looks_right(value, torch.full((2, 3, 3), 1 / 3), value)
    assert not museum.looks_right(output, weights, value)


def test_what_the_figure_counts_is_what_the_tests_find():
    found = ch16.caught()
    passed = [sum(each) for each in zip(*museum.usual().values(), strict=True)]
    assert [39 - n for n in passed] == [found[name] for name in museum.USUAL]
    assert found["all checks"] == len(museum.exhibits()) == sum(museum.ROOMS.values())


def test_maps_of_an_exhibit_have_its_name():
    maps = set(ch16.walk()[0]) - {"correct", "window of 3"}
    broken = {one.name for one in ch16.quiz() if one.broken}
    assert maps | broken <= set(museum.exhibits())
