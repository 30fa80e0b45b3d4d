"""The explorer in a reader's hands: pointer, finger and keys, and what stays where it was."""

import math

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

from attnkit.viz import AttentionExplorer
from tests.browser.explorer_page import PEN, WORDS, an_explorer, settle, vectors

pytestmark = pytest.mark.browser

LENGTH = len(WORDS)


def test_a_recorded_mask_hatches_cells_and_counts_keys_head_by_head(show):
    full = torch.ones(5, 5, dtype=torch.bool).tril()
    both = torch.stack([full, full & ~torch.ones(5, 5, dtype=torch.bool).tril(-2)])
    weights = both.float() / both.sum(-1, keepdim=True)
    frames = {3: weights[:, :3, :3], 5: weights}
    given = {"tokens": WORDS[:5], "pinned": [1, 4, 0], "head": 1}
    explorer = AttentionExplorer.from_frames(frames, mask=both, **given)
    _, root, _ = show(explorer, AttentionExplorer.from_frames(frames, **given))
    assert (explorer.visible() == both.numpy()).all()
    assert root.text("big") == "masked"
    expect(root.locator(".explorer-masked")).to_be_visible()
    for told in (f"of at most {math.log(2):.2f}", "of 2 keys"):
        assert told in root.text("row")
    assert root.locator(".machine-top li:visible").count() == 2
    root.control("Head").select_option("0")
    assert "of 5 keys" in root.text("row")
    unknown = root.other(1)
    assert "of at most" not in unknown.text("row")
    expect(unknown.locator(".explorer-masked")).to_be_hidden()


def test_colours_of_weights_stay_from_0_to_1_and_stretch_on_request(show):
    _, root, _ = show(an_explorer(temperature=10.0))
    assert root.text("high") == "1.00"
    pale = root.picture()
    root.get_by_label("stretch colours").check()
    most = max(max(row) for row in root.snapshot()["weights"])
    assert float(root.text("high")) == pytest.approx(most, abs=6e-3)
    assert root.picture() != pale
    root.control("Show").select_option("scores")
    root.get_by_label("stretch colours").uncheck()
    before = root.text("high")
    root.move("Temperature", 0)
    assert root.text("high") == before


def framed(root) -> int:
    """In how many stretches of the drawing's width there is a frame."""
    return root.locator(".explorer-cursor").evaluate(
        """c => {
            const { data } = c.getContext('2d').getImageData(0, 0, c.width, c.height);
            const drawn = new Set([...data.keys()].filter(i => i % 4 === 3 && data[i])
                .map(i => (i >> 2) % c.width));
            return [...drawn].filter(x => !drawn.has(x - 1)).length;
        }"""
    )


def test_a_pinned_row_is_framed_in_the_maps_of_all_heads_on_show(show):
    _, root, _ = show(an_explorer(head="all", pinned=[1, 4, 1]), width=1280)
    settle(root.page)
    assert framed(root) == 3
    root.locator(".explorer-cursor").press("Escape")
    settle(root.page)
    assert framed(root) == 1  # the cell in hand alone


def test_a_pin_is_kept_with_its_words_until_escape_or_the_chip_lets_go_of_it(show):
    _, root, _ = show(an_explorer(pinned=[0, LENGTH - 1, 1]))
    cursor, chip = root.locator(".explorer-cursor"), root.locator(".explorer-chip")
    root.move("Length", 4)
    assert (root.text("query"), root.text("big")) == ("“tired”", "–")
    assert "“tired” is not on show at this length" in root.text("score")
    assert framed(root) == 0
    root.move("Length", LENGTH - 1)
    assert (root.text("query"), root.text("key")) == ("“tired”", "“animal”")
    root.control("Length").press("Escape")
    assert root.snapshot()["pinned"] == []
    expect(chip).to_be_hidden()
    assert "free again" in root.text("live")
    cursor.press("Enter")
    assert len(root.snapshot()["pinned"]) == 3
    chip.click()
    assert root.snapshot()["pinned"] == []
    cursor.press("Home")
    for length in (0, LENGTH - 1):  # the cell last looked at comes back with its length, too
        root.move("Length", length)
    assert (root.text("query"), root.text("key")) == ("“tired”", "“The”")


def test_nothing_moves_while_the_length_does(show):
    page, root, _ = show(an_explorer())
    sizes = []
    for length in (0, 8, LENGTH - 1, 4):
        root.move("Length", length)
        canvas = root.locator(".explorer-map").bounding_box()
        sizes.append((canvas["width"], canvas["height"], root.bounding_box()["height"]))
    assert len(set(sizes)) == 1
    corner = """e => { const c = e.querySelector('.explorer-map');
        return [...c.getContext('2d').getImageData(0, 0, 120, 40).data] }"""
    short = root.evaluate(corner)
    root.control("Length").press("ArrowRight")
    settle(page)
    assert root.evaluate(corner) == short


