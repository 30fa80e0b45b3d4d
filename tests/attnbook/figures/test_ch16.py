"""The maps of chapters 16 and 16b are what they are called."""

import re

import pytest
import torch

from attnbook.figures import ch16
from tests.book.chapter import page_cells


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


def _faults(weights, visible):
    """What page 16b's `faults` finds: the cell itself is run."""
    exec(page_cells("16b")["faults"], found := {})
    return found["faults"](weights, visible)


def _ahead(weights):
    """Of how many queries the largest weight lies on the next place."""
    return sum(row.argmax() == i + 1 for i, row in enumerate(weights))


SAID = {
    "mask ignored": lambda w, _: w[:, -2:].max() > 0.9,
    "a head that looks a few words back":
        lambda w, _: sum(1 <= i - row.argmax() <= 3 for i, row in enumerate(w)) > len(w) / 2,
    "no root":
        lambda w, _: (w.max(-1).values < ch16.healthy()["encoder 1.1"][0].max(-1).values).all(),
    "a head that looks at several words": lambda w, _: w.max(-1).values.mean() < 0.55,
    "one place too far": lambda w, _: _ahead(w) > len(w) / 2,
    "mask after the softmax": lambda w, _: (w.sum(-1) < 0.1).sum() >= 3,
    "a sink": lambda w, tokens: tokens[0] == "[CLS]" and w[:, 0].min() > 0.8,
    "softmax over the queries":
        lambda w, _: (w.sum(0) - 1).abs().max() < 1e-3 < (w.sum(1) - 1).abs().max(),
    "a window": lambda w, _: (w.triu(1) == 0).all() and (w.tril(-3)[:7] == 0).all(),
    "heads split by a view": lambda w, _: (w.sum(-1) - 1).abs().max() < 1e-3,
}  # fmt: skip


def test_an_answer_says_of_a_map_what_its_numbers_say():
    asked = ch16.quiz()
    assert {one.name for one in asked} == set(SAID)
    for one in asked:
        weights = torch.tensor(one.weights)
        assert SAID[one.name](weights, one.tokens), one.name
        sums = dict(zip(one.tokens, weights.sum(-1).tolist(), strict=True))
        for token, number in re.findall(r"that of (\S+) (?:sums )?to (\d+\.\d+)", one.because):
            assert number == f"{sums[token]:.2f}", one.because
        if found := re.findall(r"that of (\S+)", one.because):
            assert found == [max(sums, key=sums.get), min(sums, key=sums.get)]


def test_of_the_six_that_show_nothing_impossible_two_are_broken():
    asked, real = ch16.quiz(), ch16.walk()[2]
    possible = []
    for one in asked:
        weights = torch.tensor(one.weights)
        visible = torch.ones_like(weights, dtype=torch.bool)
        if one.told is ch16.DECODER:
            visible = visible.tril()
        elif one.told is not ch16.MARKED:
            visible[:, real:] = False
        if one.told is ch16.WINDOW:
            visible &= visible.tril() & visible.triu(-2)
        if "no eye can tell" in one.because or not one.broken:
            possible.append(one)
        assert bool(_faults(weights, visible)) is (one not in possible), one.name
    assert [one.name for one in possible if one.broken] == ["no root", "heads split by a view"]
    assert len(possible) == 6


def test_a_map_that_nobody_can_tell_is_of_a_head_that_the_quiz_shows_nowhere_else():
    asked = {one.name: torch.tensor(one.weights) for one in ch16.quiz()}
    best = asked["no root"].argmax(-1)
    for name, weights in asked.items():
        if name != "no root" and len(weights) == len(best):
            assert (weights.argmax(-1) == best).float().mean() < 0.7, name
    torch.testing.assert_close(
        ch16.without_root("encoder 0.3"), ch16.walk()[0]["no root"], atol=1e-5, rtol=0
    )


def test_no_right_map_is_accused_in_half_precision():
    for dtype in (torch.bfloat16, torch.float16):
        for weights, visible in ch16.healthy().values():
            rounded = weights.to(dtype)
            assert not _faults(rounded, visible)
            assert not _faults(rounded.float(), visible)
    torch.manual_seed(0)
    visible = torch.ones(512, 512, dtype=torch.bool).tril()
    for spread in (0.1, 1, 4):
        scores = (spread * torch.randn(512, 512)).bfloat16().masked_fill(~visible, -torch.inf)
        assert not _faults(scores.softmax(-1).float(), visible)
