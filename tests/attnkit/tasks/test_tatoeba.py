"""The sentences that come with the package."""

import re

import pytest

from attnkit.tasks import references, tatoeba, tokenize


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
