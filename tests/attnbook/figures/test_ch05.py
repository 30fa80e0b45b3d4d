"""The figures of chapter 05 show what the machine and the results file hold."""

import pytest

from attnbook import recorded
from attnbook.figures import ch05
from attnbook.machines import DMachine


@pytest.mark.parametrize(("d", "seed"), [(4, 0), (1024, 350)])
def test_the_lottery_is_the_machines(draw, d, seed):
    (ax,) = draw(ch05.lottery, d, seed)
    for line, scale in zip(ax.lines, ("none", "root", "full"), strict=True):
        jolts = DMachine(d=d, scale=scale, seed=seed).compute()["jolts"]
        assert list(line.get_ydata()) == sorted(jolts, reverse=True)
        assert max(jolts) <= ax.get_ylim()[1]


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_the_race_is_the_recorded_one(draw, optimizer):
    run, never = recorded.results("scales"), 1.8 * 2000
    for ax, scale in zip(draw(ch05.race, optimizer), ch05.SCALES, strict=True):
        lines = {line.get_label(): line for line in ax.lines}
        for d in (16, 64, 256):
            expected = {
                row["rate"]: row["updates_to_goal"]["median"] or never
                for row in run["rows"]
                if (row["optimizer"], row["scale"], row["d"]) == (optimizer, scale, d)
            }
            rates, medians = lines[f"d = {d}"].get_data()
            assert dict(zip(rates, medians, strict=True)) == expected
