"""The engine on the page against torch: the same words, weights and chances, hidden words too."""

import base64
import random
import sys
import unicodedata

import pytest
import torch

from attnbook import translators
from attnbook.machines.live_translator import ENGINE as MODULES
from attnbook.machines.live_translator import HERE, shown
from attnbook.machines.live_translator.weights import payload
from attnkit.viz.widget import source
from attnlab import Translator, tasks
from attnlab.tasks.vocab import EOS, UNK
from experiments import live_translator

pytestmark = pytest.mark.browser

ENGINE = source(*(HERE / name for name in MODULES))
LOAD = """(data) => {
    window.model = loadModel(Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0)).buffer);
}"""
RUN = """([jobs, longest, size, off, patience]) => jobs.map(([words, hidden, forced]) => {
    const [inPieces] = model.pieces;
    const tokens = words.flatMap(word => (inPieces ? split(model.ids, word) : [word]));
    const read = { tokens, spans: spansOf(tokens, inPieces) };
    const { steps, ended, sum, kept, words: target } = finish(translating(model, read,
        { hidden: new Set(hidden), forced, longest, size, off, patience }));
    return { ended, tokens, words: target, sum, kept: kept.map(({ ids, sum }) => [ids, sum]),
        target: steps.map(({ token }) => token), weights: steps.map(({ weights }) => weights),
        candidates: steps.map(({ candidates }) => candidates.map(o => [o.token, o.chance])) };
})"""
LONGEST = 40


@pytest.fixture(scope="module")
def page(browser):
    opened = browser.new_page()
    opened.add_script_tag(content=ENGINE)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def engine(page):
    """`engine(translator, jobs)` translates (source tokens, hidden places) as the page does."""

    def run(translator: Translator, jobs, precision="float32", beam_size=1, off=(), patience=0):
        load(page, translator, precision)
        plain = [[list(source), list(hidden), list(*forced)] for source, hidden, *forced in jobs]
        return page.evaluate(RUN, [plain, LONGEST, beam_size, list(off), patience])

    return run


def load(page, translator: Translator, precision: str) -> None:
    page.evaluate(LOAD, base64.b64encode(payload(translator, precision)).decode())


def some(count: int) -> list[list[str]]:
    return [list(pair.source) for pair in tasks.toy_french(count, seed=6000)]


def unseen(count: int) -> list[list[str]]:
    """Sentences of 2 to 12 words that the kept models were not trained on."""
    setting = live_translator.settings(quick=False)[0]
    _, new = live_translator.examples(0, setting["known"], setting["tested"])
    return [list(pair.source) for pair in new[:count]]


def with_hidden(sentences, seed=0):
    """Each with one or two of its words hidden, or all."""
    draw, jobs = random.Random(seed), []
    for one in sentences:
        count = draw.choice((1, 1, 2, len(one))) if len(one) > 2 else 1
        jobs.append((one, sorted(draw.sample(range(len(one)), count))))
    return jobs


def compare(translator: Translator, jobs, found, *rest) -> tuple[float, float]:
    """Hold what the page gave against torch; the largest differences of weights and chances."""
    weights, chances = 0.0, 0.0
    for (sentence, hidden, *forced), page in zip(jobs, found, strict=True):
        given = hidden, LONGEST, *(forced or [()])
        want = shown.translate(translator, sentence, *given, *rest)
        assert page["tokens"] == want.source
        assert page["target"] == want.target, (sentence, hidden)
        assert page["ended"] == want.ended
        if not want.target:
            continue
        got = torch.tensor(page["weights"], dtype=torch.float64).reshape(want.weights.shape)
        weights = max(weights, float((got - want.weights).abs().max()))
        for mine, theirs in zip(page["candidates"], want.candidates, strict=True):
            assert mine[0][0] == theirs[0][0]
            ours = dict(map(tuple, mine))
            near = [abs(ours.get(token, chance) - chance) for token, chance in theirs]
            chances = max(chances, *near)
    return weights, chances


@pytest.fixture(scope="module")
def kept():
    return translators.toy_french()


@pytest.mark.parametrize("name", translators.MODELS)
def test_fifteen_sentences(engine, kept, name):
    jobs = [(one, []) for one in some(15)] + with_hidden(some(15))
    assert max(compare(kept[name], jobs, engine(kept[name], jobs, "int8"))) < 1e-4


@pytest.mark.parametrize("count", [3, "most"])
def test_heads_that_are_off_are_those_of_torch(engine, kept, count):
    """The same sentences, weights and chances, whichever heads of whichever kind are off."""
    translator = kept["Transformer"]
    every = range(len(shown.heads_of(translator.model)))
    off = random.Random(0).sample(every, len(every) - 2 if count == "most" else count)
    jobs = [(one, []) for one in some(12)] + with_hidden(some(6))
    found = engine(translator, jobs, "int8", 1, off)
    assert max(compare(translator, jobs, found, 1, off)) < 1e-4
    last = [max(every)]  # of the attention to the source: its row is empty
    (page,) = engine(translator, jobs[:1], "int8", 1, last)
    assert not any(page["weights"][0][-1][-1])
    assert sum(page["weights"][0][-1][0]) == pytest.approx(1)


