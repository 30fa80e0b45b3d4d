"""Start Python programs as copies of one process that has imported PyTorch.

PyTorch, its optimizers and IPython take five seconds of a processor to import, and every kernel of
nbval would import them for itself, as every small book would Sphinx and what extends it. Here a
server imports them once, and forks for each. What a program can see is the same: its names are its
own, and nothing of the book is imported before. Without Linux, or with a build of PyTorch for a
GPU, which does not survive a fork, programs start as always.

    from jupyter_client.provisioning import local_provisioner
    local_provisioner.launch_kernel = forked.launch
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import torch
from jupyter_client.launcher import launch_kernel

# No Matplotlib and no ipywidgets: at their import they look for the kernel that they are in.
IMPORTS = ("torch._dynamo", "ipykernel.kernelapp", "ipykernel.ipkernel", "zmq.eventloop.zmqstream")
# What a build imports, of which nothing is this book's.
FOR_BUILDS = ("torch", "jupyter_book.cli.main", "jupyter_book.sphinx", "myst_nb.sphinx_ext",
              "pydata_sphinx_theme", "sphinx_book_theme", "sphinxcontrib.bibtex", "sphinx_exercise",
              "sphinxext.opengraph", "sphinx.ext.autodoc", "fontTools.subset", "bs4", "anywidget",
              "matplotlib.figure")  # fmt: skip
POLL_S = 0.05


def can_fork() -> bool:
    """Whether programs can be copies."""
    return sys.platform == "linux" and torch.version.cuda is None


class Forked:
    """A copy, with what jupyter_client asks of a `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int):
        self.pid, self.returncode = pid, None

    def poll(self) -> int | None:
        """None while it runs; 0 when it is gone, however it ended: its parent is the server."""
        if self.returncode is None and not _runs(self.pid):
            self.returncode = 0
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it is gone.

        Raises:
            subprocess.TimeoutExpired: it was still there after `timeout` seconds.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(POLL_S)
        return 0

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it is gone."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


def launch(cmd: list[str], *, cwd: str | None = None, env: dict | None = None, **options):
    """Start a kernel, as jupyter_client's function of this signature does."""
    module = cmd[1:3] == ["-m", "ipykernel_launcher"] and cmd[0] == sys.executable
    if not (module and can_fork()):
        return launch_kernel(cmd, cwd=cwd, env=env, **options)
    return _start(cmd[1:], cwd or os.getcwd(), dict(env or os.environ))


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: dict[str, str] | None = None,
    imported: tuple[str, ...] = IMPORTS,
) -> subprocess.CompletedProcess:
    """Run `python *argv` in a folder to its end, as `subprocess.run` does, and keep what it says.

    `argv` begins with `-m` and a module, or with the path of a script. The process of which it is a
    copy has `imported` these.
    """
    env = dict(os.environ if env is None else env)
    if not can_fork():
        command = [sys.executable, *argv]
        return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    with tempfile.TemporaryDirectory() as folder:
        stdout, stderr, status = (Path(folder) / name for name in ("stdout", "stderr", "status"))
        says = (str(stdout), str(stderr))
        _start(list(argv), str(cwd), env, says, str(status), imported).wait()
        # A process that was killed leaves no status.
        code = int(status.read_text()) if status.exists() else -signal.SIGKILL
        return subprocess.CompletedProcess(argv, code, stdout.read_text(), stderr.read_text())


def _start(
    argv: list[str],
    cwd: str,
    env: dict[str, str],
    says: tuple[str, str] = (os.devnull, os.devnull),
    status: str = os.devnull,
    imported: tuple[str, ...] = IMPORTS,
) -> Forked:
    asked = {"argv": argv, "cwd": cwd, "env": env, "says": says, "status": status}
    server = _server(imported)
    server.stdin.write(json.dumps(asked) + "\n")
    server.stdin.flush()
    return Forked(int(server.stdout.readline()))


@cache
def _server(imported: tuple[str, ...]) -> subprocess.Popen:
    """The server of this process that imports these; it ends with it, since its stdin does."""
    # Its path has neither a folder of its own nor PYTHONPATH: those are the program's.
    command = [sys.executable, "-P", __file__, *imported]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=env, **pipes)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _become(
    argv: list[str], cwd: str, env: dict[str, str], says: Sequence[str], status: str, ready: int
) -> None:
    """Be the program, and write its exit status."""
    os.setsid()  # what is sent to the group of a kernel must not reach the server
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    os.write(ready, b"\n")
    os.close(ready)
    for stream, name in enumerate((os.devnull, *says)):  # stdout was the server's answer
        file = os.open(name, os.O_WRONLY | os.O_CREAT if stream else os.O_RDONLY)
        os.dup2(file, stream)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    code = _exit_status(argv)
    atexit._run_exitfuncs()  # such as those that end a program's own processes
    sys.stdout.flush()
    sys.stderr.flush()
    Path(status).write_text(str(code))


def _exit_status(argv: list[str]) -> int:
    """Run a module or a script as `python` does."""
    named = argv[0] == "-m"
    sys.argv = argv[1:] if named else argv
    beside = os.getcwd() if named else os.path.dirname(argv[0])
    given = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:0] = [beside, *map(os.path.abspath, given)]
    try:
        if named:
            runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(argv[0], run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def serve(imported: Sequence[str]) -> None:
    """Fork for every line of stdin, and answer with the number of the process."""
    for name in imported:
        __import__(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    for line in sys.stdin:
        done, ready = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(done)
            _become(**json.loads(line), ready=ready)
            os._exit(0)
        os.close(ready)
        os.read(done, 1)
        os.close(done)
        print(pid, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1:])
