"""The translator of real language as a reader uses it: asked for, typed into, contradicted."""

import re
from collections import Counter

import pytest
from playwright.sync_api import expect

from attnbook import translators, widgets
from attnbook.machines.live_translator import page as book_page
from attnbook.machines.live_translator import shown
from attnbook.machines.live_translator.familiar import count_sentences
from attnlab import tasks
from tests.browser.conftest import Record, listen, serving
from tests.browser.explorer_page import (
    ATTACK,
    THEMES_AND_WIDTHS,
    complaints,
    follow,
    settle,
    start_widgets,
    write_page,
)
from tests.browser.translator_page import bring_back, ready, snapshot, source, target, write

pytestmark = pytest.mark.browser

ORIGIN = {"tatoeba": "attnbook.translators:real_translator"}
FIRST = translators.REAL_SENTENCES[0]
TRANSFORMER, RECURRENT = translators.REAL_MODELS
LENGTH_PAGE, SECTION = "chapters/10_machine_translation.html", "#what-still-goes-wrong"


@pytest.fixture(scope="module")
def widget():
    return widgets.translate()


@pytest.fixture(scope="module")
def on_demand():
    return translators.real_translator(title="Translate a sentence")


@pytest.fixture(scope="module")
def book(tmp_path_factory, widget, on_demand):
    """A folder as a book has it: pages in `chapters`, the files beside the script."""
    folder = tmp_path_factory.mktemp("book")
    (folder / "_static").mkdir()
    book_page.write_models(folder / "_static", ORIGIN)
    (folder / "chapters").mkdir()
    for name, one in (("10", widget), ("asking", on_demand)):
        text = write_page(folder / "_static", one).read_text("utf-8")
        text = re.sub(r'(src|href)="attnkit-', r'\1="../_static/attnkit-', text)
        (folder / "chapters" / f"{name}.html").write_text(text, "utf-8")
    return folder


@pytest.fixture(scope="module")
def only(browser, book):
    """One page for all tests that do no more than write sentences, hide words, switch off heads."""
    page, record = browser.new_page(viewport={"width": 1280, "height": 900}), Record()
    listen(page, record)
    page.on("dialog", lambda _: pytest.fail("the text ran as a script"))
    page.goto((book / "chapters" / "10.html").as_uri(), wait_until="load")
    start_widgets(page)
    ready(page, TRANSFORMER)
    yield page, page.locator(".machine-translator"), record
    page.close()


@pytest.fixture
def asked(only):
    """The same as it opens, at its first sentence."""
    page, root, record = only
    bring_back(page, "translator", record)
    assert snapshot(root)["text"] == FIRST
    yield only
    assert record.console == []


def select(root, name: str) -> None:
    root.get_by_label("Model").select_option(name)
    ready(root.page, name)


def want(
    widget, text, hidden=(), forced=(), model=TRANSFORMER, beam_size=1, off=(), stop=True
) -> shown.Shown:
    translator = widget.translators[model]
    words = shown.read_source(translator, shown.with_stop(text) if stop else text, widget.longest)
    options = hidden, widget.max_len, forced, beam_size, off, shown.PATIENCE
    return shown.translate(translator, words, *options)


def search(root, beam_size: int) -> dict:
    root.get_by_label("Search").select_option(str(beam_size))
    return snapshot(root)


def agree(found: dict, torch: shown.Shown) -> None:
    source, target, weights = torch.by_word()
    assert (found["source"], found["target"]) == (source, target)
    assert found["pieces"] == {"source": torch.source, "target": torch.target}
    for row, expected in zip(found["weights"], weights.tolist(), strict=True):
        assert row == pytest.approx(expected, abs=1e-4)


