"""The data says what it claims, everywhere the same, and batches lose nothing."""

import datetime
import itertools
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnlab import tasks
from attnlab.tasks import BOS, EOS, PAD, UNK, Batches, Choices, Pair, Vocab
from attnlab.tasks.dates import SPELLINGS, date_pair


def test_draw_is_the_same_on_every_machine():
    draw = Choices(7)
    assert [draw.below(1000) for _ in range(5)] == [712, 877, 950, 298, 806]
    assert Choices(7).shuffled("abcdef") == ["c", "b", "a", "d", "f", "e"]
    assert Choices(7, 1).below(10**6) != Choices(7, 2).below(10**6)


def test_draw_reaches_every_option_about_evenly():
    draw = Choices(0)
    counts = [0] * 6
    for _ in range(6000):
        counts[draw.between(1, 6) - 1] += 1
    assert min(counts) > 900
    assert max(counts) < 1100


def test_every_order_is_as_likely_as_the_others():
    draw = Choices(1)
    counts = Counter("".join(draw.shuffled("abc")) for _ in range(6000))
    assert len(counts) == 6
    assert min(counts.values()) > 900


@given(st.lists(st.integers(), max_size=30), st.integers(0, 1000))
def test_shuffled_keeps_every_item_and_the_input(items, seed):
    before = list(items)
    assert sorted(Choices(seed).shuffled(items)) == sorted(items)
    assert items == before


def test_every_makes_each_combination_once_even_when_options_depend_on_choices():
    def build(choose):
        first = choose((1, 2, 3))
        return (first, *(choose("ab") for _ in range(first)))

    found = list(tasks.all_choices(build))
    expected = [(n, *rest) for n in (1, 2, 3) for rest in itertools.product("ab", repeat=n)]
    assert found == expected


@pytest.mark.parametrize("seed", [0, 1])
def test_reverse_and_copy_answer_and_align_exactly(seed):
    for pair in tasks.reverse(200, min_length=2, max_length=9, seed=seed):
        assert pair.target == tuple(reversed(pair.source))
        assert len(pair.sure) == len(pair.source)
        for row, column in pair.sure:
            assert row + column == len(pair.source) - 1
        assert pair.sure == pair.possible
    for pair in tasks.copy(200, seed=seed):
        assert pair.target == pair.source
        assert pair.sure == {(place, place) for place in range(len(pair.source))}


def test_reverse_covers_its_lengths_and_symbols_and_follows_its_seed():
    pairs = tasks.reverse(500, min_length=3, max_length=6, symbols=4)
    assert {len(pair.source) for pair in pairs} == {3, 4, 5, 6}
    assert {token for pair in pairs for token in pair.source} == set("abcd")
    assert tasks.reverse(20, seed=1) == tasks.reverse(20, seed=1) != tasks.reverse(20, seed=2)


def test_dates_are_right_in_every_spelling():
    for spelling in SPELLINGS:
        for date in (datetime.date(1979, 5, 3), datetime.date(2024, 12, 21)):
            pair = date_pair(date, spelling)
            assert "".join(pair.target) == date.isoformat()
            assert str(date.year) in "".join(pair.source)
            for row, column in pair.sure:
                assert pair.target[row] == pair.source[column]
                assert pair.source[column].isdigit()
            rows = {row for row, _ in pair.possible}
            assert rows == {0, 1, 2, 3, 5, 6, 8, 9}, "all but the hyphens"
            assert pair.sure <= pair.possible
            assert {(0, 0), (3, 3)} <= {
                (row, column - "".join(pair.source).index(str(date.year)))
                for row, column in pair.sure
            }


def test_dates_known_examples():
    pair = date_pair(datetime.date(1979, 5, 3), "{d} {month} {y}")
    assert "".join(pair.source) == "3 May 1979"
    assert pair.sure == {(0, 6), (1, 7), (2, 8), (3, 9), (9, 0)}
    assert pair.possible - pair.sure == {(8, 0), *itertools.product((5, 6), (2, 3, 4))}
    spelled = "".join(date_pair(datetime.date(2026, 11, 21), "{day}, {month} {d}, {y}").source)
    assert spelled == "Saturday, November 21, 2026"


def test_dates_use_every_spelling_and_stay_in_their_years():
    pairs = tasks.dates(500, first_year=1990, last_year=1991)
    years = {"".join(pair.target[:4]) for pair in pairs}
    assert years == {"1990", "1991"}
    assert any("of" in "".join(pair.source) for pair in pairs)
    assert tasks.dates(5, seed=3) == tasks.dates(5, seed=3)


def test_salient_sentences_are_exactly_the_events_of_the_one_person_named_more_than_once():
    from attnlab.tasks.salient import EVENTS, NAMES, ROLES

    for document in tasks.salient(300, chosen=3, seed=5):
        texts = [" ".join(sentence) for sentence in document.sentences]
        whos = [*NAMES, *ROLES]
        counts = {who: sum(text.startswith(who + " ") for text in texts) for who in whos}
        subjects = [who for who, count in counts.items() if count > 1]
        assert len(subjects) == 1
        told = {
            place
            for place, text in enumerate(texts)
            if text.startswith(subjects[0]) and any(event in text for event in EVENTS)
        }
        assert told == set(document.salient)
        assert len(document.salient) == 3
        others = sum(any(event in text for event in EVENTS) for text in texts) - 3
        assert others >= 3, "an event alone must not give a sentence away"
        for place, line in zip(document.salient, document.summary, strict=True):
            assert document.sentences[place][: len(line)] == line


