"""What runs every experiment: it goes on where it stopped, and says how sure its numbers are."""

import math
import sys
from functools import partial
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch

from experiments import _record as record


class Stopped(Exception):
    pass


def count(calls, setting, *, stop_at=None):
    if setting["x"] == stop_at:
        raise Stopped
    calls.append(setting["x"])
    return {"square": setting["x"] ** 2}


SETTINGS = [{"x": x} for x in range(5)]


def test_a_stopped_sweep_continues_where_it_was(tmp_path):
    out, kept, calls = tmp_path / "r.json", tmp_path / "r.partial.jsonl", []

    def measure(setting):  # the stamp, and all that was done before it, is on the disk by now
        assert len(kept.read_text().splitlines()) == 1 + setting["x"]
        return count(calls, setting, stop_at=3)

    with pytest.raises(Stopped):
        record.sweep(SETTINGS, measure, out=out)
    assert calls == [0, 1, 2]
    with open(kept, "a") as file:
        file.write('{"setting": {"x": 3}, "num')  # killed in the middle of a line
    rows = record.sweep(SETTINGS, partial(count, calls), out=out)
    assert calls == [0, 1, 2, 3, 4]
    assert rows == [{"x": x, "square": x**2} for x in range(5)]
    assert not kept.exists()


def test_a_sweep_says_what_each_setting_took_also_after_a_stop(tmp_path, monkeypatch):
    clock, took = iter(range(100)), []
    monkeypatch.setattr(record.time, "process_time", lambda: float(next(clock)))
    with pytest.raises(Stopped):
        record.sweep(SETTINGS, partial(count, [], stop_at=3), out=tmp_path / "r.json")
    record.sweep(SETTINGS, partial(count, []), out=tmp_path / "r.json", took=took)
    assert took == [1.0] * 5


def a_run(side, steps, rate, seed, score):
    return {"side": side, "steps": steps, "rate": rate, "seed": seed, "score": score,
            "parameters": 7, "cpu_seconds": steps / 100}  # fmt: skip


def trained(*runs):
    named = [a_run(*run) for run in runs]
    return record.training(named, ("side",), score=lambda run: run["score"], of="score")


def test_training_says_of_each_side_its_budgets_at_their_best_rates():
    one, other = trained(
        ("a", 400, 0.1, 0, 0.5), ("a", 400, 0.2, 0, 0.7), ("a", 400, 0.2, 1, 0.9),
        ("a", 100, 0.1, 0, 0.2), ("a", 100, 0.1, 1, 0.3), ("b", 100, 0.1, 0, 0.4),
    )  # fmt: skip
    assert [budget["updates"] for budget in one["budgets"]] == [100, 400]
    assert [budget["rate"] for budget in one["budgets"]] == [0.1, 0.2]
    assert [budget["score"] for budget in one["budgets"]] == [0.25, 0.8]
    assert [budget["cpu_seconds"] for budget in one["budgets"]] == [1.0, 4.0]
    assert (one["rates"], one["seeds"], one["parameters"]) == ([0.1, 0.2], 2, 7)
    assert (one["moved"], one["plateau"]) == (55.0, False)
    assert (other["side"], other["seeds"], other["moved"]) == ("b", 1, None)
    assert not other["plateau"]


@pytest.mark.parametrize(
    "longer, score, plateau",
    [(400, 0.809, True), (400, 0.795, True), (400, 0.81, False), (400, 0.7, False),
     (150, 0.8, False)],
)  # fmt: skip
def test_a_plateau_is_less_than_a_point_over_a_doubling_or_more(longer, score, plateau):
    (side,) = trained(("a", 100, 0.1, 0, 0.8), ("a", longer, 0.1, 0, score))
    assert side["plateau"] == plateau


@pytest.mark.parametrize("why", ["restart", "other code"])
def test_a_sweep_starts_again_when_it_must(tmp_path, why, monkeypatch):
    out, calls = tmp_path / "r.json", []
    with pytest.raises(Stopped):
        record.sweep(SETTINGS, partial(count, calls, stop_at=3), out=out)
    if why == "other code":
        monkeypatch.setattr(record.torch, "__version__", "another")
    record.sweep(SETTINGS, partial(count, calls), out=out, restart=why == "restart")
    assert calls == [0, 1, 2, 0, 1, 2, 3, 4]


