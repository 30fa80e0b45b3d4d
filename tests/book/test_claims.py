"""The table of claims: what may be in it, and what stops the build."""

from __future__ import annotations

import json

import pytest
from nbformat.v4 import new_code_cell, new_output

from booktools import claims, gates, normal_form
from tests.book.sample import ONE, READ, with_claim


def write_results(root, content=None):
    (root / "results").mkdir()
    text = json.dumps(content or {"command": "python -m experiments.sum"})
    (root / "results" / "sum.json").write_text(text)


def test_a_sound_claim_has_no_fault_and_its_number(tmp_path):
    write_results(tmp_path)
    nb = with_claim(ONE, READ)
    assert gates.faults(nb, None, tmp_path) == []
    assert list(claims.claims(nb)) == [
        claims.Claim("01-sum", "One and one is two.", "2", None),
        claims.Claim("01-read", "One and one is two.", "2", "results/sum.json"),
    ]
    assert list(claims.claims(with_claim(ONE))) == list(claims.claims(nb))[:1]


@pytest.mark.parametrize(
    "change, said",
    [
        ({"number": r"three is (\d)"}, "no number in what the cell printed"),
        ({"number": r"^\d()$"}, "no number in what the cell printed"),
        ({"number": ""}, "has no number"),
        ({"sentence": ""}, "has no sentence"),
        ({"id": ""}, "has no id"),
        ({"id": "", "sentence": ""}, "has no id and no sentence"),
        ({"id": "01_Sum"}, "not of the form"),
        ({"numbers": "2"}, "numbers: not a part of a claim"),
        ({"source": "results/nowhere.json"}, "there is no results/nowhere.json"),
        ({"source": "results/nobody.json"}, "does not name the command"),
    ],
)
def test_a_claim_that_is_none_is_stopped(tmp_path, change, said):
    write_results(tmp_path)
    (tmp_path / "results" / "nobody.json").write_text("{}")
    (fault,) = gates.faults(with_claim({**ONE, **change}), None, tmp_path)
    assert fault.startswith("cell 3: claim ")
    assert said in fault


def test_two_claims_with_one_id_are_stopped_in_one_chapter_and_over_all(tmp_path):
    files = [tmp_path / name for name in ("01_a.ipynb", "02_b.ipynb")]
    files[0].write_text(normal_form.dumps(with_claim(ONE)))
    files[1].write_text(normal_form.dumps(with_claim({**ONE, "id": "02-sum"})))
    assert gates.check(files, None) == []
    files[1].write_text(normal_form.dumps(with_claim(ONE)))
    assert gates.check(files, None) == [
        "02_b.ipynb: claim '01-sum': its id is used more than once: 01_a.ipynb, 02_b.ipynb"
    ]
    files[1].write_text(normal_form.dumps(with_claim({**ONE, "id": "02"}, {**ONE, "id": "02"})))
    (fault,) = gates.check(files, None)
    assert "02_b.ipynb (2)" in fault


@pytest.mark.parametrize(
    "number, found",
    [
        (r"loss +(\S+ \(.*\))", "0.08 (0.05 to 0.11)"),
        (r"loss.*", "loss 0.08 (0.05 to 0.11)"),
        (r"first[\s\S]*loss +(\S+)", "0.08"),
        (r"first$\s^the loss", None),
        (r"^words: (.*)$", "3"),
        (r"ZeroDivisionError: (.*)$", "1 / 0"),
        (r"widget (\d)", None),
    ],
)
def test_a_number_is_found_in_what_was_printed(number, found):
    cell = new_code_cell(
        "pass",
        outputs=[
            new_output("stream", text="first\nthe loss   0.08 (0.05   to 0.11)\n"),
            new_output("execute_result", {"text/plain": "words: 3"}),
            new_output("display_data", {"text/plain": "widget 7", "image/png": "x"}),
            new_output("error", ename="ZeroDivisionError", evalue="1 / 0"),
        ],
    )
    assert claims.number({"number": number}, claims.printed(cell)) == found


def test_every_chapter_makes_claims():
    for path in gates.chapters():
        assert list(claims.claims(normal_form.read(path))), path.name
