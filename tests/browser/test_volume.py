"""The whole book in one file, tried on two pages: one with a machine, and one with solutions."""

from __future__ import annotations

import contextlib
import datetime
import re
import zipfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from attnbook.machines import Question
from booktools import epub, volume
from booktools.address import ROOT
from tests.browser.explorer_page import saved_models

pytestmark = pytest.mark.browser

PAGES = [
    ("One", "chapters/05_scaled_dot_product_attention"),
    ("Two", "appendices/exercises/05_scaled_dot_product_attention"),
]
PAGE = "chapters-05-scaled-dot-product-attention.xhtml"
DATE = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
H = f"{{{epub.XHTML}}}"


@pytest.fixture(scope="module")
def bound(browser, site_dir, tmp_path_factory) -> tuple[list[epub.Chapter], Path]:
    folder = tmp_path_factory.mktemp("volume") / "parts"
    return volume.bind(browser, site_dir, PAGES, folder), folder


@pytest.fixture(scope="module")
def trees(bound) -> dict[str, ElementTree.Element]:
    return {one.file: ElementTree.fromstring(one.body) for one in bound[0]}


def named(tree: ElementTree.Element, word: str) -> list[ElementTree.Element]:
    return [node for node in tree.iter() if word in node.get("class", "").split()]


def test_the_book_is_bound_in_the_order_of_its_contents():
    found = volume.pages(volume.ROOT)
    assert found[0] == ("", "index")
    assert len({page for _, page in found}) == len(found) > 40
    assert not [page for _, page in found if page.startswith("appendices/api")]


def test_a_chapter_holds_nothing_that_only_a_screen_needs(trees):
    unwanted = {"script", "style", "button", "input", "details", "summary", "canvas", "noscript"}
    for tree in trees.values():
        assert {node.tag.removeprefix(H) for node in tree.iter()} & unwanted == set()
        assert not named(tree, "headerlink")


def test_every_link_inside_leads_somewhere_and_no_name_stands_twice(trees):
    nodes = [(file, node) for file, tree in trees.items() for node in tree.iter()]
    ids = Counter(node.get("id") for _, node in nodes)
    del ids[None]
    assert max(ids.values()) == 1
    places = set(trees) | {f"{file}#{node.get('id')}" for file, node in nodes}
    links = [node.get("href") for _, node in nodes if node.tag == f"{H}a"]
    inside = [link for link in links if not re.match("https?:", link)]
    assert len(inside) > 10
    assert [link for link in inside if link not in places] == []


def test_machines_are_pictures_with_words(trees, bound):
    pictures = [next(box.iter(f"{H}img")) for box in named(trees[PAGE], "machine-picture")]
    assert pictures
    for picture in pictures:
        with Image.open(bound[1] / picture.get("src")) as image:
            assert image.width > 1000
            assert len(image.getcolors(1 << 24)) > 20
        assert len(picture.get("alt")) > 20


def test_a_question_lists_what_to_choose_from_and_its_answer_comes_later(trees):
    models = saved_models(ROOT / f"{PAGES[0][1]}.ipynb", Question)
    asked = [model["state"] for model in models]
    assert len(named(trees[PAGE], "question")) == len(asked) == 4
    text, later = ("".join(trees[name].itertext()) for name in (PAGE, "answers.xhtml"))
    assert any(one["options"] for one in asked)
    for one in asked:
        assert one["because"] in later
        assert one["because"] not in text
        for place, option in enumerate(one["options"]):
            assert option in text
            answer = f"{'ABCDEFGH'[place]}. {option.rstrip('.')}"
            assert (answer in later) is (place == one["right"])


def test_every_picture_is_there_and_used(trees, bound):
    used = {node.get("src") for tree in trees.values() for node in tree.iter(f"{H}img")}
    there = {f"images/{path.name}" for path in (bound[1] / "images").iterdir()}
    assert there - used == {"images/logo.svg"}
    assert used <= there


def test_solutions_stand_at_the_end(trees, bound):
    assert bound[0][-1].title == "Hints, solutions and answers"
    answers = named(trees["answers.xhtml"], "answer")
    places = [node for tree in trees.values() for node in named(tree, "to-answer")]
    assert len(answers) == len(places) >= 10
    texts = ["".join(answer.itertext()) for answer in answers]
    assert sum(text.count("·") >= 2 for text in texts) >= 5  # exercise, title, kind
    assert sum("· Answer" in text for text in texts) == 4


def test_links_to_what_is_left_out_are_words_or_lead_to_the_site(browser, site_dir, tmp_path):
    address = "https://example.org/book/"
    (chapter, *_) = volume.bind(browser, site_dir, PAGES[:1], tmp_path / "parts", address)
    links = re.findall(r'href="([^"]+)"', chapter.body)
    assert f"{address}appendices/glossary.html#term-query" in links
    assert f"{address}{PAGES[0][1]}.html#machine-05" in links


def test_formulas_and_drawings_are_kept_each_once(trees):
    assert len(named(trees[PAGE], "formula")) > 20
    assert named(trees[PAGE], "d-wide-layout")
    assert not named(trees[PAGE], "d-narrow-layout")


def test_the_epub_lists_what_it_holds_and_two_are_alike(bound, tmp_path):
    chapters, folder = bound
    first = volume.front("1.2.3", DATE, None)
    made = []
    for name in ("one.epub", "two.epub"):
        epub.write(tmp_path / name, folder, chapters, "T & U", first, "1.2.3", DATE)
        made.append((tmp_path / name).read_bytes())
    assert made[0] == made[1]
    with zipfile.ZipFile(tmp_path / "one.epub") as file:
        held = file.namelist()
        assert held[0] == "mimetype"
        assert file.getinfo("mimetype").compress_type == zipfile.ZIP_STORED
        package = ElementTree.fromstring(file.read("EPUB/package.opf"))
        items = {node.get("href"): node for node in package.iter() if node.tag.endswith("}item")}
        assert {f"EPUB/{name}" for name in items} | {"EPUB/package.opf"} == {
            name for name in held if name.startswith("EPUB/")
        }
        for name, item in items.items():
            if name.endswith(".xhtml"):
                text = file.read(f"EPUB/{name}").decode()
                ElementTree.fromstring(text)
                assert ("svg" in item.get("properties", "")) == ("<svg" in text)


def test_a_small_reader_cuts_nothing(open_page, bound):
    chapters, folder = bound
    for one in chapters:
        file = folder / one.file
        file.write_text(epub.document(one.title, one.body), "utf-8")
        page, _ = open_page(file.as_uri(), width=280, start=False)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 280, one.file


def test_the_pdf_has_its_contents_and_nothing_is_cut(browser, bound, tmp_path):
    pypdfium2 = pytest.importorskip("pypdfium2")
    chapters, folder = bound
    target = tmp_path / "book.pdf"
    volume.write_pdf(browser, target, folder, chapters, volume.front("1.2.3", DATE, None))
    with contextlib.closing(pypdfium2.PdfDocument(target)) as document:
        texts = [sheet.get_textpage().get_text_bounded() for sheet in document]
        edges = [sheet.render(scale=1).to_numpy()[..., :3] for sheet in document]
    listed = re.findall(r"^(.+?)\s+(\d+)\s*$", texts[1], re.MULTILINE)
    sheets = {title.strip(): int(number) for title, number in listed}
    for one in chapters:
        assert texts[sheets[one.title] - 1].startswith(one.title)
    # Nothing reaches into the margins.
    assert min(int(edge[:, -30:].min()) for edge in edges) > 250
