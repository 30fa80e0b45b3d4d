"""Slides of a page: each of its pictures, machines and formulas on a sheet of its own."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from html import escape
from pathlib import Path
from xml.etree import ElementTree

from playwright.sync_api import sync_playwright

from booktools import chromium, epub, volume
from booktools.address import ROOT, read_address

WIDTH, HEIGHT = 1280, 720
_H = f"{{{epub.XHTML}}}"
_SHOWN = {"drawing", "machine-picture", "displayed"}
_STYLE = f"""<style>
@page {{ size: {WIDTH}px {HEIGHT}px; margin: 0; }}
:root {{ font-size: 22px !important; }}
.slide {{ box-sizing: border-box; width: {WIDTH}px; height: {HEIGHT}px; padding: 40px 60px;
  break-after: page; overflow: hidden; display: flex; flex-direction: column; }}
.slide h1 {{ font-size: 40px; margin: 0 0 24px; }}
.slide > div {{ width: fit-content; max-width: 100%; margin: auto; }}
.slide .drawing {{ width: 1000px; margin: 0; }}
.first {{ padding-top: 280px; text-align: center; }}
.formula.displayed {{ font-size: 150%; }}
</style>"""
_FIT = """(room) => {
    for (const box of document.querySelectorAll(".slide > div")) {
        for (const image of box.querySelectorAll("img")) image.style.width = "900px";
        const { width, height } = box.getBoundingClientRect();
        box.style.zoom = Math.min(1, room[0] / width, room[1] / height);
    }
}"""


def slides(body: str) -> Iterator[tuple[str, str]]:
    """The heading and the picture of each slide of a chapter's `body`, as XHTML; first its title.

    A drawing with several frames is a slide for each.
    """
    heading, first = "", True
    for node in ElementTree.fromstring(body).iter():
        classes = set(node.get("class", "").split())
        if node.tag in {f"{_H}h1", f"{_H}h2", f"{_H}h3"}:
            heading = "".join(node.itertext()).strip()
            if first:
                yield heading, ""
                first = False
        elif classes & _SHOWN:
            frames = node.findall(f".//{_H}li")
            for frame in frames or [node]:
                yield heading, _text(frame)
        elif "cell_output" in classes:
            for image in node.iter(f"{_H}img"):
                if "machine" not in image.get("class", "") and not _machine(node):
                    yield heading, _text(image)


def _machine(node: ElementTree.Element) -> bool:
    return any("machine-picture" in one.get("class", "") for one in node.iter())


def _text(node: ElementTree.Element) -> str:
    """An element as XHTML, without the text behind it."""
    alone = copy.copy(node)
    alone.tail = None
    return ElementTree.tostring(alone, encoding="unicode")


def write(page: str, folder: Path, site: Path = ROOT / "_build" / "html") -> Path:
    """Write the slides of a page of the built book, such as "05b", into `folder` as a PDF.

    Raises:
        ValueError: there is no such page, or no Chromium.
    """
    chosen = [one for one in volume.pages(ROOT) if one[1].startswith(f"chapters/{page}_")]
    path = chromium.find(shell=True)
    if not chosen or path is None:
        raise ValueError(f"no page {page!r}" if path else "no Chromium found; name it in $CHROMIUM")
    ElementTree.register_namespace("", epub.XHTML)
    address = read_address(ROOT / "pyproject.toml")
    parts, target = folder / f"slides-{page}", folder / f"slides-{page}.pdf"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(chromium.ARGUMENTS))
        chapter, *_ = volume.bind(browser, site, chosen, parts, address.site if address else None)
        sheets = [
            f'<section class="slide{"" if shown else " first"}"><h1>{escape(heading)}</h1>'
            f"<div>{shown}</div></section>"
            for heading, shown in slides(chapter.body)
        ]
        text = epub.document(chapter.title, _STYLE + "".join(sheets))
        (parts / "slides.xhtml").write_text(text, "utf-8")
        sheet = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        sheet.goto((parts / "slides.xhtml").as_uri())
        sheet.evaluate(_FIT, [WIDTH - 120, HEIGHT - 150])
        sheet.pdf(path=target, prefer_css_page_size=True, print_background=True)
        browser.close()
    return target
