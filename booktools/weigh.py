"""What a first visit to a page of the built book costs: bytes, and the time until it can be used.

``python -m booktools.weigh`` prints the bytes of every page, compressed as a server would send
them, against the limits; ``--times 5`` measures some pages in Chromium that often, unthrottled and
with the processor slowed down six times.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import statistics
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from booktools import chromium
from booktools.address import ROOT
from booktools.serve import make_server

COVER = "index.html"
COVER_LIMIT, PAGE_LIMIT = 400_000, 700_000
"""Compressed bytes that a first visit may cost."""
LATER, LATER_LIMIT = "/live-translator/", 2_000_000
"""Where the files lie that a page fetches when it has nothing else to do, and their bytes."""
MODULE_LIMITS = {
    "AttentionExplorer": 75_000,
    "LiveTranslator": 42_000,
    "AskModel": 12_900,
    "BeamTree": 8_100,
    "Canteen": 9_100,
    "DecodeRace": 8_600,
    "DecoderSteps": 9_000,
    "HeadBench": 9_500,
    "HideAWord": 12_000,
    "MaskPainter": 10_000,
    "KeptMachine": 15_000,
    "LeakDetector": 9_000,
    "LieMachine": 8_600,
    "OnlineTiles": 10_400,
    "Porter": 12_700,
    "QueryPlane": 10_600,
    "RingMachine": 12_200,
    "ThreeColumns": 13_100,
    "WhichSentences": 9_400,
}
"""Bytes of a widget's module beyond the kits, as it is delivered."""
MACHINE_LIMIT = 8_000
"""The same, of a machine."""
KIT_LIMITS = {
    "kit": 11_100,
    "machines": 6_600,
    "layers": 2_000,
    "recurrent": 3_000,
    "translator": 23_000,
    "picture": 8_700,
    "engine": 5_000,
    "heads": 10_000,
    "sentences": 2_500,
}
"""Bytes of what the modules of several widgets begin with; a page carries each once."""
HOST_LIMIT = 3_072
"""Bytes of the script that brings the widgets of a built page to life."""
DATA_LIMIT = 90 * 1024
"""Bytes of the saved state of an explorer of 8 heads and 64 tokens, of 16 features each."""
BLOCKING_LIMIT = 150
"""Milliseconds: how long the page may keep the reader waiting, in all, while it loads."""
LONG_TASK = 50
"""Milliseconds after which a task is in the reader's way."""
PACKED = {".png", ".jpg", ".webp", ".woff", ".woff2", ".gz"}


class Part(NamedTuple):
    """A file that a page asked for, with its bytes as they are and as they are sent."""

    address: str
    raw: int
    sent: int


class Times(NamedTuple):
    """What the page's main thread does in a first visit, in milliseconds of its own time.

    Time in which other programs had the processor does not count. `blocking` is what each task
    takes beyond 50 ms, together; `longest` the longest task; `busy` all of them.
    """

    blocking: float
    longest: float
    busy: float


def sent(content: bytes, name: str) -> int:
    """The bytes that travel: gzip's, but for what is packed already."""
    return len(content) if Path(name).suffix in PACKED else len(gzip.compress(content, 6))


def first_visit(browser, address: str, wait: int = 400) -> list[Part]:
    """What a page with an empty cache asks for until it is quiet, the heaviest first."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    try:
        page, answers = context.new_page(), []
        page.on("response", lambda answer: answers.append(answer))
        page.goto(address, wait_until="networkidle")
        page.wait_for_timeout(wait)
        return parts_of(answers)
    finally:
        context.close()


def parts_of(answers: Iterable) -> list[Part]:
    """The files that came with a page, from Playwright's responses, the heaviest first."""
    parts = {}
    for answer in answers:
        path = urlsplit(answer.url).path
        if answer.url.startswith("http") and answer.ok:
            content = answer.body()
            parts[path] = Part(path, len(content), sent(content, path))
    return sorted(parts.values(), key=lambda part: -part.sent)


