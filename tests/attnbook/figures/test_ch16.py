"""The maps of chapters 16 and 16b are what they are called."""

import pytest
import torch

from attnbook.figures import ch16


@pytest.fixture(scope="module")
def maps():
    return ch16.walk()[0]


def test_the_right_maps_are_what_the_model_used(maps):
    weights, visible = ch16.healthy()["encoder 0.3"]
    torch.testing.assert_close(maps["correct"], weights)
    assert torch.equal(weights > 0, visible)


def test_every_right_head_keeps_to_its_mask_and_sums_to_one():
    found = ch16.healthy()
    assert len(found) == 24
    for weights, visible in found.values():
        torch.testing.assert_close(weights.sum(-1), torch.ones(len(weights)))
        assert (weights[~visible] == 0).all()


def test_a_quiz_map_called_broken_is_not_the_right_one_and_a_healthy_one_sums_to_one(maps):
    asked = ch16.quiz()
    assert [one.broken for one in asked].count(True) == 6
    assert len({one.name for one in asked}) == len(asked) == 10
    for one in asked:
        weights = torch.tensor(one.weights)
        if not one.broken:
            torch.testing.assert_close(weights.sum(-1), torch.ones(len(weights)))
        elif len(one.tokens) == len(maps["correct"]) and one.told is ch16.ENCODER:
            assert (weights - maps["correct"]).abs().max() > 0.1, one.name


def test_the_leak_sees_one_place_ahead_and_no_more():
    leak = torch.tensor(ch16.quiz()[4].weights)
    ahead = torch.tensor([leak[i, i + 1] for i in range(len(leak) - 1)])
    assert (ahead > 0.3).sum() >= 2
    assert (leak.triu(2) == 0).all()
