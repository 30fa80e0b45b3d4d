"""Every experiment: its quick form runs and repeats itself, and the book's file is of its settings.

An experiment that is added to the folder is tested here; `ROWS` must say what its rows are of.
"""

import importlib
import json
import math
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
import torch

import experiments
from attnbook import recorded
from experiments import __main__ as costs
from experiments import _record as record
from experiments import (
    asked_for,
    bottleneck,
    by_length,
    learning,
    looking_back,
    norms,
    one_head,
    pointing,
    positions,
    positions_controls,
    scales,
    scales_halves,
    score_cost,
    score_rates,
)
from tests.attnlab.parallel import processes

FILES_OF_CODE = Path(experiments.__file__).parent.glob("[a-z]*.py")
# `plan` only computes what another one measures, and `seeds` runs chapters.
NAMES = sorted(path.stem for path in FILES_OF_CODE if path.stem not in ("plan", "seeds"))
# They read with a published model; test_minilm.py has more.
READS = ("answered", "company", "docstrings", "explaining", "real_sentence", "reference",
         "similar", "word_order")  # fmt: skip
# And these with a published language model; test_smollm.py has more.
WRITES = ("dropped", "induction", "kv_cache", "one_step", "one_token", "readers", "sinks",
          "smaller_caches", "smaller_caches_controls", "too_tired", "turned",
          "who_it_is")  # fmt: skip
# One `main` runs them all, and each writes what the file of the book says. So these stand
# for the others, which run weekly: short ones, long ones, one that decodes, one that reads.
DAILY = ("learning", "norms", "translate", "word_order")
# They measure times, or have tests of their own.
OTHERS = ("card", "judged", "parallel", "resampled", "score_cost", "three_forms", "translate",
          "update_rates")  # fmt: skip
# They read with published models, or measure times of models that need not have learned.
UNTRAINED = ("card", "heads_off", "judged", "negation", "parallel", "resampled",
             "score_cost", "three_forms", "update_rates", *READS, *WRITES)  # fmt: skip
REPEATED = [name for name in NAMES if name not in (*OTHERS, *READS, *WRITES)]
HEADER = {"command", "seeds", "interval", "versions", "device", "date"}
OPTIONS = {"by_length": ["--task", "reverse"]}
# What tells the rows of a file apart, in the words of the settings.
ROWS = {
    "asked_for": asked_for.GROUP,
    "backwards": ("model", "steps"),
    "bottleneck": bottleneck.GROUP,
    "by_length": ("model", "steps"),
    "collapse": ("case", "rate"),
    "drawers": ("features", "updates"),
    "equal_updates": ("model", "steps", "rate"),
    "every_step": bottleneck.GROUP,
    "full_alone": ("design", "updates", "rate"),
    "heads": ("variant", "updates", "rate"),
    "heads_off": ("order",),
    "il_or_elle": ("model", "steps"),
    "learning": ("task", "model", "steps"),
    "live_translator": ("model", "steps"),
    "look_controls": ("model", "steps"),
    "looking_back": looking_back.GROUP,
    "machine_models": ("task", "steps"),
    "masked_writers": ("writer", "steps"),
    "masked_writers_controls": ("writer",),
    "negation": ("model",),
    "one_head": one_head.ROW,
    "norms": ("norm", "warm_up", "rate"),
    "norms_controls": ("norm", "rate", "clip"),
    "norms_deeper": ("layers", "norm", "warm_up"),
    "orders": ("kind", "updates"),
    "parts": ("without", "updates"),
    "parts_controls": ("without", "size", "updates"),
    "pointing": pointing.GROUP,
    "porter": ("design", "updates", "rate"),
    "porter_larger": ("design", "updates", "rate"),
    "read_longer": ("case",),
    "positions": positions.ROW,
    "positions_controls": positions_controls.ROW,
    "scales": scales.GROUP,
    "scales_halves": scales_halves.GROUP,
    "score_rates": ("model", "rate"),
    "summaries": ("layers", "updates"),
    "songs": ("steps",),
    "towers": ("steps",),
    "when_to_look": ("order", "steps", "rate"),
}
# Every file in `results/` that a list of settings led to: its experiment, and how to name its task.
FILES = {name: (name, "") for name in REPEATED if name != "by_length"}
FILES |= {f"by_length_{task}": ("by_length", f" --task {task}") for task in by_length.TASKS}


whole = pytest.mark.build  # a quick form is a run from its settings to its file


def each(names: Iterable[str]) -> list:
    return [name if name in DAILY else pytest.param(name, marks=pytest.mark.slow) for name in names]


class Quick(NamedTuple):
    written: dict
    path: Path
    command: str
    settings: list[dict]
    measure: Callable[[dict], dict] | None
    runs: list[dict]


