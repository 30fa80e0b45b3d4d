"""The mask painter: the writer of the page is torch's, and its lamps are what an input can move."""

import numpy as np
import pytest
import torch
from torch import Tensor

from attnbook.machines import MaskPainter
from attnbook.machines.mask_painter import PLACES, RULES, SPECIAL, WRITERS, look
from experiments.masked_writers import Writer

WORDS = [*SPECIAL, *"abcdefghij"]


def a_writer(seed: int) -> Writer:
    """Untrained, of a few features, with weights that float16 holds."""
    torch.manual_seed(seed)
    model = Writer(len(WORDS), embed_dim=6)
    with torch.no_grad():
        model.bias.normal_()
        for parameter in model.parameters():
            parameter.mul_(1.5)
    return model.half().float()


def make(*, text: str = "a", **settings) -> MaskPainter:
    writers = {name: a_writer(seed).state_dict() for seed, name in enumerate(WRITERS)}
    words = [text if word == "a" else word for word in WORDS]
    given = {"words": words, "sentences": [[text, *"bcd"], list("jihgfed")], "title": "A title"}
    return MaskPainter(writers, **given | settings)


SETTINGS = [
    {"writer": "none", "rule": "none", "at": 9},
    {"writer": "upside", "rule": "upside", "seed": 7},
    {"rule": "shifted", "painted": [2, 19, 25], "at": 12, "seed": 99},
    {"sentence": 1, "rule": "causal", "writer": "none", "painted": [0]},
]


def logits(machine: MaskPainter, words: list[str], mask: Tensor) -> Tensor:
    model = a_writer(list(WRITERS).index(machine.writer)).double()
    return model(torch.tensor([[WORDS.index(word) for word in words]]), mask)[0]


@pytest.mark.parametrize("settings", SETTINGS)
@torch.no_grad()
def test_every_chance_is_torchs(settings):
    machine = make(**settings)
    now, sentence = machine.compute(), machine.sentences[machine.sentence]
    read, answers = ["<start>", *sentence], [*sentence, "<end>"]
    n, mask = len(read), torch.tensor(now["mask"])
    places = [WORDS.index(word) for word in answers]
    at_once = logits(machine, read, mask).softmax(-1)
    assert at_once[range(n), places].tolist() == pytest.approx(now["chance"], abs=1e-9)
    best = at_once.topk(3)
    assert [[share for _, share in row] for row in now["best"]] == pytest.approx(
        best.values.numpy(), abs=1e-9
    )
    # Without peeking, each word is asked for with no later word in the room.
    alone = [logits(machine, read[: i + 1], mask[: i + 1, : i + 1])[-1] for i in range(n)]
    alone = torch.stack(alone).softmax(-1)[range(n), places]
    assert alone.tolist() == pytest.approx(now["honest"], abs=1e-9)
    assert now["usual"] == pytest.approx(-at_once[range(n), places].log().mean().item())
    assert now["peekless"] == pytest.approx(-alone.log().mean().item())


@pytest.mark.parametrize("settings", SETTINGS)
@torch.no_grad()
def test_it_writes_what_torchs_writer_may_write(settings):
    machine = make(**settings)
    allowed, words = torch.tensor(machine.allowed()), ["<start>"]
    for word in machine.compute()["written"]:
        n = len(words)
        chances = logits(machine, words, allowed[:n, :n])[-1].softmax(-1).cumsum(-1)
        drawn = (97 * machine.seed + 31 * (n - 1) + 17) * 0.6180339887498949 % 1
        assert word == WORDS[int((chances > drawn).nonzero()[0])]
        words.append(word)
    assert len(words) <= PLACES + 1
    assert words[-1] == "<end>" or len(words) == PLACES + 1


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_hidden_word_moves_nothing_and_a_red_lamp_sees_its_answer(settings):
    machine = make(**settings)
    now, net = machine.compute(), machine.network()
    mask, n = np.array(now["mask"]), len(now["lamps"])
    ids = [1, *(WORDS.index(word) for word in machine.sentences[machine.sentence])]
    before = look(net, ids, mask)[1]
    moved = np.zeros((n, n), bool)
    for j in range(n):
        after = look(net, [*ids[:j], 12 if ids[j] != 12 else 11, *ids[j + 1 :]], mask)[1]
        moved[:, j] = (np.abs(after - before) > 1e-12).any(1)
    assert (moved == mask | np.eye(n, dtype=bool)).all()
    later = [int(moved[i, i + 1 :].any()) for i in range(n)]
    assert [min(lamp, 1) for lamp in now["lamps"]] == later
    assert [lamp == 2 for lamp in now["lamps"]] == [i + 1 < n and moved[i, i + 1] for i in range(n)]
    assert now["inView"] == now["lamps"].count(2)


def test_paint_goes_over_the_rule():
    machine = make(rule="causal", painted=[])
    assert (machine.allowed() == RULES["causal"][1]).all()
    machine.painted = [3, 16]  # the first row sees its answer, the second no start
    mask = machine.compute()["mask"]
    assert np.array(mask).shape == (5, 5)
    assert mask[0][:3] == [True, True, False]
    assert mask[1][:3] == [False, True, False]


def test_a_row_that_sees_nothing_has_no_weights():
    now = make(rule="upside").compute()
    assert now["weights"][4] == [0.0] * 5
    assert np.isfinite(now["usual"])
