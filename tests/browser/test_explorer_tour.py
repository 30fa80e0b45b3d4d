"""The guide in the explorer, links to its steps, and the row taken apart to its output."""

import math

import numpy as np
import pytest
import torch.nn.functional as F
from playwright.sync_api import expect

from attnkit import masks
from attnkit.viz import AttentionExplorer
from tests.browser import explorer_page
from tests.browser.explorer_page import WORDS, Widget, settle, vectors, wait_for_widgets, write_page

pytestmark = pytest.mark.browser

LENGTH = len(WORDS)
TOUR = [
    {"say": "The whole sentence.", "pinned": [0, LENGTH - 1, 1]},
    {"say": "Only five words.", "seq_len": 5, "pinned": [0, 4, 1]},
    {"say": "No mask, and hot.", "mask": "none", "temperature": 4.0},
]


def given():
    return tuple(vectors(3, LENGTH, 16, seed=seed) for seed in range(3))


def an_explorer(**settings):
    own = {"value": given()[2], "mask": "causal", "tour": TOUR, "anchor": "explorer-99-1"}
    return explorer_page.an_explorer(**own | settings)


def holds(shown: dict, step: dict) -> bool:
    names = {"seq_len": "seqLen"}
    return all(shown[names.get(k, k)] == v for k, v in step.items() if k != "say")


def test_next_and_back_set_the_traits_and_mark_what_moved(show):
    _, root, _ = show(an_explorer())
    assert root.text("say") == TOUR[0]["say"]
    assert root.text("count") == "1 of 3"
    root.press("Next")
    assert holds(root.snapshot(), TOUR[1])
    assert root.text("say") == TOUR[1]["say"]
    moved = root.locator(".explorer-moved")
    assert "Length" in moved.first.inner_text()
    assert moved.count() == 2  # the length, and the pin
    root.press("Next")
    assert holds(root.snapshot(), TOUR[2] | {"seq_len": LENGTH, "pinned": []})
    root.move("Temperature", 0)
    assert moved.count() == 0
    root.press("Back")
    assert holds(root.snapshot(), TOUR[1] | {"temperature": 1.0, "mask": "causal"})


def test_a_step_that_was_left_is_shown_again(show):
    """Its sentence speaks of settings that the reader has changed since."""
    page, root, record = show(an_explorer())
    again = root.get_by_role("button", name="Again", exact=True)
    assert again.count() == 0
    place = root.get_by_role("button", name="Next", exact=True).bounding_box()
    root.press("Next")
    assert again.count() == 0
    root.move("Temperature", 0.5)
    expect(again).to_be_visible()
    assert root.get_by_role("button", name="Next", exact=True).bounding_box() == place
    again.focus()
    page.keyboard.press("Enter")
    assert holds(root.snapshot(), TOUR[1] | {"temperature": 1.0, "mask": "causal"})
    assert root.text("count") == "2 of 3"
    assert again.count() == 0
    assert page.evaluate("document.activeElement.className") == "explorer-next"
    root.locator(".explorer-cursor").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")  # another cell is pinned
    settle(page)
    expect(again).to_be_visible()
    again.click()
    assert root.snapshot()["pinned"] == TOUR[1]["pinned"]
    assert record.console == []


def test_each_head_of_a_guide_has_its_own_sentence_and_other_heads_have_none(show):
    heads = [{"say": "The first head.", "head": 0}, {"say": "The second.", "head": 1}]
    page, root, _ = show(an_explorer(tour=heads))
    sentence = root.locator(".machine-say")
    height = root.locator(".explorer-tour").bounding_box()["height"]
    for head, step in (("1", 1), ("all", None), ("2", None), ("0", 0)):
        root.control("Head").select_option(head)
        settle(page)
        expect(sentence).to_be_visible(visible=(step is not None))
        if step is not None:
            assert root.text("say") == heads[step]["say"]
            assert root.text("count") == f"{step + 1} of 2"
        assert root.locator(".explorer-tour").bounding_box()["height"] == height
    root.control("Head").select_option("1")
    root.press("Back")
    assert root.text("say") == "The first head."
    assert root.snapshot()["head"] == 0
    root.press("Next")
    root.control("Head").select_option("0")
    root.press("Next")
    assert root.snapshot()["head"] == 1
    root.control("Head").select_option("2")
    root.press("Back")
    expect(sentence).to_be_visible()
    assert root.text("say") == "The first head."


