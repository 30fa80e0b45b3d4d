"""The figures of chapter 04 and of its second page show what the results files hold."""

import statistics

import numpy as np
import pytest

from attnbook import recorded
from attnbook.figures import ch04, ch04b
from experiments import by_length, score_rates, when_to_look


def test_the_lines_are_the_recorded_shares(draw):
    lines = {line.get_label(): line for line in draw(ch04.rates)[0].lines}
    rows = [*recorded.results("score_rates")["rows"],
            *({"rate": by_length.RATES.get(row["model"], by_length.RATE)} | row
              for row in recorded.results("by_length_toy_french")["rows"])]  # fmt: skip
    assert set(lines) == set(ch04.SIDES) == set(score_rates.MODELS) - {"dot, input feeding"}
    for model in ch04.SIDES:
        rated = {row["rate"]: row["runs"][:3] for row in rows if row["model"] == model}
        middle = [
            statistics.median(by_length.within({"longest": 8, **run}) for run in rated[rate])
            for rate in score_rates.RATES
        ]
        line = lines[model]
        assert line.get_ydata() == pytest.approx(middle)
        assert line.get_xdata() == pytest.approx(score_rates.RATES, rel=0.07)


def test_the_marks_are_the_recorded_times_forward_and_backward(draw):
    ax, *_ = draw(ch04.price)
    for line, ranges, row in zip(ax.lines, ax.collections, (1, 5), strict=True):
        found = recorded.results("score_cost")["rows"][row]
        assert found["backward"]
        assert found["queries"] == (1, 256)[row > 1]
        ratios = list(found["ratios"].values())
        assert line.get_xdata() == pytest.approx([one["ratio"] for one in ratios])
        spans = [path[:, 0] for path in ranges.get_segments()]
        assert spans == [pytest.approx([one["low"], one["high"]]) for one in ratios]


def test_each_order_is_drawn_at_its_best_rate_of_one_grid(draw):
    rows = recorded.results("when_to_look")["rows"]
    for ax, steps in zip(draw(ch04b.orders), ch04b.budgets(), strict=True):
        lines = {line.get_label(): line for line in ax.lines}
        grids = set()
        for order, (label, *_) in ch04b.ORDERS.items():
            alike = [row for row in rows if (row["order"], row["steps"]) == (order, steps)]
            grids.add(tuple(row["rate"] for row in alike))
            beyond = [statistics.median(when_to_look.share(run, beyond=True) for run in row["runs"])
                      for row in alike]  # fmt: skip
            runs = alike[np.argmax(beyond)]["runs"]
            expected = [
                statistics.median(run["by_length"][str(n)][1] / 100 for run in runs)
                for n in range(2, 21)
            ]
            assert lines[label].get_ydata() == pytest.approx(expected)
        assert len(grids) == 1


def test_the_late_map_is_the_other_one_row_lower(draw):
    weights, pair = ch04b.phrase()
    assert dict(enumerate(weights.argmax(-1).tolist()[:-1])) == dict(pair.sure)
    axes = draw(ch04b.late)
    right, late = (np.array(ax.images[0].get_array()) for ax in axes[:2])
    assert right == pytest.approx(weights.numpy())
    assert late[1:] == pytest.approx(right[:-1])
    assert (late[0] == 0).all()
    for row, column in pair.sure:
        assert late[row, column] < 0.05
    labels = [ax.get_yticklabels() for ax in axes[:2]]
    blue = [[one.get_text() for one in each if one.get_weight() == "bold"] for each in labels]
    assert blue == [["chat"], ["noir"]]  # where petit was read, and a row later