def drawn_words(page, change) -> list[str]:
    """What the pen writes when a control is changed."""
    page.evaluate(PEN, ["fillText"])
    change()
    settle(page)
    return page.evaluate("pen.map(([, , words]) => words)")


@pytest.mark.parametrize("width, across", [(1280, 12), (360, 6)])
def test_the_heads_of_a_whole_model_stand_by_layer_and_can_be_told_apart(show, width, across):
    """Chapter 15's 72 heads: one layer in one row, in two on a phone, and no name cut off."""
    names = [f"layer {layer}, head {head}" for layer in range(6) for head in range(12)]
    frames = {16: torch.rand(72, 16, 16).softmax(-1)}
    explorer = AttentionExplorer.from_frames(frames, head_names=names, head=0)
    page, root, _ = show(explorer, width=width)
    written = drawn_words(page, lambda: root.move("Head", "all"))
    assert "5·11" in written
    assert [words for words in written if "…" in words] == []
    box = root.locator(".explorer-cursor").bounding_box()
    assert box["height"] < 1000
    assert box["x"] + box["width"] <= width
    # On the first row the one at the right is the last of its layer, or of its half.
    page.mouse.move(box["x"] + box["width"] - 12, box["y"] + 75)
    assert f"({names[across - 1]})" in root.text("head")


@pytest.mark.parametrize("width", [1280, 360])
def test_all_heads_have_words_on_their_outer_axes_and_each_opens_large(show, width):
    page, root, _ = show(an_explorer(heads=4, head="all"), width=width)
    drawn = drawn_words(page, root.get_by_label("stretch colours").check)
    assert all(drawn.count(word) >= 2 for word in WORDS), drawn
    assert drawn.count("key") == drawn.count("query") == 1
    root.locator(".explorer-cursor").focus()
    for key, head in (("PageDown", "all"), ("+", 1), ("-", "all")):
        page.keyboard.press(key)
        assert root.snapshot()["head"] == head
        assert root.text("live").startswith("head 1, large") is (head == 1)
    root.press("Open head 1 large")
    assert root.snapshot()["head"] == 1
    root.press("Show all")
    box = root.locator(".explorer-cursor").bounding_box()
    page.mouse.click(box["x"] + 100, box["y"] + 8)  # the title of the first
    assert root.snapshot()["head"] == 0


def test_long_texts_have_numbers_on_their_axes_and_in_words(show):
    scores = vectors(2, 48, 48)
    letters = [chr(97 + n % 16) for n in range(48)]
    explorer = AttentionExplorer.from_scores(scores, tokens=letters, mask="causal", head=0)
    page, root, _ = show(explorer)
    drawn = drawn_words(page, root.get_by_label("stretch colours").check)
    assert {"a 1", "h 8", "p 16", "p 48"} <= set(drawn)
    assert root.text("query") == "“p 48”"
    root.locator(".explorer-cursor").press("Home")
    assert "key “a 1”" in root.text("live")
    labels = root.locator(".machine-top li span:first-child").all_inner_texts()
    assert all(label.split()[1].isdigit() for label in labels)


def test_in_forced_colours_ramp_and_bars_keep_their_meaning(show):
    _, root, _ = show(an_explorer(mask="causal"), forced_colors="active")
    look = "e => [getComputedStyle(e).backgroundImage, getComputedStyle(e).forcedColorAdjust]"
    for part in (".explorer-ramp", ".explorer-masked i", ".machine-top li i"):
        image, kept = root.locator(part).first.evaluate(look)
        assert "gradient" in image, part
        assert kept == "none", part


