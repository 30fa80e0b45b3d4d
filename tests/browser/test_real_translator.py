"""The translator of real language as a reader uses it: asked for, typed into, contradicted."""

import re

import pytest
from playwright.sync_api import expect

from attnbook import translators, widgets
from attnbook.machines.live_translator import page as book_page
from attnbook.machines.live_translator import shown
from attnbook.machines.live_translator.familiar import count_sentences
from attnlab import tasks
from tests.browser.conftest import opened, serving
from tests.browser.explorer_page import (
    ATTACK,
    THEMES_AND_WIDTHS,
    complaints,
    follow,
    settle,
    start_widgets,
    write_page,
)
from tests.browser.translator_page import bring_back, ready, translator

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
    with opened(browser, (book / "chapters" / "10.html").as_uri()) as (page, record):
        page.on("dialog", lambda _: pytest.fail("the text ran as a script"))
        start_widgets(page)
        ready(page, TRANSFORMER)
        yield page, translator(page), record


@pytest.fixture
def asked(only):
    """The same as it opens, at its first sentence."""
    page, root, record = only
    bring_back(page, "translator", record)
    assert root.snapshot()["text"] == FIRST
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
    return root.snapshot()


def agree(found: dict, torch: shown.Shown) -> None:
    source, target, weights = torch.by_word()
    assert (found["source"], found["target"]) == (source, target)
    assert found["pieces"] == {"source": torch.source, "target": torch.target}
    for row, expected in zip(found["weights"], weights.tolist(), strict=True):
        assert row == pytest.approx(expected, abs=1e-4)


def test_nothing_is_loaded_before_it_is_asked_for(open_page, book, on_demand):
    with serving(book) as url:
        page, record = open_page(f"{url}chapters/asking.html")
        root = translator(page)
        button = root.get_by_role("button", name="Load the model")
        assert root.get_by_role("textbox").input_value() == FIRST
        expect(root.locator(".translator-walk")).to_be_hidden()
        page.wait_for_timeout(500)
        assert not [one for one in record.requests if "live-translator" in one]
        button.click()
        ready(page, TRANSFORMER)
        agree(root.snapshot(), want(on_demand, FIRST))
        assert root.get_by_role("textbox").evaluate("node => node === document.activeElement")
        select(root, RECURRENT)
        fetched = [one for one in record.requests if "live-translator" in one]
        assert fetched == [f"{url}_static/{name}" for name in on_demand.files]
        sizes = [(book / "_static" / name).stat().st_size for name in on_demand.files]
        assert max(sizes) <= 2_000_000
        assert record.console == record.other_hosts() == []


def test_from_a_file_too_and_both_models_keep_the_sentence(asked, widget):
    _, root, _ = asked
    text = "My neighbour's grandmother was never afraid of storms."
    first = root.write(text)
    agree(first, want(widget, text))
    select(root, RECURRENT)
    second = root.snapshot()
    agree(second, want(widget, text, model=RECURRENT))
    assert second["source"] == first["source"]
    assert second["weights"] != first["weights"]
    assert root.get_by_role("textbox").input_value() == text
    expect(root.locator(".translator-head")).to_be_hidden()


def test_pieces_are_drawn_and_hidden_as_one_word(asked, widget):
    _, root, _ = asked
    text = "My grandmother hates thunderstorms."
    place = root.write(text)["source"].index("thunderstorms")
    word = root.source(place)
    pieces = word.locator(".translator-piece").all_inner_texts()
    assert "".join(pieces) == "thunderstorms"
    assert f"{len(pieces)} pieces: {', '.join(pieces)}" in word.get_attribute("aria-label")
    first, end = want(widget, text).source_words[place]
    assert end - first == len(pieces) > 1
    word.click()
    found = root.snapshot()
    agree(found, want(widget, text, [place]))
    assert not any(row[place] for row in found["weights"])
    heads = [head for step in found["heads"] for layer in step for head in layer]
    assert not any(head[at] for head in heads for at in range(first, end))


