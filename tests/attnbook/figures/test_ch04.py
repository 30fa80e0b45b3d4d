"""The figures of chapter 04 and of its second page show what the results files hold."""

import statistics

import numpy as np
import pytest

from attnbook import recorded
from attnbook.figures import ch04, ch04b
from experiments import by_length, score_rates


def test_every_model_has_every_rate_of_the_grid_in_three_seeds():
    found = ch04.by_rate()
    assert set(found) == set(score_rates.MODELS)
    for rated in found.values():
        assert tuple(rated) == score_rates.RATES
        assert all(len(shares) == len(score_rates.SEEDS) for shares in rated.values())


def test_the_lines_are_the_recorded_shares(shown):
    ch04.rates()
    lines = {line.get_label(): line for line in shown[0].axes[0].lines}
    rows = [*recorded.results("score_rates")["rows"],
            *({"rate": by_length.RATES.get(row["model"], by_length.RATE)} | row
              for row in recorded.results("by_length_toy_french")["rows"])]  # fmt: skip
    for model in score_rates.MODELS:
        rated = {row["rate"]: row["runs"][:3] for row in rows if row["model"] == model}
        middle = [
            statistics.median(by_length.within({"longest": 8, **run}) for run in rated[rate])
            for rate in score_rates.RATES
        ]
        line = lines[ch04.NAMES.get(model, model)]
        assert line.get_ydata() == pytest.approx(middle)
        assert line.get_xdata() == pytest.approx(score_rates.RATES, rel=0.07)


def test_how_far_they_reach_is_what_was_recorded_and_all_had_one_rate(shown):
    ch04b.beyond()
    lines = {line.get_label(): line for line in shown[0].axes[0].lines}
    run = recorded.results("by_length_reverse")
    for row in run["rows"]:
        if row["model"] in ch04b.MODELS:
            expected = [row["by_length"][str(n)]["exact"]["median"] for n in range(2, 21)]
            assert lines[row["model"]].get_ydata() == pytest.approx(expected)
    rates = {side["model"]: side["rates"] for side in run["training"]}
    assert len({tuple(rates[model]) for model in ch04b.MODELS}) == 1


def test_the_late_map_is_the_other_one_row_lower(shown):
    weights, pair = ch04b.phrase()
    assert dict(enumerate(weights.argmax(-1).tolist()[:-1])) == dict(pair.sure)
    ch04b.late()
    right, late = (np.array(ax.images[0].get_array()) for ax in shown[0].axes[:2])
    assert right == pytest.approx(weights.numpy())
    assert late[1:] == pytest.approx(right[:-1])
    assert (late[0] == 0).all()
    for row, column in pair.sure:
        assert late[row, column] < 0.05