def drag(page, *points) -> None:
    client = page.context.new_cdp_session(page)
    for kind, place in zip(["touchStart", *["touchMove"] * (len(points) - 1)], points, strict=True):
        touch = [{"x": place[0], "y": place[1]}]
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touch})
        settle(page)
    client.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_a_finger_scans_a_row_whose_number_stays_in_sight_and_reaches_everything(show):
    explorer = an_explorer(controls=["length", "head", "hide"])
    page, root, _ = show(explorer, width=360, has_touch=True, is_mobile=True)
    root.locator(".explorer-cursor").scroll_into_view_if_needed()
    box = root.locator(".explorer-cursor").bounding_box()
    y = box["y"] + box["height"] - 40
    page.evaluate(
        """() => new MutationObserver(() => (window.lines ||= []).push(
            document.querySelector(".explorer-line").textContent)).observe(
            document.querySelector(".explorer-line"), { childList: true })"""
    )
    drag(page, *((box["x"] + 90 + 15 * step, y) for step in range(14)))
    seen = {line.split(" → ")[1].split()[0] for line in page.evaluate("window.lines")}
    assert len(seen) >= 6, seen  # the browser did not take the gesture
    line, cursor = root.locator(".explorer-line").bounding_box(), root.locator(".explorer-cursor")
    assert 0 <= line["y"] < 900
    assert cursor.evaluate("e => getComputedStyle(e).touchAction") == "pan-y"
    before, row = root.text("key"), WORDS.index(root.text("query")[1:-1])
    root.button("query before").tap()
    root.button("key before").tap()
    assert root.text("query") == f"“{WORDS[row - 1]}”"
    assert root.text("key") != before
    for one in root.locator(".explorer-pad button").all():
        box = one.bounding_box()
        assert min(box["width"], box["height"]) >= 24
    word = root.locator(".explorer-hide").get_by_role("button", name="animal", exact=True)
    word.tap()
    assert root.snapshot()["hidden"] == [1]
    assert word.bounding_box()["height"] >= 44


def test_the_stage_has_its_number_first_and_a_masked_score_does_not_count(show):
    _, root, _ = show(an_explorer(stage="scores", pinned=[0, 3, 2]),
                      an_explorer(mask="causal", pinned=[0, 2, 3]))  # fmt: skip
    scores = vectors(3, LENGTH, 16)[0] @ vectors(3, LENGTH, 16, seed=1)[0].T / 4
    assert root.text("big").replace("−", "-") == f"{scores[3, 2]:.2f}"
    assert "weight 0." in root.text("score")
    root.control("Show").select_option("weights")
    assert root.text("score").startswith("weight, from score")
    masked = root.other(1)
    assert masked.text("big") == "masked"
    said = f"its score would be {scores[2, 3]:.2f}"
    assert masked.text("score").replace("−", "-").startswith(said)


def test_the_temperature_stops_at_the_numbers_that_texts_speak_of(show):
    page, root, _ = show(an_explorer())
    slider, stops = root.control("Temperature"), []
    slider.press("Home")
    for _ in range(41):
        stops.append(root.snapshot()["temperature"])
        page.keyboard.press("ArrowRight")
    assert {0.1, 0.5, 1, 2, 4, 10} <= set(stops)
    assert stops == sorted(stops)
    assert slider.get_attribute("aria-valuetext") == "10, flatter"
    row = root.snapshot()["weights"][-1]  # which a screen reader hears
    best = int(np.argmax(row))
    assert root.text("live").endswith(f"it looks most at “{WORDS[best]}”, {row[best]:.3f}")
    root.locator(".explorer-cursor").press("PageDown")
    assert root.text("live").startswith("head 1: query")


def test_a_row_can_be_read_as_a_table(show):
    _, root, _ = show(an_explorer(mask="causal", pinned=[0, 2, 1]))
    root.get_by_text("This row as a table").click()
    rows = root.locator(".explorer-data tbody tr")
    rows.first.wait_for()  # the table is filled when it has opened
    assert rows.count() == LENGTH
    weight = root.snapshot()["weights"][2][1]
    for place, told in ((1, f"{weight:.3f}"), (5, "masked")):
        assert rows.nth(place).locator("td").nth(1).inner_text() == told
    root.locator(".explorer-cursor").press("ArrowDown")
    settle(root.page)
    assert "did" not in root.locator(".explorer-data caption").inner_text()


def test_type_grows_with_the_readers_font_and_nothing_overflows(show):
    page, root, _ = show(an_explorer(heads=4, head="all"), width=640)
    size = "e => parseFloat(getComputedStyle(e).fontSize)"
    before = root.evaluate(size)
    page.add_style_tag(content=":root{font-size:200%}")
    page.evaluate("document.documentElement.lang = 'en-GB'")  # as a theme's change would
    settle(page)
    settle(page)
    assert root.evaluate(size) == before * 2
    assert page.evaluate("document.documentElement.scrollWidth") <= 640


def test_a_word_that_comes_twice_has_its_place_and_the_head_may_have_another_name(show):
    words = ["the", "cat", "saw", "the", "dog"]
    _, root, _ = show(an_explorer(1, 5, tokens=words, pinned=[0, 4, 3]),
                      an_explorer(head_label="Model", head_names=["a", "b", "c"]))  # fmt: skip
    assert (root.text("query"), root.text("key")) == ("“dog”", "“the 4”")
    other = root.other(1)
    assert other.control("Model").count() == 1
    assert other.locator("option", has_text="all models").count() == 1
