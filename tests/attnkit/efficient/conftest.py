"""Tiles so small that a small problem has many, and none takes the plain form."""

import pytest

SMALL = {
    "delta": {"CHUNK": 4},
    "flash": {"ROWS": 4, "KEYS": 3, "SHORT": 0},
    "linear": {"CHUNK": 4, "SHORT": 0},
    "tiled_additive": {"TILE": 96, "BAND": 3, "ROWS": 2, "WORTH_TILING": 0, "FEW_PAIRS": 0},
    "window": {"MIN_ROWS": 4, "MAX_ROWS": 4, "SHORT": 0},
}


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    for module, sizes in SMALL.items():
        for name, size in sizes.items():
            monkeypatch.setattr(f"attnkit.efficient.{module}.{name}", size)
