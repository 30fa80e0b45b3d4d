"""The project as a zip file beside the pages, for readers who want to run what they read.

``pip install`` takes it as it is, and unpacked it is a copy of the repository without its history.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx

NAME = "attention-measured"
CONTENTS = [
    ".ci",
    ".github",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "_config.yml",
    "_static",
    "_toc.yml",
    "appendices",
    "assets",
    "attnbook",
    "attnkit",
    "benchmarks",
    "booktools",
    "chapters",
    "conftest.py",
    "constraints.txt",
    "experiments",
    "index.md",
    "models",
    "pyproject.toml",
    "references.bib",
    "requirements.txt",
    "requirements-alone.txt",
    "results",
    "tests",
]
DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip file can hold, so that two builds are alike


def files(folder: Path) -> Iterator[Path]:
    """The files of the project in ``folder``, without what was built from them."""
    for name in CONTENTS:
        top = folder / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            made = {"__pycache__", ".ipynb_checkpoints"} & set(path.parts)
            if path.is_file() and not made:
                yield path


def write(folder: Path, target: Path) -> None:
    """Write the project in ``folder`` to the zip file ``target``."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files(folder):
            name = f"{NAME}/{path.relative_to(folder).as_posix()}"
            entry = zipfile.ZipInfo(name, DATE)
            entry.external_attr = path.stat().st_mode << 16  # .ci/run stays executable
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())


def put_beside_pages(app: Sphinx, error: Exception | None) -> None:
    """Write the archive once the pages are built."""
    if error is None and app.builder.format == "html":
        write(Path(app.srcdir), Path(app.outdir) / "_static" / f"{NAME}.zip")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the step; Sphinx calls it."""
    app.connect("build-finished", put_beside_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
