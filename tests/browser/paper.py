"""A page printed to PDF by Chromium, and what one sees on its sheets."""

import importlib.util
import os

import numpy as np
import pytest

A4 = {"format": "A4", "margin": dict.fromkeys(("top", "right", "bottom", "left"), "15mm")}
SCALE = 2  # pixels a point


def printed(page) -> list[np.ndarray]:
    """The sheets that "Print" makes of an open page, as pixels (height, width, 3).

    As printers have it by default, backgrounds are left out but where a style asks for them.
    """
    if importlib.util.find_spec("pypdfium2") is None:
        message = "pypdfium2 is missing: pip install -r requirements.txt"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    import pypdfium2

    document = pypdfium2.PdfDocument(page.pdf(**A4))
    sheets = [sheet.render(scale=SCALE).to_numpy()[..., 2::-1].copy() for sheet in document]
    document.close()
    return sheets


def coloured(sheets: list[np.ndarray]) -> int:
    """The number of pixels that are no grey."""
    return sum(int((np.ptp(sheet.astype(int), axis=-1) > 24).sum()) for sheet in sheets)


def dark(sheets: list[np.ndarray]) -> int:
    """The number of pixels that take a lot of ink."""
    return sum(int((sheet.max(axis=-1) < 96).sum()) for sheet in sheets)
