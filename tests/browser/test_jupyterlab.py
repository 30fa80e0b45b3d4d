"""The widgets in a live JupyterLab: page and kernel move each other, and keys are the widget's."""

import nbformat
import pytest
from playwright.sync_api import expect

from tests import jupyter
from tests.browser.explorer_page import control, move, settle, snapshot

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CELLS = (
    """import torch
from attnkit.viz import AttentionExplorer
query = torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(0))
explorer = AttentionExplorer(query, query, title="Live")
explorer""",
    'print("report", explorer.seq_len, explorer.mask, explorer.pinned)',
    """explorer.seq_len, explorer.mask = 3, "causal"
print("set", abs(explorer.values()).sum().round(3))""",
    """from attnbook.machines import FastMemory
memory = FastMemory(fast=16)
memory""",
    """print("report", memory.fast)
memory.fast = 64""",
)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    pytest.importorskip("jupyterlab")
    folder = tmp_path_factory.mktemp("lab")
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(notebook, folder / "live.ipynb")
    with jupyter.lab(folder, f"--ServerApp.root_dir={folder}") as address:
        yield f"{address}lab/tree/live.ipynb?reset"


def run_cell(page, index: int, result: str) -> str:
    """Run a cell when the kernel is idle, and return what it shows at the selector `result`."""
    page.get_by_text("| Idle").wait_for(timeout=60_000)
    cell = page.locator(".jp-CodeCell").nth(index)
    cell.locator(".jp-InputArea-editor").click()
    page.keyboard.press("Control+Enter")
    shown = cell.locator(result)
    shown.wait_for(timeout=120_000)
    return shown.inner_text()


def test_page_and_kernel_move_each_others_explorer_and_machine(lab, open_page):
    page, _ = open_page(lab)
    run_cell(page, 0, ".attnkit-explorer")
    root = page.locator(".attnkit-explorer")
    move(root, "Length", 4)
    control(root, "Mask").select_option("window")
    cursor = root.locator(".explorer-cursor")
    cursor.press("Home")
    cursor.press("Enter")
    assert run_cell(page, 1, "pre").strip() == "report 5 window [0, 4, 0]"

    said = run_cell(page, 2, "pre")
    assert float(said.split()[1]) == pytest.approx(2 * 3)  # two heads of three rows that sum to 1
    page.wait_for_function(
        "document.querySelector('.attnkit-explorer').snapshot().seqLen === 3", timeout=30_000
    )
    expect(control(root, "Mask")).to_have_value("causal")
    assert control(root, "Length").input_value() == "2"
    assert [row.count(0.0) for row in snapshot(root)["weights"]] == [2, 1, 0]

    run_cell(page, 3, ".machine-fast")
    root = page.locator(".machine-fast")
    assert snapshot(root)["side"] == 8
    move(root, "Fast memory", 1)
    assert run_cell(page, 4, "pre").strip() == "report 32"
    page.wait_for_function(
        "document.querySelector('.machine-fast').snapshot().fast === 64", timeout=30_000
    )
    assert control(root, "Fast memory").input_value() == "2"


def cells(page) -> int:
    return page.locator(".jp-Notebook-cell").count()


def test_keys_move_the_controls_and_leave_the_cells_alone(lab, open_page):
    page, _ = open_page(lab)
    run_cell(page, 0, ".attnkit-explorer")
    root, before = page.locator(".attnkit-explorer"), cells(page)
    assert before > 1  # there is something to lose

    def press(element, *keys: str) -> None:
        element.focus()
        for key in keys:
            page.keyboard.press(key)
        settle(page)
        assert cells(page) == before

    length, mask = control(root, "Length"), control(root, "Mask")
    press(length, "Escape", "ArrowLeft", "ArrowLeft", "ArrowDown")  # command mode
    assert snapshot(root)["seqLen"] == 3
    assert length.evaluate("e => e === document.activeElement")
    for element in (length, mask, root.locator(".machine-reset")):
        press(element, "d", "d")
    press(mask, "ArrowDown", "Enter")
    assert snapshot(root)["mask"] != "none"
    said = root.locator(".machine-live").inner_text()
    press(root.locator(".explorer-cursor"), "ArrowUp")
    assert root.locator(".machine-live").inner_text() != said
    press(root.locator(".explorer-cursor"), "d", "d", "x", "a", "b")
