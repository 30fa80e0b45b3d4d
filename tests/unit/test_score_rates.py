"""Dot and general at each other's rate: the quick form runs, and only the rate differs."""

import json

import torch

from experiments import _record as record
from experiments import by_length, score_rates

CPU = torch.device("cpu")


def test_quick_form_writes_what_the_chapter_reads(tmp_path):
    out = tmp_path / "a.json"
    written = score_rates.main(["--quick", "--device", "cpu", "--out", str(out)])
    assert json.loads(out.read_text()) == written
    assert [(row["model"], row["rate"]) for row in written["rows"]] == [*score_rates.RATES.items()]
    assert all(len(row["runs"]) == len(written["seeds"]) for row in written["rows"])


def test_the_rate_is_the_only_difference_and_is_put_back():
    before = dict(by_length.RATES)
    setting = score_rates.settings(quick=True)[0]
    usual = by_length.measure(setting, device=CPU, command="", save=False)
    same = score_rates.measure(setting | {"rate": 0.004}, device=CPU)
    other = score_rates.measure(setting | {"rate": 0.4}, device=CPU)
    assert setting["model"] == "dot"  # by_length trains it at 0.004
    assert before == by_length.RATES
    for found in (usual, same, other):
        del found["cpu_seconds"]
    assert same == usual
    assert other != usual


def test_each_score_gets_the_rate_it_did_not_have():
    for name, rate in score_rates.RATES.items():
        assert {rate, by_length.RATES.get(name, 0.004)} == {0.002, 0.004}


def test_the_results_in_the_book_are_of_the_settings_in_the_code():
    written = json.loads((record.RESULTS / "score_rates.json").read_text())
    assert written["command"] == "python -m experiments.score_rates"
    found = {
        (run["model"], run["rate"], run["seed"]) for row in written["rows"] for run in row["runs"]
    }
    expected = score_rates.settings(quick=False)
    assert found == {(one["model"], one["rate"], one["seed"]) for one in expected}
