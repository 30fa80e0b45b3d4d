"""The live translator as a reader uses it: with keys, mouse and finger, and with strange input."""

import base64

import pytest
from playwright.sync_api import expect

from attnbook import translators
from attnbook.machines import LiveTranslator
from attnbook.machines.live_translator import page as book_page
from attnbook.machines.live_translator import shown
from attnbook.machines.live_translator.weights import payload
from attnlab.tasks.vocab import EOS
from tests.browser.conftest import Record, listen, serving
from tests.browser.explorer_page import (
    ATTACK,
    SWALLOW,
    axe_violations,
    follow,
    settle,
    start_widgets,
    write_page,
)
from tests.browser.translator_page import (
    bring_back,
    by_directive,
    ready,
    snapshot,
    source,
    target,
    write,
)

pytestmark = pytest.mark.browser

ORIGIN = {"toy-french": "attnbook.translators:toy_french"}
SENTENCE = "the black cat did not sleep"


@pytest.fixture(scope="module")
def kept():
    return translators.toy_french()


def a_live(kept, **options) -> LiveTranslator:
    given = {"sentences": translators.SENTENCES, "files": "toy-french", "title": "Hide a word"}
    return LiveTranslator(kept, **given | options)


@pytest.fixture(scope="module")
def only(browser, tmp_path_factory, kept):
    folder, record = tmp_path_factory.mktemp("live"), Record()
    book_page.write_models(folder, ORIGIN)
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    listen(page, record)
    page.goto(write_page(folder, a_live(kept)).as_uri(), wait_until="load")
    start_widgets(page)
    ready(page)
    yield page, page.locator(".machine-translator"), record
    page.close()


@pytest.fixture
def live(open_page, tmp_path, kept, request):
    """`live(**options)` opens a page with a live translator: the page, its root, the record."""

    def open_(wait=True, widget=None, **options):
        if wait and widget is None and not options:
            page, root, record = request.getfixturevalue("only")
            bring_back(page, "live-translator", record)
            return page, root, record
        book_page.write_models(tmp_path, ORIGIN)
        path = write_page(tmp_path, widget or a_live(kept))
        page, record = open_page(path.as_uri(), **options)
        root = page.locator(".machine-translator")
        if wait:
            ready(page)
        return page, root, record

    return open_


def want(kept, text, hidden=(), model=0):
    translator = list(kept.values())[model]
    return shown.translate(translator, shown.read_source(translator, text), hidden, 40)


def test_the_first_sentence_is_translated_at_once(live, kept):
    _, root, record = live()
    found, torch = snapshot(root), want(kept, SENTENCE)
    assert (found["source"], found["target"]) == (torch.source, torch.target)
    assert found["hidden"] == []
    assert len(found["weights"]) == len(found["candidates"]) == len(found["target"])
    assert [sum(row) for row in found["weights"]] == pytest.approx([1] * len(found["target"]))
    assert all(five[0][0] == token for five, token in
               zip(found["candidates"], found["target"], strict=True))  # fmt: skip
    assert root.get_by_role("textbox").count() == 1
    expect(root.get_by_label("Search")).to_be_hidden()  # there are no beams to choose
    expect(root.locator(".translator-kept")).to_be_hidden()
    assert record.console == []
    assert record.other_hosts() == []


def test_every_key_stroke_translates(live, kept):
    _, root, _ = live()
    box, typed = root.get_by_role("textbox"), ""
    box.fill(typed)
    for letter in "the old woman":
        box.press("Space" if letter == " " else letter)
        typed += letter
        if typed.strip():
            assert snapshot(root)["target"] == want(kept, typed).target, typed


def test_a_pressed_word_is_hidden_and_pressed_again_is_back(live, kept):
    _, root, _ = live()
    before = snapshot(root)["target"]
    source(root, 1).click()
    found, torch = snapshot(root), want(kept, SENTENCE, [1])
    assert found["hidden"] == [1]
    assert root.locator(".translator-target .translator-gone").inner_text() == "noir"
    assert found["target"] == torch.target != before
    assert all(row[1] == 0 for row in found["weights"])
    assert source(root, 1).get_attribute("aria-pressed") == "true"
    said = root.locator(".translator-said").inner_text()
    assert said.startswith("You hid “black”. Before: le chat noir n'a pas dormi. Now: le chat n'a")
    assert root.get_by_role("status").inner_text() in said
    source(root, 1).click()
    assert (snapshot(root)["hidden"], snapshot(root)["target"]) == ([], before)


