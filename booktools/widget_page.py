"""A page with widgets, made as the built book makes them, without building it.

``make explorer`` writes one with an explorer to look at while its JavaScript changes.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from ipywidgets.embed import dependency_state, embed_data

from attnbook.pages.notebook import STATE_MIME, VIEW_MIME, inert
from attnbook.pages.sphinx_ext import script_names, style_names, write_static
from attnkit.viz import AttentionExplorer
from booktools.address import ROOT

TOKENS = [
    "The",
    "animal",
    "didn",
    "'t",
    "cross",
    "the",
    "street",
    "because",
    "it",
    "was",
    "too",
    "tired",
]


START = "() => { dispatchEvent(new Event('attnkit-start')); }"
"""Run in a page, it starts all widgets, also those that nobody is near."""


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
    write_static(folder)
    names = script_names(state.values())
    scripts = "".join(f'<script defer src="{name}"></script>' for name in names)
    sheets = (f'<link rel="stylesheet" href="{name}">' for name in style_names(state.values()))
    page = folder / "index.html"
    page.write_text(
        f'<!doctype html><html lang="en" {theme}><head><meta charset="utf-8"><title>Page</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"{''.join(sheets)}"
        "<style>:root{color-scheme:light dark}</style>"
        f'{head}<script type="{STATE_MIME}">{inert({"state": state})}</script>'
        f"{scripts}</head>"
        f"<body><main><h1>Page</h1>{views}</main></body></html>",
        "utf-8",
    )
    return page


def main(argv: list[str] | None = None) -> None:
    """Write a page with an explorer of four random heads, and print its address."""
    parser = argparse.ArgumentParser(prog="python -m booktools.widget_page", description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "_build" / "explorer")
    folder = parser.parse_args(argv).folder
    folder.mkdir(parents=True, exist_ok=True)
    heads = torch.randn(2, 4, len(TOKENS), 16, generator=torch.Generator().manual_seed(0))
    page = write_page(folder, AttentionExplorer(*heads, tokens=TOKENS, mask="causal"))
    print(page.resolve().as_uri())


if __name__ == "__main__":
    main()
