"""The benchmarks: their arithmetic, their memory probe, and that they run."""

import json
import subprocess
import sys

import pytest

from benchmarks import __main__ as command
from benchmarks import _harness as harness
from benchmarks import additive


def test_ratios_are_taken_round_by_round():
    ours, theirs = [1.0, 2.0, 4.0], [3.0, 2.0, 12.0]
    found = harness.summary(ours, theirs, same=False)
    assert found["ratio"] == 3.0  # the median of 3, 1 and 3
    assert found["best_ratio"] == 2.0
    assert found["ms"] == 2000.0
    assert found["low"] <= found["ratio"] <= found["high"]
    assert "ratio" not in harness.summary(ours, ours, same=True)


def test_every_round_runs_every_form_and_the_budget_ends_it():
    calls = []
    forms = {name: lambda name=name: calls.append(name) for name in "ab"}
    assert harness.compare(forms, rounds=5, budget=60)["a"]["rounds"] == 5
    assert {"a", "b"} == set(calls)
    assert harness.compare(forms, rounds=5, budget=0)["a"]["rounds"] == 3


@pytest.mark.parametrize("power", [0.5, 1, 2])
def test_exponents(power):
    lengths = [16, 64, 256]
    assert harness.exponent(lengths, [3 * n**power for n in lengths]) == power


def test_crossovers():
    lengths = [10, 100, 1000]
    assert harness.crossover(lengths, [100, 100, 100], [1, 10, 1000]) == 316
    assert harness.crossover(lengths, [1, 1, 1], [2, 2, 2]) == 10
    assert harness.crossover(lengths, [2, 2, 2], [1, 1, 1]) is None
    assert harness.crossover(lengths, [1, 2, 2], [2, 1, 1]) is None


@pytest.mark.build
def test_a_form_that_fails_is_left_out_with_its_reason(capsys):
    task = {"length": 8, "backward": False, "device": "cpu", "warm_up": {}}
    found = harness.peaks("benchmarks.long", ["no such form"], task, threads=1)
    assert "no such form" in found["no such form"]["failed"]
    harness.table("a case", found, "mib")
    assert "left out" in capsys.readouterr().out


def test_the_long_run_of_additive_attention_leaves_its_setting_beside_its_peaks(monkeypatch):
    monkeypatch.setattr(harness, "peaks", lambda *args, **kwargs: {"tiled (ours)": {"mib": 1.0}})
    found = additive.memory(quick=False, threads=1, device="cpu")
    assert found["long setting"] == additive.LONG
    assert found["setting"] == additive.SETTING
    assert set(found["long"]) == {"tiled (ours)", "one broadcast tensor"}
    assert found["long"]["one broadcast tensor"]["mib"] == 32 * 1024


BY_HAND = "full, by hand"


@pytest.mark.build
@pytest.mark.skipif(sys.platform != "linux", reason="glibc's settings, and /proc to look")
def test_the_peak_by_hand_is_three_tables_and_not_what_the_allocator_kept():
    task = {"length": 1024, "backward": True, "device": "cpu", "warm_up": {"length": 160}}
    (found,) = harness.peaks("benchmarks.long", [BY_HAND], task, threads=1, runs=1).values()
    tables = 3 * 4 * 4 * 1024**2 / 2**20  # scores, weights, a gradient: 4 heads, 4 bytes
    assert tables < found["mib"] < 1.2 * tables


def test_new_peaks_replace_the_old_ones_and_nothing_else(tmp_path, monkeypatch):
    old = {"date": "before", "long": {"memory": {"1024": 1}, "forward": {"1024": 2}}, "additive": 3}
    path = tmp_path / "bench.json"
    path.write_text(json.dumps(old), encoding="utf-8")
    monkeypatch.setattr("benchmarks.long.memory", lambda **options: {"1024": 4})
    command.main(["long", "--memory-of", str(path)])
    record = json.loads(path.read_text(encoding="utf-8"))
    assert set(record["long"].pop("memory measured")) == {"device", "date"}
    new = {"date": "before", "long": {"memory": {"1024": 4}, "forward": {"1024": 2}}, "additive": 3}
    assert record == new


@pytest.mark.slow
@pytest.mark.build
def test_two_sections_run_and_write_their_record(tmp_path):
    out = tmp_path / "results" / "bench.json"
    options = ["decoding", "dot_product", "--quick", "--threads", "1", "--out", str(out)]
    subprocess.run([sys.executable, "-m", "benchmarks", *options], cwd=harness.ROOT, check=True)
    record = json.loads(out.read_text(encoding="utf-8"))
    assert record["threads"] == 1
    assert {"command", "versions", "device", "date"} <= set(record)
    assert record["dot_product"]["backend"]["16"] != "none"
    for cost in record["decoding"]["bytes per token"].values():
        assert cost["counted"] == cost["measured"]
    assert [path.name for path in out.parent.iterdir()] == ["bench.json"]
