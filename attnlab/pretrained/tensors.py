"""Tensors of published models, taken by name: one that is missing or left over is named."""

import re
from collections.abc import Mapping

from torch import Tensor

from attnkit.guard import checks


def take(given: dict[str, Tensor], name: str) -> Tensor:
    """Take the tensor of that name out of `given`, in float32.

    Raises:
        ValueError: there is none of that name, or it is not floating.
    """
    if name not in given:
        checks.fail("tensors", f"one named {name}", "none")
    if not given[name].is_floating_point():
        checks.fail(name, "a floating-point tensor", str(given[name].dtype))
    return given.pop(name).float()


def check_left(given: Mapping[str, Tensor], harmless: str) -> None:
    """Refuse tensors that were not taken, unless their names match `harmless`: they would change
    what the model computes.

    Raises:
        ValueError: naming the first of them.
    """
    left = sorted(name for name in given if not re.fullmatch(harmless, name))
    if left:
        expected = "no more tensors than this model has"
        checks.fail("tensors", expected, f"{left[0]}, and {len(left) - 1} more")
