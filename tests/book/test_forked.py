"""Copies of one process: their own names, place, environment, group, output and end."""

import os
import signal
from unittest.mock import patch

import pytest
from jupyter_client.manager import start_new_kernel
from nbval.kernel import RunningKernel

from booktools import forked

pytestmark = [
    pytest.mark.build,  # seconds
    pytest.mark.skipif(not forked.can_fork(), reason="programs are not copies here"),
]


@pytest.fixture
def kernel(tmp_path):
    """A kernel in a folder of its own, and a function that evaluates an expression in it."""
    manager, client = start_new_kernel(cwd=str(tmp_path), env={**os.environ, "BOOK_TEST": "one"})
    assert isinstance(manager.provisioner.process, forked.Forked)

    def value(expression: str) -> str:
        asked = {"it": expression}
        reply = client.execute("", user_expressions=asked, reply=True, timeout=30)
        found = reply["content"]["user_expressions"]["it"]
        return found.get("data", {}).get("text/plain") or found["ename"]

    yield manager, client, value
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_it_sees_what_a_new_one_sees(kernel, tmp_path):
    _, _, value = kernel
    assert value("torch") == "NameError"
    assert value("__name__") == "'__main__'"
    assert value("__import__('os').getcwd()") == repr(str(tmp_path))
    assert value("__import__('os').environ['BOOK_TEST']") == "'one'"
    loaded = value(
        "[m for m in __import__('sys').modules if m.startswith(('attn', 'matplotlib.'))]"
    )
    assert loaded == "[]"
    assert value("'torch._dynamo' in __import__('sys').modules") == "True"


def test_it_looks_for_modules_where_its_own_environment_says(tmp_path):
    (tmp_path / "wanted.py").write_text("import attnkit; print('found')")
    for path, said in ((tmp_path, "found\n"), (tmp_path / "empty", "")):
        env = {**os.environ, "PYTHONPATH": str(path)}
        assert forked.run(["-m", "wanted"], cwd=tmp_path.parent, env=env).stdout == said


def test_it_is_interrupted_alone_and_ends(kernel):
    manager, client, value = kernel
    process = manager.provisioner.process
    assert os.getpgid(process.pid) == process.pid  # and so nobody else is
    asked = client.execute("print('begun', flush=True)\nwhile True: pass", stop_on_error=False)
    # A signal between the message that the code has come and its first line is IPython's, and lost.
    while client.get_iopub_msg(timeout=30)["msg_type"] != "stream":
        pass
    manager.interrupt_kernel()
    reply = client.get_shell_msg(timeout=30)
    while reply["parent_header"]["msg_id"] != asked:  # one that starts slowly is greeted twice
        reply = client.get_shell_msg(timeout=30)
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    assert value("1 + 1") == "2"
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait(timeout=10) == process.poll() == 0


def test_a_notebook_whose_kernel_was_killed_fails_at_once():
    """By a machine without memory for it, say; nbval alone waits for 2,000 seconds."""
    running = RunningKernel("python3")
    asked = running.execute_cell_input("import os; os.kill(os.getpid(), 9)", allow_stdin=False)
    with pytest.raises(RuntimeError, match="the kernel was killed"):
        running.await_reply(asked, timeout=30)


def test_two_of_them_share_nothing(kernel):
    _, client, value = kernel
    client.execute("import torch; torch.manual_seed(1); shared = 1", reply=True)
    manager, other = start_new_kernel()
    reply = other.execute("shared", reply=True, timeout=30)
    assert reply["content"]["ename"] == "NameError"
    assert value("shared") == "1"
    other.stop_channels()
    manager.shutdown_kernel(now=True)


def test_another_program_starts_as_always(tmp_path):
    process = forked.launch(["true"], cwd=str(tmp_path))
    assert not isinstance(process, forked.Forked)
    assert process.wait(timeout=10) == 0


SCRIPT = """
import atexit
import os, sys
print(sys.argv, os.getcwd(), os.environ["BOOK_TEST"], sys.path[0], "booktools" in sys.modules)
print("a warning", file=sys.stderr)
atexit.register(print, "the end")
{end}
"""


def both_ways(argv, folder):
    """What a copy of the server did, and what a new process does."""
    env = {**os.environ, "BOOK_TEST": "two"}
    with patch.object(forked, "can_fork", lambda: False):
        new = forked.run(argv, cwd=folder, env=env)
    return forked.run(argv, cwd=folder, env=env), new


@pytest.mark.parametrize("end", ["", "sys.exit(3)", "sys.exit('no')", "1 / 0"])
def test_a_script_says_and_ends_as_in_a_process_of_its_own(tmp_path, end):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(end=end))
    copy, new = both_ways([str(script), "--option"], tmp_path)
    assert (copy.returncode, copy.stdout) == (new.returncode, new.stdout)
    assert "script.py" in copy.stdout
    assert copy.stderr.splitlines()[0] == "a warning"
    assert copy.stderr.splitlines()[-1] == new.stderr.splitlines()[-1]


def test_a_module_is_that_of_its_folder(tmp_path):
    (tmp_path / "booktools").mkdir()
    (tmp_path / "booktools" / "__init__.py").touch()
    (tmp_path / "booktools" / "__main__.py").write_text("print(__file__)")
    copy, new = both_ways(["-m", "booktools"], tmp_path)
    assert copy.stdout == new.stdout == f"{tmp_path}/booktools/__main__.py\n"


def test_one_that_is_killed_did_not_succeed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    copy, new = both_ways([str(script)], tmp_path)
    assert copy.returncode == new.returncode == -signal.SIGKILL
