"""What the widgets share: modules made of files, checked settings, and a picture and words."""

import html
import json
import pathlib
import re

import anywidget
import traitlets as t
from ipywidgets.embed import dependency_state, embed_data
from matplotlib.figure import Figure

from attnkit.guard import checks
from attnkit.viz.heatmap import png

HERE = pathlib.Path(__file__).parent


def source(*names: str | pathlib.Path) -> str:
    """The text of these files of this folder, one after another.

    So one ES module is made of what the widgets share and of a widget's own source: a page opened
    from `file:` may not import one module from another. Indentation and comments that have lines
    of their own stay behind: every page carries the module.
    """
    return "".join(_lean((HERE / name).read_text("utf-8")) for name in names)


def _lean(text: str) -> str:
    without = re.sub(r"^ */\*\*.*?\*/\n", "", text, flags=re.MULTILINE | re.DOTALL)
    lines = (line.strip() for line in without.splitlines())
    return "".join(f"{line}\n" for line in lines if line and not line.startswith("//"))


def host() -> str:
    """The script that brings the widgets of a page to life; it comes after those of the widgets."""
    parts = source("stand_in.js", "arrive.js", "names.js", "near.js", "host.js")
    return f"(() => {{\n{parts}\nhost();\n}})();\n"


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width,initial-scale=1">
<style>:root{{color-scheme:light dark}}body{{max-width:60rem;margin:1rem auto;padding:0 1rem}}
{style}</style></head><body>
<script type="application/vnd.jupyter.widget-state+json">{state}</script>
<div class="attnkit-view">
<script type="application/vnd.jupyter.widget-view+json">{{"model_id": "{model}"}}</script>
<div class="attnkit-fallback"><img alt="{alt}" src="data:image/png;base64,{picture}"></div></div>
<script>{host}</script></body></html>
"""


class SettingError(t.TraitError, ValueError):
    """A value that a setting of a widget cannot take."""


def expect(proposal, expected: str, fits: bool):
    """The value proposed for a trait of a widget, or a `SettingError` where it does not fit."""
    if not fits:
        name = proposal.trait.name
        raise SettingError(f"{name}: expected {expected}, got {proposal.value!r}")
    return proposal.value


def anchor_of(name: str) -> str:
    """The name that a widget is given for the address of its page, or "" for none, checked."""
    checks.instance("anchor", name, str, "a string")
    if not re.fullmatch(r"(?:[a-z][a-z0-9-]*)?", name):
        checks.fail("anchor", "small letters, digits and hyphens, a letter first", repr(name))
    return name


Files = tuple[str | pathlib.Path, ...]
"""Names of files of this folder, or paths."""

KITS: dict[str, Files] = {
    "kit": ("common.js", "maps.js", "controls.js", "address.js", "tools.js"),
    "picture": ("picture.js",),
}
"""What the modules of several widgets begin with, by name; a page carries each once."""

LATE = ("picture",)
"""The kits that a page brings when a reader first asks for them."""

BASE_STYLES: Files = ("machine.css",)
"""The styles that all widgets share; a page carries them once."""

WIDGETS: dict[str, type["Widget"]] = {}
"""Every widget that was defined, by `_anywidget_id`; a subclass with files enters by itself."""


class Widget(anywidget.AnyWidget):
    """A widget whose output also holds a picture and its alt text, for where no view can be."""

    _kits: tuple[str, ...] = ("kit", "picture")
    _modules: Files = ()
    _styles: Files = ()

    def __init_subclass__(cls, **options):
        if "_modules" in vars(cls):
            kits = (name for kit in cls._kits for name in KITS[kit])
            cls._esm = source(*kits, *cls._modules)
            cls._css = source(*BASE_STYLES, *cls._styles)
            # The first wins, since anywidget makes a class for each instance.
            WIDGETS.setdefault(f"{cls.__module__}.{cls.__name__}", cls)
        super().__init_subclass__(**options)

    title = t.Unicode().tag(sync=True)
    note = t.Unicode().tag(sync=True)  # caption and provenance
    anchor = t.Unicode().tag(sync=True)  # its name in the address of a page

    def figure(self) -> Figure:
        """A matplotlib Figure of what is on show: the picture for GitHub, PDF and print."""
        raise NotImplementedError

    def description(self) -> str:
        """What is on show, in words and without measured numbers: the picture's alt text."""
        ended = self.title[-1:] in ("", ".", "?", "!")
        return f"{self.title}{'' if ended else '.'} {self._words()}".lstrip()

    def _words(self) -> str:
        """The description without the title."""
        raise NotImplementedError

    def save(self, path: str | pathlib.Path) -> pathlib.Path:
        """Write a page with the widget alive in it, and return its path.

        One file of HTML that asks for nothing else: no kernel, no network. It opens with a double
        click, and in an `iframe` of any other page. The page's title is the widget's.
        """
        state = dependency_state([self], drop_defaults=False)
        models = embed_data(views=[self], state=state)["manager_state"]["state"]
        alt = self.description()
        page = _PAGE.format(
            title=html.escape(self.title or type(self).__name__),
            style=source("page.css"),
            # No string in it may end the element that holds it.
            state=json.dumps({"state": models}).replace("<", "\\u003c"),
            model=self.model_id,
            alt=html.escape(alt),
            picture=png(self.figure()),
            host=host(),
        )
        path = pathlib.Path(path)
        part = path.with_name(f"{path.name}.part")  # what stops here leaves the old page whole
        try:
            part.write_text(page, "utf-8")
            return part.replace(path)
        finally:
            part.unlink(missing_ok=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.description()!r})"

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        alt = self.description()
        data |= {"text/plain": alt, "image/png": png(self.figure())}
        return data, metadata | {"image/png": {"alt": alt}}
