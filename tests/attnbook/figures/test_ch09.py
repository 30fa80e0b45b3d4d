"""The figures of chapter 09 and its second page show what the results files hold."""

import math
import re

import pytest
import torch
from torch import nn

from attnbook import recorded
from attnbook.figures import ch09, ch09b
from attnbook.machines.towers import SWITCHES
from attnlab import tasks
from attnlab.transformer import EncoderLayer


def test_every_switch_has_a_bar_as_long_as_what_is_left(draw):
    rows = [boxes for *_, boxes in ch09.bars()]
    assert sorted(box for boxes in rows for box in boxes if box != "all norms") == sorted(SWITCHES)
    right = recorded.results("towers")["rows"][-1]["right"]
    (ax,) = draw(ch09.one_off)
    medians = [[right[box]["median"] for box in boxes] for boxes in rows]
    assert [bar.get_width() for bar in ax.patches] == [max(*row, 0.6) for row in medians]
    lines = [line.get_xdata() for line in ax.lines]
    for boxes, (low, high), row, text in zip(rows, lines, medians, ax.texts, strict=True):
        assert low == min(right[box]["low"] for box in boxes)
        assert high == max(right[box]["high"] for box in boxes)
        said = [int(number) for number in re.findall(r"\d+", text.get_text())]
        ends = sorted({min(row), max(row)})
        assert said == ends + ([low, high] if low < high else [])


def test_the_lines_of_the_parts_are_the_recorded_medians(draw):
    rows = recorded.results("parts")["rows"]
    drawn = [line for line in draw(ch09b.parts)[0].lines if line.get_linestyle() != "None"]
    lines = [line for line in drawn if line.get_gid() != "ceiling"]
    assert len(lines) == len(ch09b.PARTS) + 1
    wider = recorded.results("parts_controls")["rows"]
    rows = [row for row in [*rows, *wider] if row["updates"] > 50]
    flat = [line.get_ydata()[0] for line in drawn if line.get_gid() == "ceiling"]
    assert flat == [100 * most for most in ch09b.ceilings().values()]
    for (part, size), line in zip([*((part, None) for part in ch09b.PARTS), ("feed-forward", 54)],
                                  lines, strict=True):  # fmt: skip
        expected = {row["updates"]: 100 * row["interval"]["median"] for row in rows
                    if (row["without"], row.get("size")) == (part, size)}  # fmt: skip
        assert dict(zip(*line.get_data(), strict=True)) == pytest.approx(expected, abs=1e-3)


def test_no_bet_on_the_digit_before_beats_the_ceilings():
    generator = torch.Generator().manual_seed(0)
    digits = torch.randint(10, (20_000, 8), generator=generator)
    before = torch.cat([torch.zeros_like(digits[:, :1]), digits[:, :-1]], 1)
    counts = torch.nn.functional.one_hot(digits, 10).sum(1, keepdim=True)  # (B, 1, 10)
    others = counts - torch.nn.functional.one_hot(digits, 10)  # (B, 8, 10)
    others[..., 0] += 1  # the first place
    right = (others.argmax(-1) == before).double().mean().item()
    assert right == pytest.approx(ch09b.ceilings()["positions"], abs=0.003)


@torch.no_grad()
def test_the_stream_grows_as_layers_put_together_by_hand_let_it():
    x = None
    for kind, first in (("no norm", True), ("pre-norm", True), ("post-norm", False)):
        torch.manual_seed(0)
        x = torch.nn.functional.layer_norm(torch.randn(1, 50, 64), [64])
        for _ in range(3):
            layer = EncoderLayer(64, 4, 256, norm_first=first).eval()
            if kind == "no norm":
                layer.norm1 = layer.norm2 = nn.Identity()
            x = layer(x).output
        assert ch09b.grown(kind, 3, 1)[-1] == pytest.approx(x.std().item())


def test_the_table_of_ten_has_the_medians_of_the_results():
    table = ch09b.ten()
    rows = recorded.results("by_length_reverse")["rows"]
    assert [row[0] for row in table.rows] == [[row["model"]] for row in rows]
    for line, row in zip(table.rows, rows, strict=True):
        (seconds,), (reverse,), *_, (beyond,) = line[1:]
        assert float(seconds) == round(row["cpu_seconds"]["median"])
        for text, length in ((reverse, "10"), (beyond, "15")):
            assert int(text) == round(100 * row["by_length"][length]["exact"]["median"])


def test_losses_against_depth_are_the_recorded_medians_and_seeds(draw):
    (ax,) = draw(ch09b.deep)
    lines = [line for line in ax.lines if len(line.get_xdata()) == 4]
    marks = [line for line in ax.lines if line.get_linestyle() == "None"]
    dots, controls = ([y for line in marks if (line.get_gid() == "control") is is_one
                       for y in line.get_ydata()] for is_one in (False, True))  # fmt: skip
    rows = recorded.results("norms_deeper")["rows"]
    assert len(lines) == len(ch09b.DEEP)
    more = recorded.results("norms_controls")["rows"]
    assert sorted(controls) == sorted(loss for row in more for loss in row["losses"])
    drawn = [row for row in rows if (row["norm"], row["warm_up"]) in ch09b.DEEP]
    assert sorted(dots) == sorted(loss for row in drawn for loss in row["losses"])
    for (norm, warm_up), line in zip(ch09b.DEEP, lines, strict=True):
        expected = {row["layers"]: row["loss"]["median"] for row in rows
                    if (row["norm"], row["warm_up"]) == (norm, warm_up)}  # fmt: skip
        assert dict(zip(*line.get_data(), strict=True)) == pytest.approx(expected, rel=1e-3)
    letters = tasks.vocabs(tasks.reverse(640, max_length=8, seed=1000))[1]
    (guess,) = (line for line in ax.lines if line.get_gid() == "guess")
    assert guess.get_ydata()[0] == pytest.approx(math.log(len(letters)))