def test_what_changed_is_marked_and_not_by_colour_alone(live):
    _, root, _ = live()
    write(root, "my friend often eats a red apple")
    source(root, 1).click()
    changed = root.locator(".translator-target .translator-changed")
    assert changed.count() >= 1
    first = changed.first
    was = first.locator("del").inner_text()
    assert was == "ami"
    assert f"before: {was}" in first.get_attribute("aria-label")
    weight = first.evaluate("node => getComputedStyle(node).fontWeight")
    assert int(weight) >= 600
    assert root.locator(".translator-said del").first.inner_text() == "ami"
    assert root.locator(".translator-said ins").count() >= 1


@pytest.mark.parametrize("text", translators.SENTENCES[1:3])
def test_every_word_can_be_hidden_and_shown_again(live, text):
    _, root, record = live()
    write(root, text)
    whole = snapshot(root)["target"]
    for place in range(len(text.split())):
        source(root, place).click()
        source(root, place).click()
        assert snapshot(root)["target"] == whole
        assert root.locator(".translator-target button").count() == len(whole)
        assert root.locator(".translator-target .translator-gone").count() == 0
        assert root.locator(".translator-lines path").count() > 0
    assert record.console == []


def test_when_nothing_changes_the_heavy_line_is_named(live, kept):
    _, root, _ = live()
    place = SENTENCE.split().index("not")
    assert want(kept, SENTENCE, [place]).target == want(kept, SENTENCE).target
    source(root, place).click()
    said = root.locator(".translator-said").inner_text()
    assert said.startswith("You hid “not”. Nothing changed. And yet “pas” had looked at “not”")


def test_a_translation_without_a_word_is_said_to_end_at_once(live):
    page, root, _ = live()
    follow(page, f"live-translator=forced:[{EOS}]")
    assert snapshot(root)["target"] == []
    said = root.locator(".translator-said").inner_text()
    assert "You ended it there." in said
    assert "Now: (ends at once)." in said


@pytest.mark.parametrize(
    ("sentence", "says"),
    [("the black cat did not sleep", "To write"), ("qwerty zzz", "Least sure of")],
)
def test_it_opens_on_the_step_that_is_least_sure(live, sentence, says):
    _, root, _ = live()
    write(root, sentence)
    found = snapshot(root)
    chances = [step[0][1] for step in found["candidates"]]
    assert (min(chances) < 0.995) == says.startswith("Least")
    name = root.locator(".translator-looked-name").inner_text()
    assert name.startswith(f"{says} “{found['target'][chances.index(min(chances))]}”")


def test_a_target_word_shows_where_its_step_looked_and_what_else_there_was(live, kept):
    _, root, _ = live()
    target(root, 1).click()
    assert snapshot(root)["step"] == 1
    assert root.locator(".translator-looked-name").inner_text() == "To write “chat” it looked at"
    torch = want(kept, SENTENCE)
    weights = torch.weights[1].tolist()
    first = root.locator(".translator-looked li").first.inner_text().split()
    assert first[0] == torch.source[weights.index(max(weights))] == "cat"
    assert float(first[1]) == pytest.approx(max(weights), abs=0.006)
    others = root.locator(".translator-other li span:first-child").all_inner_texts()
    assert others == [token for token, _ in torch.candidates[1]]
    assert target(root, 2).evaluate("node => node.classList.contains('translator-later')")
    assert root.locator(".translator-chosen").count() >= 1
    target(root, 1).click()
    assert snapshot(root)["step"] is None


