"""Imports run only downward, in the order that the package itself carries."""

import ast
import pkgutil
from itertools import pairwise
from pathlib import Path

import pytest

import attnkit

FOLDER = Path(attnkit.__file__).parent
FILES = sorted(path for path in FOLDER.rglob("*.py") if path != FOLDER / "__init__.py")


def room(module: str) -> str | None:
    """The room of a dotted module name of attnkit; None for the package and for other packages."""
    parts = module.split(".")
    return parts[1] if parts[0] == "attnkit" and len(parts) > 1 else None


def imported(tree: ast.AST) -> set[str]:
    """The rooms that a file imports, wherever in it the import stands."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports in attnkit are absolute"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {found for name in names if (found := room(name)) is not None}


def upward(text: str, home: str) -> set[str]:
    """The rooms above `home`, or unknown to the list, that a file with this text imports."""
    allowed = attnkit.LAYERS[: attnkit.LAYERS.index(home) + 1]
    return imported(ast.parse(text)) - set(allowed)


def test_the_list_names_every_room_once():
    rooms = {module.name for module in pkgutil.iter_modules([str(FOLDER)])}
    assert rooms == set(attnkit.LAYERS)
    assert len(attnkit.LAYERS) == len(rooms)


def test_the_map_is_in_the_order_of_the_list():
    places = [attnkit.__doc__.index(f"\n    {name} ") for name in attnkit.LAYERS]
    assert all(one < other for one, other in pairwise(places))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_imports_run_only_downward(path):
    home = path.relative_to(FOLDER).parts[0].removesuffix(".py")
    assert upward(path.read_text("utf8"), home) == set()


def test_an_upward_import_is_found():
    assert upward("from attnkit import masks, rnn", "scores") == {"rnn"}
    assert upward("def f():\n    import attnkit.viz.heatmap", "metrics") == {"viz"}
    assert upward("from attnkit.checks import fail", "scores") == set()
