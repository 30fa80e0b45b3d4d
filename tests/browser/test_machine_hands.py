"""What each machine has of its own: marks, names and numbers in their places, and other hands."""

import math

import pytest

from attnbook import recorded
from attnbook.machines import CostCurves
from attnkit.viz import AttentionExplorer
from booktools.widget_page import write_page
from tests.attnbook.machines import test_decode_race as race
from tests.attnbook.machines import test_lamp_machine as lamps
from tests.attnbook.machines import test_lie_machine as lie
from tests.attnbook.machines import test_query_plane as plane
from tests.browser.explorer_page import (
    control,
    move,
    settle,
    snapshot,
    vectors,
    wait_for_theme,
)

pytestmark = pytest.mark.browser

# ---- The plane.


@pytest.mark.parametrize("value", [None, [[10], [20], [50]], [[1, 1], [-1, 0], [0, -2]]])
def test_the_query_is_dragged_and_the_output_stays_among_the_values(show, value):
    machine = plane.make(value=value)
    page, root, _ = show(machine)
    root.scroll_into_view_if_needed()
    box = root.locator(".plane-area").bounding_box()
    for x, y, turned in ((0.8, 0.3, False), (0.1, 0.5, True), (0.5, 0.5, False)):
        root.get_by_label("Multiply the query by W first").set_checked(turned)
        handle = root.locator(".plane-handle").bounding_box()
        page.mouse.move(handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["width"], steps=3)
        page.mouse.up()
        shown = snapshot(root)
        machine.query, machine.turned = shown["query"], shown["turned"]
        assert shown["weights"] == pytest.approx(machine.weights(), abs=1e-6)
        assert shown["output"] == pytest.approx(machine.output(), abs=1e-6)
        for d, column in enumerate(zip(*machine.value, strict=True)):
            assert min(column) - 1e-9 <= shown["output"][d] <= max(column) + 1e-9
    assert shown["query"] == pytest.approx([0, 0], abs=0.03)  # the middle: all keys are alike
    assert shown["weights"] == pytest.approx([1 / 3] * 3, abs=0.03)


def test_arrow_keys_move_the_query_and_the_page_says_what_follows(show):
    page, root, _ = show(plane.make(value=[[10], [20], [50]], query=[0.5, 0.5], matrix=None))
    assert root.get_by_label("Multiply the query by W first").count() == 0
    handle = root.get_by_role("slider", name="Query")
    handle.focus()
    for key, expected in (("ArrowRight", [0.6, 0.5]), ("ArrowUp", [0.6, 0.6]),
                          ("ArrowLeft", [0.5, 0.6]), ("ArrowDown", [0.5, 0.5])):  # fmt: skip
        page.keyboard.press(key)
        assert snapshot(root)["query"] == pytest.approx(expected)
        assert handle.evaluate("e => e === document.activeElement")
    assert handle.get_attribute("aria-valuetext") == "(0.50, 0.50)"
    said = root.locator(".machine-live").inner_text()
    assert said.startswith("query (0.50, 0.50). Weights: the 0.27, black 0.27, cat 0.45. Output ")
    for _ in range(80):
        page.keyboard.press("ArrowRight")
    assert max(snapshot(root)["query"]) < 2  # it stays on the page


def test_a_finger_places_the_query(browser, tmp_path):
    context = browser.new_context(viewport={"width": 360, "height": 740}, has_touch=True)
    page = context.new_page()
    page.goto(write_page(tmp_path, plane.make()).as_uri())
    root = page.locator(".machine-plane")
    root.locator(".plane-area").wait_for()
    box = root.locator(".plane-area").bounding_box()
    page.touchscreen.tap(box["x"] + 0.25 * box["width"], box["y"] + 0.5 * box["width"])
    query = snapshot(root)["query"]
    assert query[0] < -0.5
    assert abs(query[1]) < 0.05
    handle = root.locator(".plane-handle").bounding_box()
    assert min(handle["width"], handle["height"]) >= 24
    context.close()