def test_salient_places_are_even():
    documents = tasks.salient(3000, min_sentences=10, max_sentences=10, chosen=2)
    counts = [0] * 10
    for document in documents:
        for place in document.salient:
            counts[place] += 1
    assert min(counts) > 500
    assert max(counts) < 700


def test_vocab_round_trip_unknown_and_special_tokens():
    vocab = Vocab.build([["b", "a", "b"], ["c"]])
    assert vocab.tokens == ["<pad>", "<bos>", "<eos>", "<unk>", "b", "a", "c"]
    assert (PAD, BOS, EOS, UNK) == (0, 1, 2, 3)
    assert vocab.decode(vocab.encode(["c", "a", "z"])) == ["c", "a", "<unk>"]
    assert vocab.decode(torch.tensor([BOS, 4, PAD, 5, EOS, 6])) == ["b", "a"]
    assert "a" in vocab
    assert "z" not in vocab
    assert Vocab(vocab.tokens[4:]) == vocab
    assert Vocab(["a", "b"]) != vocab


def test_vocab_limits():
    sequences = [["a"] * 3 + ["b"] * 2 + ["c"]]
    assert Vocab.build(sequences, min_count=2).tokens[4:] == ["a", "b"]
    assert Vocab.build(sequences, max_size=5).tokens[4:] == ["a"]


@pytest.mark.parametrize(
    "text", ["l'oiseau qu'il n'a pas vu.", "the dogs' bones, the dog's (old) bone!", "c'est 3.5 kg"]
)
def test_detokenize_undoes_tokenize(text):
    assert tasks.detokenize(tasks.tokenize(text)) == text


def pairs_of_all_lengths():
    return tasks.reverse(203, max_length=12, seed=3)


@pytest.mark.parametrize("shuffle", [True, False])
def test_batches_hold_every_example_once_in_each_epoch(shuffle):
    pairs = pairs_of_all_lengths()
    batches = Batches(pairs, *tasks.vocabs(pairs), batch_size=16, shuffle=shuffle)
    for epoch in range(3):
        seen = [place for batch in batches.epoch(epoch) for place in batch.index.tolist()]
        assert sorted(seen) == list(range(len(pairs)))
    assert len(batches) == len(list(batches)) == 13


def test_batches_hold_what_their_index_says():
    pairs = pairs_of_all_lengths()
    source_vocab, target_vocab = tasks.vocabs(pairs)
    for batch in Batches(pairs, source_vocab, target_vocab, batch_size=32):
        for row, place in enumerate(batch.index.tolist()):
            pair = pairs[place]
            length, steps = int(batch.source_lengths[row]), int(batch.target_lengths[row])
            assert source_vocab.decode(batch.source[row]) == list(pair.source)
            assert length == len(pair.source)
            assert (batch.source[row, length:] == PAD).all()
            assert batch.target_in[row, 0] == BOS
            assert batch.target_out[row, steps - 1] == EOS
            assert (batch.target_out[row, steps:] == PAD).all()
            assert torch.equal(batch.target_in[row, 1:steps], batch.target_out[row, : steps - 1])
            assert target_vocab.decode(batch.target_out[row]) == list(pair.target)


def test_batches_waste_little_and_follow_seed_and_epoch():
    pairs = tasks.reverse(1000, max_length=20)
    vocabs = tasks.vocabs(pairs)
    batches = Batches(pairs, *vocabs, batch_size=32, seed=4)
    filled = [(batch.source != PAD).float().mean() for batch in batches]
    assert sum(filled) / len(filled) > 0.95

    def order(seed, epoch):
        return [
            b.index.tolist() for b in Batches(pairs, *vocabs, batch_size=32, seed=seed).epoch(epoch)
        ]

    assert order(4, 2) == order(4, 2)
    assert order(4, 2) != order(4, 3)
    assert order(4, 2) != order(5, 2)


def test_batch_moves_its_tokens_and_keeps_its_lengths_on_the_cpu():
    pairs = pairs_of_all_lengths()[:4]
    batch = tasks.collate(pairs, *tasks.vocabs(pairs)).to("meta")
    assert batch.source.is_meta
    assert batch.target_out.is_meta
    assert batch.source_lengths.device.type == "cpu"


def test_reverse_source_turns_links_and_is_its_own_inverse():
    pairs = tasks.toy_french(50)
    turned = tasks.reverse_source(pairs)
    assert tasks.reverse_source(turned) == pairs
    for old, new in zip(pairs, turned, strict=True):
        said = {(old.target[row], old.source[column]) for row, column in old.sure}
        assert said == {(new.target[row], new.source[column]) for row, column in new.sure}


def test_split_deals_out_without_overlap():
    pairs = [Pair((str(n),), ("x",)) for n in range(50)]
    train, valid, test = tasks.split(pairs, 30, 10, 10, seed=1)
    assert sorted(int(p.source[0]) for p in train + valid + test) == list(range(50))
    assert tasks.split(pairs, 30, 10, 10, seed=1) == [train, valid, test]
