"""The figures of 13b draw the results file, and the tiles count as the experiment does."""

import math

import pytest

from attnbook import recorded
from attnbook.figures import ch13b
from experiments import _smollm, smaller_caches


def test_the_rise_is_drawn_against_bytes(shown):
    ch13b.losses()
    rows = recorded.results("smaller_caches")["rows"]
    lines = shown[0].axes[0].lines
    assert ch13b.STYLES.keys() == set(smaller_caches.FORMS)
    for line, form in zip(lines, ch13b.STYLES, strict=True):
        found = [row for row in rows if row["form"] == form]
        assert line.get_xdata() == pytest.approx([row["bytes"] / 1024 for row in found])
        ratios = [math.exp(row["mean_loss"]) / math.exp(rows[0]["mean_loss"]) for row in found]
        assert list(line.get_ydata()) == pytest.approx([100 * (r - 1) for r in ratios])


def test_the_tiles_count_what_the_experiment_kept_and_show_its_loss():
    sizes = ch13b.MODEL
    assert (sizes["layers"], sizes["heads"], sizes["groups"], sizes["dim"]) == (
        _smollm.LAYERS, _smollm.HEADS, _smollm.KV_HEADS, _smollm.HEAD_DIM
    )  # fmt: skip
    for row in recorded.results("smaller_caches")["rows"]:
        now = ch13b.tiles(form=ch13b.named(row["form"]), bits=row["bits"]).compute()
        assert now["bytes"] == row["bytes"]
        assert now["found"]["loss"] == row["mean_loss"]
