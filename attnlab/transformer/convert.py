"""Copies of torch's Transformer layers and stacks."""

import copy
from collections.abc import Callable
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnkit.guard import checks
from attnkit.mechanisms.multihead import MultiHeadAttention

Module = TypeVar("Module", bound=nn.Module)

# Torch's name for each part of ours; the longer names come first.
_TORCH_NAMES = {
    "cross_attention": "multihead_attn",
    "self_attention": "self_attn",
    "attention": "self_attn",
}


def layer_from_torch(cls: type[Module], module: nn.Module, kind: type[nn.Module]) -> Module:
    """Build `cls`, one of our layers, as a copy of `module`, which must be of torch's `kind`."""
    checks.instance("module", module, kind, f"an nn.{kind.__name__}")
    with torch.device("meta"):  # no memory and no random numbers for weights that are replaced
        new = cls(
            module.linear1.in_features,
            module.self_attn.num_heads,
            module.linear1.out_features,
            dropout=_dropout(module),
            activation=_activation_name(module.activation),
            norm_first=module.norm_first,
            bias=module.linear1.bias is not None,
        )
    for name in cls.attentions:
        theirs = getattr(module, _TORCH_NAMES[name])
        setattr(new, name, MultiHeadAttention.from_torch(theirs))
    _copy_parameters(module, new)
    for name, norm in module.named_children():
        if isinstance(norm, nn.LayerNorm):
            getattr(new, name).eps = norm.eps
    return _copy_mode(module, new)


def stack_from_torch(cls: type[Module], module: nn.Module, kind: type[nn.Module]) -> Module:
    """Build `cls`, one of our stacks, as a copy of `module`, which must be of torch's `kind`."""
    part = " (its encoder or decoder)" if isinstance(module, nn.Transformer) else ""
    checks.instance("module", module, kind, f"an nn.{kind.__name__}{part}")
    layers = [cls.layer_type.from_torch(layer) for layer in module.layers]
    new = cls.__new__(cls)
    nn.Module.__init__(new)
    new.layers = nn.ModuleList(layers)
    new.norm = nn.Identity() if module.norm is None else copy.deepcopy(module.norm)
    return _copy_mode(module, new)


def _torch_name(name: str) -> str:
    """The name that torch's layer has for a parameter of ours."""
    for ours, theirs in _TORCH_NAMES.items():
        name = name.replace(f"{ours}.", f"{theirs}.")
    return name.replace("in_proj.", "in_proj_")


def _copy_parameters(source: nn.Module, target: nn.Module) -> None:
    """Put copies of the parameters of `source` into `target`, frozen where they are frozen."""
    theirs = dict(source.named_parameters())
    theirs = {name: theirs[_torch_name(name)] for name, _ in target.named_parameters()}
    copies = {name: value.detach().clone() for name, value in theirs.items()}
    target.load_state_dict(copies, assign=True)
    for name, parameter in target.named_parameters():
        parameter.requires_grad_(theirs[name].requires_grad)


def _copy_mode(source: nn.Module, target: Module) -> Module:
    for module in target.modules():
        module.training = source.training
    return target


def _dropout(module: nn.Module) -> float:
    """The probability of a layer's dropouts, which ours holds once for all."""
    found = {part.p for part in module.children() if isinstance(part, nn.Dropout)}
    if len(found) > 1:
        expected = "one probability for all dropouts outside the attention"
        checks.fail("module", expected, " and ".join(map(str, sorted(found))))
    return found.pop()


def _activation_name(activation: Callable[[Tensor], Tensor]) -> str:
    if activation is F.relu or isinstance(activation, nn.ReLU):
        return "relu"
    if activation is F.gelu:
        return "gelu"
    if isinstance(activation, nn.GELU):
        return "gelu" if activation.approximate == "none" else "gelu_tanh"
    checks.fail("module", "an activation of ReLU or GELU", repr(activation))