def test_a_sentence_stays_where_two_steps_show_the_same_head(show):
    steps = [{"say": "One.", "head": 0}, {"say": "Two.", "head": 1}, {"say": "Three.", "head": 1}]
    page, root, _ = show(an_explorer(tour=steps))
    for _ in range(2):
        root.press("Next")
    root.control("Head").select_option("0")
    settle(page)
    expect(root.locator(".machine-say")).to_be_hidden()
    assert root.text("count") == "3 of 3"


def test_python_and_the_page_take_the_same_steps_whatever_the_reader_did_and_reset(show):
    explorer = an_explorer(**{k: v for k, v in TOUR[0].items() if k != "say"})
    _, root, _ = show(explorer)
    for step in range(len(TOUR)):
        explorer.step = step
        if step:
            root.control("Mask").select_option("window")
            root.move("Length", 2)
            root.press("Next")
        np.testing.assert_allclose(
            root.snapshot()["weights"], explorer.values()[0], rtol=0, atol=1e-6, equal_nan=False
        )
    root.press("Reset")
    assert root.text("say") == TOUR[0]["say"]
    assert root.text("count") == "1 of 3"
    assert holds(root.snapshot(), TOUR[0] | {"mask": "causal", "temperature": 1.0})


def test_the_guide_by_keyboard_and_for_those_who_hear_it(show):
    page, root, _ = show(an_explorer())
    following = root.get_by_role("button", name="Next", exact=True)
    following.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert root.text("count") == "3 of 3"
    assert root.locator(".machine-say").get_attribute("aria-live") == "polite"
    assert page.evaluate("document.activeElement.className") == "explorer-next"
    assert root.text("next") == "Start over"
    page.keyboard.press("Enter")
    assert root.text("count") == "1 of 3"
    assert root.locator(".explorer-back").get_attribute("aria-disabled") == "true"
    root.locator(".explorer-back").click(force=True)
    assert root.text("count") == "1 of 3"


LINKS = (
    '<p style="height:1500px"><a href="#explorer-99-1=2">show me</a> '
    '<a href="#explorer-99-1=mask:window;window:2;pinned:[1,3,2];head:1">these</a> '
    '<a href="#explorer-99-1=seq_len:99">nothing</a></p>'
)


@pytest.fixture
def long_page(open_page, tmp_path):
    """A page with links a screen above the explorer; give it an address and options."""
    path = write_page(tmp_path, an_explorer())
    path.write_text(path.read_text().replace("<h1>", LINKS + "<h1>"))

    def open_(address: str = "", **options):
        page, record = open_page(path.as_uri() + address, **options)
        return page, Widget(wait_for_widgets(page)), record

    return open_


def wait_until_in_view(page) -> None:
    page.wait_for_function(
        "(({ y }) => -5 <= y && y <= 300)"
        "(document.querySelector('.attnkit-explorer').getBoundingClientRect())"
    )


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_a_link_takes_the_step_or_settings_and_brings_it_into_view_and_a_wrong_one_nothing(
    long_page, motion
):
    page, root, record = long_page(reduced_motion=motion)
    page.get_by_text("show me").click()
    if motion == "reduce":
        settle(page)
        assert -5 <= root.bounding_box()["y"] <= 300
    wait_until_in_view(page)
    assert holds(root.snapshot(), TOUR[1])
    assert page.evaluate("document.activeElement.className") == "explorer-tour"
    assert page.evaluate("location.hash") == "#explorer-99-1=2"
    page.go_back()
    root.press("Next")
    assert page.evaluate("location.hash") == "#explorer-99-1=3"
    before = root.snapshot()
    page.get_by_text("nothing").click()
    assert root.snapshot() == before
    page.get_by_text("these").click()
    settings = {"mask": "window", "window": 2, "pinned": [1, 3, 2], "head": 1}
    assert holds(root.snapshot(), settings)
    assert not record.console


@pytest.mark.parametrize("address", ["#explorer-99-1=2", "#explorer-99-1"])
def test_the_address_of_the_page_leads_to_the_step(long_page, address):
    page, root, _ = long_page(address)
    wait_until_in_view(page)
    assert holds(root.snapshot(), TOUR[1 if address.endswith("=2") else 0])


