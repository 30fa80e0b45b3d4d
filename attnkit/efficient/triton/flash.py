"""Flash attention as Triton kernels, forward and backward, with grouped heads.

Dao et al. (2022), and Dao (2023), "FlashAttention-2", for the order of the loops: a program holds a
block of queries and reads the keys past it (forward, and the gradient of the queries), or a block
of keys and reads the queries (the gradients of keys and values), so that nothing is added from two
places. Scores are held in base 2, which the hardware's exponential takes.

Query i sees key j when -behind < j - (i + offset) < ahead. That one rule covers all pairs, causal
masks and windows; blocks that it hides are skipped, and only blocks on its edges are masked.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

# Farther than any key: what `behind` and `ahead` are without a causal mask or a window.
FAR = 1 << 29
LOG2_E = 1.4426950408889634


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    scale: float,
    causal: bool,
    window: int | None,
    offset: int,
) -> tuple[Tensor, Tensor]:
    """Output (B, H, L, Ev) and logsumexp (B, H, L), float32; differentiable once.

    query (B, H, L, E), key (B, H_kv, S, E), value (B, H_kv, S, Ev) of one dtype: float32, float16
    or bfloat16. H_kv divides H; E and Ev are at most 256. See `flash.flash_with_logsumexp`.
    """
    behind = FAR if window is None else window
    ahead = 1 if causal else behind
    return _Flash.apply(query, key, value, scale, offset, behind, ahead)


class _Flash(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, scale, offset, behind, ahead) -> tuple[Tensor, Tensor]:
        query, key, value = (x.contiguous() for x in (query, key, value))
        batch, heads, length, width = query.shape
        kv_heads, keys, value_width = value.shape[1:]
        output = query.new_empty(batch, heads, length, value_width)
        logsumexp = query.new_empty(batch, heads, length, dtype=torch.float32)
        sizes = _sizes(query, value)
        _forward[triton.cdiv(length, sizes["ROWS"]), batch * heads](
            query, key, value, output, logsumexp, scale * LOG2_E, length, keys, width, value_width,
            offset, behind, ahead, GROUP=heads // kv_heads, HEADS=heads, **sizes,
        )  # fmt: skip
        ctx.save_for_backward(query, key, value, output, logsumexp)
        ctx.options = scale, offset, behind, ahead
        return output, logsumexp

    @staticmethod
    def backward(ctx, grad, grad_logsumexp) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():
            raise NotImplementedError(
                "flash_attention: expected to be differentiated once, got create_graph=True"
            )
        query, key, value, output, logsumexp = ctx.saved_tensors
        scale, offset, behind, ahead = ctx.options
        batch, heads, length, width = query.shape
        kv_heads, keys, value_width = value.shape[1:]
        grad = grad.contiguous()
        delta = (grad.float() * output.float()).sum(-1) - grad_logsumexp
        grads = [torch.empty_like(x) for x in (query, key, value)]
        sizes = _sizes(query, value)
        shared = (query, key, value, grad, logsumexp, delta.contiguous())
        numbers = (scale, length, keys, width, value_width, offset, behind, ahead)
        _backward_query[triton.cdiv(length, sizes["ROWS"]), batch * heads](
            *shared, grads[0], *numbers, GROUP=heads // kv_heads, HEADS=heads, **sizes
        )
        _backward_key[triton.cdiv(keys, sizes["KEYS"]), batch * kv_heads](
            *shared, *grads[1:], *numbers, GROUP=heads // kv_heads, HEADS=heads, **sizes
        )
        return *grads, None, None, None, None


def _sizes(query: Tensor, value: Tensor) -> dict[str, int]:
    """Block sizes: powers of two, smaller where shared memory would not hold the larger."""
    width, value_width = (max(16, triton.next_power_of_2(x.shape[-1])) for x in (query, value))
    widen = query.dtype == torch.bfloat16 and not _multiplies_bfloat16(query.device)
    widest, single = max(width, value_width), widen or query.dtype == torch.float32
    small = single or widest > 128
    large = 128 if widest <= 64 or _shared_memory(query.device) >= 160 << 10 else 64
    return {
        "ROWS": 32 if small else large,
        "KEYS": 32 if small else 64,
        "WIDTH": width,
        "VALUES": value_width,
        "WIDEN": widen,
        "num_warps": 8 if widest == 128 and large == 128 and not small else 4,
        "num_stages": 1 if single and widest > 64 else 2,
    }


def _shared_memory(device: torch.device) -> int:
    """Bytes that a program may have: 227 KB on an H100, 99 KB on a consumer's GPU."""
    if device.type != "cuda":
        return 0
    return getattr(torch.cuda.get_device_properties(device), "shared_memory_per_block_optin", 0)


