"""Any word in pieces: what the vocabulary makes of it, join by join."""

import itertools

import pytest

from attnbook.machines import PiecesBench
from attnlab import tasks

VOCAB = tasks.Subwords.build(
    ([*pair.source] for pair in tasks.toy_french(300)), max_size=150
)  # of 300 sentences


def make(text: str = "apple", **settings) -> PiecesBench:
    return PiecesBench(VOCAB, **{"words": [text, "sleeping"], "title": "A title"} | settings)


SETTINGS = [{"word": "Cats"}, {"word": ""}, {"word": "北京 cat"}, {"word": "of" * 20}]


@pytest.mark.parametrize("word", ["apple", "sleeping", "unbelievably", "cats", "ski-x"])
def test_the_last_row_is_what_the_vocabulary_makes_of_it(word):
    rows = make(word=word).compute()["rows"]
    assert rows[-1]["parts"] == VOCAB.pieces([word])
    for before, after in itertools.pairwise(rows):
        assert len(after["parts"]) == len(before["parts"]) - 1
        made = after["parts"][after["made"]]
        assert made == "".join(before["parts"][after["made"] :][:2])
        assert VOCAB.ids[made] == after["number"]


def test_a_space_begins_a_word_and_what_is_not_read_is_said():
    now = make(word="a  cat sat ").compute()
    assert now["rows"][-1]["parts"] == VOCAB.pieces(["a", "cat", "sat"])
    assert (now["letters"], now["cut"]) == (7, False)
    assert make(word="of" * 20).compute()["cut"]


def test_letters_that_no_piece_has_are_said():
    now = make(word="北京").compute()
    assert now["unknown"] == ["北", "京"]
    assert make(word="cat").compute()["unknown"] == []
