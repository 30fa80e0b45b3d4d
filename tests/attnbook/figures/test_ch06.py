"""The figures and tables of 06 and 06b show what the results and the machines hold."""

import torch

from attnbook import recorded
from attnbook.figures import ch06
from attnbook.machines.mask_painter import look
from attnkit import masks
from experiments import masked_writers


def test_both_scores_are_the_recorded_ones(draw):
    rows = recorded.results("masked_writers")["rows"]
    for ax, score in zip(draw(ch06.two_scores), ("usual", "honest"), strict=True):
        lines = {line.get_label(): line.get_ydata() for line in ax.lines}
        for name in ch06.NAMES:
            found = [row[score]["median"] for row in rows if row["writer"] == name]
            assert list(lines[ch06.MASKS[name]]) == found


@torch.no_grad()
def test_the_recorded_writers_are_torchs():
    painter = ch06.painter()
    for writer, (name, file) in zip(ch06.FILES, masked_writers.FILES.items(), strict=True):
        assert ch06.FILES[writer] == file
        weights, state = recorded.tensors(file)
        assert (state["about"]["writer"], state["vocab"]) == (name, painter.words)
        model = masked_writers.Writer(len(state["vocab"]))
        model.load_state_dict({key: value.float() for key, value in weights.items()})
        painter.writer = writer
        ids = torch.tensor([[1, 40, 50, 60, 70, 80, 90, 100]])
        expected = model.double()(ids, masked_writers.MASKS[name])[0].softmax(-1)
        _, found = look(painter.network(), ids[0].tolist(), masked_writers.MASKS[name].numpy())
        assert torch.tensor(found).allclose(expected, atol=1e-9)


def test_the_sentences_of_the_hidden_start_are_the_held_out_ones(capsys):
    held_out = masked_writers.corpus(8000, 300)[2]
    ch06.start_cells()
    said = capsys.readouterr().out
    firsts = len({sentence[0] for sentence in held_out})
    assert f"of {len(held_out)} sentences: start looked at most in {len(held_out)};" in said
    assert f"repeats itself in {len(held_out)}, {firsts} first words;" in said


def test_a_hidden_key_gets_no_weight():
    before, after = ch06._hiding(ch06.painter(writer="none"), "causal", 3, 0)
    assert before["weights"][0] > 0.9
    assert before["says"] == "<end>"
    assert after["weights"][0] == 0
    assert after["end"] < before["end"] / 10


def test_one_mask_means_two_opposite_things(draw):
    mask, function, module = (ax.images[0].get_array() > 0 for ax in draw(ch06.two_ways))
    assert (mask == masks.causal(4).numpy()).all()
    assert (function == mask).all()
    assert (module == ~mask).all()


def test_the_tables_say_what_masks_promise():
    padding = {(row[0][0], row[1][0]): row[2][0] for row in ch06.padding_table().rows}
    right = {"padding after": "causal & padding", "padding before": "causal & padding",
             "after another sentence": "causal & blocks"}  # fmt: skip
    for place, mask in right.items():
        assert padding[place, mask] == "same"
    assert padding["padding after", "causal"] == "same"
    assert [said for said in padding.values() if said != "same"] == [
        padding["padding before", "causal"],
        padding["after another sentence", "causal"],
        padding["the same, positions run on", "causal & blocks"],
    ]
    empty = {row[0][0]: (row[1][0], row[2][0]) for row in ch06.empty_rows().rows}
    assert empty["fill with -inf"] == ("NaN each", "NaN")
    assert empty["add -inf, set NaN to 0 afterwards"] == ("0.00 each", "NaN")
    assert empty["fill with -inf, set NaN to 0 afterwards"] == ("0.00 each", "finite")
    assert empty["fill with -inf, but it sees itself"] == ("1.00 0.00 0.00", "finite")
    for name in ("attnkit", "PyTorch’s function"):
        assert empty[name] == ("0.00 each", "finite")
    table = ch06.leaking_layers()
    leaks = [row[1][0] for row in table.rows]
    assert table.caption.endswith("in all four: 0.00.")
    assert leaks == ["0 of 15", *["15 of 15"] * 3]
