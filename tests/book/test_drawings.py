"""The drawings: their form, their colours, and that their numbers are those of the chapters."""

from __future__ import annotations

import cmath
import itertools
import json
import math
import re
import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace

import matplotlib
import matplotlib.style
import numpy as np
import pytest
import torch
from docutils import nodes
from sphinx.errors import ExtensionError

import attnkit
from attnbook import drawings, recorded
from attnbook.drawings import (
    DRAWINGS,
    additive,
    bugs,
    cache,
    heads,
    latent,
    lookup,
    masks,
    online_softmax,
    places,
    projections,
    scores,
    sharpness,
    sphinx_ext,
    summaries,
    three_looks,
    translation,
    waves,
)
from attnbook.drawings.drawing import HERE, Drawing, style_sheet
from attnbook.drawings.sheet import Sheet, number, vector
from attnbook.figures import ch06
from attnbook.machines import Canteen, OrderMachine
from attnbook.releases import DATA as RELEASES
from attnkit import LuongAttention, positions
from attnkit.masks import causal, sliding_window
from attnkit.viz import palette
from attnkit.viz.palette import ROLES, contrast
from attnlab import Translator, metrics
from attnlab.decoding.predictions import predict, teacher_forced_weights
from attnlab.tasks import Batches, Pair, collate, detokenize, tatoeba, tokenize
from booktools import claims, gates, normal_form
from tests.book.chapter import page_cells

EACH = pytest.mark.parametrize("drawing", DRAWINGS.values(), ids=lambda drawing: drawing.name)
SVG = "{http://www.w3.org/2000/svg}"
# The width in pixels of the text column on a telephone of 360 pixels; a browser test holds it.
PHONE_COLUMN = 328


def figure(drawing: Drawing) -> ElementTree.Element:
    return ElementTree.fromstring(drawing.inline())


def parsed(sheet: Sheet) -> ElementTree.Element:
    return ElementTree.fromstring(f"<g>{sheet.markup()}</g>")


def words(drawing: Drawing, frame: int = 0, layout: str = "") -> list[str]:
    sheets = drawing.layouts[layout or next(iter(drawing.layouts))]
    return ["".join(text.itertext()) for text in parsed(sheets[frame]).iter("text")]


def two_digits(values) -> list[str]:
    return [f"{value:.2f}" for value in values]


@EACH
def test_drawing_says_what_it_shows(drawing):
    svgs = list(figure(drawing).iter(f"{SVG}svg"))
    assert len(svgs) == len(drawing.layouts) * max(1, len(drawing.says))
    for svg in svgs:
        assert svg.get("role") == "img"
        title, description = svg.find(f"{SVG}title"), svg.find(f"{SVG}desc")
        assert svg.get("aria-labelledby") == title.get("id")
        assert svg.get("aria-describedby") == description.get("id")
        assert 15 <= len(title.text) <= 130
        assert len(description.text) >= 40
    assert drawing.title.endswith(".")
    assert drawing.description.endswith(".")


def test_no_id_is_used_twice():
    elements = (element for drawing in DRAWINGS.values() for element in figure(drawing).iter())
    every = [element.get("id") for element in elements if element.get("id")]
    assert len(every) == len(set(every)) > len(DRAWINGS)


@EACH
def test_no_colour_but_the_palettes(drawing):
    """A colour comes by a class, and each class is one that the style sheet knows."""
    known = set(re.findall(r"\.(d-[\w-]+)", style_sheet()))
    for element in figure(drawing).iter():
        assert not {"fill", "stroke", "style", "color", "opacity"} & set(element.keys())
        if element.tag.startswith(SVG):
            assert set(element.get("class", "").split()) <= known


@EACH
def test_words_can_be_read_on_a_telephone(drawing):
    for sheet in drawing.layouts["narrow"]:
        smallest = min(float(text.get("font-size")) for text in parsed(sheet).iter("text"))
        assert smallest * PHONE_COLUMN / sheet.width >= 11


@EACH
def test_file_is_what_the_drawing_gives(drawing):
    """Jupyter and GitHub show the file; `python -m attnbook.drawings` writes it."""
    text = (HERE / f"{drawing.name}.svg").read_text("utf8")
    assert text == drawing.standalone()
    root = ElementTree.fromstring(text)
    assert root.find(f"{SVG}title").text == drawing.title


def test_every_file_is_of_a_drawing():
    assert {path.stem for path in HERE.glob("*.svg")} == set(DRAWINGS)


def test_a_stepper_has_a_sentence_for_each_frame():
    sheets = [Sheet(10, 10), Sheet(10, 10)]
    short = Drawing("short", "A title.", "A description.", lambda narrow: sheets, says=("One.",))
    with pytest.raises(ValueError, match="short: expected one sentence for each of the 2 frames"):
        short.inline()


# -- in the chapters -------------------------------------------------------------------------