def _multiplies_bfloat16(device: torch.device) -> bool:
    """Compute capability 8.0 and later can; older GPUs and Triton's interpreter cannot."""
    return device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)


@triton.jit
def _load(base, places, length, width, WIDTH: tl.constexpr, WIDEN: tl.constexpr):
    """Rows `places` of a contiguous (length, width) matrix, 0 beyond its edges."""
    columns = tl.arange(0, WIDTH)
    inside = (places[:, None] < length) & (places[:, None] >= 0) & (columns[None, :] < width)
    rows = tl.load(base + places[:, None] * width + columns[None, :], mask=inside, other=0.0)
    return rows.to(tl.float32) if WIDEN else rows


@triton.jit
def _store(base, places, length, width, values, WIDTH: tl.constexpr):
    columns = tl.arange(0, WIDTH)
    inside = (places[:, None] < length) & (columns[None, :] < width)
    tl.store(base + places[:, None] * width + columns[None, :], values, mask=inside)


@triton.jit
def _visible(queries, keys, length, key_length, offset, behind, ahead):
    distance = keys[None, :] - (queries[:, None] + offset)
    inside = (queries[:, None] < length) & (keys[None, :] < key_length)
    return inside & (distance > -behind) & (distance < ahead)


@triton.jit
def _key_range(first_row, rows, length, keys, offset, behind, ahead):
    """From the first key that a block of queries sees to one past the last."""
    last_row = tl.minimum(first_row + rows, length) - 1
    start = tl.maximum(0, first_row + offset - behind + 1)
    stop = tl.minimum(keys, last_row + offset + ahead)
    return start, stop


@triton.jit
def _edge(first_row, rows, first_key, width, length, keys, offset, behind, ahead):
    """Whether some query of the block may not see some key of it."""
    near = first_key - (first_row + rows - 1 + offset)
    far = first_key + width - 1 - (first_row + offset)
    whole = (first_row + rows <= length) & (first_key + width <= keys)
    return not (whole & (near > -behind) & (far < ahead))


