"""What each machine has of its own: marks, names and numbers in their places, and other hands."""

import re

import pytest
from playwright.sync_api import expect

from attnbook.figures import ch16
from attnbook.machines import EyeTest
from attnbook.pages import host
from tests.attnbook.machines import test_backwards as backwards
from tests.attnbook.machines import test_beam_tree as beam
from tests.attnbook.machines import test_cache_tiles as cache_tiles
from tests.attnbook.machines import test_decode_race as race
from tests.attnbook.machines import test_eye_test as eye
from tests.attnbook.machines import test_lamp_machine as lamps
from tests.attnbook.machines import test_lie_machine as lie
from tests.attnbook.machines import test_mask_painter as painter
from tests.attnbook.machines import test_online_tiles as online
from tests.attnbook.machines import test_order_machine as tiles
from tests.attnbook.machines import test_porter as porter
from tests.attnbook.machines import test_query_plane as plane
from tests.attnbook.machines import test_roofline as roofline
from tests.browser.explorer_page import follow

pytestmark = pytest.mark.browser


def drag(page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=3)
    page.mouse.up()


# ---- The machine that writes backwards.


def test_a_letter_with_an_accent_is_the_letter(show):
    _, root, _ = show(backwards.make())
    for typed, word in (("Zoë", "zoe"), ("A.-B. Ñu", "abnu"), ("日", "")):
        root.get_by_role("textbox").fill(typed)
        assert root.snapshot()["read"] == word


# ---- The plane.


@pytest.mark.parametrize("value", [None, [[10], [20], [50]]])
def test_the_query_is_dragged_and_the_output_stays_among_the_values(show, value):
    machine = plane.make(value=value)
    page, root, _ = show(machine)
    root.scroll_into_view_if_needed()
    box = root.locator(".plane-area").bounding_box()
    for x, y, turned in ((0.8, 0.3, False), (0.1, 0.5, True), (0.5, 0.5, False)):
        root.get_by_label("Multiply the query by W first").set_checked(turned)
        handle = root.locator(".plane-handle").bounding_box()
        place = handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2
        drag(page, place, (box["x"] + x * box["width"], box["y"] + y * box["width"]))
        shown = root.snapshot()
        machine.query, machine.turned = shown["query"], shown["turned"]
        assert shown["weights"] == pytest.approx(machine.weights(), abs=1e-6)
        assert shown["output"] == pytest.approx(machine.output(), abs=1e-6)
        for d, column in enumerate(zip(*machine.value, strict=True)):
            assert min(column) - 1e-9 <= shown["output"][d] <= max(column) + 1e-9
    assert shown["query"] == pytest.approx([0, 0], abs=0.03)  # the middle: all keys are alike
    assert shown["weights"] == pytest.approx([1 / 3] * 3, abs=0.03)


def test_arrow_keys_and_buttons_move_the_query(show):
    page, root, _ = show(plane.make(value=[[10], [20], [50]], query=[0.5, 0.5], matrix=None))
    assert root.get_by_label("Multiply the query by W first").count() == 0
    handle = root.get_by_role("slider", name="Query")
    handle.focus()
    for key, expected in (("ArrowRight", [0.6, 0.5]), ("ArrowUp", [0.6, 0.6]),
                          ("ArrowLeft", [0.5, 0.6]), ("ArrowDown", [0.5, 0.5])):  # fmt: skip
        page.keyboard.press(key)
        assert root.snapshot()["query"] == pytest.approx(expected)
    assert handle.get_attribute("aria-valuetext") == "(0.50, 0.50)"
    follow(page, "query-plane=query:[0.2,0.4]")
    # It keeps its direction, also further than the picture, at whose edge its arrow ends.
    for name, presses, query in (
        *(("Longer", 1, [0.4, 0.8]), ("Longer", 3, [3, 6])),
        *(("Shorter", 1, [1.5, 3]), ("Shorter", 5, [0.05, 0.1])),
    ):
        root.press(*[name] * presses)
        assert root.snapshot()["query"] == pytest.approx(query)
        last = root.button(name).get_attribute("aria-disabled")
        assert last == str(presses > 1).lower()
        if query == [3, 6]:
            assert "longer than the picture" in root.locator(".machine-score").inner_text()
            assert handle.get_attribute("cy") == "0"
    handle.focus()
    for _ in range(80):
        page.keyboard.press("ArrowRight")
    assert max(root.snapshot()["query"]) < 2  # it stays on the page


