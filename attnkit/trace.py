"""Record what attention computes inside a model, without changing what the model returns.

with trace.record(model) as calls:
    model(sentence)
calls[0].module              # "encoder.layers.0.attention"
calls[0]["weights"]          # (B, H, L, S)
"""

import inspect
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils.hooks import RemovableHandle

from attnkit.formula import default_scale
from attnkit.guard import checks

__all__ = ["RecordedCall", "record"]

observers: ContextVar[tuple[Callable[..., None], ...]] = ContextVar("observers", default=())


Running = ContextVar[tuple[str, ...]]
"""Names of the modules that run in this thread."""


def watching() -> bool:
    # A compiled graph cannot hold a recorder, so nothing is recorded inside one.
    return not torch.compiler.is_compiling() and bool(observers.get())


def observe(**tensors: Tensor | None) -> None:
    """Report a call to the recorders. Only where somebody is `watching`."""
    for observer in observers.get():
        observer(**tensors)


class RecordedCall(dict[str, Tensor]):
    """The tensors of one attention call: a dict of detached copies on the device of the model.

    `scores` (..., L, S) before the mask, `masked_scores` (..., L, S) with -inf where the mask
    hides, `weights` (..., L, S) before dropout, `output` (..., L, Ev) before any projection.
    `module` is the dotted name of the module that called, or "" outside the recorded module.
    """

    def __init__(self, module: str, tensors: dict[str, Tensor]):
        super().__init__(tensors)
        self.module = module


@contextmanager
def record(module: nn.Module | None = None) -> Iterator[list[RecordedCall]]:
    """Record every attention call made inside the `with` block, in order.

    PyTorch's own calls are recorded too: `F.scaled_dot_product_attention` and
    `nn.MultiheadAttention` (whose fast path is disabled while recording, so its output may differ
    in the last bits). Their scores include a float mask, as attnkit's include `bias`. A compiled
    model runs uncompiled while it is recorded. Calls in other threads are not recorded, nor is an
    attention that is written out, as a product, a softmax and a product: it is no call.

    Args:
        module: names the calls by their place in it; calls outside it are recorded too.

    Yields:
        A list of `RecordedCall`, filled as the calls happen.

    Raises:
        TypeError: `module` is not an `nn.Module`.

    Example:
        >>> import torch
        >>> from attnkit import scaled_dot_product_attention
        >>> x = torch.eye(2)
        >>> with record() as calls:
        ...     output, weights = scaled_dot_product_attention(x, x, x, scale=1.0)
        >>> calls[0]["scores"], weights
        (tensor([[1., 0.],
                [0., 1.]]), None)

        Every layer of a model, here one of PyTorch's, as a picture and as an explorer:

        >>> from attnkit import viz
        >>> layer = torch.nn.TransformerEncoderLayer(8, 2, batch_first=True)
        >>> model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        >>> with record(model) as calls:
        ...     _ = model(torch.randn(1, 3, 8))
        >>> for call in calls:
        ...     weights = call["weights"][0]  # (H, L, S) of the first sequence
        ...     picture = viz.heatmap(weights, tokens=list("abc"), title=call.module)
        ...     explorer = viz.AttentionExplorer.from_frames({3: weights}, tokens=list("abc"))
        ...     print(call.module)
        layers.0.self_attn
        layers.1.self_attn
    """
    if module is not None:
        checks.instance("module", module, nn.Module, "an nn.Module")
    calls: list[RecordedCall] = []
    running: Running = ContextVar("running", default=())

    def observe(*, scores: Tensor, mask: Tensor | None, weights: Tensor, output: Tensor) -> None:
        masked = scores if mask is None else scores.masked_fill(~mask, -math.inf)
        tensors = {"scores": scores, "masked_scores": masked, "weights": weights, "output": output}
        copies = {name: item.detach().clone() for name, item in tensors.items()}
        calls.append(RecordedCall(running.get()[-1] if running.get() else "", copies))

    with ExitStack() as stack:
        stack.callback(observers.reset, observers.set((*observers.get(), observe)))
        stack.enter_context(_TorchCalls(observe))
        stack.enter_context(_uncompiled(module))
        for handle in [] if module is None else _name_while_running(module, running):
            stack.callback(handle.remove)
        yield calls


def _name_while_running(module: nn.Module, running: Running) -> list[RemovableHandle]:
    """Hooks that keep the names of the modules that run in `running`, the innermost last.

    A model may be running already, here or in another thread, when these hooks come: it then
    leaves what it never entered.
    """

    def enter(name: str) -> None:
        running.set((*running.get(), name))

    def leave(*_: object) -> None:
        running.set(running.get()[:-1])

    handles = []
    for path, child in module.named_modules():
        if isinstance(child, nn.Linear):  # attends to nothing, and runs faster without a hook
            continue
        name = ".".join(part for part in path.split(".") if part != "_orig_mod")
        handles.append(child.register_forward_pre_hook(lambda *_, n=name: enter(n)))
        handles.append(child.register_forward_hook(leave, always_call=True))
    return handles


