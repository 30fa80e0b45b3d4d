"""The whole book in one file: a PDF, and an EPUB for a reader of one's own.

    make pdf      _build/attention-measured.pdf
    make epub     _build/attention-measured.epub

Both are made of the built pages by Chromium, so that formulas, drawings and numbers are the book's
own. A machine is a picture of the state in which its page opens, with a link to the page where the
book is published. Folded code stays on the page; a hint, a solution and the answer to a question go
to the end of the book.
The reference of the package is left out: its place is beside an editor.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import datetime
import os
import re
import shutil
import subprocess
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import yaml
from playwright.sync_api import Browser, Page, sync_playwright

from attnbook.drawings import drawing
from attnkit.viz import palette
from booktools import chromium, epub
from booktools.address import ROOT, read_address
from booktools.archive import NAME
from booktools.epub import XHTML, Chapter
from booktools.widget_page import START

HERE = Path(__file__).parent
TITLE = "Attention, measured"
LEFT_OUT = "attnkit"
"""The part of the contents that stays on the site."""

WIDTH = 1280
COLUMN = 665
"""Pixels between the margins of a sheet."""

SHEET = {
    "format": "A4",
    "margin": {"top": "18mm", "bottom": "18mm", "left": "17mm", "right": "17mm"},
    "outline": True,
    "tagged": True,
    "display_header_footer": True,
    "header_template": "<p></p>",
    "footer_template": '<p style="font: 8px sans-serif; width: 100%; text-align: center">'
    '<span class="pageNumber"></span></p>',
}

# Text that is folded on the screen is read. The buttons below a widget are for a screen, and so is
# the header, which would lie on the picture of a tall one.
_OPEN = """() => {
    const folds = document.querySelectorAll("article details:not(.hide, [data-answer])");
    for (const fold of folds) fold.open = true;
    const away = ".machine-tools, .bd-header-article, .skip-link";  // the last lies over tall ones
    const textContent = `${away} { display: none !important }`;
    document.head.append(Object.assign(document.createElement("style"), { textContent }));
}"""
_SETTLED = """() => [...document.querySelectorAll(".attnkit-view")].every(
    (view) => view.querySelector(".machine, .attnkit-no-kernel"))"""
# What a widget's picture needs beside it; a translator that waits for its model has a picture.
_ABOUT = """(view) => ({
    alt: view.querySelector("img")?.alt || "An interactive figure",
    anchor: view.querySelector(".machine")?.id ?? "",
    waits: !!view.querySelector("img") && !!view.querySelector("[data-asking], [data-waiting]"),
})"""
# A question is text: its choices are behind a button on the screen, and its answer comes after it.
_QUESTION = """(view) => {
    if (!view.querySelector(".machine-question")) return null;
    const read = (node) => JSON.parse(node.textContent);
    const kind = (name) => `script[type="application/vnd.jupyter.widget-${name}+json"]`;
    const states = [...document.querySelectorAll(kind("state"))].map((all) => read(all).state);
    const { model_id: id, state: own } = read(view.querySelector(kind("view")));
    const { title, options, right, because } = (own ?? Object.assign({}, ...states)[id]).state;
    return { title, options, right, because };
}"""
# What is wider than the sheet becomes smaller: nothing is cut.
_FIT = """(width) => {
    for (const node of document.querySelectorAll("table, .formula.displayed")) {
        const wide = node.matches("table") ? node.offsetWidth : node.scrollWidth;
        if (wide > width) node.style.zoom = width / wide;
    }
}"""


def pages(root: Path) -> list[tuple[str, str]]:
    """The pages to bind: the caption of the part that begins there, or "", and the page."""
    toc = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))
    found = [("", toc["root"])]
    for part in toc["parts"]:
        if part["caption"] != LEFT_OUT:
            files = [entry["file"] for entry in part["chapters"]]
            found += zip([part["caption"], *[""] * (len(files) - 1)], files, strict=True)
    return found


def bind(
    browser: Browser,
    site: Path,
    chosen: list[tuple[str, str]],
    folder: Path,
    address: str | None = None,
) -> list[Chapter]:
    """Turn these pages of the built book into chapters, whose style and pictures go to `folder`.

    Args:
        browser: a Chromium.
        site: the folder of the built book.
        chosen: as `pages` gives them.
        folder: is emptied first.
        address: where the book is published, with a slash at its end; links to what is left out,
            and those of the machines, lead there.
    """
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "images").mkdir(parents=True)
    shutil.copyfile(ROOT / "_static" / "logo.svg", folder / "images" / "logo.svg")
    (folder / "style.css").write_text(style(site), "utf-8")
    site = site.resolve()
    files = [f"{re.sub('[^a-z0-9]+', '-', page.lower())}.xhtml" for _, page in chosen]
    uris = [(site / f"{page}.html").as_uri() for _, page in chosen]
    told = {"names": dict(zip(uris, files, strict=True)), "site": address}
    told["names"]["root"] = f"{site.as_uri()}/"
    sheet = browser.new_page(
        viewport={"width": WIDTH, "height": 900},
        device_scale_factor=2,
        color_scheme="light",
        reduced_motion="reduce",
    )
    chapters, answers = [], ""
    for (part, page), file, uri in zip(chosen, files, uris, strict=True):
        sheet.goto(uri)
        shots = list(_shots(sheet, folder / "images", page, file))
        script = (HERE / "volume.js").read_text("utf-8")
        made = sheet.evaluate(script, told | {"name": file, "shots": shots})
        for name, source in made["images"].items():
            if source.startswith("data:"):
                (folder / name).write_bytes(base64.b64decode(source.partition(",")[2]))
            else:
                shutil.copyfile(source, folder / name)
        chapters.append(Chapter(file, part, made["title"], made["body"]))
        answers += made["answers"]
    sheet.close()
    if answers:
        title = "Hints, solutions and answers"
        start = f'<section xmlns="{XHTML}" id="answers" class="chapter"><h1>{title}</h1>'
        chapters.append(Chapter("answers.xhtml", "Answers", title, f"{start}{answers}</section>"))
    places = {place for one in chapters for place in re.findall(r' id="([^"]+)"', one.body)}

    def found(link: re.Match) -> str:
        """The link; to the chapter where that does not show the place, such as folded code's."""
        return link[0] if link[2] in places else f'href="{link[1]}"'

    link = re.compile(r'href="([\w-]+\.xhtml)#([^"]+)"')
    return [one._replace(body=link.sub(found, one.body)) for one in chapters]