def test_keys_keep_their_place_under_hard_and_when_the_query_moves(show):
    """Trained softly and then looked up hard, the output is what was wanted."""
    settings = {"key": [[1, 0], [0, 1], [-1, 0]], "value": [[10], [20], [50]], "target": 50}
    page, root, _ = show(plane.make(query=[1.386, 0.693], matrix=None, **settings))
    root.press(*["Learn ten"] * 4)
    learned = root.snapshot()
    assert learned["lessons"] == [pytest.approx([1.386, 0.693, 40])]
    assert learned["output"][0] > 45
    hard = root.get_by_label("Hard: the best key takes all")
    hard.check()
    root.press("Learn one step", "Learn ten")  # there is no slope
    assert root.snapshot()["output"] == [50]
    assert root.snapshot()["lessons"] == learned["lessons"]
    hard.uncheck()
    root.get_by_role("slider", name="Query").focus()
    for _ in range(12):
        page.keyboard.press("ArrowLeft")
    moved = root.snapshot()
    assert moved["keys"] == learned["keys"]
    root.press("Learn one step")
    assert root.snapshot()["lessons"] == [*learned["lessons"], [*moved["query"], 1]]
    lines = root.locator("line.plane-pull")
    for name in ("x1", "x2", "y1", "y2"):  # no line leaves the picture
        found = lines.evaluate_all("(all, name) => all.map((e) => +e.getAttribute(name))", name)
        assert all(0 <= at <= 340 for at in found)
    root.press(*["Learn ten"] * 6)
    assert sum(lesson[2] for lesson in root.snapshot()["lessons"]) == 99
    assert root.get_by_role("button", name="Learn ten").get_attribute("aria-disabled") == "true"


def test_a_finger_places_the_query(show):
    page, root, _ = show(plane.make(), width=360, has_touch=True)
    box = root.locator(".plane-area").bounding_box()
    page.touchscreen.tap(box["x"] + 0.25 * box["width"], box["y"] + 0.5 * box["width"])
    query = root.snapshot()["query"]
    assert query[0] < -0.5
    assert abs(query[1]) < 0.05
    handle = root.locator(".plane-handle").bounding_box()
    assert min(handle["width"], handle["height"]) >= 24


def test_the_name_of_the_query_lies_beside_its_handle_and_a_tie_is_said(show):
    queries = [[0.9, 0.4], [-0.9, -0.4], [0.0, 1.3], [1.3, -1.3]]
    tie = plane.make(key=[[1, 0], [0, 1], [-1, 0]], query=[0.5, 0.5], matrix=None)
    _, root, _ = show(*(plane.make(query=query, matrix=None) for query in queries), tie)
    said = root.other(len(queries)).locator(".machine-score").inner_text()
    assert "the and black fit alike, score 0.50" in said  # a tie, and of whom
    for place in range(len(queries)):
        root = root.other(place)
        baseline = float(root.locator(".plane-names .plane-query").get_attribute("y"))
        handle = root.locator(".plane-handle")
        centre, radius = (float(handle.get_attribute(name)) for name in ("cy", "r"))
        descender, ascender = 4, 12  # of the lettering; its box has a halo besides
        assert baseline + descender <= centre - radius or baseline - ascender >= centre + radius


# ---- The race.


