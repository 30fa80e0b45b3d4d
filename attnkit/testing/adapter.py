"""One form for every attention: the adapter that the checks of `attnkit.testing` call, and what
all of them need: masks to try, and whether two outputs agree."""

import copy
import inspect
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from attnkit.guard import checks
from attnkit.mechanisms import MultiHeadAttention

#: Attributes under which modules keep their width, in the order in which they are tried.
WIDTHS = ("embed_dim", "query_dim", "d_model", "hidden_size", "dim")
MASKS = ("mask", "attn_mask", "attention_mask")
#: How far an output may move, relative to its largest number, and still count as the same.
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.bfloat16: 0.1, torch.float16: 0.02}


class NotApplicable(ValueError):
    """Raised where a check cannot be asked of an attention; the message says what it would need.

    Example:
        >>> from attnkit import testing
        >>> try:
        ...     testing.assert_padding_invariant(lambda query, key, value: value)
        ... except testing.NotApplicable as reason:
        ...     print(reason)
        assert_padding_invariant: <lambda> takes no mask
    """


@dataclass(eq=False, repr=False)
class Adapted:
    """An attention in the one form that the checks call. `adapt` makes it.

    `adapted(query, key, value, mask)` returns `(output, weights)`, weights None where the
    attention gives none. The mask is boolean, True means "may attend", shape (B, L, S), or
    (B, 1, L, S) for functions on heads. Modules are put into eval mode, or into train mode with
    `train=True`, and back.

    Example:
        >>> import torch.nn.functional as F
        >>> attention = adapt(F.scaled_dot_product_attention)
        >>> query, key, value = attention.inputs(batch=1, queries=2, keys=3)
        >>> attention(query, key, value)[0].shape  # two heads of size 8
        torch.Size([1, 2, 2, 8])
    """

    run: Callable[..., Any]
    subject: Any
    name: str
    dims: tuple[int, int, int]
    heads: int | None
    kv_heads: int | None
    self_attention: bool
    causal: bool
    takes_mask: bool
    asks_weights: bool
    project: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None
    dtype: torch.dtype
    device: torch.device
    copied: Callable[[torch.dtype], "Adapted"] | None

    def __repr__(self) -> str:
        return f"Adapted({self.name})"

    def __call__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        train: bool = False,
        need_weights: bool = True,
        seed: int = 0,
    ) -> tuple[Tensor, Tensor | None]:
        if mask is not None and self.heads is not None:
            mask = mask.unsqueeze(1)  # (B, 1, L, S)
        if self.self_attention:
            key = value = query
        devices = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices), self._mode(train):
            # `torch.manual_seed` writes down a stack for each kind of device that is not there.
            on_cpu = self.device.type == "cpu"
            (torch.default_generator if on_cpu else torch).manual_seed(seed)
            answer = self.run(query, key, value, mask, train, need_weights)
        output, weights = answer if isinstance(answer, tuple) else (answer, None)
        if not isinstance(output, Tensor):
            checks.fail("attention", "a tensor, or (output, weights)", repr(type(output)))
        return output, weights

    @contextmanager
    def _mode(self, train: bool):
        if not isinstance(self.subject, nn.Module) or _is_keras(self.subject):
            yield
            return
        before = {module: module.training for module in self.subject.modules()}
        self.subject.train(train)
        try:
            yield
        finally:
            for module, training in before.items():
                module.training = training

    def inputs(
        self, batch: int, queries: int, keys: int | None = None, *, std: float = 1.0, seed: int = 0
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Random query, key and value of this attention's sizes; one tensor for self-attention."""
        generator = torch.Generator().manual_seed(seed)
        keys = queries if keys is None else keys

        def draw(length: int, size: int, heads: int | None) -> Tensor:
            lead = (batch,) if heads is None else (batch, heads)
            x = std * torch.randn(*lead, length, size, generator=generator, dtype=torch.float64)
            return x.to(self.device, self.dtype)

        query = draw(queries, self.dims[0], self.heads)
        if self.self_attention:
            return query, query, query
        return (
            query,
            draw(keys, self.dims[1], self.kv_heads),
            draw(keys, self.dims[2], self.kv_heads),
        )


def adapt(
    attention: Any,
    call: Callable[..., Any] | None = None,
    *,
    embed_dim: int | tuple[int, int, int] | None = None,
    heads: int | None = None,
    kv_heads: int | None = None,
    self_attention: bool | None = None,
    causal: bool = False,
    project: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None,
    dtype: torch.dtype | None = None,
) -> Adapted:
    """Bring an attention into the one form that the checks call.

    Recognized as they are: `nn.MultiheadAttention`, `F.scaled_dot_product_attention` and functions
    of its form, the mechanisms and functions of `attnkit`, Keras's `MultiHeadAttention` and
    `GroupQueryAttention` on its torch backend, and any module or function that is called
    `attention(query, key, value, mask=...)` or `attention(x, mask=...)`, whose mask (or
    `attn_mask`, `attention_mask`) is boolean with True for "may attend", and that returns the
    output or (output, weights). Everything else is one function away::

        adapt(module, lambda query, key, value, mask: module(query, mask=~mask)[0])

    Args:
        attention: a module, a layer or a function.
        call: a function (query, key, value, mask) -> output or (output, weights) that calls
            `attention` in its own words; `mask` is None or boolean (B, L, S), True where the
            query may attend. Without the fourth argument the attention is one that takes no mask;
            with a fifth, `need_weights`, it is told whether weights are wanted.
        embed_dim: features of a query, or of (query, key, value). Read from the module where it
            can be. 8 for functions.
        heads: for functions on (B, H, L, E): H, 2 when omitted; 0 for (B, L, E). The mask of a
            function on heads has shape (B, 1, L, S).
        kv_heads: number of key heads of such a function; `heads` when omitted.
        self_attention: whether there is one sequence that gives queries, keys and values. True
            when the attention is called with one.
        causal: whether the attention is causal by itself. It is then given no causal mask.
        project: a function (query, key) -> (queries, keys) with the projected heads,
            (B, H, L, D) each, or fewer key heads that queries share, from which a module computes
            its scores. `assert_scale` and `assert_heads_independent` need it; known for PyTorch's,
            Keras's and attnkit's.
        dtype: of the inputs; that of the module's parameters, or float32.

    Returns:
        `Adapted`, which every check takes in place of the attention.

    Raises:
        TypeError: `attention` cannot be called.
        ValueError: the width of a module is not known and not given.

    Example:
        >>> import torch
        >>> from attnkit.testing import adapt
        >>> attention = adapt(torch.nn.MultiheadAttention(16, 4))
        >>> output, weights = attention(*attention.inputs(batch=2, queries=3, keys=5))
        >>> output.shape, weights.shape
        (torch.Size([2, 3, 16]), torch.Size([2, 4, 3, 5]))
    """
    if isinstance(attention, Adapted):
        return attention
    if not callable(attention) or isinstance(attention, type):
        got = f"the class {attention.__name__}" if callable(attention) else type(attention).__name__
        checks.fail("attention", "a module or a function", got, TypeError)
    is_module = isinstance(attention, nn.Module) or _is_keras(attention)
    if call is not None:
        way = _by_call(call)
    else:
        way = next(make(attention) for recognises, make in _WAYS if recognises(attention))
    parameter = next(attention.parameters(), None) if isinstance(attention, nn.Module) else None
    if dtype is None:
        floating = parameter is not None and parameter.is_floating_point()
        dtype = parameter.dtype if floating else torch.float32
    if is_module:
        heads = kv_heads = None
    else:
        heads = 2 if heads is None else heads or None
        kv_heads = heads if kv_heads is None else kv_heads

    def copied(kind: torch.dtype) -> Adapted:
        return adapt(
            copy.deepcopy(attention).to(kind),
            embed_dim=embed_dim,
            self_attention=self_attention,
            causal=causal,
        )

    return Adapted(
        way.run,
        subject=attention,
        name=getattr(attention, "__name__", type(attention).__name__),
        dims=_dims(attention, embed_dim, is_module),
        heads=heads,
        kv_heads=kv_heads,
        self_attention=way.alone if self_attention is None else self_attention,
        causal=causal,
        takes_mask=way.takes_mask,
        asks_weights=way.asks_weights,
        project=project or way.project or (None if is_module else lambda *heads: heads),
        dtype=dtype,
        device=torch.device("cpu") if parameter is None else parameter.device,
        copied=copied if call is None else None,
    )


class _Way(NamedTuple):
    """How an attention is called: `run(query, key, value, mask, train, need_weights)`."""

    run: Callable[..., Any]
    takes_mask: bool = True
    asks_weights: bool = True
    alone: bool = False  # whether it is called with one sequence
    project: Callable[[Tensor, Tensor], Sequence[Tensor]] | None = None


def _by_call(call: Callable[..., Any]) -> _Way:
    """By a function that its user wrote, which takes the first three to five of the arguments."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    count = sum(each.kind in kinds for each in inspect.signature(call).parameters.values())

    def run(query, key, value, mask, train, need_weights):
        return call(*(query, key, value, mask, need_weights)[:count])

    return _Way(run, takes_mask=count > 3, asks_weights=count > 4)


def _by_name(attention: Any) -> _Way:
    """By the names of its arguments, as those of attnkit and PyTorch's function."""
    try:
        forward = attention.forward if isinstance(attention, nn.Module) else attention
        parameters = inspect.signature(forward).parameters
    except ValueError:  # a built-in function: F.scaled_dot_product_attention
        parameters = dict.fromkeys(("query", "key", "value", "attn_mask"))
    mask_name = next((name for name in MASKS if name in parameters), None)
    asks_weights = "need_weights" in parameters
    required = [
        name
        for name, each in parameters.items()
        if each is None or (each.default is each.empty and each.kind == each.POSITIONAL_OR_KEYWORD)
    ]
    required = [name for name in required if name not in MASKS]
    alone = len(required) == 1 and not {"key", "k", "keys", "memory"} & set(parameters)

    def run(query, key, value, mask, train, need_weights):
        options = {} if mask is None else {mask_name: mask}
        if asks_weights:
            options["need_weights"] = need_weights
        given = (query,) if alone else (query, key, value)
        answer = attention(*given, **options)
        return tuple(answer) if isinstance(answer, tuple) else answer

    project = partial(_heads, attention) if isinstance(attention, MultiHeadAttention) else None
    return _Way(run, mask_name is not None, asks_weights, alone, project)


def _torch(attention: nn.MultiheadAttention) -> _Way:
    def run(query, key, value, mask, train, need_weights):
        if mask is not None:  # its True means "not allowed", and heads lie in the batch
            mask = ~mask.expand(len(query), query.shape[1], key.shape[1])
            mask = mask.repeat_interleave(attention.num_heads, 0)
        first = attention.batch_first
        given = [x if first else x.transpose(0, 1) for x in (query, key, value)]
        output, weights = attention(
            *given, attn_mask=mask, need_weights=need_weights, average_attn_weights=False
        )
        return output if first else output.transpose(0, 1), weights

    return _Way(run, project=lambda *x: _heads(MultiHeadAttention.from_torch(attention), *x))


def _heads(attention: MultiHeadAttention, query: Tensor, key: Tensor) -> Sequence[Tensor]:
    """The projected heads of queries and keys."""
    value = key.new_zeros(*key.shape[:-1], attention.vdim)
    heads, _ = attention.project_heads(query, key, value)
    return heads[:2]


def _keras(attention: Any) -> _Way:
    def run(query, key, value, mask, train, need_weights):
        answer = attention(
            query,
            value,  # Keras takes the value before the key
            key,
            attention_mask=mask,
            return_attention_scores=need_weights,
            training=train,
        )
        return tuple(answer) if need_weights else answer

    def project(query, key):
        heads = [attention._query_dense(query), attention._key_dense(key)]  # (B, L, H, D)
        return tuple(x.transpose(1, 2) for x in heads)

    return _Way(run, project=project)


def _is_keras(attention: Any) -> bool:
    return any(kind.__module__.startswith("keras.") for kind in type(attention).__mro__)


_WAYS = (
    (lambda attention: isinstance(attention, nn.MultiheadAttention), _torch),
    (_is_keras, _keras),
    (lambda attention: True, _by_name),
)


def _dims(
    attention: Any, embed_dim: int | tuple[int, int, int] | None, is_module: bool
) -> tuple[int, int, int]:
    if isinstance(embed_dim, tuple):
        return embed_dim
    if embed_dim is None:
        embed_dim = next((n for x in WIDTHS if (n := getattr(attention, x, None))), None)
    if not isinstance(embed_dim, int) and (not is_module or _is_keras(attention)):
        embed_dim = 8
    if not isinstance(embed_dim, int):
        names = ", ".join(WIDTHS)
        expected = (
            f"a number, as in adapt(attention, embed_dim=16), or a module with one of {names}"
        )
        checks.fail("embed_dim", expected, "neither")
    key = getattr(attention, "kdim", None) or getattr(attention, "key_dim", None)
    key = key if isinstance(key, int) and is_module and not _is_keras(attention) else embed_dim
    value = getattr(attention, "vdim", None)
    return embed_dim, key, value if isinstance(value, int) and is_module else key


def random_mask(
    attention: Adapted, batch: int, queries: int, keys: int, seed: int
) -> Tensor | None:
    """A random mask in which every query sees a key, its own where there is one."""
    if not attention.takes_mask:
        return None
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(batch, queries, keys, generator=generator) < 0.6
    mask |= torch.arange(queries)[:, None] % keys == torch.arange(keys)
    return mask.to(attention.device)


def same(one: Tensor, other: Tensor, *, loose: float = 1.0) -> Tensor:
    """Elementwise, whether two outputs agree; NaN agrees with nothing."""
    largest = torch.cat([one.flatten(), other.flatten()]).nan_to_num(0.0, 0.0, 0.0).abs().max()
    tolerance = TOLERANCE[one.dtype] * loose * largest.clamp_min(1e-30)
    return (one - other).abs() <= tolerance