def _shots(sheet: Page, folder: Path, page: str, file: str) -> Iterator[dict | None]:
    """Draw each widget of an open page, and say how the chapter shows it; None for a folded one."""
    sheet.evaluate(_OPEN)
    sheet.evaluate(START)
    sheet.wait_for_function(_SETTLED, timeout=300_000)
    sheet.wait_for_timeout(500)
    for place, view in enumerate(sheet.locator("article .attnkit-view").all()):
        if not view.is_visible():
            yield None
            continue
        if question := view.evaluate(_QUESTION):
            yield {"question": question}
            continue
        about = view.evaluate(_ABOUT)
        name = f"{Path(file).stem}-{place}.png"
        if not about["waits"]:
            view.screenshot(path=folder / name, animations="disabled", timeout=300_000)
        anchor = f"#{about['anchor']}" if about["anchor"] else ""
        yield about | {"source": f"images/{name}", "place": f"{page}.html{anchor}"}


def style(site: Path) -> str:
    """The style sheet of both files: the book's colours of code and of drawings, and its own."""
    code = (site / "_static" / "pygments.css").read_text("utf-8")
    own = (HERE / "volume.css").read_text("utf-8")
    return f"{code}\n{palette.css_properties()}\n{drawing.shapes()}\n{own}"


def front(version: str, date: datetime.datetime, address: str | None) -> str:
    """The first page."""
    live = f'<a href="{address}">{address}</a>' if address else "the book as a site"
    return (
        f'<section xmlns="{XHTML}" class="front"><img src="images/logo.svg" alt=""/>'
        f'<p class="title">{TITLE}</p><p>Version {version}, {date:%-d %B %Y}</p>'
        "<p>Pictures with sliders and buttons are machines, in the state in which their page "
        f"opens. They move in {live}.</p>"
        "<p>Text and figures: CC BY 4.0. Code: MIT License.</p></section>"
    )