def clocks(root) -> list[float | None]:
    """What each writer's line says: its milliseconds, if there was a race."""
    lanes = root.locator(".race-lanes > div").all()
    found = [re.search(r", (\S+) ms", lane.locator("p").nth(1).inner_text()) for lane in lanes]
    return [each and float(each[1].replace(",", "")) for each in found]


@pytest.mark.parametrize("bug", ["none", "draft"])
def test_a_race_ends_with_every_word_and_two_clocks(show, bug):
    machine = race.make(bug=bug)
    page, root, record = show(machine)
    assert clocks(root) == [None, None]
    root.get_by_role("button", name="Race").click()
    page.wait_for_function("document.querySelector('.machine-live').textContent.includes('ms')")
    machine.step = race.LAST
    now = machine.compute()
    assert root.snapshot()["step"] == race.LAST
    written = root.locator(".race-written").all_inner_texts()
    assert written == [" ".join(now[way]) for way in ("written", "right")]
    # From the first wrong word on all are marked: what is right by luck is no longer the song.
    wrong = now["written"][now["differs"] :] if now["differs"] else []
    assert root.locator(".race-lanes :is(em, strong)").all_inner_texts() == wrong
    assert root.locator(".race-lanes strong").all_inner_texts() == wrong[:1]
    said = f"at word {now['differs']}." if wrong else "Both wrote the same words."
    assert root.locator(".machine-say").inner_text().endswith(said)
    with_cache, again = clocks(root)
    assert min(with_cache, again) > 0  # which is less is for a benchmark to say
    # Every step has its dot, and fewer steps take no longer.
    assert root.locator(".race-picture circle").count() == 2 * race.LAST
    root.move("Words", 3)
    assert clocks(root)[1] <= again
    root.control("Song").select_option(index=1)
    assert clocks(root) == [None, None]
    assert not record.console


def test_the_race_shows_and_compares_what_each_writer_wrote(show, monkeypatch):
    def spoiled(*files):
        "The writer without a cache reads the second word all the time."
        return source(*files).replace("words.push(word)", "words.push(1)")

    source = host.source
    monkeypatch.setattr(host, "source", spoiled)
    page, root, _ = show(race.make())
    assert root.locator(".machine-say").inner_text() == "Will both write the same words?"
    root.get_by_role("button", name="Race").click()
    page.wait_for_function("document.querySelector('.machine-live').textContent.includes('ms')")
    kept, again = root.locator(".race-written").all_inner_texts()
    assert kept != again
    assert root.locator(".machine-say").inner_text() == "Both wrote different words."


def test_what_the_race_says_is_counted_and_a_bug_leads_to_the_first_wrong_word(show):
    machine = race.make(step=race.LAST)
    _, root, _ = show(machine)
    for way, lane in enumerate(root.locator(".race-lanes > div").all()):
        total = machine.compute()["all"][way] / 1e6
        assert lane.locator("p").nth(1).inner_text() == f"{total:.2f} M multiply-adds"
        now = f": {machine.counts(race.LAST)[way] / 1e6:.2f} M"
        assert root.locator(f"text.race-of{way}").text_content().endswith(now)
    root.control("Bug").select_option("a rejected draft stays")
    now = root.snapshot()
    machine.step, machine.bug = 1, "draft"
    assert now["differs"] == machine.compute()["differs"] > 0
    assert now["differs"] < now["step"] == min(now["differs"] + 8, race.LAST)
    assert root.locator(".race-lanes strong").inner_text() == now["written"][now["differs"]]
    names = root.locator("text.race-wrong").all_text_contents()
    assert names == ["wrong logits", "wrong word"]


# ---- The lamps.