def test_the_scrubber_goes_word_by_word_by_key_and_by_mouse(live):
    page, root, _ = live()
    slider = root.get_by_role("slider")
    slider.focus()
    count = len(snapshot(root)["target"])
    assert slider.get_attribute("aria-valuetext") == "all words"
    page.keyboard.press("ArrowLeft")
    assert snapshot(root)["step"] == count - 1
    page.keyboard.press("Home")
    assert snapshot(root)["step"] == 0
    assert slider.get_attribute("aria-valuetext") == f"word 1 of {count}"
    box = slider.bounding_box()
    page.mouse.move(box["x"] + 8, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=5)
    assert 0 < snapshot(root)["step"] < count - 1
    page.mouse.move(box["x"] + box["width"] - 1, box["y"] + box["height"] / 2, steps=5)
    page.mouse.up()
    assert snapshot(root)["step"] is None


def test_play_walks_through_the_words_and_ends_with_all_of_them(live):
    page, root, _ = live()
    play = root.get_by_role("button", name="Play")
    play.click()
    assert snapshot(root)["step"] == 0
    page.wait_for_function("document.querySelector('.machine-translator').snapshot().step === 1")
    root.get_by_role("button", name="Pause").click()
    step = snapshot(root)["step"]
    page.wait_for_timeout(1200)
    assert snapshot(root)["step"] == step
    assert root.get_by_role("button", name="Play").count() == 1


def test_the_keyboard_reaches_everything(live):
    page, root, _ = live()
    root.get_by_role("textbox").focus()
    reached = []
    for _ in range(40):
        reached.append(page.evaluate("document.activeElement.className"))
        page.keyboard.press("Tab")
    for name in ("text", "model", "try", "word", "play", "step"):
        assert any(f"translator-{name}" in one for one in reached), name
    source(root, 1).focus()
    page.keyboard.press("Enter")
    assert snapshot(root)["hidden"] == [1]
    assert source(root, 1).evaluate("node => node === document.activeElement")
    page.keyboard.press("Space")
    assert snapshot(root)["hidden"] == []
    bare = root.evaluate(
        """root => [...root.querySelectorAll("input, select, button, canvas, textarea")]
            .filter(node => node.dataset.lmSuppressShortcuts !== "true").map(n => n.outerHTML)"""
    )
    assert bare == []  # JupyterLab would take their keys


def test_the_other_model_and_its_heads(live, kept):
    _, root, _ = live()
    heads = root.locator(".translator-head")
    expect(heads).to_be_hidden()
    root.get_by_label("Model").select_option("Transformer")
    ready(root.page, "Transformer")
    torch = want(kept, SENTENCE, model=1)
    found = snapshot(root)
    assert found["target"] == torch.target
    assert found["weights"][2] == pytest.approx(torch.mean_weights()[2].tolist(), abs=1e-4)
    heads.select_option("layer 1, head 2")
    assert snapshot(root)["weights"][2] == pytest.approx(torch.weights[2, 1, 2].tolist(), abs=1e-4)
    source(root, 4).click()
    assert snapshot(root)["target"] == want(kept, SENTENCE, [4], model=1).target


# ---- Strange input.


STRANGE = [
    ("the zebra opened the green door", "Not among the"),
    (ATTACK, "Not among the"),
    ("😀 the cat 👩🏽‍🚀", "Not among the"),
    ("the cat " * 100, "That is 200 words: only the first 24 are read."),
    ("", "Write a sentence in English."),
    ("   ", "Write a sentence in English."),
    ("...!?", "Write a sentence in English."),
    ("ＴＨＥ\u202e cat\u0000 \ufffd", "Not among the"),
]


@pytest.mark.parametrize(("text", "says"), STRANGE)
def test_strange_input_gets_a_clear_answer(live, kept, text, says):
    page, root, record = live()
    page.on("dialog", lambda _: pytest.fail("the text ran as a script"))
    found = write(root, text)
    told = root.locator(".translator-flag").inner_text()
    assert told.startswith(says)
    assert len(found["source"]) <= 24
    assert len(found["target"]) <= 40
    assert len(found["weights"]) == len(found["target"])
    assert page.locator("main img[src='x']").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert record.console == []
    if "zebra" in text:
        assert "words it has learned: zebra." in told
        assert source(root, 1).get_attribute("aria-label") == "zebra, unknown, hide"
        assert root.locator(".translator-unknown").count() == 1
        assert axe_violations(page, rules=("color-contrast",)) == []
        assert found["target"] == want(kept, text).target
    assert write(root, SENTENCE)["target"] == want(kept, SENTENCE).target


