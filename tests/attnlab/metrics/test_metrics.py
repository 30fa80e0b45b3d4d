"""Scores against numbers worked out by hand, published tables, and slow definitions."""

import math
import random
import statistics
import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnlab import metrics
from attnlab.metrics import intervals


@given(st.integers(1, 400), st.data())
def test_wilson_bounds_solve_their_equation(trials, data):
    successes = data.draw(st.integers(0, trials))
    rate, low, high = intervals.wilson(successes, trials)
    assert 0 <= low <= rate <= high <= 1
    z = statistics.NormalDist().inv_cdf(0.975)
    for bound in (low, high):
        if 0 < bound < 1:  # each bound p is where |rate - p| = z sqrt(p (1 - p) / n)
            distance = z * math.sqrt(bound * (1 - bound) / trials)
            assert abs(rate - bound) == pytest.approx(distance, abs=1e-9)
    assert intervals.wilson(successes, trials, confidence=0.9).low >= low


def test_median_interval_covers_the_truth_as_often_as_it_says():
    generator, trials = random.Random(1), 4000
    for count in (5, 20):
        held = 0
        for _ in range(trials):  # a skewed distribution, whose median is log(2)
            draws = [generator.expovariate(1.0) for _ in range(count)]
            found = intervals.median_interval(draws)
            assert found.estimate == pytest.approx(statistics.median(draws))
            held += found.low <= math.log(2) <= found.high
        _, coverage = intervals.order_statistic(count)
        # four standard errors of the share of `trials`
        assert held / trials == pytest.approx(coverage, abs=4 * math.sqrt(0.05 * 0.95 / trials))


def test_order_statistic_is_the_tightest_that_keeps_its_word():
    for count in range(6, 60):
        k, coverage = intervals.order_statistic(count)
        tighter = 1 - 2 * sum(math.comb(count, j) for j in range(k + 1)) / 2**count
        assert coverage >= 0.95 > tighter
    assert intervals.order_statistic(5) == (1, 0.9375)
    assert intervals.order_statistic(1) == (1, 0.0)


def test_median_interval_of_runs_that_never_arrive():
    never = math.inf
    assert intervals.median_interval([3, never, 1, never, never]) == (never, 1, never)


def test_an_interval_is_printed_with_its_bounds():
    found = intervals.Interval(0.5, 0.25, 1.0)
    assert f"{found:.2f}" == "0.50 (0.25 to 1.00)"
    assert f"{found}" == str(found) == "Interval(estimate=0.5, low=0.25, high=1.0)"


def test_exact_match_is_of_whole_sequences():
    predicted, expected = ["abc", "", "xy", "q"], ["abc", "", "xz", "qq"]
    assert metrics.exact_match(predicted=predicted, expected=expected) == [True, True, False, False]


def test_alignment_error_rate_by_hand():
    sure, possible = [{(0, 0), (1, 1)}, {(0, 1)}], [{(0, 0), (1, 1), (1, 2)}, {(0, 1), (0, 0)}]

    def rate(*links):
        return metrics.alignment_error_rate(list(links), sure=sure, possible=possible)

    assert rate({(0, 0), (1, 1)}, {(0, 1)}) == 0
    assert rate({(0, 0), (1, 1), (1, 2)}, {(0, 1), (0, 0)}) == 0, "possible links cost nothing"
    assert rate({(0, 3), (1, 3)}, {(0, 3)}) == 1
    # A = 3, S = 3; A & S = 1, A & P = 2 -> 1 - 3/6
    assert rate({(0, 0), (1, 2), (1, 3)}, set()) == pytest.approx(0.5)
    swapped = metrics.alignment_error_rate([{(1, 0)}], sure=[{(0, 1)}], possible=[set()])
    assert swapped == 1, "rows are targets, columns sources"
    assert metrics.alignment_error_rate([{(0, 0)}], sure=[{(0, 0)}], possible=[set()]) == 0


