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
    assert list(claims.claims(nb, tmp_path)) == [
        claims.Claim("01-sum", "One and one is two.", "2", None),
        claims.Claim("01-read", "One and one is two.", "2", "results/sum.json"),
    ]
    assert list(claims.claims(with_claim(ONE))) == list(claims.claims(nb))[:1]


@pytest.mark.parametrize("change, said", [
    ({"number": r"three is (\d)"}, "no number in what the cell printed"),
    ({"number": r"^\d()$"}, "no number in what the cell printed"),
    ({"number": ""}, "has no number"),
    ({"id": "", "sentence": ""}, "has no id and no sentence"),
    ({"id": "01_Sum"}, "not of the form"),
    ({"numbers": "2"}, "numbers: not a part of a claim"),
    ({"source": "results/nowhere.json"}, "there is no results/nowhere.json"),
    ({"source": "results/nobody.json"}, "does not name the command"),
])  # fmt: skip
def test_a_claim_that_is_none_is_stopped(tmp_path, change, said):
    write_results(tmp_path)
    (tmp_path / "results" / "nobody.json").write_text("{}")
    (fault,) = gates.faults(with_claim({**ONE, **change}), None, tmp_path)
    assert fault.startswith("cell 3: claim ")
    assert said in fault


SIDE = {"score": "right answers", "rates": [0.1], "unit": "updates", "seeds": 3, "plateau": False}
TRAINED = {
    "command": "python -m experiments.sum",
    "training": [
        {"model": "a", **SIDE, "budgets": [{"updates": 500, "seeds": 3}], "moved": None},
        {"model": "b", **SIDE, "seeds": 1, "moved": 3.0,
         "budgets": [{"updates": 500, "seeds": 3}, {"updates": 2000, "seeds": 1}]},
        {"model": "flat", **SIDE, "budgets": [{"updates": 1000}, {"updates": 4000}],
         "moved": 0.2, "plateau": True},
        {"model": "slow", **SIDE, "rates": [0.05], "budgets": [{"updates": 500}], "moved": None},
    ],
}  # fmt: skip
BETTER = {**READ, "sentence": "One is better than one.", "sides": [{"model": "a"}, {"model": "b"}]}


@pytest.mark.parametrize("change, said", [
    ({}, "has no budget"),
    ({"budget": "plateau"}, "it has no plateau: a; b"),
    ({"budget": "500 updates"}, 'its sentence must say "500 updates" or "learns faster"'),
    ({"budget": "long", "sentence": "long"}, "neither plateau nor a number of updates"),
    ({"budget": "800 updates", "sentence": "a is better than b after 800 updates."},
     "no budget of 800 updates: a; b"),
    ({"budget": "2,000 updates", "sentence": "b is better than a after 2,000 updates."},
     "no budget of 2,000 updates: a"),
    ({"budget": "500 updates", "sentence": "a learns faster than b.", "sides": [{"model": "a"}]},
     "it compares, and names one side and no control"),
    ({"budget": "500 updates", "sentence": "After 500 updates two read more than one.",
      "sides": [{"model": "a"}]},
     "it compares, and names one side and no control"),
    ({"budget": "500 updates", "sentence": "Better after 500 updates.", "sides": None},
     "it compares, and does not say which sides"),
    ({"budget": "500 updates", "sentence": "Better after 500 updates.",
      "sides": [{"model": "a"}, {"model": "slow"}]},
     "its sides had unequal rates: a, [0.1]; slow, [0.05]"),
    ({"budget": "plateau", "sides": [{"model": "c"}, {"model": "flat"}]},
     "its source trained no {'model': 'c'}"),
    ({"budget": "500 updates",
      "sentence": "After 500 updates it writes “the black cat” backwards."},
     "it shows one sentence, “the black cat”, and no share"),
    ({"budget": "500 updates", "sentence": "500 updates.", "share": "of 100"}, "no share in"),
])  # fmt: skip
def test_a_claim_about_trained_models_is_stopped_when_it_says_too_much(tmp_path, change, said):
    write_results(tmp_path, TRAINED)
    tag = {name: value for name, value in {**BETTER, **change}.items() if value is not None}
    faults = gates.faults(with_claim(tag), None, tmp_path)
    assert len(faults) == 1
    assert said in faults[0]


@pytest.mark.parametrize("change, limits", [
    ({"budget": "500 updates", "sentence": "Better than b after 500 updates."},
     ("3 seeds", "after 500 updates")),
    ({"budget": "plateau", "sides": [{"model": "flat"}], "control": "none of it"},
     ("3 seeds", "at a plateau", "control: none of it")),
    ({"budget": "500 updates", "sentence": "After 500 updates it writes “the black cat”.",
      "share": r"^(\d)$"},
     ("3 seeds", "after 500 updates", "like it: 2 of 100")),
    ({"budget": "500 updates", "sentence": "It learns faster than with nothing to look at.",
      "sides": [{"model": "a"}], "control": "nothing to look at"},
     ("3 seeds", "after 500 updates", "control: nothing to look at")),
    ({"budget": "2,000 updates", "sentence": "After 2,000 updates most is right.",
      "sides": [{"model": "b"}]},
     ("1 seed", "after 2,000 updates")),
    ({"budget": "none"}, ()),
])  # fmt: skip
def test_a_claim_about_trained_models_says_how_far_it_carries(tmp_path, change, limits):
    write_results(tmp_path, TRAINED)
    nb = with_claim({**BETTER, **change})
    assert gates.faults(nb, None, tmp_path) == []
    (claim,) = claims.claims(nb, tmp_path)
    assert claim.limits == limits


def test_a_claim_of_a_kept_model_is_of_one_run(tmp_path):
    write_results(tmp_path)  # of a model that was trained elsewhere
    told = {"budget": "500 updates", "sentence": "After 500 updates one and one is two."}
    (claim,) = claims.claims(with_claim({**READ, **told}), tmp_path)
    assert claim.limits == ("one run", "after 500 updates")


def test_a_claim_without_results_is_about_training_when_it_says_so(tmp_path):
    said = {**ONE, "sentence": "It has learned to add after 20 updates."}
    ours = {**ONE, "sentence": "The reader looks at two words."}
    for unsaid in (said, ours):
        (fault,) = gates.faults(with_claim(unsaid), None, tmp_path)
        assert "has no budget" in fault
    nb = with_claim({**said, "budget": "20 updates"})
    assert gates.faults(nb, None, tmp_path) == []
    assert next(claims.claims(nb, tmp_path)).limits == ("one run", "after 20 updates")
    fit = {**ONE, "sentence": "An untrained one is as good."}
    assert gates.faults(with_claim(fit), None, tmp_path) == []


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


@pytest.mark.parametrize("number, found", [
    (r"loss +(\S+ \(.*\))", "0.08 (0.05 to 0.11)"),
    (r"loss.*", "loss 0.08 (0.05 to 0.11)"),
    (r"first[\s\S]*loss +(\S+)", "0.08"),
    (r"first$\s^the loss", None),
    (r"^words: (.*)$", "3"),
    (r"ZeroDivisionError: (.*)$", "1 / 0"),
    (r"widget (\d)", None),
])  # fmt: skip
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
