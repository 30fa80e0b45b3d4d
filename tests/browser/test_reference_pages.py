"""The reference as it is built: types, sources, and links both ways."""

from __future__ import annotations

import zlib

import lxml.html
import pytest
from bs4 import BeautifulSoup

from booktools.address import ROOT
from tests.book.test_reference import OFFERED, TAUGHT

pytestmark = pytest.mark.browser

PAGES = sorted(
    path.relative_to(ROOT).with_suffix(".html").as_posix()
    for path in (ROOT / "appendices" / "api").glob("*.md")
)
# Methods that chapters call, which a reader looks up.
METHODS = [
    "attnkit.AdditiveAttention.project_key",
    "attnlab.Translator.translate",
    "attnlab.decoding.SequenceModel.begin",
    "attnkit.efficient.KVCache.nbytes",
    "attnlab.rnn.Seq2Seq.weights",
    "attnlab.tasks.Vocab.encode",
    "attnlab.transformer.Transformer.greedy",
]


@pytest.fixture(scope="module")
def soups(site_dir):
    """The pages, parsed by a parser that allows a `dl` in a `dt`, as browsers do."""
    texts = {name: (site_dir / name).read_text("utf8") for name in PAGES}
    return {name: BeautifulSoup(text, "html.parser") for name, text in texts.items()}


@pytest.fixture(scope="module")
def inventory(site_dir):
    """The full names that objects.inv, which other projects' documentation reads, lists."""
    head, _, body = (site_dir / "objects.inv").read_bytes().partition(b"zlib.\n")
    assert head.startswith(b"# Sphinx inventory version 2")
    return {line.split()[0] for line in zlib.decompress(body).decode().splitlines()}


def test_every_public_name_and_the_methods_of_the_chapters_are_listed(inventory):
    assert [name for name in METHODS if name not in inventory] == []
    ends = {name.rpartition(".")[2] for name in inventory}
    assert [item.__name__ for item in OFFERED if item.__name__ not in ends] == []


def test_every_entry_has_its_types_its_source_and_a_row_of_the_table(soups):
    entries = 0
    for name, soup in soups.items():
        rows = {link["href"] for link in soup.select("table.reference-summary a[href^='#']")}
        for signature in soup.select("dl.py.class > dt.sig, dl.py.function > dt.sig"):
            entries += 1
            where = f"{name}: {signature['id']}"
            assert f"#{signature['id']}" in rows or name.endswith("index.html"), where
            assert signature.select_one("a .viewcode-link"), where
            for parameter in signature.select("em.sig-param"):
                text = parameter.get_text()
                assert ":" in text or text in ("*", "/"), f"{where}: {text}"
    assert entries >= len(OFFERED)


def test_every_row_has_a_sentence(soups):
    for name, soup in soups.items():
        for row in soup.select("table.reference-summary tbody tr"):
            cells = [cell.get_text(strip=True) for cell in row.find_all("td")]
            assert len(cells) == 3, f"{name}: {cells}"
            assert all(cells[:2]), f"{name}: {cells}"


def test_entries_link_to_chapters_and_chapters_to_entries(soups, site_dir):
    lines = [line for soup in soups.values() for line in soup.select("p.taught a[href]")]
    assert len(lines) == len(TAUGHT)
    listless = []
    for chapter in sorted((site_dir / "chapters").glob("*.html")):
        page = lxml.html.fromstring(chapter.read_text("utf8"))  # a twentieth of a soup's time
        entry, see = "a[contains(@href, 'appendices/api/')]", "*[contains(@class, 'seealso')]"
        assert page.xpath(f"//main//{entry}[contains(@href, '#')]"), chapter.name
        prose = page.xpath(f"//main//{entry}[.//code][not(ancestor::{see})]/@href")
        assert len(prose) == len(set(prose)), f"{chapter.name}: a name is linked at its first use"
        if not page.xpath(f"//{see}//{entry}"):
            listless.append(chapter.stem)
    assert listless == ["06_masks"]  # which shows no code of ours


def test_a_name_in_a_chapter_and_in_a_docstring_leads_to_its_entry(soups, site_dir):
    chapter = BeautifulSoup((site_dir / "chapters" / "06_masks.html").read_text("utf8"), "lxml")
    (link,) = (a for a in chapter.select("main p a") if a.get_text() == "attnkit.masked_softmax")
    assert link["href"].endswith("appendices/api/functions.html#attnkit.masked_softmax")
    page = soups["appendices/api/mechanisms.html"]
    copied = page.find(id="attnkit.MultiHeadAttention.from_torch").find_next_sibling("dd")
    links = {a.get_text(): a["href"] for a in copied.select("a:has(code)")}
    assert links["masks.from_torch_padding"].endswith("#attnkit.masks.from_torch_padding")
