"""Draw the picture in the README: a chapter of the built book, with its explorer.

python -m booktools.picture chapters/05b_self_attention
"""

from __future__ import annotations

import argparse
from pathlib import Path

from playwright.sync_api import sync_playwright

from booktools import chromium
from booktools.address import ROOT
from booktools.widget_page import START

TARGET = ROOT / "assets" / "chapter.png"
WIDTH, HEIGHT = 1280, 860


def draw(page_file: Path, target: Path) -> None:
    """Save what a reader sees with the page's first explorer in the middle of the window.

    Raises:
        RuntimeError: no Chromium is installed.
    """
    path = chromium.find()
    if path is None:
        raise RuntimeError("no Chromium found; install it or name it in $CHROMIUM")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(chromium.ARGUMENTS))
        page = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT},
            color_scheme="light",
            reduced_motion="reduce",
        )
        page.goto(page_file.as_uri())
        page.evaluate(START)
        explorer = page.locator(".attnkit-explorer").first
        explorer.wait_for()
        explorer.evaluate("e => e.scrollIntoView({block: 'center', behavior: 'instant'})")
        page.wait_for_timeout(1000)
        target.parent.mkdir(exist_ok=True)
        page.screenshot(path=target)
        browser.close()


def main(argv: list[str] | None = None) -> None:
    """Draw the picture of the named chapter."""
    parser = argparse.ArgumentParser(prog="python -m booktools.picture", description=__doc__)
    parser.add_argument("chapter", help="its path in the book, without an ending")
    chapter = parser.parse_args(argv).chapter
    draw(ROOT / "_build" / "html" / f"{chapter}.html", TARGET)
    print(TARGET)


if __name__ == "__main__":
    main()
