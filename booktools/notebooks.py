"""Execute the notebooks and write them in their normal form: what ``make notebooks`` runs.

python -m booktools.notebooks                 every notebook
python -m booktools.notebooks 05              those whose name contains 05
python -m booktools.notebooks --write-only    no execution: only the normal form and the Colab cell
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from tqdm import tqdm

from attnbook import arithmetic
from booktools import colab, gates, normal_form
from booktools.address import Address, read_address

CELL_TIMEOUT_S = 600
# One thread a kernel: the order in which a sum is taken, and so its last digits and all that
# a training run makes of them, must not depend on how many cores a machine has, nor on their make.
SAME_NUMBERS = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
} | arithmetic.KERNELS
KERNEL_ENVIRONMENT = SAME_NUMBERS | {
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    # A progress bar writes to stderr, and the times in it are never the same.
    "TQDM_DISABLE": "1",
}


class OneKernel(KernelSpecManager):
    """The kernel of one interpreter, whatever kernels are installed on this machine.

    A "python3" of the user's own would come first, with another set of packages.
    """

    def __init__(self, python: str = sys.executable) -> None:
        super().__init__()
        self.python = python

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """The same for every name."""
        argv = [self.python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=argv, display_name="Python 3", language="python")


def execute(
    nb: NotebookNode,
    folder: Path,
    on_cell: Callable[[], None] = lambda: None,
    python: str = sys.executable,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run ``nb`` in place, top to bottom, in a fresh kernel of ``python``, from ``folder``.

    The kernel's ``environment`` is this process's, with one arithmetic, unless another is given.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell raised without saying that it would.
    """
    nb.metadata.pop("widgets", None)
    client = NotebookClient(
        nb,
        km=AsyncKernelManager(kernel_name="python3", kernel_spec_manager=OneKernel(python)),
        timeout=CELL_TIMEOUT_S,
        record_timing=False,
        # The kernel's own remarks go to the terminal, where they would break the progress bar.
        extra_arguments=["--IPKernelApp.log_level=40"],
        resources={"metadata": {"path": str(folder)}},
        on_cell_executed=lambda **_: on_cell(),
    )
    chosen = os.environ | KERNEL_ENVIRONMENT if environment is None else environment
    client.execute(env=dict(chosen), cleanup_kc=True)


def write(path: Path, address: Address | None, *, run: bool, show_progress: bool) -> float:
    """Bring one notebook up to date on disk; returns the seconds it took to execute."""
    nb = normal_form.read(path)
    colab.set_up(nb, address)
    normal_form.normalise(nb)
    started = time.perf_counter()
    if run:
        count = sum(cell.cell_type == "code" for cell in nb.cells)
        with tqdm(total=count, desc=path.stem, unit="cell", disable=not show_progress) as bar:
            execute(nb, path.parent, on_cell=bar.update)
        nb.metadata["book"] = {"executed": normal_form.source_record(nb)}
    elif (record := nb.metadata.get("book", {}).get("executed")) is not None:
        # The set-up cell prints nothing here, so a new address does not make outputs stale.
        now = {line.split()[0]: line for line in normal_form.source_record(nb)}
        set_up_now = now[colab.CELL_ID]
        record[:] = [set_up_now if line.startswith(colab.CELL_ID) else line for line in record]
    text = normal_form.dumps(normal_form.normalise(nb))
    scratch = path.with_name(f".{path.name}.part")
    scratch.write_text(text, "utf8")
    scratch.replace(path)
    return time.perf_counter() - started


def _select(names: list[str]) -> list[Path]:
    everything = gates.notebooks()
    if not names:
        return everything
    where = {path: path.relative_to(gates.ROOT).as_posix() for path in everything}
    unknown = [name for name in names if not any(name in place for place in where.values())]
    if unknown:
        known = ", ".join(where.values()) or "none"
        raise SystemExit(f"no notebook matches {', '.join(unknown)}; there are: {known}")
    return [path for path in everything if any(name in where[path] for name in names)]


def main(argv: list[str] | None = None) -> int:
    """Execute and write the chosen notebooks, then hold them to the gates."""
    parser = argparse.ArgumentParser(prog="python -m booktools.notebooks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="part of a notebook's path")
    parser.add_argument("--write-only", action="store_true", help="do not execute")
    parser.add_argument("--jobs", type=int, default=1, help="notebooks at a time (default: 1)")
    options = parser.parse_args(argv)
    address, paths = read_address(), _select(options.names)

    failed = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = {
            pool.submit(
                write, path, address, run=not options.write_only, show_progress=options.jobs == 1
            ): path
            for path in paths
        }
        for job in concurrent.futures.as_completed(jobs):
            path = jobs[job]
            try:
                print(f"{path.stem}: {job.result():.0f} s", flush=True)
            except CellExecutionError as error:
                failed.append(f"{path.name}: {error}")
    failed += gates.check([p for p in paths if not any(p.name in f for f in failed)], address)
    for fault in failed:
        print(fault, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