def test_nothing_is_loaded_before_it_is_asked_for(open_page, book, on_demand):
    with serving(book) as url:
        page, record = open_page(f"{url}chapters/asking.html")
        root = page.locator(".machine-translator")
        button = root.get_by_role("button", name="Load the model")
        size = (book / "_static" / on_demand.files[0]).stat().st_size
        assert button.inner_text() == f"Load the model, {size / 1e6:.1f} MB"
        assert root.get_by_role("textbox").input_value() == FIRST
        expect(root.locator(".translator-walk")).to_be_hidden()
        page.wait_for_timeout(500)
        assert not [one for one in record.requests if "live-translator" in one]
        button.click()
        ready(page, TRANSFORMER)
        agree(snapshot(root), want(on_demand, FIRST))
        assert root.get_by_role("textbox").evaluate("node => node === document.activeElement")
        select(root, RECURRENT)
        fetched = [one for one in record.requests if "live-translator" in one]
        assert fetched == [f"{url}_static/{name}" for name in on_demand.files]
        assert all(
            (book / "_static" / name).stat().st_size <= 2_000_000 for name in on_demand.files
        )
        assert record.console == []
        assert record.other_hosts() == []


def test_from_a_file_too_and_both_models_keep_the_sentence(asked, widget):
    _, root, record = asked
    text = "My neighbour's grandmother was never afraid of storms."
    first = write(root, text)
    agree(first, want(widget, text))
    select(root, RECURRENT)
    second = snapshot(root)
    agree(second, want(widget, text, model=RECURRENT))
    assert second["source"] == first["source"]
    assert second["weights"] != first["weights"]
    assert root.get_by_role("textbox").input_value() == text
    expect(root.locator(".translator-head")).to_be_hidden()
    assert record.console == []


def test_pieces_are_drawn_and_hidden_as_one_word(asked, widget):
    _, root, _ = asked
    text = "My grandmother hates thunderstorms."
    found = write(root, text)
    place = next(at for at, word in enumerate(found["source"]) if word == "thunderstorms")
    word = source(root, place)
    pieces = word.locator(".translator-piece").all_inner_texts()
    assert len(pieces) > 1
    assert "".join(pieces) == "thunderstorms"
    assert f"{len(pieces)} pieces: {', '.join(pieces)}" in word.get_attribute("aria-label")
    word.click()
    found = snapshot(root)
    agree(found, want(widget, text, [place]))
    assert all(row[place] == 0 for row in found["weights"])
    first, end = want(widget, text).source_words[place]
    assert end - first == len(pieces)
    assert all(head[at] == 0 for step in found["heads"] for layer in step for head in layer
               for at in range(first, end))  # fmt: skip


def test_the_reader_writes_another_word_and_takes_it_back(asked, widget):
    page, root, _ = asked
    before = write(root, "Do you want some water?")
    slider = root.get_by_role("slider")
    slider.focus()
    page.keyboard.press("Home")
    others = root.locator(".translator-choice")
    assert others.first.get_attribute("aria-pressed") == "true"
    other = others.nth(1)
    text = before["candidates"][0][1][0]
    other.focus()
    page.keyboard.press("Enter")
    found = snapshot(root)
    forced = [widget.translator.target_vocab.ids[text]]
    agree(found, want(widget, "Do you want some water?", forced=forced))
    assert found["pieces"]["target"][0] == text
    assert found["forced"] == forced
    assert root.locator(".translator-said").inner_text().startswith("You wrote “")
    assert "written by you" in target(root, 0).get_attribute("aria-label")
    root.get_by_role("button", name="Let it choose again").click()
    assert snapshot(root)["pieces"] == before["pieces"]
    assert snapshot(root)["forced"] == []


def test_another_sentence_and_another_model_forget_what_was_forced(asked, widget):
    page, root, _ = asked
    for change in (lambda: write(root, "I am tired."),
                   lambda: root.get_by_label("Model").select_option(RECURRENT)):  # fmt: skip
        target(root, 0).click()
        root.locator(".translator-choice").nth(1).click()
        assert snapshot(root)["forced"] != []
        change()
        page.wait_for_function(
            "document.querySelector('.machine-translator')?.snapshot?.()?.forced.length === 0"
        )


