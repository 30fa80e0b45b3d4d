"""A page with explorers, made as the built book makes it, without building the book."""

import json
from pathlib import Path

import torch
from ipywidgets.embed import dependency_state, embed_data

from attnkit.viz.notebook import STATE_MIME, VIEW_MIME
from attnkit.viz.sphinx_ext import bundle, styles

WORDS = [
    "The",
    "animal",
    "did",
    "n't",
    "cross",
    "the",
    "street",
    "because",
    "it",
    "was",
    "too",
    "tired",
]
ATTACK = "<img src=x onerror=alert(1)>"


def vectors(heads: int, length: int, features: int, seed: int = 0) -> torch.Tensor:
    """Random vectors (heads, length, features), the same for the same seed."""
    return torch.randn(heads, length, features, generator=torch.Generator().manual_seed(seed))


def state_of(*widgets) -> dict:
    """The saved state of the widgets, as a notebook holds it."""
    views = list(widgets)
    state = dependency_state(views, drop_defaults=False)
    return embed_data(views=views, state=state)["manager_state"]["state"]


def write_page(folder: Path, *widgets, theme: str = "", head: str = "") -> Path:
    """Write `folder/index.html` with a view of each widget and the files of the Sphinx extension.

    A widget given twice has two views of one model.
    """
    state = state_of(*dict.fromkeys(widgets))
    views = "\n".join(
        f'<div class="attnkit-view"><script type="{VIEW_MIME}">'
        f"{json.dumps({'model_id': widget.model_id})}</script>"
        '<div class="attnkit-fallback"><img alt="the picture"></div></div>'
        for widget in widgets
    )
    (folder / "explorer.js").write_text(bundle(), "utf-8")
    (folder / "explorer.css").write_text(styles(), "utf-8")
    page = folder / "index.html"
    page.write_text(
        f'<!doctype html><html lang="en" {theme}><head><meta charset="utf-8"><title>Page</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<link rel="icon" href="data:,"><link rel="stylesheet" href="explorer.css">'
        "<style>:root{color-scheme:light dark}</style>"
        f'{head}<script type="{STATE_MIME}">{_inert({"state": state})}</script>'
        '<script defer src="explorer.js"></script></head>'
        f"<body><main><h1>Page</h1>{views}</main></body></html>",
        "utf-8",
    )
    return page


def _inert(value) -> str:
    """JSON that cannot end the script element that holds it, as MyST-NB writes it."""
    return json.dumps(value).replace("</", "<\\/")


def wait_for_explorers(page, count: int = 1):
    """Wait until `count` explorers have drawn, and return the first."""
    page.wait_for_function(
        "count => [...document.querySelectorAll('.attnkit-explorer')]"
        ".filter(e => e.querySelector('.ak-big').textContent).length === count",
        arg=count,
    )
    return page.locator(".attnkit-explorer").first


def control(explorer, label: str):
    """The control with this label."""
    return explorer.get_by_label(label, exact=True)


def move(explorer, label: str, value) -> None:
    """Move the control with this label to a value, as a reader's hand would."""
    control(explorer, label).evaluate(
        """(input, value) => {
            if (input.type === "checkbox") input.checked = value; else input.value = value;
            input.dispatchEvent(new Event("input", { bubbles: true }));
        }""",
        value,
    )


def snapshot(explorer) -> dict:
    """What `snapshot()` of the explorer's root element returns."""
    return explorer.evaluate("element => element.snapshot()")


def settle(page) -> None:
    """Wait until what was asked for has been drawn."""
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
