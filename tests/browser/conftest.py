"""A Chromium, the book on a server, and pages with all that they ask for and say recorded."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from booktools import chromium
from booktools.serve import make_server
from tests.browser.explorer_page import Widget, start_widgets, wait_for_widgets, write_page


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The path of Chromium; without one the test is skipped, in CI it fails."""
    path = chromium.find(shell=True)
    if path is None:
        message = "no Chromium found; apt install chromium-headless-shell, or name it in $CHROMIUM"
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


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a folder on a server of this machine, with a slash at its end."""
    server = make_server(folder)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
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
    answers: list = field(default_factory=list)  # Playwright's responses

    def other_hosts(self) -> list[str]:
        """The addresses it asked for that are neither the book's nor part of the page."""
        own = ("http://127.0.0.1:", "file:", "data:", "blob:", "about:")
        return [url for url in self.requests if not url.startswith(own)]


def listen(page, record: Record) -> dict[str, Callable]:
    """Note in `record` what the page asks for and says; returns the listeners by event."""
    listeners = {
        "request": lambda request: record.requests.append(request.url),
        "requestfailed": lambda request: record.missing.append(request.url),
        "response": lambda response: (
            record.answers.append(response),
            response.status >= 400 and record.missing.append(response.url),
        ),
        "pageerror": lambda error: record.console.append(f"uncaught: {error}"),
        "console": lambda message: (
            message.type in ("error", "warning")
            and record.console.append(f"{message.type}: {message.text}")
        ),
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    return listeners


@contextlib.contextmanager
def opened(browser, url: str, **options) -> Iterator[tuple]:
    """A page that was opened with an empty cache, and its record."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | options)
    page, record = context.new_page(), Record()
    listen(page, record)
    page.goto(url, wait_until="load")
    yield page, record
    context.close()


@pytest.fixture(scope="session")
def left() -> dict[tuple, list]:
    """The pages that tests have left, by the options of their context, for others to use again.

    A new context takes Chromium half a second of a processor, another address a tenth.
    """
    return {}


# What a page can be told of its reader; `color_scheme` is told anew each time one is opened.
EMULATED = ("reduced_motion", "forced_colors", "contrast")


def leave(page, listeners: dict[str, Callable], options: dict) -> None:
    """Bring a page back to where a new one starts: nothing open, stored, emulated or pointed at."""
    page.evaluate("() => { try { localStorage.clear(); sessionStorage.clear(); } catch {} }")
    page.goto("about:blank")
    page.mouse.move(0, 0)
    page.emulate_media(media="null", **{name: options.get(name, "null") for name in EMULATED})
    for event, listener in listeners.items():
        page.remove_listener(event, listener)


@pytest.fixture
def open_page(browser, left) -> Iterator[Callable]:
    """``open_(url, theme="light", width=1280, **context)`` gives a page and its record.

    All its widgets start, as for paper; with ``start=False`` those that the reader comes near.
    """
    used = []

    def open_(url: str, *, theme: str = "light", width: int = 1280, start: bool = True, **options):
        spare = left.setdefault(tuple(sorted(options.items())), [])
        page = spare.pop() if spare else browser.new_context(**options).new_page()
        record = Record()
        used.append((spare, page, listen(page, record), options))
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme)
        page.goto(url, wait_until="load")
        if start and options.get("java_script_enabled", True):
            start_widgets(page)
        return page, record

    yield open_
    for spare, page, *way_back in used:
        try:
            leave(page, *way_back)
        except Exception:  # a page that a test broke or closed is for nobody
            page.context.close()
        else:
            spare.append(page)


@pytest.fixture
def show(open_page, tmp_path):
    """`show(*widgets, **options)` opens a page of them: the page, the first of them, the record."""

    def show_(*widgets, **options):
        page, record = open_page(write_page(tmp_path, *widgets).as_uri(), **options)
        return page, Widget(wait_for_widgets(page, len(widgets))), record

    return show_
