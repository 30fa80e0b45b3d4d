"""The drawings of chapters 09, 12 and 14: their numbers are those of the chapter."""

import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from attnbook import recorded
from attnbook.drawings import (
    DRAWINGS,
    cross_attention,
    digit_sums,
    layer_steps,
    one_layer,
    porter,
    reading,
    ring,
    state_steps,
    tiles,
    transformer,
)
from attnbook.drawings.sheet import number, vector
from attnbook.figures import ch12
from attnbook.machines import recurrent, towers
from attnbook.machines.base import softmax
from attnkit import masks, trace
from attnlab.tasks import BOS
from booktools import claims, gates, normal_form
from experiments import parts
from tests.book.test_drawings import EXERCISES, printed, words


def output(chapter: str, cell_id: str, folder: Path = gates.CHAPTERS) -> str:
    (path,) = folder.glob(f"{chapter}_*.ipynb")
    (cell,) = (cell for cell in normal_form.read(path).cells if cell.id == cell_id)
    return claims.printed(cell)


def test_layer_steps_end_where_the_class_ends():
    last = printed(output("09", "matrix", EXERCISES).partition("word 1:")[2])
    assert output("09", "attnkit-code", EXERCISES) == output("09", "matrix", EXERCISES)
    rows = [step.out for step in layer_steps.steps()]
    assert last[:2] == list(rows[0])
    drawing = DRAWINGS["layer-steps"]
    shown = words(drawing, len(drawing.says) - 1)
    for row in (row for step in layer_steps.steps() for row in step):
        assert vector(row, 1) in shown
        assert vector(row, 1) in drawing.description


def test_cross_attention_shows_the_trained_models_weights():
    kept = recorded.model("toy_french_transformer")
    source = torch.tensor([kept.source_vocab.encode(list(cross_attention.SOURCE))])
    told = [BOS, *kept.target_vocab.encode(list(cross_attention.WRITTEN[:-1]))]
    with torch.no_grad(), trace.record(kept.model.decoder) as calls:
        kept.model.decode(torch.tensor([told]), kept.model.encode(source, None))
    weights = calls[-1]["weights"][0].mean(0)
    torch.testing.assert_close(weights, torch.tensor(cross_attention.WEIGHTS), atol=0.0051, rtol=0)
    rows = [printed(line) for line in output("09", "cross-weights", EXERCISES).splitlines()]
    assert rows == [list(row) for row in cross_attention.WEIGHTS]


def test_transformer_shows_how_likely_the_trained_model_finds_each_word():
    chosen = output("09", "chances-code", EXERCISES)
    likeliest = [line.split()[:2] for line in chosen.splitlines()]
    words = [word if word != "<eos>" else "end" for word, _ in likeliest]
    assert tuple(words) == transformer.WRITTEN
    for (_, chance), drawn in zip(likeliest, transformer.CHANCES, strict=True):
        assert float(chance) == drawn


def test_one_layer_says_what_the_machines_model_says():
    kept = recorded.model("machine_towers")
    net = towers.Net(recurrent.unpacked(**recurrent.halves(kept.model.state_dict())), 4)
    forms = kept.target_vocab.encode(list(one_layer.FORMS))
    sums = towers.encode(net, kept.source_vocab.encode(list(one_layer.WORDS)))
    drawing = DRAWINGS["one-layer"]
    for x, drawn in zip(sums, one_layer.SHARES, strict=True):
        found = softmax(towers.heard(net, x))[one_layer.READ, forms]
        assert drawn == pytest.approx(found, abs=0.0051)
        said = [number(share) for share in drawn]
        assert set(said) <= set(words(drawing))
        assert f"vieux {said[0]}, vieille {said[1]}" in drawing.description


def test_digit_sums_are_the_experiments():
    digits = torch.tensor([digit_sums.DIGITS])
    before = F.pad(digits, (1, 0))[:, :-1]
    assert digit_sums.answers() == ((digits + before) % parts.DIGITS)[0].tolist()
    assert len(digit_sums.DIGITS) == parts.PLACES
    description = DRAWINGS["digit-sums"].description
    assert " ".join(map(str, digit_sums.answers())) in description
    assert sorted(name for name, _ in digit_sums.PARTS) == sorted(set(parts.PARTS) - {"nothing"})


