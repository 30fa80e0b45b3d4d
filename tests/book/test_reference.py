"""The reference lists what attnkit offers, each entry with shapes or a formula and an example."""

import importlib
import inspect
import pathlib
import re

import pytest

import attnkit

PAGES = pathlib.Path(__file__).parents[2] / "appendices" / "api"
MODULES = [
    "attnkit",
    "attnkit.viz",
    *(f"attnkit.{name}" for name in attnkit.__all__),
    "attnkit.decoding.predictions",
    "attnkit.training.storage",
    "attnbook.exercises",
    "attnbook.recorded",
]


def public(module_name):
    """The functions and classes that a module of attnkit offers by its `__all__`, or defines."""
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError:  # a class or function of attnkit itself, listed under attnkit
        return
    for name in getattr(module, "__all__", vars(module)):
        item = getattr(module, name)
        home = module_name if "__all__" not in vars(module) else module_name.split(".")[0]
        own = getattr(item, "__module__", "").startswith(home)
        callable_item = inspect.isfunction(item) or inspect.isclass(item)
        if not name.startswith("_") and own and callable_item:
            yield item


OFFERED = sorted(
    {item for module in MODULES for item in public(module)},
    key=lambda item: (item.__module__, item.__name__),
)
LISTED = {
    name
    for page in PAGES.glob("*.md")
    for name in re.findall(r"^\.\. auto(?:class|function):: (\w+)$", page.read_text(), re.MULTILINE)
}


@pytest.mark.parametrize("item", OFFERED, ids=lambda item: f"{item.__module__}.{item.__name__}")
def test_everything_offered_is_in_the_reference(item):
    assert item.__name__ in LISTED


@pytest.mark.parametrize(
    "item",
    [item for item in OFFERED if not (inspect.isclass(item) and issubclass(item, (tuple, dict)))],
    ids=lambda item: f"{item.__module__}.{item.__name__}",
)
def test_every_entry_has_an_example_that_runs(item):
    own = inspect.getdoc(item) or ""
    assert ">>>" in own


def test_the_reference_lists_nothing_that_is_gone():
    names = {item.__name__ for item in OFFERED}
    assert names >= LISTED
