"""The widgets in Firefox: each is drawn, says what it says in Chromium, and has our controls."""

from __future__ import annotations

import json
import os

import pytest

from booktools import firefox
from booktools.address import ROOT
from booktools.widget_page import START
from tests.browser.test_machines import alike

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PAGES = ["index"] + sorted(
    path.relative_to(ROOT).with_suffix("").as_posix()
    for path in ROOT.glob("chapters/*.ipynb")
    if "widget-view+json" in path.read_text("utf-8")
)
READY = """(() => {
    const roots = [...document.querySelectorAll('.machine')];
    const views = document.querySelectorAll('script[type$="widget-view+json"]').length;
    const without = document.querySelectorAll('.attnkit-no-kernel').length;
    return roots.length > 0 && roots.length === views - without &&
        roots.every((root) => root.snapshot);
})()"""
# A translator loads its weights when it is seen, or when it is asked to; until then it says null.
SNAPSHOTS = """(async () => {
    const said = [];
    for (const root of document.querySelectorAll('.machine')) {
        const button = root.querySelector('.translator-load');
        const waits = button !== null && button.checkVisibility();
        root.scrollIntoView();
        let snapshot = await root.snapshot();
        for (let turn = 0; turn < 100 && snapshot === null && !waits; turn += 1) {
            await new Promise((done) => setTimeout(done, 100));
            snapshot = await root.snapshot();
        }
        said.push(snapshot);
    }
    return said;
})()"""


@pytest.fixture(scope="module")
def fox(tmp_path_factory):
    """A page of Firefox; without one the test is skipped, in CI it fails."""
    pytest.importorskip("websocket")
    if firefox.find() is None:
        message = "no Firefox found; install it (apt install firefox-esr) or name it in $FIREFOX"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    with firefox.opened(tmp_path_factory.mktemp("firefox")) as page:
        yield page


def visit(fox, url: str) -> None:
    fox.open(url)
    fox.evaluate(f"({START})()")
    fox.wait_for(READY)


@pytest.mark.parametrize("name", PAGES)
def test_every_widget_is_drawn_and_says_what_it_says_in_chromium(fox, open_page, site_url, name):
    """No canvas is empty: some of its pixels are neither the first one's colour nor clear."""
    visit(fox, f"{site_url}{name}.html")
    page, _ = open_page(f"{site_url}{name}.html")
    page.wait_for_function(READY)
    here, there = fox.evaluate(SNAPSHOTS), json.loads(json.dumps(page.evaluate(SNAPSHOTS)))
    assert len(here) > 0
    alike(here, there)  # the two engines round exp and tanh alone
    fox.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    empty = fox.evaluate(
        """[...document.querySelectorAll(
            '.explorer-map, .machine svg')].filter((part) => {
            const load = part.closest('.machine-translator')?.querySelector('.translator-load');
            if (load?.checkVisibility()) return false; // it waits to be asked for its weights
            if (part.tagName !== 'CANVAS') return part.childElementCount === 0;
            const { data } = part.getContext('2d').getImageData(0, 0, part.width, part.height);
            const pixels = new Set(new Uint32Array(data.buffer));
            return pixels.size < 10;
        }).map((part) => part.className.baseVal ?? part.className)"""
    )
    assert empty == []


def test_a_slider_has_our_colour_and_moves_by_keys(fox, site_url):
    """Sliders and boxes are drawn with the control's colour, not Firefox's blue."""
    visit(fox, site_url + "chapters/05b_self_attention.html")
    slider = "document.querySelector('.attnkit-explorer input[type=range]')"
    assert fox.evaluate(f"getComputedStyle({slider}).accentColor") == "rgb(23, 107, 135)"
    temperature = "document.querySelector('.attnkit-explorer').snapshot().temperature"
    assert fox.evaluate(temperature) == 1
    fox.evaluate(f"{slider}.focus()")
    fox.press("\ue012", "\ue012")  # the left arrow, twice: a tenth of a power of ten
    fox.wait_for(f"{temperature} === 0.794")
