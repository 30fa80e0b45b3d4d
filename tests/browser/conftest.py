"""A Chromium, the built book, and pages opened on it with everything they say recorded."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from booktools import chromium
from booktools.serve import make_server
from tests.browser.explorer_page import wait_for_widgets, write_page

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The path of Chromium; without one the test is skipped, in CI it fails."""
    path = chromium.find()
    if path is None:
        message = "no Chromium found; install it (apt install chromium) or name it in $CHROMIUM"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return path


@pytest.fixture(scope="session")
def browser(chromium_path):
    """One browser for all the tests of a worker."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(
            executable_path=chromium_path, args=list(chromium.ARGUMENTS)
        )
        yield started
        started.close()


def _newest_source() -> float:
    patterns = ("*.md", "*.yml", "*.bib", "pyproject.toml", "chapters/*.ipynb", "appendices/*",
                "_static/*", "booktools/*.py", "attnkit/viz/**/*",
                "attnbook/drawings/*")  # fmt: skip
    files = [path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()]
    return max(path.stat().st_mtime for path in files)


@pytest.fixture(scope="session")
def site_dir() -> Path:
    """The folder of the built book: ``$BOOK_HTML``, or ``_build/html``, built when out of date."""
    if named := os.environ.get("BOOK_HTML"):
        return Path(named)
    built = ROOT / "_build" / "html"
    stamp = built / "searchindex.js"
    built.parent.mkdir(exist_ok=True)
    with open(built.parent / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two workers must not build at once
        if not stamp.exists() or stamp.stat().st_mtime < _newest_source():
            command = [str(Path(sys.executable).with_name("jupyter-book")), "build", ".", "-q"]
            command += ["-W", "-n", "--keep-going"]
            result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-4000:]
            stamp.touch()
    return built


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a folder on a server of this machine, with a slash at its end."""
    server = make_server(folder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def site_url(site_dir) -> Iterator[str]:
    """The address of the built book, with a slash at its end."""
    with serving(site_dir) as url:
        yield url


@dataclass
class Record:
    """What a page asked for and what it said."""

    requests: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)

    def other_hosts(self) -> list[str]:
        """The addresses it asked for that are neither the book's nor part of the page."""
        own = ("http://127.0.0.1:", "file:", "data:", "blob:", "about:")
        return [url for url in self.requests if not url.startswith(own)]


@contextlib.contextmanager
def pages(browser) -> Iterator[Callable]:
    """``open_(url, theme="light", width=1280, **context)`` gives a page and its record."""
    with contextlib.ExitStack() as stack:

        def open_(url: str, *, theme: str = "light", width: int = 1280, **options):
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=theme, **options
            )
            stack.callback(context.close)
            page, record = context.new_page(), Record()
            page.on("request", lambda request: record.requests.append(request.url))
            page.on("requestfailed", lambda request: record.missing.append(request.url))
            page.on(
                "response",
                lambda response: response.status >= 400 and record.missing.append(response.url),
            )
            page.on("pageerror", lambda error: record.console.append(f"uncaught: {error}"))
            page.on(
                "console",
                lambda message: (
                    message.type in ("error", "warning")
                    and record.console.append(f"{message.type}: {message.text}")
                ),
            )
            page.goto(url, wait_until="load")
            return page, record

        yield open_


@pytest.fixture
def open_page(browser) -> Iterator[Callable]:
    """What `pages` gives, for one test."""
    with pages(browser) as open_:
        yield open_


@pytest.fixture
def show(open_page, tmp_path):
    """`show(*widgets, **options)` opens a page of them: the page, the first of them, the record."""

    def show_(*widgets, **options):
        page, record = open_page(write_page(tmp_path, *widgets).as_uri(), **options)
        return page, wait_for_widgets(page, len(widgets)), record

    return show_
