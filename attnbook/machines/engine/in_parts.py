"""A model's file in the parts in which a built book holds it, and the worker's script."""

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from attnkit.viz.widget import source

SIZE = 1 << 21
"""Bytes of a part: what a download that is cut short has to fetch again."""


class Part(NamedTuple):
    """A part of the file: its length, and its SHA-256 in hexadecimal digits."""

    bytes: int
    sha: str


@dataclass(frozen=True)
class InParts:
    """A model that runs in a page.

    `folder` is where a built book holds it, from the host's script on; `scripts` make its worker;
    `content` gives the file, or None where its package is not installed.
    """

    folder: str
    scripts: tuple[Path, ...]
    content: Callable[[], bytes | None]

    @cached_property
    def parts(self) -> list[Part] | None:
        """The parts of the file, or None where there is none."""
        content = self.content()
        if content is None:
            return None
        return [Part(len(each), hashlib.sha256(each).hexdigest()) for each in _cut(content)]

    def write(self, static: Path) -> None:
        """Write the list of parts, the parts and the worker below `static`, each twice.

        A page from `http:` fetches the plain one. One from `file:` may not, and runs the script
        beside it, which holds the same in base64. A part that is there already stays. Without a
        file there is an empty list.
        """
        folder = static / self.folder
        folder.mkdir(parents=True, exist_ok=True)
        listed = [part._asdict() for part in self.parts or []]
        _write(folder / "parts.json", json.dumps(listed).encode())
        if not listed:
            return
        _write(folder / "worker.js", source(*self.scripts).encode())
        for part, each in zip(self.parts, _cut(self.content()), strict=True):
            path = folder / f"{part.sha}.bin"
            if not path.is_file() or path.stat().st_size != part.bytes:
                _write(path, each)


def _write(path: Path, content: bytes) -> None:
    text = base64.b64encode(content).decode()
    path.with_name(f"{path.name}.js").write_text(
        f'document.currentScript.dataset.base64="{text}";\n', "utf-8"
    )
    path.write_bytes(content)


def _cut(content: bytes) -> list[bytes]:
    return [content[at : at + SIZE] for at in range(0, len(content), SIZE)]
