"""Wrong calls of tasks, metrics, intervals, regularizers, training and checkpoint."""

# ruff: noqa: F401 (names that the table's calls use)

import datetime
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from attnlab import files, metrics, tasks, training
from attnlab.metrics import collapse as regularizers
from attnlab.metrics import intervals
from attnlab.tasks import Batches, Choices, Pair, Subwords, Vocab
from attnlab.tasks.dates import date_pair, ordinal_ending
from tests.refusals.wrong_calls import assert_line_refused, refused, table

PAIRS = tasks.reverse(10)
VOCABS = tasks.vocabs(PAIRS)
WEIGHTS = torch.rand(4, 5).softmax(-1)
LINE = nn.Linear(1, 1)
ONES = [torch.ones(1, 1)]


def squared(line, x):
    return line(x) ** 2


def fit(model=LINE, train=ONES, **options):
    options = {"steps": 1, "loss": squared, "progress": False, **options}
    return training.fit(model, train, **options)


def batches(pairs=PAIRS, source=VOCABS[0], target=VOCABS[1], **options):
    return Batches(pairs, source, target, **{"batch_size": 4, **options})


def aer(links, sure, possible):
    return metrics.alignment_error_rate(links, sure=sure, possible=possible)


def test_fit_knows_no_other_argument():
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        fit(nonsense=1)


# It must draw in vain some thousand times before it says so.
test_more_sentences_than_there_are_is_refused = pytest.mark.build(
    refused("tasks", "in vain", names=globals())
)


test_wrong_call_is_refused = refused("tasks", "data", "vocab", "scores", "fit", names=globals())


@pytest.mark.parametrize("line", table("tasks")["files"])
def test_files_refuse_what_does_not_fit(tmp_path, line):
    path, broken = tmp_path / "x.safetensors", tmp_path / "broken.safetensors"
    files.save_tensors(path, nn.Linear(2, 3).state_dict())
    broken.write_bytes(path.read_bytes()[:-4])
    assert_line_refused(line, globals() | {"path": path, "broken": broken})
