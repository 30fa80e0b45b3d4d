"""Llama (Touvron et al. 2023) and what is built alike, on attnkit's own `LanguageModel`."""

import math
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
    *("sliding_window", "tie_word_embeddings", "vocab_size", "layer_types"),
    "max_window_layers",  # which layers have a window, where `use_sliding_window`
    "cache_implementation",  # how a library keeps what a window lets go
    "pretraining_tp",  # the same products, computed in parts
)
GEMMAS = {  # what each has that a Llama has not
    "gemma2": ("attn_logit_softcapping", "final_logit_softcapping"),
    "gemma3_text": ("_sliding_window_pattern", "sliding_window_pattern", "rope_local_base_freq"),
}
ONLY = {
    "is_llama_config": (True,),
    "rope_interleaved": (False,),
    "partial_rotary_factor": (None, 1, 1.0),
    "is_encoder_decoder": (False,),
    "use_sliding_window": (None, False),
    "use_bidirectional_attention": (None, False),
}
NAMES = {
    "norm1": "input_layernorm",
    "attention.out_proj": "self_attn.o_proj",
    "norm2": "post_attention_layernorm",
    "gate": "mlp.gate_proj",
    "linear1": "mlp.up_proj",
    "linear2": "mlp.down_proj",
}
QK_NORMS = {
    "attention.query_norm": "self_attn.q_norm",
    "attention.key_norm": "self_attn.k_norm",
}
NORMS_AFTER = {
    "after1": "post_attention_layernorm",
    "norm2": "pre_feedforward_layernorm",
    "after2": "post_feedforward_layernorm",
}
# By model_type, the names that are others.
OTHERS = {"qwen3": QK_NORMS, "gemma2": NORMS_AFTER, "gemma3_text": QK_NORMS | NORMS_AFTER}
KINDS = ("full_attention", "sliding_attention")


def llama_model(
    tensors: Mapping[str, Tensor], config: Mapping[str, Any], *, layout: str = "half"
) -> LanguageModel:
    """Build a `LanguageModel` in eval mode from the tensors and the `config.json` of a Llama.

    Mistral's (Jiang et al. 2023) is a Llama whose tokens see a window. Qwen3 (2025) norms queries
    and keys. Gemma 3 (2025), text alone, does as well, norms what each part adds, scales its
    embeddings, and has windows in five layers of six, with a base of their own. Gemma 2 (2024) has
    a window in every other layer, and caps on its scores and logits where Gemma 3 norms.

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
    kind = config.get("model_type")
    gemma, names = kind in GEMMAS, NAMES | OTHERS.get(kind, {})
    more = ("hidden_activation", "query_pre_attn_scalar", *GEMMAS[kind]) if gemma else ()
    check_settings(config, HONOURED + more, ONLY)
    heads, layers = needed(config, "num_attention_heads"), needed(config, "num_hidden_layers")
    tied = config.get("tie_word_embeddings", gemma)
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
            activation=_activation(config, gemma),
            gated=True,
            norm="rms",
            norm_eps=config.get("rms_norm_eps", 1e-6),
            bias=any(biased),
            rotary_layout=layout,
            tie_embeddings=tied,
            qk_norm="attention.query_norm" in names,
            norm_after=gemma,
            scale=needed(config, "query_pre_attn_scalar") ** -0.5 if gemma else None,
            embedding_scale=math.sqrt(needed(config, "hidden_size")) if gemma else 1.0,
            soft_cap=config.get("attn_logit_softcapping"),
            logit_cap=config.get("final_logit_softcapping"),
            **_layers(config, layers, kind),
        )
    given = dict(tensors)
    ours = _ours(given, model, names, tied, *biased)
    if gemma:  # whose norms keep what they multiply by, less 1
        ours = {name: x + 1 if _is_norm(name) else x for name, x in ours.items()}
    put_weights(model, ours, assign=True)
    check_left(given, r".*\.rotary_emb\.inv_freq" + r"|lm_head\.weight" * tied)
    if tied:
        model.output.weight = model.embedding.weight  # the tie that assigning undoes
    return model.eval()


def _is_norm(name: str) -> bool:
    return "norm" in name or "after" in name


def _activation(config: Mapping[str, Any], gemma: bool) -> str:
    name, default = ("hidden_activation", "gelu_pytorch_tanh") if gemma else ("hidden_act", "silu")
    return activation_of(name, config.get(name, default))


def _layers(config: Mapping[str, Any], num_layers: int, model: str | None) -> dict[str, Any]:
    """The window and the rotary base of each layer, or those of all.

    A config says so in two ways: a kind for each layer, or that every n-th is full.
    """
    size, kinds = config.get("sliding_window"), config.get("layer_types")
    every = config.get("sliding_window_pattern") or config.get("_sliding_window_pattern")
    if config.get("use_sliding_window") is False:  # of Qwen's, whose window is then a mere number
        size = None
    if kinds is None and model in GEMMAS:
        every = every or (2 if model == "gemma2" else 6)
        kinds = ["full_attention" if n % every == every - 1 else "sliding_attention"
                 for n in range(num_layers)]  # fmt: skip
    if kinds is None:
        return {"window": size, "rotary_base": _base(config)}
    if len(kinds) != num_layers:
        checks.fail("layer_types", f"{num_layers} kinds, one for each layer", str(len(kinds)))
    near = [checks.choice("layer_types", kind, KINDS) == "sliding_attention" for kind in kinds]
    if any(near) and size is None:
        checks.fail("sliding_window", "a number, for layer_types has sliding_attention", "None")
    windows = [size if windowed else None for windowed in near]
    if model != "gemma3_text":
        return {"window": windows, "rotary_base": _base(config)}
    given = config.get("rope_parameters") or {}
    local = {"rope_theta": config.get("rope_local_base_freq")}
    local["rope_parameters"] = given.get("sliding_attention")
    far = {"rope_theta": config.get("rope_theta") or 1e6}
    far |= {"rope_parameters": given.get("full_attention")}
    far |= {"rope_scaling": config.get("rope_scaling")}
    bases = [_base(local if windowed else far) for windowed in near]
    return {"window": windows, "rotary_base": bases}


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
    names: Mapping[str, str],
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
    for number in range(len(model.stack.layers)):
        here, there = f"stack.layers.{number}", f"model.layers.{number}"
        for end in ("weight", "bias") if attention_bias else ("weight",):
            parts = [take(given, f"{there}.self_attn.{part}_proj.{end}") for part in "qkv"]
            ours[f"{here}.attention.in_proj.{end}"] = torch.cat(parts)
        for name, place in names.items():
            ours[f"{here}.{name}.weight"] = take(given, f"{there}.{place}.weight")
            if _is_norm(name):
                continue
            if mlp_bias if "mlp" in place else attention_bias and "attn" in place:
                ours[f"{here}.{name}.bias"] = take(given, f"{there}.{place}.bias")
    # With biases in one of the two parts alone, those of the other are 0.
    own = model.state_dict()
    zeros = {name: torch.zeros(own[name].shape) for name in own.keys() - ours.keys()}
    return ours | {name: value for name, value in zeros.items() if name.endswith(".bias")}