@pytest.mark.parametrize("query", [[0.9, 0.4], [-0.9, -0.4], [0.0, 1.3], [1.3, -1.3]])
def test_the_name_of_the_query_lies_beside_its_handle(show, query):
    _, root, _ = show(plane.make(query=query, matrix=None))
    baseline = float(root.locator(".plane-names .plane-query").get_attribute("y"))
    handle = root.locator(".plane-handle")
    centre, radius = (float(handle.get_attribute(name)) for name in ("cy", "r"))
    descender, ascender = 4, 12  # of the lettering; its box has a halo besides
    assert baseline + descender <= centre - radius or baseline - ascender >= centre + radius


def test_a_query_twice_as_long_keeps_its_direction(show):
    _, root, _ = show(plane.make(query=[0.2, 0.4], matrix=None))
    root.get_by_role("button", name="Longer").click()
    assert snapshot(root)["query"] == pytest.approx([0.4, 0.8])
    for _ in range(4):
        root.get_by_role("button", name="Longer").click()
    x, y = snapshot(root)["query"]
    assert y == pytest.approx(2 * x)
    assert y == pytest.approx(1.3)  # the edge of the plane
    root.get_by_role("button", name="Shorter").click()
    assert snapshot(root)["query"] == pytest.approx([x / 2, y / 2])


# ---- The race.


def clock(text: str) -> float:
    return float(text.replace(",", ""))


@pytest.mark.parametrize("bug", ["none", "draft"])
def test_a_race_ends_with_every_word_and_two_clocks(show, bug):
    machine = race.make(bug=bug)
    page, root, record = show(machine)
    cells = [row.locator("td") for row in root.locator("tbody tr").all()]
    assert {row.nth(3).inner_text() for row in cells} == {"–"}
    root.get_by_role("button", name="Race").click()
    page.wait_for_function("document.querySelector('.machine-live').textContent.includes('ms')")
    machine.step = race.LAST
    now = machine.compute()
    assert snapshot(root)["step"] == race.LAST
    lanes = [
        lane.locator("p").last.inner_text() for lane in root.locator(".race-lanes > div").all()
    ]
    assert lanes == [" ".join(now[way]) for way in ("written", "right")]
    wrong = [a for a, b in zip(now["written"], now["right"], strict=True) if a != b]
    assert root.locator(".race-lanes em").all_inner_texts() == wrong
    with_cache, again = (clock(row.nth(3).inner_text()) for row in cells)
    assert 0 < with_cache < again
    # Every step has its dot, and the time of fewer steps is the less.
    assert root.locator(".race-picture circle").count() == 2 * race.LAST
    move(root, "Words", 3)
    assert clock(cells[1].nth(3).inner_text()) < again
    control(root, "Song").select_option(index=1)
    assert {row.nth(3).inner_text() for row in cells} == {"–"}
    assert not record.console


def test_the_table_of_the_race_is_what_is_counted(show):
    machine = race.make()
    _, root, _ = show(machine)
    for step in (1, 7, race.LAST):
        move(root, "Words", step)
        machine.step = step
        for way, row in enumerate(root.locator("tbody tr").all()):
            expected = machine.counts(step)[way], machine.compute()["all"][way]
            found = row.locator("td").all_inner_texts()[:2]
            assert found == [f"{n / 1e6:.2f} M" for n in expected]


# ---- The lamps.


def test_heads_are_dragged_and_the_lamps_follow(show):
    page, root, _ = show(lamps.make(second=True, head0=0))
    root.scroll_into_view_if_needed()
    lit = root.locator(".lamp-lit")
    assert lit.count() == 0
    box = root.locator(".lamp-picture").bounding_box()
    for y, x, head, aim in ((0.1, 0.02, "head0", -30), (0.9, 0.98, "head1", 30)):
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + y * box["height"])
        page.mouse.down()
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=3)
        page.mouse.up()
        assert snapshot(root)[head] == aim
        assert lit.count() == snapshot(root)["lit"]
    assert lit.count() == 12
    names = root.locator(".lamp").evaluate_all("all => all.map(e => e.textContent)")
    assert all(name.endswith("✓") for name in names)
    control(root, "A second head").uncheck()
    assert lit.count() == 6
    said = root.locator(".machine-live").inner_text()
    assert said.startswith("6 of 12 lamps are lit. The head gives 1.00 to the left")


