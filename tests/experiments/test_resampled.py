"""The bootstrap over test sentences: its BLEU is sacrebleu's, its interval tells a difference."""

import numpy as np
import pytest

from attnlab import metrics
from experiments import resampled

SAID = ["le chat noir dort bien", "il ne sait pas nager .", "tu es grand , mon ami"] * 20
MEANT = [["le chat noir dort", "le chat dort bien"], ["il ne sait pas nager du tout ."],
         ["tu es grand , mon cher ami"]] * 20  # fmt: skip
WORSE = [text.replace("chat", "chien").replace("pas", "plus") for text in SAID]


def draws(count=500):
    share = [1 / len(SAID)] * len(SAID)
    return np.random.default_rng(0).multinomial(len(SAID), share, size=count)


@pytest.mark.parametrize("said", [SAID, WORSE])
def test_sums_of_sentences_give_the_bleu_of_the_whole(said):
    want = metrics.bleu(hypotheses=said, references=MEANT, lowercase=True).score
    assert resampled.bleu(resampled.counts(said, MEANT).sum(0)) == pytest.approx(want, abs=1e-6)


def test_a_list_does_not_differ_from_itself_and_a_worse_one_does():
    better, worse = (resampled.counts(said, MEANT) for said in (SAID, WORSE))
    assert resampled.difference(better, better, draws())["interval_95"] == [0, 0]
    found = resampled.difference(better, worse, draws())
    low, high = found["interval_95"]
    assert 0 < low < found["difference"] < high


def test_an_interval_is_as_wide_as_draws_one_by_one_make_it():
    better, worse = (resampled.counts(said, MEANT) for said in (SAID, WORSE))
    random, found = np.random.default_rng(1), []
    for _ in range(500):
        rows = random.integers(len(SAID), size=len(SAID))
        found.append(resampled.bleu(better[rows].sum(0)) - resampled.bleu(worse[rows].sum(0)))
    want = np.percentile(found, (2.5, 97.5))
    got = resampled.difference(better, worse, draws())["interval_95"]
    assert got == pytest.approx(want.tolist(), rel=0.2)
