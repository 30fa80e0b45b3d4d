"""The drawings in a browser: nothing cut, no word on another, steppers by mouse and by key."""

from __future__ import annotations

import functools

import pytest
from playwright.sync_api import expect

from attnbook.drawings import DRAWINGS
from attnbook.drawings.drawing import HERE, style_sheet
from attnkit.viz import palette
from tests.book.test_drawings import PHONE_COLUMN

pytestmark = pytest.mark.browser

STEPPERS = [drawing for drawing in DRAWINGS.values() if drawing.says]
# One script moves them all. The one with the fewest frames and the one with the most stand for the
# others, which `make test-all` moves too.
BY_FRAMES = sorted(STEPPERS, key=lambda drawing: len(drawing.says))
EACH_STEPPER = pytest.mark.parametrize(
    "drawing",
    [BY_FRAMES[0], BY_FRAMES[-1], *(pytest.param(d, marks=pytest.mark.slow)
                                    for d in BY_FRAMES[1:-1])],
    ids=lambda drawing: drawing.name,
)  # fmt: skip

# Words beyond the edge of their drawing, and pairs of words that cover each other.
FAULTS = """(here) => {
  const faults = [];
  for (const svg of here.querySelectorAll("svg")) {
    const edge = svg.getBoundingClientRect();
    if (!edge.width) continue;
    const boxes = [...svg.querySelectorAll("text")].map(
      (text) => [text.textContent, text.getBoundingClientRect()]);
    for (const [words, box] of boxes) {
      if (box.left < edge.left - 1 || box.right > edge.right + 1
          || box.top < edge.top - 1 || box.bottom > edge.bottom + 1) faults.push(`cut: ${words}`);
    }
    boxes.forEach(([words, a], place) => boxes.slice(place + 1).forEach(([others, b]) => {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 1 && high > 0.3 * Math.min(a.height, b.height)) {
        faults.push(`${words} / ${others}`);
      }
    }));
  }
  return faults;
}"""


# The classes of the pictures that can be seen, by the name of their drawing.
LAYOUTS = """() => Object.fromEntries([...document.querySelectorAll("main > div")].map((div) => [
    div.id, [...div.querySelectorAll("svg")].filter((svg) => svg.checkVisibility())
        .map((svg) => svg.getAttribute("class"))]))"""


def page_of(path, *drawings):
    """Write a page with these drawings alone, as the book would show them; return its address."""
    path.write_text(
        '<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>Drawings</title><style>{style_sheet()}"
        "body{margin:16px;background:var(--attn-page);font:16px system-ui}"
        "main{max-width:688px;margin:auto}"
        "[hidden]{display:none!important}"  # Bootstrap's
        ".visually-hidden{position:absolute;clip-path:inset(50%)}</style><main>"
        + "".join(f'<div id="{drawing.name}">{drawing.inline()}</div>' for drawing in drawings)
        + f"</main><script>{(HERE / 'stepper.js').read_text('utf8')}</script></html>",
        "utf8",
    )
    return path.as_uri()


@pytest.fixture(scope="module")
def all_drawings(browser, tmp_path_factory):
    """`all_drawings(width)` is a page with all of them, which stays open for every test."""
    address = page_of(tmp_path_factory.mktemp("drawings") / "all.html", *DRAWINGS.values())
    context = browser.new_context()

    @functools.cache
    def page_(width):
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(address)
        return page

    yield page_
    context.close()


@pytest.mark.parametrize("width", [1280, 360])
def test_one_layout_is_shown_nothing_is_cut_and_no_word_covers_another(all_drawings, width):
    page = all_drawings(width)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    shown = page.evaluate(LAYOUTS)
    two = {name for name, drawing in DRAWINGS.items() if drawing.two_layouts and width == 1280}
    kinds = {name: "wide" if name in two else "narrow" for name in DRAWINGS}
    assert shown == {name: [f"d-{kind}-layout"] for name, kind in kinds.items()}
    for step in range(max(len(drawing.says) or 1 for drawing in DRAWINGS.values())):
        found = page.evaluate(
            f"() => [...document.querySelectorAll('main > div')].map(d => [d.id, ({FAULTS})(d)])"
        )
        assert {name: faults for name, faults in found if faults} == {}, step
        page.evaluate(
            """() => document.querySelectorAll('main > div').forEach(
                (here) => here.querySelectorAll('.drawing-steps button')[1]?.click())"""
        )


