"""The explorer in Chromium: what it shows is what torch computes, and every reader can use it."""

import math

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

from attnkit.viz import AttentionExplorer
from tests.browser import test_explorer_modes as modes
from tests.browser import test_explorer_tour as tour
from tests.browser.explorer_page import (
    ATTACK,
    THEMES_AND_WIDTHS,
    WORDS,
    an_explorer,
    complaints,
    settle,
    vectors,
    wait_for_theme,
    wait_for_widgets,
    write_page,
)

pytestmark = pytest.mark.browser

LENGTH = len(WORDS)
FOLDED = ["One row, taken apart", "This row as a table"]


def test_python_and_the_page_agree_on_extreme_scores(show):
    """Scores of hundreds, and rows with NaN and infinities in masked and in visible places."""
    scores = vectors(1, 6, 6) * 300
    scores[0, 2, 4], scores[0, 1, 3], scores[0, 4, 2] = math.nan, math.inf, -math.inf
    explorer = AttentionExplorer.from_scores(scores, mask="causal")
    _, root, _ = show(explorer)
    shown = np.array(root.snapshot()["weights"])
    np.testing.assert_allclose(shown, explorer.values()[0], rtol=0, atol=1e-6, equal_nan=False)
    root.control("Mask").select_option("none")
    explorer.mask = "none"
    shown = np.array(root.snapshot()["weights"], dtype=float)
    assert np.isnan(shown[1:3]).all()
    np.testing.assert_allclose(shown, explorer.values()[0], rtol=0, atol=1e-6)


def test_cross_attention_shortens_keys_only_and_offers_fitting_masks(show):
    query, key = vectors(2, 5, 8), vectors(2, 7, 8, seed=1)
    words = {"query_tokens": WORDS[:5], "key_tokens": list("abcdefg")}
    _, root, _ = show(AttentionExplorer(query, key, **words))
    root.move("Keys", 3)
    shown = root.snapshot()
    assert (shown["queryTokens"], shown["keyTokens"]) == (WORDS[:5], list("abcd"))
    disabled = root.locator("option:disabled").all_inner_texts()
    assert ["same tokens" in text for text in disabled] == [True] * 3


def test_frames_may_bring_their_own_words_which_are_never_taken_for_others(show):
    french = {3: ["le", "chat", "noir"], 4: ["le", "petit", "chat", "noir"]}
    english = {3: ["the", "black", "cat"], 4: ["the", "small", "black", "cat"]}
    explorer = AttentionExplorer.from_frames(
        {n: vectors(1, n, n, seed=n).softmax(-1) for n in (3, 4)}, query_tokens=french,
        key_tokens=english, seq_len=3, pinned=[0, 1, 2], kept={"seq_len": 3},
    )  # fmt: skip
    _, root, _ = show(explorer)
    assert root.text("query") == "“chat”"
    root.move("Length", 1)
    shown = root.snapshot()
    assert (shown["queryTokens"], shown["keyTokens"]) == (french[4], english[4])
    assert "“chat” is not on show" in root.text("score")
    assert root.text("big") == "–"
    assert "other words" in root.text("change")
    assert root.control("show the difference").is_disabled()


def test_every_stage_is_drawn_and_reset_returns_to_the_beginning(show):
    _, root, _ = show(an_explorer(mask="causal", seq_len=8))
    before, drawn = root.snapshot(), set()
    for stage in ("scores", "masked scores", "weights"):
        root.control("Show").select_option(stage)
        drawn.add(root.picture())
        assert root.locator(".explorer-low").inner_text().startswith(stage.split()[-1].rstrip("s"))
        expect(root.locator(".explorer-masked")).to_be_visible(visible=(stage != "scores"))
    assert len(drawn) == 3
    root.move("Length", 4)
    root.control("Head").select_option("all")
    root.press("Reset")
    assert root.snapshot() == before


def test_the_parameter_of_a_mask_shows_with_it_and_moves_nothing(show):
    page, root, _ = show(an_explorer())
    own = {"window": "Window", "prefix": "Prefix", "padding": "Padded"}
    places = []
    for mask in ("none", "causal", *own):
        root.control("Mask").select_option(mask)
        settle(page)
        shown = [n for n in own.values() if root.control(n).is_visible()]
        assert shown == [own[name] for name in own if name == mask]
        others = ("Show", "Temperature", "scale by 1/√16")
        places.append([root.control(name).bounding_box() for name in others])
    assert all(place == places[0] for place in places)