def test_the_map_has_every_layer_and_head(asked, widget):
    page, root, _ = asked
    root.get_by_role("tab", name="Map").click()
    torch = want(widget, FIRST)
    layers, heads = torch.weights.shape[1:3]
    small = root.locator(".translator-small")
    assert small.count() == 1 + layers * heads
    small.nth(1 + 1 * heads + 2).click()
    found = snapshot(root)
    assert found["as"] == "map"
    assert root.locator(".translator-head").input_value() == "1 2"
    spans = torch.target_words, torch.source_words
    expected = shown.word_weights(torch.weights[:, 1, 2], *spans)
    shares = root.locator(".translator-table tbody td").evaluate_all(
        "cells => cells.map(cell => parseFloat(cell.style.getPropertyValue('--machine-share')))"
    )
    assert shares == pytest.approx((100 * expected).flatten().tolist(), abs=0.06)
    heard = root.locator(".translator-table tbody td span").all_text_contents()
    assert [float(one) for one in heard] == pytest.approx(expected.flatten().tolist(), abs=0.006)
    root.locator(".translator-column").nth(2).click()
    assert snapshot(root)["hidden"] == [2]
    root.locator(".translator-row").nth(1).click()
    assert snapshot(root)["step"] == torch.target_words[1][0]
    root.get_by_role("tab", name="Map").focus()
    page.keyboard.press("ArrowLeft")
    assert snapshot(root)["as"] == "lines"
    assert root.locator(".translator-lines path").count() >= 1


def test_the_scrubber_goes_piece_by_piece(asked, widget):
    _, root, _ = asked
    texts = (
        "The astronomers photographed a comet.",
        "Zbigniew met Xanthippe.",
        "xylophones",
        "zzz",
    )
    text, torch, long_word = next(
        (text, torch, at)
        for text, torch in ((text, want(widget, text)) for text in texts)
        for at, (first, end) in enumerate(torch.target_words)
        if end - first > 1
    )
    write(root, text)
    first, end = torch.target_words[long_word]
    word = target(root, long_word)
    for step in [*range(first, end), None]:
        word.click()
        found = snapshot(root)
        assert found["step"] == step
        if step is not None:
            row = shown.word_weights(torch.mean_weights()[[step]], [(0, 1)], torch.source_words)[0]
            assert found["weights"][long_word] == pytest.approx(row.tolist(), abs=1e-4)
            words = f"piece {step + 1} of {len(torch.target)}"
            assert root.get_by_role("slider").get_attribute("aria-valuetext") == words


def test_typing_is_never_blocked_and_what_is_old_is_greyed_out(asked, widget):
    page, root, _ = asked
    output, stage = root.locator(".translator-output"), root.locator(".translator-stage")
    before, text = output.inner_text(), "we did not know that " * 8
    # The text is long, and the look at the page comes before the translation can be done.
    seen = root.evaluate(
        """async (root, text) => {
            const box = root.querySelector(".translator-text");
            const output = root.querySelector(".translator-output"), turns = [];
            box.value = text;
            box.dispatchEvent(new Event("input", { bubbles: true }));
            const seen = { text: output.innerText, busy: output.ariaBusy, stale:
                [...root.querySelectorAll(".translator-stale")].map(node => node.classList[0]) };
            for (let turn = 0; turn < 3; turn++) {
                turns.push(root.ariaBusy);
                await new Promise(done => setTimeout(done));
            }
            return { ...seen, turns };
        }""",
        text,
    )
    assert seen["turns"] == ["true"] * 3  # while the translation was being made
    assert (seen["text"], seen["busy"]) == (before, "true")
    grey = {"translator-output", "translator-stage", "translator-said", "translator-why"}
    assert grey <= set(seen["stale"])
    page.wait_for_function("document.querySelector('.machine-translator').ariaBusy === 'false'")
    assert output.inner_text() != before
    assert root.locator(".translator-stale").count() == 0
    settle(page)
    for part in (output, stage):
        assert part.evaluate("node => getComputedStyle(node).opacity") == "1"
    agree(snapshot(root), want(widget, text))
    # A new key stroke takes the place of a translation that is under way.
    root.get_by_role("textbox").fill(text + "!")
    agree(write(root, "I am tired."), want(widget, "I am tired."))


