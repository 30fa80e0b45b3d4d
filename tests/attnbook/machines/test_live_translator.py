"""The live translator in Python: what it shows is what torch gives, and what it refuses."""

import base64
import html
import json
import re
from collections import Counter

import pytest
import torch
import traitlets as t
from safetensors.torch import load
from traitlets import TraitError

from attnbook import recorded, translators, widgets
from attnbook.machines import LiveTranslator, QueryPlane
from attnbook.machines.live_translator import page, shown
from attnbook.machines.live_translator.weights import payload
from attnlab import Translator, tasks
from attnlab.training.quantization import pack, quantize, unpack
from booktools.address import ROOT
from tests.refusals.wrong_calls import assert_line_refused, table

PAIRS = tasks.toy_french(300)
KINDS = {
    "additive": {"embed_dim": 12, "hidden_dim": 16},
    "transformer": {"embed_dim": 16, "num_heads": 2, "num_layers": 2},
}


def a_translator(kind="additive", vocabs=tasks.vocabs(PAIRS), **options) -> Translator:  # noqa: B008
    torch.manual_seed(0)
    translator = Translator(*vocabs, kind, **KINDS.get(kind, {}) | options)
    with torch.no_grad():
        for weight in translator.model.parameters():
            weight.mul_(2)  # so that it does not write one word for ever
    return translator


@pytest.fixture(scope="module")
def translator():
    return a_translator()


@pytest.mark.parametrize("kind", KINDS)
def test_a_hidden_word_gets_no_weight_and_the_others_get_all_of_it(kind):
    found = shown.translate(a_translator(kind), ["the", "black", "cat", "sleeps"], [1, 3], 12)
    assert found.weights[..., [1, 3]].eq(0).all()
    torch.testing.assert_close(found.weights.sum(-1), torch.ones(found.weights.shape[:-1]))
    nothing = shown.translate(a_translator(kind), ["the", "cat"], [0, 1], 12)
    assert nothing.weights.eq(0).all()


def test_hiding_is_no_more_than_a_mask_on_the_keys(translator):
    """A hidden word's own state and its neighbours' stay as they were: only the look is gone."""
    source, hidden = ["the", "black", "cat"], 1
    model, ids = translator.model, torch.tensor([translator.source_vocab.encode(source)])
    with torch.no_grad():
        encoded = model.encoder(ids)
        memory = model.decoder.prepare(encoded)
        query = model.decoder.start(memory).hidden[:, -1:]
        scores = model.decoder.attention.scores(
            model.decoder.attention.project_query(query), memory.projected
        )[0, 0]
    scores[hidden] = -torch.inf
    first = shown.translate(translator, source, [hidden], 5).weights[0]
    torch.testing.assert_close(first, scores.softmax(-1))


def test_candidates_are_the_five_likeliest_and_the_first_is_written(translator):
    found = shown.translate(translator, ["the", "black", "cat", "sleeps"], (), 12)
    assert len(found.candidates) == len(found.target) == len(found.weights)
    for token, five in zip(found.target, found.candidates, strict=True):
        chances = [chance for _, chance in five]
        assert five[0][0] == token
        assert len(five) == 5
        assert chances == sorted(chances, reverse=True)
        assert 0 < sum(chances) <= 1 + 1e-6
        assert not {"<pad>", "<bos>"} & {word for word, _ in five}


def test_text_hidden_and_model_are_traits(translator):
    live = LiveTranslator(
        {"one": translator, "two": a_translator("transformer")}, sentences=["the black cat"]
    )
    assert live.text == "the black cat"
    live.hidden = [2, 0, 2]
    assert live.hidden == [0, 2]
    live.model = 1
    assert live.translate().weights.shape[1:] == (2, 2, 3)
    live.text = "my old friend sleeps"
    assert live.hidden == []
    assert live.translate().source == ["my", "old", "friend", "sleeps"]