def test_while_a_long_text_is_translated_it_says_so(live):
    _, root, _ = live()
    write(root, "")
    assert root.locator(".translator-flag").inner_text().startswith("Write a sentence")
    # A clock that leaps a second at every look: on any machine the first slice is too short.
    at_once = root.evaluate("""root => {
        let leaps = 0;
        performance.now = () => 1000 * leaps++;
        const box = root.querySelector("input[type=text], textarea");
        box.value = "the black cat did not sleep ".repeat(10);
        box.dispatchEvent(new Event("input", { bubbles: true }));
        delete performance.now;
        return root.querySelector(".translator-flag").textContent;
    }""")
    assert at_once == "Translating…"
    snapshot(root)
    assert "only the first" in root.locator(".translator-flag").inner_text()


def test_texts_given_by_python_are_text(live, kept):
    widget = a_live(kept, title=ATTACK, caption=ATTACK, sentences=[ATTACK, "the cat"],
                    languages=[(ATTACK, "en"), (ATTACK, "fr")])  # fmt: skip
    page, root, record = live(widget=widget)
    page.on("dialog", lambda _: pytest.fail("the text ran as a script"))
    settle(page)
    assert page.locator("main img[src='x']").count() == 0
    assert ATTACK in root.inner_text()
    assert record.console == []


# ---- Where the weights come from.


def test_over_http_the_weights_are_fetched_when_the_widget_comes_near(open_page, tmp_path, kept):
    files = book_page.write_models(tmp_path, ORIGIN)
    path = write_page(tmp_path, a_live(kept))
    path.write_text(
        path.read_text("utf-8").replace("<h1>", '<div style="height:4000px"></div><h1>'), "utf-8"
    )
    with serving(tmp_path) as url:
        page, record = open_page(url)
        page.wait_for_selector(".machine-translator", state="attached")
        settle(page)
        assert not [one for one in record.requests if "live-translator" in one]
        ready(page)
        root = page.locator(".machine-translator")
        assert snapshot(root)["target"] == want(kept, SENTENCE).target
        fetched = [one for one in record.requests if "live-translator" in one]
        assert fetched == [f"{url}live-translator/{files[0].name}"]
        assert files[0].stat().st_size <= 200_000
        assert record.console == []


def test_a_file_that_is_missing_is_said(open_page, tmp_path, kept):
    path = write_page(tmp_path, a_live(kept))
    with serving(tmp_path) as url:
        page, _ = open_page(url)
        flag = page.locator(".translator-flag")
        flag.wait_for()
        page.wait_for_function(
            "document.querySelector('.translator-flag').textContent === "
            "'The model could not be loaded.'"
        )
        assert page.locator(".machine-translator").evaluate("root => root.snapshot()") is None
    assert path.exists()


def test_without_files_a_page_says_that_it_needs_a_kernel(live, kept):
    page, root, _ = live(widget=a_live(kept, files=None), wait=False)
    root.scroll_into_view_if_needed()
    page.wait_for_function(
        "document.querySelector('.translator-flag').textContent.includes('needs a kernel')"
    )


def test_embedded_weights_need_no_file(live, kept, open_page, tmp_path):
    widget = a_live(kept, files=None, embed=True, precision="int8")
    page, _ = open_page(write_page(tmp_path, widget).as_uri())
    ready(page)
    root = page.locator(".machine-translator")
    assert snapshot(root)["target"] == want(kept, SENTENCE).target


IN_JUPYTER = """async ([source, traits, data]) => {
    const heard = {}, sent = [];
    const model = {
        get: name => traits[name],
        set: (name, value) => {
            traits[name] = value;
            (heard[`change:${name}`] ?? []).forEach(f => f());
        },
        save_changes: () => {},
        on: (name, action) => (heard[name] ??= []).push(action),
        off: () => {},
        send: (content) => {
            sent.push(content);
            const bytes = Uint8Array.from(atob(data), letter => letter.charCodeAt(0));
            setTimeout(() => heard["msg:custom"].forEach(
                f => f(content, [new DataView(bytes.buffer)])));
        },
    };
    const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    const { default: widget } = await import(url);
    const el = document.body.appendChild(document.createElement("div"));
    widget.render({ model, el });
    while (!el.firstChild.snapshot()) await new Promise(requestAnimationFrame);
    el.firstChild.hide(1);
    return { sent, hidden: traits.hidden, found: el.firstChild.snapshot() };
}"""