def test_a_page_of_the_book_has_the_palettes_colours_and_a_telephone_its_column(
    open_page, site_url
):
    """The contrasts were computed with its ground, its drawings follow the theme, and letters were
    measured in a column of that width."""
    page, _ = open_page(site_url + "chapters/01_rnn_bottleneck.html", width=360)
    assert page.locator("figure.drawing").first.bounding_box()["width"] == PHONE_COLUMN
    query = palette.ROLES["query"]
    for theme, ground, role in (
        ("light", palette.PAGE, query.light),
        ("dark", palette.PAGE_DARK, query.dark),
    ):
        page.emulate_media(color_scheme=theme)
        page.wait_for_function("it => document.documentElement.dataset.theme === it", arg=theme)
        as_rgb = tuple(int(ground[place : place + 2], 16) for place in (1, 3, 5))
        seen = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert seen == f"rgb{as_rgb}"
        property_ = "getComputedStyle(document.documentElement).getPropertyValue('--attn-query')"
        assert page.evaluate(property_) == role


def test_a_dark_page_turns_plots_over_and_leaves_heat_maps_as_they_are(open_page, site_url):
    """In a heat map lightness is the number, so light must stay light."""
    page, _ = open_page(site_url + "chapters/04b_when_should_it_look.html", theme="dark")
    look = "images => images.map(image => getComputedStyle(image).filter)"
    images, turned = ".cell_output img[src$='.png']", "invert(1) hue-rotate(180deg)"
    others = ".heat-map, .attnkit-fallback *, .attnkit-paper *"
    for kind, filtered in ((".heat-map", "none"), (f":not({others})", turned)):
        assert set(page.locator(f"{images}{kind}").evaluate_all(look)) == {filtered}


@EACH_STEPPER
def test_a_stepper_goes_by_mouse_and_by_keys_never_jumps_and_prints_all_frames(
    open_page, tmp_path, drawing
):
    page, _ = open_page(page_of(tmp_path / "drawing.html", drawing))
    back, forth = page.get_by_role("button", name="Back"), page.get_by_role("button", name="Next")
    sentence = page.locator(".drawing-frames > li:visible p")
    voice = page.locator("[aria-live=polite]")
    assert sentence.inner_text() == drawing.says[0]
    assert back.get_attribute("aria-disabled") == "true"
    assert voice.inner_text() == ""
    for says in drawing.says[1:]:
        forth.click()
        assert sentence.inner_text() == voice.inner_text() == says
    assert forth.get_attribute("aria-disabled") == "true"
    forth.click(force=True)  # Playwright waits for a button that aria-disabled does not stop
    assert sentence.inner_text() == drawing.says[-1]
    for says in reversed(drawing.says[:-1]):
        page.keyboard.press("ArrowLeft")
        assert sentence.inner_text() == says
    page.keyboard.press("ArrowRight")
    assert sentence.inner_text() == drawing.says[1]
    assert page.locator(".drawing-steps span").inner_text() == f"2 of {len(drawing.says)}"
    page.set_viewport_size({"width": 360, "height": 900})  # where it does not jump
    page.keyboard.press("ArrowLeft")
    heights = set()
    for _ in drawing.says:
        heights.add(round(page.locator("svg:visible").bounding_box()["height"]))
        forth.click(force=True)
    assert len(heights) == 1
    page.emulate_media(media="print")
    assert page.locator(".drawing-frames p:visible").count() == len(drawing.says)
    expect(forth).to_be_hidden()


def test_without_javascript_all_frames_are_there(open_page, tmp_path):
    address = page_of(tmp_path / "drawings.html", *STEPPERS)
    still, _ = open_page(address, java_script_enabled=False)
    frames = still.locator(".drawing-frames p:visible").count()
    assert frames == sum(len(drawing.says) for drawing in STEPPERS)


def test_forced_colours_leave_every_word_legible(all_drawings):
    """No word has the colour of the shape that it stands on."""
    page = all_drawings(1280)
    page.emulate_media(forced_colors="active")
    hidden = page.evaluate(
        """() => [...document.querySelectorAll("text.d-on")].filter((text) =>
            getComputedStyle(text).fill === getComputedStyle(text.previousElementSibling).fill
        ).map((text) => [text.closest("div").id, text.textContent])"""
    )
    page.emulate_media(forced_colors="none")
    assert hidden == []