def test_who_writes_the_same_again_and_again_is_stopped_at_the_same_place(engine, kept):
    translator = kept["Transformer"]
    count = len(shown.heads_of(translator.model)) // 3
    off = range(count, 2 * count)  # the decoder's over its own words: it forgets what it wrote
    jobs = [(one, []) for one in some(8)]
    found = engine(translator, jobs, "int8", 1, off, shown.PATIENCE)
    compare(translator, jobs, found, 1, off, shown.PATIENCE)
    free = engine(translator, jobs, "int8", 1, off)
    compare(translator, jobs, free, 1, off)
    pairs = [[len(page["target"]) for page in pair] for pair in zip(found, free, strict=True)]
    assert any(short < long for short, long in pairs)


@pytest.mark.slow
@pytest.mark.parametrize("name", translators.MODELS)
def test_a_thousand_sentences_letter_by_letter(engine, kept, name):
    sentences = unseen(1000)
    jobs = [(one, []) for one in sentences] + with_hidden(sentences)
    found = engine(kept[name], jobs, "int8")
    assert max(compare(kept[name], jobs, found)) < 1e-4
    # Against the translator's own search as well, which knows of no hiding.
    own = kept[name].translate([" ".join(one) for one in sentences], max_len=LONGEST)
    assert [page["target"] for page in found[: len(own)]] == [one.target for one in own]


def test_half_precision_moves_weights_by_less_than_a_thousandth(engine):
    # A model that was not rounded for the page, as a reader's own is not.
    translator, weights = translators.translator("toy_french_additive"), 0.0
    jobs = [(one, []) for one in some(20)]
    for (sentence, _), page in zip(jobs, engine(translator, jobs, "float16"), strict=True):
        want = shown.translate(translator, sentence, (), LONGEST)
        if page["target"] == want.target:
            got = torch.tensor(page["weights"]).reshape(want.weights.shape)
            weights = max(weights, float((got - want.weights).abs().max()))
    assert 0 < weights < 1e-3