def test_in_jupyter_the_kernel_is_asked_once(browser, kept):
    widget = a_live(kept)
    traits = {name: getattr(widget, name) for name in LiveTranslator.class_own_traits(sync=True)}
    traits |= {"weights": None, "title": "", "note": ""}
    data = base64.b64encode(payload(next(iter(kept.values())), "int8")).decode()
    page = browser.new_page()
    found = page.evaluate(IN_JUPYTER, [widget._esm, traits, data])
    page.close()
    assert found["sent"] == [{"weights": 0}]
    assert found["hidden"] == [1]
    assert found["found"]["target"] == want(kept, SENTENCE, [1]).target


@pytest.fixture
def in_no_notebook(tmp_path, kept):
    book_page.write_models(tmp_path, ORIGIN)
    return by_directive(tmp_path, a_live(kept))


def test_the_directives_view_needs_no_notebook_and_prints_its_lines(
    open_page, in_no_notebook, kept
):
    page, record = open_page(in_no_notebook)
    ready(page)
    assert snapshot(page.locator(".machine-translator"))["target"] == want(kept, SENTENCE).target
    assert record.console == []
    page.emulate_media(media="print")
    assert page.locator(".translator-lines path").count() > 4
    expect(page.locator(".attnkit-view img")).to_be_hidden()


def test_no_word_of_a_directives_view_swallows_the_page(open_page, tmp_path, kept):
    """The words are given as they are to the page, in a script element that they must not leave."""
    words = a_live(kept, sentences=[f"the {SWALLOW} cat"], caption=f"{SWALLOW} {ATTACK}</script>")
    markup = "".join(book_page.view(words))
    path = tmp_path / "page.html"
    path.write_text(f'<!doctype html><meta charset="utf-8">{markup}<p id="after">after</p>')
    page, _ = open_page(path.as_uri(), start=False)
    assert page.locator("#after").inner_text() == "after"
    assert page.locator(".attnkit-view img").count() == 1
    state = page.locator(".attnkit-view script").evaluate(
        "tag => JSON.parse(tag.textContent).state"
    )
    assert state["state"]["sentences"] == [f"the {SWALLOW} cat"]
    assert state["state"]["note"].startswith(f"{SWALLOW} {ATTACK}</script>")


def test_without_javascript_a_picture_stands_there_and_says_what_it_is(open_page, in_no_notebook):
    page, _ = open_page(in_no_notebook, java_script_enabled=False)
    assert "With JavaScript" in page.locator(".attnkit-still").inner_text()
    picture = page.locator(".attnkit-view img").bounding_box()
    view = page.locator(".attnkit-view").bounding_box()
    assert view["height"] < picture["height"] + 100  # no room is kept for what does not come


# ---- For every reader.


def test_at_360_pixels_the_words_stand_below_each_other_and_a_finger_hides_them(live, kept):
    _, root, _ = live(width=360, has_touch=True, is_mobile=True)
    first, second = source(root, 0).bounding_box(), source(root, 1).bounding_box()
    assert second["y"] > first["y"] + 40
    assert first["height"] >= 44
    assert target(root, 0).bounding_box()["x"] > first["x"] + first["width"]
    source(root, 1).tap()
    assert snapshot(root)["target"] == want(kept, SENTENCE, [1]).target
    root.get_by_role("button", name="my friend often").tap()
    assert snapshot(root)["text"].startswith("my friend")


def ends(root):
    return root.evaluate(
        """root => {
        const box = root.querySelector(".translator-stage").getBoundingClientRect();
        const place = node => { const r = node.getBoundingClientRect();
            return [r.left - box.left, r.top - box.top, r.right - box.left, r.bottom - box.top]; };
        return { lines: [...root.querySelectorAll(".translator-lines path")].map(p => {
                const n = p.getAttribute("d").match(/[\\d.-]+/g).map(Number);
                return [n.slice(0, 2), n.slice(-2)]; }),
            from: [...root.querySelectorAll(".translator-source button")].map(place),
            to: [...root.querySelectorAll(".translator-target button")].map(place) };
        }"""
    )


