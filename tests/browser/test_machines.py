"""Every machine in Chromium: Python's numbers, for everyone, in every place.

A machine is tested by being there: beside its module `attnbook.machines.NAME` a test module
`tests.attnbook.machines.test_NAME` has `make(**settings)`, with an argument `text` that the machine
shows as a name of its own if it has names, and `SETTINGS`, a list of settings to try.
"""

import importlib
import inspect
import io
import json
import re
from typing import NamedTuple
from urllib.parse import quote, unquote
from xml.etree import ElementTree

import pytest
from PIL import Image, ImageChops, ImageStat
from traitlets import TraitError

from attnbook import translators
from attnbook.machines import MACHINES, HeadBench, LiveTranslator
from attnbook.machines.base import Machine
from attnbook.pages.sphinx_ext import _leads_somewhere
from attnkit.viz.widget import KITS, source
from booktools.widget_page import state_of, write_page
from tests.browser.conftest import Record, opened, serving
from tests.browser.explorer_page import (
    AS_TEXT,
    ATTACK,
    THEMES_AND_WIDTHS,
    Widget,
    an_explorer,
    axe_violations,
    complaints,
    follow,
    from_text,
    render_and_close,
    settle,
    shown_now,
    start_widgets,
    wait_for_theme,
    wait_for_widgets,
)

pytestmark = pytest.mark.browser

EVERY_ATTACK = f"{ATTACK}<b></script>$x$ &lt; 100% #1; a:b <!--<script>"


def case_of(machine: type[Machine]):
    name = machine.__module__.split(".")[-1]
    return importlib.import_module(f"tests.attnbook.machines.test_{name}")


CASES = {name: case_of(kind) for name, kind in MACHINES.items() if issubclass(kind, Machine)}
# What all machines have from their kit is tried weekly with each, and daily with these, which have
# settings of every kind: numbers, whole and not, choices, switches, lists, words, and a text.
SIX = ("CollapseMachine", "DecodeRace", "MaskPainter", "OnlineTiles", "Question", "WhichSentences")


def of_machines(names) -> pytest.MarkDecorator:
    daily = [name if name in SIX else pytest.param(name, marks=pytest.mark.slow) for name in names]
    return pytest.mark.parametrize("open_machine", daily, indirect=True)


of_the_kit = of_machines(CASES)
TOOLS = [name for name in CASES if name != "Question"]  # a link to it, its picture
with_tools = of_machines(TOOLS)


def anchor_of(name: str) -> str:
    return re.sub(r"\B([A-Z])", r"-\1", name).lower()


def address_of(anchor: str, settings: dict) -> str:
    values = {key: re.sub("[%;]", lambda m: quote(m[0]), json.dumps(value))
              for key, value in settings.items()}  # fmt: skip
    return f"{anchor}={quote(';'.join(f'{key}:{value}' for key, value in values.items()))}"


