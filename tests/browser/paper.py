"""A page printed to PDF by Chromium, and what one sees on its sheets."""

import contextlib
import importlib.util
import os

import numpy as np
import pytest

A4 = {"format": "A4", "margin": dict.fromkeys(("top", "right", "bottom", "left"), "15mm")}
SCALE = 2  # pixels a point


def _document(page):
    """What "Print" makes of an open page.

    As printers have it by default, backgrounds are left out but where a style asks for them.
    """
    if importlib.util.find_spec("pypdfium2") is None:
        message = "pypdfium2 is missing: pip install -r requirements.txt"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    import pypdfium2

    return contextlib.closing(pypdfium2.PdfDocument(page.pdf(**A4)))


def printed(page) -> list[np.ndarray]:
    with _document(page) as document:
        return [sheet.render(scale=SCALE).to_numpy()[..., 2::-1].copy() for sheet in document]


def words(page) -> str:
    with _document(page) as document:
        return "\n".join(sheet.get_textpage().get_text_bounded() for sheet in document)


def coloured(sheets: list[np.ndarray]) -> int:
    return sum(int((np.ptp(sheet.astype(int), axis=-1) > 24).sum()) for sheet in sheets)


def dark(sheets: list[np.ndarray]) -> int:
    return sum(int((sheet.max(axis=-1) < 96).sum()) for sheet in sheets)
