"""The experiment behind the opening of chapter 02: its quick form, and what the chapter reads."""

import json

import pytest
import torch

from experiments import _record as record
from experiments import looking_back

GROUP = ("model", "width", "updates", "pairs")


def run_quick(path):
    return looking_back.main(["--quick", "--device", "cpu", "--out", str(path)])


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    path = tmp_path_factory.mktemp("looking_back") / "looking_back.json"
    return run_quick(path), path


def test_quick_form_writes_what_the_chapter_reads(quick):
    returned, path = quick
    written = json.loads(path.read_text())
    assert written == returned
    assert written["command"].startswith("python -m experiments.looking_back --quick")
    assert {row["model"] for row in written["rows"]} == {"last state", "lookup"}
    assert all(row["accuracy"]["n"] == len(written["seeds"]) == 2 for row in written["rows"])


def test_a_lookup_soon_does_better_than_the_last_state(quick):
    rows = {tuple(row[name] for name in GROUP): row["accuracy"] for row in quick[0]["rows"]}
    last, lookup = (rows[model, 32, 160, 8] for model in ("last state", "lookup"))
    assert lookup["low"] > last["high"] + 0.1
    assert rows["lookup", 32, 160, 1]["median"] > 0.9


def test_the_same_seeds_give_the_same_numbers(quick, tmp_path):
    assert run_quick(tmp_path / "again.json")["rows"] == quick[0]["rows"]


def test_no_name_of_a_list_comes_twice():
    names, numbers, place = looking_back.draw(200, 8, torch.Generator().manual_seed(0))
    assert (names.sort(-1).values.diff(dim=-1) > 0).all()
    assert names.shape == numbers.shape == (200, 8)
    assert set(place[:, 0].tolist()) == set(range(8))


def test_the_last_state_has_no_other_way_to_the_pairs():
    torch.manual_seed(0)
    names, numbers, place = looking_back.draw(3, 4, torch.Generator().manual_seed(0))
    for lookup in (False, True):
        model = looking_back.Recall(8, lookup=lookup)
        calls = []
        model.answer.register_forward_pre_hook(lambda _, inputs, c=calls: c.append(inputs[0]))
        model(names, numbers, place)
        asked = model.name(names.gather(1, place)) + model.number.weight[looking_back.NUMBERS]
        steps = torch.cat([model.name(names) + model.number(numbers), asked], 1)
        last = model.gru(steps)[0][:, -1]
        assert torch.allclose(calls[0], last) == (not lookup)


def test_the_results_in_the_book_are_of_the_settings_in_the_code():
    written = json.loads((record.RESULTS / "looking_back.json").read_text())
    expected = {
        (setting["model"], setting["width"], at, pairs)
        for setting in looking_back.settings(quick=False)
        for at in setting["at"]
        for pairs in looking_back.MEASURED
    }
    assert written["command"] == "python -m experiments.looking_back"
    assert written["seeds"] == list(looking_back.SEEDS)
    assert {tuple(row[name] for name in GROUP) for row in written["rows"]} == expected
