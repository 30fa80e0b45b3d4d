"""The experiment on recall: its quick form runs, and its task and forms are what they say."""

import json

import pytest
import torch

from experiments import _record as record
from experiments import recall


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    path = tmp_path_factory.mktemp("recall") / "recall.json"
    return recall.main(["--quick", "--device", "cpu", "--out", str(path)]), path


def test_quick_form_writes_what_the_chapter_reads(quick):
    returned, path = quick
    assert json.loads(path.read_text()) == returned
    assert returned["command"].startswith("python -m experiments.recall --quick")
    assert [row["form"] for row in returned["rows"]] == ["window", "linear"]
    for row in returned["rows"]:
        for at in (row["accuracy"], *row["by_distance"].values()):
            assert 0 <= at["low"] <= at["median"] <= at["high"] <= 1


def test_the_results_in_the_book_are_of_the_settings_in_the_code():
    written = json.loads((record.RESULTS / "recall.json").read_text())
    wanted = {(one["form"], one["pairs"]) for one in recall.settings(quick=False)}
    assert written["command"] == "python -m experiments.recall"
    assert written["seeds"] == list(recall.SEEDS)
    assert {(row["form"], row["pairs"]) for row in written["rows"]} == wanted


def test_the_answer_stands_as_far_back_as_is_said():
    names, numbers, answers, distances = recall.batch(64, 8, torch.Generator().manual_seed(0))
    questions = torch.arange(recall.PLACES, names.shape[1]).expand(64, -1)
    places = questions - distances
    assert torch.equal(names.gather(1, places), names.gather(1, questions))
    assert torch.equal(numbers.gather(1, places), answers)
    assert (numbers[:, recall.PLACES :] == recall.NUMBERS).all()
    assert (names[:, : recall.PLACES] == recall.NAMES).sum(1).eq(recall.PLACES - 8).all()


def test_the_distances_cover_all_and_begin_where_a_window_ends():
    assert recall.DISTANCES[0] == (1, recall.WINDOW - 1)
    assert recall.DISTANCES[1][1] == recall.LAYERS * (recall.WINDOW - 1)
    assert recall.DISTANCES[-1][1] == recall.PLACES + recall.QUESTIONS - 1


def felt(form, place):
    """The distances at which the last logits feel a change of the token at `place`."""
    torch.manual_seed(0)
    model = recall.Reader(form).eval()
    names, numbers, _, _ = recall.batch(1, 32, torch.Generator().manual_seed(0))
    other = numbers.clone()
    other[:, place] = (other[:, place] + 1) % recall.NUMBERS
    with torch.no_grad():
        change = (model(names, numbers) - model(names, other)).abs().amax((0, 2))
    return {
        recall.PLACES + n - place for n in range(recall.QUESTIONS) if change[n] > 1e-7
    }  # tokens back


@pytest.mark.parametrize("form", recall.PAIRS)
def test_no_form_lets_a_question_see_a_later_one(form):
    assert all(distance >= 0 for distance in felt(form, recall.PLACES + 3))


def test_two_windows_reach_twice_as_far_as_one_and_no_farther():
    reach = recall.LAYERS * (recall.WINDOW - 1)
    place = recall.PLACES - reach + 3
    assert felt("window", place) == set(range(reach - 3, reach + 1))


@pytest.mark.parametrize("form", ["full", "linear"])
def test_the_others_reach_the_first_place(form):
    assert len(felt(form, 0)) == recall.QUESTIONS