def test_argmax_links_follow_rows_and_leave_padding_out():
    weights = torch.tensor([[0.1, 0.2, 0.7], [0.6, 0.4, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    assert metrics.argmax_links(weights) == {(0, 2), (1, 0), (3, 1)}
    assert metrics.argmax_links(weights, target_length=2) == {(0, 2), (1, 0)}
    assert metrics.argmax_links(weights, source_length=2) == {(0, 1), (1, 0), (3, 1)}
    assert metrics.argmax_links(weights, rows={3}) == {(3, 1)}
    assert metrics.argmax_links(weights, target_length=0) == set()
    assert metrics.argmax_links(weights.half()) == metrics.argmax_links(weights)


def test_entropy_is_that_of_torch_and_in_nats():
    weights = torch.rand(3, 4, 7, dtype=torch.float64).softmax(-1)
    expected = torch.distributions.Categorical(probs=weights).entropy()
    assert torch.allclose(metrics.entropy(weights), expected, atol=1e-12)
    assert metrics.entropy(torch.full((5,), 0.2)).item() == pytest.approx(math.log(5))


def test_entropy_of_masked_and_empty_rows_is_finite_with_its_gradient():
    from attnkit import masked_softmax

    scores = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True] * 6, [True] * 3 + [False] * 3, [False] * 6, [True] + [False] * 5])
    values = metrics.entropy(masked_softmax(scores, mask))
    alone = metrics.entropy(scores[1, :3].softmax(-1))
    assert values[1].item() == pytest.approx(alone.item())
    assert values[2:].tolist() == [0, 0]
    values.sum().backward()
    assert scores.grad.isfinite().all()
    assert (scores.grad[~mask] == 0).all()
    assert torch.autograd.gradcheck(lambda x: metrics.entropy(x.softmax(-1)), scores)
    weights = torch.tensor([0.5, 0.5, 0.0], requires_grad=True)
    metrics.entropy(weights).backward()
    assert weights.grad[2] == 0, "a masked key neither gains nor loses"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_entropy_of_half_precision_weights_is_computed_in_float32(dtype):
    weights = torch.full((1000,), 1e-3, dtype=dtype)
    assert metrics.entropy(weights).dtype == torch.float32
    exact = metrics.entropy(weights.double())
    assert metrics.entropy(weights).item() == pytest.approx(exact.item(), rel=1e-5)


def test_bleu_is_sacrebleus_and_knows_its_sides():
    sacrebleu = pytest.importorskip("sacrebleu")
    hypotheses = ["the cat sat on", "a small dog ran"]
    references = ["the cat sat on the red mat today", "a small dog ran away fast"]
    got = metrics.bleu(hypotheses=hypotheses, references=references)
    assert got.score == sacrebleu.corpus_bleu(hypotheses, [references]).score
    assert "tok:13a" in got.signature
    assert "version:" in got.signature
    swapped = metrics.bleu(hypotheses=references, references=hypotheses)
    assert abs(swapped.score - got.score) > 5, "the order matters, so it must be named"
    assert "BP = 0." in got.details
    with pytest.raises(TypeError):
        metrics.bleu(hypotheses, references)


def test_any_of_several_references_will_do_and_capitals_can_be_ignored():
    sacrebleu = pytest.importorskip("sacrebleu")
    said = ["il fait chaud ici", "tu es mon meilleur ami"]
    several = [["Ici il fait froid", "Il fait chaud ici"], ["Tu es mon meilleur ami"]]
    got = metrics.bleu(hypotheses=said, references=several, lowercase=True)
    assert got.score == pytest.approx(100)
    assert "case:lc" in got.signature
    assert "nrefs:var" in got.signature
    assert metrics.bleu(hypotheses=said, references=several).score < 90
    one = [given[0] for given in several]
    assert metrics.bleu(hypotheses=said, references=one, lowercase=True).score < 90
    for lowercase in (False, True):
        got = metrics.chrf(hypotheses=said, references=one, lowercase=lowercase)
        metric = sacrebleu.CHRF(lowercase=lowercase)
        assert got.score == metric.corpus_score(said, [one]).score
        assert got.signature == str(metric.get_signature())


def test_rouge_is_that_of_rouge_score_averaged():
    pytest.importorskip("rouge_score")
    got = metrics.rouge(hypotheses=["the cat", "x"], references=["the cat sat", "y"])
    assert got["rouge1"] == pytest.approx(0.8 / 2)
    assert got["rouge2"] == pytest.approx(2 / 3 / 2)
    assert set(got) == {"rouge1", "rouge2", "rougeL"}


@pytest.mark.parametrize("name", ["sacrebleu", "rouge_score"])
def test_missing_libraries_are_named_with_the_way_to_get_them(name, monkeypatch):
    for module in list(sys.modules):
        if module.split(".")[0] == name:
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, name, None)
    score = metrics.bleu if name == "sacrebleu" else metrics.rouge
    package = name.replace("_", "-")
    with pytest.raises(ImportError, match=rf"{package}: expected .*attnkit\[metrics\]"):
        score(hypotheses=["a"], references=["a"])
