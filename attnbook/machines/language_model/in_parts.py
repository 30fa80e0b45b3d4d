"""The model's file in the parts in which a built book holds it, and the worker's script."""

import base64
import hashlib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from attnkit.viz.widget import source
from attnlab.pretrained import published

NAME = "SmolLM2-135M-Instruct"
SIZE = 1 << 21
"""Bytes of a part: what a download that is cut short has to fetch again."""


class Part(NamedTuple):
    """A part of the file: its length, and its SHA-256 in hexadecimal digits."""

    bytes: int
    sha: str


@lru_cache
def parts() -> list[Part] | None:
    """The parts of the installed file, or None where its package is not installed."""
    content = _content()
    if content is None:
        return None
    return [Part(len(each), hashlib.sha256(each).hexdigest()) for each in _cut(content)]


def write_parts(folder: Path, files: list[Path]) -> None:
    """Write the parts and the worker, made of `files`, into `folder`, each twice.

    A page from `http:` fetches the plain one. One from `file:` may not, and runs the script beside
    it, which holds the same in base64. A part that is there already stays.
    """
    content = _content()
    if content is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "worker.js", source(*files).encode())
    for part, each in zip(parts(), _cut(content), strict=True):
        path = folder / f"{part.sha}.bin"
        if not path.is_file() or path.stat().st_size != part.bytes:
            _write(path, each)


def _write(path: Path, content: bytes) -> None:
    text = base64.b64encode(content).decode()
    path.with_name(f"{path.name}.js").write_text(
        f'document.currentScript.dataset.base64="{text}";\n', "utf-8"
    )
    path.write_bytes(content)


def _content() -> bytes | None:
    try:
        (path,) = published.find(NAME, None, False).values()
    except FileNotFoundError:
        return None
    return path.read_bytes()


def _cut(content: bytes) -> list[bytes]:
    return [content[at : at + SIZE] for at in range(0, len(content), SIZE)]
