"""Pages on paper, looked at as printed: what a style sheet says of print shows only there."""

import pytest
from playwright.sync_api import expect

from attnbook import translators
from attnkit.viz import AttentionExplorer
from booktools import maths
from tests.browser.explorer_page import WORDS, settle, vectors, wait_for_theme
from tests.browser.paper import coloured, dark, printed, words
from tests.browser.translator_page import by_directive

pytestmark = pytest.mark.browser


def explorers() -> list[AttentionExplorer]:
    query, key = vectors(4, 12, 16), vectors(4, 12, 16, seed=1)
    one = AttentionExplorer(query, key, tokens=WORDS, mask="causal", title="One head")
    return [one, AttentionExplorer(query, key, tokens=WORDS, head="all", title="All heads")]


def test_explorers_print_as_they_are_and_a_dark_page_as_a_light_one(show):
    """Their cells, the frame around the one in hand, and not what was saved for paper besides."""
    page, root, _ = show(*explorers())
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
    assert coloured(night) == pytest.approx(coloured(light), rel=0.02)
    assert dark(night) == pytest.approx(dark(light), rel=0.02)
    for medium in ("print", "screen"):
        page.emulate_media(media=medium)
        wait_for_theme(page, dark=medium == "screen")
        back = root.evaluate("e => getComputedStyle(e).backgroundColor")
        assert (back == "rgb(255, 255, 255)") == (medium == "print")
        assert page.locator(".attnkit-view img:visible").count() == 0
        expect(root.root).to_be_visible()


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
    said = words(page)
    folds = page.locator("main details > summary").all_inner_texts()
    answers = [fold for fold in folds if fold.startswith(("Solution", "Hint"))]
    text = page.locator("main details:not(.hide, .attnkit-view *) > summary").all_inner_texts()
    code = page.locator("main details.hide > summary").all_inner_texts()
    assert answers
    assert len(text) > len(answers)
    assert code
    flat = " ".join(said.split())
    assert [fold for fold in [*answers, *code] if fold.strip() in flat] == []
    assert [fold for fold in set(text) - set(answers) if " ".join(fold.split()) not in flat] == []
    opened = page.locator("main details > summary", has_text=answers[-1])
    opened.evaluate("summary => { summary.parentElement.open = true; }")
    assert answers[-1] in words(page)