@pytest.mark.parametrize("model", [TRANSFORMER, RECURRENT])
def test_no_sentence_to_choose_is_flagged(asked, widget, model):
    _, root, _ = asked
    select(root, model)
    for text in translators.REAL_SENTENCES:
        root.evaluate("root => root.hide(1)")
        one = root.get_by_role("button", name=text, exact=True)
        one.click()
        found = snapshot(root)
        agree(found, want(widget, text, model=model))
        assert (found["text"], found["hidden"]) == (text, [])
        assert root.get_by_role("textbox").input_value() == text
        assert one.get_attribute("aria-pressed") == "true"
        expect(root.locator(".translator-flag")).to_be_hidden()


def test_the_fifth_sentence_alone_was_learned_from():
    """The caption says so; marks and capitals apart, as in the split of the corpus."""

    def bare(text):
        return re.sub(r"[^\w']+", " ", text.lower()).strip()

    learned = {bare(english) for english, _ in tasks.tatoeba("train")}
    met = [bare(text) in learned for text in translators.REAL_SENTENCES]
    assert met == [place == 4 for place in range(7)]


# ---- Strange input.

STRANGE = {
    "pieces of no sentence": ("¿que?", "In no sentence that it learned from: ¿"),
    "French": ("où est la bibliothèque ?", "Are they English?"),
    "Chinese": ("我不知道 你好 再见", "Are they English?"),
    "200 words": ("the old cat " * 67, "That is 201 words: only the first"),
    "emoji": ("😀 👩🏽‍🚀", "In no sentence that it learned from: 😀"),
    "a script": (ATTACK, "In no sentence that it learned from: <"),
    "rare words": ("thunderstorms", "which fall into many pieces"),
    "one long word": ("a" * 5000, "Of the sentences that it learned from, 99 in 100"),
    "two sentences": ("I am happy. You are right.", "from one sentence at a time, and this has 2"),
}


@pytest.mark.parametrize("name", STRANGE)
def test_strange_input_gets_a_clear_answer(asked, widget, name):
    page, root, _ = asked
    text, says = STRANGE[name]
    found = write(root, text)
    assert says in root.locator(".translator-flag").inner_text()
    assert len(found["pieces"]["source"]) <= widget.longest
    assert len(found["pieces"]["target"]) <= widget.max_len
    if found["source"]:
        agree(found, want(widget, text))
    assert page.locator("img[src='x']").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_beyond_the_usual_length_it_says_so_and_where_it_is_measured(asked, widget, book):
    _, root, _ = asked
    usual = widget.trained[0]  # what it is, the widget's own tests hold on few texts
    assert 5 < usual < widget.longest
    flag = root.locator(".translator-flag")
    write(root, "very " * (usual - 1))  # and a full stop
    assert f"at most {usual} pieces" not in flag.inner_text()
    write(root, "very " * usual)
    assert f"at most {usual} pieces, and this has {usual + 1}" in flag.inner_text()
    link = flag.get_by_role("link", name="Chapter 10")
    assert link.evaluate("node => node.href") == (book / LENGTH_PAGE).as_uri() + SECTION


# ---- An end, and no end.