def test_hover_shows_the_cell_and_click_pins_it(show):
    page, root, _ = show(an_explorer(seq_len=4))
    weights, box = root.snapshot()["weights"], root.locator(".explorer-cursor").bounding_box()
    cells = {}
    for x in np.arange(box["x"] + 40, box["x"] + box["width"], 20).tolist():
        for y in np.arange(box["y"] + 40, box["y"] + box["height"] - 20, 40).tolist():
            page.mouse.move(x, y)
            cell = tuple(WORDS.index(root.text(part)[1:-1]) for part in ("query", "key"))
            cells[cell] = x, y
            assert float(root.text("big")) == pytest.approx(weights[cell[0]][cell[1]], abs=6e-4)
    assert len(cells) == 16
    page.mouse.click(*cells[0, 1])
    assert root.snapshot()["pinned"] == [0, 0, 1]
    assert root.text("live").startswith("query “The”, key “animal”: score")
    assert "pinned: The → animal" in root.text("chip")
    page.mouse.move(5, 5)
    framed = root.picture("cursor")
    page.mouse.move(*cells[2, 2])
    assert root.text("query") == f"“{WORDS[2]}”"
    assert root.picture("cursor") != framed
    page.mouse.move(5, 5)  # away: the pinned cell is back
    assert root.text("query") == "“The”"
    assert root.picture("cursor") == framed


def test_the_row_is_summed_up_in_numbers(show):
    _, root, _ = show(an_explorer(mask="causal"))
    row = np.array(root.snapshot()["weights"][-1])
    entropy = -(row * np.log(row)).sum()
    text = root.locator(".explorer-row").inner_text()
    assert f"entropy {entropy:.2f} nats of at most {math.log(LENGTH):.2f}" in text
    assert f"over {math.exp(entropy):.1f} of {LENGTH} keys" in text
    best = np.argsort(-row)[:5]
    names, numbers = (
        root.locator(f".machine-top li span:{end}-child").all_inner_texts()
        for end in ("first", "last")
    )
    assert names == [WORDS[k] for k in best]
    np.testing.assert_allclose([float(n) for n in numbers], row[best], atol=6e-4)


ROWS = [
    ([0.5, 0.25, 0.25], 3, "Row sum 1.000 · entropy 1.04 nats of at most 1.10"),
    ([0.9, 0.4, 0.4], 3, "Row sum 1.700, not 1"),
    ([0.25, 0.25, 0.0], 3, "Row sum 0.500, not 1"),
    ([0.0, 0.0, 0.0], 3, "Row sum 0.000, not 1"),
    ([0.0, 0.0, 0.0], 0, "its weights are 0"),
    ([0.2, 0.1, 0.0], 0, "Row sum 0.300, not 1"),
]


def test_a_row_that_does_not_sum_to_one_has_no_entropy(show):
    """Chapter 16 shows such rows: broken softmaxes, and masks that come too late."""
    page, _, _ = show(*(
        AttentionExplorer.from_frames({3: torch.tensor([row] * 3)},
                                      mask=torch.arange(3).expand(3, 3) < count)
        for row, count, _ in ROWS
    ))  # fmt: skip
    said = page.locator(".explorer-row").all_inner_texts()
    for words, (*_, expected) in zip(said, ROWS, strict=True):
        assert expected in words
        assert ("entropy 1.04" in words) == ("as if spread evenly" in words) == ("1.000" in words)


def test_the_keyboard_reaches_every_cell_and_head(show):
    page, root, _ = show(an_explorer(mask="causal"))
    live, last = root.locator(".machine-live"), LENGTH - 1
    root.locator(".explorer-cursor").focus()
    for keys, query, key in (
        (["Home"], last, 0),
        (["ArrowUp", "ArrowRight", "ArrowRight", "ArrowLeft"], last - 1, 1),
        (["ArrowDown", "End"], last, last),
    ):
        for one in keys:
            page.keyboard.press(one)
        said = f"query “{WORDS[query]}”, key “{WORDS[key]}”: score "
        assert live.inner_text().startswith(said)
    for key, name, value in (
        ("PageDown", "head", 1),
        ("PageUp", "head", 0),
        ("Enter", "pinned", [0, last, last]),
        ("ArrowLeft", "pinned", [0, last, last - 1]),
        ("Escape", "pinned", []),
    ):
        page.keyboard.press(key)
        assert root.snapshot()[name] == value
    page.keyboard.press("ArrowUp")
    page.keyboard.press("End")
    assert live.inner_text().endswith("masked, weight 0")


def test_focus_is_visible_and_every_control_has_a_name_and_keeps_its_keys(show):
    """Front ends read an attribute of the element that has the focus, and leave it its keys."""
    page, root, _ = show(an_explorer(mask="window"))
    hands = root.locator("input, select, button, canvas[tabindex], summary")
    kept = hands.evaluate_all("all => all.map(e => e.dataset.lmSuppressShortcuts)")
    assert set(kept) == {"true"}
    names = []
    for _ in range(hands.locator("visible=true").count()):
        page.keyboard.press("Tab")
        name, *focus = page.evaluate(
            """() => { const e = document.activeElement, style = getComputedStyle(e);
            return [e.ariaLabel || e.textContent, style.outlineStyle, style.outlineWidth] }"""
        )
        names.append(name)
        assert focus == ["solid", "3px"], name
    controls = ["Length", "Head", "Mask", "Window", "Show", "Temperature", "scale by 1/√16"]
    assert names[:8] == [*controls, "Reset"]
    assert names[8].startswith("Attention heat map, head 0: 12 queries by 12 keys")
    tools = ["Copy link", "Save PNG", "Save SVG"]
    keep = "Keep this picture to compare"
    assert names[9:] == ["stretch colours", "Show all", keep, *FOLDED, *tools]


