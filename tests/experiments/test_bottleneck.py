"""What one vector holds: the counts, the places and the gradients are what they say they are."""

import pytest
import torch
import torch.nn.functional as F

from attnlab import tasks
from experiments import bottleneck
from experiments._scoring import reaches

CPU = torch.device("cpu")
PAIRS = {
    "reverse": [tasks.Pair(("a", "b", "c"), ("c", "b", "a"))] * 2,
    "copy": [tasks.Pair(("a", "b", "c"), ("a", "b", "c"))] * 2,
}


def setting(**changes):
    return {"task": "reverse", "cell": "gru", "width": 8, "steps": 0, "seed": 3, "longest": 3,
            "most": 4, "tested": 4} | changes  # fmt: skip


def test_places_are_those_of_the_source():
    wrote = [["a", "b", "c"], ["a"]]
    assert bottleneck._by_place(PAIRS["copy"], wrote) == [2, 1, 1]
    wrote = [["c", "b", "x"], ["c"]]
    assert bottleneck._by_place(PAIRS["reverse"], wrote) == [0, 1, 2]


def test_counts_are_of_examples_exact_answers_and_letters():
    wrote, told = [["a", "b", "c", "c"], ["a", "b", "c"]], [["a", "b", "c"], ["a", "x", "c"]]
    assert bottleneck._counts(PAIRS["copy"], wrote, told) == [2, 1, 6, 6, 5]


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_the_gradient_is_that_of_the_loss_of_one_place_in_one_letter(cell):
    torch.manual_seed(0)
    model = bottleneck.build(cell, 8, 24).double()
    data = bottleneck.batches(setting(), 2, seed=5, shortest=4, longest=4)
    (batch,) = data
    got = bottleneck.gradient(model, batch, place=3)  # (B, S, embed_dim)

    def loss(shift):
        # Move what one letter of the first source is embedded as.
        moved = model.encoder.embedding.register_forward_hook(
            lambda module, inputs, output: output + shift
        )
        try:
            logits = model(batch.source, batch.source_lengths, batch.target_in)[:, 3]
        finally:
            moved.remove()
        return F.cross_entropy(logits, batch.target_out[:, 3], reduction="sum").item()

    for place in (0, 3):
        shift = torch.zeros_like(got)
        shift[0, place, 2] = 1e-4
        slope = (loss(shift) - loss(-shift)) / 2e-4
        assert got[0, place, 2].item() == pytest.approx(slope, rel=1e-5)


def test_what_a_model_names_when_told_follows_from_the_right_letters_before():
    torch.manual_seed(0)
    model = bottleneck.build("gru", 8, 24)
    data = bottleneck.batches(setting(task="copy"), 3, seed=5, shortest=4, longest=4)
    told = bottleneck._teacher_forced(model, data)
    (batch,) = data
    for row, place in enumerate(batch.index.tolist()):
        assert len(told[place]) == 4
        for t in range(4):
            one = [part[row : row + 1] for part in (batch.source, batch.source_lengths)]
            logits = model(*one, batch.target_in[row : row + 1, : t + 1])[0, -1]
            assert told[place][t] == data.target_vocab.tokens[int(logits.argmax())]


@pytest.mark.build
def test_a_model_learns_and_the_shares_say_so():
    found = bottleneck.measure(setting(width=32, steps=400, tested=50, most=6), device=CPU)
    assert reaches(found) >= 2
    tested, exact, letters, right, _ = found["by_length"]["2"]
    assert (tested, letters) == (50, 100)
    assert exact <= right
    assert right <= letters
    assert sum(found["by_place"]["6"]["free"]) == found["by_length"]["6"][3]
    assert sum(found["by_place"]["6"]["told"]) == found["by_length"]["6"][4]
