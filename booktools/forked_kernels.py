"""Start the kernels of nbval as copies of one process that has made their imports.

PyTorch, its optimizers and IPython take five seconds of a processor to import, and every notebook
would import them for itself. Here a server imports them once, and forks for each kernel. What a
notebook can see is the same: its names are its own, and nothing of the book is imported before.
Without Linux, or with a build of PyTorch for a GPU, which does not survive a fork, kernels start
as always.

    from jupyter_client.provisioning import local_provisioner
    local_provisioner.launch_kernel = forked_kernels.launch
"""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import signal
import subprocess
import sys
import time
from functools import cache

import torch
from jupyter_client.launcher import launch_kernel

# No Matplotlib and no ipywidgets: at their import they look for the kernel that they are in.
IMPORTS = ("torch._dynamo", "ipykernel.kernelapp", "ipykernel.ipkernel", "zmq.eventloop.zmqstream")
POLL_S = 0.05


def can_fork() -> bool:
    """Whether kernels can be copies."""
    return sys.platform == "linux" and torch.version.cuda is None


class Forked:
    """A kernel, with what jupyter_client asks of a `subprocess.Popen`."""

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
    asked = {"argv": cmd[2:], "cwd": cwd or os.getcwd(), "env": dict(env or os.environ)}
    server = _server()
    server.stdin.write(json.dumps(asked) + "\n")
    server.stdin.flush()
    return Forked(int(server.stdout.readline()))


@cache
def _server() -> subprocess.Popen:
    """The server of this process; it ends with it, since its stdin does."""
    command = [sys.executable, "-m", "booktools.forked_kernels"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=os.path.dirname(os.path.dirname(__file__)), **pipes)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _become_kernel(argv: list[str], cwd: str, env: dict[str, str], ready: int) -> None:
    os.setsid()  # what is sent to the group of a kernel must not reach the server
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    os.write(ready, b"\n")
    os.close(ready)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):  # as nbval starts them; and stdout is the server's answer
        os.dup2(nothing, stream)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    sys.argv = argv
    runpy.run_module("ipykernel_launcher", run_name="__main__", alter_sys=True)


def serve() -> None:
    """Fork for every line of stdin, and answer with the number of the process."""
    for name in IMPORTS:
        __import__(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    for line in sys.stdin:
        done, ready = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(done)
            _become_kernel(**json.loads(line), ready=ready)
            os._exit(0)
        os.close(ready)
        os.read(done, 1)
        os.close(done)
        print(pid, flush=True)


if __name__ == "__main__":
    serve()
