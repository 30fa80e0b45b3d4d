"""The explorer in a reader's hands: pointer, finger and keys, and what stays where it was."""

import math

import numpy as np
import pytest
import torch

from attnkit.viz import AttentionExplorer
from tests.browser.explorer_page import WORDS, control, move, named, settle, snapshot, text, vectors

pytestmark = pytest.mark.browser

LENGTH = len(WORDS)


def an_explorer(heads=3, length=LENGTH, **settings):
    query, key = vectors(heads, length, 16), vectors(heads, length, 16, seed=1)
    return AttentionExplorer(query, key, **{"tokens": WORDS[:length], **settings})


def picture(root, part: str = "map") -> str:
    return root.evaluate(f"e => e.querySelector('{named(part)}').toDataURL()")


def place_of(page, root, query: int, key: int) -> tuple[float, float]:
    """Where a cell of the only panel is: found by moving over the map until it is named."""
    box = root.locator(".explorer-cursor").bounding_box()
    wanted = [f"“{WORDS[query]}”", f"“{WORDS[key]}”"]
    xs = np.arange(box["x"] + 60, box["x"] + box["width"], 12).tolist()
    ys = np.arange(box["y"] + 60, box["y"] + box["height"], 12).tolist()
    for x in xs:
        page.mouse.move(x, ys[3])
        settle(page)
        if text(root, "key") == wanted[1]:
            break
    for y in ys:
        page.mouse.move(x, y)
        settle(page)
        if [text(root, "query"), text(root, "key")] == wanted:
            return x, y
    raise AssertionError(f"no place on the map shows {wanted}")


def test_every_control_keeps_its_keys_from_the_notebook(show):
    """Front ends read this attribute of the element that has the focus."""
    page, _, _ = show(an_explorer(mask="window"))
    missing = page.evaluate(
        """() => [...document.querySelectorAll(
            ".attnkit-explorer :is(input, select, button, canvas[tabindex], summary)")]
            .filter(e => e.dataset.lmSuppressShortcuts !== "true").map(e => e.outerHTML)"""
    )
    assert missing == []


def test_the_recorded_mask_hatches_cells_and_counts_keys(show):
    frames = {n: vectors(2, n, n, seed=n).tril().softmax(-1) for n in (2, 6)}
    for n, weights in frames.items():
        frames[n] = (weights * torch.ones(n, n).tril()).div(
            (weights * torch.ones(n, n).tril()).sum(-1, keepdim=True)
        )
    explorer = AttentionExplorer.from_frames(
        frames, tokens=WORDS[:6], mask="causal", pinned=[0, 1, 4], controls=["length", "head"]
    )
    _, root, _ = show(explorer)
    assert text(root, "big") == "masked"
    assert root.locator(".explorer-masked").is_visible()
    assert f"of at most {math.log(2):.2f}" in text(root, "row")
    assert "of 2 keys" in text(root, "row")
    assert root.locator(".machine-top li:visible").count() == 2
    unknown = AttentionExplorer.from_frames(frames, tokens=WORDS[:6], pinned=[0, 1, 4])
    _, root, _ = show(unknown)
    assert "of at most" not in text(root, "row")
    assert not root.locator(".explorer-masked").is_visible()


def test_a_mask_may_differ_by_head_and_python_counts_the_same(show):
    full = torch.ones(5, 5, dtype=torch.bool).tril()
    band = full & ~torch.ones(5, 5, dtype=torch.bool).tril(-2)
    both = torch.stack([full, band])
    weights = both.float() / both.sum(-1, keepdim=True)
    explorer = AttentionExplorer.from_frames(
        {3: weights[:, :3, :3], 5: weights}, tokens=WORDS[:5], mask=both, pinned=[1, 4, 0], head=1
    )
    page, root, _ = show(explorer)
    assert (explorer.visible() == both.numpy()).all()
    assert "of 2 keys" in text(root, "row")
    assert text(root, "big") == "masked"
    control(root, "Head").select_option("0")
    settle(page)
    assert "of 5 keys" in text(root, "row")


def test_colours_of_weights_stay_from_0_to_1_and_stretch_on_request(show):
    page, root, _ = show(an_explorer(temperature=10.0))
    assert text(root, "high") == "1.00"
    pale = picture(root)
    root.get_by_label("stretch colours").check()
    settle(page)
    most = max(max(row) for row in snapshot(root)["weights"])
    assert float(text(root, "high")) == pytest.approx(most, abs=6e-3)
    assert picture(root) != pale
    control(root, "Show").select_option("scores")
    root.get_by_label("stretch colours").uncheck()
    settle(page)
    before = text(root, "high")
    move(root, "Temperature", 0)
    settle(page)
    assert text(root, "high") == before