def test_heads_are_dragged_and_the_lamps_follow(show):
    page, root, _ = show(lamps.make(second=True, head0=0))
    root.scroll_into_view_if_needed()
    lit = root.locator(".lamp-lit")
    assert lit.count() == 0
    box = root.locator(".lamp-picture").bounding_box()
    for y, x, head, aim in ((0.1, 0.02, "head0", -30), (0.9, 0.98, "head1", 30)):
        high = box["y"] + y * box["height"]
        drag(page, (box["x"] + box["width"] / 2, high), (box["x"] + x * box["width"], high))
        assert root.snapshot()[head] == aim
        assert lit.count() == root.snapshot()["lit"]
    assert lit.count() == 12
    names = root.locator(".lamp").evaluate_all("all => all.map(e => e.textContent)")
    assert all(name.endswith("✓") for name in names)
    root.control("A second head").uncheck()
    assert lit.count() == 6
    root.control("A second head").check()  # begins where the first one looks
    assert root.snapshot()["head1"] == -30
    assert lit.count() == 6


# ---- One row in tiles.


def test_scores_are_dragged_and_the_tiles_end_at_the_whole_row(show):
    machine = online.make(seen=8, order=online.MIXED)
    page, root, _ = show(machine)
    root.scroll_into_view_if_needed()
    box = root.locator(".online-area").bounding_box()
    _, _, wide, tall = map(float, root.locator(".online-area").get_attribute("viewBox").split())
    assert box["width"] / box["height"] == pytest.approx(wide / tall, rel=0.02)
    for place, y, expected in ((0, 27, 6), (3, 97, -4), (7, 27 + 7 * 4, 2)):
        key = online.MIXED[place]
        x = box["x"] + (place + 0.5) / 8 * box["width"]
        drag(page, *((x, box["y"] + at / tall * box["height"]) for at in (60, y)))
        shown = root.snapshot()
        assert shown["scores"][key] == expected
        machine.scores = shown["scores"]
        assert shown["output"] == pytest.approx(machine.compute()["whole"])


def test_without_rescaling_the_page_tells_luck_from_an_error(show):
    rising = sorted(range(8), key=online.SCORES.__getitem__)
    orders = {"right, by luck": rising[::-1], "and wrong": online.MIXED[::-1]}
    made = [online.make(seen=8, rescale=False, order=order) for order in orders.values()]
    _, root, _ = show(*made, online.make(seen=8, rescale=False, size=8))
    for place, said in enumerate(orders):
        assert said in root.other(place).locator(".machine-say").inner_text()
        assert "correction left out" in root.other(place).locator(".online-carried").inner_text()
    assert "luck" not in root.other(2).locator(".machine-say").inner_text()
    root.press("Start again")
    assert root.snapshot()["seen"] == 0
    expect(root.button("Next tile")).to_be_visible()


def test_a_score_has_its_number_and_keys_and_the_correction_its_switch(show):
    page, root, _ = show(online.make())
    for size, seen in ((4, 4), (8, 8)):  # a larger tile is not read as nothing
        root.control("Tile").select_option(str(size))
        assert root.snapshot()["seen"] == seen
    root.press("Reset")
    hand, label = root.get_by_role("slider").first, root.locator(".online-number").first
    for key, score in zip(
        ("PageUp", "Home", "End", "PageDown", "PageDown"), (2.5, -4, 6, 4, 2), strict=True
    ):
        hand.press(key)
        assert root.snapshot()["scores"][0] == score
        assert float(label.text_content().replace("\u2212", "-")) == score
    assert page.evaluate("scrollY") == 0
    root.get_by_label("Subtract the maximum").uncheck()
    assert "unchanged" in root.locator(".online-under").text_content()
    assert root.get_by_label("Correct when the maximum grows").is_disabled()
    root.control("Added to all").select_option("100")
    assert "(too large for float32)" in root.locator(".online-carried").inner_text()


# ---- The beam.


