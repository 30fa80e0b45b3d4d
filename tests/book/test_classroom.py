"""Assignments: the exercises as students get them, and the solutions as nbgrader takes them out."""

from __future__ import annotations

import functools
import re

import nbformat
import pytest

from booktools import classroom, gates, normal_form
from booktools.address import ROOT
from booktools.plain import Plain
from tests.book.chapter import exercises

PLAIN = Plain(ROOT)
read = functools.cache(normal_form.read)
PAGES = [path for path in gates.notebooks() if exercises(read(path))]
every_page = pytest.mark.parametrize(
    "path", PAGES, ids=lambda path: f"{path.parent.name}-{path.stem}"
)


@functools.cache
def made(path, *, solutions: bool = False):
    page = path.relative_to(ROOT).with_suffix("").as_posix()
    return classroom.assignment(read(path), page, PLAIN, solutions=solutions)


def run(nb) -> list[str]:
    names, said = {}, []
    for cell in nb.cells:
        if cell.cell_type != "code" or cell.id == "colab-setup":
            continue
        try:
            exec(cell.source, names)
            if cell.id.endswith("-grade"):
                said.append("")
        except AssertionError as error:
            said.append(str(error))
    return said


@every_page
def test_each_exercise_is_answered_and_graded_in_cells_that_nbgrader_knows(path):
    nb = made(path)
    nbformat.validate(nb)
    cells = {cell.id: cell.metadata.nbgrader for cell in nb.cells if "nbgrader" in cell.metadata}
    wanted = {f"exercise-{n}-{kind}" for n in exercises(read(path)) for kind in ("code", "grade")}
    assert set(cells) == wanted
    for name, asks in cells.items():
        answer = name.endswith("-code")
        assert (asks.solution, asks.grade, asks.locked) == (answer, not answer, not answer)
        assert answer or asks.points in (1, 2, 3)
        assert asks.grade_id == name
        assert asks.schema_version == 3


@every_page
def test_what_students_get_is_the_source_without_what_stands_between_the_marks(path):
    release, source = made(path), made(path, solutions=True)
    for given, kept in zip(release.cells, source.cells, strict=True):
        assert (
            re.sub(r"\n\n\n### BEGIN SOLUTION\n.*?\n### END SOLUTION", "", kept.source, flags=re.S)
            == given.source
        )
        assert ("### BEGIN SOLUTION" in kept.source) == bool(
            re.fullmatch(r"exercise-\d+-code", kept.id)
        )
        assert "<summary>Solution" not in given.source
        assert not given.get("outputs")


@every_page
def test_it_stands_alone(path):
    """No link leads into a folder that a student does not have, and no role is left."""
    text = "\n".join(cell.source for cell in made(path).cells if cell.cell_type == "markdown")
    assert re.findall(r"\]\((?!https?:|data:)[^)]*\)", text) == []
    assert re.findall(r"(?<!`)\{[a-z:]+\}`", text) == []
    assert text.startswith("# ")


@pytest.mark.parametrize("name", ["05_scaled_dot_product_attention", "12_the_cost_of_attention"])
def test_untouched_it_fails_and_the_solutions_pass(name):
    path = ROOT / "chapters" / f"{name}.ipynb"
    count = len(exercises(read(path)))
    assert run(made(path, solutions=True)) == [""] * count
    said = run(made(path))
    assert len(said) == count
    assert all(re.fullmatch(r"Exercise \d+: no answer yet\.", one) for one in said)


def test_one_command_writes_both_forms(tmp_path):
    files = classroom.write(ROOT, "05", tmp_path)
    assert [file.name.endswith("_more.ipynb") for file in files] == [False, True]
    names = {file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*.*")}
    assert len([name for name in names if name.startswith("source/05/")]) == 2
    assert "nbgrader_config.py" in names
    for missing in ("99", ""):
        with pytest.raises(ValueError, match=f"no exercises in '{missing}'"):
            classroom.write(ROOT, missing, tmp_path)