def test_hovering_previews_though_a_cell_is_pinned_and_leaving_returns(show):
    page, root, _ = show(an_explorer(seq_len=6, pinned=[0, 4, 1]))
    assert "pinned: cross → animal" in text(root, "chip")
    before = picture(root, "cursor")
    place_of(page, root, 2, 3)
    assert picture(root, "cursor") != before
    assert snapshot(root)["pinned"] == [0, 4, 1]
    page.mouse.move(3, 3)
    settle(page)
    assert text(root, "query") == "“cross”"
    assert picture(root, "cursor") == before


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
    page, root, _ = show(an_explorer(head="all", pinned=[1, 4, 1]), width=1280)
    settle(page)
    assert framed(root) == 3
    root.locator(".explorer-cursor").press("Escape")
    settle(page)
    assert framed(root) == 1  # the cell in hand alone


def test_escape_anywhere_and_the_chip_let_go_of_the_pin(show):
    page, root, _ = show(an_explorer(pinned=[0, 4, 1]))
    control(root, "Length").focus()
    page.keyboard.press("Escape")
    settle(page)
    assert snapshot(root)["pinned"] == []
    assert not root.locator(".explorer-chip").is_visible()
    assert "free again" in text(root, "live")
    root.locator(".explorer-cursor").press("Enter")
    assert len(snapshot(root)["pinned"]) == 3
    root.locator(".explorer-chip").click()
    settle(page)
    assert snapshot(root)["pinned"] == []


def test_a_pin_beyond_the_length_says_so_and_is_never_another_word(show):
    page, root, _ = show(an_explorer(pinned=[0, LENGTH - 1, 1]))
    move(root, "Length", 4)
    settle(page)
    assert text(root, "query") == "“tired”"
    assert text(root, "big") == "–"
    assert "“tired” is not on show at this length" in text(root, "score")
    blank = "e => { const c = e.querySelector('.explorer-cursor'); return c.getContext('2d')"
    blank += ".getImageData(0, 0, c.width, c.height).data.every(v => v === 0) }"
    assert root.evaluate(blank)  # no frame around any cell
    move(root, "Length", LENGTH - 1)
    settle(page)
    assert text(root, "query") == "“tired”"
    assert text(root, "key") == "“animal”"


def test_the_cell_last_looked_at_comes_back_with_its_length(show):
    page, root, _ = show(an_explorer())
    root.locator(".explorer-cursor").press("Home")
    for length in (0, LENGTH - 1):
        move(root, "Length", length)
        settle(page)
    assert (text(root, "query"), text(root, "key")) == ("“tired”", "“The”")


def test_recorded_words_that_changed_are_never_shown_as_pinned(show):
    frames = {n: vectors(1, n, n, seed=n).softmax(-1) for n in (3, 4)}
    french = {3: ["le", "chat", "noir"], 4: ["le", "petit", "chat", "noir"]}
    english = {3: ["the", "black", "cat"], 4: ["the", "small", "black", "cat"]}
    page, root, _ = show(
        AttentionExplorer.from_frames(
            frames, query_tokens=french, key_tokens=english, seq_len=3, pinned=[0, 1, 2]
        )
    )
    assert text(root, "query") == "“chat”"
    move(root, "Length", 1)
    settle(page)
    assert "“chat” is not on show" in text(root, "score")
    assert text(root, "big") == "–"


def test_nothing_moves_while_the_length_does(show):
    page, root, _ = show(an_explorer())
    sizes = set()
    for length in (0, 4, 8, LENGTH - 1):
        move(root, "Length", length)
        settle(page)
        canvas = root.locator(".explorer-map").bounding_box()
        sizes.add((canvas["width"], canvas["height"], root.bounding_box()["height"]))
    assert len(sizes) == 1
    move(root, "Length", 4)
    settle(page)
    corner = """e => { const c = e.querySelector('.explorer-map');
        return [...c.getContext('2d').getImageData(0, 0, 120, 140).data] }"""
    short = root.evaluate(corner)
    control(root, "Length").press("ArrowRight")
    settle(page)
    assert root.evaluate(corner)[: 4 * 40 * 120] == short[: 4 * 40 * 120]


def drawn_words(page, root) -> list[str]:
    page.evaluate(
        """() => {
            window.drawn = [];
            const own = CanvasRenderingContext2D.prototype.fillText;
            CanvasRenderingContext2D.prototype.fillText = function (words, ...rest) {
                window.drawn.push(words);
                return own.call(this, words, ...rest);
            };
        }"""
    )
    root.get_by_label("stretch colours").check()
    settle(page)
    return page.evaluate("window.drawn")