def test_a_kept_number_depends_on_the_code_that_made_it_and_on_what_that_uses(
    tmp_path, monkeypatch
):
    files = {name: tmp_path / f"{name}.py" for name in ("own", "experiments._shared")}
    for name, file in files.items():
        file.write_text("")
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(__file__=str(file), __name__=name))
    measure = Mock(spec=[], __module__="own")
    stamps = [record._stamp(measure)]
    assert record._stamp(partial(partial(measure, 1), device="cpu")) == stamps[0]
    for file in files.values():
        file.write_text("changed")
        stamps.append(record._stamp(partial(measure, 1)))
    assert len(set(stamps)) == 3


def test_parts_are_measured_apart_and_gathered_by_the_run_without_one(tmp_path):
    out, calls = tmp_path / "r.json", []
    measure = partial(count, calls)
    assert record.sweep(SETTINGS, measure, out=out, part=(1, 3))[1] == {"x": 3, "square": 9}
    with pytest.raises(Stopped):
        record.sweep(SETTINGS, partial(count, calls, stop_at=4), out=out, part=(2, 3))
    assert calls == [0, 3, 1]
    record.sweep(SETTINGS, measure, out=out, part=(2, 3))
    assert calls == [0, 3, 1, 4], "a part goes on where it was, and knows nothing of the others"
    rows = record.sweep(SETTINGS, measure, out=out)
    assert calls == [0, 3, 1, 4, 2]
    assert rows == [{"x": x, "square": x**2} for x in range(5)]
    assert not list(tmp_path.iterdir())


def test_a_part_writes_no_results(tmp_path):
    chosen = record.options("x", "Doc.", ["--part", "2/2", "--out", str(tmp_path / "r.json")])
    measure = partial(count_on_a_device, [])
    parts = {"settings": lambda quick: SETTINGS, "measure": measure, "results": None}
    assert record.run(chosen, **parts) == {}
    assert [file.name for file in tmp_path.iterdir()] == ["r.partial2.jsonl"]


def count_on_a_device(calls, setting, *, device):
    return count(calls, setting)


@pytest.mark.parametrize("part", ["0/2", "3/2", "2", "a/b"])
def test_a_part_that_there_is_not_is_refused(part, capsys):
    with pytest.raises(SystemExit):
        record.options("x", "Doc.", ["--part", part])
    assert "argument --part" in capsys.readouterr().err


def test_the_command_makes_the_file_again():
    chosen = record.options("x", "Doc.", ["--quick", "--restart", "--device", "cpu"])
    assert chosen.command == "python -m experiments.x --quick --device cpu"
    assert chosen.restart
    assert chosen.out == record.RESULTS / "x.quick.json"
    assert record.options("x", "Doc.", []).out == record.RESULTS / "x.json"


def test_an_interval_is_that_of_the_package_with_its_coverage():
    found = record.median_interval([float(x) for x in reversed(range(10))])
    assert found == {"median": 4.5, "low": 1, "high": 8, "coverage": 0.9785, "n": 10}


def test_what_was_never_reached_counts_as_later_than_everything():
    assert record.median_interval([10, None, None])["median"] is None
    assert record.median_interval([10, 20, None])["median"] == 20
    assert record.median_interval([10, 20, None])["high"] is None


def test_no_values_have_no_median():
    with pytest.raises(ValueError, match="values: expected at least 1"):
        record.median_interval([])


RUNS = [
    {"model": "b", "seed": 0, "loss": 1.0, "steps": 5},
    {"model": "a", "seed": 0, "loss": 7.0, "steps": 5},
    {"model": "b", "seed": 1, "loss": 3.0, "steps": 5},
]


def test_runs_that_agree_come_together_in_the_order_of_the_runs():
    (b, first), (a, second) = record.grouped(RUNS, ("model", "steps"))
    assert (b, a) == ({"model": "b", "steps": 5}, {"model": "a", "steps": 5})
    assert (first, second) == ([RUNS[0], RUNS[2]], [RUNS[1]])


def test_every_number_of_the_runs_or_those_that_are_named_get_an_interval():
    assert record.median_intervals(RUNS, ["loss"]) == {"loss": record.median_interval([1, 7, 3])}
    numbers = [{"x": 1, "y": 2}, {"x": 3, "y": 5}]
    found = record.median_intervals(numbers)
    assert {name: interval["median"] for name, interval in found.items()} == {"x": 2, "y": 3.5}


def test_a_results_file_holds_no_nan(tmp_path):
    options = {"command": "", "seeds": [], "device": torch.device("cpu")}
    with pytest.raises(ValueError):
        record.write(tmp_path / "r.json", **options, results={"x": math.nan})
    assert not (tmp_path / "r.json").exists()
