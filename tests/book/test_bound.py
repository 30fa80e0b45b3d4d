"""Every number in a chapter's prose is one that the chapter shows, a source's, or arithmetic."""

import math

import pytest
import torch
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from attnbook import museum, recorded
from attnbook.drawings import mixture
from attnbook.machines import AdditiveMachine, RingMachine
from attnbook.machines.online_tiles import SHIFTS
from attnbook.machines.ring_machine import SHAPE
from attnbook.releases import CHIPS, MODELS
from booktools import bound, gates, normal_form


def unmasked(**step):
    """The look of chapter 03's machine at a word and six padded places."""
    kept, sentence = recorded.model("machine_french"), "our girl 's cat was old"
    return AdditiveMachine(kept, [sentence], padding="unmasked", **step).compute()["weighed"]


# What no cell shows: by chapter, the number and the arithmetic that gives it, or a function if it
# takes its time.
RING = {zigzag: RingMachine(zigzag=zigzag).compute() for zigzag in (False, True)}
NETWORK = RingMachine(devices=8, link=12.5, zigzag=True).compute()
SHORT = RingMachine(devices=8, link=12.5, zigzag=True, tokens=131072).compute()
PARALLEL = recorded.results("parallel")["rows"]
SHARED = {row["zigzag"]: row["forward_seconds"]["median"]
          for row in PARALLEL if row["processes"] == 4}  # fmt: skip
ALONE = PARALLEL[0]["forward_seconds"]["median"]
THIN = MODELS["deepseek-v3"]["layers"][0]["numbers"]
CACHES = recorded.results("smaller_caches")["rows"]
KEPT = {(row["form"], row["bits"]): row["mean_loss"] for row in CACHES}
RISES = {one: 100 * math.expm1(loss - KEPT["three", 16]) for one, loss in KEPT.items()}
FAT, OWN = 2 * 512 + 64, 2 * 128 + 64  # multiplications for score and average, of a head
ARITHMETIC = {
    "02": {"6.25": 4 + 2 + 1 / 4},
    "03": {"0.41": lambda: sum(unmasked(step=5)[-6:])},  # of the machine, a link sets it
    "03b": {"0.91": mixture.CASES[2].shares["e"]},  # of the drawing: its shares are the machine's
    "04": {"0.995": math.tanh(3) + math.tanh(0)},
    "04b": {"1.4": 28 / 20},
    "08": {"0.2": 0.6 * 0.6 - 0.4 * 0.4},
    "10b": {
        "24": 100 * (3 / 5 * 1 / 4 * 1 / 6 * 1 / 8) ** (1 / 4),  # smoothed: 0 of 3 and of 2 runs
        "71": 100 * (7 / 8 * 5 / 7 * 4 / 6 * 3 / 5) ** (1 / 4),
    },
    "11": {"7.4": math.exp(2), "0.79": math.exp(2) / (math.exp(2) + 2),
           "0.11": 1 / (math.exp(2) + 2)},
    "12": {"1,000": max(SHIFTS)},
    "13": {"45": 55 - 10},
    "13b": {
        "49,152": 48 * 1024,  # of SmolLM2's vocabulary
        "28,600": round(math.exp(KEPT["one", 16]), -2),
        "71": 128 * OWN / THIN, "3.4": FAT / OWN, "242": 128 * FAT * 2 / (2 * THIN),
        "295": CHIPS["h100"]["compute"] / CHIPS["h100"]["bandwidth"],
        "22.5": 2 * 3 * 64 * 30 * 2 / 1024,
        "6.9": RISES["three", 4], "2,560": round(RISES["three", 2], -1),
        "402": RISES["latent 48", 16],
        "14": 2 * (8_030_261_248 - 128_256 * 4096) / 2**30,  # but for the input's embedding
        "1.05": 15 / (14 + 1 / 4), "14.25": 14 + 1 / 4, "8,192": 2**30 / (128 * 1024),
        "2.6": 78 / 30, "78": 14 + 64, "30": 14 + 64 / 4,
    },
    "14": {"156": 12 + 4 * 36, "444": 12 * (36 + 1), "3.2": 5 * (1 - 0.6**2)},
    "14b": {"512": THIN - 64},
    "14c": {
        "137": 4 * RING[True]["kept"] / 1e9, "80": SHAPE["memory"] / 1e9,
        "2.29": RING[False]["speed"], "1.75": RING[False]["total"] / RING[True]["total"],
        "86": 100 * RING[False]["idle"][0], "57": 100 * RING[False]["idle"][1],
        "43": 1000 * NETWORK["send"], "142": 1000 * max(NETWORK["busy"][-1]),
        "0.54": NETWORK["passing"] / 2 / 1e9,
        "5.4": 1000 * SHORT["send"], "2.2": 1000 * max(SHORT["busy"][-1]),
        "2.68": 2**20 / 8 * 2 * 128 * 2 * (32 + 8) / 1e9,  # queries, outputs, keys, values
        "2.79": ALONE / SHARED[True],
    },
    "15": {"99": 100 * (1 - 0.0125)},  # in the passive, 0.01 of the sentences have more on it
    "15b": {"150": recorded.results("similar")["pairs"]},
    "16c": {
        "0.25": museum.SCALE,
        "256": 2 / torch.finfo(torch.bfloat16).eps,  # where its neighbours are 2 apart
        "1,000": museum.FAR,
    },
}  # fmt: skip
# What stands in the paper that the sentence before names, the largest number of float16, and what
# an exercise states: its check, in `attnbook.checks`, knows it too.
STATED = {"03": ("17.82", "26.75")}