@pytest.mark.parametrize("width", [1280, 360])
def test_all_heads_have_words_on_their_outer_axes(show, width):
    page, root, _ = show(an_explorer(heads=4, head="all"), width=width)
    drawn = drawn_words(page, root)
    assert all(drawn.count(word) >= 2 for word in WORDS), drawn
    assert drawn.count("key") == drawn.count("query") == 1


def test_long_texts_have_numbers_on_their_axes_and_in_words(show):
    scores = vectors(2, 48, 48)
    letters = [chr(97 + n % 16) for n in range(48)]
    explorer = AttentionExplorer.from_scores(scores, tokens=letters, mask="causal", head=0)
    page, root, _ = show(explorer)
    drawn = drawn_words(page, root)
    assert {"a 1", "h 8", "p 16", "p 48"} <= set(drawn)
    assert text(root, "query") == "“p 48”"
    root.locator(".explorer-cursor").press("Home")
    assert "key “a 1”" in text(root, "live")
    labels = root.locator(".machine-top li span:first-child").all_inner_texts()
    assert all(label.split()[1].isdigit() for label in labels)


def test_a_word_that_comes_twice_has_its_place(show):
    words = ["the", "cat", "saw", "the", "dog"]
    query = vectors(1, 5, 8)
    _, root, _ = show(AttentionExplorer(query, query, tokens=words, pinned=[0, 4, 3]))
    assert text(root, "query") == "“dog”"
    assert text(root, "key") == "“the 4”"


def test_a_small_map_opens_large_by_mouse_and_by_keyboard(show):
    page, root, _ = show(an_explorer(heads=4, head="all"))
    root.locator(".explorer-cursor").focus()
    page.keyboard.press("PageDown")
    page.keyboard.press("+")
    assert snapshot(root)["head"] == 1
    assert text(root, "live").startswith("head 1, large")
    page.keyboard.press("-")
    assert snapshot(root)["head"] == "all"
    root.get_by_role("button", name="Open head 1 large").click()
    assert snapshot(root)["head"] == 1
    root.get_by_role("button", name="Show all").click()
    settle(page)
    box = root.locator(".explorer-cursor").bounding_box()
    page.mouse.click(box["x"] + 100, box["y"] + 8)  # the title of the first
    settle(page)
    assert snapshot(root)["head"] == 0


def test_in_forced_colours_ramp_and_bars_keep_their_meaning(show):
    _, root, _ = show(an_explorer(mask="causal"), forced_colors="active")
    for part in (".explorer-ramp", ".explorer-masked i", ".machine-top li i"):
        image = root.locator(part).first.evaluate("e => getComputedStyle(e).backgroundImage")
        assert "gradient" in image, part
        kept = root.locator(part).first.evaluate("e => getComputedStyle(e).forcedColorAdjust")
        assert kept == "none", part


def drag(page, *points) -> None:
    client = page.context.new_cdp_session(page)
    for kind, place in zip(["touchStart", *["touchMove"] * (len(points) - 1)], points, strict=True):
        touch = [{"x": place[0], "y": place[1]}]
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touch})
        settle(page)
    page.evaluate("window.line = document.querySelector('.explorer-line').textContent")
    client.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_a_finger_scans_a_row_and_the_number_stays_in_sight(show):
    page, root, _ = show(an_explorer(), width=360, has_touch=True, is_mobile=True)
    root.locator(".explorer-cursor").scroll_into_view_if_needed()
    box = root.locator(".explorer-cursor").bounding_box()
    seen = set()
    y = box["y"] + box["height"] - 40
    page.evaluate(
        """() => new MutationObserver(() => (window.lines ||= []).push(
            document.querySelector(".explorer-line").textContent)).observe(
            document.querySelector(".explorer-line"), { childList: true })"""
    )
    drag(page, *((box["x"] + 90 + 15 * step, y) for step in range(14)))
    seen = {line.split(" → ")[1].split()[0] for line in page.evaluate("window.lines")}
    assert len(seen) >= 6, seen  # the browser did not take the gesture
    line = root.locator(".explorer-line").bounding_box()
    assert 0 <= line["y"] < 900
    assert (
        root.locator(".explorer-cursor").evaluate("e => getComputedStyle(e).touchAction") == "pan-y"
    )


def test_buttons_large_enough_for_a_finger_reach_every_cell(show):
    page, root, _ = show(an_explorer(), width=360, has_touch=True, is_mobile=True)
    before = text(root, "key")
    root.get_by_role("button", name="query before").tap()
    root.get_by_role("button", name="key before").tap()
    settle(page)
    assert text(root, "query") == f"“{WORDS[-2]}”"
    assert text(root, "key") != before
    for button in root.locator(".explorer-pad button").all():
        box = button.bounding_box()
        assert min(box["width"], box["height"]) >= 24


