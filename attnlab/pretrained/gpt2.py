"""GPT-2 (Radford et al. 2019) on attnkit's own `LanguageModel`."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from attnkit.guard import checks
from attnlab import files
from attnlab.pretrained.bert import activation_of, take
from attnlab.transformer import LanguageModel


def gpt2_model(tensors: Mapping[str, Tensor], config: Mapping[str, Any]) -> LanguageModel:
    """Build a `LanguageModel` in eval mode from the tensors and the `config.json` of a GPT-2.

    Args:
        tensors: by their published names, with or without a leading "transformer.".
        config: "n_embd", "n_head", "n_layer", "n_positions", "vocab_size", and the rest.

    Raises:
        ValueError: a tensor is missing or of another shape, or the config asks for something that
            this model has not.

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
    checks.choice("layer_norm_epsilon", config.get("layer_norm_epsilon", 1e-5), (1e-5,))
    given = {name.removeprefix("transformer."): value for name, value in tensors.items()}
    activation = config.get("activation_function", "gelu_new")
    with torch.device("meta"):
        model = LanguageModel(
            config["vocab_size"],
            embed_dim=config["n_embd"],
            num_heads=config["n_head"],
            num_layers=config["n_layer"],
            hidden_dim=config.get("n_inner"),
            dropout=0.1,
            activation=activation_of("activation_function", activation),
            positions="learned",
            max_len=config["n_positions"],
        )
    model = model.to_empty(device="cpu")
    model.output.weight = model.embedding.weight  # the tie that to_empty undoes
    files.put_weights(model, _ours(given, config["n_layer"]))
    return model.eval()


def _ours(given: Mapping[str, Tensor], num_layers: int) -> dict[str, Tensor]:
    """The published tensors under the names that they have here."""
    words = take(given, "wte.weight")
    ours = {
        "embedding.weight": words,
        "output.weight": words,
        "positions.table.weight": take(given, "wpe.weight"),
    }
    names = {
        "norm1": "ln_1",
        "attention.in_proj": "attn.c_attn",
        "attention.out_proj": "attn.c_proj",
        "norm2": "ln_2",
        "linear1": "mlp.c_fc",
        "linear2": "mlp.c_proj",
    }
    places = {
        f"stack.layers.{n}.{here}": f"h.{n}.{there}"
        for n in range(num_layers)
        for here, there in names.items()
    }
    for here, there in (places | {"stack.norm": "ln_f"}).items():
        weight = take(given, f"{there}.weight")
        # Its products are x W, with W (in, out): the transpose of a Linear's.
        ours[f"{here}.weight"] = weight.T.contiguous() if weight.dim() == 2 else weight
        ours[f"{here}.bias"] = take(given, f"{there}.bias")
    return ours
