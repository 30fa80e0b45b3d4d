"""Gate, plane and cache in Chromium: Python's numbers, by mouse, touch and keys, for everyone."""

import math

import pytest
import torch

from attnbook.machines import CacheScrubber, CostCurves, GateSlider, HeadSwitch, QueryPlane
from tests.browser.explorer_page import (
    ATTACK,
    THEMES_AND_WIDTHS,
    complaints,
    control,
    move,
    render_and_close,
    settle,
    snapshot,
)

pytestmark = pytest.mark.browser

SENTENCE = "cats that chased the rat that ate the malt in the house by the sea"
WORDS = list(SENTENCE.split())
BITS = [1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1]
KEY, NAMES = [[1, 0], [0, 1], [1, 1]], ["the", "black", "cat"]
TWO = math.log(2)


def a_gate(**settings):
    return GateSlider(WORDS, BITS, **{"step": 4, "title": "A gate"} | settings)


def a_plane(value=None, **settings):
    given = {"query": [TWO, 2 * TWO], "names": NAMES, "matrix": [[1, -1], [1, 0]], "title": "Plane"}
    return QueryPlane(KEY, value, **given | settings)


def a_cache(**settings):
    given = {"embed_dim": 32, "num_heads": 4, "num_layers": 2, "step": 3, "title": "A cache"}
    return CacheScrubber(WORDS, **given | settings)


@pytest.mark.parametrize("bias, step", [(0.0, 15), (-2.0, 6), (2.3, 1), (6.9, 12)])
def test_the_gates_numbers_are_pythons(show, bias, step):
    gate = a_gate()
    _, root, record = show(gate)
    move(root, "Gate", bias)
    move(root, "Words read", step)
    gate.bias, gate.step = bias, step
    shown = snapshot(root)
    assert shown["states"] == pytest.approx(gate.states(), abs=1e-6)
    assert shown["turned"] == pytest.approx(gate.states(True), abs=1e-6)
    assert (shown["left"], shown["half"]) == pytest.approx((gate.kept(), gate.half_life()))
    assert shown["moved"] == pytest.approx(gate.moved(), abs=1e-6)
    assert sum(shown["weights"]) == pytest.approx(1 - gate.gate**step)
    assert root.locator(".ag-later").count() == len(WORDS) - step
    assert not record.console


@pytest.mark.parametrize("bias", [0.8, 2.3, 3.3, 5.0])
def test_the_place_that_it_names_is_the_first_that_is_marked(show, bias):
    """A change by 2 to the minus 7 may flip place 6: what is added carries."""
    _, root, _ = show(a_gate(bias=bias))
    for step in range(2, len(WORDS) + 1):
        move(root, "Words read", step)
        digits = root.locator(".ag-digits span")
        marked = digits.evaluate_all("(all) => all.findIndex((one) => one.matches('.ag-moved'))")
        said = root.locator(".ak-say").inner_text()
        assert f"binary place {marked + 1} is the first to change" in said


def test_the_digits_are_the_states_and_mark_the_first_words_bit(show):
    _, root, _ = show(a_gate())
    for step in (1, 4, 9):
        move(root, "Words read", step)
        digits = root.locator(".ag-digits span").all_inner_texts()
        assert digits[:step] == [str(bit) for bit in reversed(BITS[:step])]
        moved = root.locator(".ag-moved")
        assert moved.count() == 1  # at one half each bit has a place of its own
        assert root.locator(".ag-digits span").nth(step - 1).get_attribute("class") == "ag-moved"
    assert root.locator(".ak-big").inner_text() == "“cats” moves the state by 0.00195"


@pytest.mark.parametrize("value", [None, [[10], [20], [50]], [[1, 1], [-1, 0], [0, -2]]])
def test_the_planes_numbers_are_pythons(show, value):
    plane = a_plane(value)
    page, root, record = show(plane)
    root.scroll_into_view_if_needed()
    box = root.locator(".aq-plane").bounding_box()
    for x, y, turned in ((0.8, 0.3, False), (0.1, 0.5, True), (0.5, 0.5, False)):
        root.get_by_label("Turn the query by W first").set_checked(turned)
        handle = root.locator(".aq-handle").bounding_box()
        page.mouse.move(handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["width"], steps=3)
        page.mouse.up()
        shown = snapshot(root)
        plane.query, plane.turned = shown["query"], shown["turned"]
        assert shown["weights"] == pytest.approx(plane.weights(), abs=1e-6)
        assert shown["output"] == pytest.approx(plane.output(), abs=1e-6)
        for d, column in enumerate(zip(*plane.value, strict=True)):
            assert min(column) - 1e-9 <= shown["output"][d] <= max(column) + 1e-9
    assert shown["query"] == pytest.approx([0, 0], abs=0.03)  # the middle: all keys are alike
    assert shown["weights"] == pytest.approx([1 / 3] * 3, abs=0.03)
    root.get_by_role("button", name="Reset").click()
    assert snapshot(root)["query"] == pytest.approx([TWO, 2 * TWO])
    assert not record.console


