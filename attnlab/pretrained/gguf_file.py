"""Read a GGUF file: one file with settings, tokenizer and weights, mostly in four to eight bits.

Version 3 of the format (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). The header is
read here, with every length checked against the file's before it is believed, since such files come
from anywhere; the package `gguf` knows the forms in which weights are packed.
"""

import mmap
import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from attnkit.guard import checks
from attnlab.pretrained.settings import needed

# The formats of struct for the kinds of values; 8 is a string, 9 an array.
FORMATS = dict(enumerate(("<B", "<b", "<H", "<h", "<I", "<i", "<f", "<?")))
FORMATS |= {10: "<Q", 11: "<q", 12: "<d"}
STRING, ARRAY = 8, 9


class Gguf(NamedTuple):
    """`settings` by their names, and `tensors` in float32, by the file's names."""

    settings: dict[str, Any]
    tensors: dict[str, Tensor]


def read_gguf(path: str | Path) -> Gguf:
    """Read settings and weights, these unpacked to float32.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not a whole GGUF file of version 2 or 3, or weights are in a form that
            the package `gguf` does not unpack.
        ImportError: `gguf` is not installed.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"path: expected a GGUF file, got nothing at {path}")
    library = checks.installed("gguf", "pretrained")
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            checks.fail("path", "a GGUF file, which begins with 'GGUF'", str(path))
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return _Header(path, content).read(library)


class _Header:
    """The place in a file that is being read, and what is read from there on."""

    def __init__(self, path: Path, content: mmap.mmap):
        self.path, self.content, self.place = path, content, 4

    def fail(self, expected: str, got: str) -> None:
        checks.fail("path", f"a whole GGUF file with {expected}", f"{got} in {self.path}")

    def read(self, library: Any) -> Gguf:
        version = self.number("<I")
        if version not in (2, 3):
            self.fail("version 2 or 3", f"version {version}")
        tensors, settings = self.number("<Q"), self.number("<Q")
        named = self.unique(settings, lambda: self.value(self.number("<I")))
        found = self.unique(tensors, lambda: self.tensor(library))
        alignment = named.get("general.alignment", 32)
        if not isinstance(alignment, int) or alignment < 1:
            self.fail("an alignment of at least 1", repr(alignment))
        start = -(-self.place // alignment) * alignment
        return Gguf(
            named, {name: self.weights(library, start, *each) for name, each in found.items()}
        )

    def unique(self, count: int, read: Any) -> dict[str, Any]:
        """`count` names, each with what `read` gives. Each takes bytes, so that no count that is
        made up goes on for longer than the file does."""
        found: dict[str, Any] = {}
        for _ in range(count):
            name = self.string()
            if name in found:
                self.fail("every name once", repr(name))
            found[name] = read()
        return found

    def take(self, size: int) -> bytes:
        part = self.content[self.place : self.place + size]
        if len(part) < size:
            self.fail(f"{size} bytes at {self.place}", str(len(part)))
        self.place += size
        return part

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def string(self) -> str:
        try:
            return self.take(self.number("<Q")).decode("utf-8")
        except UnicodeDecodeError as error:
            self.fail("strings in UTF-8", str(error))

    def value(self, kind: int) -> Any:
        if kind == STRING:
            return self.string()
        if kind in FORMATS:
            return self.number(FORMATS[kind])
        if kind != ARRAY:
            self.fail("kinds of values from 0 to 12", str(kind))
        inner, count = self.number("<I"), self.number("<Q")
        if inner == STRING:
            return [self.string() for _ in range(count)]
        if inner not in FORMATS:
            self.fail("arrays of numbers or strings", f"one of kind {inner}")
        size = struct.calcsize(FORMATS[inner])
        if count > len(self.content) // size:
            self.fail(f"an array of {count} values", f"{len(self.content)} bytes")
        return list(struct.unpack(f"<{count}{FORMATS[inner][1]}", self.take(count * size)))

    def tensor(self, library: Any) -> tuple[list[int], Any, int]:
        """Shape, with the last dimension first as the format has it, form and offset."""
        dims = self.number("<I")
        if not 1 <= dims <= 4:
            self.fail("tensors of 1 to 4 dimensions", str(dims))
        shape = [self.number("<Q") for _ in range(dims)]
        kind = self.number("<I")
        try:
            form = library.GGMLQuantizationType(kind)
        except ValueError:
            self.fail("known forms of weights", f"form {kind}")
        return shape, form, self.number("<Q")

    def weights(self, library: Any, start: int, shape: list[int], form: Any, offset: int) -> Tensor:
        values, size = library.GGML_QUANT_SIZES[form]  # so many values in a block of that size
        number = int(np.prod(shape, dtype=object))
        if not number or shape[0] % values:
            self.fail(f"rows of a multiple of {values} values of {form.name}", str(shape))
        self.place = start + offset
        packed = np.frombuffer(self.take(number // values * size), np.uint8)
        packed = packed.reshape(*shape[:0:-1], shape[0] // values * size)
        if form.name in ("F32", "F16", "F64"):
            packed = packed.view(f"<f{size}")
        try:
            plain = library.dequantize(packed, form)
        except NotImplementedError:
            self.fail("forms of weights that the package gguf unpacks", form.name)
        return torch.from_numpy(np.array(plain, dtype=np.float32))


# Of the settings of "llama" files: what they are called in a `config.json`.
CONFIG = {
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "attention.sliding_window": "sliding_window",
    "block_count": "num_hidden_layers",
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "rope.freq_base": "rope_theta",
    "vocab_size": "vocab_size",
}
NAMES = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_norm": "input_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "ffn_norm": "post_attention_layernorm",
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
}


def llama_config(settings: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    """The settings of a "llama" file in the form of a `config.json`.

    Raises:
        ValueError: the file holds another architecture, or asks for something that is not known
            here; the message names it.
    """
    checks.choice("general.architecture", settings.get("general.architecture"), ("llama",))
    given = {
        name.removeprefix("llama."): value
        for name, value in settings.items()
        if not name.startswith(("general.", "tokenizer."))
    }
    config = {theirs: given.pop(ours) for ours, theirs in CONFIG.items() if ours in given}
    config["tie_word_embeddings"] = "output.weight" not in tensors
    config["attention_bias"] = any(re.fullmatch(r"blk\.0\.attn_\w+\.bias", x) for x in tensors)
    config["mlp_bias"] = any(re.fullmatch(r"blk\.0\.ffn_\w+\.bias", x) for x in tensors)
    words = tensors.get("token_embd.weight")
    if words is not None:
        config.setdefault("vocab_size", len(words))
    for name, value in config.items():
        if isinstance(value, list):
            checks.fail(f"llama {name}", "one number for all layers", f"{len(value)} of them")
    heads, width = needed(config, "num_attention_heads"), needed(config, "hidden_size")
    size = config.get("head_dim", width // checks.integer("head_count", heads, minimum=1))
    allowed = {"rope.dimension_count": size, "attention.value_length": size}
    allowed |= {"rope.scaling.type": "none", "attention.causal": True, "expert_count": 0}
    allowed |= {"expert_used_count": 0}
    for name, value in given.items():
        if name not in allowed:
            checks.fail(f"llama.{name}", "no such setting, which this model has not", repr(value))
        if value != allowed[name]:
            checks.fail(f"llama.{name}", repr(allowed[name]), repr(value))
    return config


def llama_names(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors under the names of Hugging Face's checkpoints; others keep their own, to be
    refused by them."""
    renamed = {}
    for name, value in tensors.items():
        block = re.fullmatch(r"blk\.(\d+)\.(\w+)\.(weight|bias)", name)
        plain = re.fullmatch(r"(\w+)\.(weight)", name)
        if block and block[2] in NAMES:
            name = f"model.layers.{block[1]}.{NAMES[block[2]]}.{block[3]}"
        elif plain and plain[1] in NAMES:
            name = f"{NAMES[plain[1]]}.{plain[2]}"
        renamed[name] = value
    return renamed
