"""Accuracy by length: one budget, the same data, unseen sources, one file a task."""

import pytest
import torch

from attnbook import recorded
from experiments import by_length
from experiments._training import parameters

SIZES = {"reverse": (24, 24), "dates": (52, 15), "toy_french": (213, 333)}
CPU = torch.device("cpu")


@pytest.mark.parametrize("task", by_length.TASKS)
@pytest.mark.build
def test_all_models_keep_to_one_budget(task):
    counts = {
        name: parameters(recorded.build(*by_length.plan(name, task, SIZES[task])))
        for name in by_length.MODELS
    }
    assert max(counts.values()) <= 1.1 * min(counts.values()), counts


@pytest.mark.parametrize("task", ["dates", "toy_french"])
def test_nothing_is_tested_that_was_learned_and_nothing_learned_is_long(task):
    setting = by_length.settings(task, quick=True)[0]
    known, new = by_length.examples(setting | {"most": 30})
    assert max(len(pair.source) for pair in known) <= by_length.LONGEST[task]
    assert max(len(pair.source) for pair in new) > by_length.LONGEST[task]
    assert not {pair.source for pair in known} & {pair.source for pair in new}


def test_every_task_is_run_into_its_own_file_unless_one_is_named(monkeypatch, capsys):
    monkeypatch.setattr(by_length.record, "run", lambda chosen, **_: chosen)
    every = by_length.main(["--quick", "--device", "cpu"])
    assert list(every) == list(by_length.TASKS)
    for task, chosen in every.items():
        command = f"python -m experiments.by_length --task {task} --quick --device cpu"
        assert chosen.command == command
        assert chosen.out == by_length.record.RESULTS / f"by_length_{task}.quick.json"
        assert by_length.main(command.split()[3:]) == chosen
    with pytest.raises(SystemExit):
        by_length.main(["--out", "one.json"])
    assert "--out: expected --task with it" in capsys.readouterr().err