def test_a_text_without_an_end_gets_one_and_loses_it_again(asked, widget):
    page, root, _ = asked
    flag, added = root.locator(".translator-flag"), root.locator(".translator-added")
    agree(write(root, "Thank you"), want(widget, "Thank you."))
    assert "A full stop was added" in flag.inner_text()
    assert added.inner_text() == "."
    root.get_by_role("button", name="Leave it out").click()
    found = snapshot(root)
    agree(found, want(widget, "Thank you", stop=False))
    assert found["stuck"]
    assert len(found["pieces"]["target"]) < widget.max_len
    assert "It repeats itself, and was stopped." in flag.inner_text()
    assert added.count() == 0
    page.wait_for_url("**#**full_stop:false")
    root.get_by_role("button", name="Add one").click()
    agree(snapshot(root), want(widget, "Thank you."))
    for text in ("Thank you!", "Who is it?", "“Thank you.”"):
        agree(write(root, text), want(widget, text, stop=False))
        assert "full stop" not in flag.inner_text()


# ---- Heads.


LAMPS = ".translator-kinds div div button"
"""Of single heads."""


def test_a_way_of_looking_goes_as_a_whole(asked, widget):
    page, root, _ = asked
    ways = page.locator(".translator-way")
    assert ways.all_inner_texts() == [
        "English looks at English",
        "French looks back",
        "French looks at English",
    ]
    back = list(range(12, 24))
    ways.nth(1).click()
    found = snapshot(root)
    assert found["off"] == back
    agree(found, want(widget, FIRST, off=back))
    ways.nth(0).press("Enter")
    assert snapshot(root)["off"] == list(range(24))
    ways.nth(1).click()
    assert snapshot(root)["off"] == list(range(12))
    root.locator(LAMPS).nth(3).click()
    assert snapshot(root)["off"] == [head for head in range(12) if head != 3]
    assert [one.get_attribute("aria-pressed") for one in ways.all()] == ["mixed", "true", "true"]
    ways.nth(0).click()
    assert snapshot(root)["off"] == list(range(12))
    ways.nth(0).click()
    assert snapshot(root)["off"] == []


def test_heads_are_switched_off_and_on(asked, widget):
    page, root, _ = asked
    count = len(shown.heads_of(widget.translator.model))
    lamps, name = root.locator(LAMPS), root.locator(".translator-off-name")
    assert lamps.count() == count == 36
    assert name.inner_text() == "Switch heads off: 36 of 36 are on"
    lamps.nth(26).click()
    lamps.nth(13).press("Enter")
    found = snapshot(root)
    assert found["off"] == [13, 26]
    agree(found, want(widget, FIRST, off=[13, 26]))
    assert "You switched off 2 of its 36 heads." in root.locator(".translator-said").inner_text()
    assert not any(any(row) for row in [step[0][2] for step in found["heads"]])
    page.wait_for_url("**off:**")
    best = root.locator(".translator-worth button")
    for at, (bleu, off) in enumerate(widget.best):
        assert f"{bleu:.1f}" in best.nth(at).inner_text()
        best.nth(at).click()
        found = snapshot(root)
        assert found["off"] == off
        agree(found, want(widget, FIRST, off=off))
        assert best.nth(at).get_attribute("aria-pressed") == "true"
    root.get_by_role("button", name="Switch them on").click()
    assert snapshot(root)["off"] == []
    select(root, RECURRENT)
    expect(root.locator(".translator-off")).to_be_hidden()