def shown() -> dict[str, list[tuple[str, str]]]:
    """For each chapter, and each page beside them, the texts and paths of its drawings."""
    pattern = re.compile(r"!\[([^\]]*)\]\((\S*attnbook/drawings/\S+)\)")
    texts = {path.name: path.read_text("utf-8") for path in gates.ROOT.glob("*.md")}
    texts |= {
        path.relative_to(gates.ROOT).as_posix(): "\n".join(
            cell.source for cell in normal_form.read(path).cells if cell.cell_type == "markdown"
        )
        for path in gates.notebooks()
    }
    return {name: pattern.findall(text) for name, text in texts.items()}


def test_pages_show_each_drawing_and_chapters_with_its_title():
    found = [(page, alt, re.search(r"drawings/([\w-]+)\.svg", path)[1])
             for page, pairs in shown().items() for alt, path in pairs]  # fmt: skip
    assert {name for _, _, name in found} == set(DRAWINGS)
    titles = [(name, alt) for page, alt, name in found if page.endswith(".ipynb")]
    assert titles == [(name, DRAWINGS[name].title) for name, _ in titles]


@pytest.fixture
def transform(monkeypatch):
    """`transform(uri)` is what becomes of a paragraph with that image."""

    def of(uri: str) -> nodes.section:
        inline = sphinx_ext.Inline.__new__(sphinx_ext.Inline)
        inline.document = nodes.section("", nodes.paragraph("", "", nodes.image(uri=uri, alt="x")))
        inline.apply()
        return inline.document

    monkeypatch.setattr(sphinx_ext.Inline, "env", SimpleNamespace(docname="page"))
    return of


def test_an_image_of_a_drawing_becomes_the_drawing_and_another_stays_one(transform):
    (raw,) = transform("../attnbook/drawings/encoder-decoder.svg").children
    assert raw["format"] == "html"
    assert raw.astext() == DRAWINGS["encoder-decoder"].inline()
    assert len(list(transform("_static/encoder-decoder.svg").findall(nodes.image))) == 1
    with pytest.raises(ExtensionError, match=r"page: expected a drawing among .*, got"):
        transform("../attnbook/drawings/nothing.svg")


# -- the palette -----------------------------------------------------------------------------


@pytest.mark.parametrize("dark", [False, True])
def test_roles_and_words_can_be_read(dark):
    found = palette.properties(dark)
    for role in ROLES.values():
        ink, fill = (role.dark, role.dark_fill) if dark else (role.light, role.light_fill)
        assert min(contrast(ink, found["attn-page"]), contrast(ink, fill)) >= 4.5, role
    for name in ("attn-ink", "attn-muted"):
        assert contrast(found[name], found["attn-page"]) >= 4.5
    for kind, step in itertools.product(("weight", "score"), range(palette.LEVELS)):
        level = f"attn-{kind}-{step}"
        assert contrast(found[level], found[f"{level}-ink"]) >= 4.5


# Machado et al. (2009), table 1, severity 1.0.
SIGHT = {
    "usual": np.eye(3).tolist(),
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                   [0.004733, 0.691367, 0.303900]],
}  # fmt: skip