@pytest.mark.parametrize(("trait", "value", "said"), [
    ("hidden", [3], ""), ("hidden", [-1], ""), ("model", 1, ""), ("model", -1, ""),
    ("beam_size", 3, " one of 1, 2, 5, got 3"),
    *(("forced", [token], " ids from 2 to") for token in (0, 1, -1, 10_000)),
])  # fmt: skip
def test_a_setting_out_of_range_is_refused_and_nothing_changes(translator, trait, value, said):
    live = LiveTranslator(translator, text="the black cat", beam_sizes=[2, 5])
    before = getattr(live, trait)
    with pytest.raises(TraitError, match=f"{trait}: expected{said}"):
        setattr(live, trait, value)
    assert getattr(live, trait) == before


@pytest.mark.parametrize("line", table("machines")["live translator"])
def test_a_wrong_call_names_the_argument(translator, line):
    names = {"live": lambda translator=translator, **changed: LiveTranslator(translator, **changed)}
    assert_line_refused(line, globals() | names)


def test_a_beam_writes_what_the_translator_writes_with_one(translator):
    live = LiveTranslator(translator, text="the black cat", max_len=6, beam_sizes=[3])
    greedy = live.translate().target
    live.beam_size = 3
    (own,) = translator.translate([live.text], max_len=6, beam_size=3, copy_unknown=False)
    assert live.translate().target == own.target != greedy
    live.forced = translator.target_vocab.encode(greedy[:2])
    assert live.translate().target[:2] == greedy[:2]


def test_description_and_picture_say_what_is_hidden(translator):
    live = LiveTranslator(translator, text="the black cat", title="Try it", max_len=6)
    live.hidden = [1]
    words = live.description()
    assert words.startswith("Try it.")
    assert "“black” hidden" in words
    assert f"“{' '.join(live.translate().target)}”" in words
    assert "without a sentence" in LiveTranslator(translator).description()
    drawn = [text.get_text() for text in live.figure().get_axes()[0].texts]
    assert drawn[:3] == ["the", "black", "cat"]
    data, metadata = live._repr_mimebundle_()
    assert metadata["image/png"]["alt"] == data["text/plain"] == words


# ---- Pieces of words, and what was met in training.

SUBWORDS = tasks.Subwords.build(
    [tasks.tokenize("the cats cat black blacker walks walking , he she le chat noir marche")],
    max_size=50,
)


def in_pieces(kind="additive") -> Translator:
    return a_translator(kind, (SUBWORDS, SUBWORDS), share_embeddings=True)


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_are_what_the_translator_reads_and_words_are_what_is_drawn(kind):
    translator, text = in_pieces(kind), "The blackest cats, walker!"
    most = 8  # tokens, before it is stopped for stammering
    (want,) = translator.translate([text], max_len=most)
    live = LiveTranslator(translator, text=text, max_len=most)
    found = live.translate()
    assert (found.source, found.target) == (want.source, want.target)
    torch.testing.assert_close(found.mean_weights(), want.weights, atol=1e-5, rtol=0)
    source, target, weights = found.by_word()
    joined = want.by_word()
    assert source == joined.source == tasks.tokenize(text)
    assert target == joined.target
    torch.testing.assert_close(weights, joined.weights, atol=1e-5, rtol=0)
    drawn = [one.get_text() for one in live.figure().get_axes()[0].texts]
    assert drawn[: len(source)] == source
    assert f"“{' '.join(target)}”" in live.description()


def test_a_hidden_word_hides_all_its_pieces():
    live = LiveTranslator(in_pieces("transformer"), text="the blackest cat", max_len=6)
    live.hidden = [1]
    found = live.translate()
    first, end = found.source_words[1]
    assert end - first > 1
    assert found.weights[..., first:end].eq(0).all()
    assert found.weights[..., :first].gt(0).all()


def test_forced_tokens_are_written_and_the_model_goes_on_from_there(translator):
    live = LiveTranslator(translator, text="the black cat", max_len=8)
    free = live.translate()
    other = live.translator.target_vocab.ids[free.candidates[0][1][0]]
    live.forced = [other]
    forced = live.translate()
    assert forced.target[0] == free.candidates[0][1][0] != free.target[0]
    assert forced.candidates[0] == free.candidates[0]
    ids = live.translator.target_vocab.encode(forced.target)
    model = live.translator.model
    source = torch.tensor([live.translator.source_vocab.encode(["the", "black", "cat"])])
    with torch.no_grad():
        logits = model(source, None, torch.tensor([[model.bos, *ids]]))[0]
    assert logits[1:, 2:].argmax(-1).add(2).tolist()[: len(ids) - 1] == ids[1:]
    live.forced = [2]
    assert (live.translate().target, live.translate().ended) == ([], True)
    live.text = "the cat"
    assert live.forced == []