def test_what_is_written_stands_above_the_switches_and_each_bar_says_what_it_is(asked, widget):
    _, root, _ = asked
    lit, how = root.locator(".translator-was"), root.locator(".translator-worth-how")
    now = root.locator(".translator-is")
    whole = snapshot(root)["translation"]
    assert lit.inner_text().removeprefix("All on:").strip() == whole
    assert now.inner_text().endswith("press a way of looking, a head, or a bar")
    assert root.locator(".translator-worth-of").inner_text() == widget.worth_of[0]
    ticks = root.locator(".translator-worth b").evaluate_all(
        "ticks => ticks.map(tick => Number(tick.style.getPropertyValue('--translator-lot')))"
    )
    most = widget.best[0][0]
    assert ticks == pytest.approx([one / most for three in widget.by_lot[1:-1] for one in three])
    assert not how.inner_text().startswith("No bar")
    for lamp in range(24, 36):
        root.locator(LAMPS).nth(lamp).click()
    translation = snapshot(root)["translation"]  # what was greyed out is there then
    assert how.inner_text().startswith("No bar was measured")
    written = now.inner_text().removeprefix("Now:").strip()
    assert written == translation == "les choses se sont en train de faire du mal."
    looked = root.locator(".translator-looked-name").inner_text()
    assert looked.endswith("it looked at nothing: what is shown is switched off")


def test_what_the_heads_change_is_told_from_what_a_hidden_word_does(asked, widget):
    """All on: the same word hidden. What it would have written without that stands in the box."""
    _, root, _ = asked
    lit, now = root.locator(".translator-was"), root.locator(".translator-is")
    root.evaluate("root => root.hide(5)")
    hidden = snapshot(root)["translation"]
    assert hidden.endswith("ce que ce veut.")
    assert lit.inner_text().removeprefix("All on:").strip() == hidden
    assert "ce veut" not in now.inner_text()  # no head is off
    root.locator(LAMPS).nth(28).click()
    both = snapshot(root)
    agree(both, want(widget, FIRST, [5], off=[28]))
    assert both["translation"] != hidden
    assert lit.inner_text().removeprefix("All on:").strip() == hidden
    assert now.inner_text().removeprefix("Now:").strip() == both["translation"]
    said = root.locator(".translator-said").inner_text()
    assert "Before: je ne sais pas ce que tu veux." in said


NAMED = {
    "a head": ([30], "You switched off head 2 of layer 1 of “French looks at English”."),
    "a way": (list(range(12, 24)), "You switched off all of “French looks back”."),
    "two of a kind": ([12, 13], "You switched off 2 of its 36 heads."),
    "twelve of two ways": (list(range(6, 18)), "You switched off 12 of its 36 heads."),
}


@pytest.mark.parametrize("name", NAMED)
def test_the_box_names_what_is_off(asked, name):
    page, root, _ = asked
    off, says = NAMED[name]
    follow(page, f"translator=off:{off}")
    assert snapshot(root)["off"] == off
    assert root.locator(".translator-said").inner_text().startswith(says)


def test_a_switch_follows_at_once_though_its_translation_takes_longer(asked):
    _, root, _ = asked
    seen = root.evaluate(
        """async (root, lamps) => {
            let leaps = 0;
            performance.now = () => 1000 * leaps++;  // the first slice is too short
            root.querySelectorAll(lamps)[0].click();
            delete performance.now;
            const is = root.querySelector(".translator-is");
            return { name: root.querySelector(".translator-off-name").textContent,
                pressed: root.querySelector(lamps).ariaPressed, busy: root.ariaBusy,
                stale: is.classList.contains("translator-stale"),
                switches: root.querySelector(".translator-kinds").closest(".translator-stale") };
        }""",
        LAMPS,
    )
    assert seen == {"name": "Switch heads off: 35 of 36 are on", "pressed": "false",
                    "busy": "true", "stale": True, "switches": None}  # fmt: skip
    assert snapshot(root)["off"] == [0]
    assert root.locator(".translator-stale").count() == 0


def test_what_is_unlikely_is_not_said_to_be_impossible(asked):
    _, root, _ = asked
    shares = root.locator(".translator-other li span:last-child").all_inner_texts()
    assert shares == ["0.49", "0.47", "<0.01", "<0.01", "<0.01"]
    last = root.locator(".translator-other .translator-choice").last
    assert ", <0.01, write it" in last.get_attribute("aria-label")


