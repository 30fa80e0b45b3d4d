"""An installed Firefox, driven by WebDriver BiDi, which it speaks by itself, over one socket."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import websocket

NAMES = ("firefox-esr", "firefox")
STARTING = 60.0
"""Seconds that Firefox may take to start, or to answer."""


def find() -> str | None:
    """The Firefox to drive: ``$FIREFOX``, or the first that is installed, or ``None``."""
    if named := os.environ.get("FIREFOX"):
        return named
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """One tab of a Firefox."""

    def __init__(self, socket: websocket.WebSocket):
        self._socket, self._numbers = socket, itertools.count(1)
        self._call("session.new", capabilities={})
        self.tab = self._call("browsingContext.getTree")["contexts"][0]["context"]

    def open(self, address: str, *, width: int = 1280, height: int = 900) -> None:
        """Go to an address, and wait until the page has loaded."""
        viewport = {"width": width, "height": height}
        self._call("browsingContext.setViewport", context=self.tab, viewport=viewport)
        self._call("browsingContext.navigate", context=self.tab, url=address, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript, or what it promises, sent as JSON.

        Raises:
            RuntimeError: what the page threw.
        """
        found = self._call(
            "script.evaluate",
            expression=f"Promise.resolve({expression}).then((v) => JSON.stringify(v ?? null))",
            target={"context": self.tab},
            awaitPromise=True,
        )
        if found["type"] == "exception":
            raise RuntimeError(found["exceptionDetails"]["text"])
        return json.loads(found["result"]["value"])

    def wait_for(self, expression: str) -> None:
        """Wait until an expression is true, for half a minute.

        Raises:
            TimeoutError: it never was.
        """
        for _ in range(150):
            if self.evaluate(expression):
                return
            time.sleep(0.2)
        raise TimeoutError(f"Firefox waited in vain for {expression}")

    def press(self, *keys: str) -> None:
        """Press keys, one after another, as a reader would."""
        actions = [{"type": kind, "value": k} for k in keys for kind in ("keyDown", "keyUp")]
        source = {"type": "key", "id": "keys", "actions": actions}
        self._call("input.performActions", context=self.tab, actions=[source])

    def screenshot(self) -> bytes:
        """The page as a PNG."""
        return base64.b64decode(
            self._call("browsingContext.captureScreenshot", context=self.tab)["data"]
        )

    def _call(self, method: str, **params: object) -> dict:
        """Send a command and wait for its answer; events in between are left."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer = json.loads(self._socket.recv())
            if answer.get("id") == number:
                if answer["type"] == "error":
                    raise RuntimeError(f"{method}: {answer['error']}: {answer['message']}")
                return answer["result"]


@contextlib.contextmanager
def opened(profile: Path) -> Iterator[Page]:
    """A page of a Firefox without a window, with an empty profile in this folder.

    Raises:
        FileNotFoundError: no Firefox is installed.
        RuntimeError: it did not start.
    """
    program = find()
    if program is None:
        raise FileNotFoundError("no Firefox found; install it, or name it in $FIREFOX")
    command = [program, "--headless", "--no-remote", "--profile", str(profile)]
    command += ["--remote-debugging-port", "0", "about:blank"]
    log = profile / "firefox.log"
    with (
        open(log, "w") as said,
        subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT) as firefox,
    ):
        try:
            address = _address(log)
            socket = websocket.create_connection(
                f"{address}/session", timeout=STARTING, suppress_origin=True
            )
            with contextlib.closing(socket):
                yield Page(socket)
        finally:
            firefox.terminate()


def _address(log: Path) -> str:
    """Where Firefox listens, which it says when it has started."""
    end = time.monotonic() + STARTING
    while time.monotonic() < end:
        if found := re.search(r"WebDriver BiDi listening on (ws://\S+)", log.read_text("utf-8")):
            return found[1]
        time.sleep(0.2)
    raise RuntimeError(f"Firefox did not start within {STARTING:.0f} s: {log.read_text('utf-8')}")