def test_a_box_of_the_beam_is_pressed_or_reached_by_arrows(show):
    _, root, _ = show(beam.make(width=3))
    chain, rows = root.locator(".beam-chain"), root.snapshot()["rows"]
    assert "Press a box" in chain.inner_text()
    root.locator(".beam-box").nth(4).click()
    assert root.snapshot()["box"] == rows[1][1]
    assert " · " in chain.inner_text()
    picture = root.get_by_role("slider", name="Box of the tree")
    assert picture.get_attribute("aria-valuetext") == chain.inner_text()
    for key, (step, place) in (("ArrowLeft", (1, 0)), ("ArrowDown", (2, 0)), ("ArrowUp", (1, 0))):
        picture.press(key)
        assert root.snapshot()["box"] == rows[step][place]
    assert root.locator(".beam-chosen").count() == 1
    led = root.locator(".beam-led[data-node]").evaluate_all("all => all.map((b) => b.dataset.node)")
    assert [*map(int, led)] == [one["node"] for one in root.snapshot()["chain"]]
    assert len(led) == 2


# ---- What a token leaves.


@pytest.mark.parametrize("width", [1280, 360])
def test_a_pressed_dot_shows_its_form_and_what_was_written_with_it(show, width):
    page, root, _ = show(cache_tiles.make(form="groups", bits=8), width=width)
    dots, seen = root.locator(".tiles-dot"), set()
    assert dots.count() == len(cache_tiles.MEASURED)
    for place in range(dots.count()):
        box = dots.nth(place).bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        now = root.snapshot()
        seen.add((now["form"], now["bits"]))
        assert root.locator(".tiles-said").inner_text() == f"small{now['found']['said']}"
        was = "As it was: wrote groups in 16 bits."
        trained = (now["form"], now["bits"]) == ("groups", 16)
        assert (root.locator(".tiles-was").inner_text() == was) is not trained
    assert len(seen) > len(cache_tiles.MEASURED) / 2  # lines change their order when one is pressed
    page.mouse.click(*(root.locator(".tiles-chart").bounding_box()[side] + 8 for side in "xy"))
    assert (root.snapshot()["form"], root.snapshot()["bits"]) == (now["form"], now["bits"])


# ---- Dots under a roof.


def test_readers_whom_no_memory_holds_are_hollow_and_no_dot_past_the_edge_hides(show):
    _, root, _ = show(roofline.make())
    fits = [roofline.make(readers=n).compute()["held"] <= 80e9 for n in roofline.READERS]
    assert root.locator(".roof-trail").count() == fits.count(True)
    assert root.locator(".roof-full").count() == fits.count(False)
    _, root, _ = show(roofline.make(phase="prefill", readers=1024))
    words = root.locator(".roof-of-weights").text_content()
    assert words.replace(",", "").endswith(f"{1904 * 1024 + 135} →")
    assert root.locator(".roof-of-step").text_content() == "whole call"


# ---- The mask that is painted.

CALLED = "select => select.selectedOptions[0].textContent"


def test_a_painted_mask_is_called_the_readers_own_until_it_is_painted_back(show):
    page, root, _ = show(painter.make(rule="upside"))
    mask = root.get_by_label("Mask now")
    called = [mask.evaluate(CALLED)]
    root.locator(".painter-grid").focus()
    for _ in range(2):
        page.keyboard.press("Space")
        called.append(mask.evaluate(CALLED))
    assert called == ["upside down", "your own", "upside down"]
    page.keyboard.press("Space")
    mask.select_option("none")
    assert root.snapshot()["painted"] == []
    assert mask.evaluate(CALLED) == "none"


# ---- Healthy or broken?


def test_of_a_map_the_first_answer_counts_and_then_the_rows_are_added_up(show):
    _, root, _ = show(eye.make())
    said = root.locator(".machine-say")

    def press(*names: str) -> dict:
        for name in names:
            root.button(name).press("Enter")
        return root.snapshot()

    assert root.locator("text.eye-off").count() == 0
    assert press("Healthy", "Broken")["replies"] == "h--"
    assert root.locator(".eye-map text").all_text_contents().count("1.00") == 2
    press("Next", "Broken", "Next", "Next")
    assert "2 of 3, with 1 to go" in root.locator(".machine-big").inner_text()
    assert press("Broken", "Next")["place"] == 3  # of no map; to the one that is open
    press("Broken", "Next")
    counted = "You accused 1 of 2 healthy maps, and 0 of 1 broken ones got past you."
    assert said.inner_text().startswith(counted)
    now = press("Again, shuffled")
    assert (now["place"], now["replies"], now["turn"]) == (1, "---", 1)
    assert now["order"] != [0, 1, 2]