def numbers_of(line):
    return line.partition(": ")[2].partition(" in: ")[0].split(", ")


@pytest.mark.parametrize("path", gates.chapters(), ids=lambda path: path.stem.split("_")[0])
def test_every_number_in_prose_is_shown_cited_or_computed(path):
    chapter = path.stem.split("_")[0]
    arithmetic, stated = ARITHMETIC.get(chapter, {}), STATED.get(chapter, ())
    for line in bound.unbound(normal_form.read(path)):
        for text in numbers_of(line):
            if text not in stated:
                assert text in arithmetic, line
                value, digits = float(text.replace(",", "")), len(text.partition(".")[2])
                found = arithmetic[text]
                found = found() if callable(found) else found
                assert round(found, digits) == value, line


@pytest.mark.parametrize("chapter", ARITHMETIC.keys() | STATED.keys())
def test_no_exception_is_out_of_date(chapter):
    (path,) = (path for path in gates.chapters() if path.stem.startswith(f"{chapter}_"))
    found = {text for line in bound.unbound(normal_form.read(path)) for text in numbers_of(line)}
    assert found == {*ARITHMETIC.get(chapter, {}), *STATED.get(chapter, ())}


def book(prose, printed="exact 0.3728 of 512, 1e4 steps", code="STEPS = 600"):
    output = new_output("stream", name="stdout", text=printed)
    return new_notebook(cells=[new_code_cell(code, outputs=[output]), new_markdown_cell(prose)])


@pytest.mark.parametrize("prose", [
    "It gets 0.3728, or 0.37, or 37% of 512 right, after 600 updates.",
    "Three of 12 seeds, in chapter 05 and section 3.2 of a paper of 2017.",
    "They report 26.75 {cite:p}`bahdanau2015neural`.",
    "Of $d = 4096$ features, `x[77]` is one.",
    "13. the thirteenth point of a list",
])  # fmt: skip
def test_what_is_bound(prose):
    assert list(bound.unbound(book(prose))) == []


@pytest.mark.parametrize("prose, found", [
    ("It gets 0.38 right.", "0.38"), ("It takes 700 updates.", "700"),
    ("Of 51,200 words.", "51,200"),  # a share is a percentage too, another number is not
    ("They report 26.75 {cite:p}`x2015`. We get 27.75.", "27.75"), ("- one\n- two of 99\n", "99"),
    ("<details>\n<summary>Why?</summary>\n\nFor 77%.\n\n</details>", "77"),
])  # fmt: skip
def test_what_is_not_bound(prose, found):
    (line,) = bound.unbound(book(prose))
    assert numbers_of(line) == [found]
