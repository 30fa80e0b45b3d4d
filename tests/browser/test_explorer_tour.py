"""The guide in the explorer, links to its steps, and the row taken apart to its output."""

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


def test_next_and_back_set_what_python_sets_whatever_the_reader_did_and_mark_what_moved(show):
    explorer = an_explorer(**{k: v for k, v in TOUR[0].items() if k != "say"})
    _, root, _ = show(explorer)
    moved = root.locator(".explorer-moved")
    for step, said in enumerate(TOUR):
        explorer.step = step
        if step:
            root.press("Next")
        assert (root.text("say"), root.text("count")) == (said["say"], f"{step + 1} of 3")
        found = np.array(root.snapshot()["weights"])
        np.testing.assert_allclose(found, explorer.values()[0], rtol=0, atol=1e-6, equal_nan=False)
        if step == 1:
            assert "Length" in moved.first.inner_text()
            assert moved.count() == 2  # the length, and the pin
            root.control("Mask").select_option("window")
            root.move("Length", 2)
    assert holds(root.snapshot(), TOUR[2] | {"seq_len": LENGTH})
    root.move("Temperature", 0)
    assert moved.count() == 0
    root.press("Back")
    assert holds(root.snapshot(), TOUR[1] | {"temperature": 1.0, "mask": "causal"})
    root.press("Reset")
    assert holds(root.snapshot(), TOUR[0] | {"mask": "causal", "temperature": 1.0})


def test_a_step_that_was_left_is_shown_again(show):
    """Its sentence speaks of settings that the reader has changed since."""
    page, root, record = show(an_explorer())
    again, following = root.button("Again"), root.button("Next")
    place = following.bounding_box()
    root.press("Next")
    assert again.count() == 0
    root.move("Temperature", 0.5)
    expect(again).to_be_visible()
    assert following.bounding_box() == place
    again.press("Enter")
    assert holds(root.snapshot(), TOUR[1] | {"temperature": 1.0, "mask": "causal"})
    assert root.text("count") == "2 of 3"
    assert again.count() == 0
    assert page.evaluate("document.activeElement.className") == "explorer-next"
    for key in ("ArrowLeft", "Enter"):  # another cell is pinned
        root.locator(".explorer-cursor").press(key)
    again.click()
    assert root.snapshot()["pinned"] == TOUR[1]["pinned"]
    assert record.console == []


def test_each_head_of_a_guide_has_its_own_sentence_and_other_heads_have_none(show):
    """A sentence stays where two steps show the same head."""
    heads = [{"say": "The first head.", "head": 0}, {"say": "The second.", "head": 1}]
    page, root, _ = show(an_explorer(tour=heads), an_explorer(tour=[*heads, heads[1]]))
    sentence, guide = root.locator(".machine-say"), root.locator(".explorer-tour")
    height = guide.bounding_box()["height"]
    for head, step in (("1", 1), ("all", None), ("2", None), ("0", 0)):
        root.control("Head").select_option(head)
        settle(page)
        expect(sentence).to_be_visible(visible=(step is not None))
        if step is not None:
            assert root.text("say") == heads[step]["say"]
            assert root.text("count") == f"{step + 1} of 2"
        assert guide.bounding_box()["height"] == height
    for head, name, then in (("1", "Back", 0), ("0", "Next", 1), ("2", "Back", 0)):
        root.control("Head").select_option(head)
        root.press(name)
        assert root.text("say") == heads[then]["say"]
        assert root.snapshot()["head"] == then
    again = root.other(1)
    again.press("Next", "Next")
    again.control("Head").select_option("0")
    assert again.text("count") == "3 of 3"
    expect(again.locator(".machine-say")).to_be_hidden()


def test_the_guide_by_keyboard_and_for_those_who_hear_it(show):
    page, root, _ = show(an_explorer())
    root.button("Next").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert root.text("count") == "3 of 3"
    assert root.locator(".machine-say").get_attribute("aria-live") == "polite"
    assert page.evaluate("document.activeElement.className") == "explorer-next"
    assert root.text("next") == "Start over"
    page.keyboard.press("Enter")
    assert root.text("count") == "1 of 3"
    back = root.locator(".explorer-back")
    assert back.get_attribute("aria-disabled") == "true"
    back.click(force=True)
    assert root.text("count") == "1 of 3"


LINKS = (
    '<p style="height:1500px"><a href="#explorer-99-1=2">show me</a> '
    '<a href="#explorer-99-1=mask:window;window:2;pinned:[1,3,2];head:1">these</a> '
    '<a href="#explorer-99-1=seq_len:99">nothing</a></p>'
)


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_a_link_takes_the_step_or_settings_and_brings_it_into_view_and_a_wrong_one_nothing(
    open_page, tmp_path, motion
):
    """From a screen above; of addresses that a page is opened with, test_near.py tells."""
    path = write_page(tmp_path, an_explorer())
    path.write_text(path.read_text().replace("<h1>", LINKS + "<h1>"))
    page, record = open_page(path.as_uri(), reduced_motion=motion)
    root = Widget(wait_for_widgets(page))
    page.get_by_text("show me").click()
    if motion == "reduce":
        settle(page)
        assert -5 <= root.bounding_box()["y"] <= 300
    top = "document.querySelector('.attnkit-explorer').getBoundingClientRect().y"
    page.wait_for_function(f"-5 <= {top} && {top} <= 300")
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