@triton.jit
def _forward(
    query, key, value, output, logsumexp, scale, length, keys, width, value_width,
    offset, behind, ahead,
    GROUP: tl.constexpr, HEADS: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr,
    WIDTH: tl.constexpr, VALUES: tl.constexpr, WIDEN: tl.constexpr,
):  # fmt: skip
    block, head = tl.program_id(0), tl.program_id(1).to(tl.int64)
    kv_head = (head // HEADS) * (HEADS // GROUP) + (head % HEADS) // GROUP
    key += kv_head * keys * width
    value += kv_head * keys * value_width
    rows = block * ROWS + tl.arange(0, ROWS)
    q = _load(query + head * length * width, rows, length, width, WIDTH, WIDEN)

    maximum = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    sums = tl.zeros([ROWS, VALUES], tl.float32)
    start, stop = _key_range(block * ROWS, ROWS, length, keys, offset, behind, ahead)
    start = start // KEYS * KEYS
    for first in range(start, stop, KEYS):
        columns = first + tl.arange(0, KEYS)
        k = _load(key, columns, keys, width, WIDTH, WIDEN)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        if _edge(block * ROWS, ROWS, first, KEYS, length, keys, offset, behind, ahead):
            visible = _visible(rows, columns, length, keys, offset, behind, ahead)
            scores = tl.where(visible, scores, float("-inf"))
        larger = tl.maximum(maximum, tl.max(scores, 1))
        base = tl.where(larger == float("-inf"), 0.0, larger)
        weights = tl.exp2(scores - base[:, None])
        mend = tl.exp2(maximum - base)
        v = _load(value, columns, keys, value_width, VALUES, WIDEN)
        sums = sums * mend[:, None]
        sums += tl.dot(weights.to(v.dtype), v, input_precision="ieee")
        total = total * mend + tl.sum(weights, 1)
        maximum = larger

    result = sums / tl.where(total == 0.0, 1.0, total)[:, None]
    result = result.to(output.dtype.element_ty)
    _store(output + head * length * value_width, rows, length, value_width, result, VALUES)
    natural = (maximum + tl.log2(total)) / 1.4426950408889634
    tl.store(logsumexp + head * length + rows, natural, mask=rows < length)


@triton.jit
def _weights(q, k, base, visible, scale):
    """A block of weights, made anew from its scores and each row's logsumexp."""
    scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
    weights = tl.exp2((scores - base[:, None]) * 1.4426950408889634)
    return tl.where(visible, weights, 0.0)


@triton.jit
def _load_rows(base, rows, length):
    return tl.load(base + rows, mask=rows < length, other=0.0)


@triton.jit
def _finite(base):
    """A row that sees nothing has logsumexp -inf; any finite number serves there."""
    return tl.where(base == float("-inf"), 0.0, base)


@triton.jit
def _backward_query(
    query, key, value, grad, logsumexp, delta, grad_query, scale, length, keys, width, value_width,
    offset, behind, ahead,
    GROUP: tl.constexpr, HEADS: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr,
    WIDTH: tl.constexpr, VALUES: tl.constexpr, WIDEN: tl.constexpr,
):  # fmt: skip
    block, head = tl.program_id(0), tl.program_id(1).to(tl.int64)
    kv_head = (head // HEADS) * (HEADS // GROUP) + (head % HEADS) // GROUP
    key += kv_head * keys * width
    value += kv_head * keys * value_width
    rows = block * ROWS + tl.arange(0, ROWS)
    q = _load(query + head * length * width, rows, length, width, WIDTH, WIDEN)
    g = _load(grad + head * length * value_width, rows, length, value_width, VALUES, WIDEN)
    base = _finite(_load_rows(logsumexp + head * length, rows, length))
    off = _load_rows(delta + head * length, rows, length)

    sums = tl.zeros([ROWS, WIDTH], tl.float32)
    start, stop = _key_range(block * ROWS, ROWS, length, keys, offset, behind, ahead)
    start = start // KEYS * KEYS
    for first in range(start, stop, KEYS):
        columns = first + tl.arange(0, KEYS)
        k = _load(key, columns, keys, width, WIDTH, WIDEN)
        v = _load(value, columns, keys, value_width, VALUES, WIDEN)
        visible = _visible(rows, columns, length, keys, offset, behind, ahead)
        weights = _weights(q, k, base, visible, scale)
        slope = weights * (tl.dot(g, tl.trans(v), input_precision="ieee") - off[:, None])
        sums += tl.dot(slope.to(k.dtype), k, input_precision="ieee")
    result = (sums * scale).to(grad_query.dtype.element_ty)
    _store(grad_query + head * length * width, rows, length, width, result, WIDTH)


@triton.jit
def _backward_key(
    query, key, value, grad, logsumexp, delta, grad_key, grad_value, scale, length, keys, width,
    value_width, offset, behind, ahead,
    GROUP: tl.constexpr, HEADS: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr,
    WIDTH: tl.constexpr, VALUES: tl.constexpr, WIDEN: tl.constexpr,
):  # fmt: skip
    block, kv_head = tl.program_id(0), tl.program_id(1).to(tl.int64)
    columns = block * KEYS + tl.arange(0, KEYS)
    k = _load(key + kv_head * keys * width, columns, keys, width, WIDTH, WIDEN)
    v = _load(value + kv_head * keys * value_width, columns, keys, value_width, VALUES, WIDEN)
    key_sums = tl.zeros([KEYS, WIDTH], tl.float32)
    value_sums = tl.zeros([KEYS, VALUES], tl.float32)

    last_key = tl.minimum(block * KEYS + KEYS, keys) - 1
    start = tl.maximum(0, block * KEYS - offset - ahead + 1) // ROWS * ROWS
    stop = tl.minimum(length, last_key - offset + behind)
    for member in range(GROUP):
        head = kv_head * GROUP + member
        for first in range(start, stop, ROWS):
            rows = first + tl.arange(0, ROWS)
            q = _load(query + head * length * width, rows, length, width, WIDTH, WIDEN)
            g = _load(grad + head * length * value_width, rows, length, value_width, VALUES, WIDEN)
            base = _finite(_load_rows(logsumexp + head * length, rows, length))
            off = _load_rows(delta + head * length, rows, length)
            visible = _visible(rows, columns, length, keys, offset, behind, ahead)
            weights = _weights(q, k, base, visible, scale)
            value_sums += tl.dot(tl.trans(weights.to(g.dtype)), g, input_precision="ieee")
            slope = weights * (tl.dot(g, tl.trans(v), input_precision="ieee") - off[:, None])
            key_sums += tl.dot(tl.trans(slope.to(q.dtype)), q, input_precision="ieee")
    key_sums = (key_sums * scale).to(grad_key.dtype.element_ty)
    value_sums = value_sums.to(grad_value.dtype.element_ty)
    _store(grad_key + kv_head * keys * width, columns, keys, width, key_sums, WIDTH)
    _store(
        grad_value + kv_head * keys * value_width, columns, keys, value_width, value_sums, VALUES
    )