def times(browser, address: str, *, slower: float = 1, wait: int = 1500) -> Times:
    """The times of one visit with an empty cache, the processor slowed down by a factor."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    try:
        page = context.new_page()
        context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slower})
        browser.start_tracing(page=page, categories=["disabled-by-default-devtools.timeline"])
        page.goto(address, wait_until="load", timeout=120_000)
        page.wait_for_timeout(wait * max(1, slower / 2))
        return from_trace(json.loads(browser.stop_tracing())["traceEvents"])
    finally:
        context.close()


def from_trace(events: list[dict]) -> Times:
    """The times of the busiest main thread in a trace of Chromium's."""
    by_thread: dict[tuple, list[float]] = {}
    for event in events:
        if event["name"] == "RunTask" and "tdur" in event:
            by_thread.setdefault((event["pid"], event["tid"]), []).append(event["tdur"] / 1000)
    mains = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    tasks = max((by_thread.get(thread, []) for thread in mains), key=sum, default=[])
    blocking = sum(task - LONG_TASK for task in tasks if task > LONG_TASK)
    return Times(blocking, max(tasks, default=0.0), sum(tasks))


def median(visits: Iterable[Times]) -> Times:
    """The median of each number."""
    return Times(*(statistics.median(column) for column in zip(*visits, strict=True)))


def bytes_of(parts: Iterable[Part]) -> tuple[int, int]:
    """The bytes that a page needs at first, and those that it fetches when it is idle."""
    later = sum(part.sent for part in parts if LATER in part.address)
    return sum(part.sent for part in parts) - later, later


def limit(page: str) -> int:
    """The bytes that a first visit to this page may cost."""
    return COVER_LIMIT if page == COVER else PAGE_LIMIT


def pages(folder: Path) -> list[str]:
    """The pages of a built book, the cover first."""
    found = [path.relative_to(folder).as_posix() for path in folder.rglob("*.html")]
    own = [name for name in found if not name.startswith(("_static/", "_modules/"))]
    return sorted(own, key=lambda name: (name != COVER, name))


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[tuple]:
    """A browser, and the address of the folder on a server of this machine."""
    from playwright.sync_api import sync_playwright

    server = make_server(folder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with sync_playwright() as driver:
            browser = driver.chromium.launch(
                executable_path=chromium.find(), args=list(chromium.ARGUMENTS)
            )
            yield browser, f"http://127.0.0.1:{server.server_address[1]}/"
            browser.close()
    finally:
        server.shutdown()
        server.server_close()


def main(argv: list[str] | None = None) -> int:
    """Print the table; 1 when a page is too heavy."""
    parser = argparse.ArgumentParser(prog="python -m booktools.weigh", description=__doc__)
    parser.add_argument("pages", nargs="*", help="pages such as chapters/05_x.html; all without")
    parser.add_argument("--folder", type=Path, default=ROOT / "_build" / "html")
    parser.add_argument("--times", type=int, default=0, metavar="N", help="visit N times")
    parser.add_argument("--parts", action="store_true", help="list what each page asks for")
    options = parser.parse_args(argv)
    if chromium.find() is None:
        parser.error("no Chromium found; install it (apt install chromium) or name it in $CHROMIUM")
    heavy = 0
    with opened(options.folder) as (browser, url):
        for name in options.pages or pages(options.folder):
            if options.times:
                _print_times(browser, url, name, options.times)
                continue
            parts = first_visit(browser, url + name)
            first, later = bytes_of(parts)
            heavy += (too := first > limit(name) or later > LATER_LIMIT)
            mark = f"{f', {later / 1000:.0f} later' if later else ''}{'  TOO HEAVY' if too else ''}"
            print(f"{first / 1000:7.0f} kB  of {limit(name) / 1000:4.0f}  {name}{mark}")
            if options.parts:
                for part in parts:
                    print(f"   {part.sent / 1000:7.1f} kB  {part.raw / 1000:8.1f}  {part.address}")
    return 1 if heavy else 0


def _print_times(browser, url: str, name: str, count: int) -> None:
    for slower in (1, 6):
        found = median(times(browser, url + name, slower=slower) for _ in range(count))
        print(
            f"{name} {slower}x: blocked {found.blocking:.0f} ms, longest task {found.longest:.0f}, "
            f"busy {found.busy:.0f}"
        )


if __name__ == "__main__":
    sys.exit(main())
