"""Real key presses on the widgets in a live JupyterLab: the notebook must not take them."""

import pytest

from tests.browser.explorer_page import control, settle, snapshot
from tests.browser.test_jupyterlab import lab, run_cell  # noqa: F401 (a fixture)

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def cells(page) -> int:
    return page.locator(".jp-Notebook-cell").count()


def test_keys_move_the_controls_and_leave_the_cells_alone(lab, open_page):  # noqa: F811
    page, _ = open_page(lab + "lab/tree/live.ipynb?reset")
    run_cell(page, 0, ".attnkit-explorer")
    root, before = page.locator(".attnkit-explorer"), cells(page)
    assert before > 1  # there is something to lose
    length = control(root, "Length")
    length.focus()
    page.keyboard.press("Escape")  # command mode
    for key in ("ArrowLeft", "ArrowLeft", "ArrowDown"):
        page.keyboard.press(key)
    settle(page)
    assert snapshot(root)["seqLen"] == 3
    assert length.evaluate("e => e === document.activeElement")
    for element in (length, control(root, "Mask"), root.locator(".machine-reset")):
        element.focus()
        page.keyboard.press("d")
        page.keyboard.press("d")
        settle(page)
        assert cells(page) == before
    control(root, "Mask").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    settle(page)
    assert snapshot(root)["mask"] != "none"
    cursor = root.locator(".explorer-cursor")
    cursor.focus()
    said = root.locator(".machine-live").inner_text()
    page.keyboard.press("ArrowUp")
    assert root.locator(".machine-live").inner_text() != said
    for key in ("d", "d", "x", "a", "b"):
        page.keyboard.press(key)
    settle(page)
    assert cells(page) == before
