"""The reference lists what attnkit offers, each entry with shapes or a formula and an example."""

import importlib
import inspect
import pathlib
import re

import nbformat

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
    r"^\.\. auto(?:class|function):: (\w+)$(?:\n   :members: \w+)?"
    r"(?:\n\n   \.\. taught:: (\d\d[a-z]?)$)?",
    re.MULTILINE,
)
ENTRIES = [
    entry for page in sorted(PAGES.glob("*.md")) for entry in ENTRY.findall(page.read_text())
]
LISTED = {name for name, _ in ENTRIES}
TAUGHT = [entry for entry in ENTRIES if entry[1]]


def named(item) -> str:
    return f"{item.__module__}.{item.__name__}"


def first_sentence(item) -> str:
    """What the tables of the reference show of a docstring; "" where it begins with none."""
    first = (inspect.getdoc(item) or "").split("\n\n")[0]
    sentence = re.split(r"(?<=[.:])\s+(?=[A-Z`])", " ".join(first.split()))[0]
    return sentence if re.match(r"[A-Z`].*[.:]", first, re.DOTALL) else ""


def test_everything_offered_is_in_the_reference():
    assert [named(item) for item in OFFERED if item.__name__ not in LISTED] == []


def test_every_entry_has_an_example():
    data = [item for item in OFFERED if inspect.isclass(item) and issubclass(item, (tuple, dict))]
    others = [item for item in OFFERED if item not in data]
    assert [named(item) for item in others if ">>>" not in (inspect.getdoc(item) or "")] == []


def test_every_entry_begins_with_one_sentence():
    assert [named(item) for item in OFFERED if not 0 < len(first_sentence(item)) <= 160] == []


def test_the_chapter_that_teaches_an_entry_names_it():
    assert len(TAUGHT) > 50
    said = {
        chapter: "\n".join(cell.source for cell in nbformat.read(path, 4).cells)
        for chapter in {chapter for _, chapter in TAUGHT}
        for path in CHAPTERS.glob(f"{chapter}_*.ipynb")
    }
    assert [(n, c) for n, c in TAUGHT if not re.search(rf"\b{n}\b", said.get(c, ""))] == []


def test_the_reference_lists_nothing_that_is_gone():
    names = {item.__name__ for item in OFFERED}
    assert names >= LISTED
