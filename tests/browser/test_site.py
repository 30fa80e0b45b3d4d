"""The pages of the built book, in Chromium, with the network cut.

A page is opened on a first visit and from a file. The tests that take `visit` share the first of
these; each sets theme, width and medium for itself. Where pages are of one kind, some stand for the
others, which `make test-all` opens too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

import matplotlib
import pytest
from playwright.sync_api import Page, TimeoutError, expect

from booktools import form, weigh
from booktools.address import ROOT
from booktools.gates import chapters
from tests.book.test_pages import PAGES
from tests.browser.conftest import Record, opened
from tests.browser.explorer_page import (
    axe_violations,
    load_axe,
    settle,
    start_widgets,
    wait_until_started,
)

pytestmark = pytest.mark.browser


def weekly(pages: list[str], *, but: tuple[str, ...]) -> list:
    """These pages as parameters, `slow` all `but` those that stand for the others."""
    return [page if page in but else pytest.param(page, marks=pytest.mark.slow) for page in pages]


# One template makes the reference from docstrings: its index and the page of masks have all it has.
REFERENCE = [page for page in PAGES if page.startswith("appendices/api/")]
# These are prose alone, as others are that have formulas, tables, outputs or a form besides.
PROSE = [f"appendices/{name}.html" for name in (
    "bibliography", "changes", "exercises", "glossary", "how_numbers_are_made", "install",
    "widgets_elsewhere")]  # fmt: skip
# Chapters are in one form. These three have an explorer, machines and every kind of output; the
# exercises of one have all that those of others have.
CHAPTERS = [page for page in PAGES if page.startswith("chapters/")]
THREE = [page for page in CHAPTERS if page[9:12] in ("05b", "10_", "12_")]
EXERCISES = [page for page in PAGES if page.startswith("appendices/exercises/")]
KINDS = (*REFERENCE, *PROSE, *CHAPTERS, *EXERCISES)
STAND_FOR_OTHERS = ("appendices/api/index.html", "appendices/api/masks.html", EXERCISES[4], *THREE)
EACH = [page for page in PAGES if page not in KINDS] + weekly([*KINDS], but=STAND_FOR_OTHERS)
FROM_A_FILE = ("index.html", "translate.html", "chapters/05_scaled_dot_product_attention.html",
               "search.html", "chapters/12_the_cost_of_attention.html")  # fmt: skip


class Visit(NamedTuple):
    """An open page, its name, and what a first visit asked for, said and weighed."""

    name: str
    page: Page
    loaded: Record
    parts: list[weigh.Part]

    def look(self, *, theme: str = "light", width: int = 1280, media: str = "screen") -> Page:
        """The page as it is in this theme, at this width, on this medium."""
        self.page.emulate_media(color_scheme=theme, media=media)
        self.page.set_viewport_size({"width": width, "height": 900})
        settle(self.page)
        return self.page


@pytest.fixture(scope="module", params=[*EACH, "404.html"])
def visit(request, browser, site_url) -> Iterator[Visit]:
    """A page of the book, open for every test that looks at it."""
    with opened(browser, site_url + request.param, color_scheme="light") as (page, record):
        page.wait_for_load_state("networkidle")
        parts = weigh.parts_of(record.answers[:])
        start_widgets(page)
        wait_until_started(page)
        loaded = Record(record.requests[:], record.missing[:], record.console[:])
        yield Visit(request.param, page, loaded, parts)


def test_page_is_sound(visit):
    """No other host, nothing missing, and a silent console."""
    assert visit.loaded.other_hosts() == visit.loaded.missing == visit.loaded.console == []


def test_a_first_visit_is_light(visit):
    first, later = weigh.bytes_of(visit.parts)
    heaviest = [f"{part.sent} {part.address}" for part in visit.parts[:4]]
    assert 0 < first <= weigh.limit(visit.name), (first, heaviest)
    assert later <= weigh.LATER_LIMIT, heaviest


CARRIED = """[...document.querySelectorAll('script[data-widget]')].map(s => s.dataset.widget)
    .filter(name => name.includes('.')).sort()"""
"""The widgets whose modules the page brought, apart from the kits that they begin with."""

SHOWN = """() => {
    const type = "application/vnd.jupyter.widget-";
    const read = (kind) => [...document.querySelectorAll(`script[type="${type}${kind}+json"]`)]
        .map((tag) => JSON.parse(tag.textContent));
    const state = Object.assign({}, ...read("state").map((all) => all.state));
    const ids = read("view")
        .map(({ model_id: id, state: own }) => (own ?? state[id]).state._anywidget_id);
    return [...new Set(ids.filter((id) => id?.startsWith("attn")))].sort();
}"""
"""The widgets of ours that the page has a view of."""


def test_a_page_loads_no_script_twice_and_none_of_the_heavy_ones(visit):
    addresses = [part.address for part in visit.parts]
    assert [a for a in addresses if "mathjax" in a or "fontawesome" in a] == []
    scripts = [a for a in addresses if a.endswith(".js")]
    assert len(scripts) == len(set(scripts))
    assert visit.page.evaluate(CARRIED) == visit.page.evaluate(SHOWN)
    assert sum("attnkit-host" in a for a in scripts) == (visit.page.evaluate(SHOWN) != [])


IN_FOLDS_TOO = """async () => {
    const shut = [...document.querySelectorAll("main details:not([open])")];
    const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    for (const fold of shut) fold.open = true;
    await frame();
    const boxes = document.querySelectorAll(
        'mjx-container[display="true"], main pre, .cell_output:has(> img)');
    const seen = [...boxes].map((box) => [
        box.scrollWidth > box.clientWidth ||
            (box.matches("pre") && box.scrollHeight > box.clientHeight),
        box.tabIndex === 0]);
    for (const fold of shut) fold.open = false;
    await frame();
    return seen;
}"""


def test_what_is_wide_is_reached_by_keyboard(visit):
    """On a phone long code, formulas and plots scroll in their own boxes, which take the focus."""
    boxes = visit.look(width=360).evaluate(IN_FOLDS_TOO)
    assert [wide for wide, _ in boxes] == [focus for _, focus in boxes]


def test_nothing_scrolls_sideways_on_a_phone(visit):
    page = visit.look(width=360)
    with contextlib.suppress(TimeoutError):  # the theme folds its side bars in a moment later
        page.wait_for_function("document.scrollingElement.scrollWidth <= 360", timeout=3000)
    wide = page.evaluate(
        """() => [...document.querySelectorAll('main *')]
            .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
            .filter(e => !e.closest('pre, .output, .math, table, [tabindex]'))
            .map(e => e.outerHTML.slice(0, 120))"""
    )
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 360, wide


SQUASHED = """() => [...document.querySelectorAll(".bd-article img[width][height]")]
    .filter((image) => image.clientWidth > 0)
    .map((image) => [image.clientWidth / image.clientHeight
        * image.getAttribute("height") / image.getAttribute("width"), image.src])
    .filter(([stretched]) => Math.abs(stretched - 1) > 0.03)"""


PLOTS = """() => [...document.querySelectorAll(".cell_output > img[width]")]
    .filter((image) => image.clientWidth > 0)
    .map((image) => {
        const own = image.getBoundingClientRect(), box = image.parentElement;
        const place = box.getBoundingClientRect();
        return [image.clientWidth, Number(image.getAttribute("width")), box.clientWidth,
            own.left - place.left - (place.right - own.right)];
    })"""


def test_a_plot_fits_a_phone_or_a_wide_page_and_no_picture_is_squashed(visit):
    """The usual letters keep 8.5 pixels on a phone, where a plot may scroll, and are no larger than
    the text on a wide page, where it stands in the middle."""
    file = ROOT / "attnbook" / "style.mplstyle"
    style = matplotlib.rc_params_from_file(file, use_default_template=False)
    letters = style["font.size"] * style["figure.dpi"] / 72
    page = visit.look(width=360)
    assert page.evaluate(SQUASHED) == []
    for shown, drawn, room, _ in page.evaluate(PLOTS):
        assert shown >= 8.5 / letters * drawn
        if 0.44 * drawn <= room:
            assert shown <= room
    page = visit.look(width=1280)
    text = page.evaluate("parseFloat(getComputedStyle(document.querySelector('main p')).fontSize)")
    for shown, drawn, room, left_of_middle in page.evaluate(PLOTS):
        assert shown * letters / drawn <= text + 0.1
        assert shown <= room
        assert abs(left_of_middle) <= 2


def test_is_readable_on_paper(visit):
    """On A4 nothing is cut off at the right, and what only a screen needs is gone."""
    page = visit.look(width=718, media="print")
    cut = page.evaluate(
        """() => [...document.querySelectorAll('main pre, main img, main table, main canvas')]
            .filter(e => e.getBoundingClientRect().right > innerWidth + 1
                      || e.scrollWidth > e.clientWidth + 1)
            .map(e => e.outerHTML.slice(0, 160))"""
    )
    assert cut == []
    # Code and answers are there if the reader opened them; a widget shows what it has.
    folded = page.locator(
        "main details:not(.hide, [data-answer], .attnkit-view *) > *:not(summary)"
    )
    hidden = folded.evaluate_all(
        "all => all.filter(e => e.parentElement.checkVisibility()"
        " && !e.checkVisibility({contentVisibilityAuto: true}))"
        ".map(e => e.outerHTML.slice(0, 160))"
    )
    assert hidden == []
    for selector in (".bd-sidebar-primary", ".article-header-buttons", "button.copybtn"):
        assert page.locator(f"{selector}:visible").count() == 0, selector


def test_page_has_copy_buttons(visit):
    page = visit.look()
    code = page.locator("div.highlight pre").count()
    assert page.locator("button.copybtn").count() == code
    assert code > 0 or not visit.name.startswith("chapters/")


# Axe takes most of its time over the contrast of thousands of words. That of a word follows from
# its own colour and size and from the grounds behind it, so three of each kind stand for the rest,
# in each theme. What is placed over other elements may have any ground, and axe sees all of it.
THREE_OF_A_KIND = """() => {
    const known = new Map(), count = new Map();
    const ground = (element) => {
        if (!element) return "";
        if (!known.has(element)) {
            const style = getComputedStyle(element), own = [];
            if (style.backgroundColor !== "rgba(0, 0, 0, 0)") own.push(style.backgroundColor);
            if (style.backgroundImage !== "none") own.push(style.backgroundImage);
            if (style.opacity !== "1") own.push(style.opacity);
            if (style.filter !== "none") own.push(style.filter);
            if (["absolute", "fixed"].includes(style.position)) own.push(known.size);
            known.set(element, `${ground(element.parentElement)} ${own.join(" ")}`.trim());
        }
        return known.get(element);
    };
    for (const element of document.body.querySelectorAll("*")) {
        const control = element.matches("input, select, textarea, button");
        const words = [...element.childNodes].some(
            (node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
        if (!(control || words) || !element.checkVisibility({ visibilityProperty: true })) continue;
        const style = getComputedStyle(element);
        const kind = [style.color, style.fontSize, style.fontWeight, style.textShadow,
            ground(element)].join();
        count.set(kind, (count.get(kind) ?? 0) + 1);
        if (control || count.get(kind) <= 3) element.dataset.ofAKind = "";
    }
    return document.querySelectorAll("[data-of-a-kind]").length;
}"""


# The rest of its time goes to walking through the page, and nine elements of ten are the letters of
# a formula, the shapes of a drawing or an icon, or the coloured words of code, in a box that has
# the role and the name of the whole.
WITHOUT_INSIDES = """() => {
    for (const formula of document.querySelectorAll("mjx-container")) formula.replaceChildren();
    for (const inside of document.querySelectorAll("svg[role=img] > :not(title, desc)")) {
        inside.remove();
    }
    for (const inside of document.querySelectorAll("button svg > :not(title, desc)")) {
        inside.remove();
    }
    for (const word of [...document.querySelectorAll("pre span, dt.sig span, dt.sig em")]) {
        const kept = word.matches("[data-of-a-kind]") || word.querySelector("[data-of-a-kind]");
        if (!kept) word.replaceWith(...word.childNodes);
    }
    for (const code of document.querySelectorAll("pre, dt.sig")) code.normalize();
}"""

CONTRAST_OF_THESE = """axe.configure(
    { rules: [{ id: "color-contrast", selector: "[data-of-a-kind]" }] })"""

EVERY_WIDE_BOX_TAKES_THE_FOCUS = """() => [
    ...document.querySelectorAll('main pre, mjx-container[display="true"]')].every(
    (box) => !box.checkVisibility() || box.scrollWidth <= box.clientWidth || box.tabIndex === 0)"""


def test_page_is_accessible(visit):
    """No axe violation, in light. Colours are all that the dark theme changes, so contrast is all
    that it can spoil. It spoils the page for other tests, so it comes last of those that visit."""
    page = visit.look()
    # The page learns which boxes scroll once they are laid out, in a closed fold when it opens.
    page.wait_for_function(EVERY_WIDE_BOX_TAKES_THE_FOCUS)
    for theme in ("light", "dark"):
        in_theme(visit, theme)
        assert page.evaluate(THREE_OF_A_KIND) > 10
    page.evaluate(WITHOUT_INSIDES)
    load_axe(page)
    page.evaluate(CONTRAST_OF_THESE)
    assert axe_violations(page, rules=("color-contrast",)) == []
    assert axe_violations(in_theme(visit, "light")) == []


def in_theme(visit: Visit, theme: str) -> Page:
    """The page in this theme, once the search button has faded from one colour to the other."""
    page = visit.look(theme=theme)
    page.wait_for_function("(it) => document.documentElement.dataset.theme === it", arg=theme)
    page.evaluate("Promise.all(document.getAnimations().map((fade) => fade.finished))")
    return page


@pytest.mark.parametrize("name", weekly(PAGES, but=FROM_A_FILE))
def test_works_from_a_file(open_page, site_dir, name):
    page, record = open_page((site_dir / name).as_uri())
    assert record.other_hosts() == record.missing == record.console == []
    expect(page.locator("#main-content h1:visible").first).to_be_visible()


SMALL = """() => [...document.querySelectorAll(
        "main :is(button, select, summary, input:not([type=checkbox]))")]
    .filter((hand) => hand.checkVisibility() && !hand.closest("svg"))
    .filter((hand) => {
        const { width, height } = hand.getBoundingClientRect();
        return Math.min(width, height) < 44;
    })
    .map((hand) => hand.outerHTML.slice(0, 100))"""


@pytest.mark.parametrize("name", THREE)
def test_a_finger_can_press_everything(open_page, site_url, name):
    page, _ = open_page(site_url + name, width=360, has_touch=True, is_mobile=True)
    wait_until_started(page)
    assert page.evaluate(SMALL) == []


def test_the_theme_button_is_remembered_beside_one_search_field(open_page, site_url):
    page, _ = open_page(site_url + "index.html")
    fields = page.locator("input[type=search], .search-button-field").all()
    assert sum(element.is_visible() for element in fields) == 1
    button = page.locator("button.theme-switch-button:visible").first
    seen = set()
    for _ in range(3):
        button.click()
        seen.add(page.evaluate("document.documentElement.dataset.mode"))
    assert seen == {"auto", "light", "dark"}
    page.evaluate("localStorage.setItem('mode', 'dark'); localStorage.setItem('theme', 'dark')")
    page.reload()
    assert page.locator("html").get_attribute("data-theme") == "dark"


def test_an_address_that_leads_nowhere_gets_the_books_own_page(open_page, site_url):
    """Also from a folder below: its links and styles are absolute."""
    page, record = open_page(site_url + "no/such/page.html")
    assert page.locator(".bd-article h1").inner_text().startswith("Page not found")
    assert record.missing == [site_url + "no/such/page.html"]
    assert page.locator("nav a[href='/appendices/how_numbers_are_made.html']").count() >= 1


# What readers type into the search, and the page that teaches it.
FIRST = {
    **dict.fromkeys(["GQA", "MQA", "nn.MultiheadAttention"], "08_multi_head_attention"),
    **dict.fromkeys(["FlashAttention", "flash attention"], "12_the_cost_of_attention"),
    **dict.fromkeys(["self-attention", "self attention"], "05b_self_attention"),
    **dict.fromkeys(["cross attention", "attention is all you need"], "09_the_transformer"),
    **dict.fromkeys(["padding mask", "causal mask"], "06_masks"),
    **dict.fromkeys(["KV cache", "speculative decoding"], "13_decoding_fast"),
    **dict.fromkeys(["install", "how to install"], "install"),
    "RoPE": "07b_how_far_can_positions_count",
}


def test_a_query_finds_its_page_first_and_a_result_is_shown(open_page, site_url, site_dir):
    """Sphinx's own scoring, run in the page on each query."""
    for url in (site_url + "search.html", (site_dir / "search.html").as_uri()):
        page, _ = open_page(url + "?q=numbers")
        result = page.locator("#search-results li a", has_text="How each number was made")
        result.first.wait_for()
    found = page.evaluate(
        """queries => queries.map(query => {
            const results = Search._performSearch(...Search._parseQuery(query));
            return results.at(-1)?.[0] ?? "nothing";
        })""",
        list(FIRST),
    )
    pages = [name.rpartition("/")[2] for name in found]
    assert dict(zip(FIRST, pages, strict=True)) == FIRST


def test_the_icons_are_drawn(open_page, site_dir):
    """Every icon of the page has its own shape in the small font; also from a file."""
    page, _ = open_page((site_dir / "chapters/05_scaled_dot_product_attention.html").as_uri())
    loaded = "document.fonts.ready.then((all) => [...all].some((f) => f.status === 'loaded'))"
    assert page.evaluate(loaded)
    shapes = page.locator("i[class*='fa-']").evaluate_all(
        "all => all.map((icon) => getComputedStyle(icon, '::before').content)"
    )
    assert {shape[0] for shape in shapes} == {'"'}  # not none
    assert '""' not in shapes


def test_formulas_stand_there_without_javascript(open_page, site_url):
    page, _ = open_page(site_url + "appendices/notation.html", java_script_enabled=False)
    expect(page.locator("#main-content h1:visible").first).to_be_visible()
    formulas = page.locator("mjx-container > svg")
    assert formulas.count() > 40
    box = formulas.first.bounding_box()
    assert min(box["width"], box["height"]) > 8
    heard = page.locator("mjx-container mjx-assistive-mml").first.bounding_box()
    assert (heard["width"], heard["height"]) == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["index", "chapters/05_scaled_dot_product_attention"])
def test_a_page_blocks_the_reader_for_less_than_a_blink(browser, site_url, name):
    """Of the page's own time; the least of three, since caches of the processor are shared."""
    least = min(weigh.times(browser, f"{site_url}{name}.html").blocking for _ in range(3))
    assert least <= weigh.BLOCKING_LIMIT


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_page_has_its_theme_before_its_first_line(browser, site_url, theme):
    """Else the whole page is styled again when it has been read."""
    context = browser.new_context(color_scheme=theme)
    page = context.new_page()
    page.add_init_script(
        """new MutationObserver((_, watcher) => {
            if (!document.body) return;
            window.early = document.documentElement.dataset.theme;
            watcher.disconnect();
        }).observe(document, { childList: true, subtree: true });"""
    )
    page.goto(site_url + "index.html", wait_until="load")
    assert page.evaluate("[window.early, document.documentElement.dataset.theme]") == [theme] * 2
    context.close()


@pytest.mark.parametrize("name", [path.stem for path in chapters() if form.stated(path)])
def test_a_page_fills_ten_screens_at_most(name, open_page, site_url):
    page, _ = open_page(f"{site_url}chapters/{name}.html")
    # Until it is drawn a widget is kept a place, which may be another size than its own.
    wait_until_started(page)
    height = page.evaluate("document.querySelector('article').scrollHeight")
    assert height <= form.SCREENS * 900


MARKED = """<link rel="stylesheet" href="{css}"><article class="bd-article">
<div class="cell container tag_figure"><details class="admonition hide figure-mark">
<summary><p class="admonition-title">code and data</p></summary><pre>a = 1</pre></details>
<div class="cell_output"><div style="height: 200px"></div></div></div></article>"""


def test_a_figures_mark_takes_no_room_between_the_text_and_the_figure(open_page, tmp_path):
    (tmp_path / "page.html").write_text(MARKED.format(css=(ROOT / "_static/book.css").as_uri()))
    page, _ = open_page((tmp_path / "page.html").as_uri(), start=False)
    parts = ("div.cell", ".cell_output", "summary")
    cell, figure, mark = (page.locator(part).bounding_box() for part in parts)
    assert figure["y"] - cell["y"] < 2
    assert mark["y"] >= figure["y"] + figure["height"] - 1
    page.locator("summary").click()
    expect(page.locator("pre")).to_be_visible()
    code, figure = (page.locator(part).bounding_box() for part in ("pre", ".cell_output"))
    assert code["y"] < figure["y"]
