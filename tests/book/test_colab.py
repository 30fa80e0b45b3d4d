"""The Colab set-up, as a chapter meets it: a machine with torch, an empty folder, no attnkit."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from booktools import archive, colab, gates, normal_form, notebooks
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


@pytest.fixture
def offline_pip(monkeypatch):
    """Let pip build with the setuptools that is there: tests need no network."""
    monkeypatch.setenv("PIP_NO_BUILD_ISOLATION", "0")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_DISABLE_PIP_VERSION_CHECK", "1")


def run(python: Path, code: str, folder: Path) -> subprocess.CompletedProcess:
    return subprocess.run([str(python), "-c", code], cwd=folder, capture_output=True, text=True)


def test_elsewhere_the_cell_does_nothing(fresh, repository, tmp_path):
    for address in (repository, None):
        done = run(fresh, colab.setup_source(address), tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert run(fresh, "import attnkit", tmp_path).returncode != 0


def test_on_colab_without_an_address_it_installs_the_archive_beside_it(
    fresh, tmp_path, offline_pip
):
    """What the book's page offers to download, in the folder of the notebook."""
    archive.write(ROOT, tmp_path / f"{archive.NAME}.zip")
    done = run(fresh, COLAB_STAND_IN + colab.setup_source(None), tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    where = run(fresh, "import attnkit; print(attnkit.__file__)", tmp_path).stdout.strip()
    assert site_packages(fresh.parent.parent) in Path(where).parents
    command = [str(fresh), "-m", "pip", "uninstall", "--quiet", "--yes", "attnkit"]
    subprocess.run(command, check=True)  # the next test begins without it


def test_on_colab_it_installs_attnkit_and_the_chapter_runs(
    fresh, repository, tmp_path, offline_pip
):
    """The shortest chapter, from an empty folder, with nothing of this checkout in sight."""
    chapters = gates.chapters()
    assert chapters, "there is no chapter to run"
    nb = normal_form.read(min(chapters, key=lambda path: path.stat().st_size))
    colab.set_up(nb, repository)
    nb.cells[0].source = COLAB_STAND_IN + nb.cells[0].source

    notebooks.execute(nb, tmp_path, python=str(fresh))

    assert all(c.execution_count for c in nb.cells if c.cell_type == "code")
    where = run(fresh, "import attnkit, torch; print(attnkit.__file__, torch.__file__)", tmp_path)
    attnkit_file, torch_file = map(Path, where.stdout.split())
    assert site_packages(fresh.parent.parent) in attnkit_file.parents
    assert fresh.parent.parent / "lent" in torch_file.parents, "torch was installed again"