def test_weights_times_values_are_torchs_output(show):
    query, key, value = given()
    _, root, _ = show(an_explorer(tour=[]))
    expect(root.locator(".explorer-tour")).to_be_hidden()
    for head in range(3):
        root.control("Head").select_option(str(head))
        for length in (4, LENGTH):
            root.move("Length", length - 1)
            expected = F.scaled_dot_product_attention(
                query[head, :length], key[head, :length], value[head, :length],
                attn_mask=masks.causal(length),
            )  # fmt: skip
            found = root.snapshot()["output"]
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6, equal_nan=False)


def open_apart(root):
    """Open the row taken apart, which is open already where values are given."""
    if apart(root).get_attribute("open") is None:
        root.get_by_text("One row, taken apart").click()


def apart(root):
    return root.locator(".explorer-apart")


def test_each_stage_of_the_row_is_spelled_out_with_torchs_numbers(show):
    page, root, _ = show(an_explorer(tour=[], pinned=[1, 7, 3], head=1))
    query, key, value = given()
    raw = (query[1] @ key[1].T)[7]
    scores = raw / 4
    exps = scores[:8].exp()
    weight = exps[3] / exps.sum()
    out = (exps / exps.sum()) @ value[1, :8, 0]
    told = [
        f"= {raw[3]:.2f}.",
        f"{raw[3]:.2f} × 0.25 = {scores[3]:.2f}",
        f"stays {scores[3]:.2f}",
        f"= {exps[3]:.2f}. All keys together: {exps.sum():.2f}",
        f"= {weight:.3f}, the weight",
        f"= {weight * value[1, 3, 0]:.3f}; the sum over all keys is {out:.3f}",
    ]
    open_apart(root)
    settle(page)
    stages = apart(root).locator(".explorer-stages button")
    names = [name.split(" ", 1)[1] for name in stages.all_inner_texts()]
    assert names == ["q·k", "× 1/√16", "mask", "exp", "÷ sum", "× V"]
    for place, said in enumerate(told):
        stages.nth(place).click()
        assert said in root.text("sum").replace("−", "-")
    cells = apart(root).locator("tbody tr").nth(3).locator("td").all_inner_texts()
    shown = [float(cell.replace("−", "-")) for cell in cells[:5]]
    assert shown == pytest.approx([*map(float, (raw[3], scores[3], scores[3], exps[3], weight))],
                                  abs=6e-3)  # fmt: skip


def test_a_pressed_line_is_the_one_spelled_out_and_a_masked_key_says_so(show):
    _, root, _ = show(an_explorer(tour=[], pinned=[0, 5, 1]))
    open_apart(root)
    settle(root.page)
    apart(root).get_by_role("button", name=WORDS[2], exact=True).press("Enter")
    assert root.snapshot()["pinned"] == [0, 5, 2]
    assert f"“{WORDS[2]}”" in root.text("sum")
    apart(root).get_by_role("button", name=WORDS[9], exact=True).click()
    apart(root).locator(".explorer-stages button").nth(2).click()
    assert "may not see" in root.text("sum")
    captions = apart(root).locator("figcaption").all_inner_texts()
    assert captions == ["q·k", "× 1/√16", "masked", "weights", "output"]


def test_scores_without_queries_and_large_ones_are_taken_apart_too(show):
    _, root, _ = show(AttentionExplorer.from_scores(vectors(1, 5, 5) * 300, tokens=WORDS[:5]),
                      AttentionExplorer.from_frames({3: vectors(1, 3, 3).softmax(-1)}))  # fmt: skip
    open_apart(root)
    settle(root.page)
    apart(root).locator(".explorer-stages button").nth(3).click()
    assert "the largest" in root.text("sum")
    weights = [float(t) for t in apart(root).locator("tbody td:nth-child(6)").all_text_contents()]
    assert sum(weights) == pytest.approx(1, abs=5e-3)
    expect(apart(root.other(1))).to_be_hidden()  # of recorded weights there are no parts


def test_a_row_with_values_is_open_once_on_a_page(show):
    query = vectors(2, 5, 4)
    given = (None, query, query)
    page, _, _ = show(*(AttentionExplorer(query, query, value=value) for value in given))
    opened = page.locator(".explorer-apart").evaluate_all("all => all.map((one) => one.open)")
    assert opened == [False, True, False]
    assert page.locator(".explorer-apart[open] tbody tr").count() == 5