def alike(shown, expected, where: str = "") -> None:
    """Assert that numbers of two snapshots differ by 1e-6 at most, and nothing else does."""
    if isinstance(expected, dict):
        assert shown.keys() == expected.keys(), where
        for key, value in expected.items():
            alike(shown[key], value, f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(shown) == len(expected), where
        for at, value in enumerate(expected):
            alike(shown[at], value, f"{where}[{at}]")
    elif isinstance(expected, float) or isinstance(shown, float):
        # What `pytest.approx` says, which takes a second over the numbers of one machine.
        off = 0 if shown == expected else abs(shown - expected)
        assert off <= max(1e-6, 1e-6 * abs(expected)), (where, shown, expected)
    else:
        assert shown == expected, where


class Shown(NamedTuple):
    """A page with two views of one machine, and its tests' module."""

    name: str
    case: object
    page: object
    record: Record

    @property
    def anchor(self) -> str:
        return anchor_of(self.name)

    @property
    def root(self) -> Widget:
        return Widget(self.page.locator(".machine").first)

    def visit(self, settings: dict) -> None:
        follow(self.page, address_of(self.anchor, settings))

    @property
    def loaded(self) -> bool:
        return self.page.evaluate("Boolean(document.querySelector('.machine')?.snapshot)")

    def load(self) -> None:
        self.page.reload()
        start_widgets(self.page)
        wait_for_widgets(self.page, 2)


@pytest.fixture(scope="module", params=CASES)
def open_machine(request, browser, tmp_path_factory):
    """Each machine on a page that is served, opened once for the tests of this file."""
    case, folder = CASES[request.param], tmp_path_factory.mktemp(request.param)
    machine = case.make(caption="What it shows.")
    write_page(folder, machine, machine)
    with serving(folder) as url, opened(browser, f"{url}index.html") as (page, record):
        start_widgets(page)
        wait_for_widgets(page, 2)
        yield Shown(request.param, case, page, record)


@pytest.fixture
def shown(open_machine):
    """The same with both views as they open, without an address; and nothing may go wrong."""
    page = open_machine.page
    if open_machine.loaded:
        for number in (0, 1):
            view = page.locator(".machine").nth(number)
            view.get_by_role("button", name="Reset").click()
    page.evaluate("history.replaceState(null, '', location.pathname)")
    page.evaluate("localStorage.clear()")  # where a question keeps its answer
    if not open_machine.loaded:
        open_machine.load()
    yield open_machine
    assert open_machine.record.console == []
    assert open_machine.record.missing == []


FOLLOW_EACH = f"""async (addresses) => {{
    const views = [...document.querySelectorAll(".machine")], found = [];
    for (const address of addresses) {{
        const heard = new Promise((done) => addEventListener("hashchange", done, {{ once: true }}));
        location.hash = address;
        await heard;
        for (let n = 0; n < 3; n++) await new Promise(requestAnimationFrame);
        found.push(views.map((root) => [({AS_TEXT})(root.snapshot()), root.innerText,
            root.querySelector(".machine-live").textContent]));
    }}
    return found;
}}"""
"""What both views show at each address in turn."""


def test_an_address_brings_pythons_numbers_to_both_views(shown):
    alike(shown.root.snapshot(), shown.case.make().snapshot())
    addresses = [address_of(shown.anchor, settings) for settings in shown.case.SETTINGS]
    found = shown.page.evaluate(FOLLOW_EACH, addresses)
    for settings, (first, second) in zip(shown.case.SETTINGS, found, strict=True):
        alike(from_text(first[0]), shown.case.make(**settings).snapshot(), f"{settings}")
        assert first[-1]
        assert second[:2] == first[:2]
    ids = shown.page.locator("[id]").evaluate_all("all => all.map(e => e.id)")
    assert ids.count(shown.anchor) == 1


@with_tools
def test_the_page_gives_the_address_of_what_it_shows(shown):
    settings = shown.case.SETTINGS[-1]
    shown.visit(settings)
    shown.page.evaluate("history.replaceState(null, '', location.pathname)")
    shown.root.get_by_role("button", name="Copy link").click()
    shown.page.wait_for_function("document.querySelector('.machine-status').textContent")
    address = shown.page.url
    shown.load()
    alike(shown.root.snapshot(), shown.case.make(**settings).snapshot(), address)
    # The second view was made when the first had followed the address; it begins where that did.
    shown.page.locator(".machine").nth(1).get_by_role("button", name="Reset").click()
    shown.page.wait_for_function(f"location.hash === '#{shown.anchor}'")
    alike(shown.root.snapshot(), shown.case.make().snapshot())


@of_the_kit
def test_what_python_refuses_no_address_can_bring(shown):
    machine, before = shown.case.make(), shown.root.snapshot()
    wrong = {"nothing": 1, "__proto__": 1, "words": "a"}
    for setting, limits in machine._limits.items():
        most = max(limits(machine)) if limits else [1]
        wrong[setting] = most + 1 if isinstance(most, (int, float)) else [most]
        with pytest.raises(TraitError, match=setting):
            setattr(machine, setting, wrong[setting])
    settings = [{name: value} for name, wrongs in wrong.items() for value in (wrongs, None)]
    rests = ("-", "=", "=:", "=1", "=%E0%A4%A", "=step", "=;", "=step:1;;")
    addresses = [address_of(shown.anchor, each) for each in settings]
    found = shown.page.evaluate(FOLLOW_EACH, addresses + [shown.anchor + rest for rest in rests])
    assert [from_text(first[0]) for first, _ in found] == [before] * len(found)


def test_every_control_moves_by_keys_and_says_what_follows(shown):
    root, page, start = shown.root, shown.page, shown_now(shown.root)
    hands = root.locator(
        ":is(.machine-controls :is(input, select), [role=slider], .machine-buttons button):visible"
    )
    now = start
    for hand in hands.all():
        words, pressed, off = hand.evaluate(
            "e => [e.textContent, e.type === 'checkbox' || e.type === 'button', e.ariaDisabled]"
        )
        if words == "Reset" or off == "true":
            continue
        before = now
        hand.focus()
        # One of the arrows leads away from an end; a word loses its last letter.
        for key in ["Space"] if pressed else ["ArrowLeft", "ArrowRight", "ArrowDown", "Backspace"]:
            page.keyboard.press(key)
            if (now := shown_now(root)) != before:
                break
        said, focused, seen, markup = hand.evaluate(
            """e => [e.closest(".machine").querySelector(".machine-live").innerText,
                e === document.activeElement,
                getComputedStyle(e).outlineStyle + getComputedStyle(e).stroke, e.outerHTML]"""
        )
        assert now != before, markup
        assert said, markup
        assert focused, markup
        assert seen != "nonenone", markup
    root.get_by_role("button", name="Reset").press("Enter")
    assert shown_now(root) == start
    keyed = root.locator("a, button, canvas, input, select, summary, [tabindex]")
    kept = keyed.evaluate_all("all => all.map(e => e.dataset.lmSuppressShortcuts)")
    assert set(kept) == {"true"}


def saved(page, root, kind: str) -> bytes:
    with page.expect_download() as found:
        root.get_by_role("button", name=f"Save {kind}").click()
    with open(found.value.path(), "rb") as file:
        return file.read()


def silent(root) -> str:
    """A machine's markup without what it says of its reader's last deed."""
    markup = root.evaluate("e => e.outerHTML")
    return re.sub(r'(class="machine-(?:live|status)"[^>]*>)[^<]*', r"\1", markup)


def of_the_page(root) -> Image.Image:
    """How a machine looks on the page, without its controls' own shapes."""
    root.evaluate("e => e.classList.add('machine-still')")
    with Image.open(io.BytesIO(root.screenshot())) as image:
        seen = image.convert("L")
    root.evaluate("e => e.classList.remove('machine-still')")
    return seen


def unlike(drawn: Image.Image, seen: Image.Image) -> float:
    """The difference of two pictures as seen from afar: of 255 levels of grey, on average."""
    drawn = drawn.crop((0, 0, 2 * seen.width, 2 * seen.height))
    small = (seen.width // 10, seen.height // 10)
    pair = [one.resize(small, Image.Resampling.BOX) for one in (drawn, seen)]
    return ImageStat.Stat(ImageChops.difference(*pair)).mean[0]


@with_tools
def test_its_picture_has_its_words_its_caption_and_its_source(shown):
    page, root = shown.page, shown.root
    shown.visit(shown.case.SETTINGS[0])
    # The page writes an address its own way a moment after it was followed.
    page.wait_for_function("!location.hash.includes('%3A')")
    before = silent(root)
    text = saved(page, root, "SVG").decode()
    picture = ElementTree.fromstring(text)
    words = "".join(node.text or "" for node in picture.iter("{http://www.w3.org/2000/svg}text"))
    parts = root.locator(".machine-title, .machine-big, .machine-note").all_inner_texts()
    for part in (*parts, page.title(), page.url, "What it shows."):
        assert re.sub(r"\s", "", unquote(part)) in re.sub(r"\s", "", unquote(words))
    assert "foreignObject" not in text
    assert "NaN" not in text
    with Image.open(io.BytesIO(saved(page, root, "PNG"))) as image:
        assert image.size == (2 * int(picture.get("width")), 2 * int(picture.get("height")))
        drawn = image.convert("L")
    assert root.locator(".machine-status").inner_text() == "PNG saved."
    assert root.locator(".machine-live").inner_text() == "PNG saved."
    assert silent(root) == before
    assert unlike(drawn, of_the_page(root)) < 3


def test_text_is_text(show):
    named, machines = set(), []
    for name, case in CASES.items():
        texts = {}
        if "text" in inspect.signature(case.make).parameters:
            named.add(name)
            texts = {"text": EVERY_ATTACK}
        machines.append(case.make(**texts, title=EVERY_ATTACK, caption=EVERY_ATTACK))
    page, _, record = show(*machines)
    for number, (name, case) in enumerate(CASES.items()):
        root = page.locator(".machine").nth(number)
        follow(page, address_of(anchor_of(name), case.SETTINGS[0]))
        assert root.locator(".machine-title").text_content() == EVERY_ATTACK, name
        assert EVERY_ATTACK in root.locator(".machine-note").text_content(), name
        places = ":is(th, td, li span, text, button, option, .machine-say)"
        names = root.locator(places).all_text_contents()
        assert any(EVERY_ATTACK in text for text in names) or name not in named, name
        assert root.locator("img, b, script, iframe").count() == 0, name
        if name not in SIX or name not in TOOLS:
            continue
        texts = ElementTree.fromstring(saved(page, root, "SVG")).itertext()
        assert "".join(EVERY_ATTACK.split()) in "".join("".join(texts).split()), name
    assert not record.console
    assert not record.missing


def test_two_of_a_kind_have_names_of_their_own(show):
    case = CASES["DecodeRace"]
    page, first, _ = show(case.make(), case.make())
    second, before = first.other(1), first.snapshot()
    follow(page, address_of("decode-race-2", {"step": 9}))
    assert (first.snapshot(), second.snapshot()["step"]) == (before, 9)
    ids = [root.get_attribute("id") for root in (first, second)]
    assert ids == ["decode-race", "decode-race-2"]


def test_a_link_of_the_text_may_use_the_name_that_the_page_gives():
    state = state_of(CASES["DecodeRace"].make())
    for anchor in ("decode-race", "decode-race-2"):
        assert _leads_somewhere(state, anchor, "step:9")
    assert not _leads_somewhere(state, "decode-race", "2")
    assert not _leads_somewhere(state, "query-plane", "turned:true")


def test_a_guess_stays_counts_where_the_mark_stood_and_another_covers_the_answer(show):
    """A link leaves it, and without one none is told."""
    page, root, _ = show(CASES["PartGuess"].make())
    big, mark = root.locator(".machine-big"), root.control("Your guess")
    follow(page, address_of("part-guess", {"part": 1, "shown": True}))
    assert "You guessed" not in big.inner_text()
    mark.press("ArrowRight")
    guess = root.snapshot()["guess"]
    follow(page, address_of("part-guess", {"rate": 1, "shown": True}))
    now = root.snapshot()
    assert [now[name] for name in ("part", "rate", "guess")] == [0, 1, guess]
    assert f"You guessed {guess}%" in big.inner_text()
    root.press("Reset")
    guess = root.snapshot()["guess"]
    root.press("Show")
    assert f"You guessed {guess}%" in big.inner_text()
    mark.press("ArrowRight")
    assert root.locator(".guess-seed").count() == 0
    root.press("Show")
    root.locator(".guess-plot").click(position={"x": 200, "y": 40})
    assert root.locator(".guess-seed").count() == 0


def test_of_two_decoders_the_reader_guesses_what_can_change(show):
    """Covered, nothing is lit and a word written is marked by key or click; then it is judged."""
    page, root, _ = show(CASES["DecoderSteps"].make())
    follow(page, address_of("decoder-steps", {"what": "context", "step": 1, "shown": False}))
    assert root.locator(".decoder-touched").count() == 0
    written = root.locator(".decoder-written")
    for place in (0, 3):  # Bahdanau's words 1 and 4
        written.nth(place).press("Enter")
    written.nth(7).click()  # Luong's word 4, which cannot
    written.nth(3).click()
    assert root.snapshot()["marked"] == ["bahdanau 1", "luong 4"]
    root.press("Show")
    verdicts = root.locator(".decoder-verdict").all_text_contents()
    assert verdicts == ["✓", *["missed"] * 4, "", "", "✗"]
    root.control("Input feeding").click()  # another question
    assert root.snapshot()["marked"] == []


def test_the_bench_of_heads_has_no_verdict_while_only_a_sum_is_known(show):
    """Two large effects of one bar may cancel: no item's headline says what counts most."""
    page, root, _ = show(HeadBench.recorded(count=2, item=6))
    big, bars = root.locator(".machine-big"), root.locator(".bench-bars .bench-value")
    for count, said, bar in (
        (1, "One sentence, four explanations", 1),
        (2, "Not yet told apart: alive, the subject and farther away", 2),
        (4, "Not yet told apart: the subject and farther away", 3),
    ):
        for item in range(12):
            follow(page, address_of("head-bench", {"count": count, "item": item}))
            assert big.inner_text() == said
        assert bars.count() == bar
    for item, most in ((6, "being the subject, 0.34"), (1, "not being alive, 0.58")):
        follow(page, address_of("head-bench", {"count": 8, "item": item}))
        assert bars.count() == 4
        assert big.inner_text() == f"What counts most: {most}"


def test_a_setting_without_a_value_is_an_empty_text(show):
    page, root, _ = show(CASES["BreakIt"].make(first="kept", second="empty"))
    follow(page, "break-it=first:scale;second:")
    assert [root.snapshot()[name] for name in ("first", "second")] == ["scale", ""]


def test_a_model_in_words_names_what_it_has_not_understood(show):
    _, root, _ = show(CASES["KeptMachine"].make())
    unknown = "Not understood, so the cache is unknown: "
    for words, said in (
        ("layers=32 windw=1024 hello", f"32 full layers. {unknown}windw=1024, hello. Missing: "),
        ("layers=32 full=40", f"I read no layers. {unknown}full=40 (of 32 layers)."),
        ("layers=600", f"I read 512 full layers. {unknown}layers=600 (more than 512)."),
        ("layers=32 window=1024 kv_heads=8", "I read 32 window layers. "),
    ):
        root.control("Your model").fill(words)
        root.control("Your model").press("Tab")
        assert said in " ".join(root.locator(".machine-say").all_text_contents())


def test_a_link_that_is_followed_at_once_is_not_overwritten(show):
    """What is set is noted in the address a while later: not over where the reader has gone."""
    page, root, _ = show(CASES["DecodeRace"].make())
    for step in range(2, 8):
        root.control("Words").press("ArrowRight")
        page.wait_for_timeout(50 * step)  # about when the address is written
        follow(page, address_of("decode-race", {"step": step}))
        assert root.snapshot()["step"] == step
    root.control("Words").press("ArrowRight")
    follow(page, "elsewhere")
    page.wait_for_timeout(400)
    assert page.url.endswith("#elsewhere")


@pytest.fixture(scope="module")
def every():
    return [case.make() for case in CASES.values()]


def test_closing_a_view_lets_go_of_everything(open_page, every):
    translator = LiveTranslator(translators.toy_french(), embed=True)
    render_and_close(open_page, *every, an_explorer(), translator)


@pytest.fixture(scope="module")
def together(browser, tmp_path_factory, every):
    """A page with every machine, whose reader wants no motion, and its record; opened once."""
    path = write_page(tmp_path_factory.mktemp("all"), *every)
    with opened(browser, path.as_uri(), reduced_motion="reduce") as (page, record):
        start_widgets(page)
        wait_for_widgets(page, len(CASES))
        yield page, record


@pytest.fixture
def all_of_them(together):
    """`all_of_them(theme="light", width=1280)`: the page with every machine, so, and its record."""
    page, record = together

    def look(*, theme: str = "light", width: int = 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(media="screen", color_scheme=theme, forced_colors="none")
        wait_for_theme(page, dark=theme == "dark")
        settle(page)
        return page, record

    return look


@pytest.mark.parametrize(("theme", "width"), THEMES_AND_WIDTHS)
def test_no_axe_violation_and_no_sideways_scroll(all_of_them, theme, width):
    page, record = all_of_them(theme=theme, width=width)
    assert complaints(page, record, width) == []


def test_in_forced_colours_text_can_be_read_and_bars_are_seen(all_of_them):
    page, _ = all_of_them()
    page.emulate_media(forced_colors="active")
    settle(page)
    assert axe_violations(page, rules=("color-contrast",)) == []
    adjust = "all => all.map(e => getComputedStyle(e).forcedColorAdjust)"
    drawn = page.locator(".machine :is(svg, li i)").evaluate_all(adjust)
    assert set(drawn) == {"none"}


def test_paper_is_white_and_has_no_buttons(all_of_them):
    page, _ = all_of_them()
    fills = "all => all.map(e => getComputedStyle(e).fill)"
    light = page.locator(".machine svg rect").evaluate_all(fills)
    page, _ = all_of_them(theme="dark")
    assert page.locator(".machine svg rect").evaluate_all(fills) != light
    page.emulate_media(media="print")
    wait_for_theme(page, dark=False)
    assert page.locator(".machine svg rect").evaluate_all(fills) == light
    backs = "all => all.map(e => getComputedStyle(e).backgroundColor)"
    assert set(page.locator(".machine").evaluate_all(backs)) == {"rgb(255, 255, 255)"}
    # A question's choices are buttons, too: on paper they are its list, from A.
    buttons = ".machine button:visible:not(.machine-question [aria-pressed])"
    assert page.locator(buttons).count() == 0


def test_with_reduced_motion_nothing_moves(all_of_them):
    """The background's transition of 1 ms, which tells of a new theme, is no motion. It sets every
    machine, so it comes last of those that look at all of them."""
    page, _ = all_of_them()
    used = page.evaluate(
        """async () => {
            const started = [], frame = () => new Promise(requestAnimationFrame);
            for (const name of ["transitionrun", "animationstart"]) {
                document.addEventListener(name, ({ target }) => started.push(target.className));
            }
            const hands = document.querySelectorAll(".machine-controls :is(input, select, button)");
            for (const hand of hands) {
                if (hand.type === "range") hand.stepDown();
                hand.click();
                hand.dispatchEvent(new Event("input", { bubbles: true }));
                await frame();
                await frame();
            }
            return { hands: hands.length, started, moving: document.getAnimations().length };
        }"""
    )
    assert used.pop("hands") > len(CASES)
    assert used == {"started": [], "moving": 0}


def test_numbers_are_written_as_the_browser_would_write_them(open_page):
    """The kit spares a telephone the browser's own table of numbers."""
    page, _ = open_page("about:blank", start=False)
    kit = source(*KITS["kit"], *KITS["machines"])
    unlike = page.evaluate(
        """(kit) => {
            const { whole, significant } = new Function(`${kit}; return { whole, significant }`)();
            const sized = (_, i) => Math.exp(i / 110 - 10) * (i % 7 ? 1 : -1);
            const numbers = Array.from({ length: 4000 }, sized);
            const said = (v, digits) => [significant(v, digits),
              v.toLocaleString("en-US", { maximumSignificantDigits: digits })];
            const both = (v) => [whole(v), v.toLocaleString("en-US")];
            return [...numbers.map(Math.round).map(both),
              ...numbers.flatMap((v) => [1, 2, 3, 6].map((n) => said(v, n)))]
              .filter(([ours, theirs]) => ours !== theirs && theirs !== "-0");
        }""",
        kit,
    )
    assert unlike == []
