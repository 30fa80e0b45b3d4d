"""The sentences that come with the package."""

import re

import pytest

from attnlab.metrics import alignment_error_rate
from attnlab.tasks import references, tatoeba, tatoeba_aligned, tokenize


def plain(text):
    return re.sub(r"[^\w\s]", "", text.lower()).strip()


@pytest.mark.parametrize(("split", "pairs"), [("train", 71295), ("valid", 1504), ("test", 1549)])
def test_a_split_is_whole_and_both_ways_the_same(split, pairs):
    lines = tatoeba(split)
    assert len(lines) == pairs
    assert all(len(line) == 2 and line[0].strip() and line[1].strip() for line in lines)
    assert [line[::-1] for line in tatoeba(split, "fr", "en")] == lines


def test_no_english_sentence_stands_in_two_splits():
    splits = [
        {plain(english) for english, _ in tatoeba(name)} for name in ("train", "valid", "test")
    ]
    assert [len(split) for split in splits] == [46092, 1000, 1000]
    assert len(set.union(*splits)) == sum(map(len, splits))


def test_references_gathers_all_translations_of_a_sentence():
    lines = tatoeba("test")
    sources, targets = references(lines)
    assert len(sources) == len(targets) == len({tuple(tokenize(source)) for source, _ in lines})
    assert sum(map(len, targets)) == len(lines)
    place = sources.index("Here we are!")
    assert targets[place] == [french for english, french in lines if english == "Here we are!"]


def test_the_aligned_pairs_are_those_that_the_rule_chooses():
    sources, targets = references(tatoeba("test"))
    words = [tuple(tokenize(source)) for source in sources]
    rows = [row for row, source in enumerate(words) if 5 <= len(source) <= 10]
    part = len(rows) // 36
    chosen = rows[part // 2 :: part][:36]
    pairs = tatoeba_aligned()
    assert [pair.source for pair in pairs] == [words[row] for row in chosen]
    assert [pair.target for pair in pairs] == [tuple(tokenize(targets[row][0])) for row in chosen]


def test_every_word_of_an_aligned_target_has_a_link_within_its_sentence():
    for pair in tatoeba_aligned():
        assert pair.sure < pair.possible or pair.sure == pair.possible
        assert {row for row, _ in pair.possible} == set(range(len(pair.target)))
        assert {column for _, column in pair.possible} <= set(range(len(pair.source)))


def test_one_link_a_word_comes_close_to_the_aligned_pairs_and_order_does_not():
    """Links with their sides swapped, or shifted by a word, would fail here."""
    pairs = tatoeba_aligned()
    sure, possible = [pair.sure for pair in pairs], [pair.possible for pair in pairs]
    best = [{row: (row, c) for row, c in [*sorted(p.possible), *sorted(p.sure)]} for p in pairs]
    in_order = [{(row, min(row, len(p.source) - 1)) for row in range(len(p.target))} for p in pairs]
    rates = [
        alignment_error_rate(links, sure=sure, possible=possible)
        for links in ([set(links.values()) for links in best], in_order)
    ]
    assert rates[0] < 0.02
    assert 0.4 < rates[1] < 0.6
