"""The book is built without a warning; its links lead somewhere, its pictures are described.

These tests read the files; what Chromium makes of them is in tests/browser.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import lxml.html
import pytest
from sphinx_external_toc.parsing import parse_toc_yaml

from booktools.address import ROOT

pytestmark = pytest.mark.build

DOCUMENTS = sorted(parse_toc_yaml(ROOT / "_toc.yml"))
PAGES = [f"{name}.html" for name in DOCUMENTS] + ["search.html"]


@pytest.fixture(scope="module")
def parsed(site_dir) -> dict[str, lxml.html.HtmlElement]:
    return {
        path.relative_to(site_dir).as_posix(): lxml.html.document_fromstring(path.read_bytes())
        for path in sorted(Path(site_dir).rglob("*.html"))
        if "_static" not in path.parts
    }


def steps(tree) -> Iterator[str]:
    """The addresses of the steps of a page's explorers, as ``explorer-05-1=3``.

    And the beginning of those of a widget's settings, such as ``machine-05=`` of
    ``machine-05=d:64``.
    """
    for text in tree.xpath("//script[contains(@type, 'widget-state')]/text()"):
        for model in json.loads(text)["state"].values():
            state = model["state"]
            if state.get("anchor"):
                yield f"{state['anchor']}="
            for number in range(1, len(state.get("tour", ())) + 1):
                yield f"{state['anchor']}={number}"
    for text in tree.xpath("//script[contains(@type, 'widget-view')]/text()"):
        alone = json.loads(text).get("state")  # of a page that is no notebook
        if alone and alone["state"].get("anchor"):
            yield f"{alone['state']['anchor']}="


def _place(fragment: str) -> str:
    """A fragment, without the settings that it gives a widget."""
    name, sets, settings = fragment.partition("=")
    return f"{name}=" if sets and ":" in settings else fragment


def test_a_screen_reader_says_the_question_that_a_fold_answers(parsed):
    """A label would be read in place of it, and a second title would come when it is open."""
    fold = "//details[contains(@class, 'hide')]/summary"
    folds = [(name, summary) for name, tree in parsed.items() for summary in tree.xpath(fold)]
    assert len(folds) > 100
    for name, summary in folds:
        (title,) = summary
        assert title.text_content() == "code and data" or title.text_content().endswith("?"), name
        assert "aria-label" not in summary.attrib, name


def test_no_page_shows_a_set_up_cell(parsed):
    shown = {name: tree.xpath("//main") for name, tree in parsed.items()}
    assert sum(bool(main) for main in shown.values()) >= len(PAGES)
    said = {name: "".join(part.text_content() for part in main) for name, main in shown.items()}
    assert [name for name, text in said.items() if "google.colab" in text] == []


def test_every_link_within_the_book_leads_somewhere(parsed, site_dir):
    """Each ``href`` and ``src`` names a file that is there, each anchor an element that is."""
    anchors = {
        site_dir / name: {"", *tree.xpath("//@id"), *steps(tree)} for name, tree in parsed.items()
    }
    broken = []
    for name, tree in parsed.items():
        for tag in tree.iter("a", "link", "script", "img", "iframe", "source"):
            target = tag.get("href") or tag.get("src")
            if not target or urlsplit(target).scheme:
                continue
            parts = urlsplit(urljoin("/" + name, target))
            file = site_dir / unquote(parts.path).lstrip("/")
            if not file.is_file():
                broken.append(f"{name}: {target}")
            elif file in anchors and _place(unquote(parts.fragment)) not in anchors[file]:
                broken.append(f"{name}: no such anchor: {target}")
    assert len(parsed) >= len(PAGES)
    assert broken == []


def test_every_picture_has_a_description(parsed):
    """Alt text that says something: a file's name does not."""
    silent = []
    for name in PAGES:
        for image in parsed[name].xpath("//main//img"):
            alt = (image.get("alt") or "").strip()
            if len(alt) < 15 or "_images/" in alt or alt.endswith(".png"):
                silent.append(f"{name}: {image.get('src')}: {alt!r}")
    assert silent == []


def test_previous_and_next_lead_through_the_book(parsed):
    """Following "next" from the cover visits every page of the contents, "previous" leads back."""
    visited, name = ["index.html"], "index.html"
    while following := parsed[name].xpath("//a[contains(@class, 'right-next')]/@href"):
        before, name = name, urljoin(name, following[0])
        (back,) = parsed[name].xpath("//a[contains(@class, 'left-prev')]/@href")
        assert urljoin(name, back) == before
        visited.append(name)
        assert len(visited) <= len(PAGES)
    assert sorted(visited) == sorted(f"{document}.html" for document in DOCUMENTS)