def test_colours_follow_the_theme_and_paper_is_white(show):
    page, root, _ = show(lie.make(), AttentionExplorer(vectors(2, 4, 8), vectors(2, 4, 8)))
    cell = "e => [...e.querySelectorAll('svg rect')].map(r => getComputedStyle(r).fill).join()"
    light = root.evaluate(cell)
    page.emulate_media(color_scheme="dark")
    wait_for_theme(page, dark=True)
    assert root.evaluate(cell) != light
    page.emulate_media(color_scheme="dark", media="print")
    wait_for_theme(page, dark=False)
    assert root.evaluate(cell) == light


# ---- The curves.

LONG = recorded.results("bench-cpu")["long"]
FORMS = ("full, by hand", "full, fused", "linear")
LENGTHS = [256, 512, 1024, 2048, 4096, 8192]


def points(found: dict, form: str, unit: str) -> dict[int, float]:
    return {int(n): case[form][unit] for n, case in found.items() if n.isdigit() and form in case}


MEASURES = {
    "time, forward": {form: points(LONG["forward"], form, "ms") for form in FORMS},
    "memory": {form: points(LONG["memory"], form, "mib") for form in FORMS},
}


def the_curves(**settings) -> CostCurves:
    units = {"time, forward": "ms", "memory": "MiB"}
    exponents = {"memory": {form: LONG["memory"]["exponents"][form] for form in FORMS}}
    return CostCurves(MEASURES, units=units, exponents=exponents, **settings)


def table(root) -> dict[str, list[str]]:
    """The rows of the table on the page: form -> its cells."""
    return {
        row.locator("th").inner_text().strip(): row.locator("td").all_inner_texts()
        for row in root.locator("tbody tr").all()
    }


def says(text: str, value: float | None) -> bool:
    """Whether the page's words are this number, to three digits, or that there is none."""
    if value is None:
        return text == "not measured"
    digits = math.floor(math.log10(value)) - 2  # of the last of the three
    return abs(float(text.replace(",", "")) - value) <= 0.5000001 * 10**digits


