"""An installed Chromium, for the tests and for the picture in the README."""

from __future__ import annotations

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # The network is cut: no name and no address but this machine's leads anywhere.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)


def find() -> str | None:
    """The Chromium to drive: ``$CHROMIUM``, or the first that is installed, or ``None``."""
    if named := os.environ.get("CHROMIUM"):
        return named
    return next((path for name in NAMES if (path := shutil.which(name))), None)