def test_growing_table_shows_what_autograd_keeps():
    printed_lines = output("12", "failure-code", EXERCISES)
    lines = re.findall(r"^ +(\d+) .*?([\d.]+) MiB +100%$", printed_lines, re.M)
    kept = {int(n): float(mib) / 4 for n, mib in lines}  # the exercises count four heads
    assert kept == {length: tiles.table_mib(length) for length in tiles.LENGTHS}
    drawn = words(DRAWINGS["growing-table"])
    assert {tiles.size(mib) for mib in kept.values()} <= set(drawn)


def test_memory_traffic_shows_the_numbers_of_the_paper():
    drawing = DRAWINGS["memory-traffic"]
    shown = words(drawing)
    for run, row in zip(tiles.RUNS.values(), ch12.PAPER, strict=True):
        arithmetic, moved, ms = run.values()
        assert (arithmetic, moved, ms) == (row["gflop"], row["gb"], row["ms"])
        told = {f"{arithmetic} GFLOP", f"{moved} GB", f"{ms} ms"}
        assert told <= set(shown)
        assert all(words in drawing.description for words in told)
    table, tiled = tiles.RUNS.values()
    assert round(table["moved"] / tiled["moved"]) == 9
    assert round(table["ms"] / tiled["ms"]) == 6


def test_porter_state_shows_what_the_page_prints():
    lines = [printed(line) for line in output("14", "by-hand").strip().splitlines()]
    drawing = DRAWINGS["porter-state"]
    shown = words(drawing)
    for (rule, told), line in zip(porter.RULES.items(), lines, strict=True):
        before, added, state = porter.written(rule)
        found = {name: porter.dot(state, key) for name, (key, _) in porter.GUESTS.items()}
        assert line == pytest.approx([*state, *found.values()], abs=0.051)
        answers = {porter.said(name, state): f"= {number(x)}" for name, x in found.items()}
        assert all(said.endswith(answer) for said, answer in answers.items())
        brought = {told, vector(before), f"+ {number(added)} × Ben’s key", vector(state), *answers}
        assert brought <= set(shown)
        assert vector(state) in drawing.description


def test_window_reach_is_that_of_two_layers():
    seen = masks.sliding_window(state_steps.LENGTH, window=state_steps.WINDOW).int()
    back = state_steps.LENGTH - 1 - (seen @ seen)[-1].bool().int().argmax().item()
    assert f"{back} words back, no further" in words(DRAWINGS["window-reach"])
    assert f"reach {back} words back" in DRAWINGS["window-reach"].title


def test_ring_joins_two_parts_to_what_all_keys_give():
    raised, values = (torch.tensor(x, dtype=torch.float64) for x in (ring.RAISED, ring.VALUES))
    whole = raised.log().flatten().softmax(0) @ values.flatten()
    shown, drawing = words(DRAWINGS["ring"]), DRAWINGS["ring"]
    (joined,) = (text for text in shown if text.startswith("joined"))
    assert float(joined.rpartition("= ")[2]) == ring.joined() == pytest.approx(float(whole))
    for device in (0, 1):
        found = raised[device].sum(), raised[device].log().softmax(0) @ values[device]
        assert ring.part(device) == pytest.approx([float(x) for x in found])
        total, output = map(number, ring.part(device))
        raised_here = vector(ring.RAISED[device])
        assert f"query 3: escore {raised_here}, sum {total}, output {output}" in shown
        assert f"sum of {total} and an output of {output}" in drawing.description


def test_the_famous_picture_has_the_weights_that_the_chapter_prints():
    """The chapter compares the whole rows with the model's; here are the words that are written."""
    drawing, nouns = DRAWINGS["famous-sentence"], []
    for line in output("15", "drawing-check").splitlines()[1:]:
        voice, _, animal, _, street = line.split()
        row = dict(reading.LOOKS[voice])
        assert [row["animal"], row["street"]] == [float(animal), float(street)]
        assert sum(weight for _, weight in reading.LOOKS[voice]) == pytest.approx(1, abs=0.06)
        nouns += [animal, street]
    told = [text for text in words(drawing) if re.fullmatch(r"0\.\d\d", text)]
    assert sorted(told) == sorted(nouns)
    assert all(weight in drawing.description for weight in nouns)
