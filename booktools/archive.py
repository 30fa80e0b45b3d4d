"""The project as a zip file beside the pages, for readers who want to run what they read.

``pip install`` takes it as it is, and unpacked it is a copy of the repository without its history.
"""

from __future__ import annotations

import fnmatch
import os
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx

NAME = "attention-measured"
DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip file can hold, so that two builds are alike


def files(folder: Path) -> Iterator[Path]:
    """The files of the project in ``folder``: what git tracks there.

    A list by hand would go out of date. What lies in the folder and is not tracked, a note or a
    key, is nobody's. In a folder that git does not know, which the unpacked archive is, they are
    the files that ``.gitignore`` leaves.
    """
    for name in sorted(_tracked(folder) or _not_ignored(folder)):
        if (folder / name).is_file():  # it may have been removed since
            yield folder / name


def _tracked(folder: Path) -> list[str]:
    """The names of the files that git tracks in ``folder``; none where it tracks nothing."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=folder, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):  # no git, no repository, or another's
        return []
    return [name for name in listed.stdout.split("\0") if name]


def _not_ignored(folder: Path) -> Iterator[str]:
    """The names of the files in ``folder`` whose path has no part that ``.gitignore`` names."""
    rules = folder / ".gitignore"
    lines = rules.read_text("utf8").split() if rules.is_file() else []
    ignored = [".git", *(line.strip("/") for line in lines)]

    def keep(name: str) -> bool:
        return not any(fnmatch.fnmatchcase(name, pattern) for pattern in ignored)

    for top, folders, names in os.walk(folder):
        folders[:] = filter(keep, folders)
        here = Path(top).relative_to(folder)
        yield from ((here / name).as_posix() for name in filter(keep, names))


def write(folder: Path, target: Path) -> None:
    """Write the project in ``folder`` to the zip file ``target``."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files(folder):
            name = f"{NAME}/{path.relative_to(folder).as_posix()}"
            entry = zipfile.ZipInfo(name, DATE)
            # .ci/run stays executable; who may read the rest is not up to this machine's umask.
            mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
            entry.external_attr = (0o100000 | mode) << 16
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