def test_the_page_says_of_heads_what_was_measured():
    """In translate.md: nearly all, half, three quarters, a quarter; and what each way leaves."""
    found = recorded.results("heads_off")
    first, order = found["first"], found["first"]["order_off"]
    bleu = {int(left): score / first["bleu"]["36"] for left, score in first["bleu"].items()}
    assert bleu[24] == pytest.approx(0.94, abs=0.01)
    assert first["same"]["24"] == pytest.approx(0.5, abs=0.05)
    assert bleu[12] == pytest.approx(0.75, abs=0.02)
    assert bleu[3] == pytest.approx(0.25, abs=0.03)
    assert widgets.translate().best[2] == [first["bleu"]["24"], sorted(order[:12])]
    english, back, cross = found["without"].values()
    assert english["bleu"] > back["bleu"] > cross["bleu"]
    lots = {row["left"]: row["bleu"] for row in found["rows"] if row["order"] == "by lot"}
    chosen = {row["left"]: row["bleu"] for row in found["rows"] if row["order"] != "by lot"}
    live = widgets.translate()
    for (_, off), three in zip(live.best, live.by_lot, strict=True):
        drawn = lots[36 - len(off)]
        assert three == [drawn["low"], drawn["median"], drawn["high"]]
    assert all(lots[left]["high"] < chosen[left]["low"] for left in (12, 9, 6, 3))
    assert all(lots[left]["high"] > chosen[left]["low"] for left in (30, 18))
    assert first["bleu"]["24"] - first["bleu"]["18"] == pytest.approx(9, abs=0.5)
    assert first["bleu"]["18"] == chosen[18]["low"]  # the worst of three, and below its own 12
    assert first["bleu"]["12"] == chosen[12]["high"] > first["bleu"]["18"]
    assert chosen[12]["median"] < chosen[18]["median"]  # of the two other orders there
    two = f"{chosen[18]['median']:.1f} and {chosen[18]['high']:.1f}"
    assert f"18 heads keep {two}." in live.worth_of[1]


def test_a_head_that_is_off_is_one_whose_part_of_the_output_weighs_nothing():
    """By the columns of `out_proj`, which is another way to silence it."""
    words, heads = ["the", "black", "cat"], shown.heads_of(a_translator("transformer").model)
    for place in range(len(heads)):
        translator = a_translator("transformer")
        found = shown.translate(translator, words, max_len=6, off=[place])
        attention, head = shown.heads_of(translator.model)[place]
        part = slice(head * attention.head_dim, (head + 1) * attention.head_dim)
        with torch.no_grad():
            attention.out_proj.weight[:, part] = 0
        want = shown.translate(translator, words, max_len=6)
        assert found.target == want.target
        for mine, theirs in zip(found.candidates, want.candidates, strict=True):
            assert [name for name, _ in mine] == [name for name, _ in theirs]
            chances = [[chance for _, chance in each] for each in (mine, theirs)]
            assert chances[0] == pytest.approx(chances[1], abs=1e-5)


def test_heads_are_counted_kind_by_kind_and_a_recurrent_model_has_none(translator):
    model = a_translator("transformer").model
    found, (first, second) = shown.heads_of(model), model.encoder.layers
    assert found[:3] == [(first.attention, 0), (first.attention, 1), (second.attention, 0)]
    assert found[-1] == (model.decoder.layers[1].cross_attention, 1)
    assert len(found) == 12
    assert shown.heads_of(translator.model) == []
    live = LiveTranslator({"a": a_translator("transformer"), "b": translator}, text="the cat")
    live.off = [11, 0, 11]
    assert live.off == [0, 11]
    assert live.translate().weights[:, 1, 1].eq(0).all()
    live.forced = [5]
    live.model = 1
    assert live.forced == []
    assert live.translate().weights.gt(0).all()
    with pytest.raises(TraitError, match="off: expected places of heads, from 0 to 11"):
        live.off = [12]


