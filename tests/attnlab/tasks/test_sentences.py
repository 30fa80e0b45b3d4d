"""Sentences: split where one ends, and nowhere else."""

import sys

import pytest

from attnlab import tasks
from tests.refusals.wrong_calls import refused


@pytest.mark.parametrize("text, language, sentences", [
    ("Dr. Ax ran 3.5 km, i.e. far. He slept.", "en", ["Dr. Ax ran 3.5 km, i.e. far.", "He slept."]),
    ("A line\nis wrapped. \n\n  Another  one", "en", ["A line is wrapped.", "Another one"]),
    (" \n ", "en", []),
    ("Er kam am 3. Mai. Er ging.", "de", ["Er kam am 3. Mai.", "Er ging."]),
])  # fmt: skip
def test_sentences_end_where_they_end(text, language, sentences):
    assert tasks.split_sentences(text, language=language) == sentences


def test_without_the_library_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pysbd", None)
    with pytest.raises(ImportError, match=r"pysbd: expected .*attnkit\[sentences\]"):
        tasks.split_sentences("One. Two.")


test_wrong_calls = refused("tasks", "sentences", names=globals())