def test_weights_times_values_are_torchs_output(show):
    query, key, value = given()
    explorer = an_explorer(tour=[])
    _, root, _ = show(explorer)
    expect(root.locator(".explorer-tour")).to_be_hidden()
    for head in range(3):
        root.control("Head").select_option(str(head))
        for length in (4, LENGTH):
            root.move("Length", length - 1)
            expected = F.scaled_dot_product_attention(
                query[head, :length], key[head, :length], value[head, :length],
                attn_mask=masks.causal(length),
            )  # fmt: skip
            np.testing.assert_allclose(
                root.snapshot()["output"], expected, rtol=0, atol=1e-6, equal_nan=False
            )
            explorer.seq_len = length
            np.testing.assert_allclose(explorer.output()[head], expected, rtol=0, atol=1e-6)


def open_apart(root):
    """Open the row taken apart, which is open already where values are given."""
    if apart(root).get_attribute("open") is None:
        root.get_by_text("One row, taken apart").click()


def apart(root):
    return root.locator(".explorer-apart")


def test_each_stage_of_the_row_is_spelled_out_with_torchs_numbers(show):
    page, root, _ = show(an_explorer(tour=[], pinned=[1, 7, 3], head=1))
    query, key, value = given()
    raw = query[1] @ key[1].T
    scores = raw[7] / 4
    exps = scores[:8].exp()
    open_apart(root)
    settle(page)
    says = apart(root).locator(".explorer-sum")
    stages = apart(root).locator(".explorer-stages button")
    names = [name.split(" ", 1)[1] for name in stages.all_inner_texts()]
    assert names == ["q·k", "× 1/√16", "mask", "exp", "÷ sum", "× V"]

    def told(stage: int) -> str:
        stages.nth(stage).click()
        settle(page)
        return says.inner_text().replace("−", "-")

    assert told(0).endswith(f"= {raw[7, 3]:.2f}.")
    assert f"{raw[7, 3]:.2f} × 0.25 = {scores[3]:.2f}" in told(1)
    assert f"stays {scores[3]:.2f}" in told(2)
    assert f"= {exps[3]:.2f}. All keys together: {exps.sum():.2f}" in told(3)
    weight = exps[3] / exps.sum()
    assert f"= {weight:.3f}, the weight" in told(4)
    out = (exps / exps.sum()) @ value[1, :8, 0]
    assert f"= {weight * value[1, 3, 0]:.3f}; the sum over all keys is {out:.3f}" in told(5)
    cells = apart(root).locator("tbody tr").nth(3).locator("td").all_inner_texts()
    numbers = [raw[7, 3], scores[3], scores[3], exps[3], weight]
    for cell, number in zip(cells, numbers, strict=False):
        assert float(cell.replace("−", "-")) == pytest.approx(number.item(), abs=6e-3)


def test_a_pressed_line_is_the_one_spelled_out_and_a_masked_key_says_so(show):
    page, root, _ = show(an_explorer(tour=[], pinned=[0, 5, 1]))
    open_apart(root)
    settle(page)
    line = apart(root).get_by_role("button", name=WORDS[2], exact=True)
    line.focus()
    page.keyboard.press("Enter")
    assert root.snapshot()["pinned"] == [0, 5, 2]
    assert f"“{WORDS[2]}”" in apart(root).locator(".explorer-sum").inner_text()
    apart(root).get_by_role("button", name=WORDS[9], exact=True).click()
    apart(root).locator(".explorer-stages button").nth(2).click()
    settle(page)
    assert "may not see" in apart(root).locator(".explorer-sum").inner_text()
    captions = apart(root).locator("figcaption").all_inner_texts()
    assert captions == ["q·k", "× 1/√16", "masked", "weights", "output"]


def test_scores_without_queries_and_large_ones_are_taken_apart_too(show):
    scores = vectors(1, 5, 5) * 300
    page, root, _ = show(AttentionExplorer.from_scores(scores, tokens=WORDS[:5]))
    open_apart(root)
    settle(page)
    apart(root).locator(".explorer-stages button").nth(3).click()
    settle(page)
    assert "the largest" in apart(root).locator(".explorer-sum").inner_text()
    weights = [float(t) for t in apart(root).locator("tbody td:nth-child(6)").all_text_contents()]
    assert sum(weights) == pytest.approx(1, abs=5e-3)
    assert not math.isnan(sum(weights))
    frames = {3: vectors(1, 3, 3).softmax(-1)}
    _, root, _ = show(AttentionExplorer.from_frames(frames))
    expect(apart(root)).to_be_hidden()
