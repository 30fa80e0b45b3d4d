"""The tiles of 13b count as the experiment does, and show what it found."""

import math
import re

import pytest

from attnbook import recorded
from attnbook.figures import ch13b
from booktools.address import ROOT
from experiments import _smollm


def test_the_tiles_count_what_the_experiment_kept_and_show_its_loss():
    sizes = ch13b.MODEL
    assert (sizes["layers"], sizes["heads"], sizes["groups"], sizes["dim"]) == (
        _smollm.LAYERS, _smollm.HEADS, _smollm.KV_HEADS, _smollm.HEAD_DIM
    )  # fmt: skip
    for row in recorded.results("smaller_caches")["rows"]:
        now = ch13b.tiles(form=ch13b.named(row["form"]), bits=row["bits"]).compute()
        assert now["bytes"] == row["bytes"]
        assert now["found"]["loss"] == row["mean_loss"]
        assert now["found"]["said"].split()[:-1] == row["said"].split()


def test_in_8_bits_the_model_writes_word_for_word_the_same():
    rows = recorded.results("smaller_caches")["rows"]
    said = {row["bits"]: row["said"] for row in rows if row["form"] == "three"}
    assert said[8] == said[16] != said[4]


@pytest.mark.parametrize(("form", "bits", "price"), [
    ("three", 8, "12 | 8 bits: **+0.1%**"), ("latent 192", 16, "half: +0.7%"),
    ("three", 4, "4 bits: +6.9%"), ("latent 96", 16, "a quarter: +60%"),
    ("latent 192", 8, "half, in 8 bits: +0.7%"), ("three", 2, "2 bits: +2,560%"),
    ("latent 48", 16, "an eighth: +402%"), ("latent 192", 4, "half, in 4 bits: +13%"),
])  # fmt: skip
def test_the_table_has_the_prices_of_the_results(form, bits, price):
    rows = recorded.results("smaller_caches")["rows"]
    loss = {(row["form"], row["bits"]): row["mean_loss"] for row in rows}
    rise = 100 * math.expm1(loss[form, bits] - loss["three", 16])
    figures = re.search(r"[+]([\d,.]+)%", price)[1]
    digits = -1 if rise > 1000 else len(figures.partition(".")[2])
    assert round(rise, digits) == float(figures.replace(",", ""))
    assert price in (ROOT / "chapters/13b_smaller_caches.ipynb").read_text(encoding="utf-8")


@pytest.mark.parametrize(("form", "bits", "price"), [
    ("three", 8, "8 bits: **+0.1%** (+0.2%)"), ("three", 4, "4 bits: +6.9% (**−0.2%**)"),
    ("three", 2, "2 bits: +2,560% (+126%)"), ("latent 192", 8, "half, in 8 bits: +0.7% (+0.7%)"),
    ("latent 192", 4, "half, in 4 bits: +13% (**+6.4%**)"),
    ("latent 96", 16, "a quarter costs +49%"),
])  # fmt: skip
def test_the_brackets_have_the_prices_of_the_controls(form, bits, price):
    rows = recorded.results("smaller_caches_controls")["rows"]
    own, *rest = [row for row in rows if row["by_feature"] or row["bits"] == 16]
    loss = {(row["form"], row["bits"]): row["mean_loss"] for row in rest}
    rise = 100 * math.expm1(loss[form, bits] - own["mean_loss"])
    figures = re.findall(r"[+−][\d,.]+(?=%)", price)[-1].replace("−", "-")
    assert round(rise, len(figures.partition(".")[2])) == float(figures)
    assert price in (ROOT / "chapters/13b_smaller_caches.ipynb").read_text(encoding="utf-8")


def test_the_controls_were_read_by_the_very_model_that_the_prices_were():
    here, there = (recorded.results(name) for name in ("smaller_caches", "smaller_caches_controls"))
    assert here["rows"][0]["mean_loss"] == there["rows"][0]["mean_loss"]
    assert here["device"] == there["device"]
