"""The layer to break: its maps are torch's, and its words are those of the checks, every time."""

import numpy as np
import pytest
import torch
from torch import nn

from attnbook import broken_layer, museum
from attnbook.broken_layer import BREAKABLE
from attnbook.machines import BreakIt
from attnbook.machines.break_it import PADDING

COMBINATIONS = list(broken_layer.combinations())


def make(*, text: str = "cat", **settings) -> BreakIt:
    names = ["pad", "pad", "a", "big", text, "sat"]
    return BreakIt(names, **{"title": "A layer to break"} | settings)


# Every combination, so that Chromium computes all that the machine offers as torch does.
SETTINGS = [
    dict(zip(("second", "first"), names, strict=False)) for names in COMBINATIONS[:0:-1]
] + [{"first": "fill", "second": "fill"}]


def set_to(machine: BreakIt, names: tuple[str, ...]) -> None:
    machine.first, machine.second = (*names, "", "")[:2]


def test_it_offers_every_line_and_every_pair():
    assert len(COMBINATIONS) == len(set(COMBINATIONS)) == 1 + 10 + 45
    assert list(make().rows) == [" ".join(names) for names in COMBINATIONS]


def test_weights_and_output_are_torchs_whatever_is_broken():
    """The lines on show are run, on the machine's own numbers."""
    machine = make()
    x = torch.tensor(machine.qkv, dtype=torch.float64)[None]  # what the first projection gives
    mask = (torch.arange(x.shape[1]) >= PADDING).expand(1, x.shape[1], -1)
    mix = nn.Linear(8, 8, bias=False).double()
    mix.weight.data = torch.tensor(machine.mix, dtype=torch.float64)
    right = None
    for names in COMBINATIONS:
        set_to(machine, names)
        layer = broken_layer.build(names).eval()
        layer.qkv, layer.out = nn.Identity(), mix
        with torch.no_grad():
            output, weights = layer(x, mask)
        shown = machine.compute()
        found = weights[0].numpy() if weights.dim() == 4 else weights.numpy()
        assert np.array(shown["weights"]) == pytest.approx(found, abs=1e-12), names
        right = output[0] if right is None else right
        if shown["moved"] is None:
            assert "dropout" in names
        else:
            moved = (output[0] - right).norm(dim=-1)
            assert shown["moved"] == pytest.approx(moved.tolist(), abs=1e-6), names


@pytest.mark.parametrize("names", COMBINATIONS[:11] + COMBINATIONS[11::9], ids=" ".join)
def test_the_words_are_those_of_the_checks(names):
    machine = make()
    set_to(machine, names)
    words = [machine.words[place] for place in machine.compute()["said"]]
    assert words == broken_layer.said(names)


@pytest.mark.slow
def test_all_words_are_those_of_the_checks():
    assert broken_layer.record() == broken_layer.recorded()


@pytest.mark.parametrize("line", BREAKABLE, ids=lambda line: line.exhibit)
def test_each_line_is_an_exhibit_and_a_check_turns_red(line):
    assert line.exhibit in museum.exhibits()
    shown = make(first=line.name).compute()
    assert any(place >= len(museum.USUAL) for place in shown["red"])


def test_two_lines_together_ignore_the_mask_and_the_usual_tests_do_not_see_it():
    machine = make(first="empty", second="kept")
    shown = machine.compute()
    sums = np.array(shown["weights"]).sum(-1)
    assert sums == pytest.approx(1)
    assert [n for n in shown["red"] if n < 2] == []
    assert {machine.lamps[n] for n in shown["red"]} > {"assert_causal", "assert_padding_invariant"}
