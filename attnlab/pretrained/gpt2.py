"""GPT-2 (Radford et al. 2019) on attnkit's own `LanguageModel`."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from attnlab.files import put_weights
from attnlab.pretrained.settings import activation_of, check_settings, needed
from attnlab.pretrained.tensors import check_left, take
from attnlab.transformer import LanguageModel

HONOURED = (
    *("activation_function", "layer_norm_epsilon", "n_embd", "n_head", "n_inner", "n_layer"),
    *("n_ctx", "n_positions", "scale_attn_by_inverse_layer_idx", "scale_attn_weights"),
    *("tie_word_embeddings", "vocab_size"),
    "reorder_and_upcast_attn",  # the same numbers, in another dtype on the way
)
ONLY = {"add_cross_attention": (False,), "is_encoder_decoder": (False,)}
NAMES = {
    "norm1": "ln_1",
    "attention.in_proj": "attn.c_attn",
    "attention.out_proj": "attn.c_proj",
    "norm2": "ln_2",
    "linear1": "mlp.c_fc",
    "linear2": "mlp.c_proj",
}


def gpt2_model(tensors: Mapping[str, Tensor], config: Mapping[str, Any]) -> LanguageModel:
    """Build a `LanguageModel` in eval mode from the tensors and the `config.json` of a GPT-2.

    Where the config says that scores have another factor than 1/sqrt(D), the weights of the queries
    are multiplied by what differs.

    Args:
        tensors: by their published names, with or without a leading "transformer.".
        config: "n_embd", "n_head", "n_layer", "n_positions", "vocab_size", and the rest.

    Raises:
        ValueError: a tensor is missing, left over or of another shape, or the config asks for
            something that this model has not; the message names it.

    Example:
        >>> ends = ("ln_1", (8,)), ("attn.c_attn", (8, 24)), ("attn.c_proj", (8, 8))
        >>> ends += ("ln_2", (8,)), ("mlp.c_fc", (8, 32)), ("mlp.c_proj", (32, 8))
        >>> tensors = {"wte.weight": torch.randn(10, 8), "wpe.weight": torch.randn(6, 8)}
        >>> for name, shape in [*((f"h.0.{end}", shape) for end, shape in ends), ("ln_f", (8,))]:
        ...     tensors[f"{name}.weight"] = torch.ones(shape)
        ...     tensors[f"{name}.bias"] = torch.zeros(shape[-1])
        >>> config = {"n_embd": 8, "n_head": 2, "n_layer": 1, "n_positions": 6, "vocab_size": 10}
        >>> gpt2_model(tensors, config)(torch.tensor([[3, 1, 4]])).shape
        torch.Size([1, 3, 10])
    """
    check_settings(config, HONOURED, ONLY)
    heads, layers = needed(config, "n_head"), needed(config, "n_layer")
    tied = config.get("tie_word_embeddings", True)
    given = {name.removeprefix("transformer."): value for name, value in tensors.items()}
    activation = config.get("activation_function", "gelu_new")
    with torch.device("meta"):
        model = LanguageModel(
            needed(config, "vocab_size"),
            embed_dim=needed(config, "n_embd"),
            num_heads=heads,
            num_layers=layers,
            hidden_dim=config.get("n_inner"),
            dropout=0.1,
            activation=activation_of("activation_function", activation),
            positions="learned",
            max_len=needed(config, "n_positions"),
            norm_eps=config.get("layer_norm_epsilon", 1e-5),
            tie_embeddings=tied,
        )
    ours = _ours(given, layers, tied)
    check_left(given, r"h\.\d+\.attn\.(masked_)?bias" + r"|lm_head\.weight" * tied)
    for number in range(layers):
        factor = 1.0
        if not config.get("scale_attn_weights", True):  # the scores are not divided by the root
            factor = (config["n_embd"] / heads) ** 0.5
        if config.get("scale_attn_by_inverse_layer_idx", False):
            factor /= number + 1
        if factor != 1:  # a factor of the scores is one of the queries
            for end in ("weight", "bias"):
                rows = ours[f"stack.layers.{number}.attention.in_proj.{end}"]
                rows[: config["n_embd"]] *= factor
    put_weights(model, ours, assign=True)
    if tied:
        model.output.weight = model.embedding.weight  # the tie that assigning undoes
    return model.eval()


def _ours(given: dict[str, Tensor], num_layers: int, tied: bool) -> dict[str, Tensor]:
    """The published tensors under the names that they have here."""
    words = take(given, "wte.weight")
    ours = {
        "embedding.weight": words,
        "output.weight": words if tied else take(given, "lm_head.weight"),
        "positions.table.weight": take(given, "wpe.weight"),
    }
    places = {
        f"stack.layers.{n}.{here}": f"h.{n}.{there}"
        for n in range(num_layers)
        for here, there in NAMES.items()
    }
    for here, there in (places | {"stack.norm": "ln_f"}).items():
        weight = take(given, f"{there}.weight")
        # Its products are x W, with W (in, out): the transpose of a Linear's.
        ours[f"{here}.weight"] = weight.T.clone() if weight.dim() == 2 else weight
        ours[f"{here}.bias"] = take(given, f"{there}.bias").clone()
    return ours
