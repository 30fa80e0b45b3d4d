"""The weights of all-MiniLM-L6-v2 in eight bits: one GGUF file of 24 MB for its 91 MB."""

import json
import tempfile
from functools import lru_cache
from pathlib import Path

import numpy as np

from attnkit.guard import checks
from attnlab.files import load_tensors
from attnlab.pretrained import published

NAME = "all-MiniLM-L6-v2"
BLOCK = {
    "attn_q": "attention.self.query",
    "attn_k": "attention.self.key",
    "attn_v": "attention.self.value",
    "attn_output": "attention.output.dense",
    "attn_output_norm": "attention.output.LayerNorm",
    "ffn_up": "intermediate.dense",
    "ffn_down": "output.dense",
    "layer_output_norm": "output.LayerNorm",
}
TABLES = {
    "token_embd": "word_embeddings",
    "position_embd": "position_embeddings",
    "token_types": "token_type_embeddings",
}


def names(layers: int) -> dict[str, str]:
    """The names of the tensors in the file, as llama.cpp has them, with the published ones."""
    found = {f"{ours}.weight": f"embeddings.{theirs}.weight" for ours, theirs in TABLES.items()}
    for end in ("weight", "bias"):
        found[f"token_embd_norm.{end}"] = f"embeddings.LayerNorm.{end}"
        for number in range(layers):
            for ours, theirs in BLOCK.items():
                found[f"blk.{number}.{ours}.{end}"] = f"encoder.layer.{number}.{theirs}.{end}"
    return found


@lru_cache
def content() -> bytes | None:
    """The file, or None where the package of the model is not installed.

    Matrices and tables are in blocks of 32 numbers, each a byte, that share a scale (Q8_0); the
    rest, 0.1% of all, is in float32.
    """
    try:
        found = published.find(NAME, None, False)
    except FileNotFoundError:
        return None
    library = checks.installed("gguf", "pretrained")
    model = published.MODELS[NAME]
    config, (tensors, _) = model.config, load_tensors(found[published.WEIGHTS])
    vocab = json.loads(found[published.TOKENIZER].read_text("utf-8"))["model"]["vocab"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        writer = library.GGUFWriter(path, "bert")
        for name, number in {
            "embedding_length": config["hidden_size"],
            "block_count": config["num_hidden_layers"],
            "feed_forward_length": config["intermediate_size"],
            "attention.head_count": config["num_attention_heads"],
            "context_length": model.longest,
            "position_count": config["max_position_embeddings"],
        }.items():
            writer.add_uint32(f"bert.{name}", number)
        writer.add_float32("bert.attention.layer_norm_epsilon", config["layer_norm_eps"])
        writer.add_string("tokenizer.ggml.model", "bert")
        writer.add_array("tokenizer.ggml.tokens", sorted(vocab, key=vocab.get))
        eight = library.GGMLQuantizationType.Q8_0
        for ours, theirs in names(config["num_hidden_layers"]).items():
            values = tensors[theirs].numpy().astype(np.float32)
            if ours == "token_types.weight":
                values = values[0]  # one text is read at a time
            if values.ndim == 2:
                writer.add_tensor(ours, library.quants.quantize(values, eight), raw_dtype=eight)
            else:
                writer.add_tensor(ours, values)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path.read_bytes()
