"""Imports run only downward: between the packages, and inside one in the order that it carries."""

import ast
import pkgutil
from itertools import pairwise
from pathlib import Path

import pytest

import attnbook
import attnkit
import attnlab

PACKAGES = ("attnkit", "attnlab", "attnbook", "booktools", "experiments", "benchmarks", "tests")
"""From the bottom up; the four tools at the end may import anything."""

LAYERED = (attnkit, attnlab)


def folder(package) -> Path:
    return Path(package.__file__).parent


def files(package) -> list[Path]:
    return sorted(folder(package).rglob("*.py"))


def imported(text: str) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def packages_above(text: str, home: str) -> set[str]:
    """The packages above `home` that a file with this text imports."""
    above = PACKAGES[PACKAGES.index(home) + 1 :]
    return {name.split(".")[0] for name in imported(text)} & set(above)


def rooms_above(text: str, package, home: str) -> set[str]:
    """The rooms of `package` above `home`, or unknown to its list, that the text imports."""
    parts = [name.split(".") for name in imported(text)]
    rooms = {part[1] for part in parts if part[0] == package.__name__ and len(part) > 1}
    return rooms - set(package.LAYERS[: package.LAYERS.index(home) + 1])


@pytest.mark.parametrize("package", [attnkit, attnlab, attnbook], ids=lambda one: one.__name__)
def test_no_package_imports_one_above_it(package):
    found = {
        path: packages_above(path.read_text("utf8"), package.__name__) for path in files(package)
    }
    assert not {path: names for path, names in found.items() if names}


@pytest.mark.parametrize("package", LAYERED, ids=lambda one: one.__name__)
def test_no_room_imports_one_above_it(package):
    found = {}
    for path in files(package):
        inside = path.relative_to(folder(package))
        if inside.as_posix() == "__init__.py":
            continue
        home = inside.parts[0].removesuffix(".py")
        found[inside.as_posix()] = rooms_above(path.read_text("utf8"), package, home)
    assert not {path: names for path, names in found.items() if names}


@pytest.mark.parametrize("package", LAYERED, ids=lambda one: one.__name__)
def test_the_list_names_every_room_once_and_the_map_is_in_its_order(package):
    rooms = {module.name for module in pkgutil.iter_modules([str(folder(package))])}
    assert rooms == set(package.LAYERS)
    assert len(package.LAYERS) == len(rooms)
    places = [package.__doc__.index(f"\n    {name} ") for name in package.LAYERS]
    assert all(one < other for one, other in pairwise(places))


def test_an_upward_import_is_found():
    assert packages_above("def f():\n    import attnlab.tasks", "attnkit") == {"attnlab"}
    assert packages_above("from attnkit import masks", "attnlab") == set()
    assert rooms_above("from attnkit import masks, mechanisms", attnkit, "scores") == {"mechanisms"}
    assert rooms_above("def f():\n    import attnkit.viz.heatmap", attnkit, "masks") == {"viz"}
    assert rooms_above("from attnkit.guard.checks import fail", attnkit, "scores") == set()