@pytest.mark.parametrize("width", [360, 1280])
def test_every_line_joins_a_word_to_a_word_also_after_a_change_of_width(live, width):
    page, root, _ = live()
    for wider, text in ((0, SENTENCE), (40, "we found three white eggs under the big tree")):
        root.get_by_role("textbox").fill(text)
        page.set_viewport_size({"width": width + wider, "height": 900})
        settle(page)
        found = ends(root)
        assert len(found["lines"]) >= len(snapshot(root)["target"])
        for start, end in found["lines"]:
            assert any(touches(start, box) for box in found["from"]), (start, found["from"])
            assert any(touches(end, box) for box in found["to"]), (end, found["to"])


def touches(point, box, slack=1.5) -> bool:
    left, top, right, bottom = box
    return left - slack <= point[0] <= right + slack and top - slack <= point[1] <= bottom + slack


def test_for_readers_with_colours_of_their_own_without_motion_and_on_paper(live):
    page, root, _ = live()
    page.emulate_media(forced_colors="active", reduced_motion="reduce")
    source(root, 1).click()
    assert page.evaluate("document.getAnimations().length") == 0
    target(root, 1).click()
    lines, style = page.locator(".translator-lines path"), "node => getComputedStyle(node)"
    assert lines.first.evaluate(f"{style}.stroke") != root.evaluate(f"{style}.backgroundColor")
    assert target(root, 1).evaluate(f"{style}.borderTopWidth") == "3px"
    drawn = lines.count()
    page.emulate_media(media="print", forced_colors="none")
    settle(page)
    expect(source(root, 1)).to_be_visible()
    expect(root.locator(".translator-said")).to_be_visible()
    expect(root.locator(".translator-play")).to_be_hidden()
    assert lines.count() == drawn > 1


def test_the_status_speaks_of_what_the_reader_did(live):
    page, root, _ = live()
    status = root.get_by_role("status")
    source(root, 1).click()
    assert status.inner_text().startswith("You hid “black”. Before:")
    write(root, "the cat")
    page.wait_for_function(
        "document.querySelector('.machine-live').textContent === 'French: le chat.'", timeout=5000
    )
    target(root, 1).click()
    page.wait_for_function(
        "document.querySelector('.machine-live').textContent"
        ".startsWith('Word 2, “chat”: it looked at')"
    )


def test_two_views_of_one_model_agree(open_page, tmp_path, kept):
    book_page.write_models(tmp_path, ORIGIN)
    widget = a_live(kept)
    page, _ = open_page(write_page(tmp_path, widget, widget).as_uri())
    roots = page.locator(".machine-translator")
    page.wait_for_function(
        "[...document.querySelectorAll('.machine-translator')].filter(e => e.snapshot())[1]"
    )
    for place in (1, 99):
        roots.first.evaluate("(root, place) => root.hide(place)", place)
        assert snapshot(roots.last)["hidden"] == [1]
    assert snapshot(roots.last)["target"] == snapshot(roots.first)["target"]


ADDRESS = "live-translator=text:she sees a red car;hidden:[3];step:2;as:map"


def test_the_address_carries_sentence_hidden_words_and_step(live):
    page, root, record = live()
    follow(page, ADDRESS)
    shown = snapshot(root)
    assert (shown["text"], shown["hidden"]) == ("she sees a red car", [3])
    assert (shown["step"], shown["as"]) == (2, "map")
    root.get_by_role("button", name="Show it again").click()
    page.wait_for_function("!location.hash.includes('hidden')")
    page.reload()
    ready(page)
    again = snapshot(root)
    assert (again["text"], again["hidden"]) == ("she sees a red car", [])
    assert not record.console


def test_an_address_that_cannot_be_changes_nothing(live):
    page, root, record = live()
    before = snapshot(root)
    for wrong in ("hidden:[-1]", "model:9", "beam_size:7", "as:song", "text:[1]"):
        follow(page, f"live-translator=step:1;{wrong}")
        assert snapshot(root) == before
    follow(page, "live-translator=forced:[99999999]")  # words that the model has not are left out
    assert snapshot(root) == before
    assert not record.console
