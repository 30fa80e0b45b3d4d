"""The Dockerfile installs what `make setup` installs, from files that are there."""

import re

from booktools.address import ROOT

LINES = (ROOT / "Dockerfile").read_text("utf8").splitlines()


def installed(text):
    """The arguments of `pip install` that say what, without what only says how."""
    found = re.findall(r"pip install ([^\n]*)", text)
    return [[word for word in line.split() if word not in HOW] for line in found]


HOW = {"--quiet", "--disable-pip-version-check", "--no-cache-dir", "jupyterhub==5.5.0"}


def test_it_installs_as_make_setup_does():
    makefile = (ROOT / "Makefile").read_text("utf8").replace("$(REQUIREMENTS)", "requirements.txt")
    assert installed("\n".join(LINES)) == installed(makefile)


def test_its_python_is_one_that_the_package_supports():
    (version,) = re.findall(r"^FROM python:3\.(\d+)-slim$", "\n".join(LINES), re.MULTILINE)
    assert 11 <= int(version) <= 14


def test_what_is_built_here_stays_out():
    left_out = (ROOT / ".dockerignore").read_text("utf8").split()
    assert {".git", ".venv", "_build", "runs"} <= set(left_out)