VARIANTS = {
    "two layers": ("additive", {"num_layers": 2}),
    "one direction": ("additive", {"bidirectional": False}),
    "post-norm": ("transformer", {}),
    "grouped heads": ("transformer", {"num_kv_heads": 1, "norm_first": True}),
    "learned positions": ("transformer", {"positions": "learned", "max_len": 64}),
    "no positions": ("transformer", {"positions": "none"}),
    "window": ("transformer", {"window": 3}),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_every_kind_of_model_that_the_engine_takes(engine, kept, name):
    kind, options = VARIANTS[name]
    sizes = {"embed_dim": 8} | ({"hidden_dim": 12} if kind == "additive" else {"num_heads": 2})
    known = next(iter(kept.values()))
    torch.manual_seed(1)
    translator = Translator(known.source_vocab, known.target_vocab, kind, **sizes, **options)
    with torch.no_grad():
        for weight in translator.model.parameters():
            weight.mul_(2)  # far enough from ties
    jobs = with_hidden(some(5))
    assert max(compare(translator, jobs, engine(translator, jobs))) < 1e-4


def test_the_source_copied_for_an_unknown_word(engine):
    translator = translators.translator("live_translator_additive")
    with torch.no_grad():
        translator.model.decoder.readout.bias[UNK] = 50.0  # whatever it reads
    jobs = [(["the", "black", "cat"], [])]
    (page,) = engine(translator, jobs)
    assert page["target"] == shown.translate(translator, *jobs[0], LONGEST).target
    assert "<unk>" not in page["target"]
    assert page["candidates"][0][0][0] == "<unk>"


# ---- The models of real language.


@pytest.fixture(scope="module")
def real():
    return {name: Translator.load(folder) for name, folder in translators.REAL_MODELS.items()}


def english(count: int) -> list[str]:
    """Sentences of the test split, evenly over its length, which is sorted."""
    lines, _ = tasks.references(tasks.tatoeba("test"))
    return [lines[at * len(lines) // count] for at in range(count)]


NASTY = (
    "supercalifragilisticexpialidocious antidisestablishmentarianism!",
    "naïve café — ‘quoted’ “words”; ▁under_score▁ 3.14 1,000 o'clock rock'n'roll",
    "Wo liegt der Bahnhof? 我不知道 где 🐈‍⬛👩🏽‍🚀",
    "<img src=x onerror=alert(1)>",
    "a" * 200,
)


@pytest.mark.parametrize("name", translators.REAL_MODELS)
def test_real_sentences_and_nasty_ones(engine, real, name):
    words = [shown.read_source(real[name], text, 48) for text in [*english(6), *NASTY]]
    jobs = [*((one, []) for one in words), *with_hidden(words[:4], seed=3)]
    assert max(compare(real[name], jobs, engine(real[name], jobs, "int8"))) < 1e-4


@pytest.mark.parametrize("name", translators.REAL_MODELS)
def test_words_put_into_its_mouth(engine, real, name):
    encode = real[name].target_vocab.encode
    starts = [encode(["tu"]), encode(["elle", "n'"]), [UNK], [EOS], [*encode(["je"]), EOS]]
    words = shown.read_source(real[name], "I don't know what you want.")
    jobs = [(words, [], start) for start in starts]
    found = engine(real[name], jobs, "int8")
    assert max(compare(real[name], jobs, found)) < 1e-4
    assert found[0]["words"][0] == "tu"
    assert found[3]["target"] == []


BEAM_TEXTS = (
    "They were talking about music.",
    "Where is the nearest train station?",
    "You're free to go.",  # where the length that is forgiven decides
)


@pytest.mark.parametrize("name", translators.REAL_MODELS)
def test_a_beam_finds_what_torchs_does(engine, real, name):
    translator = real[name]
    words = [shown.read_source(translator, text) for text in BEAM_TEXTS]
    start = translator.target_vocab.encode(["il"])
    jobs = [*((one, []) for one in words), (words[0], [1]), (words[1], [], start)]
    found = engine(translator, jobs, "int8", 5)
    assert max(compare(translator, jobs, found, 5)) < 1e-4
    own = translator.translate(BEAM_TEXTS, max_len=LONGEST, beam_size=5, copy_unknown=False)
    assert [page["target"] for page in found[: len(own)]] == [one.target for one in own]
    greedy = engine(translator, jobs[: len(own)], "int8")
    assert any(page["target"] != one["target"] for page, one in zip(found, greedy, strict=False))
    # Every hypothesis has torch's probability.
    model, kept = translator.model.eval(), found[0]["kept"]
    assert len(kept) == 5
    assert found[0]["sum"] == pytest.approx(kept[0][1], abs=1e-4)
    given = torch.tensor([translator.source_vocab.encode(words[0])])
    for ids, total in kept:
        with torch.no_grad():
            logits = model(given, None, torch.tensor([[model.bos, *ids[:-1]]]))[0]
        chosen = logits.log_softmax(-1)[torch.arange(len(ids)), ids]
        assert total == pytest.approx(float(chosen.sum()), abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", translators.REAL_MODELS)
def test_a_thousand_real_sentences_letter_by_letter(engine, real, name):
    texts = english(1000)
    jobs = [(shown.read_source(real[name], text), []) for text in texts]
    batches = (jobs[at : at + 100] for at in range(0, 1000, 100))
    found = [one for batch in batches for one in engine(real[name], batch, "int8")]
    own = real[name].translate(texts, max_len=LONGEST)
    assert [one["tokens"] for one in found] == [one.source for one in own]
    assert [one["target"] for one in found] == [one.target for one in own]
    assert max(compare(real[name], jobs[::10], found[::10])) < 1e-4


TEXTS = (
    *NASTY,
    "The black cat did not sleep.",
    "L’oiseau n'est pas là, qu'il vienne!",
    "dogs' bones; the dog's 3.5 well-known 1,000 it's 'tis",
    "Ünïcödé ÉTÉ straße İstanbul 漢字 ЖУК",
    "emoji 🐈‍⬛ and 👩🏽‍🚀 <img src=x onerror=alert(1)>",
    "a\tb\nc   d--e _x_ 7up 12.5.3 ١٢٣ l'l' s'",
    "",
    "   ",
)


def test_texts_are_read_and_written_as_the_translator_does(page):
    for text in TEXTS:
        tokens = tasks.tokenize(text)
        assert page.evaluate("text => tokenize(text)", text) == tokens
        assert page.evaluate("tokens => detokenize(tokens)", tokens) == tasks.detokenize(tokens)


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_every_character_is_read_as_python_reads_it(page, step):
    """Letters of the first thousand, and of the others every seventh, weekly all."""
    codes = [*range(1000), *range(1000, sys.maxunicode + 1, step)]
    known = [chr(code) for code in codes
             if unicodedata.category(chr(code)) not in ("Cn", "Co", "Cs")]  # fmt: skip
    texts = [f"a{letter}b l'{letter} 1{letter}" for letter in known]
    found = []
    for at in range(0, len(texts), 20_000):
        found += page.evaluate(
            "texts => texts.map(t => tokenize(t).join('\\n'))", texts[at : at + 20_000]
        )
    apart = [letter for letter, text, tokens in zip(known, texts, found, strict=True)
             if "\n".join(tasks.tokenize(text)) != tokens]  # fmt: skip
    assert apart == []


def test_signs_that_the_model_never_read_are_left_out(page, kept):
    translator = next(iter(kept.values()))
    load(page, translator, "int8")
    want = [shown.read_source(translator, text) for text in TEXTS]
    assert page.evaluate("all => all.map((one) => readSource(model, one).words)", TEXTS) == want
    assert "." not in want[0]
