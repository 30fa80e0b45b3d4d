"""An installed Chromium, for the tests and for the picture in the README."""

from __future__ import annotations

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# The same engine without a browser's windows and tabs, which the others keep though nobody sees
# them, so each of the tests' many new contexts costs less.
SHELL = "chromium-headless-shell"
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


def find(*, shell: bool = False) -> str | None:
    """The Chromium to drive: ``$CHROMIUM``, or the first that is installed, or ``None``.

    With `shell`, the one that is only headless comes first; without, it comes last.
    """
    if named := os.environ.get("CHROMIUM"):
        return named
    names = (SHELL, *NAMES) if shell else (*NAMES, SHELL)
    return next((path for name in names if (path := shutil.which(name))), None)