def test_the_reader_writes_another_word_and_takes_it_back(asked, widget):
    _, root, _ = asked
    before = root.write("Do you want some water?")
    root.get_by_role("slider").press("Home")
    others = root.locator(".translator-choice")
    assert others.first.get_attribute("aria-pressed") == "true"
    text = before["candidates"][0][1][0]
    others.nth(1).press("Enter")
    found = root.snapshot()
    forced = [widget.translator.target_vocab.ids[text]]
    agree(found, want(widget, "Do you want some water?", forced=forced))
    assert found["pieces"]["target"][0] == text
    assert found["forced"] == forced
    assert root.locator(".translator-said").inner_text().startswith("You wrote “")
    assert "written by you" in root.target(0).get_attribute("aria-label")
    root.get_by_role("button", name="Let it choose again").click()
    assert (root.snapshot()["pieces"], root.snapshot()["forced"]) == (before["pieces"], [])


def test_another_sentence_and_another_model_forget_what_was_forced(asked, widget):
    page, root, _ = asked
    for change in (lambda: root.write("I am tired."),
                   lambda: root.get_by_label("Model").select_option(RECURRENT)):  # fmt: skip
        root.target(0).click()
        root.locator(".translator-choice").nth(1).click()
        assert root.snapshot()["forced"] != []
        change()
        page.wait_for_function(
            "document.querySelector('.machine-translator')?.snapshot?.()?.forced.length === 0"
        )


def test_the_map_has_every_layer_and_head(asked, widget):
    _, root, _ = asked
    root.get_by_role("tab", name="Map").click()
    torch = want(widget, FIRST)
    layers, heads = torch.weights.shape[1:3]
    small, chosen = root.locator(".translator-small"), root.locator(".translator-head")
    assert small.count() == 1 + layers * heads
    spans, cells = (torch.target_words, torch.source_words), ".translator-table tbody td"
    for layer, head, choose in (
        (1, 2, lambda: small.nth(1 + 1 * heads + 2).click()),
        (0, 1, lambda: chosen.select_option("layer 0, head 1")),
    ):
        choose()
        assert chosen.input_value() == f"{layer} {head}"
        expected = shown.word_weights(torch.weights[:, layer, head], *spans).flatten().tolist()
        shares = root.locator(cells).evaluate_all(
            "cells => cells.map(cell => parseFloat(cell.style.getPropertyValue('--machine-share')))"
        )
        assert shares == pytest.approx([100 * one for one in expected], abs=0.06)
        heard = root.locator(f"{cells} span").all_text_contents()
        assert [float(one) for one in heard] == pytest.approx(expected, abs=0.006)
    root.locator(".translator-column").nth(2).click()
    assert root.snapshot()["hidden"] == [2]
    root.locator(".translator-row").nth(1).click()
    assert root.snapshot()["step"] == torch.target_words[1][0]
    root.get_by_role("tab", name="Map").press("ArrowLeft")
    assert root.snapshot()["as"] == "lines"
    assert root.locator(".translator-lines path").count() >= 1


def test_the_scrubber_goes_piece_by_piece(asked, widget):
    _, root, _ = asked
    text = "The astronomers photographed a comet."
    torch = want(widget, text)
    root.write(text)
    long_word = next(at for at, (first, end) in enumerate(torch.target_words) if end - first > 1)
    first, end = torch.target_words[long_word]
    for step in [*range(first, end), None]:
        root.target(long_word).click()
        found = root.snapshot()
        assert found["step"] == step
        if step is not None:
            row = shown.word_weights(torch.mean_weights()[[step]], [(0, 1)], torch.source_words)[0]
            assert found["weights"][long_word] == pytest.approx(row.tolist(), abs=1e-4)
            words = f"piece {step + 1} of {len(torch.target)}"
            assert root.get_by_role("slider").get_attribute("aria-valuetext") == words


