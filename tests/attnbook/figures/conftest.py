"""What every test of figures needs: the figures that a function shows."""

import matplotlib.pyplot as plt
import pytest


@pytest.fixture
def shown(monkeypatch):
    found = []
    monkeypatch.setattr(plt, "show", lambda: found.append(plt.gcf()))
    yield found
    plt.close("all")
