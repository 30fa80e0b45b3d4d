"""The experiment on recall: its task and its forms are what they say."""

import pytest
import torch

from experiments import recall


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