def test_arrow_keys_move_the_query_and_the_page_says_what_follows(show):
    page, root, _ = show(a_plane([[10], [20], [50]], query=[0.5, 0.5], matrix=None))
    assert root.get_by_label("Turn the query by W first").is_hidden()
    handle = root.get_by_role("slider", name="Query")
    handle.focus()
    for key, expected in (("ArrowRight", [0.6, 0.5]), ("ArrowUp", [0.6, 0.6]),
                          ("ArrowLeft", [0.5, 0.6]), ("ArrowDown", [0.5, 0.5])):  # fmt: skip
        page.keyboard.press(key)
        assert snapshot(root)["query"] == pytest.approx(expected)
        assert handle.evaluate("e => e === document.activeElement")
    assert handle.get_attribute("aria-valuetext") == "(0.50, 0.50)"
    said = root.locator(".ak-live").inner_text()
    assert said.startswith("query (0.50, 0.50). Weights: the 0.27, black 0.27, cat 0.45. Output ")
    for _ in range(80):
        page.keyboard.press("ArrowRight")
    assert max(snapshot(root)["query"]) < 2  # it stays on the page
    assert handle.get_attribute("data-lm-suppress-shortcuts") == "true"


def test_a_finger_places_the_query(browser, tmp_path):
    from booktools.widget_page import write_page

    context = browser.new_context(viewport={"width": 360, "height": 740}, has_touch=True)
    page = context.new_page()
    page.goto(write_page(tmp_path, a_plane()).as_uri())
    root = page.locator(".attnkit-plane")
    root.locator(".aq-plane").wait_for()
    box = root.locator(".aq-plane").bounding_box()
    page.touchscreen.tap(box["x"] + 0.25 * box["width"], box["y"] + 0.5 * box["width"])
    query = snapshot(root)["query"]
    assert query[0] < -0.5
    assert abs(query[1]) < 0.05
    handle = root.locator(".aq-handle").bounding_box()
    assert min(handle["width"], handle["height"]) >= 24
    context.close()


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
def test_the_caches_counts_are_pythons(show, kv_heads):
    cache = a_cache()
    _, root, record = show(cache)
    control(root, "Key heads").select_option(index=cache.choices().index(kv_heads))
    cache.kv_heads = kv_heads
    for step in (1, 7, len(WORDS)):
        move(root, "Words", step)
        cache.step = step
        shown = snapshot(root)
        assert (shown["numbers"], shown["bytes"]) == (cache.numbers(), cache.nbytes())
        assert shown["withCache"] == cache.total()
        assert shown["again"] == cache.total(cached=False)
        cells = [row.locator("td").all_inner_texts() for row in root.locator("tbody tr").all()]
        assert cells == [
            [f"{cache.multiply_adds(step, cached=kept):,}", f"{cache.total(cached=kept):,}"]
            for kept in (True, False)
        ]
        assert root.locator(".ck-key").count() == step * kv_heads
        assert root.locator(".ck-saved").count() == 2 * step * (4 - kv_heads)
        assert root.locator(".ak-big").inner_text() == f"{cache.nbytes():,} bytes in the cache"
    assert not record.console


def test_what_shared_heads_save_keeps_its_place_and_is_named(show):
    _, root, _ = show(a_cache())
    whole, cells = a_cache().nbytes(), ".ck-cache :is(.ck-key,.ck-value,.ck-saved)"
    boxes = (
        "all => all.map((one) => ['x', 'y', 'width', 'height'].map((of) => one.getAttribute(of)))"
    )
    places = sorted(root.locator(cells).evaluate_all(boxes))
    assert root.locator(".ck-less").count() == 0
    for kv_heads in (2, 1):
        control(root, "Key heads").select_option(index=[4, 2, 1].index(kv_heads))
        saved = f"{whole - a_cache(kv_heads=kv_heads).nbytes():,} bytes"
        assert root.locator(".ck-less").text_content() == f"saved: {saved}"
        assert f"Sharing saves {saved}." in root.locator(".ak-live").inner_text()
        assert sorted(root.locator(cells).evaluate_all(boxes)) == places


def test_a_column_is_pressed_and_the_arrows_move_on(show):
    page, root, _ = show(a_cache())
    box = root.locator(".ck-cache").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 4, box["y"] + 20)
    assert snapshot(root)["step"] == len(WORDS)
    control(root, "Words").focus()
    page.keyboard.press("ArrowLeft")
    assert snapshot(root)["step"] == len(WORDS) - 1
    assert "multiply-adds with the cache" in root.locator(".ak-live").inner_text()


@pytest.mark.parametrize("label, key", [("Gate", "ArrowRight"), ("Words read", "ArrowRight")])
def test_the_gate_by_keys_says_what_is_left(show, label, key):
    page, root, _ = show(a_gate())
    before = snapshot(root)
    control(root, label).focus()
    page.keyboard.press(key)
    assert snapshot(root)["left"] != before["left"]
    said = root.locator(".ak-live").inner_text()
    assert said.startswith(root.locator(".ak-big").inner_text())
    assert "moves the state by" in said
    assert "of that is left" in said