@pytest.mark.parametrize("width", [1280, 700, 360])
def test_a_map_of_the_quiz_stays_where_it_is(show, width):
    page, root, _ = show(EyeTest(ch16.quiz()), width=width)
    tops = set()
    for place in range(1, 11):
        for replies in "-hb":
            follow(page, f"eye-test=place:{place};replies:{replies * 10}")
            top = root.locator(".eye-map").bounding_box()["y"] - root.bounding_box()["y"]
            tops.add(round(top))
    assert len(tops) == 1, tops


# ---- The porter.


def test_no_bar_of_an_answer_is_cut_and_all_have_one_scale(show):
    _, root, _ = show(porter.make(memory="sum"))
    root.press(*["New rooms for all"] * 3)
    bars, across = root.snapshot()["bars"], root.locator(".porter-memory").get_attribute("viewBox")
    assert min(bars) < -0.3
    drawn = root.locator(".porter-bar").evaluate_all(
        "all => all.map(e => [e.x.baseVal.value, e.width.baseVal.value])"
    )
    scale = drawn[0][1] / abs(bars[0])
    assert [wide for _, wide in drawn] == pytest.approx([scale * abs(v) for v in bars], abs=0.05)
    assert max(map(sum, drawn)) <= float(across.split()[2])


def test_the_porter_says_how_many_pairs_he_takes_and_lists_who_has_left(show):
    _, root, _ = show(porter.make(memory="sum"))
    more, said = root.button("New rooms for all"), root.locator(".machine-say")
    assert "at most" not in said.inner_text()
    for _ in range(3):
        assert more.get_attribute("aria-disabled") == "false"
        root.press("New rooms for all")
    assert more.get_attribute("aria-disabled") == "true"
    assert "He takes at most 48 pairs." in said.inner_text()
    root.press("Everybody leaves")
    left, before = root.locator(".porter-gone"), root.snapshot()["asked"]
    assert left.count() == 12
    left.nth(3).click()
    assert root.snapshot()["asked"] == before


# ---- The model to lie to.


def test_a_word_that_cannot_be_one_is_refused_aloud_and_capitals_are_letters(show):
    _, root, _ = show(lie.make())
    field, why = root.get_by_role("textbox"), root.locator(".lie-odd")
    for typed, told in (("xyz", "Only a to j"), ("ab", "3 to 10 letters"), ("", "3 to 10 letters"),
                        ("head che", "Only a to j")):  # fmt: skip
        field.fill(typed)
        assert why.inner_text() == f"{told}: still “headache”"
        assert field.get_attribute("aria-invalid") == "true"
        assert root.snapshot()["word"] == "headache"
    field.blur()
    assert (field.input_value(), why.inner_text()) == ("headache", "")
    field.fill("FACED")
    assert root.snapshot()["word"] == field.input_value() == "faced"


def test_a_box_of_the_table_sets_the_lie_and_what_is_hidden(show):
    _, root, _ = show(lie.make())
    for place, (told, hide) in enumerate(lie.CASES):
        root.locator(".lie-table tbody td").nth(place).click()
        now = root.snapshot()
        assert (now["lie"], now["hide"], now["answer"]) == (told, hide, now["table"][place])
        assert root.locator(".lie-chosen").count() == 1


# ---- The tiles in order.


def test_two_equal_words_that_change_places_leave_the_same_sentence(show):
    _, root, _ = show(tiles.make(kind="sinusoidal", order=[0, 4, 2, 3, 1, 5]))
    assert root.locator(".machine-big").inner_text().startswith("The same sentence")
