"""Llama (Touvron et al. 2023) and what is built alike, on attnkit's own `LanguageModel`."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from attnkit.guard import checks
from attnlab.files import put_weights
from attnlab.pretrained.settings import activation_of, check_settings, needed
from attnlab.pretrained.tensors import check_left, take
from attnlab.transformer import LanguageModel

HONOURED = (
    *("attention_bias", "head_dim", "hidden_act", "hidden_size", "intermediate_size"),
    *("max_position_embeddings", "mlp_bias", "num_attention_heads", "num_hidden_layers"),
    *("num_key_value_heads", "rms_norm_eps", "rope_parameters", "rope_scaling", "rope_theta"),
    *("sliding_window", "tie_word_embeddings", "vocab_size"),
    "pretraining_tp",  # the same products, computed in parts
)
ONLY = {
    "is_llama_config": (True,),
    "rope_interleaved": (False,),
    "partial_rotary_factor": (None, 1, 1.0),
    "is_encoder_decoder": (False,),
}
NAMES = {
    "norm1": "input_layernorm",
    "attention.out_proj": "self_attn.o_proj",
    "norm2": "post_attention_layernorm",
    "gate": "mlp.gate_proj",
    "linear1": "mlp.up_proj",
    "linear2": "mlp.down_proj",
}


def llama_model(
    tensors: Mapping[str, Tensor], config: Mapping[str, Any], *, layout: str = "half"
) -> LanguageModel:
    """Build a `LanguageModel` in eval mode from the tensors and the `config.json` of a Llama.

    Mistral's (Jiang et al. 2023) is a Llama whose tokens see a window.

    Args:
        tensors: by their published names, "model.embed_tokens.weight" and so on.
        config: "hidden_size", "num_attention_heads", and the rest that `config.json` has.
        layout: of the rotary pairs in the rows of queries and keys, as `positions.rotary` takes it:
            "half" as Hugging Face stores them, "interleaved" as GGUF files do.

    Raises:
        ValueError: a tensor is missing or of another shape, or the config asks for something that
            this model has not, such as scaled positions; the message names it.

    Example:
        >>> sizes = {"self_attn.q_proj": (8, 8), "self_attn.k_proj": (4, 8)}
        >>> sizes |= {"self_attn.v_proj": (4, 8), "self_attn.o_proj": (8, 8)}
        >>> sizes |= {"mlp.gate_proj": (6, 8), "mlp.up_proj": (6, 8), "mlp.down_proj": (8, 6)}
        >>> sizes |= {"input_layernorm": (8,), "post_attention_layernorm": (8,)}
        >>> tensors = {f"model.layers.0.{name}.weight": torch.ones(size)
        ...            for name, size in sizes.items()}
        >>> tensors["model.embed_tokens.weight"] = torch.randn(10, 8)
        >>> tensors["model.norm.weight"] = torch.ones(8)
        >>> config = {"hidden_size": 8, "num_attention_heads": 2, "num_key_value_heads": 1,
        ...           "num_hidden_layers": 1, "intermediate_size": 6, "vocab_size": 10,
        ...           "tie_word_embeddings": True}
        >>> llama_model(tensors, config)(torch.tensor([[3, 1, 4]])).shape
        torch.Size([1, 3, 10])
    """
    check_settings(config, HONOURED, ONLY)
    heads, layers = needed(config, "num_attention_heads"), needed(config, "num_hidden_layers")
    tied = config.get("tie_word_embeddings", False)
    biased = config.get("attention_bias", False), config.get("mlp_bias", False)
    with torch.device("meta"):
        model = LanguageModel(
            needed(config, "vocab_size"),
            embed_dim=needed(config, "hidden_size"),
            num_heads=heads,
            num_kv_heads=config.get("num_key_value_heads"),
            head_dim=config.get("head_dim"),
            num_layers=layers,
            hidden_dim=needed(config, "intermediate_size"),
            dropout=0.0,
            activation=activation_of("hidden_act", config.get("hidden_act", "silu")),
            gated=True,
            norm="rms",
            norm_eps=config.get("rms_norm_eps", 1e-6),
            bias=any(biased),
            rotary_base=_base(config),
            rotary_layout=layout,
            window=config.get("sliding_window"),
            tie_embeddings=tied,
        )
    given = dict(tensors)
    put_weights(model, _ours(given, model, layers, tied, *biased), assign=True)
    check_left(given, r".*\.rotary_emb\.inv_freq" + r"|lm_head\.weight" * tied)
    if tied:
        model.output.weight = model.embedding.weight  # the tie that assigning undoes
    return model.eval()


def _base(config: Mapping[str, Any]) -> float:
    """The base of the rotary positions, which must not be scaled: the setting has had three
    names."""
    base = config.get("rope_theta") or 10000.0
    for name in ("rope_parameters", "rope_scaling"):
        given = dict(config.get(name) or {})
        kind = given.pop("rope_type", given.pop("type", "default"))
        base = given.pop("rope_theta", base)
        if given.pop("partial_rotary_factor", 1.0) != 1.0 or kind != "default" or given:
            checks.fail(name, "positions as they are, of rope_type 'default'", repr(config[name]))
    return float(base)


def _ours(
    given: dict[str, Tensor],
    model: LanguageModel,
    num_layers: int,
    tied: bool,
    attention_bias: bool,
    mlp_bias: bool,
) -> dict[str, Tensor]:
    """The published tensors under the names that they have here."""
    words = take(given, "model.embed_tokens.weight")
    ours = {
        "embedding.weight": words,
        "output.weight": words if tied else take(given, "lm_head.weight"),
        "stack.norm.weight": take(given, "model.norm.weight"),
    }
    for number in range(num_layers):
        here, there = f"stack.layers.{number}", f"model.layers.{number}"
        for end in ("weight", "bias") if attention_bias else ("weight",):
            parts = [take(given, f"{there}.self_attn.{part}_proj.{end}") for part in "qkv"]
            ours[f"{here}.attention.in_proj.{end}"] = torch.cat(parts)
        for name, place in NAMES.items():
            ours[f"{here}.{name}.weight"] = take(given, f"{there}.{place}.weight")
            if mlp_bias if "mlp" in place else attention_bias and "attn" in place:
                ours[f"{here}.{name}.bias"] = take(given, f"{there}.{place}.bias")
    # With biases in one of the two parts alone, those of the other are 0.
    own = model.state_dict()
    zeros = {name: torch.zeros(own[name].shape) for name in own.keys() - ours.keys()}
    return ours | {name: value for name, value in zeros.items() if name.endswith(".bias")}