def test_typing_is_never_blocked_and_what_is_old_is_greyed_out(asked, widget):
    page, root, _ = asked
    output, text = root.locator(".translator-output"), "we did not know that " * 8
    before = output.inner_text()
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
    agree(root.snapshot(), want(widget, text))
    # A new key stroke takes the place of a translation that is under way.
    root.get_by_role("textbox").fill(text + "!")
    agree(root.write("I am tired."), want(widget, "I am tired."))


@pytest.mark.parametrize("model", [TRANSFORMER, RECURRENT])
def test_no_sentence_to_choose_is_flagged(asked, model):
    _, root, _ = asked
    select(root, model)
    for text in translators.REAL_SENTENCES:
        root.evaluate("root => root.hide(1)")
        one = root.get_by_role("button", name=text, exact=True)
        one.click()
        found = root.snapshot()
        assert (found["text"], found["hidden"]) == (text, [])
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
    "Chinese": ("我不知道 你好 再见", "Are they English?"),
    "200 words": ("the old cat " * 67, "That is 201 words: only the first"),
    "a script": (ATTACK, "In no sentence that it learned from: <"),
    "rare words": ("thunderstorms", "which fall into many pieces"),
    "one long word": ("a" * 5000, "Of the sentences that it learned from, 99 in 100"),
    "two sentences": ("I am happy. You are right.", "from one sentence at a time, and this has 2"),
}


@pytest.mark.parametrize("name", STRANGE)
def test_strange_input_gets_a_clear_answer(asked, widget, name):
    page, root, _ = asked
    text, says = STRANGE[name]
    found = root.write(text)
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
    flag = root.locator(".translator-flag")
    root.write("very " * (usual - 1))  # and a full stop
    assert f"at most {usual} pieces" not in flag.inner_text()
    root.write("very " * usual)
    assert f"at most {usual} pieces, and this has {usual + 1}" in flag.inner_text()
    link = flag.get_by_role("link", name="Chapter 10")
    assert link.evaluate("node => node.href") == (book / LENGTH_PAGE).as_uri() + SECTION


# ---- An end, and no end.


def test_a_text_without_an_end_gets_one_and_loses_it_again(asked, widget):
    page, root, _ = asked
    flag, added = root.locator(".translator-flag"), root.locator(".translator-added")
    agree(root.write("Thank you"), want(widget, "Thank you."))
    assert "A full stop was added" in flag.inner_text()
    assert added.inner_text() == "."
    root.get_by_role("button", name="Leave it out").click()
    found = root.snapshot()
    agree(found, want(widget, "Thank you", stop=False))
    assert found["stuck"]
    assert "It repeats itself, and was stopped." in flag.inner_text()
    assert added.count() == 0
    page.wait_for_url("**#**full_stop:false")
    root.get_by_role("button", name="Add one").click()
    agree(root.snapshot(), want(widget, "Thank you."))
    for text in ("Thank you!", "Who is it?", "“Thank you.”"):
        agree(root.write(text), want(widget, text, stop=False))
        assert "full stop" not in flag.inner_text()


# ---- Heads.


LAMPS = ".translator-kinds div div button"
"""Of single heads."""


def test_a_way_of_looking_goes_as_a_whole(asked, widget):
    page, root, _ = asked
    ways, back = page.locator(".translator-way"), list(range(12, 24))
    ways.nth(1).click()
    found = root.snapshot()
    assert found["off"] == back
    agree(found, want(widget, FIRST, off=back))
    ways.nth(0).press("Enter")
    assert root.snapshot()["off"] == list(range(24))
    ways.nth(1).click()
    root.locator(LAMPS).nth(3).click()
    assert root.snapshot()["off"] == [head for head in range(12) if head != 3]
    assert [one.get_attribute("aria-pressed") for one in ways.all()] == ["mixed", "true", "true"]
    for off in (list(range(12)), []):
        ways.nth(0).click()
        assert root.snapshot()["off"] == off