@pytest.mark.parametrize(("text", "ended"), [
    ("Thank you", "Thank you."), ("Who? ", "Who? "), ("“Go!”", "“Go!”"), (" ", " "), ("a  ", "a."),
])  # fmt: skip
def test_a_text_without_an_end_gets_a_full_stop(text, ended):
    assert shown.with_stop(text) == ended


@pytest.mark.parametrize(("size", "count"), [(1, 4), (2, 8), (3, 12)])
def test_what_is_written_four_times_in_a_row_is_enough(size, count):
    ids = [9, *range(4, 4 + size)] + list(range(4, 4 + size)) * 5
    stops = [n for n in range(len(ids)) if shown._repeats(ids[:n], shown.PATIENCE)]
    assert stops[0] == 1 + count
    assert not shown._repeats(ids, 0)


def test_what_was_met_in_training_is_counted_in_the_models_own_tokens():
    texts = ["The cats walk.", "le chat, blacker"]
    ids = [SUBWORDS.encode(tasks.tokenize(text)) for text in texts]
    live = LiveTranslator(in_pieces(), trained_on=texts)
    assert live.trained == [max(map(len, ids))]  # of two
    bits = base64.b64decode(live.seen[0])
    seen = {token for token in range(len(SUBWORDS)) if bits[token // 8] >> token % 8 & 1}
    assert seen == set(ids[0] + ids[1]) - {3}
    assert 3 in ids[0]  # the full stop, which the vocabulary lacks
    assert LiveTranslator(in_pieces()).seen == []


@pytest.mark.parametrize(("few", "usual"), [(1, 2), (2, 9)])
def test_the_usual_length_is_that_of_99_texts_in_a_hundred(few, usual):
    """One outlier among a hundred texts is no reason to trust the model with its length."""
    texts = ["the cat"] * (100 - few) + ["the cat sat on the mat of the dog"] * few
    live = LiveTranslator(a_translator("additive"), trained_on=texts)
    assert live.trained == [usual]


@pytest.mark.parametrize(("few", "single"), [(1, True), (2, False)])
def test_one_sentence_is_usual_where_99_texts_in_a_hundred_have_one(few, single):
    texts = ["the cat. the dog."] * few + ["the cat."] * (100 - few)
    assert LiveTranslator(a_translator("additive"), trained_on=texts).single == [single]
    assert LiveTranslator(a_translator("additive")).single == []


def test_on_demand_the_page_knows_how_many_bytes_it_asks_for():
    live = LiveTranslator({"a": in_pieces(), "b": in_pieces("transformer")}, on_demand=True)
    assert live.on_demand == [len(payload(one)) for one in live.translators.values()]
    assert live.weights == b""
    assert "attnkit-live" not in page.view(live)[0]
    assert "attnkit-live" in page.view(LiveTranslator(in_pieces()))[0]


@pytest.mark.parametrize(("text", "longest", "words"), [
    ("cat he cats", 2, ["cat", "he"]), ("the black cat", 99, ["the", "black", "cat"]),
    ("wwwwwwwwwww the", 5, ["wwww"]), ("the wwwwwwwwwww", 5, ["the"]), ("", 5, []),
])  # fmt: skip
def test_a_text_is_cut_where_a_word_would_not_fit(text, longest, words):
    found = shown.read_source(in_pieces(), text, longest)
    assert found == words
    assert len(SUBWORDS.pieces(found)) <= longest


@pytest.mark.build
def test_the_whole_widget_of_a_function_is_a_page_of_its_own(tmp_path):
    live = page.made_by("attnbook.translators:real_translator")
    assert isinstance(live, LiveTranslator)
    assert live.files == ["live-translator/tatoeba-0.safetensors",
                          "live-translator/tatoeba-1.safetensors"]  # fmt: skip
    assert all(size <= 2_000_000 for size in live.on_demand)
    assert live.on_demand == [len(payload(one, "int8")) for one in live.translators.values()]


# ---- What goes to the page.


def state_of(data: bytes) -> dict:
    size = int.from_bytes(data[:8], "little")
    return json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["state"])


def test_the_weights_are_in_the_state_only_when_asked_for(translator):
    assert LiveTranslator(translator).weights == b""
    live = LiveTranslator({"a": translator, "b": a_translator("transformer")}, embed=True)
    assert sum(live.sizes) == len(live.weights)
    assert live.weights[: live.sizes[0]] == payload(translator)


def test_the_kernel_sends_the_weights_of_the_model_that_is_asked_for(translator, monkeypatch):
    live = LiveTranslator({"a": translator, "b": a_translator("transformer")}, precision="int8")
    sent = []
    monkeypatch.setattr(live, "send", lambda content, buffers: sent.append((content, buffers)))
    for content in ({"weights": 1}, {"weights": 2}, {"weights": "0"}, {}, "weights"):
        live._handle_custom_msg(content, [])
    ((content, (data,)),) = sent
    assert content == {"weights": 1}
    assert data == payload(a_translator("transformer"), "int8")


@pytest.mark.parametrize(("precision", "most"), [("float32", 0), ("float16", 1e-3), ("int8", 0.02)])
def test_a_payload_holds_all_that_it_takes_to_translate(translator, precision, most):
    data = payload(translator, precision)
    weights = unpack(load(data))
    for name, want in translator.model.state_dict().items():
        torch.testing.assert_close(weights[name], want, atol=float(want.abs().max()) * most, rtol=0)
    state = state_of(data)
    assert state["source"] == translator.source_vocab.tokens
    assert state["kind"] == "additive"
    assert state["parameters"] == sum(one.numel() for one in translator.model.parameters())


@pytest.mark.parametrize(("kind", "first", "others"), [
    ("transformer", "source_embedding.weight", ["target_embedding.weight", "output.weight"]),
    ("additive", "encoder.embedding.weight",
     ["decoder.embedding.weight", "decoder.readout.2.weight"]),
])  # fmt: skip
def test_a_shared_matrix_is_sent_once_and_so_is_a_shared_vocabulary(kind, first, others):
    words = tasks.Vocab(["a", "b"])
    data = payload(Translator(words, words, kind, share_embeddings=True, **KINDS[kind]))
    weights, state = load(data), state_of(data)
    assert first in weights
    assert not set(others) & set(weights)
    assert state["shared"] == dict.fromkeys(others, first)
    assert state["target"] is None


def test_the_files_of_a_book_are_the_payloads_twice(tmp_path):
    first, second = page.write_models(tmp_path, {"toy": "attnbook.translators:toy_french"})
    found = page.translators("attnbook.translators:toy_french")
    for path, translator in zip((first, second), found.values(), strict=True):
        assert path.read_bytes() == payload(translator, "int8")
        assert path.with_name(f"{path.name}.js").read_text().startswith("document.currentScript")
    assert first.stat().st_size <= 200_000


def test_the_view_of_a_page_brings_its_state_and_a_picture(translator):
    attack = "</script><img src=x onerror=alert(1)>"
    live = LiveTranslator(
        translator, text=f"the cat {attack}", title=attack, files="toy", max_len=5
    )
    start, tag, end = page.view(live)
    assert tag.count("</script>") == 1
    assert "<img src=x" not in start + end
    view = json.loads(tag.split(">", 1)[1].rsplit("<", 1)[0])
    state = view["state"]["state"]
    assert re.fullmatch("[0-9a-f]{32}", view["model_id"])
    assert state["_anywidget_id"] == "attnbook.machines.live_translator.LiveTranslator"
    assert state["files"] == ["live-translator/toy-0.safetensors"]
    assert state["text"] == live.text
    assert not {"_esm", "_css"} & set(state)


def test_another_widget_comes_to_a_page_with_its_state_and_its_bytes_with_their_places():
    held = [b"abc", b"\xff"]

    class Holder(QueryPlane):
        numbers = t.List(t.Bytes(), held).tag(sync=True)

    plane = Holder([[1, 0]], [[10]], query=[0, 0], names=["a"])
    _, tag, end = page.view(plane)
    view = json.loads(tag.split(">", 1)[1].rsplit("<", 1)[0])
    assert view["state"]["state"].items() >= {"numbers": [None, None], "names": ["a"]}.items()
    assert html.escape(plane.description()) in end
    found = {tuple(one["path"]): base64.b64decode(one["data"]) for one in view["state"]["buffers"]}
    assert found == {("numbers", 0): held[0], ("numbers", 1): held[1]}


@pytest.mark.parametrize(("find", "origin", "message"), [
    *((page.translators, origin, "live_translators: expected module:function")
      for origin in ("attnbook.translators", "nowhere:toy", "attnkit:nothing")),
    (page.widget_of, "nowhere:toy", "attention-widget: expected module:function"),
    (page.widget_of, "math:tau", "attention-widget: expected module:function"),
    (page.widget_of, "os:getcwd", "attention-widget: expected os:getcwd to return a widget, got"),
])  # fmt: skip
def test_a_function_that_is_not_there_or_makes_no_widget_fails_the_build(find, origin, message):
    with pytest.raises(page.ExtensionError, match=message):
        find(origin)


# ---- Eight bits.


def test_eight_bits_are_within_half_a_step_and_rounding_again_changes_nothing():
    weight = torch.randn(40, 30, generator=torch.Generator().manual_seed(0))
    weight[3] = 0
    weight[4] *= 1e-3
    values, scales = quantize(weight)
    again = unpack(pack({"w": weight}))["w"]
    assert values.abs().amax(1)[[0, 4]].tolist() == [127, 127]
    assert ((again - weight).abs() <= 0.53 * scales.float()[:, None]).all()
    assert torch.equal(unpack(pack({"w": again}))["w"], again)


def test_the_page_says_what_each_way_of_looking_is_worth():
    """What the page that translates says of its first sentences, and of those that fail."""
    translator = Translator.load(translators.REAL_MODELS["Transformer"])
    five = list(translators.RIGHT_SENTENCES)

    def say(first: int, last: int) -> list[str]:
        with shown.without_heads(translator.model, list(range(first, last))):
            return [one.text for one in translator.translate(five, max_len=30)]

    own = say(0, 0)
    back, english, both = say(12, 24), say(0, 12), say(24, 36)
    assert back[0] == own[0].replace("tu veux", "vous voulez")  # nothing else: the question says so
    assert english[0] == "je ne veux pas ce que vous voulez."
    assert set(both) == {"les choses se sont en train de faire du mal."}
    page = (ROOT / "translate.md").read_text("utf8")
    said = [translator(text) for text in
            ("I would like a croissant.", "Where is the nearest train station?")]  # fmt: skip
    for french in (english[0], both[0], said[0].split()[-1], said[1]):
        assert french.strip(".?") in page
    assert translator("The blue house is big.") == "la maison est grande."
    assert translator("Where do I sleep?") == "où est-ce que je dors?"


def test_the_question_says_what_each_single_head_changes():
    """Twenty-five change nothing, nine the pronoun with its verb, two write “j'ignore”."""
    live = widgets.translate()
    whole = " ".join(live.translate().by_word()[1])
    said: Counter[str] = Counter()
    for head in range(36):
        live.off = [head]
        said[" ".join(live.translate().by_word()[1])] += 1
    assert said.pop(whole) == 25
    assert said.pop(whole.replace("tu veux", "vous voulez")) == 9
    assert len(said) == said.total() == 2
    assert all(french.startswith("j' ignore") for french in said)
    because = widgets.heads_that_matter().because
    assert because.startswith("25 change nothing, nine write “vous voulez” for “tu veux”, and two")
    assert "Tu veux” becomes “vous voulez”" in widgets.least_missed().because


def test_the_page_prints_what_its_code_prints(capsys):
    page = (ROOT / "translate.md").read_text("utf8")
    loop, count = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (said,) = re.findall(r"```{code-block} text\n:class: wrapped\n(.*?)```", page, re.DOTALL)
    names: dict = {}
    exec(loop, names)
    assert capsys.readouterr().out == said
    exec(count, names)
    assert capsys.readouterr().out.startswith("11 ")
    names["live"].text = "Where do I sleep?"
    exec(count, names)
    assert capsys.readouterr().out.startswith("21 ")
    names["live"].text = translators.RIGHT_SENTENCES[0]
    names["live"].off, names["live"].hidden = [], [1, 2]  # neither “don” nor “'t”
    assert names["live"].translate().by_word()[1][:2] == ["je", "sais"]
