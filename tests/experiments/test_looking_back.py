"""The experiment behind the opening of chapter 02: its task, and what its models can read."""

import torch

from experiments import looking_back


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