def test_every_number_in_the_table_is_that_of_the_results_file(show):
    page, root, _ = show(the_curves())
    for name, series in MEASURES.items():
        control(root, "Measure").select_option(label=name)
        measured = [n for n in LENGTHS if any(n in numbers for numbers in series.values())]
        assert control(root, "Length").get_attribute("max") == str(len(measured) - 1)
        for step, length in enumerate(measured):
            move(root, "Length", step)
            settle(page)
            rows = table(root)
            assert list(rows) == list(FORMS)
            for form, cells in rows.items():
                now, before = (series[form].get(n) for n in (length, length // 2))
                assert says(cells[0], now), (form, length, cells)
                assert cells[1] == (f"×{now / before:.1f}" if now and before else "–")
    exponent = {form: f"{LONG['memory']['exponents'][form]:.2f}" for form in FORMS}
    assert {form: cells[2] for form, cells in table(root).items()} == exponent
    assert "not measured" in table(root)["full, by hand"][0]


def test_a_mark_stands_where_each_number_belongs_and_nowhere_else(show):
    """On logarithmic axes: equal steps right for each doubling, and up by the logarithm."""
    _, root, _ = show(the_curves(measure=1))
    marks = root.locator(".curves-plot g").evaluate_all(
        """groups => groups.map(g => [...g.querySelectorAll("path")].map(
            p => p.getAttribute("transform").match(/[-\\d.]+/g).slice(0, 2).map(Number)))"""
    )
    assert [len(line) for line in marks] == [len(MEASURES["memory"][form]) for form in FORMS]
    ticks = dict(
        root.locator(".curves-plot text[text-anchor=end]").evaluate_all(
            "all => all.map(t => [t.textContent, t.getAttribute('y') - 4])"
        )
    )
    (low, low_y), (high, high_y) = [
        (float(text.replace(",", "")), y) for text, y in (list(ticks.items())[i] for i in (0, -1))
    ]
    for form, line in zip(FORMS, marks, strict=True):
        for (_, y), value in zip(line, MEASURES["memory"][form].values(), strict=True):
            share = math.log(value / low) / math.log(high / low)
            assert y == pytest.approx(low_y + share * (high_y - low_y), abs=0.5)
    steps = [b[0] - a[0] for a, b in zip(marks[1], marks[1][1:], strict=False)]
    assert steps == pytest.approx([steps[0]] * len(steps), abs=0.2)


def test_the_mouse_looks_at_a_length_and_takes_the_nearest_that_was_measured(show):
    page, root, _ = show(the_curves(length=2048))
    box = root.locator(".curves-plot").bounding_box()
    page.mouse.move(box["x"] + box["width"] - 140, box["y"] + 60)
    settle(page)
    assert snapshot(root)["length"] == 2048
    assert root.locator(".curves-half").inner_text().startswith("at 8,192")
    assert root.locator(".curves-hover").count() == 1
    page.mouse.move(3, 3)
    settle(page)
    assert root.locator(".curves-half").inner_text() == "since 1,024"
    page.mouse.click(box["x"] + box["width"] - 30, box["y"] + 60)
    assert snapshot(root)["length"] == 8192
    page.mouse.down()
    page.mouse.move(box["x"] + 56, box["y"] + 60, steps=4)
    page.mouse.up()
    assert snapshot(root)["length"] == 256
    here = root.locator(".curves-here").get_attribute("x1")
    large = root.locator(".curves-plot path[transform*=scale]").first.get_attribute("transform")
    assert float(large.split("(")[1].split()[0]) == pytest.approx(float(here), abs=0.06)


def test_a_measure_without_the_length_goes_to_the_nearest_and_names_its_axis(show):
    page, root, _ = show(the_curves(length=256))
    control(root, "Measure").select_option(label="memory")
    settle(page)
    assert snapshot(root)["length"] == 1024
    assert root.locator(".curves-axes").inner_text() == "MiB ↑"
    assert root.locator(".curves-name").all_text_contents() == sorted(
        FORMS, key=lambda form: -list(MEASURES["memory"][form].values())[-1]
    )
    said = root.locator(".machine-live").inner_text()
    assert said.startswith("memory, length 1,024, MiB: full, by hand ")
    assert says(
        said.split("full, fused ")[1].split(";")[0], MEASURES["memory"]["full, fused"][1024]
    )


def test_it_follows_the_width_of_its_place_and_stays_on_a_phone(show):
    page, root, _ = show(the_curves())
    assert root.evaluate("e => e.querySelectorAll('*').length + 1") < 200
    wide = root.locator(".curves-plot").get_attribute("viewBox")
    page.set_viewport_size({"width": 360, "height": 800})
    page.wait_for_function(
        "old => document.querySelector('.curves-plot').getAttribute('viewBox') !== old", arg=wide
    )
    texts = root.locator(".curves-plot text").evaluate_all(
        "all => all.map(t => { const b = t.getBoundingClientRect(); return [b.left, b.right] })"
    )
    assert all(0 <= left < right <= 360 for left, right in texts)


def test_lines_stand_out_from_the_page_in_both_themes(show):
    """WCAG 1.4.11: at least 3 to 1 between a line and what is behind it."""
    ratio = """root => {
        const luminance = (colour) => {
            const [r, g, b] = colour.match(/[\\d.]+/g).map(Number).map((v) => v / 255)
                .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const back = luminance(getComputedStyle(root).backgroundColor);
        return [...root.querySelectorAll(".curves-plot polyline")].map((line) => {
            const own = luminance(getComputedStyle(line).stroke);
            return (Math.max(own, back) + 0.05) / (Math.min(own, back) + 0.05);
        });
    }"""
    many = {"m": {str(n): {256: n + 1.0, 512: n + 2.0} for n in range(6)}}
    page, root, _ = show(CostCurves(many, units={"m": "MiB"}))
    assert len(root.evaluate(ratio)) == 6
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        assert min(root.evaluate(ratio)) >= 3


def test_a_measure_alone_leaves_no_choice(show):
    _, root, _ = show(CostCurves({"m": {"a": {1: 1.0}}}, units={"m": "MiB"}))
    assert control(root, "Measure").is_hidden()
