"""The reference lists what attnkit offers, each entry with shapes or a formula and an example."""

import importlib
import inspect
import pathlib
import re

import nbformat
import pytest

import attnkit

ROOT = pathlib.Path(__file__).parents[2]
PAGES = ROOT / "appendices" / "api"
CHAPTERS = ROOT / "chapters"
MODULES = [
    "attnkit",
    "attnkit.viz",
    "attnlab",
    "attnbook.machines",
    *(f"attnlab.{name}" for name in __import__("attnlab").__all__),
    *(f"attnkit.{name}" for name in attnkit.__all__),
    "attnlab.decoding.predictions",
    "attnlab.training.quantization",
    "attnlab.applications.summarizer",
    "attnlab.applications.translator",
    "attnbook.exercises",
    "attnbook.recorded",
    "attnbook.translators",
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
ENTRY = re.compile(
    r"^\.\. auto(?:class|function):: (\w+)$(?:\n\n   \.\. taught:: (\d\d)$)?", re.MULTILINE
)
ENTRIES = [
    entry for page in sorted(PAGES.glob("*.md")) for entry in ENTRY.findall(page.read_text())
]
LISTED = {name for name, _ in ENTRIES}
TAUGHT = [entry for entry in ENTRIES if entry[1]]


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


@pytest.mark.parametrize("item", OFFERED, ids=lambda item: f"{item.__module__}.{item.__name__}")
def test_every_entry_begins_with_one_sentence(item):
    """The tables of the reference show the first sentence of a docstring, so it has to be one."""
    first = (inspect.getdoc(item) or "").split("\n\n")[0]
    assert re.match(r"[A-Z`].*[.:]", first, re.DOTALL), first
    assert len(re.split(r"(?<=[.:])\s+(?=[A-Z`])", " ".join(first.split()))[0]) <= 160


@pytest.mark.parametrize(("name", "chapter"), TAUGHT)
def test_the_chapter_that_teaches_an_entry_names_it(name, chapter):
    (path,) = CHAPTERS.glob(f"{chapter}_*.ipynb")
    cells = nbformat.read(path, 4).cells
    assert any(re.search(rf"\b{name}\b", cell.source) for cell in cells)


def test_some_entries_are_taught():
    assert len(TAUGHT) > 50


def test_the_reference_lists_nothing_that_is_gone():
    names = {item.__name__ for item in OFFERED}
    assert names >= LISTED