def test_what_is_said_aloud_has_one_full_stop(asked):
    page, root, _ = asked
    written = write(root, "I am tired.")["translation"]
    page.wait_for_function(
        "document.querySelector('.machine-live').textContent.includes('French:')"
    )
    assert root.get_by_role("status").inner_text() == f"French: {written}"
    assert re.search(r"\w\.$", written)


def test_a_link_leads_to_what_is_written_and_back(asked):
    page, root, _ = asked
    page.emulate_media(reduced_motion="reduce")
    page.evaluate(
        """() => document.body.insertAdjacentHTML("beforeend",
            `<p style="margin:2000px 0"><a href="#translator=off:%5B28%5D">this head</a></p>`)"""
    )
    page.get_by_role("link", name="this head").click()
    assert snapshot(root)["off"] == [28]
    top = root.locator(".translator-output").evaluate("node => node.getBoundingClientRect().top")
    assert 0 <= top <= 60
    root.get_by_role("button", name="Back to the text").click()
    assert page.evaluate("document.activeElement.textContent") == "this head"
    assert page.get_by_role("link", name="this head").evaluate(
        "node => node.getBoundingClientRect().top < innerHeight"
    )
    assert root.get_by_role("button", name="Back to the text").count() == 0


RIGHT = translators.RIGHT_SENTENCES


