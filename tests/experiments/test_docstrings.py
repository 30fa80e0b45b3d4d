"""Documents from docstrings: plain sentences, none twice; and what a choice of one is worth."""

import pytest

from experiments import _docstrings as docstrings
from experiments import docstrings as experiment
from experiments._docstrings import Source

BODY = (
    "It opens in text mode unless told otherwise. The name may be relative to the folder. "
    "A missing file raises an error at once. Whoever calls it must close it again later. "
    "The buffer is as large as the system likes. Nothing is written before it is flushed or "
    "closed, so close it."
)
FILE = f'''"""Too short."""
def one():
    """Open a file by its name.

    {BODY}

        >>> one()

    Parameters
    ----------
    More words here, which are no part of the document.
    """
def two():
    """Open another file by name.

    {BODY}
    """
'''


def test_a_document_is_the_plain_text_before_the_first_heading(tmp_path):
    (tmp_path / "a.py").write_text(FILE)
    (tmp_path / "test_b.py").write_text(FILE.replace("file", "thing"))
    (tmp_path / "broken.py").write_text("def (")
    (found,) = docstrings.collect("here", tmp_path)
    assert found.name == "here/a.py:one"
    assert found.summary == "Open a file by its name."
    assert " ".join(found.sentences) == BODY
    assert len(found.sentences) == 6


@pytest.mark.parametrize(
    "text",
    ["One line.", "No stop at the end\n\nBody.", "Open.\n\nBody.", "A\nb\nthird line.\n\nBody."],
)
def test_a_docstring_without_a_first_sentence_is_no_document(text):
    assert docstrings.split(text) is None


def test_code_and_lists_are_left_out():
    text = "It does a thing.\n\nSee this::\n\n- one\n- two\n\nPlain words."
    assert docstrings.split(text) == ("It does a thing.", "Plain words.")


SOURCES = [
    Source("a", "the cat sat", ["a dog ran", "the cat sat down", "the cat"]),
    Source("b", "rain fell", ["rain fell", "no", "sun"]),
]


def test_the_best_sentence_has_the_most_words_of_the_first_line():
    scores = experiment.rouge_of(SOURCES)
    assert experiment.best_of(scores) == [1, 0]
    assert scores[1][0]["rouge1"] == scores[1][0]["rougeL"] == 1


def test_an_interval_holds_its_mean_and_narrows_with_more_documents():
    few, many = (experiment.bootstrap([0.0, 1.0] * n) for n in (5, 200))
    for found in (few, many):
        assert found["low"] < found["mean"] == 0.5 < found["high"]
    assert many["high"] - many["low"] < few["high"] - few["low"]