@pytest.fixture(scope="module")
def quick(request, tmp_path_factory):
    """A function from the name of an experiment to what its quick form did, run once."""

    @cache
    def run(name: str) -> Quick:
        if name in READS:
            request.getfixturevalue("minilm")  # skips where the weights are not
        if name in WRITES:
            request.getfixturevalue("smollm")
        path = tmp_path_factory.mktemp(name) / f"{name}.json"
        argv = ["--quick", "--device", "cpu", "--out", str(path), *OPTIONS.get(name, [])]
        swept = []

        def sweep(settings, measure, **options):
            runs = plain(settings, measure, **options)
            swept.append((settings, measure, runs))
            return runs

        plain = record.sweep
        # `parallel` starts fresh processes, for the sake of their memory; copies do as well here.
        with (
            patch.object(record, "sweep", sweep),
            patch.object(torch.multiprocessing, "spawn", processes.start),
        ):
            written = importlib.import_module(f"experiments.{name}").main(argv)
        command = " ".join(["python -m", f"experiments.{name}", *argv])
        return Quick(written, path, command, *(swept[0] if swept else ([], None, [])))

    return run


def intervals(part: Any) -> Iterator[dict]:
    """All that `record.median_interval` gave, wherever it stands in a file."""
    if isinstance(part, dict) and "coverage" in part:
        yield part
    elif isinstance(part, dict | list):
        for inner in part.values() if isinstance(part, dict) else part:
            yield from intervals(inner)


def apart(name: str, rows: list[dict]) -> list[tuple]:
    return list(dict.fromkeys(tuple(row[key] for key in ROWS[name]) for row in rows))


@pytest.mark.parametrize("name", each(NAMES))
@whole
def test_quick_form_writes_what_it_returns_and_leaves_nothing_else(name, quick):
    form = quick(name)
    assert json.loads(form.path.read_text()) == form.written
    assert form.written.keys() >= HEADER | {"rows"}
    assert form.written["command"] == form.command
    assert [file.name for file in form.path.parent.iterdir()] == [f"{name}.json"]


@pytest.mark.parametrize("name", each(REPEATED))
@whole
def test_quick_form_says_all_of_two_seeds(name, quick):
    form = quick(name)
    assert len(form.written["seeds"]) == 2
    assert apart(name, form.written["rows"]) == apart(name, form.settings)
    found = list(intervals(form.written["rows"]))
    assert found or name == "score_rates"  # which lists its runs
    for interval in found:
        low, middle, high = (
            math.inf if interval[key] is None else interval[key]
            for key in ("low", "median", "high")
        )
        assert low <= middle <= high
        assert interval["n"] == 2


@pytest.mark.parametrize("name", each(REPEATED))
@whole
def test_the_same_setting_gives_the_same_numbers_whatever_ran_before(name, quick):
    form = quick(name)
    for place in (-1, 1, 0):
        again = form.settings[place] | form.measure(form.settings[place])
        for run in (again, first := dict(form.runs[place])):
            run.pop("cpu_seconds", None)
        assert again == first


@pytest.mark.parametrize("file", FILES)
def test_the_results_in_the_book_are_of_the_settings_in_the_code(file):
    name, task = FILES[file]
    written = recorded.results(file)
    settings = importlib.import_module(f"experiments.{name}").settings
    wanted = (partial(settings, task.split()[1]) if task else settings)(quick=False)
    # Naming the device that is chosen anyway changes nothing; the file says which it was.
    command = written["command"].removesuffix(" --device cpu")
    assert command == f"python -m experiments.{name}{task}"
    assert written["seeds"] == sorted({setting["seed"] for setting in wanted})
    assert apart(name, written["rows"]) == apart(name, wanted)
    if "runs" in written["rows"][0]:
        runs = [run for row in written["rows"] for run in row["runs"]]
        assert len(runs) == len(wanted)
        for setting in wanted:
            assert sum(setting.items() <= run.items() for run in runs) == 1


@pytest.mark.parametrize("name", [name for name in NAMES if name not in UNTRAINED])
def test_whatever_trains_says_how_long_and_with_which_rates(name):
    found = [path for path in record.RESULTS.glob(f"{name}*.json") if "quick" not in path.name]
    for path in found:
        written = json.loads(path.read_text())
        if f"experiments.{name} " not in written["command"] + " ":
            continue
        assert "training" in written
        for side in written.get("training", ()):
            assert side["seeds"] > 0
            assert side["rates"]
            for budget in side["budgets"]:
                assert budget["updates"] > 0
                assert budget["rate"] in side["rates"]


def test_the_list_of_experiments_says_what_each_costs(capsys):
    costs.main()
    said = capsys.readouterr().out
    for path in record.RESULTS.glob("*.json"):
        assert path.name in said
    assert "core hours in all" in said


