"""The archive beside the pages is the whole project: it installs, and the book builds from it."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from booktools import archive
from booktools.address import ROOT

SETTING = {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in archive.files(folder)}


def run(*command: str | Path, cwd: Path, **environment: str) -> None:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=os.environ | SETTING | environment,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


@pytest.fixture(scope="module")
def packed(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("packed") / f"{archive.NAME}.zip"
    archive.write(ROOT, file)
    return file


@pytest.fixture
def unpacked(packed, tmp_path) -> Path:
    with zipfile.ZipFile(packed) as file:
        for entry in file.infolist():
            Path(file.extract(entry, tmp_path)).chmod(entry.external_attr >> 16 & 0o777)
    return tmp_path / archive.NAME


def test_it_holds_what_git_tracks_and_nothing_else():
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode or not (ROOT / ".git").exists():
        pytest.skip("this copy has no history")
    tracked = {name for name in listed.stdout.split("\0") if (ROOT / name).is_file()}
    assert len(tracked) > 500
    assert names(ROOT) == tracked


@pytest.mark.build
def test_without_git_it_holds_what_gitignore_leaves(unpacked):
    """Built from the unpacked archive, the next archive is the same."""
    before = names(unpacked)
    assert {"Dockerfile", ".gitignore", "translate.md", "attnlab/__init__.py"} <= before
    made = ("_build/html/a.html", ".venv/lib/b.py", "attnkit/__pycache__/c.pyc", ".git/config")
    for name in (*made, "attnkit.egg-info/PKG-INFO", "chapters/.01_x.ipynb.part"):
        path = unpacked / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    assert names(unpacked) == before == names(ROOT)


def test_an_untracked_file_stays_out_and_inside_another_repository_it_holds_the_folder(tmp_path):
    """A note or a key that lies in the folder is not published."""
    for name in ("kept", "own"):
        (tmp_path / name).write_text(name)
    run("git", "init", "-q", cwd=tmp_path)
    run("git", "add", "kept", cwd=tmp_path)
    assert names(tmp_path) == {"kept"}
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "page.md").write_text("words")
    assert names(inner) == {"page.md"}


@pytest.mark.build
def test_two_are_alike_whatever_the_machine_lets_others_read(packed, unpacked, tmp_path):
    for path in unpacked.rglob("*"):
        path.chmod(path.stat().st_mode & 0o700)
    archive.write(unpacked, tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == packed.read_bytes()
    with zipfile.ZipFile(packed) as file:
        modes = {entry.external_attr >> 16 & 0o777 for entry in file.infolist()}
        runs = file.getinfo(f"{archive.NAME}/.ci/run").external_attr >> 16
    assert modes == {0o644, 0o755}
    assert runs & 0o111


@pytest.mark.build
def test_pip_installs_it(packed, tmp_path):
    """With the setuptools that is there: tests need no network."""
    home = tmp_path / "home"
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation",
        "--no-compile", "--ignore-installed", "--prefix", home, packed, cwd=tmp_path)  # fmt: skip
    (package,) = home.glob("lib/python*/site-packages/attnkit")
    assert (package.parent / "attnlab" / "__init__.py").is_file()
    assert (package.parent / "attnbook" / "style.mplstyle").is_file()
    assert list(home.glob("share/attnkit/results/*.json"))
    held = {path.relative_to(package).as_posix() for path in package.rglob("*.*")}
    assert len(list(package.parent.glob("attnbook/drawings/*.svg"))) > 40
    assert not (home / "etc").exists()  # nothing is set for the other programs there
    assert held >= {"masks.py", "viz/host.js", "viz/explorer/explorer.css"}


@pytest.mark.slow
def test_make_book_works_in_it(unpacked):
    """What the page on installing says to do, but for the set-up, which is lent."""
    (unpacked / ".venv").symlink_to(Path(sys.executable).parents[1])
    run("make", "-o", ".venv/.ready", "book", cwd=unpacked, PYTHONPATH=str(unpacked))
    assert (unpacked / "_build" / "html" / "chapters" / "06_masks.html").is_file()
    assert (unpacked / "_build" / "html" / "_static" / f"{archive.NAME}.zip").is_file()
