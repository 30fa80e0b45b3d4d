"""The first cell of a chapter, as it runs here and on a Colab that is put on: it never raises."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import types

import pytest

from booktools import colab
from booktools.address import parse_address

ADDRESS = parse_address("https://github.com/Owner/name")
ZIP, WHEEL = "attention-measured.zip", "attnkit-0.1.0-py3-none-any.whl"


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """`run(address, ...)` runs the cell in an empty folder; returns what it installs and says.

    Args:
        on_colab: whether it is Colab. installed: whether attnkit can be imported there.
        lies_there: the names of files in the folder. chosen: what the reader uploads when asked.
        fails: whether pip does.
    """

    def run_(address, *, on_colab=True, installed=False, lies_there=(), chosen=(), fails=False):
        commands, asked = [], []
        files = types.SimpleNamespace(upload=lambda: asked.append(1) or dict.fromkeys(chosen, b""))
        monkeypatch.setitem(sys.modules, "google", types.ModuleType("google"))
        monkeypatch.delitem(sys.modules, "google.colab", raising=False)
        if on_colab:
            package = types.ModuleType("google.colab")
            package.files = files
            monkeypatch.setitem(sys.modules, "google.colab", package)
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: installed or None)

        def pip(command, **options):
            commands.append((command, options))
            return types.SimpleNamespace(returncode=int(fails))

        monkeypatch.setattr(subprocess, "run", pip)
        monkeypatch.chdir(tmp_path)
        for name in lies_there:
            (tmp_path / name).touch()
        exec(colab.setup_source(address), {})
        for command, options in commands:
            assert command[:4] == [sys.executable, "-m", "pip", "install"]
            assert not options.get("check")
        return [command[-1] for command, _ in commands], len(asked), capsys.readouterr().out

    return run_


@pytest.mark.parametrize("address", [None, ADDRESS], ids=["no address", "an address"])
@pytest.mark.parametrize("case", [{"on_colab": False}, {"installed": True}], ids=str)
def test_it_does_nothing_elsewhere_and_where_attnkit_is(run, address, case):
    assert run(address, lies_there=[ZIP], **case) == ([], 0, "")


def test_with_an_address_it_installs_from_there(run):
    assert run(ADDRESS) == ([ADDRESS.pip], 0, "")


@pytest.mark.parametrize("name", [ZIP, WHEEL, "attention-measured (1).zip"])
def test_without_one_it_installs_the_file_that_lies_there(run, name):
    assert run(None, lies_there=[name, "other.zip"]) == ([name], 0, "")


def test_without_one_and_a_file_it_asks_for_it_in_a_sentence(run):
    installed, asked, said = run(None, chosen=[ZIP])
    assert (installed, asked) == ([ZIP], 1)
    assert ZIP in said
    assert len(said.strip().splitlines()) == 1


def test_a_reader_who_chooses_nothing_reads_what_is_missing(run):
    installed, asked, said = run(None)
    assert (installed, asked) == ([], 1)
    assert "not installed" in said
    assert len(said.strip().splitlines()) == 2


@pytest.mark.parametrize("address", [None, ADDRESS], ids=["no address", "an address"])
def test_a_pip_that_fails_is_said_and_no_traceback(run, address):
    _, _, said = run(address, lies_there=[ZIP], fails=True)
    assert "not installed" in said
