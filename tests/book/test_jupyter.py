"""JupyterLab, started as the pages say, opens the folder of chapters and shows their pictures."""

from __future__ import annotations

import json
import posixpath
import re
import urllib.error
import urllib.request

import pytest

from booktools import gates, normal_form
from booktools.address import ROOT
from tests import jupyter

SAID_IN = ("README.md", "index.md", "appendices/install.md", "CONTRIBUTING.md", "Dockerfile")
COMMAND = re.compile(r"jupyter lab\b(?! 4)([^\n`]*)|\"jupyter\", \"lab\", ([^\]]*)\]")
PICTURE = re.compile(r"!\[[^]]*\]\(([^)\s]+)\)")


def commands(page: str) -> list[list[str]]:
    """The arguments that a page gives to `jupyter lab`, without those of a container."""
    found = COMMAND.findall((ROOT / page).read_text("utf-8"))
    words = [re.split(r"[\s\",]+", in_shell or in_list) for in_shell, in_list in found]
    own = ("--ip", "--no-browser")
    return [[word for word in line if word and not word.startswith(own)] for line in words]


def get(url: str) -> str | None:
    try:
        return urllib.request.urlopen(url, timeout=30).read().decode("utf-8", "replace")
    except urllib.error.HTTPError:
        return None


def test_every_page_says_the_same():
    said = [line for page in SAID_IN for line in commands(page)]
    assert len(said) >= len(SAID_IN)
    assert all(line == said[0] for line in said), said


@pytest.mark.build
def test_it_opens_the_chapters_and_serves_their_pictures(tmp_path):
    with jupyter.lab(tmp_path, *commands("README.md")[0], cwd=ROOT) as url:
        page = get(url + "lab")
        data = re.search(r'id="jupyter-config-data"[^>]*>(.*?)</script>', page, re.DOTALL)
        folder = json.loads(data[1])["preferredPath"].strip("/")
        listed = json.loads(get(f"{url}api/contents/{folder}"))["content"]
        chapters = {path.name for path in gates.chapters()}
        assert chapters <= {entry["name"] for entry in listed}
        shown = {
            posixpath.normpath((path.parent / picture).relative_to(ROOT).as_posix())
            for path in gates.notebooks()
            for cell in normal_form.read(path).cells
            if cell.cell_type == "markdown"
            for picture in PICTURE.findall(cell.source)
        }
        assert len(shown) > 40
        assert {picture for picture in shown if get(f"{url}files/{picture}") is None} == set()
