"""A JupyterLab of this machine for the tests, without a token."""

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

OPTIONS = ("--no-browser", "--allow-root", "--port=0", "--IdentityProvider.token=",
           "--ServerApp.disable_check_xsrf=True", "--LabApp.collaborative=False")  # fmt: skip


@contextlib.contextmanager
def lab(folder: Path, *options: str, cwd: Path | None = None) -> Iterator[str]:
    """The address of a JupyterLab that was started in `cwd` with these options.

    Its settings, its work spaces and its log are in `folder`.
    """
    command: Sequence[str] = [sys.executable, "-m", "jupyterlab", *OPTIONS, *options]
    environment = os.environ | {"JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
                                "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
                                "JUPYTERLAB_WORKSPACES_DIR": str(folder / "spaces")}  # fmt: skip
    with open(folder / "log", "w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=cwd)
    try:
        yield _address(folder, server)
    finally:
        server.terminate()
        server.wait(timeout=20)


def _address(folder: Path, server: subprocess.Popen, seconds: float = 90.0) -> str:
    """Wait until the server answers; its address is in a file that it writes."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and server.poll() is None:
        for path in (folder / "runtime").glob("jpserver-*.json"):
            with contextlib.suppress(OSError, json.JSONDecodeError):
                address = json.loads(path.read_text())["url"]
                urllib.request.urlopen(address + "api", timeout=5).read()
                return address
        time.sleep(0.2)
    raise AssertionError("JupyterLab did not start:\n" + (folder / "log").read_text()[-2000:])
