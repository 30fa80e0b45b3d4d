"""The book's drawings inside a notebook's text, which then needs no file beside it."""

import base64
import re
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "drawings"
_SHOWN = re.compile(r"(?<=\]\()[\w./-]*\battnbook/drawings/([\w-]+)\.svg(?=\))")


def embed(text: str) -> str:
    """Markdown with each picture of `attnbook/drawings` in it, whatever path leads there.

    The picture is the package's own: no other file is ever read for a notebook that names it.
    """
    return _SHOWN.sub(_data, text)


def _data(match: re.Match) -> str:
    file = FOLDER / f"{match[1]}.svg"
    if not file.is_file():
        return match[0]
    return f"data:image/svg+xml;base64,{base64.b64encode(file.read_bytes()).decode()}"
