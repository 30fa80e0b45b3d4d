"""Multi-head attention (Vaswani et al. 2017)."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnkit.call import Attended, Call, check_module, is_bare, project, project_linear, visible
from attnkit.formula import default_scale
from attnkit.guard import checks

Rotate = Callable[[Tensor, int], Tensor]


class Cache(Protocol):
    """What `MultiHeadAttention` asks of a cache of projected keys and values."""

    length: int  # tokens seen so far: the position of the first new one

    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Take new (B, H_kv, S, D) and return all, old and new, in the same layout."""


class MultiHeadAttention(nn.Module):
    r"""Several heads of scaled dot-product attention side by side, mixed by a last projection.

    .. math::

        \mathrm{MultiHead}(Q, K, V) &= [\mathrm{head}_1; \dots; \mathrm{head}_H]\, W_o \\
        \mathrm{head}_h &= \mathrm{softmax}\!\left(
            \frac{(Q W_q^h)(K W_k^{g(h)})^\top}{\sqrt{D}}\right) V W_v^{g(h)}

    Vaswani et al. (2017), section 3.2.2, with D = embed_dim / num_heads. With fewer key heads
    than query heads, query head h reads key head g(h) = h // (num_heads // num_kv_heads): grouped
    queries (Ainslie et al. 2023), or multi-query attention when there is one (Shazeer 2019).

    When `kdim` and `vdim` are `embed_dim`, the three projections are one matrix `in_proj`, its
    rows in the order query, key, value, each a block of whole heads: `nn.MultiheadAttention`'s
    layout. One product then projects all three for self-attention.

    Args:
        embed_dim: features E of query and output, a multiple of `num_heads` unless `head_dim` is
            given.
        num_heads: heads H, at least 1.
        num_kv_heads: heads of key and value, a divisor of `num_heads`, the same when omitted. With
            0 there are no projections of keys and values: a cache gives those of another layer.
        head_dim: features D of a head; embed_dim / num_heads when omitted.
        kdim: features of a key; `embed_dim` when omitted.
        vdim: features of a value; `embed_dim` when omitted.
        bias: add a learned bias in all four projections.
        scale: factor of the scores; 1/sqrt(D) when omitted.
        dropout: probability of dropping a weight in training.
        qk_norm: makes, from D, a norm of each head's queries, and one of its keys, before they are
            turned (Henry et al. 2020); None for none.

    Shapes: query (..., L, E), key (..., S, kdim), value (..., S, vdim) -> output (..., L, E),
    weights (..., H, L, S). See `forward`.

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: a size is below 1, heads do not divide, or `dropout` is not a probability.

    Example:
        >>> import torch
        >>> from attnkit import MultiHeadAttention, masks
        >>> attention = MultiHeadAttention(embed_dim=8, num_heads=2)
        >>> x, mask = torch.randn(3, 5, 8), masks.causal(5) & masks.padding([5, 4, 2])
        >>> output, weights = attention(x, mask=mask, need_weights=True)
        >>> output.shape, weights.shape
        (torch.Size([3, 5, 8]), torch.Size([3, 2, 5, 5]))
        >>> torch.allclose(weights.sum(-1), torch.ones(3, 2, 5))
        True
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *,
        num_kv_heads: int | None = None,
        head_dim: int | None = None,
        kdim: int | None = None,
        vdim: int | None = None,
        bias: bool = True,
        scale: float | None = None,
        dropout: float = 0.0,
        qk_norm: Callable[[int], nn.Module] | None = None,
    ):
        super().__init__()
        self.embed_dim = embed_dim = checks.integer("embed_dim", embed_dim, minimum=1)
        if head_dim is None:
            head_dim = embed_dim // divisor("num_heads", num_heads, "embed_dim", embed_dim)
        self.num_heads = num_heads = checks.integer("num_heads", num_heads, minimum=1)
        self.head_dim = checks.integer("head_dim", head_dim, minimum=1)
        kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        if checks.integer("num_kv_heads", kv_heads, minimum=0):
            divisor("num_kv_heads", kv_heads, "num_heads", num_heads)
        self.num_kv_heads = kv_heads
        self.kdim = embed_dim if kdim is None else checks.integer("kdim", kdim, minimum=1)
        self.vdim = embed_dim if vdim is None else checks.integer("vdim", vdim, minimum=1)
        checks.flag("bias", bias)
        self.scale = (
            default_scale(self.head_dim) if scale is None else checks.number("scale", scale)
        )
        self.dropout = checks.probability("dropout", dropout)
        query_size, kv_size = num_heads * self.head_dim, self.num_kv_heads * self.head_dim
        self.sizes = [query_size, kv_size, kv_size]
        self.head_counts = [num_heads, self.num_kv_heads, self.num_kv_heads]
        self.packed = self.kdim == self.vdim == embed_dim
        if self.packed:
            self.in_proj = nn.Linear(embed_dim, sum(self.sizes), bias=bias)
        else:
            self.query_proj = nn.Linear(embed_dim, query_size, bias=bias)
            self.key_proj = nn.Linear(self.kdim, kv_size, bias=bias)
            self.value_proj = nn.Linear(self.vdim, kv_size, bias=bias)
        self.out_proj = nn.Linear(query_size, embed_dim, bias=bias)
        self.reset_parameters()
        self.query_norm = None if qk_norm is None else qk_norm(self.head_dim)
        self.key_norm = None if qk_norm is None or not kv_heads else qk_norm(self.head_dim)

    def reset_parameters(self) -> None:
        """Draw new weights as `nn.MultiheadAttention` does: Xavier for the inputs, biases 0."""
        for name, layer in self.named_children():
            if name in ("out_proj", "query_norm", "key_norm"):
                layer.reset_parameters()
            else:
                nn.init.xavier_uniform_(layer.weight)
            if getattr(layer, "bias", None) is not None:
                nn.init.zeros_(layer.bias)

    @classmethod
    def from_torch(cls, module: nn.MultiheadAttention) -> Self:
        """Copy an `nn.MultiheadAttention`: its sizes, weights, dropout, mode, dtype and device.

        The copy is batch-first whatever the original was. Its masks mean the opposite of the
        original's; `masks.from_torch_padding` and `masks.from_torch_attention` convert them.

        Raises:
            TypeError: `module` is not an `nn.MultiheadAttention`.
            ValueError: it was built with `add_bias_kv` or `add_zero_attn`, which add keys that no
                input holds.
        """
        if not isinstance(module, nn.MultiheadAttention):
            checks.fail("module", "an nn.MultiheadAttention", type(module).__name__, TypeError)
        if module.bias_k is not None or module.add_zero_attn:
            extra = "add_zero_attn=True" if module.add_zero_attn else "add_bias_kv=True"
            checks.fail("module", "one without add_bias_kv and add_zero_attn", extra)
        bias = module.in_proj_bias is not None
        sizes = {"kdim": module.kdim, "vdim": module.vdim}
        new = cls(module.embed_dim, module.num_heads, bias=bias, dropout=module.dropout, **sizes)
        weights = [module.in_proj_weight]
        if not new.packed:
            weights = [module.q_proj_weight, module.k_proj_weight, module.v_proj_weight]
        biases = module.in_proj_bias.chunk(len(weights)) if bias else [None] * len(weights)
        sources = [
            *zip(weights, biases, strict=True),
            (module.out_proj.weight, module.out_proj.bias),
        ]
        new.to(module.out_proj.weight)
        for layer, (weight, layer_bias) in zip(new.children(), sources, strict=True):
            layer.weight.data.copy_(weight.detach())
            layer.weight.requires_grad_(weight.requires_grad)
            if bias:
                layer.bias.data.copy_(layer_bias.detach())
                theirs = module.out_proj.bias if layer is new.out_proj else module.in_proj_bias
                layer.bias.requires_grad_(theirs.requires_grad)
        return new.train(module.training)

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        rotate: Rotate | None = None,
        cache: Cache | None = None,
        need_weights: bool = False,
    ) -> Attended:
        """Attend with every head from every query to the keys that the mask lets through.

        A second derivative exists with `need_weights=True` alone, since PyTorch's kernel has none.

        Args:
            query: (..., L, embed_dim).
            key: (..., S, kdim); `query` when omitted (self-attention).
            value: (..., S, vdim); `key` when omitted.
            mask: boolean, broadcastable to (..., L, S), the same for every head, or, with one
                dimension more than query, to (..., H, L, S). True where the query may attend. A
                fully masked head gives weights 0 and adds nothing; a query for which that
                is so in every head gives output 0, without the bias of the last projection.
                Masked keys and values never reach the output or a gradient, even when they hold
                NaN or Inf; a query that sees one of those gives NaN.
            bias: floating, broadcastable to (..., H, L, S), added to the scaled scores (ALiBi,
                relative positions). Where it is -inf it masks.
            rotate: a function (x, offset) -> x on projected heads (..., heads, length, head_dim),
                called for queries and for keys (rotary positions). `offset` is the position of
                the first: 0, or `cache.length`.
            cache: keys and values of earlier calls (`attnkit.efficient.KVCache`). The new ones are
                added to it, and S, for `mask` and `bias`, counts what it then holds.
            need_weights: return the weights (..., H, L, S), per head and before dropout. The
                output is the same either way.

        Returns:
            `Attended(output, weights)`: output (..., L, embed_dim), weights or None.

        Raises:
            TypeError: an input is not a floating tensor, dtypes differ, or `mask` is not boolean.
            ValueError: shapes, sizes or devices do not fit.
        """
        dims = {"query_dim": self.embed_dim, "key_dim": self.kdim, "value_dim": self.vdim}
        key, value, target = check_module(self, query, key, value, need_weights, **dims)
        *lead, L, S = target
        check_hooks(rotate, cache)
        if cache is None and not self.num_kv_heads:
            checks.fail("cache", "one that gives keys, for num_kv_heads is 0", "None")
        lead = (*lead, self.num_heads)
        # All is checked before the cache is written to: a refused call leaves it as it was.
        held = 0 if cache is None else getattr(cache, "kept", cache.length)
        mask = _visible(mask, bias, (*lead, L, held + S), query.device)
        # Written out as products, or by the kernel?
        written_out = need_weights or (self.training and self.dropout > 0)
        heads, finite = self.project_heads(query, key, value, mask, written_out)
        query, key, value = heads
        query = query if self.query_norm is None else project(self.query_norm, query, mask)
        key = key if self.key_norm is None else project(self.key_norm, key, mask)
        if rotate is not None:
            offset = 0 if cache is None else cache.length
            query, key = turned(rotate, query, offset), turned(rotate, key, offset)
        if cache is not None:
            key, value = cache.update(key, value)
        call = Call(
            query, key, value, mask, bias, lead=lead,
            grouped=(self.num_kv_heads or int(key.shape[-3])) != self.num_heads,
            finite=finite and rotate is cache is None,
        )  # fmt: skip
        output, weights = self.attend(call, need_weights)
        output = self.out_proj(output.transpose(-3, -2).flatten(-2))  # (..., L, E)
        return call.finish(call.zero_empty(output), weights)

    def project_heads(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        contiguous: bool = False,
    ) -> tuple[Sequence[Tensor], bool]:
        """Project, with as few products as the inputs allow, and split into heads.

        Args:
            query, key, value: as in `forward`, none omitted.
            mask: tells whether rows of NaN could be hidden and have to be kept from the weights.
            contiguous: as products want them, and PyTorch's kernel does not
                (benchmarks/multihead.py, weights on).

        Returns:
            Queries (..., H, L, D), keys and values (..., H_kv, S, D); and whether all of them are
            known to be finite.
        """
        if self.packed and query is key is value:
            x, finite = project_linear(self.in_proj, query, mask)
            if self.num_kv_heads < self.num_heads:
                return _split_heads(x, self.head_dim).split(self.head_counts, -3), finite
            x = x.view(*x.shape[:-1], 3, self.num_heads, self.head_dim).transpose(-4, -2)
            return (x.contiguous() if contiguous else x).unbind(-3), finite  # one copy for all
        inputs = query, key, value
        if self.packed and not is_bare(self.in_proj):
            # A hook, an adapter or a quantized layer takes the layer as a whole.
            whole = {id(x): x for x in inputs}
            whole = {name: project(self.in_proj, x, mask) for name, x in whole.items()}
            parts = [whole[id(x)].split(self.sizes, -1)[n] for n, x in enumerate(inputs)]
            finite = [False]
        else:
            layers = zip(self._projections(), inputs, strict=True)
            parts, finite = zip(*(project_linear(f, x, mask) for f, x in layers), strict=True)
        heads = [_split_heads(x, self.head_dim) for x in parts]
        return [x.contiguous() for x in heads] if contiguous else heads, all(finite)

    def _projections(self) -> Sequence[Callable[[Tensor], Tensor]]:
        """The projections of query, key and value; of the packed matrix, its three parts."""
        if not self.packed:
            return self.query_proj, self.key_proj, self.value_proj
        weights, bias = self.in_proj.weight.split(self.sizes), self.in_proj.bias
        biases = (None,) * 3 if bias is None else bias.split(self.sizes)
        pairs = zip(weights, biases, strict=True)
        return [partial(F.linear, weight=weight, bias=part) for weight, part in pairs]

    def attend(self, call: Call, need_weights: bool) -> tuple[Tensor, Tensor | None]:
        """Output (..., H, L, D), and weights (..., H, L, S) or None, of projected heads.

        A subclass that changes what a head computes overrides this and nothing else.
        """
        dropout_p = self.dropout if self.training else 0.0
        return call.dot_product(self.scale, dropout_p, need_weights)

    def extra_repr(self) -> str:
        return (
            f"embed_dim={self.embed_dim}, num_heads={self.num_heads}, "
            f"num_kv_heads={self.num_kv_heads}, head_dim={self.head_dim}, kdim={self.kdim}, "
            f"vdim={self.vdim}, dropout={self.dropout}"
        )


def divisor(name: str, value: int, whole_name: str, whole: int) -> int:
    """Check that `value` is an int that divides `whole`."""
    value = checks.integer(name, value, minimum=1)
    if whole % value:
        checks.fail(name, f"a divisor of {whole_name} ({whole})", str(value))
    return value


def _split_heads(x: Tensor, head_dim: int) -> Tensor:
    """(..., length, heads * head_dim) -> (..., heads, length, head_dim). A head is a block."""
    return torch.unflatten(x, -1, (-1, head_dim)).transpose(-3, -2)


def check_hooks(rotate: Rotate | None, cache: Cache | None) -> None:
    """Check what a call is given for positions and for earlier keys."""
    if rotate is not None and not callable(rotate):
        checks.fail("rotate", "a function (x, offset) -> x", type(rotate).__name__, TypeError)
    if cache is not None and not (hasattr(cache, "update") and hasattr(cache, "length")):
        expected = "an object with update and length, such as KVCache"
        checks.fail("cache", expected, type(cache).__name__, TypeError)


def _visible(
    mask: Tensor | None, bias: Tensor | None, target: tuple[int, ...], device: torch.device
) -> Tensor | None:
    """Check mask and bias; return one mask that broadcasts to `target` = (..., H, L, S)."""
    if mask is not None:
        per_head = getattr(mask, "ndim", 0) >= len(target)
        shape = target if per_head else (*target[:-3], *target[-2:])
        mask = checks.mask(mask, shape, device=device)
        mask = mask if per_head else mask.unsqueeze(-3)
    if bias is None:
        return mask
    seen = visible(None, checks.bias(bias, target, device=device))
    seen = seen if seen.dim() > 2 else seen[None]
    return seen if mask is None else mask & seen


def turned(rotate: Rotate, x: Tensor, offset: int) -> Tensor:
    """`rotate(x, offset)`, which must keep the shape."""
    after = rotate(x, offset)
    if not isinstance(after, Tensor) or after.shape != x.shape:
        got = checks.shape(after) if isinstance(after, Tensor) else type(after).__name__
        checks.fail("rotate", f"a function that keeps the shape {checks.shape(x)}", str(got))
    return after