def test_heads_are_switched_off_and_on(asked, widget):
    page, root, _ = asked
    count = len(shown.heads_of(widget.translator.model))
    lamps, name = root.locator(LAMPS), root.locator(".translator-off-name")
    assert lamps.count() == count == 36
    assert name.inner_text() == "Switch heads off: 36 of 36 are on"
    lamps.nth(26).click()
    lamps.nth(13).press("Enter")
    found = root.snapshot()
    agree(found, want(widget, FIRST, off=[13, 26]))
    assert "You switched off 2 of its 36 heads." in root.locator(".translator-said").inner_text()
    assert not any(any(row) for row in [step[0][2] for step in found["heads"]])
    page.wait_for_url("**off:**")
    best = root.locator(".translator-worth button")
    for at, (bleu, off) in enumerate(widget.best):
        assert f"{bleu:.1f}" in best.nth(at).inner_text()
        best.nth(at).click()
        found = root.snapshot()
        assert found["off"] == off
        agree(found, want(widget, FIRST, off=off))
        assert best.nth(at).get_attribute("aria-pressed") == "true"
    root.get_by_role("button", name="Switch them on").click()
    assert root.snapshot()["off"] == []
    select(root, RECURRENT)
    expect(root.locator(".translator-off")).to_be_hidden()


def test_what_is_written_stands_above_the_switches_and_each_bar_says_what_it_is(asked, widget):
    page, root, _ = asked
    lit, how = root.locator(".translator-was"), root.locator(".translator-worth-how")
    now = root.locator(".translator-is")
    assert lit.inner_text().removeprefix("All on:").strip() == root.snapshot()["translation"]
    assert now.inner_text().endswith("press a way of looking, a head, or a bar")
    ticks = root.locator(".translator-worth b").evaluate_all(
        "ticks => ticks.map(tick => Number(tick.style.getPropertyValue('--translator-lot')))"
    )
    most = widget.best[0][0]
    assert ticks == pytest.approx([one / most for three in widget.by_lot[1:-1] for one in three])
    assert not how.inner_text().startswith("No bar")
    follow(page, f"translator=off:{list(range(24, 36))}")
    translation = root.snapshot()["translation"]  # what was greyed out is there then
    assert how.inner_text().startswith("No bar was measured")
    assert now.inner_text().removeprefix("Now:").strip() == translation
    looked = root.locator(".translator-looked-name").inner_text()
    assert looked.endswith("it looked at nothing: what is shown is switched off")


def test_what_the_heads_change_is_told_from_what_a_hidden_word_does(asked, widget):
    """All on: the same word hidden. What it would have written without that stands in the box."""
    _, root, _ = asked
    lit, now = root.locator(".translator-was"), root.locator(".translator-is")
    root.evaluate("root => root.hide(5)")
    hidden = root.snapshot()["translation"]
    assert hidden.endswith("ce que ce veut.")
    assert lit.inner_text().removeprefix("All on:").strip() == hidden
    assert "ce veut" not in now.inner_text()  # no head is off
    root.locator(LAMPS).nth(28).click()
    both = root.snapshot()
    agree(both, want(widget, FIRST, [5], off=[28]))
    for line, said in ((lit, f"All on:{hidden}"), (now, f"Now:{both['translation']}")):
        assert line.inner_text().replace(": ", ":").replace("\n", "") == said
    said = root.locator(".translator-said").inner_text()
    assert "Before: je ne sais pas ce que tu veux." in said


NAMED = {
    "You switched off head 2 of layer 1 of “French looks at English”.": [30],
    "You switched off all of “French looks back”.": list(range(12, 24)),
    "You switched off 2 of its 36 heads.": [12, 13],
    "You switched off 12 of its 36 heads.": list(range(6, 18)),
}


def test_the_box_names_what_is_off(asked):
    page, root, _ = asked
    for says, off in NAMED.items():
        follow(page, f"translator=off:{off}")
        assert root.snapshot()["off"] == off
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
    assert root.snapshot()["off"] == [0]
    assert root.locator(".translator-stale").count() == 0


