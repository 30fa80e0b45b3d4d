"""The translator's budget in the page: the time of ten words, beside attnkit's own.

    python -m benchmarks.live_translator

Translates ten sentences of ten words greedily in a headless Chromium and with `translate` in
PyTorch, by turns, with each model of the page. Printed are the medians over sentences of the
fastest of several runs, which other programs disturb least, and their ratio.
"""

import base64
import statistics
import time
from collections.abc import Callable, Sequence

from playwright.sync_api import Page, sync_playwright

from attnbook import translators
from attnbook.machines.live_translator import ENGINE
from attnbook.machines.live_translator.weights import payload
from attnkit.viz.widget import source
from attnlab import Translator, tasks
from booktools import chromium

WORDS, SENTENCES, REPEATS, LONGEST = 10, 10, 8, 40

LOAD = """data => {
    window.model = loadModel(Uint8Array.from(atob(data), letter => letter.charCodeAt(0)).buffer);
}"""
TIME = """([words, longest]) => {
    const [inPieces] = model.pieces, start = performance.now();
    const tokens = words.flatMap(word => (inPieces ? split(model.ids, word) : [word]));
    finish(translating(model, { tokens, spans: spansOf(tokens, inPieces) },
        { hidden: new Set(), forced: [], longest }));
    return performance.now() - start;
}"""


def in_the_page(page: Page, words: Sequence[str]) -> float:
    """Milliseconds of one translation by the page's engine, with all its weights."""
    return page.evaluate(TIME, [list(words), LONGEST])


def in_torch(translator: Translator, words: Sequence[str]) -> float:
    """Milliseconds of one translation by `Translator.translate`."""
    start = time.perf_counter()
    translator.translate([" ".join(words)], max_len=LONGEST)
    return (time.perf_counter() - start) * 1000


def fastest(times: Callable[[Sequence[str]], float], sentences: list[list[str]]) -> float:
    """The median over sentences of the fastest of `REPEATS` runs."""
    return statistics.median(min(times(one) for _ in range(REPEATS)) for one in sentences)


def models() -> dict[str, tuple[Translator, list[list[str]], int]]:
    """Each model with its sentences and the milliseconds that are its limit in the page."""
    toy = ten_words([list(pair.source) for pair in tasks.toy_french(400, seed=6000)])
    lines, _ = tasks.references(tasks.tatoeba("test"))
    real = ten_words([tasks.tokenize(line) for line in lines])
    found = {f"toy, {name}": (model, toy, 20) for name, model in translators.toy_french().items()}
    for name, folder in translators.REAL_MODELS.items():
        found[f"real, {name}"] = (Translator.load(folder), real, 100)
    return found


def ten_words(sentences: list[list[str]]) -> list[list[str]]:
    """The first sentences that have ten words."""
    return [one for one in sentences if len(one) == WORDS][:SENTENCES]


def main() -> None:
    """Measure and print."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=chromium.find(), args=list(chromium.ARGUMENTS)
        )
        page = browser.new_page()
        page.add_script_tag(content=source(*(f"live_translator/{name}" for name in ENGINE)))
        print(f"{WORDS} words, greedily{'':20}   page, ms   torch, ms   ratio")
        for name, (translator, sentences, limit) in models().items():
            page.evaluate(LOAD, base64.b64encode(payload(translator, "int8")).decode())
            mine = fastest(lambda one: in_the_page(page, one), sentences)
            theirs = fastest(lambda one, it=translator: in_torch(it, one), sentences)
            print(f"{name:36}{mine:14.1f}{theirs:12.1f}{mine / theirs:8.2f}   (at most {limit} ms)")
        browser.close()


if __name__ == "__main__":
    main()