def write_pdf(
    browser: Browser, target: Path, folder: Path, chapters: list[Chapter], first: str
) -> None:
    """Print the chapters as one document, whose contents know the number of each sheet."""
    sheet = browser.new_page(viewport={"width": COLUMN, "height": 900}, color_scheme="light")
    sheet.set_default_timeout(600_000)
    sheets: dict[str, int] = {}
    for _ in range(2):
        listed = epub.contents(chapters, sheets)
        body = f'<section xmlns="{XHTML}" class="contents"><h1>Contents</h1>{listed}</section>'
        body = _inside(body + "".join(one.body for one in chapters))
        whole = folder / "whole.xhtml"
        whole.write_text(epub.document(TITLE, first + body), "utf-8")
        sheet.goto(whole.as_uri())
        sheet.emulate_media(media="print")
        sheet.evaluate(_FIT, COLUMN)
        sheet.pdf(path=target, **SHEET)
        sheets = dict(zip([one.file for one in chapters], _tops(target)[1:], strict=True))
    sheet.close()


def _inside(text: str) -> str:
    """Links between chapters as links within one document."""
    return re.sub(
        r'href="([\w-]+)\.xhtml(?:#([^"]+))?"', lambda link: f'href="#{link[2] or link[1]}"', text
    )


def _tops(pdf: Path) -> list[int]:
    """The sheet of each heading of the first level, from 1."""
    import pypdfium2

    with contextlib.closing(pypdfium2.PdfDocument(pdf)) as document:
        marks = [mark for mark in document.get_toc() if mark.level == 0]
        return [mark.get_dest().get_index() + 1 for mark in marks]


def changed(root: Path) -> datetime.datetime:
    """When the book was last changed: as `SOURCE_DATE_EPOCH` or git says, or now."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    if seconds is None:
        with contextlib.suppress(OSError):
            command = ["git", "log", "-1", "--format=%ct"]
            seconds = subprocess.run(command, cwd=root, capture_output=True, text=True).stdout
    return datetime.datetime.fromtimestamp(int(seconds or time.time()), datetime.UTC)


def main(argv: list[str] | None = None) -> None:
    """Make the forms that are named, of the book as it is built."""
    parser = argparse.ArgumentParser(prog="python -m booktools.volume", description=__doc__)
    parser.add_argument("forms", nargs="+", choices=("pdf", "epub"))
    parser.add_argument("--site", type=Path, default=ROOT / "_build" / "html")
    parser.add_argument("--out", type=Path, default=ROOT / "_build")
    parser.add_argument("--only", default="", help="a regular expression for the pages")
    options = parser.parse_args(argv)
    path = chromium.find(shell=True)
    if path is None:
        parser.exit(1, "no Chromium found; install it or name it in $CHROMIUM\n")
    address = read_address(ROOT / "pyproject.toml")
    live = address.site if address else None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    version, date, folder = project["version"], changed(ROOT), options.out / "volume"
    chosen = [one for one in pages(ROOT) if re.search(options.only, one[1])]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(chromium.ARGUMENTS))
        chapters, first = (
            bind(browser, options.site, chosen, folder, live),
            front(version, date, live),
        )
        target = options.out / f"{NAME}.epub"
        if "epub" in options.forms:
            epub.write(target, folder, chapters, TITLE, first, version, date)
            print(target)
        if "pdf" in options.forms:
            write_pdf(browser, target.with_suffix(".pdf"), folder, chapters, first)
            print(target.with_suffix(".pdf"))
        browser.close()


if __name__ == "__main__":
    main()
