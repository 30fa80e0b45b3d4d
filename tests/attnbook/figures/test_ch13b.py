"""The figures of 13b draw the results file, and the tiles count as the experiment does."""

import math

import pytest

from attnbook import recorded
from attnbook.figures import ch13b
from attnbook.releases import DATA
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
    sizes = ch13b.MODELS[2]
    assert (sizes["layers"], sizes["heads"], sizes["groups"], sizes["dim"]) == (
        _smollm.LAYERS, _smollm.HEADS, _smollm.KV_HEADS, _smollm.HEAD_DIM
    )  # fmt: skip
    for row in recorded.results("smaller_caches")["rows"]:
        form, latent = ch13b.NAMES.get(row["form"]) or ("latent", int(row["form"].split()[1]))
        tiles = ch13b.tiles(model=2, form=form, latent=latent or 192, bits=row["bits"])
        now = tiles.compute()
        assert now["bytes"] == row["bytes"]
        assert now["found"][0]["loss"] == row["mean_loss"]


def test_the_table_has_the_tiles_numbers_and_those_of_the_releases():
    rows = {row[0][0]: row for row in ch13b.models().rows}
    tiles = ch13b.tiles(model=1, form="latent", latent=512)
    assert f"{tiles.compute()['bytes'] / 1024:.1f}" == rows["DeepSeek-V3 (2024)"][3][0]
    found = next(one for one in DATA["models"] if one["name"] == "Qwen3 235B")
    layer = found["layers"]["f"]
    counted = found["order"][0][0] * 2 * layer["kv_heads"] * layer["head"] * 2
    assert f"{counted / 1024:.1f}" == rows["Qwen3 235B (2025)"][3][0]
