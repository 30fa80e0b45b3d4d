"""What every test of figures needs: what a function draws."""

import matplotlib.pyplot as plt
import pytest


@pytest.fixture
def draw(monkeypatch):
    """`draw(function, ...)` calls it, and returns the axes of the one figure that it shows."""

    def axes_of(function, *args, **kwargs):
        found = []
        monkeypatch.setattr(plt, "show", lambda: found.append(plt.gcf()))
        function(*args, **kwargs)
        (figure,) = found
        return figure.axes

    yield axes_of
    plt.close("all")
