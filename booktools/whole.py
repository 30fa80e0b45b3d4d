"""A build after one that failed, or that was interrupted, begins anew; one after a change forgets.

Sphinx remembers the pages that it has read, and takes them for sound: it says nothing again of a
broken link in one of them, and leaves what it had not yet written as it was. So a build leaves a
mark until it has ended well, and one that finds a mark forgets all that is remembered and written,
since a full disk may have left half of a file. One build at a time does so. And Sphinx forgets a
changed page only when it comes to read it: a label or a claim that has moved to a page read earlier
would be found twice. So all changed pages are forgotten before the first is read. And every page is
written again when the contents beside it have changed: by a page that came or went, or by a new
title; of a page that went nothing stays beside them.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from filelock import FileLock, Timeout
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError

MARK = "unfinished"
"""The mark's name, beside what Sphinx remembers."""
LOCK = ".building"
"""The name of what a build holds while it writes, beside that folder."""


def begin(app: Sphinx, config: Config) -> None:
    """Leave the mark, and forget what is remembered where there is one."""
    remembered = Path(app.doctreedir)
    app.building = FileLock(remembered.with_name(LOCK), timeout=0)
    try:
        app.building.acquire()
    except Timeout:
        raise ExtensionError(f"another build is writing into {remembered.parent}") from None
    if (remembered / MARK).exists():
        shutil.rmtree(remembered)
        for folder in (app.outdir, Path(app.outdir).with_name("jupyter_execute")):
            shutil.rmtree(folder, ignore_errors=True)
    remembered.mkdir(parents=True, exist_ok=True)
    (remembered / MARK).touch()


def remove(app: Sphinx, env: BuildEnvironment, *changes: set[str]) -> list[str]:
    """Remove what was written of pages that are gone; no other has to be read again for it."""
    _, _, gone = changes
    for name in gone if app.builder.format == "html" else ():
        Path(app.builder.get_outfilename(name)).unlink(missing_ok=True)
    return []


def forget(app: Sphinx, env: BuildEnvironment, changed: list[str]) -> None:
    """Forget what is remembered of the pages that are about to be read."""
    for name in changed:
        env.clear_doc(name)


def rewrite(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """All pages, when the contents that stand beside each of them are no longer the same."""
    titles = {name: title.astext() for name, title in env.titles.items()}
    contents = [app.config.external_site_map.as_json(), titles]
    before, env.contents = getattr(env, "contents", None), contents
    return [] if before == contents else sorted(env.found_docs)


def end(app: Sphinx, error: Exception | None) -> None:
    """Remove the mark, unless there was an error, or a warning that counts as one."""
    if error is None and not (app.keep_going and app._warncount):  # -W lets none come so far
        (Path(app.doctreedir) / MARK).unlink(missing_ok=True)
    app.building.release()


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the steps; Sphinx calls it."""
    app.connect("config-inited", begin, priority=100)
    app.connect("env-get-outdated", remove)
    app.connect("env-before-read-docs", forget, priority=999)  # the others may add pages
    app.connect("env-updated", rewrite)
    app.connect("build-finished", end, priority=999)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