@pytest.mark.parametrize("first", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_the_page_counts_the_heads_that_a_sentence_misses(asked, first):
    """As `widgets.heads_that_matter` and `widgets.without_you` say it."""
    _, root, _ = asked
    said = []
    for text in RIGHT[:1] if first else RIGHT[1:]:
        whole = write(root, text)["translation"]
        alone = Counter(
            root.evaluate(
                """(root, lamps) => [...root.querySelectorAll(lamps)].map(lamp => {
                    lamp.click();
                    const { translation } = root.snapshot();
                    lamp.click();
                    return translation;
                })""",
                LAMPS,
            )
        )
        said.append((alone.pop(whole), alone))
    if not first:
        assert [same for same, _ in said] == [36] * 4
        return
    assert said[0][0] == 25
    only_you = [n for words, n in said[0][1].items() if words.endswith("pas ce que vous voulez.")]
    assert only_you == [9]
    assert sum(n for words, n in said[0][1].items() if words.startswith("j'ignore")) == 2
    write(root, FIRST)
    root.evaluate("root => root.hide(5)")
    assert snapshot(root)["translation"].endswith("pas ce que ce veut.")


SENTENCES = {
    "I am happy": 1,
    "I am happy. You are right.": 2,
    "Mr. Smith left at 6 p.m. today.": 1,
    "“Says who?” “Says me!”": 2,
    "Why... ?! Because.": 2,
    "?": 0,
}


def test_page_and_python_count_the_same_sentences(asked):
    _, root, _ = asked
    for text, count in SENTENCES.items():
        assert count_sentences(tasks.tokenize(text)) == count
        write(root, text)
        said = root.locator(".translator-flag").inner_text()
        assert ("from one sentence at a time" in said) == (count > 1), text


# ---- For every reader.


@pytest.mark.parametrize(("theme", "width"), THEMES_AND_WIDTHS)
def test_nothing_to_complain_of(open_page, book, theme, width):
    page, record = open_page((book / "chapters" / "10.html").as_uri(), theme=theme, width=width)
    root = page.locator(".machine-translator")
    ready(page, TRANSFORMER)
    write(root, "My grandmother hates thunderstorms ☂ and the whole of the very cold winter here.")
    source(root, 1).click()
    target(root, 1).click()
    root.locator(".translator-choice").nth(1).click()
    page.locator(LAMPS).nth(5).click()
    snapshot(root)  # what is greyed out until it is there
    assert root.locator(".translator-unknown").count() > 0
    assert root.locator(".translator-changed").count() > 0
    settle(page)
    assert complaints(page, record, width) == []
    record.console.clear()  # of what axe asked for
    root.get_by_role("tab", name="Map").click()
    root.locator(".translator-row").nth(1).click()
    assert len(search(root, 5)["kept"]) == 5
    settle(page)
    assert complaints(page, record, width) == []


BY_HEART = "I know it by heart."  # translate.md sends the reader there


def test_a_beam_finds_the_sentence_that_a_greedy_search_misses(asked, widget):
    _, root, record = asked
    select(root, RECURRENT)
    greedy = write(root, BY_HEART)
    assert greedy["translation"] == "je le connais en cœur."
    assert greedy["kept"] == []
    expect(root.locator(".translator-kept")).to_be_hidden()
    found = search(root, 5)
    agree(found, want(widget, BY_HEART, model=RECURRENT, beam_size=5))
    assert found["translation"] == found["kept"][0][0] == "je le connais par cœur."
    said = root.locator(".translator-said").inner_text()
    first, second = greedy["translation"], found["translation"]
    assert said.startswith("Greedy, with probability ")
    assert said.index(first) < said.index("With a beam of 5") < said.index(second)
    assert root.get_by_role("status").inner_text() == said
    rows = root.locator(".translator-beam li")
    assert rows.count() == len(found["kept"]) == 5
    assert [row.split("\n")[0] for row in rows.all_inner_texts()] == [
        text for text, _ in found["kept"]
    ]
    chosen = root.locator(".translator-target .translator-searched")
    assert chosen.count() >= 1
    assert "chosen by the beam" in chosen.first.get_attribute("aria-label")
    assert search(root, 1) == greedy
    assert record.console == []


def test_a_hypothesis_without_a_word_says_that_it_ends_at_once(asked):
    _, root, _ = asked
    write(root, "I want to check it out.")
    found = search(root, 5)
    (place,) = (at for at, (text, _) in enumerate(found["kept"]) if text == "")
    assert place > 0
    rows = root.locator(".translator-beam").get_by_role("listitem")
    empty = rows.nth(place).locator("span").first
    assert empty.inner_text() == "(ends at once)"
    colour = "node => getComputedStyle(node).color"
    assert empty.evaluate(colour) == root.locator(".translator-forgiven").evaluate(colour)
    others = [one for at, one in enumerate(rows.all_inner_texts()) if at != place]
    assert not [one for one in others if one.startswith(("(", "\n"))]


def test_a_beam_with_words_hidden_and_with_one_of_the_readers(asked, widget):
    _, root, _ = asked
    select(root, RECURRENT)
    write(root, BY_HEART)
    search(root, 5)
    root.evaluate("root => root.hide(3)")
    hidden = snapshot(root)
    agree(hidden, want(widget, BY_HEART, [3], model=RECURRENT, beam_size=5))
    assert root.locator(".translator-said").inner_text().startswith("You hid “by”.")
    root.evaluate("root => root.hide(3)")
    target(root, 0).click()
    root.locator(".translator-choice").nth(2).click()
    found = snapshot(root)
    assert found["forced"]
    torch = want(widget, BY_HEART, (), found["forced"], model=RECURRENT, beam_size=5)
    agree(found, torch)


def test_a_word_that_the_beam_passed_over_can_be_written_for_it(asked, widget):
    """With a beam even the likeliest must be forced, or the beam would take its own again."""
    _, root, _ = asked
    select(root, RECURRENT)
    write(root, BY_HEART)
    passed = next(
        at
        for at, (piece, best) in enumerate(zip(search(root, 5)["pieces"]["target"],
                                               snapshot(root)["candidates"], strict=True))
        if piece != best[0][0]
    )  # fmt: skip
    root.get_by_label("Word being written").evaluate(
        "(node, at) => { node.value = at; node.dispatchEvent(new Event('input')); }", passed
    )
    best = snapshot(root)["candidates"][passed][0][0]
    root.locator(".translator-choice").first.click()
    assert snapshot(root)["pieces"]["target"][passed] == best
