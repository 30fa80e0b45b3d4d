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


MEASURED, CONTROLS = "smaller_caches", "smaller_caches_controls"


@pytest.mark.parametrize(("run", "form", "bits", "price"), [
    (MEASURED, "three", 8, "12 | 8 bits: **+0.1%"), (MEASURED, "latent 192", 16, "half: +0.7%"),
    (MEASURED, "three", 4, "4 bits: +6.9%"), (MEASURED, "latent 96", 16, "a quarter: +60%"),
    (MEASURED, "latent 192", 8, "in 8 bits: +0.7%"), (MEASURED, "three", 2, "2 bits: +2,560%"),
    (MEASURED, "latent 48", 16, "eighth: +402%"), (MEASURED, "latent 192", 4, "in 4 bits: +13%"),
    (CONTROLS, "three", 8, "8 bits: **+0.1%** (+0.2%)"), (CONTROLS, "three", 2, "(+126%)"),
    (CONTROLS, "three", 4, "4 bits: +6.9% (**−0.2%**)"),
    (CONTROLS, "latent 192", 8, "half, in 8 bits: +0.7% (+0.7%)"),
    (CONTROLS, "latent 192", 4, "half, in 4 bits: +13% (**+6.4%**)"),
    (CONTROLS, "latent 96", 16, "a quarter costs +49%"),
])  # fmt: skip
def test_the_table_has_the_prices_of_the_results_and_in_brackets_of_the_controls(
    run, form, bits, price
):
    rows = recorded.results(run)["rows"]
    own, *rest = [row for row in rows if row.get("by_feature", True) or row["bits"] == 16]
    loss = {(row["form"], row["bits"]): row["mean_loss"] for row in rest}
    rise = 100 * math.expm1(loss[form, bits] - own["mean_loss"])
    said = re.findall(r"[+−][\d,.]+(?=%)", price)[-1].replace("−", "-").replace(",", "")
    digits = -1 if rise > 1000 else len(said.partition(".")[2])
    assert round(rise, digits) == float(said)
    assert price in (ROOT / "chapters/13b_smaller_caches.ipynb").read_text(encoding="utf-8")


def test_the_controls_were_read_by_the_very_model_that_the_prices_were():
    here, there = (recorded.results(name) for name in ("smaller_caches", "smaller_caches_controls"))
    assert here["rows"][0]["mean_loss"] == there["rows"][0]["mean_loss"]
    assert here["device"] == there["device"]
