"""The experiment behind chapter 05: its task has the answer that it says."""

import torch

from experiments import scales, scales_halves


def test_a_lookup_has_its_answer_beside_the_key_asked_for():
    asked, keys, values, answer = scales.batch(100, torch.Generator().manual_seed(0))
    place = keys == asked  # (B, S)
    assert (place.sum(-1) == 1).all(), "the keys of a lookup must differ"
    assert torch.equal(values[place], answer)


def test_both_halves_together_are_the_root():
    setting = {"seed": 0, "updates": 20}
    torch.manual_seed(0)
    root = scales.Lookup(16, 16**-0.5)
    torch.manual_seed(0)
    model, optimizer = scales_halves.halved(16, scales_halves.HALVES["root"], 1.0)
    scales.train(root, torch.optim.SGD(root.parameters(), lr=1.0), setting, at=(20,))
    scales.train(model, optimizer, setting, at=(20,))
    torch.testing.assert_close(model.query.weight * 2, root.query.weight, atol=1e-4, rtol=1e-3)
    torch.testing.assert_close(model.answer.weight, root.answer.weight, atol=1e-4, rtol=1e-3)
