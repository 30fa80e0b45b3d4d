"""Pages on paper, looked at as printed: what a style sheet says of print shows only there."""

import pytest
from playwright.sync_api import expect

from attnbook import translators
from booktools import maths
from booktools.sphinx_ext import PRINT_LIGHT
from tests.browser.explorer_page import an_explorer, settle, wait_for_theme
from tests.browser.paper import coloured, dark, printed, words
from tests.browser.translator_page import by_directive

pytestmark = pytest.mark.browser


def test_explorers_print_as_they_are_and_a_dark_page_as_a_light_one(show):
    """Their cells, the frame around the one in hand, and not what was saved for paper besides."""
    page, root, _ = show(an_explorer(4, mask="causal"), an_explorer(4, head="all"))
    settle(page)
    look = "root => [...root.querySelectorAll('canvas')].map((canvas) => canvas.toDataURL())"
    before = root.evaluate(look)
    light = printed(page)
    settle(page)
    assert root.evaluate(look) == before  # it is itself again
    hidden = [page.add_style_tag(content=".explorer-cursor{visibility:hidden}")]
    frameless = coloured(printed(page))
    assert coloured(light) > frameless + 500
    hidden.append(page.add_style_tag(content=".explorer-map{visibility:hidden}"))
    assert frameless > 3 * coloured(printed(page))
    for style in hidden:
        style.evaluate("style => style.remove()")
    page.emulate_media(color_scheme="dark")
    wait_for_theme(page, dark=True)
    settle(page)
    night = printed(page)
    for ink in (coloured, dark):
        assert ink(night) == pytest.approx(ink(light), rel=0.02)
    page.emulate_media(media="print")
    wait_for_theme(page, dark=False)
    assert root.evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator(".attnkit-view img:visible").count() == 0


def test_formulas_are_as_thick_as_on_the_screen(open_page):
    """The screen needs a hair more of them than a printer, which makes a line of any hair."""
    page, _ = open_page("about:blank")
    formula = maths.formula(r"\frac{1}{\sqrt{d}} \sum_i q_i k_i", display=True)
    page.set_content(f"<style>{maths.style()}</style>{formula * 8}")
    as_it_is = dark(printed(page))
    page.add_style_tag(content="mjx-container *{stroke:none!important}")
    assert as_it_is == dark(printed(page))


@pytest.mark.parametrize("started", [True, False], ids=["started", "not started"])
def test_a_translator_without_its_model_prints_its_picture(open_page, tmp_path, started):
    asked = translators.real_translator(title="Translate a sentence")
    page, _ = open_page(by_directive(tmp_path, asked, scripts=started), start=started)
    if started:
        page.locator(".machine-translator[data-asking]").wait_for()
    expect(page.locator(".attnkit-view img")).to_be_hidden()
    with_it = printed(page)
    assert "button" not in words(page)
    page.add_style_tag(content=".attnkit-view img{visibility:hidden}")
    assert coloured(with_it) > coloured(printed(page)) + 5_000


@pytest.mark.build
def test_folds_on_paper(open_page, site_url):
    """Text is open; code, hints and solutions are there if the reader opened them."""
    page, _ = open_page(site_url + "chapters/12_the_cost_of_attention.html", start=False)
    said = " ".join(words(page).split())
    folds = page.locator("main details > summary").all_inner_texts()
    answers = [fold for fold in folds if fold.startswith(("Solution", "Hint"))]
    text = page.locator("main details:not(.hide, .attnkit-view *) > summary").all_inner_texts()
    code = page.locator("main details.hide > summary").all_inner_texts()
    assert answers
    assert code
    assert set(text) > set(answers)
    assert [fold for fold in [*answers, *code] if fold.strip() in said] == []
    assert [fold for fold in set(text) - set(answers) if " ".join(fold.split()) not in said] == []
    opened = page.locator("main details > summary", has_text=answers[-1])
    opened.evaluate("summary => { summary.parentElement.open = true; }")
    assert answers[-1] in words(page)


def test_a_dark_page_is_light_on_paper_and_dark_again(open_page):
    page, _ = open_page("about:blank")
    page.set_content('<html data-theme="dark"><body>words</body></html>')
    page.add_script_tag(content=PRINT_LIGHT.read_text("utf-8"))
    theme = "document.documentElement.dataset.theme"
    for medium, worn in (("print", "light"), ("screen", "dark"), ("print", "light")):
        page.emulate_media(media=medium)
        page.wait_for_function(f"{theme} === '{worn}'")