@pytest.mark.parametrize(("theme", "width"), THEMES_AND_WIDTHS)
def test_every_form_passes_axe_and_does_not_overflow(show, theme, width):
    page, root, record = show(
        an_explorer(mask="prefix", title="A title"), an_explorer(head="all"),
        tour.an_explorer(title="A guide"), modes.asking(title="Guess", anchor="explorer-99-2"),
        modes.hiding(hidden=[1]), modes.of_lines(),
        an_explorer(kept={"mask": "causal"}, difference=True, title="Two pictures"),
        theme=theme, width=width,
    )  # fmt: skip
    settle(page)
    assert complaints(page, record, width) == []
    record.console.clear()  # of what axe asked for
    guide = root.other(2)
    guide.press("Next")
    tour.open_apart(guide)
    page.locator(".explorer-answers").get_by_role("button", name="animal", exact=True).click()
    settle(page)
    assert complaints(page, record, width) == []


def test_it_redraws_when_the_page_turns_dark(show):
    page, root, _ = show(an_explorer())
    light, background = root.picture(), "e => getComputedStyle(e).backgroundColor"
    page.emulate_media(color_scheme="dark")
    wait_for_theme(page, dark=True)
    assert root.picture() != light
    page.emulate_media(color_scheme="light")
    wait_for_theme(page, dark=False)
    assert root.picture() == light
    page.add_style_tag(content="[data-theme=dark]{--pst-color-background:#14181e}")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    wait_for_theme(page, dark=True)
    assert root.evaluate(background) == "rgb(20, 24, 30)"


def test_token_text_is_text_everywhere(show):
    tokens = [ATTACK, "</script><b>bold</b>", "&lt;i&gt;", "$x$"]
    names = {"title": ATTACK, "caption": ATTACK, "head_names": [ATTACK, "b"]}
    page, root, record = show(
        AttentionExplorer(vectors(2, 4, 8), vectors(2, 4, 8), tokens=tokens, **names)
    )
    root.control("Head").select_option("all")
    root.locator(".explorer-cursor").focus()
    for key in ("Home", "ArrowUp", "ArrowUp", "ArrowUp", "PageUp", "Enter"):
        page.keyboard.press(key)
    assert root.text("query") == f"“{ATTACK}”"
    assert ATTACK in root.text("live")
    assert root.snapshot()["tokens"] == tokens
    assert root.locator("img, b, i:not([class]):not(span i):not(li i)").count() == 0
    assert record.console == record.missing == []


def test_two_views_of_one_model_stay_in_step(show):
    explorer = an_explorer()
    _, first, _ = show(explorer, explorer)
    second = first.other(1)
    first.move("Length", 4)
    second.control("Mask").select_option("causal")
    assert first.snapshot() == second.snapshot()
    assert second.control("Length").input_value() == "4"
    assert first.control("Mask").input_value() == "causal"


def test_it_follows_the_width_of_its_place(show):
    page, root, _ = show(an_explorer(), width=1900)
    canvas = root.locator(".explorer-map")
    wide = canvas.bounding_box()["width"]
    page.set_viewport_size({"width": 420, "height": 800})
    page.wait_for_function(
        "old => document.querySelector('.explorer-map').getBoundingClientRect().width < old",
        arg=wide,
    )
    settle(page)
    ratio = canvas.evaluate("c => c.width / c.clientWidth / devicePixelRatio")
    assert ratio == pytest.approx(1, abs=0.01)


BLANK = """e => { const c = e.querySelector('.explorer-map');
    return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.every(v => v === 0) }"""


def test_a_hidden_explorer_draws_when_it_is_opened(open_page, tmp_path):
    path = write_page(tmp_path, an_explorer())
    text = path.read_text().replace("<main>", "<main><details><summary>Open</summary>")
    path.write_text(text.replace("</main>", "</details></main>"))
    page, record = open_page(path.as_uri())
    root = wait_for_widgets(page)
    page.locator("summary").first.click()
    settle(page)
    settle(page)
    assert root.locator(".explorer-map").bounding_box()["height"] > 100
    assert not root.evaluate(BLANK)
    assert not record.console


def test_widgets_take_the_colours_of_the_page(show):
    """Those of drawings and plots, where a book defines them."""
    page, root, _ = show(an_explorer())
    parts = {"query": ".explorer-query", "key": ".explorer-key", "muted": ".machine-score"}
    own = "".join(f"--attn-{name}:rgb(1,2,{len(name)});" for name in parts)
    page.add_style_tag(content=f":root{{{own}}}")
    settle(page)
    for name, part in parts.items():
        seen = root.locator(part).evaluate("e => getComputedStyle(e).color")
        assert seen == f"rgb(1, 2, {len(name)})"
