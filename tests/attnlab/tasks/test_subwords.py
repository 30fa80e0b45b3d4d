"""Words in pieces: split as sentencepiece splits them, and joined again."""

import io

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab import tasks
from attnlab.tasks import UNK, Subwords
from attnlab.tasks.subwords import _OPTIONS, START

LINES = [tasks.tokenize(text) for pair in tasks.tatoeba("valid") for text in pair]


@pytest.fixture(scope="module")
def subwords():
    return Subwords.build(LINES, max_size=600)


def test_it_splits_as_sentencepiece_does(subwords):
    sentencepiece = pytest.importorskip("sentencepiece")
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(" ".join(words) for words in LINES),
        model_writer=model,
        vocab_size=600,
        **_OPTIONS,
    )
    reader = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    assert subwords.tokens[4:] == [reader.id_to_piece(number) for number in range(4, 600)]
    new = [tasks.tokenize(text) for pair in tasks.tatoeba("test") for text in pair]
    known = [words for words in new if UNK not in subwords.encode(words)]
    assert len(known) > 3000
    for words in known:
        assert subwords.encode(words) == reader.encode(" ".join(words))


def test_it_has_the_size_asked_for_and_is_the_same_each_time(subwords):
    assert len(subwords) == 600
    assert Subwords.build(LINES, max_size=600) == subwords
    assert Subwords.build(LINES, max_size=500) != subwords


def test_words_come_back_and_pieces_are_the_ids(subwords):
    for words in LINES:
        ids = subwords.encode(words)
        assert UNK not in ids
        assert subwords.decode([1, *ids, 2, *ids]) == words
        pieces = subwords.pieces(words)
        assert [subwords.tokens[number] for number in ids] == pieces
        assert len(subwords.spans(pieces)) == len(words)
        assert subwords.join(pieces) == words
    assert sum(len(subwords.encode(words)) for words in LINES) > 1.2 * sum(map(len, LINES))


@pytest.mark.build
@settings(max_examples=50)
@given(st.lists(st.text(min_size=1, max_size=8).filter(lambda word: START not in word), max_size=9))
def test_any_word_comes_back_from_its_pieces(words):
    subwords = Subwords([START, "a", "b", "ab", "▁a"])
    pieces = subwords.pieces(words)
    assert subwords.join(pieces) == words
    ids = subwords.encode(words)
    assert len(ids) == len(pieces)
    assert all(
        number != UNK or piece not in subwords for number, piece in zip(ids, pieces, strict=True)
    )


def test_the_pair_made_first_is_joined_first_and_of_equals_the_left_one():
    subwords = Subwords(["bc", "ab", "aa", START, "a", "b", "c"])
    assert subwords.pieces(["abc", "aaa"]) == [START, "a", "bc", START, "aa", "a"]


def test_a_mark_in_a_word_does_not_begin_another():
    subwords = Subwords([START, "a"])
    assert subwords.pieces([f"a{START}a"]) == [START, "a", "_", "a"]
    assert subwords.spans(subwords.pieces([f"{START}", "a"])) == [(0, 2), (2, 4)]


def test_what_a_model_may_write_becomes_words():
    subwords = Subwords([START, "▁le", "s"])
    assert subwords.join(["s", "▁le", "s", START]) == ["s", "les"]
    assert subwords.spans(["s", "▁le", "s"]) == [(0, 1), (1, 3)]
    assert subwords.spans([]) == []
    assert subwords.decode(torch.tensor([5, 3, 6, 2])) == ["le<unk>s"]


def test_batches_count_pieces_where_a_vocab_counts_words(subwords):
    pairs = tasks.text_pairs(tasks.tatoeba("valid"))
    batches = tasks.Batches(pairs, subwords, subwords, batch_size=50, shuffle=False)
    lengths = torch.cat([batch.source_lengths for batch in batches])
    assert torch.equal(lengths, lengths.sort().values)
    assert any(
        length > len(max(pairs, key=lambda pair: len(pair.source)).source) for length in lengths
    )


def test_without_the_library_it_reads_and_does_not_learn(subwords, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sentencepiece", None)
    assert Subwords(subwords.tokens[4:]) == subwords
    with pytest.raises(ImportError, match=r"sentencepiece: expected .*attnkit\[subwords\]"):
        Subwords.build(LINES, max_size=600)