class _TorchCalls(TorchFunctionMode):
    """Reports the calls of PyTorch's own attention. Those made by attnkit are skipped: attnkit
    reports them itself."""

    def __init__(self, observe: Callable[..., None]):
        super().__init__()
        self.observe = observe

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), options: Any = None
    ) -> Any:
        options = options or {}
        if function is F.multi_head_attention_forward:
            self._show_multi_head(*args, **options)
        elif function is F.scaled_dot_product_attention and not _called_by_attnkit():
            self._show(*_heads(*args, **options))
        return function(*args, **options)

    def _show(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float
    ) -> None:
        """Compute again what one call computes, before dropout, for the observer."""
        with torch.no_grad():
            scores = scale * query @ key.mT  # (..., L, S)
            weights, visible = scores, None
            if mask is not None:
                visible = mask if mask.dtype == torch.bool else mask != -math.inf
                scores = scores if mask is visible else scores + mask.masked_fill(~visible, 0.0)
                weights = scores.masked_fill(~visible, -math.inf)
            weights = weights.softmax(-1)  # (..., L, S)
            if visible is not None:
                weights = weights.masked_fill(~visible.any(-1, keepdim=True), 0.0)
            output = weights @ value  # (..., L, Ev)
            self.observe(scores=scores, mask=visible, weights=weights, output=output)

    def _show_multi_head(self, *args: Any, **options: Any) -> None:
        """Show a call of `F.multi_head_attention_forward`, whose inputs are (length, B, E), or
        (length, E) without a batch."""
        call = inspect.signature(F.multi_head_attention_forward).bind(*args, **options)
        call.apply_defaults()
        given = SimpleNamespace(**call.arguments)
        added = given.bias_k, given.static_k, given.static_v
        if given.add_zero_attn or any(item is not None for item in added):
            kinds = "add_bias_kv, add_zero_attn or static keys"
            warnings.warn(f"not recorded: attention with {kinds}", stacklevel=3)
            return
        weights = given.q_proj_weight, given.k_proj_weight, given.v_proj_weight
        if not given.use_separate_proj_weight:
            weights = given.in_proj_weight.chunk(3)
        biases = [None] * 3 if given.in_proj_bias is None else given.in_proj_bias.chunk(3)
        inputs = zip((given.query, given.key, given.value), weights, biases, strict=True)
        with torch.no_grad():
            heads = [F.linear(x, w, b).unflatten(-1, (given.num_heads, -1)) for x, w, b in inputs]
        query, key, value = (x.movedim(0, -2) for x in heads)  # (B, H, length, D)
        mask = None
        if given.key_padding_mask is not None:
            mask = _additive(given.key_padding_mask[..., None, None, :])  # (B, 1, 1, S)
        if given.attn_mask is not None:
            per_head = given.attn_mask.dim() == 3  # (B * H, L, S)
            shape = (*query.shape[:-1], key.shape[-2]) if per_head else given.attn_mask.shape
            more = _additive(given.attn_mask.view(shape))
            mask = more if mask is None else mask + more
        self._show(query, key, value, mask, default_scale(query.shape[-1]))


def _additive(mask: Tensor) -> Tensor:
    """A mask of `nn.MultiheadAttention`, True where a key is hidden, as one to add to scores."""
    if mask.dtype != torch.bool:
        return mask
    return torch.zeros_like(mask, dtype=torch.float32).masked_fill(mask, -math.inf)


def _heads(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None, float]:
    """Heads, mask and scale of a call of `F.scaled_dot_product_attention`."""
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(groups, -3), value.repeat_interleave(groups, -3)
    if is_causal:
        lengths = query.shape[-2], key.shape[-2]
        attn_mask = torch.ones(lengths, dtype=torch.bool, device=query.device).tril()  # (L, S)
    scale = default_scale(query.shape[-1]) if scale is None else scale
    return query, key, value, attn_mask, scale


def _called_by_attnkit() -> bool:
    """Whether the call that a `_TorchCalls` now handles was made by a module of attnkit."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back  # of this mode, and of others around it
    return frame is not None and frame.f_globals.get("__name__", "").startswith("attnkit.")


@contextmanager
def _uncompiled(module: nn.Module | None) -> Iterator[None]:
    """Run compiled models eagerly, since a compiled graph calls no recorder."""
    if "torch._dynamo" not in sys.modules:  # so nothing is compiled, and importing it is slow
        yield
    elif hasattr(torch.compiler, "set_stance"):
        with torch.compiler.set_stance("force_eager"):
            yield
    else:  # torch 2.5
        parts = () if module is None else module.modules()
        if any(hasattr(part, "_orig_mod") for part in parts):
            instead = "record the one it was compiled from"
            warnings.warn(f"not recorded: a compiled module; {instead}", stacklevel=4)
        yield