def _linear(colour: str) -> np.ndarray:
    parts = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def _lab(linear: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of linear sRGB, in which equal distances look about equally large."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(to_xyz) @ linear.clip(0, 1) / [0.9505, 1, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("dark", [False, True])
def test_no_two_roles_are_mistaken_for_each_other(sight, dark):
    """A distance of 2 can just be seen side by side; 20 is another colour."""
    colours = {name: role.dark if dark else role.light for name, role in ROLES.items()}
    seen = {name: _lab(np.array(SIGHT[sight]) @ _linear(one)) for name, one in colours.items()}
    for one, other in itertools.combinations(seen, 2):
        assert np.linalg.norm(seen[one] - seen[other]) >= 20, (one, other)
        assert ROLES[one].shape != ROLES[other].shape


def test_a_page_in_forced_colours_has_only_the_readers():
    system = {"Canvas", "CanvasText", "GrayText", "Highlight"}
    assert set(palette.forced().values()) <= system
    roles = {name for name in palette.properties() if not re.search(r"-\d", name)}
    assert set(palette.forced()) == roles


def turned_over(colour: str) -> str:
    """What `filter: invert(1) hue-rotate(180deg)` makes of a colour (Filter Effects, section 7)."""
    parts = 1 - np.array(matplotlib.colors.to_rgb(colour))
    cosine = -1.0
    luma = np.array([0.213, 0.715, 0.072])
    matrix = luma + cosine * (np.eye(3) - luma)
    return matplotlib.colors.to_hex((matrix @ parts).clip(0, 1))


def test_a_plot_has_no_ground_and_can_be_read_on_both_pages():
    with matplotlib.style.context("attnbook.style"):
        style = dict(matplotlib.rcParams)
    for name in ("figure", "axes", "savefig", "legend"):
        assert style[f"{name}.facecolor"] == "none"
    for name in ("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"):
        assert contrast(style[name], palette.PAGE) >= 4.5
        assert contrast(turned_over(style[name]), palette.PAGE_DARK) >= 4.5
    for name in ("axes.edgecolor", "xtick.color", "ytick.color"):
        assert contrast(style[name], palette.PAGE) >= 3
        assert contrast(turned_over(style[name]), palette.PAGE_DARK) >= 3
    for role in ROLES.values():
        assert contrast(turned_over(role.light), palette.PAGE_DARK) >= 4.5


# -- numbers: those of the example beside the drawing ------------------------------------------


EXERCISES = gates.ROOT / "appendices" / "exercises"


def cells(chapter: str, *names: str, until: str = "", folder=gates.CHAPTERS) -> dict:
    """What the named cells of a chapter define, run in their order; the last `until` a line."""
    source = page_cells(chapter, folder)
    found: dict = {"__name__": "__main__"}
    if until:
        source[names[-1]], _ = source[names[-1]].split(f"\n{until}", 1)
    with torch.enable_grad():  # chapter 13 turns gradients off, and the next test wants them
        for name in names:
            exec(source[name], found)
    return found


def printed(text: str) -> list[float]:
    return [float(one) for one in re.findall(r"-?\d+(?:\.\d+)?", text)]


def test_encoder_decoder_shows_what_the_model_writes():
    """The states are the ones that the model has when it reads the word as a whole."""
    kept = recorded.model("backwards_vector_2000")
    pair = Pair(list(drawings.encoder_decoder.SOURCE), list(drawings.encoder_decoder.RIGHT))
    batches = Batches([pair], kept.source_vocab, kept.target_vocab, batch_size=1)
    found = drawings.encoder_decoder.run()
    (written,) = predict(kept.model, batches)
    assert [*written, "<eos>"] == list(found.written) == ["t", "a", "c", "<eos>"]
    source = torch.tensor([kept.source_vocab.encode(pair.source)])
    told = torch.tensor([[kept.model.bos, *kept.target_vocab.encode(written)]])
    with torch.no_grad():
        encoded = kept.model.encoder(source)
        states, _ = kept.model.decoder.rnn(
            kept.model.decoder.embedding(told),
            torch.tanh(kept.model.decoder.bridge(encoded.state)).transpose(0, 1),
        )
    torch.testing.assert_close(torch.tensor(found.written_states), states[0], atol=1e-5, rtol=0)
    assert {len(state) for state in found.read_states} == {64}


@pytest.mark.parametrize("chapter, name, found", [
    ("02", "query-key-value", lookup.PHONE_BOOK), ("05", "one-query", lookup.FIRST_QUERY),
])  # fmt: skip
def test_a_lookup_shows_the_example(capsys, chapter, name, found):
    run = cells(chapter, "by-hand")
    if chapter == "02":
        run |= cells(chapter, "as-matmul-code")
        run["output"] = run["weights"] @ run["V"]
        assert run["q"].tolist() == pytest.approx(found.query)
        assert run["K"].tolist() == [list(key) for key in found.keys]
        assert run["V"].tolist() == [list(value) for value in found.values]
    weights, output = (run[name][0].tolist() for name in ("weights", "output"))
    assert found.weights == pytest.approx(weights, abs=1e-6)
    assert found.output == pytest.approx(output, abs=1e-5)
    shown = {*two_digits(weights), *map(vector, (output, found.query, *found.keys))}
    assert shown <= set(words(DRAWINGS[name]))
    for number_ in (*weights, *output):
        assert number(number_) in DRAWINGS[name].description


def test_word_projections_are_those_of_the_example(capsys):
    run = cells("05b", "self-attention-code")
    for name, rows in (("X", "X"), ("W_q", "W_Q"), ("W_k", "W_K"), ("W_v", "W_V")):
        assert run[name].tolist() == [list(map(float, row)) for row in getattr(projections, rows)]
    assert run["words"] == list(projections.WORDS)
    drawn = words(DRAWINGS["word-projections"])
    for name in ("X", "query", "key", "value"):
        assert {vector(row) for row in run[name].tolist()} <= set(drawn)
    found = [*run["mutual"].flatten().tolist(), *run["scores"].flatten().tolist()]
    after = drawn[drawn.index("sleeps") + 5 :]
    assert [number(one) for one in found] == [word for word in after if word in "012"]
    assert set(two_digits(run["output"].flatten())) <= set(drawn)


def test_one_row_at_three_temperatures_is_the_examples(capsys):
    run = cells("05", "by-hand")
    raw = (run["Q"] @ run["K"].T)[0].double()
    at_two = sharpness.at_temperature(lookup.FIRST_QUERY.products, 2)
    assert at_two == pytest.approx(run["weights"][0].tolist(), abs=1e-6)
    expected = [w for t in sharpness.TEMPERATURES for w in two_digits((raw / t).softmax(-1))]
    drawn = words(DRAWINGS["one-row-three-temperatures"])
    assert expected == [w for w in drawn if re.fullmatch(r"\d\.\d\d", w)]


def test_additive_drawings_show_the_example(capsys):
    run = cells("03", "imports", "additive")
    layer, keys = run["layer"], run["h"][0]
    with torch.no_grad():
        assert layer.W(run["s"])[0].tolist() == list(additive.QUERY)
        assert layer.U(keys).tolist() == [list(map(float, key)) for key in additive.KEYS]
        hidden = torch.tanh(layer.W(run["s"]) + layer.U(keys))
        scores = layer.v(hidden)[:, 0].tolist()
    shares = run["weights"][0].tolist()
    assert additive.weights() == pytest.approx(shares, abs=1e-6)
    assert additive.context() == pytest.approx(run["context"][0].tolist(), abs=1e-6)
    whole, score = DRAWINGS["additive-whole"], DRAWINGS["additive-score"]
    with torch.no_grad():
        again = layer.v(torch.tanh(torch.tensor(additive.LOOKS[1][0]) + layer.U(keys)))[:, 0]
    assert again.argmax() == 1
    for drawing, numbers in ((whole, scores + shares), (score, scores + again.tolist())):
        assert set(two_digits(numbers)) <= set(words(drawing))
        assert all(expected in drawing.description for expected in two_digits(numbers))
    assert {vector(row, 3) for row in hidden.tolist()} <= set(words(whole))
    shown = (additive.STATE, additive.QUERY, *additive.STATES, additive.context())
    assert set(map(vector, shown)) <= set(words(whole))


def test_whole_heads_show_the_example(capsys):
    run = cells("08", "by-hand")
    assert run["x"].tolist() == [list(map(float, row)) for row in heads.X]
    assert run["W_o"].tolist() == [list(map(float, row)) for row in heads.W_O]
    drawn_heads = zip(heads.W_Q, heads.W_K, heads.W_V, strict=True)
    for own, drawn in zip(run["heads"], drawn_heads, strict=True):
        for matrix, rows in zip(own, drawn, strict=True):
            assert torch.equal(matrix, torch.tensor(rows, dtype=torch.float))
    found = [run["head"](run["x"], *own)[heads.ASKS].tolist() for own in run["heads"]]
    assert heads.joined() == pytest.approx([*found[0], *found[1]], abs=1e-6)
    output = run["output"][heads.ASKS].tolist()
    assert heads.output() == pytest.approx(output, abs=1e-6)
    drawing = DRAWINGS["whole-heads"]
    assert words(drawing)[-4:] == [number(value) for value in output]
    assert vector(output) in drawing.description
    for head in range(2):
        assert vector(heads.attended(head)) in words(drawing)
        for name in ("whole-heads", "two-heads"):
            assert set(two_digits(heads.weights(head))) <= set(words(DRAWINGS[name]))


def test_looks_are_counted():
    looks = words(DRAWINGS["twice-the-text"])
    assert looks == [w for n in (4, 8, 16) for w in (f"{n * n} looks", f"{n} words")]


def test_the_middle_takes_one_mix_from_the_other_as_the_text_does():
    text = page_cells("08")["machine-read"]
    first, second = (f"({vector(mix[:2])})" for mix in heads.MIXES)
    (hang, let, feed), turned = heads.differences()
    assert f"0.6 × {first} − 0.4 × {second} = ({vector([hang, let])})" in text
    assert (hang, let, feed) == pytest.approx((0.2, 0, 0))
    assert turned == pytest.approx([0, 0.2, 0])
    for shares in (*heads.MIXES, (hang, let, feed)):
        assert {number(share) for share in shares} <= set(words(DRAWINGS["the-middle"]))


def test_look_back_reads_the_chapters_list():
    text = page_cells("02")["failure"]
    assert ", ".join(f"{name} {n}" for name, n in drawings.memory.LIST) in text
    assert words(DRAWINGS["look-back"])[-1].endswith(f"{dict(drawings.memory.LIST)['Ben']}.")


def test_monday_asks_as_in_the_machine_of_the_chapter():
    found, drawn = Canteen().compute(), words(DRAWINGS["monday-asks"])
    assert set(two_digits(found["weights"][0])) <= set(drawn)
    # As the drawing prints them.
    short = Canteen(days=np.round(drawings.luong.RING, 2).tolist()).compute()
    assert {text.replace("-", "−") for text in two_digits(short["scores"][0])} <= set(drawn)
    best, wanted = two_digits([max(found["weights"][0]), found["weights"][0][1]])
    assert (best, wanted) == ("0.41", "0.22")  # what the description says


@torch.no_grad()
def test_which_state_shows_what_the_recorded_models_do():
    for name, drawn in drawings.which_state.STEPS.items():
        model, *vocabs, _ = recorded.model(name)
        told = [("le", word, "chat", "noir") for word in drawings.which_state.READ]
        batch = collate([Pair(drawings.which_state.SOURCE, target) for target in told], *vocabs)
        weights = teacher_forced_weights(model, batch)[:, 2]  # of the look after the word
        assert np.allclose(weights, drawn.weights, atol=0.005)
        best = model(batch.source, batch.source_lengths, batch.target_in)[:, 2].argmax(-1)
        assert tuple(vocabs[1].decode([word])[0] for word in best.tolist()) == drawn.writes


def test_three_scores_are_those_of_luong_attention():
    query, key = (torch.tensor([vector]).float() for vector in (scores.QUERY, scores.KEY))
    learned = {"dot": {}, "general": {"weight": scores.GENERAL},
               "concat": {"weight": scores.CONCAT, "v": scores.V}}  # fmt: skip
    for name, tensors in learned.items():
        layer = LuongAttention(2, 2, name)
        with torch.no_grad():
            for each, value in tensors.items():
                getattr(layer, each).copy_(torch.tensor(value))
            found = layer.scores(layer.project_query(query), layer.project_key(key))
        assert f"{found.item():.3g}" == scores.SCORES[name]
        assert scores.SCORES[name] in DRAWINGS["three-scores"].title
        assert scores.SUMS[name].endswith(f"= {scores.SCORES[name]}")


def test_beam_caches_go_with_the_beginnings():
    for text, source in zip(drawings.beams.AFTER, drawings.beams.FROM, strict=True):
        assert text.startswith(drawings.beams.BEFORE[source])


def test_grouped_heads_shows_the_counted_bytes(capsys):
    cells("08", "imports", "grouped-code", until="torch.manual_seed(0)", folder=EXERCISES)
    lines = re.findall(r"^ +(\d) +\d+ +(\d+)$", capsys.readouterr().out, re.MULTILINE)
    counted = {int(count): int(size) for count, size in lines}
    assert counted == {count: heads.cache_bytes(count) for count in heads.KEY_HEADS}
    drawn = [word for word in words(DRAWINGS["grouped-heads"]) if "bytes" in word]
    assert drawn == [f"cache: {size:,} bytes" for size in counted.values()]


def test_the_latent_gives_the_scores_of_the_example_both_ways(capsys):
    run = cells("13b", "by-hand")
    assert (run["c"].tolist(), run["W"].tolist()) == (
        list(latent.LATENT), [[list(row) for row in up] for up in latent.KEY_UP]
    )  # fmt: skip
    assert run["keys"].tolist() == [list(latent.key(head)) for head in (0, 1)]
    assert run["brought"].tolist() == [list(latent.absorbed(head)) for head in (0, 1)]
    lines = [printed(line) for line in capsys.readouterr().out.splitlines()]
    scores = [latent.dot(latent.absorbed(head), latent.LATENT) for head in (0, 1)]
    assert lines == [scores, scores]
    drawn = words(DRAWINGS["latent-two-ways"])
    assert [drawn.count(f"= {score}") for score in scores] == [2, 2]


def test_averaged_latents_give_the_average_of_the_values():
    matrix = torch.tensor(latent.VALUE_UP, dtype=torch.float)
    tokens = torch.tensor(latent.LATENTS, dtype=torch.float)
    first, last = (tokens @ matrix.T).mean(0).tolist(), (matrix @ tokens.mean(0)).tolist()
    assert first == last == list(latent.value(latent.average(latent.LATENTS)))


def test_a_turn_makes_another_query_for_each_place():
    turn, up = torch.tensor([[0.0, 1], [-1, 0]]), torch.tensor(latent.KEY_UP[0], dtype=torch.float)
    query, scores = torch.tensor(latent.QUERIES[0], dtype=torch.float), []
    for kept, quarters in zip(latent.OLD, latent.QUARTERS, strict=True):
        turned = torch.linalg.matrix_power(turn, quarters)
        made = (up.T @ turned.T @ query).tolist()
        assert made == list(latent.brought_from(quarters))
        scores.append((query @ turned @ up @ torch.tensor(kept, dtype=torch.float)).item())
        assert scores[-1] == latent.dot(latent.brought_from(quarters), kept)
    wrong = [latent.dot(latent.brought_from(0), kept) for kept in latent.OLD]
    shown = {f"= {number(score)}" for score in scores + wrong}
    assert shown <= set(words(DRAWINGS["latent-places"]))


def test_a_token_leaves_what_the_released_models_keep():
    """Of all that are in the table of releases; StarCoder is not: a configuration has 48 heads."""
    models = {one["name"]: one for one in RELEASES["models"]}
    for way in latent.WAYS:
        if way.whose == "StarCoder":
            assert (way.layers, way.queries, 6144 / way.queries) == (40, 48, latent.HEAD)
            continue
        layers, kind = models[way.whose]["order"][0]
        layer = models[way.whose]["layers"][kind]
        assert (way.layers, way.queries) == (layers, layer["heads"])
        own = 2 * layer["kv_heads"] * layer["head"] if not way.latent else layer["latent"]
        numbers = own + layer.get("rotary", 0)
        assert way.kib == numbers * way.bits / 8 / 1024
    drawn = words(DRAWINGS["kept-per-token"])
    assert all(f"{size} KiB" in drawn for size in (512, 128, 20, 69, 36))


def test_growing_cache_shows_the_example(capsys):
    spoken = [tuple(word) for word in cells("13", "loop")["words"][0].tolist()]
    copied = printed(capsys.readouterr().out)
    run = cells("13", "imports", "as-matmul-code", "as-attnkit-code", folder=EXERCISES)
    capsys.readouterr()
    E, steps = 2, (1, 2, 3)
    assert tuple(3 * E**2 + 2 * t * E for t in steps) == cache.WITH_CACHE
    assert tuple(3 * t * E**2 + t * (t + 1) * E for t in steps) == cache.AGAIN
    assert run["words"] == spoken == list(cache.WORDS)
    assert copied == pytest.approx(run["stepwise"].flatten().tolist(), abs=1e-3)
    shown = [f"{count} multiply-adds" for count in (cache.WITH_CACHE[-1], cache.AGAIN[-1])]
    for place, output in enumerate(run["stepwise"].tolist()):
        assert [float(x) for x in cache.output(place)] == pytest.approx(output, abs=1e-5)
        shown.append(vector(output))
        shown += [vector(cache.projected(cache.WORDS[place], to)) for to in cache.MADE.values()]
    assert set(shown) <= set(words(DRAWINGS["growing-cache"]))


def _full(sheet: Sheet) -> list[tuple[float, float]]:
    full = (cell for cell in parsed(sheet).iter("rect") if "d-weight-4" in cell.get("class"))
    return [(float(cell.get("y")), float(cell.get("x"))) for cell in full]


def test_causal_corners_are_those_of_the_chapter(capsys):
    cells("06b", "leaks-code", "leaks-try-code", "align-cache", "align-code")
    shown = re.findall(r"^(.+\S) +offset=(\d) +(\[\[.*\]\])", capsys.readouterr().out, re.MULTILINE)
    rules = [np.array(json.loads(rule)) for _, _, rule in shown]
    assert [rule.shape for rule in rules] == [(2, 5), (2, 5)]
    (sheet,) = DRAWINGS["causal-corners"].layouts["narrow"]
    full = _full(sheet)
    for rule in rules:
        cells_of, full = full[: rule.sum()], full[rule.sum() :]
        xs, ys = (sorted({cell[axis] for cell in cells_of}) for axis in (1, 0))
        assert [[ys.index(y), xs.index(x)] for y, x in cells_of] == np.argwhere(rule).tolist()
    assert not full
    drawn = set(words(DRAWINGS["causal-corners"]))
    assert {word for corner, offset, _ in shown for word in (corner, f"offset {offset}")} <= drawn


def test_the_first_tables_are_those_of_the_writers():
    for name, writer, rule in (("no mask", "none", "none"), ("causal mask", "right", "causal")):
        now = ch06.painter(writer=writer, rule=rule, sentence=1).compute()
        assert now["weights"] == pytest.approx(np.array(masks.WEIGHTS[name]), abs=0.00501)
        assert now["chance"] == pytest.approx(masks.CHANCES[name], abs=0.00501)
    assert masks.READ[1:] == masks.ASKED[:-1]  # each answer but the last is copied


@pytest.mark.parametrize("layout", ["wide", "narrow"])
def test_five_masks_are_those_that_the_calls_under_them_build(layout):
    drawing = DRAWINGS["five-masks"]
    names = {**vars(attnkit.masks), "document": torch.tensor(masks.DOCUMENT)}
    built = [eval(call, dict(names)) for _, call, _ in masks.FIVE]
    built[0] = built[0][0].expand(8, 8)
    for mask, rule, (*_, query) in zip(built, masks.FIVE_RULES, masks.FIVE, strict=True):
        assert mask.tolist() == [[rule(i, j) for j in range(8)] for i in range(8)]
        seen = mask[query].nonzero().flatten().tolist()
        assert seen == list(range(seen[0], seen[-1] + 1))
        joined = "and" if len(seen) == 2 else "to"
        says = f"{seen[0]} {joined} {seen[-1]}"
        assert f"query {query} sees {says}" in words(drawing, layout=layout)
        assert says in drawing.description
    assert len(_full(*drawing.layouts[layout])) == sum(int(mask.sum()) for mask in built)


def test_patterns_are_those_of_attnkit():
    n, size = masks.LENGTH, masks.BLOCK
    allowed = sliding_window(n // size, window=2)  # its own block, the one before, and the first
    allowed[:, 0] = True
    whole = allowed.repeat_interleave(size, 0).repeat_interleave(size, 1) & causal(n)
    drawn = words(DRAWINGS["patterns"])
    near = sliding_window(n, window=masks.WINDOW)
    for rule, mask in ((masks.causal, causal(n)), (masks.window, near), (masks.blocks, whole)):
        assert [[rule(i, j) for j in range(n)] for i in range(n)] == mask.tolist()
        assert f"{int(mask.sum())} pairs" in drawn
        assert f"{int(mask.sum())} pairs" in DRAWINGS["patterns"].description


def test_two_orders_are_what_the_chapters_machine_makes_of_them():
    kept = recorded.results("orders")["kept"]
    words_of = [order.split() for order in drawings.orders.ORDERS]
    for kind, (_, looks) in drawings.orders.LOOKS.items():
        for tokens, (weights, deed, share) in zip(words_of, looks, strict=True):
            found = OrderMachine(tokens, kept, kind=kind).compute()
            rounded = [float(f"{weight:.2f}") for weight in found["weights"][tokens.index("not")]]
            assert rounded == weights
            assert kept["deeds"][np.argmax(found["chances"])] == deed
            assert float(f"{max(found['chances']):.2f}") == share


def test_what_a_position_brings_is_what_the_functions_of_the_chapter_give():
    table = positions.SinusoidalPositions(drawings.entrances.FEATURES)(torch.zeros(1, 6, 16))[0]
    waves = [drawings.entrances.wave(place) for place in range(6)]
    assert torch.tensor(waves) == pytest.approx(table[:, :2], abs=1e-5)
    bias = positions.alibi(8, 6)[0, 2]  # the steepest of eight
    assert [drawings.entrances.taken(place) for place in range(6)] == pytest.approx(bias.tolist())


def test_two_places_on_every_hand_of_the_waves_has_made_the_same_turn():
    table = positions.SinusoidalPositions(waves.FEATURES)(torch.zeros(1, 503, waves.FEATURES))[0]
    for pair in waves.PAIRS:
        sine_and_cosine = table[:, 2 * pair : 2 * pair + 2].contiguous()
        tip = torch.view_as_complex(sine_and_cosine)
        for start in waves.STARTS:
            ahead = cmath.exp(-1j * waves.angle(waves.STEP, pair))
            assert tip[start + waves.STEP] == pytest.approx(complex(tip[start]) * ahead, abs=1e-4)


def test_clock_hands_show_what_rotary_scores_and_their_softmax_give():
    hand = torch.tensor([[1.0, 0.0]], dtype=torch.float64).expand(3, 2)
    for first in (0, places.SHIFT):
        turned = positions.rotary(hand, first)
        scores = turned[places.QUERY] @ turned.T
        assert places.scores() == pytest.approx(scores.tolist())
        assert places.weights() == pytest.approx(scores.softmax(-1).tolist())
    shown = two_digits(places.weights())
    assert {*shown, *map(number, places.scores())} <= set(words(DRAWINGS["clock-hands"]))
    assert set(shown) <= set(re.findall(r"0\.\d\d", DRAWINGS["clock-hands"].description))


def test_three_cuts_are_what_the_functions_of_the_chapter_give(capsys):
    run = cells("08", "imports", "bugs", "bugs-table", folder=EXERCISES)
    x = torch.arange(8.0).reshape(1, 2, 4)
    qkv = torch.cat([x, x, x], -1)
    names = "correct", "features_before_heads", "view_without_transpose"
    for name, (title, rows) in zip(names, heads.CUTS, strict=True):
        (query, *_) = run[name](qkv, 2)
        found = query[0].flatten(1).int().tolist()
        assert tuple("".join(heads.LETTERS[i] for i in row) for row in found) == rows
        assert title in words(DRAWINGS["three-cuts"])


def test_online_softmax_shows_the_example(capsys):
    attend = cells("12", "forward")["attention_in_tiles"]
    keys = torch.tensor(online_softmax.SHARES, dtype=torch.float64).log()[:, None]
    values = torch.tensor(online_softmax.VALUES, dtype=torch.float64)[:, None]
    result, logsumexp = attend(torch.ones_like(keys[:1]), keys, values, keys=1)
    largest, total, _ = online_softmax.states()[-1]
    assert online_softmax.result() == pytest.approx(result.item())
    assert np.log(largest * total) == pytest.approx(logsumexp.item())
    drawing = DRAWINGS["online-softmax"]
    for step, state in enumerate(online_softmax.states()):
        assert set(map(number, state)) <= set(words(drawing, step))
        assert set(online_softmax.sums(step)) <= set(words(drawing, step))
        assert ", ".join(map(number, state)) in drawing.description
    assert number(result.item()) == words(drawing, 3)[-1] == "13"


def test_mask_axes_show_a_softmax_of_zeros():
    real, zeros = torch.arange(bugs.LENGTH) < bugs.REAL, torch.zeros(bugs.LENGTH, bugs.LENGTH)
    for over_keys in (True, False):
        hidden = ~(real[None] if over_keys else real[:, None])
        expected = zeros.masked_fill(hidden, -1e9).softmax(-1)
        assert np.allclose(bugs.weights(over_keys), expected, atol=1e-6), over_keys


def test_view_alone_is_what_a_view_gives():
    places = np.arange(8).reshape(4, 2)
    names = [f"{word}{'₁₂'[n]}" for word in bugs.TOKENS for n in range(2)]
    for view, held in ((True, places.reshape(2, 4)), (False, places.T)):
        assert bugs.split(view) == [[names[n] for n in head] for head in held]


def test_bug_map_leads_to_the_rooms():
    rooms = set(re.findall(r"## Room (\d)", "\n".join(page_cells("16c").values())))
    assert {str(room) for *_, room in bugs.STEPS} == rooms


def test_the_way_to_a_score_is_that_of_the_shipped_translator():
    translator = Translator.load("tatoeba-en-fr")
    (greedy,) = translator.translate([translation.SENTENCE])
    ((beam, *_),) = translator.translate([translation.SENTENCE], beam_size=5, n_best=1)
    assert tuple(beam.source) == translation.READ
    for (_, words_, share, bleu), found in zip(translation.FOUND, (greedy, beam), strict=True):
        assert found.text == words_
        assert math.exp(found.score) == pytest.approx(share, abs=0.0006)
        against = [[translation.PERSON]]
        got = metrics.bleu(hypotheses=[words_], references=against).score
        assert got == pytest.approx(bleu, abs=0.5)
    (person,) = [french for english, french in tatoeba("test") if english == translation.SENTENCE]
    assert detokenize(tokenize(person)) == translation.PERSON


def test_the_three_ways_are_those_of_the_shipped_translators():
    folders = ("tatoeba-en-fr-fixed", "tatoeba-en-fr-additive", "tatoeba-en-fr")
    for (name, words_), folder in zip(drawings.hand_over.WRITTEN.items(), folders, strict=True):
        translator = Translator.load(folder)
        (found,) = translator.translate([" ".join(drawings.hand_over.SOURCE)])
        _, source, target, _, weights, *_ = found.by_word()
        assert (tuple(source), tuple(target[: len(words_)])) == (drawings.hand_over.SOURCE, words_)
        assert {*words_, *source} <= set(words(DRAWINGS["hand-over"]))
        if name in drawings.hand_over.WEIGHTS:
            drawn = drawings.hand_over.WEIGHTS[name]
            assert weights[len(words_) - 1].tolist() == pytest.approx(drawn, abs=0.006)
            assert {f"{weight:.2f}" for weight in drawn} <= set(words(DRAWINGS["hand-over"]))
        else:
            assert weights is None
            assert translator.model.decoder.context == "first"
            assert translator.model.encoder.output_dim == 256


def test_the_three_looks_are_of_a_sentence_that_the_translator_writes():
    (found,) = Translator.load("tatoeba-en-fr").translate([" ".join(three_looks.ENGLISH)])
    _, source, target, *_ = found.by_word()
    assert (tuple(source), tuple(target)) == (three_looks.ENGLISH, three_looks.WRITING)
    assert three_looks.WRITTEN[1:] == three_looks.WRITING[:-1]


def test_the_bars_without_a_way_are_those_of_the_results():
    drawing, found = DRAWINGS["without-a-way"], recorded.results("heads_off")
    assert found["sentences"] == 100
    for way, left in found["without"].items():
        assert {f"without {way}", f"{100 * left['same']:.0f}"} <= set(words(drawing))
    assert tuple(found["without"]) == tuple(name for name, *_ in three_looks.WAYS)


def test_word_links_shows_the_links_made_by_hand():
    links = [pair for pair, *_ in translation.linked()]
    for (sheet,) in DRAWINGS["word-links"].layouts.values():
        markup = sheet.markup()
        assert markup.count("d-line") == sum(len(pair.possible) for pair in links)
        assert markup.count("d-dashed") == sum(len(pair.possible - pair.sure) for pair in links)


def test_the_question_without_an_answer_is_weighed_as_drawn():
    """The chapter's cell computes the cosines; here is that the weights follow, and the bars."""
    weights = (20 * torch.tensor(summaries.COSINES)).softmax(-1).tolist()
    assert weights == pytest.approx(summaries.WEIGHTS, abs=0.03)  # of cosines with two digits
    shown = [text for text in words(DRAWINGS["no-answer"]) if re.fullmatch(r"−?\d\.\d\d", text)]
    pairs = zip(summaries.COSINES, summaries.WEIGHTS, strict=True)
    assert shown == [f"{v:.2f}".replace("-", "−") for pair in pairs for v in pair]
    root = figure(DRAWINGS["no-answer"])
    bars = [(e.get("class"), float(e.get("width"))) for e in root.iter(f"{SVG}rect")]
    full = [width for style, width in bars if "d-weight d-solid" in style]
    track = [width for style, width in bars if "d-weight d-track" in style]
    shares = [one / whole for one, whole in zip(full, track, strict=True)]
    assert shares == pytest.approx(2 * summaries.WEIGHTS, abs=0.001)  # wide and narrow


def test_three_surprises_are_the_claims():
    books = map(normal_form.read, gates.notebooks(gates.ROOT))
    numbers = {claim.id: claim.number for book in books for claim in claims.claims(book)}
    for surprise in drawings.surprises.SURPRISES:
        for id_, value in zip(surprise.ids, surprise.numbers, strict=True):
            found = re.match(r"[0-9.]+(%?)", numbers[id_])
            number_ = float(found[0].rstrip("%"))
            share = surprise.unit == "%" and not found[1]
            assert value == pytest.approx(100 * number_ if share else number_)
