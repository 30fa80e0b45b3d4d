"""The curves of cost in Chromium: the numbers of the results file, for every reader."""

import math

import pytest

from attnbook import recorded
from attnbook.machines import CostCurves
from tests.browser import explorer_page as pages

pytestmark = pytest.mark.browser

LONG = recorded.results("bench-cpu")["long"]
FORMS = ("full, by hand", "full, fused", "linear")
LENGTHS = [256, 512, 1024, 2048, 4096, 8192]


def points(found: dict, form: str, unit: str) -> dict[int, float]:
    return {int(n): case[form][unit] for n, case in found.items() if n.isdigit() and form in case}


MEASURES = {
    "time, forward": {form: points(LONG["forward"], form, "ms") for form in FORMS},
    "memory": {form: points(LONG["memory"], form, "mib") for form in FORMS},
}


def curves(**settings) -> CostCurves:
    settings = {"title": "Cost", "caption": "Measured on one machine.", **settings}
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


def test_every_number_on_the_page_is_that_of_the_results_file(show):
    page, root, record = show(curves())
    for place, (name, series) in enumerate(MEASURES.items()):
        pages.control(root, "Measure").select_option(name)
        measured = [n for n in LENGTHS if any(n in numbers for numbers in series.values())]
        assert pages.control(root, "Length").get_attribute("max") == str(len(measured) - 1)
        for step, length in enumerate(measured):
            pages.move(root, "Length", step)
            pages.settle(page)
            expected = {form: series[form].get(length) for form in FORMS}
            assert pages.snapshot(root) == {"length": length, "measure": place, "values": expected}
            rows = table(root)
            assert list(rows) == list(FORMS)
            for form, cells in rows.items():
                assert says(cells[0], expected[form]), (form, length, cells)
                before = series[form].get(length // 2)
                growth = expected[form] / before if expected[form] and before else None
                assert cells[1] == ("–" if growth is None else f"×{growth:.1f}")
    exponent = {form: f"{LONG['memory']['exponents'][form]:.2f}" for form in FORMS}
    assert {form: cells[2] for form, cells in table(root).items()} == exponent
    assert "not measured" in table(root)["full, by hand"][0]
    assert not record.console


def test_a_mark_stands_where_each_number_belongs_and_nowhere_else(show):
    """On logarithmic axes: equal steps right for each doubling, and up by the logarithm."""
    _, root, _ = show(curves(measure=1))
    marks = root.locator(".ac-plot g").evaluate_all(
        """groups => groups.map(g => [...g.querySelectorAll("path")].map(
            p => p.getAttribute("transform").match(/[-\\d.]+/g).slice(0, 2).map(Number)))"""
    )
    assert [len(line) for line in marks] == [len(MEASURES["memory"][form]) for form in FORMS]
    ticks = dict(
        root.locator(".ac-plot text[text-anchor=end]").evaluate_all(
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


def test_the_keyboard_moves_the_length_and_it_is_said(show):
    page, root, _ = show(curves(length=1024))
    slider = pages.control(root, "Length")
    slider.focus()
    live = root.locator(".ac-live")
    assert live.inner_text() == ""
    page.keyboard.press("ArrowRight")
    assert pages.snapshot(root)["length"] == 2048
    assert slider.get_attribute("aria-valuetext") == "2,048"
    assert live.inner_text().startswith("time, forward, length 2,048, ms: full, by hand ")
    spoken = live.inner_text().split("full, fused ")[1].split(";")[0]
    assert says(spoken, MEASURES["time, forward"]["full, fused"][2048])
    page.keyboard.press("End")
    assert "full, by hand not measured" in live.inner_text()
    page.keyboard.press("Home")
    assert pages.snapshot(root)["length"] == 256
    assert root.locator(".ac-half").inner_text() == "since half"


def test_the_mouse_goes_to_the_nearest_length_that_was_measured(show):
    page, root, _ = show(curves(length=256))
    plot = root.locator(".ac-plot")
    box = plot.bounding_box()
    page.mouse.click(box["x"] + box["width"] - 30, box["y"] + 60)
    assert pages.snapshot(root)["length"] == 8192
    page.mouse.move(box["x"] + box["width"] - 30, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 56, box["y"] + 60, steps=4)
    page.mouse.up()
    assert pages.snapshot(root)["length"] == 256
    page.mouse.move(box["x"] + box["width"] - 30, box["y"] + 60)
    assert pages.snapshot(root)["length"] == 256
    pages.settle(page)
    here = root.locator(".ac-here").get_attribute("x1")
    large = root.locator(".ac-plot path[transform*=scale]").first.get_attribute("transform")
    assert f"({here} " in large


@pytest.mark.parametrize(("theme", "width"), pages.THEMES_AND_WIDTHS)
def test_no_axe_violation_and_no_sideways_scroll(show, theme, width):
    page, root, record = show(curves(measure=1), theme=theme, width=width)
    assert pages.complaints(page, record, width) == []
    texts = root.locator(".ac-plot text").evaluate_all(
        "all => all.map(t => { const b = t.getBoundingClientRect(); return [b.left, b.right] })"
    )
    assert all(0 <= left < right <= width for left, right in texts)


def test_lines_stand_out_from_the_page_in_both_themes(show):
    """WCAG 1.4.11: at least 3 to 1 between a line and what is behind it."""
    ratio = """root => {
        const luminance = (colour) => {
            const [r, g, b] = colour.match(/[\\d.]+/g).map(Number).map((v) => v / 255)
                .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const back = luminance(getComputedStyle(root).backgroundColor);
        return [...root.querySelectorAll(".ac-plot polyline")].map((line) => {
            const own = luminance(getComputedStyle(line).stroke);
            return (Math.max(own, back) + 0.05) / (Math.min(own, back) + 0.05);
        });
    }"""
    many = {"m": {str(n): {256: n + 1.0, 512: n + 2.0} for n in range(6)}}
    widget = CostCurves(many, units={"m": "MiB"})
    page, root, _ = show(widget)
    assert len(root.evaluate(ratio)) == 6
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        assert min(root.evaluate(ratio)) >= 3


def test_text_is_text_and_two_views_of_one_model_stay_in_step(show):
    widget = CostCurves(
        {pages.ATTACK: {pages.ATTACK: {256: 1.0, 512: 2.0}}},
        units={pages.ATTACK: pages.ATTACK},
        title=pages.ATTACK,
        caption=pages.ATTACK,
    )
    page, first, record = show(widget, widget)
    second = page.locator(".attnkit-curves").nth(1)
    pages.move(first, "Length", 0)
    pages.settle(page)
    assert pages.snapshot(first) == pages.snapshot(second)
    assert pages.control(second, "Length").input_value() == "0"
    assert page.locator(".attnkit-curves img").count() == 0
    assert pages.ATTACK in first.inner_text()
    assert not record.console
    assert not record.missing


def test_it_follows_the_width_of_its_place_and_stays_below_200_nodes(show):
    page, root, _ = show(curves())
    assert root.evaluate("e => e.querySelectorAll('*').length + 1") < 200
    wide = root.locator(".ac-plot").get_attribute("viewBox")
    page.set_viewport_size({"width": 420, "height": 800})
    page.wait_for_function(
        "old => document.querySelector('.ac-plot').getAttribute('viewBox') !== old", arg=wide
    )


def test_closing_a_view_lets_go_of_everything(browser):
    listeners, heard = pages.render_and_close(browser, curves())
    assert listeners >= 5
    assert heard == 2


def test_hovering_previews_a_length_and_reset_returns_to_the_beginning(show):
    page, root, _ = show(curves(length=2048))
    box = root.locator(".ac-plot").bounding_box()
    page.mouse.move(box["x"] + box["width"] - 140, box["y"] + 60)
    pages.settle(page)
    assert pages.snapshot(root)["length"] == 2048
    assert root.locator(".ac-half").inner_text().startswith("at 8,192")
    assert root.locator(".ac-hover").count() == 1
    page.mouse.move(3, 3)
    pages.settle(page)
    assert root.locator(".ac-half").inner_text() == "since 1,024"
    pages.control(root, "Measure").select_option("memory")
    pages.control(root, "Length").press("Home")
    root.get_by_role("button", name="Reset").click()
    assert (pages.snapshot(root)["length"], pages.snapshot(root)["measure"]) == (2048, 0)


def test_a_measure_without_the_length_goes_to_the_nearest_and_names_its_axis(show):
    page, root, _ = show(curves(length=256))
    pages.control(root, "Measure").select_option("memory")
    pages.settle(page)
    assert pages.snapshot(root)["length"] == 1024
    assert root.locator(".ac-axes").inner_text() == "MiB ↑"
    assert root.locator(".ac-name").all_text_contents() == sorted(
        FORMS, key=lambda form: -list(MEASURES["memory"][form].values())[-1]
    )
