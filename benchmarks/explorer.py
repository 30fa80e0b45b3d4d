"""The explorer's budget: time to first paint, time for any change, nodes, bytes.

    python -m benchmarks.explorer

Draws 12 heads of 256 tokens (head size 64) in a headless Chromium without a GPU and prints, for
each kind of change, the time that the page's script takes (median and 95th percentile of 20
changes) and the time until it was shown. One frame at 60 Hz is 16.7 ms.
"""

import json
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from ipywidgets.embed import dependency_state, embed_data
from playwright.sync_api import Page, sync_playwright

from attnbook.pages.notebook import EXPLORER_ID, strip_modules
from attnkit.viz import AttentionExplorer
from attnkit.viz.widget import source
from booktools import chromium, weigh

HEADS, TOKENS, FEATURES = 12, 256, 64
REPEATS = 20
FRAME = 16.7
"""Milliseconds that the display gives to one picture."""

FIRST_PAINT = """
    async ([source, { state, buffers }]) => {
        for (const { path: [name], data } of buffers) {
            state[name] = new DataView(
                Uint8Array.from(atob(data), letter => letter.charCodeAt(0)).buffer);
        }
        const heard = new EventTarget();
        const model = {
            get: name => state[name],
            set: (name, value) => {
                state[name] = value;
                heard.dispatchEvent(new Event("change:" + name));
            },
            save_changes: () => {},
            on: (name, action) => heard.addEventListener(name, action),
            off: () => {},
        };
        const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
        const { default: explorer } = await import(url);
        const start = performance.now();
        explorer.render({ model, el: document.body });
        await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
        return performance.now() - start;
    }
"""

KINDS = ("length", "temperature", "scale", "mask", "stage", "head")
CHANGE = """
    async ([kind, n]) => {
        const root = document.querySelector(".attnkit-explorer");
        const find = label => root.querySelector(`[aria-label="${label}"]`);
        const [input, value] = {
            length: [find("Length"), 255 - n % 9],
            temperature: [find("Temperature"), (n % 11 - 5) / 10],
            scale: [root.querySelector("input[type=checkbox]"), n % 2 === 0],
            mask: [find("Mask"), ["causal", "window", "prefix", "padding", "none"][n % 5]],
            stage: [find("Show"), ["scores", "masked scores", "weights"][n % 3]],
            head: [find("Head"), ["3", "all"][n % 2]],
        }[kind];
        const frame = () => new Promise(requestAnimationFrame);
        input[input.type === "checkbox" ? "checked" : "value"] = value;
        const began = await frame();
        input.dispatchEvent(new Event("input"));
        await frame();
        return await frame() - began;
    }
"""


class Change(NamedTuple):
    """What one change cost, in milliseconds.

    `own` is the time of the page's script, without the time in which other programs had the
    processor; `shown` the time until the display has it.
    """

    own: float
    shown: float


def changes(page: Page, repeats: int = REPEATS) -> dict[str, list[Change]]:
    """Move each control that often, and measure."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def own() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return 1000 * next(one["value"] for one in metrics if one["name"] == "ScriptDuration")

    def change(kind: str, n: int) -> Change:
        before = own()
        shown = page.evaluate(CHANGE, [kind, n])
        return Change(own() - before, shown)

    return {kind: [change(kind, n) for n in range(repeats)] for kind in KINDS}


def p95(values: Sequence[float]) -> float:
    """The value that 95 of 100 stay within."""
    return float(np.percentile(values, 95, method="inverted_cdf"))


def saved_state(explorer: AttentionExplorer) -> dict:
    """All models of the explorer, as a committed notebook holds them."""
    state = dependency_state([explorer], drop_defaults=False)
    saved = embed_data(views=[explorer], state=state)["manager_state"]
    mime = "application/vnd.jupyter.widget-state+json"
    strip_modules({"metadata": {"widgets": {mime: saved}}})
    return saved["state"]


def open_explorer(page: Page) -> float:
    """Draw the large explorer and return the milliseconds to its first paint."""
    query, key = (torch.randn(HEADS, TOKENS, FEATURES) for _ in range(2))
    explorer = AttentionExplorer(query, key, head="all")
    state = saved_state(explorer)[explorer.model_id]
    assert state["state"]["_anywidget_id"] == EXPLORER_ID
    page.add_style_tag(content=AttentionExplorer._css)
    return page.evaluate(FIRST_PAINT, [explorer._esm, state])


def print_sizes() -> None:
    """Print the bytes of the files and of the data of 8 heads of 64 tokens."""
    texts = (
        (
            "explorer's module",
            source(*AttentionExplorer._modules),
            weigh.MODULE_LIMITS["AttentionExplorer"],
        ),
        ("host.js", source("host.js"), weigh.HOST_LIMIT),
        ("explorer.css", source("explorer/explorer.css"), None),
    )
    for name, text, limit in texts:
        size = len(text.encode())
        print(f"{name:28}{size:9,} bytes" + (f"   (at most {limit:,})" if limit else ""))
    query = torch.randn(8, 64, 16)
    explorer = AttentionExplorer(query, query, tokens=[f"token{n:02}" for n in range(64)])
    size = len(json.dumps(saved_state(explorer), separators=(",", ":")))
    print(f"{'data, 8 x 64 x 16':28}{size:9,} bytes   (at most {weigh.DATA_LIMIT:,})")


def main() -> None:
    """Measure and print."""
    torch.manual_seed(0)
    print_sizes()
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        browser = driver.chromium.launch(
            executable_path=chromium.find(), args=list(chromium.ARGUMENTS)
        )
        page = browser.new_page(viewport={"width": 800, "height": 1000})
        path = Path(folder) / "index.html"
        path.write_text("<!doctype html><title>Benchmark</title><body></body>")
        page.goto(path.as_uri())
        first = open_explorer(page)
        print(f"{'first paint':28}{first:9.0f} ms      (at most 500 ms)")
        nodes = page.evaluate("document.querySelectorAll('.attnkit-explorer *').length + 1")
        print(f"{'DOM nodes':28}{nodes:9}         (below 200)")
        print(f"{'change of':22}own script time, ms: median    p95   shown, ms: median    p95")
        for kind, found in changes(page).items():
            own, shown = zip(*found, strict=True)
            print(
                f"  {kind:20}{statistics.median(own):27.1f}{p95(own):7.1f}"
                f"{statistics.median(shown):20.1f}{p95(shown):7.1f}   (at most {FRAME})"
            )
        browser.close()


if __name__ == "__main__":
    main()