def test_turning_the_first_word_over_shows_the_other_state(show):
    _, root, _ = show(a_gate())
    gate = a_gate()
    button = root.get_by_role("button", name="Turn “cats” over")
    button.click()
    shown = snapshot(root)
    assert button.get_attribute("aria-pressed") == "true"
    assert shown["states"] == pytest.approx(gate.states(True), abs=1e-6)
    assert shown["turned"] == pytest.approx(gate.states(), abs=1e-6)
    root.locator(".ag-first").click()
    assert snapshot(root)["states"] == pytest.approx(gate.states(), abs=1e-6)
    button.click()
    root.get_by_role("button", name="Reset").click()
    assert snapshot(root)["flipped"] is False


@pytest.mark.parametrize("query", [[0.9, 0.4], [-0.9, -0.4], [0.0, 1.3], [1.3, -1.3]])
def test_the_name_of_the_query_lies_beside_its_handle(show, query):
    _, root, _ = show(a_plane(query=query, matrix=None))
    baseline = float(root.locator(".aq-names .aq-query").get_attribute("y"))
    handle = root.locator(".aq-handle")
    centre, radius = (float(handle.get_attribute(name)) for name in ("cy", "r"))
    descender, ascender = 4, 12  # of the lettering; its box has a halo besides
    assert baseline + descender <= centre - radius or baseline - ascender >= centre + radius


def test_a_query_twice_as_long_keeps_its_direction(show):
    _, root, _ = show(a_plane(query=[0.2, 0.4], matrix=None))
    root.get_by_role("button", name="Longer").click()
    assert snapshot(root)["query"] == pytest.approx([0.4, 0.8])
    for _ in range(4):
        root.get_by_role("button", name="Longer").click()
    x, y = snapshot(root)["query"]
    assert y == pytest.approx(2 * x)
    assert y == pytest.approx(1.3)  # the edge of the plane
    root.get_by_role("button", name="Shorter").click()
    assert snapshot(root)["query"] == pytest.approx([x / 2, y / 2])


@pytest.mark.parametrize(("theme", "width"), THEMES_AND_WIDTHS)
def test_no_axe_violation_and_no_sideways_scroll(show, theme, width):
    page, _, record = show(
        a_gate(), a_plane(), a_plane([[1], [2], [3]], title="Line"), a_cache(),
        theme=theme, width=width,
    )  # fmt: skip
    assert complaints(page, record, width) == []


def test_names_are_text_and_two_views_stay_in_step(show):
    plane = a_plane(names=[ATTACK, "</script>", "$x$"], title=ATTACK)
    page, root, record = show(plane, plane)
    root.get_by_role("slider", name="Query").focus()
    page.keyboard.press("ArrowRight")
    settle(page)
    first, second = (page.locator(".attnkit-plane").nth(place) for place in range(2))
    assert snapshot(first) == snapshot(second)
    assert root.locator("img").count() == 0
    assert ATTACK in root.locator(".aq-names text").all_text_contents()
    assert not record.console
    assert not record.missing


def test_forced_colours_keep_the_digit_and_the_bars(show):
    page, root, _ = show(a_gate())
    page.emulate_media(forced_colors="active")
    settle(page)
    colours = root.evaluate(
        "e => ['.ag-moved', '.ag-digits span:not(.ag-moved):not(.ag-gone)'].map((one) => "
        "getComputedStyle(e.querySelector(one)).backgroundColor)"
    )
    assert colours[0] != colours[1]


@pytest.mark.parametrize("make", [a_gate, a_plane, a_cache])
def test_closing_a_view_lets_go_of_everything(browser, make):
    listeners, _ = render_and_close(browser, make())
    assert listeners >= 5


def a_switch():
    ones = torch.ones(2, 3, 3)
    given = {"tokens": NAMES, "row": 0, "questions": ["which?"], "answers": ["x"]}
    return HeadSwitch(ones, torch.ones(2, 3, 1, 1), torch.ones(1, 1), **given)


def curves():
    return CostCurves({"memory": {"whole": {1: 1.0, 2: 4.0, 4: 16.0}}}, units={"memory": "MiB"})


@pytest.mark.parametrize("made", [a_gate, a_plane, a_cache, a_switch, curves])
def test_with_reduced_motion_nothing_moves(show, made):
    """The background's transition of 1 ms, which tells of a new theme, is no motion."""
    _, root, _ = show(made(), reduced_motion="reduce")
    used = root.evaluate(
        """async root => {
            const started = [], frame = () => new Promise(requestAnimationFrame);
            for (const name of ["transitionrun", "animationstart"]) {
                document.addEventListener(name, ({ target }) => started.push(target.className));
            }
            const inputs = root.querySelectorAll("input, select, button");
            for (const input of inputs) {
                if (input.type === "range") input.stepDown();
                input.click();
                input.dispatchEvent(new Event("input", { bubbles: true }));
                await frame();
                await frame();
            }
            const moving = document.getAnimations().length;
            return { inputs: inputs.length, started, moving };
        }"""
    )
    assert used.pop("inputs") > 0
    assert used == {"started": [], "moving": 0}