def test_a_cost_is_what_the_file_kept_or_the_training_that_it_tells_of(
    tmp_path, monkeypatch, capsys
):
    budgets = [{"updates": n, "seeds": 3, "cpu_seconds": n / 10} for n in (100, 400)]
    side = {"model": "a", "score": "right", "budgets": budgets}
    scored_twice = [side, {**side, "score": "right at once"}, {**side, "model": "b"}]
    for name, known in {
        "timed": {"cpu_seconds": 3600.0, "training": scored_twice},
        "trained": {"training": scored_twice},
        "neither": {"training": [{**side, "budgets": []}]},
    }.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({"command": name, **known}))
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    assert costs.costs() == {
        "neither.json": costs.Cost("neither", None),
        "timed.json": costs.Cost("timed", 3600.0),
        "trained.json": costs.Cost("trained", 2 * 3 * (10 + 40), at_least=True),
    }
    monkeypatch.setattr(costs, "LONGEST", 1)
    costs.main()
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in said[:3]] == ["timed", "trained", "neither"]
    assert "≥ 300 s" in said[1]
    assert said[-2:] == [
        "1.1 core hours in all, for 2 of 3 files;",
        "1.0 of them for the 1 longest",
    ]


@pytest.mark.slow
@whole
def test_scales_learns_with_the_root_and_starts_as_the_theory_says(quick):
    written = quick("scales").written["rows"]
    rows = {(row["optimizer"], row["scale"]): row for row in written}
    assert {scale for _, scale in rows} == set(scales.SCALES)
    assert rows["adam", "1/sqrt(d)"]["accuracy"]["500"]["median"] > 0.9
    largest = [rows["adam", name]["largest_weight"]["median"] for name in scales.SCALES]
    assert largest[0] > largest[1] > largest[2] > 1 / scales.PAIRS


@pytest.mark.slow
@whole
def test_looking_back_finds_a_lookup_soon_better_than_the_last_state(quick):
    rows = {row["model"]: row["accuracy"] for row in quick("looking_back").written["rows"]}
    most = str(looking_back.MOST)
    assert rows["lookup"][most]["low"] > rows["last state"][most]["high"] + 0.1
    assert rows["lookup"]["1"]["median"] > 0.9


@pytest.mark.slow
@whole
def test_heads_says_what_the_chapter_reads(quick):
    one, two = quick("heads").written["rows"]
    assert [one["variant"], two["variant"]] == ["1 head", "2 heads"]
    assert one["parameters"] == two["parameters"]
    for row in (one, two):  # by seed, by head: left, right, both
        assert [len(seed) for seed in row["off"]] == 2 * [int(row["variant"][0])]


@pytest.mark.slow
@whole
def test_two_heads_read_both_ways_and_one_does_not_exceed_its_bound(quick):
    written = quick("heads").written
    one, two = written["rows"]
    assert two["held_out"]["both"]["low"] > 0.8
    assert one["all"]["both"]["high"] < written["bound"]["share"]
    for seed in two["off"]:  # without a head, one reading goes and the other stays
        for left, right, both in seed:
            assert max(left, right) > 0.8
            assert min(left, right) < 0.2
            assert both <= min(left, right)


@whole
def test_norms_gives_gradients_as_shares_of_the_largest(quick):
    rows = quick("norms").written["rows"]
    assert len(rows) == 2 * 2 * len(norms.RATES)
    for row in rows:
        shares = [x["median"] for side in row["gradients"].values() for x in side]
        assert all(0 < share <= 1 for share in shares)
        assert math.isclose(max(shares), 1, rel_tol=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["positions", "porter"])
@whole
def test_an_accuracy_is_a_share(name, quick):
    for interval in intervals(quick(name).written["rows"]):
        assert 0 <= interval["low"] <= interval["high"] <= 1


@pytest.mark.slow
@whole
def test_every_experiment_has_the_rows_that_its_chapter_reads(quick):
    rows = {name: quick(name).written["rows"] for name in NAMES if name not in (*READS, *WRITES)}
    assert len(rows["bottleneck"]) == 3
    assert [row["model"] for row in rows["by_length"]] == list(by_length.MODELS)
    assert [(row["task"], row["model"]) for row in rows["learning"]] == list(learning.STEPS)
    assert rows["learning"][0]["exact"]["4"]["n"] == 40
    assert [row["case"] for row in rows["pointing"]] == list(pointing.CASES)
    assert len(rows["positions"]) == 2
    for row in rows["positions"]:
        assert list(row["accuracy"]) == list(map(str, positions.TESTED))
    assert [row["design"] for row in rows["porter"]] == ["window", "gated delta"]
    rates = {(row["model"], row["rate"]) for row in rows["score_rates"]}
    assert len(rates) == len(score_rates.MODELS) * (len(score_rates.RATES) - 1)
    assert all(len(row["runs"]) == 2 for row in rows["score_rates"])


@pytest.mark.slow
@whole
def test_score_cost_gives_every_layer_but_dot_as_a_ratio_to_it(quick):
    for row in quick("score_cost").written["rows"]:
        assert row["ratios"].keys() == score_cost.LAYERS.keys() - {"dot"}
        for found in row["ratios"].values():
            assert 0 < found["low"] <= found["ratio"] <= found["high"]
