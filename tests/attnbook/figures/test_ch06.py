"""The figures of 06 and 06b show what the results and the machines hold.

What their tables print is in the notebooks, which are run and compared.
"""

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


def test_one_mask_means_two_opposite_things(draw):
    mask, function, module = (ax.images[0].get_array() > 0 for ax in draw(ch06.two_ways))
    assert (mask == masks.causal(4).numpy()).all()
    assert (function == mask).all()
    assert (module == ~mask).all()
