"""A beam as a tree: the search is the library's, at every width and penalty."""

import math
from functools import cache

import pytest
import torch

from attnbook import translators
from attnbook.machines import BeamTree
from attnbook.machines.beam_tree import LONGEST
from attnlab import Translator
from attnlab.tasks import detokenize, tokenize

SENTENCES = ["the black cat slept", "my friend often eats a red apple"]


@cache
def model() -> Translator:
    return translators.translator("live_translator_additive")


def make(text: str = SENTENCES[0], **settings) -> BeamTree:
    given = {"sentences": [text, SENTENCES[1]], "people": [text, "mon ami mange"], "widest": 4}
    return BeamTree(model(), **given | {"sentence": 1, "title": "A beam"} | settings)


SETTINGS = [
    {"width": 2, "penalty": 2.0},
    {"width": 1},
    {"sentence": 0, "width": 3, "penalty": 0.0},
    {"sentence": 0, "penalty": 1.4},
    {"width": 3, "box": 9},
]


@pytest.mark.parametrize("penalty", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("width", [1, 2, 4])
def test_what_is_found_is_what_the_translator_finds(width, penalty):
    translator, machine = model(), make(penalty=penalty, width=width)
    for sentence, text in enumerate(machine.sentences):
        machine.sentence = sentence
        found = machine.compute()["found"]
        ids = torch.tensor([translator.source_vocab.encode(tokenize(text))])
        options = {"beam_size": width, "length_penalty": penalty, "n_best": 1}
        want = translator.model.beam(ids, None, LONGEST, **options)
        assert found[0]["total"] == pytest.approx(want.scores[0, 0].item(), abs=1e-3)
        words = translator.target_vocab.decode(want.tokens[0, 0])
        assert found[0]["text"].removesuffix(" …").split() == detokenize(words).split()


def test_a_row_has_no_more_than_the_finished_leave_room_for():
    for settings in SETTINGS:
        machine = make(**settings)
        tree, rows = machine.trees[machine.sentence], machine.compute()["rows"]
        ended = 0
        for before, row in zip([[0], *rows], rows, strict=False):
            assert len(row) <= machine.width - ended
            assert {tree[node][0] for node in row} <= set(before)
            ended += sum(bool(tree[node][3]) for node in row)


def test_a_box_is_multiplied_out_and_one_that_is_not_kept_is_not():
    machine = make(width=3)
    tree = machine.trees[machine.sentence]
    for row in machine.compute()["rows"]:
        products = []
        for node in row:
            machine.box = node
            chain = machine.compute()["chain"]
            assert chain[-1]["node"] == node
            steps = [tree[one["node"]][2] for one in chain]
            assert chain[-1]["so_far"] == pytest.approx(math.exp(sum(steps)))
            products.append(chain[-1]["so_far"])
        assert products == sorted(products, reverse=True)
    machine.box = 0
    assert machine.compute()["chain"] == []
