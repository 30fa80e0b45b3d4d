"""BLEU of an edited pair is sacrebleu's, and every run that is marked is shared."""

import pytest

from attnbook.machines import BleuBench
from attnlab import metrics

EXAMPLES = [
    ("short", "le chat noir dort", "le chat noir dort bien"),
    ("the the", "the the the the", "the cat is on the mat"),
    ("long", "il ne sait pas du tout nager.", "il ne sait pas nager."),
]


def make(**settings) -> BleuBench:
    return BleuBench(EXAMPLES, **{"title": "A title"} | settings)


SETTINGS = [
    {"said": "Il ne sait pas nager", "meant": "Il ne sait pas nager."},
    {"said": "", "meant": "rien"},
    {"said": "un deux", "meant": ""},
    {"said": "l'été à la mer, un deux deux", "meant": "à la mer, l'été: un deux"},
]
PAIRS = [
    *[(said, meant) for _, said, meant in EXAMPLES[::2]],
    ("il ne sait pas du tout nager.", "il ne sait pas nager, du tout"),
    ("a b c d e f a b c d", "a b c d e f"),
    # With a share of zero, which sacrebleu smooths:
    ("où était le princes ?", "où était la princesse ?"), ("a b c d e", "e x y z"),
    ("a b", "a b c"), ("x y z w", "a b c d"), ("a", "a"),
]  # fmt: skip


@pytest.mark.parametrize("said, meant", PAIRS)
def test_it_is_sacrebleus(said, meant):
    now = make(said=said, meant=meant).compute()
    ours, theirs = ([" ".join(now[name])] for name in ("ours", "theirs"))
    want = metrics.bleu(hypotheses=ours, references=theirs, tokenize="none").score
    assert now["smoothed"] == pytest.approx(want, abs=1e-6)
    assert now["bleu"] == (now["smoothed"] if all(now["shares"]) else 0)


def test_a_run_counts_at_most_as_often_as_in_the_reference():
    now = make(said="the the the the", meant="the cat is on the mat").compute()
    assert now["hits"][0] == [0, 1]
    assert now["runs"] == [4, 3, 2, 1]
    assert now["bleu"] == 0


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_run_that_is_marked_stands_in_the_reference(example):
    _, said, meant = example
    now = make(said=said, meant=meant).compute()
    joined = f" {' '.join(now['theirs'])} "
    for n, starts in enumerate(now["hits"], start=1):
        for at in starts:
            assert f" {' '.join(now['ours'][at : at + n])} " in joined
