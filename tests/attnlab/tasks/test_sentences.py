"""Sentences: split where one ends, and nowhere else."""

import sys

import pytest

from attnlab import tasks
from tests.refusals.wrong_calls import refused


@pytest.mark.parametrize(
    "text, sentences",
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Ax ran 3.5 km, i.e. far. He slept.", ["Dr. Ax ran 3.5 km, i.e. far.", "He slept."]),
        ("A line\nthat is wrapped. \n\n  Another  one", ["A line that is wrapped.", "Another one"]),
        ("", []),
        (" \n ", []),
    ],
)  # fmt: skip
def test_sentences_end_where_they_end(text, sentences):
    assert tasks.split_sentences(text) == sentences


def test_another_language():
    text = "Er kam am 3. Mai. Dann ging er z. B. heim."
    assert tasks.split_sentences(text, language="de") == [
        "Er kam am 3. Mai.",
        "Dann ging er z. B. heim.",
    ]


def test_without_the_library_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pysbd", None)
    with pytest.raises(ImportError, match=r"pysbd: expected .*attnkit\[sentences\]"):
        tasks.split_sentences("One. Two.")


test_wrong_calls = refused("tasks", "sentences", names=globals())
