"""The explorer's budget: time to first paint, time for any change, nodes, bytes.

    python -m benchmarks.explorer

Draws 12 heads of 256 tokens (head size 64) in a headless Chromium without a GPU and prints, for
each kind of change, the time that the page's script takes (median and range of 20 changes) and
how many frames of the display passed until it was shown. One frame at 60 Hz is 16.7 ms.
"""

import json
import statistics
import tempfile
from pathlib import Path

import torch
from ipywidgets.embed import dependency_state, embed_data
from playwright.sync_api import Page, sync_playwright

from attnkit.viz import AttentionExplorer
from attnkit.viz.notebook import EXPLORER_ID, strip_modules
from attnkit.viz.widget import source
from booktools import chromium, weigh

HEADS, TOKENS, FEATURES = 12, 256, 64
REPEATS = 20

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

CHANGES = """
    async repeats => {
        const own = window.requestAnimationFrame.bind(window);
        let busy = 0;
        window.requestAnimationFrame = action => own(time => {
            const start = performance.now();
            action(time);
            busy += performance.now() - start;
        });
        const frame = () => new Promise(own);
        const root = document.querySelector(".attnkit-explorer");
        const find = label => root.querySelector(`[aria-label="${label}"]`);
        const scale = root.querySelector("input[type=checkbox]");
        const kinds = {
            length: [find("Length"), n => 255 - n % 9],
            temperature: [find("Temperature"), n => (n % 11 - 5) / 10],
            scale: [scale, n => n % 2 === 0],
            mask: [find("Mask"), n => ["causal", "window", "prefix", "padding", "none"][n % 5]],
            stage: [find("Show"), n => ["scores", "masked scores", "weights"][n % 3]],
            head: [find("Head"), n => ["3", "all"][n % 2]],
        };
        const found = {};
        for (const [name, [input, value]] of Object.entries(kinds)) {
            found[name] = [];
            for (let n = 0; n < repeats; n++) {
                input[input.type === "checkbox" ? "checked" : "value"] = value(n);
                busy = 0;
                const began = await frame(), start = performance.now();
                input.dispatchEvent(new Event("input"));
                busy += performance.now() - start;
                await frame();
                const shown = await frame();
                found[name].push([busy, shown - began]);
            }
        }
        return found;
    }
"""


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
    page.add_style_tag(content=source("explorer/explorer.css"))
    return page.evaluate(FIRST_PAINT, [explorer._esm, state])


def print_sizes() -> None:
    """Print the bytes of the files and of the data of 8 heads of 64 tokens."""
    texts = (
        ("explorer's module", AttentionExplorer._esm, weigh.MODULE_LIMITS["explorer"]),
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
        print(f"{'change of':28}   script, ms: median  least   most   shown after, ms: median")
        for name, runs in page.evaluate(CHANGES, REPEATS).items():
            busy, shown = zip(*runs, strict=True)
            print(
                f"  {name:26}{statistics.median(busy):22.1f}{min(busy):7.1f}{max(busy):7.1f}"
                f"{statistics.median(shown):26.1f}"
            )
        browser.close()


if __name__ == "__main__":
    main()
