"""Models that come at a press: their files in parts, and the lists of them."""

import base64
import hashlib
import json
import re
from dataclasses import replace

import pytest

from attnbook.machines import language_model, sentence_model
from attnbook.machines.engine import in_parts as cut
from attnkit.viz.widget import source
from attnlab.pretrained import published

MODELS = (language_model.MODEL, sentence_model.MODEL)
CONTENT = bytes(range(256)) * (cut.SIZE // 200)  # a part and a bit
SMALL = cut.InParts("small", language_model.MODEL.scripts, lambda: CONTENT)


def test_parts_make_the_file(tmp_path):
    SMALL.write(tmp_path)
    folder, whole = tmp_path / "small", b""
    listed = json.loads((folder / "parts.json").read_text())
    assert listed == [part._asdict() for part in SMALL.parts]
    assert len(listed) == 2
    for part in SMALL.parts:
        content = (folder / f"{part.sha}.bin").read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == part
        script = (folder / f"{part.sha}.bin.js").read_text("utf-8")
        assert base64.b64decode(re.search('base64="(.*)"', script)[1]) == content
        whole += content
    assert whole == CONTENT
    assert (folder / "worker.js").read_text("utf-8") == source(*SMALL.scripts)


def test_parts_that_are_there_stay_and_broken_ones_are_written_again(tmp_path):
    SMALL.write(tmp_path)
    first, second = (tmp_path / "small" / f"{part.sha}.bin" for part in SMALL.parts)
    first.write_bytes(b"short")
    before = second.stat().st_mtime_ns
    SMALL.write(tmp_path)
    assert first.stat().st_size == cut.SIZE
    assert second.stat().st_mtime_ns == before


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.folder)
def test_without_the_package_there_is_an_empty_list(tmp_path, monkeypatch, model):
    def missing(*_):
        raise FileNotFoundError

    monkeypatch.setattr(published, "find", missing)
    content = getattr(model.content, "__wrapped__", model.content)
    without = replace(model, content=content)
    without.write(tmp_path)
    assert without.parts is None
    assert [path.name for path in sorted((tmp_path / model.folder).iterdir())] == [
        "parts.json",
        "parts.json.js",
    ]
    assert json.loads((tmp_path / model.folder / "parts.json").read_text()) == []
