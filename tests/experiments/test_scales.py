"""The experiment behind chapter 05: its task has the answer that it says."""

import torch

from experiments import scales


def test_a_lookup_has_its_answer_beside_the_key_asked_for():
    asked, keys, values, answer = scales.batch(100, torch.Generator().manual_seed(0))
    place = keys == asked  # (B, S)
    assert (place.sum(-1) == 1).all(), "the keys of a lookup must differ"
    assert torch.equal(values[place], answer)