def test_what_is_unlikely_is_not_said_to_be_impossible(asked):
    _, root, _ = asked
    assert root.locator(".translator-other li span:last-child").last.inner_text() == "<0.01"
    last = root.locator(".translator-other .translator-choice").last
    assert ", <0.01, write it" in last.get_attribute("aria-label")


def test_what_is_said_aloud_has_one_full_stop(asked):
    _, root, _ = asked
    written = root.write("I am tired.")["translation"]
    assert re.search(r"\w\.$", written)
    root.get_by_role("status").get_by_text(f"French: {written}", exact=True).wait_for()


def test_a_link_leads_to_what_is_written_and_back(asked):
    page, root, _ = asked
    page.emulate_media(reduced_motion="reduce")
    page.evaluate(
        """() => document.body.insertAdjacentHTML("beforeend",
            `<p style="margin:2000px 0"><a href="#translator=off:%5B28%5D">this head</a></p>`)"""
    )
    page.get_by_role("link", name="this head").click()
    assert root.snapshot()["off"] == [28]
    top = root.locator(".translator-output").evaluate("node => node.getBoundingClientRect().top")
    assert 0 <= top <= 60
    root.get_by_role("button", name="Back to the text").click()
    assert page.evaluate("document.activeElement.textContent") == "this head"
    assert page.get_by_role("link", name="this head").evaluate(
        "node => node.getBoundingClientRect().top < innerHeight"
    )
    assert root.get_by_role("button", name="Back to the text").count() == 0


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
        root.write(text)
        said = root.locator(".translator-flag").inner_text()
        assert ("from one sentence at a time" in said) == (count > 1), text


# ---- For every reader.


@pytest.mark.parametrize(("theme", "width"), THEMES_AND_WIDTHS)
def test_nothing_to_complain_of(open_page, book, theme, width):
    page, record = open_page((book / "chapters" / "10.html").as_uri(), theme=theme, width=width)
    root = translator(page)
    ready(page, TRANSFORMER)
    root.write("My grandmother hates thunderstorms ☂ and the whole of the very cold winter here.")
    root.source(1).click()
    root.target(1).click()
    root.locator(".translator-choice").nth(1).click()
    page.locator(LAMPS).nth(5).click()
    root.snapshot()  # what is greyed out until it is there
    assert root.locator(".translator-unknown").count() > 0
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
    _, root, _ = asked
    select(root, RECURRENT)
    greedy = root.write(BY_HEART)
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
    rows = root.locator(".translator-beam li").all_inner_texts()
    assert [row.split("\n")[0] for row in rows] == [text for text, _ in found["kept"]]
    chosen = root.locator(".translator-target .translator-searched").first
    assert "chosen by the beam" in chosen.get_attribute("aria-label")
    assert search(root, 1) == greedy


def test_a_hypothesis_without_a_word_says_that_it_ends_at_once(asked):
    _, root, _ = asked
    root.write("I want to check it out.")
    found = search(root, 5)
    (place,) = (at for at, (text, _) in enumerate(found["kept"]) if text == "")
    said = root.locator(".translator-beam li").all_inner_texts()
    assert [at for at, row in enumerate(said) if row.startswith("(ends at once)")] == [place]


def test_a_word_that_the_beam_passed_over_can_be_written_for_it(asked, widget):
    """With a beam even the likeliest must be forced, or the beam would take its own again."""
    _, root, _ = asked
    select(root, RECURRENT)
    root.write(BY_HEART)
    found = search(root, 5)
    likeliest = [best[0][0] for best in found["candidates"]]
    pairs = enumerate(zip(found["pieces"]["target"], likeliest, strict=True))
    passed = next(at for at, (piece, best) in pairs if piece != best)
    root.get_by_label("Word being written").evaluate(
        "(node, at) => { node.value = at; node.dispatchEvent(new Event('input')); }", passed
    )
    root.locator(".translator-choice").first.click()
    found = root.snapshot()
    assert found["pieces"]["target"][passed] == likeliest[passed]
    agree(found, want(widget, BY_HEART, (), found["forced"], model=RECURRENT, beam_size=5))