def test_the_stage_has_its_number_first(show):
    page, root, _ = show(an_explorer(stage="scores", pinned=[0, 3, 2]))
    query, key = vectors(3, LENGTH, 16), vectors(3, LENGTH, 16, seed=1)
    score = (query[0, 3] @ key[0, 2]).item() / 4
    assert text(root, "big").replace("−", "-") == f"{score:.2f}"
    assert "weight 0." in text(root, "score")
    control(root, "Show").select_option("weights")
    settle(page)
    assert text(root, "score").startswith("weight, from score")


def test_the_parameter_of_a_mask_has_its_place_all_along(show):
    page, root, _ = show(an_explorer())
    places = []
    for mask in ("none", "window", "prefix", "causal"):
        control(root, "Mask").select_option(mask)
        settle(page)
        names = ("Show", "Temperature", "scale by 1/√16")
        places.append([control(root, name).bounding_box() for name in names])
    assert all(place == places[0] for place in places)


def test_the_temperature_stops_at_the_numbers_that_texts_speak_of(show):
    page, root, _ = show(an_explorer())
    stops = []
    slider = control(root, "Temperature")
    slider.focus()
    page.keyboard.press("Home")
    for _ in range(41):
        stops.append(snapshot(root)["temperature"])
        page.keyboard.press("ArrowRight")
    assert {0.1, 0.5, 1, 2, 4, 10} <= set(stops)
    assert stops == sorted(stops)
    assert slider.get_attribute("aria-valuetext") == "10, flatter"


def test_a_screen_reader_hears_the_row_after_a_control_moved(show):
    page, root, _ = show(an_explorer())
    move(root, "Temperature", 0.5)
    row = snapshot(root)["weights"][-1]
    best = int(np.argmax(row))
    assert text(root, "live").endswith(f"it looks most at “{WORDS[best]}”, {row[best]:.3f}")
    root.locator(".explorer-cursor").focus()
    page.keyboard.press("PageDown")
    assert text(root, "live").startswith("head 1: query")


def test_a_row_can_be_read_as_a_table(show):
    page, root, _ = show(an_explorer(mask="causal", pinned=[0, 2, 1]))
    root.get_by_text("This row as a table").click()
    rows = root.locator(".explorer-data tbody tr")
    rows.first.wait_for()  # the table is filled when it has opened
    assert rows.count() == LENGTH
    weights = snapshot(root)["weights"][2]
    cells = rows.nth(1).locator("td").all_inner_texts()
    assert cells[1] == f"{weights[1]:.3f}"
    assert rows.nth(5).locator("td").nth(1).inner_text() == "masked"
    root.locator(".explorer-cursor").press("ArrowDown")
    settle(page)
    assert "did" not in root.locator(".explorer-data caption").inner_text()


@pytest.mark.parametrize("zoom", [1, 2])
def test_type_grows_with_the_readers_font_and_nothing_overflows(show, zoom):
    page, root, _ = show(an_explorer(heads=4, head="all"), width=1280 // zoom)
    size = "e => parseFloat(getComputedStyle(e).fontSize)"
    before, height = root.evaluate(size), root.bounding_box()["height"]
    page.add_style_tag(content=f":root{{font-size:{100 * zoom}%}}")
    page.evaluate("document.documentElement.lang = 'en-GB'")  # as a theme's change would
    settle(page)
    settle(page)
    assert root.evaluate(size) == before * zoom
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280 // zoom
    assert height > 0


def test_the_head_may_have_another_name(show):
    _, root, _ = show(an_explorer(head_label="Model", head_names=["a", "b", "c"]))
    assert control(root, "Model").count() == 1
    assert root.locator("option", has_text="all models").count() == 1


def test_the_body_has_a_largest_width(show):
    _, root, _ = show(an_explorer(), width=1900)
    plot, side = (root.locator(part).bounding_box() for part in (".explorer-map", ".machine-side"))
    assert side["x"] + side["width"] - plot["x"] <= 970


def test_no_number_of_heads_puts_all_maps_below_each_other(show):
    many = (5, 7, 12, 13, 25)
    page, _, _ = show(*(an_explorer(n, 6, head="all") for n in many), width=800)
    maps = page.locator("canvas.explorer-map").evaluate_all("all => all.map(c => c.clientHeight)")
    for heads, height in zip(many, maps, strict=True):
        assert height < 0.6 * heads * 6 * 44  # pixels: rows of the largest cells
