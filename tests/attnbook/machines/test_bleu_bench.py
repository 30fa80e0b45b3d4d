"""BLEU of an edited pair is sacrebleu's, and every run that is marked is shared."""

import pytest
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

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
    {"said": " ".join(["de"] * 45), "meant": " ".join(["de"] * 20)},
    {"said": "dort… “3.5”, 3-4 &amp; [l'été]", "meant": "a-t-il 1,000 €? (oui!) x/y~z 2. 𝄞."},
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


@pytest.mark.parametrize("said", [text for setting in SETTINGS for text in setting.values()])
def test_words_are_cut_as_sacrebleu_cuts_them(said):
    now = make(said=said).compute()
    assert now["ours"] == Tokenizer13a()(said.lower()).split()[:24]


@pytest.mark.parametrize("said, meant", [
    ("le chat dort…", "le chat dort bien…"), ("il a 3.5 euros", "il a 3.5 ans"),
])  # fmt: skip
def test_ordinary_text_has_the_score_that_sacrebleu_gives(said, meant):
    score = metrics.bleu(hypotheses=[said], references=[meant]).score
    assert make(said=said, meant=meant).compute()["smoothed"] == pytest.approx(score)


def test_what_is_not_read_is_said():
    assert make(said="de " * 25).compute()["cut"]
    assert make(meant="de " * 25).compute()["cut"]
    assert not make(said="de " * 24).compute()["cut"]


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_run_that_is_marked_stands_in_the_reference(example):
    _, said, meant = example
    now = make(said=said, meant=meant).compute()
    joined = f" {' '.join(now['theirs'])} "
    for n, starts in enumerate(now["hits"], start=1):
        for at in starts:
            assert f" {' '.join(now['ours'][at : at + n])} " in joined
