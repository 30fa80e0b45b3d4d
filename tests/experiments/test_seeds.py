"""Chapters that train one seed hand over the rest: what runs, what is kept, what they print."""

import json
import re
import warnings
from pathlib import Path

import pytest
from nbformat import v4

from attnbook import recorded
from booktools import gates, normal_form
from experiments import _record as record
from experiments import seeds

CODE = [
    "SEEDS = range(1)",
    "from attnbook import recorded\nsquares = {'all': [[float(s * s) for s in SEEDS]]}\nkept = 0",
    "squares = recorded.every_seed('99', 'squares', squares)",
    "raise RuntimeError('what comes after the last call is not run')",
]


def notebook(*sources: str):
    return v4.new_notebook(cells=[v4.new_code_cell(source) for source in sources])


@pytest.mark.build
def test_a_notebook_is_measured_with_all_seeds(tmp_path):
    path = tmp_path / "99.ipynb"
    path.write_text(normal_form.dumps(notebook(*CODE)))
    assert seeds.measure(path, 3) == {"squares": {"all": [[0, 1, 4]]}}


@pytest.mark.parametrize("sources", [CODE[1:], CODE[:2], [CODE[0], *CODE]])
def test_a_notebook_that_cannot_be_measured_is_refused(sources):
    with pytest.raises(ValueError, match="expected one 'SEEDS = range"):
        seeds.with_seeds(notebook(*sources), 3, Path("kept.json"))


@pytest.fixture
def numbers(monkeypatch):
    written = {"rows": {"pairs": {"one": [[0.5, 0.25]], "two": [[1.0, 0.75]]}, "flat": [3.0, 4.0]}}
    monkeypatch.setattr(recorded, "results", {"seeds_99": written}.__getitem__)
    return written["rows"]


@pytest.mark.parametrize("off", [0, 0.004])
def test_one_seed_gets_the_recorded_numbers_of_all(numbers, off):
    with warnings.catch_warnings(action="error"):
        live = {"one": [[0.5 + off]], "two": [[1.0]]}
        assert recorded.every_seed("99", "pairs", live) == numbers["pairs"]
        assert recorded.every_seed("99", "flat", [3.0]) == [3.0, 4.0]


def test_a_seed_that_differs_from_the_recorded_one_is_told(numbers):
    with pytest.warns(UserWarning, match=r"pairs: seed 0 gives 0\.98 here, but 1 in"):
        recorded.every_seed("99", "pairs", {"one": [[0.5]], "two": [[0.98]]})


def test_several_seeds_are_all_there_is_to_say(numbers):
    live = {"one": [[0.1, 0.2, 0.3]], "two": [[0.4, 0.5, 0.6]]}
    assert recorded.every_seed("99", "pairs", live) is live


def test_numbers_of_another_structure_are_refused(numbers):
    with pytest.raises(ValueError, match="zip"):
        recorded.every_seed("99", "pairs", {"one": [[0.5]]})


@pytest.mark.parametrize("chapter", seeds.CHAPTERS)
def test_the_file_of_a_chapter_has_what_the_chapter_hands_over(chapter):
    (path,) = (path for path in gates.chapters() if path.name.startswith(f"{chapter}_"))
    nb = normal_form.read(path)
    seeds.with_seeds(nb, 2, Path("kept.json"))  # raises when the chapter cannot be measured
    written = json.loads((record.RESULTS / f"seeds_{chapter}.json").read_text())
    calls = re.findall(
        r'every_seed\(\s*"(\w+)",\s*"(.*?)"', "\n".join(cell.source for cell in nb.cells)
    )
    assert {number for number, _ in calls} == {chapter}
    assert [name for _, name in calls] == list(written["rows"])
    assert written["seeds"] == list(range(seeds.CHAPTERS[chapter]))
    assert written["command"] == f"python -m experiments.seeds {chapter}"


def test_a_chapter_that_is_none_of_them_is_refused(capsys):
    with pytest.raises(SystemExit):
        seeds.main(["99"])
    assert "expected chapters of 04" in capsys.readouterr().err
