"""The experiment on the porter: its task and its designs are what they say."""

import pytest
import torch

from experiments import porter


def drawn(pairs, size=64):
    return porter.batch(size, pairs, torch.Generator().manual_seed(0))


@pytest.mark.parametrize("pairs", porter.pairs_of(porter.PLACES))
def test_every_question_is_of_a_name_that_stands_beside_the_answer(pairs):
    names, numbers, answers = drawn(pairs)
    told, asked = names[:, : porter.PLACES], names[:, porter.PLACES :]
    match = asked[:, :, None] == told[:, None]  # (B, Q, places)
    assert match.sum(-1).eq(1).all()
    places = match.int().argmax(-1)
    assert torch.equal(numbers[:, : porter.PLACES].gather(1, places), answers)
    assert (numbers[:, porter.PLACES :] == porter.NUMBERS).all()
    assert told.eq(porter.names_of(porter.PLACES)).sum(1).eq(porter.PLACES - pairs).all()


def felt(design, place):
    """The questions whose logits feel a change of the number at `place`."""
    torch.manual_seed(0)
    model = porter.Porter(design).eval()
    names, numbers, _ = drawn(64, size=1)
    other = numbers.clone()
    other[:, place] = (other[:, place] + 1) % porter.NUMBERS
    with torch.no_grad():
        change = (model(names, numbers) - model(names, other)).abs().amax((0, 2))
    return set(change.gt(1e-7).nonzero()[:, 0].tolist())


@pytest.mark.parametrize("design", porter.DESIGNS)
def test_no_design_lets_a_question_see_a_later_one(design):
    third = porter.PLACES + 2
    assert felt(design, third) <= set(range(2, porter.QUESTIONS))


def test_two_windows_reach_twice_as_far_as_one_and_a_full_layer_reaches_all():
    reach = 2 * (porter.WINDOW - 1)
    assert felt("window", porter.PLACES - reach + 3) == {0, 1, 2, 3}
    assert len(felt("window, then full", 0)) == porter.QUESTIONS
    assert len(felt("gated delta", 0)) == porter.QUESTIONS


def kept(model, tokens):
    """The numbers that a model's layers would keep, by what they are made of."""
    count = 0
    for layer in model.layers:
        memory = layer.memory
        if isinstance(memory, porter.Latent):
            count += memory.attention.latent_dim * tokens
        elif memory.kind in ("full", "chosen", "window"):
            seen = min(tokens, porter.WINDOW) if memory.kind == "window" else tokens
            count += (memory.sizes[1] + memory.sizes[2]) * seen
        else:
            keys, values = (size // porter.HEADS for size in memory.sizes[1:])
            count += porter.HEADS * keys * (values + memory.kind.startswith("linear"))
    return count


@pytest.mark.parametrize("design", porter.DESIGNS)
def test_bytes_are_those_of_the_tensors_that_a_layer_keeps(design):
    said = sum(porter.bytes_kept(kind, porter.PLACES) for kind in porter.DESIGNS[design])
    assert said == 4 * kept(porter.Porter(design), porter.PLACES)
