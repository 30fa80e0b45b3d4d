"""What every machine is: data and settings, all numbers of a setting, a picture and words."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from attnkit.viz import arrays
from attnkit.viz.widget import KITS, WIDGETS, Widget, anchor_of, expect

KITS["machines"] = (Path(__file__).with_name("kit.js"),)
KITS["layers"] = (Path(__file__).with_name("layers.js"),)


def softmax(scores: np.ndarray) -> np.ndarray:
    """The shares of the last dimension, as `softmax` of kit.js has them."""
    parts = np.exp(scores - scores.max(-1, keepdims=True))
    return parts / parts.sum(-1, keepdims=True)


class Machine(Widget):
    """A small widget that computes the same in Python and on the page.

    A subclass has traits: data, which stay, and settings, which the reader moves and `_limits`
    names. `compute` gives all numbers of the present settings, as the function of that name in the
    JavaScript file does, which lies beside the Python file with a style sheet. So a machine is
    known to notebooks, to pages and to the tests by being there.

    Args:
        title, caption: plain text above and below.
        anchor: the name that leads to it in the address of its page; the page gives one when left
            out.
        traits: data and settings.
    """

    _kits = (*Widget._kits, "machines")
    _about: str = ""
    """How its numbers come about: the end of the note below it."""
    _limits: ClassVar[dict[str, Callable[[Any], tuple | list] | None]] = {}
    """The settings. Of each what it may be: (least, most) or a list of values, of the machine; None
    where its trait says it, or a validator."""

    def __init_subclass__(cls, **options):
        file = Path(getattr(sys.modules[cls.__module__], "__file__", None) or "-")
        known = f"{cls.__module__}.{cls.__name__}" in WIDGETS
        if not known and file.with_suffix(".js").exists():
            cls._modules = (file.with_suffix(".js"),)
            cls._styles = (*vars(cls).get("_styles", ()), file.with_suffix(".css"))
        super().__init_subclass__(**options)

    def __init__(self, *, title: str = "", caption: str = "", anchor: str = "", **traits):
        bounded = (name for name, limits in self._limits.items() if limits)
        self._register_validator(_within_limits, tuple(bounded))
        note = arrays.note(caption, self._about)
        super().__init__(title=title, note=note, anchor=anchor_of(anchor), **traits)

    def settings(self) -> dict:
        """What the reader has set."""
        return {name: getattr(self, name) for name in self._limits}

    def compute(self) -> dict:
        """All numbers of the present settings: numbers, lists and dicts of them."""
        raise NotImplementedError

    def snapshot(self) -> dict:
        """All that is on show, as `snapshot()` of the element on the page gives it."""
        return self.settings() | self.compute()


def _within_limits(machine: Machine, proposal):
    limits, value = machine._limits[proposal.trait.name](machine), proposal.value
    if isinstance(limits, list):
        return expect(proposal, f"one of {limits}", value in limits)
    return expect(proposal, f"{limits[0]} to {limits[1]}", limits[0] <= value <= limits[1])
