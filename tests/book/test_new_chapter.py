"""`make chapter` in a copy of the repository: what it writes passes the gates once executed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sphinx_external_toc.parsing import parse_toc_yaml

from booktools import claims, form, gates, measure, new_chapter, normal_form, notebooks
from booktools.address import ROOT


@pytest.fixture
def copy(tmp_path):
    for name in ("_toc.yml", "index.md", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "chapters").mkdir()
    (tmp_path / "tests" / "book" / "answers").mkdir(parents=True)
    shutil.copytree(ROOT / "attnbook", tmp_path / "attnbook")
    (tmp_path / "results").symlink_to(ROOT / "results")
    return tmp_path


@pytest.mark.build
def test_the_skeleton_passes_the_gates(copy, monkeypatch):
    path = new_chapter.create(copy, "10", "machine_translation")[0]
    monkeypatch.setenv("PYTHONPATH", str(copy), prepend=":")  # its check is found there
    book = normal_form.read(path)
    assert gates.faults(book, None), "a notebook that was never executed is stale"
    notebooks.execute(book, path.parent)
    normal_form.normalise(book)
    book.metadata["book"] = {"executed": normal_form.source_record(book)}
    written = normal_form.read_text(normal_form.dumps(book))
    assert gates.faults(written, None) == []
    assert {claim.source for claim in claims.claims(written)} == {None, "results/scales.json"}
    assert measure.measure(written).widgets == 2
    assert list(form.faults(written.metadata["page"], form.Form(1, 0, 0, 0, 0))) == []
    printed = "".join(out.get("text", "") for cell in book.cells for out in cell.get("outputs", ()))
    assert "rows sum to 1.0" in printed
    assert "Exercise 1: no answer yet." in printed


def test_what_it_writes_passes_lint(copy):
    """`make lint` and the hook before each commit would stop at it."""
    for name in ("attnkit", "attnlab"):  # what is ours is told by the folders
        (copy / name).mkdir()
    shutil.copy(ROOT / "chapters" / "ruff.toml", copy / "chapters")
    made = new_chapter.create(copy, "10", "machine_translation")
    written = [path for path in made if path.suffix in (".ipynb", ".py")]
    assert len(written) == 3
    ruff = str(Path(sys.executable).with_name("ruff"))
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [ruff, *command, "--no-cache", *map(str, written)],
            cwd=copy, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr


def test_its_exercise_holds_its_solution_and_refuses_its_wrong_answers(copy, capsys):
    new_chapter.create(copy, "10", "machine_translation")
    names: dict = {}
    exec((copy / "tests/book/answers/ch10.py").read_text("utf8"), names)
    exec((copy / "attnbook/checks/ch10.py").read_text("utf8"), names)
    exec(new_chapter.HELP.split("```python\n")[1].split("```")[0], names)
    names["check_average"](names["average"])
    assert capsys.readouterr().out.strip() == "Exercise 1: right."
    assert len(names["WRONG"]) == 3
    for answer, reason in names["WRONG"].values():
        names["check_average"](eval(f"lambda {names['PARAMETERS'][1]}: {answer}", names))
        said = capsys.readouterr().out
        assert said.startswith("Exercise 1: not yet. ")
        assert reason in said


def test_the_contents_and_the_cover_list_it_in_order(copy):
    contents = (copy / "_toc.yml").read_text("utf8")
    number = next(f"{n:02}" for n in range(1, 99) if f"chapters/{n:02}_" not in contents)
    new_chapter.create(copy, number, "something_new")
    assert f"chapters/{number}_something_new" in list(parse_toc_yaml(copy / "_toc.yml"))
    listed = re.findall(r"- file: chapters/(\d\d[a-z]?)_", (copy / "_toc.yml").read_text("utf8"))
    assert listed == sorted(set(listed))
    assert f"](chapters/{number}_something_new.ipynb)" in (copy / "index.md").read_text("utf8")


def test_it_overwrites_nothing_and_says_what_a_name_is(copy):
    new_chapter.create(copy, "10", "machine_translation")
    with pytest.raises(FileExistsError, match="there is a chapter 10"):
        new_chapter.create(copy, "10", "another")
    with pytest.raises(ValueError, match="expected N=10 NAME=machine_translation"):
        new_chapter.create(copy, "9", "x")
