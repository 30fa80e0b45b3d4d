"""Small machines to move by hand, one idea each: widgets beside attnkit's explorer.

A module of this folder that defines a machine is known by being there.
"""

import importlib
import pkgutil

from attnkit.viz.widget import WIDGETS, Widget

for _module in pkgutil.iter_modules(__path__):
    if _module.name != "sphinx_ext":  # which asks for Sphinx
        importlib.import_module(f"{__name__}.{_module.name}")

MACHINES: dict[str, type[Widget]] = {
    widget.__name__: widget for widget in WIDGETS.values() if widget.__module__.startswith(__name__)
}
"""All of them, by name."""

globals().update(MACHINES)

__all__ = ["MACHINES", *MACHINES]
