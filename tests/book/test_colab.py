"""The Colab set-up, as a chapter meets it: a machine with torch, an empty folder, no attnkit."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from booktools import colab, gates, normal_form, notebooks
from booktools.address import ROOT, Address, parse_address

pytestmark = pytest.mark.slow  # an environment of its own

COLAB_STAND_IN = """\
import sys, types
sys.modules["google.colab"] = types.ModuleType("google.colab")
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Address:
    folder = tmp_path_factory.mktemp("repository")
    left_out = shutil.ignore_patterns(
        ".*", "_build", "mutants", "runs", "__pycache__", "*.egg-info"
    )
    shutil.copytree(ROOT, folder, ignore=left_out, dirs_exist_ok=True)
    for command in (
        ["init", "-q", "-b", "main"],
        ["add", "-A"],
        ["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-m", "x"],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return parse_address(folder.as_uri())


@pytest.fixture(scope="module")
def fresh(tmp_path_factory) -> Path:
    """A fresh environment that, like Colab's, has torch and the rest, but no attnkit.

    What is installed here is linked into it, so that no network is needed.
    """
    home = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    python = home / "bin" / "python"
    lent = home / "lent"
    lent.mkdir()
    own = ("attnkit", "__editable__", "_attnkit", "pip", "__pycache__")
    for key in ("purelib", "platlib"):
        for entry in Path(sysconfig.get_path(key)).iterdir():
            if not entry.name.startswith(own) and not (lent / entry.name).exists():
                (lent / entry.name).symlink_to(entry)
    (site_packages(home) / "lent.pth").write_text(
        f"import sys; sys.path.insert(1, {str(lent)!r})\n"
    )
    return python


def site_packages(home: Path) -> Path:
    return next((home / "lib").glob("python*")) / "site-packages"


# Pip builds with the setuptools that is there: tests need no network.
OFFLINE = {"PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def test_on_colab_it_installs_attnkit_and_the_chapter_runs(
    fresh, repository, tmp_path, monkeypatch
):
    """The shortest chapter, from an empty folder, with nothing of this checkout in sight."""
    chapters = gates.chapters()
    assert chapters, "there is no chapter to run"
    nb = normal_form.read(min(chapters, key=lambda path: path.stat().st_size))
    colab.set_up(nb, repository)
    nb.cells[0].source = COLAB_STAND_IN + nb.cells[0].source

    for name, value in OFFLINE.items():
        monkeypatch.setenv(name, value)
    notebooks.execute(nb, tmp_path, python=str(fresh))
    assert all(c.execution_count for c in nb.cells if c.cell_type == "code")
    where = "import attnkit, torch; print(attnkit.__file__, torch.__file__)"
    printed = subprocess.check_output([str(fresh), "-c", where], cwd=tmp_path, text=True)
    attnkit_file, torch_file = map(Path, printed.split())
    assert site_packages(fresh.parent.parent) in attnkit_file.parents
    assert fresh.parent.parent / "lent" in torch_file.parents, "torch was installed again"
