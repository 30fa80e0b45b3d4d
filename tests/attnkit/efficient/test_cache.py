"""The cache: cached equals full at every step, in self- and cross-attention."""

import pytest
import torch
from torch.testing import assert_close

from attnkit import MultiHeadAttention, masks, positions
from attnkit.efficient import KVCache

B, T, E = 3, 11, 16
STEPS = {
    "one by one": [1] * T,
    "a prompt first": [5, 1, 1, 1, 1, 1, 1],
    "chunks": [2, 4, 4, 1],
    "all": [T],
}


@pytest.fixture(params=[1, 2, 4], ids=lambda n: f"kv_heads={n}")
def attention(request):
    torch.manual_seed(request.param)
    return MultiHeadAttention(E, 4, num_kv_heads=request.param).eval()


def decode(attention, x, cache, steps, bias=None, **options):
    pieces = []
    for piece in x.split(steps, dim=1):
        mask = cache.mask(piece.shape[1])
        extra = {}
        if bias is not None:
            length = cache.kept + piece.shape[1]
            extra["bias"] = bias(piece.shape[1], length, offset=cache.kept)
        pieces.append(attention(piece, mask=mask, cache=cache, **extra, **options).output)
    return torch.cat(pieces, dim=1)


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("window", [None, 1, 2, 4, T, 50])
@pytest.mark.parametrize("grad", [False, True], ids=["no_grad", "grad"])
def test_cached_self_attention_equals_full(attention, steps, window, grad):
    x = torch.randn(B, T, E)
    mask = masks.causal(T) if window is None else masks.sliding_window(T, window=window)
    with torch.set_grad_enabled(grad):
        cached = decode(attention, x, KVCache(window=window), steps)
        assert_close(cached, attention(x, mask=mask).output, atol=1e-5, rtol=0)


@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_cached_rotary_and_alibi_equal_full(attention, steps, window):
    x = torch.randn(B, T, E)
    mask = masks.causal(T) if window is None else masks.sliding_window(T, window=window)
    rotary = positions.Rotary(E // 4)

    def alibi(*sizes, offset):
        return positions.alibi(4, *sizes, offset=offset)

    with torch.no_grad():
        turned = decode(attention, x, KVCache(window=window), steps, rotate=rotary)
        assert_close(turned, attention(x, mask=mask, rotate=rotary).output, atol=1e-5, rtol=0)
        biased = decode(attention, x, KVCache(window=window), steps, bias=alibi)
        whole = attention(x, mask=mask, bias=alibi(T, T, offset=0)).output
        assert_close(biased, whole, atol=1e-5, rtol=0)


def test_cached_cross_attention_projects_the_memory_once(attention):
    memory, queries = torch.randn(B, 7, E), torch.randn(B, T, E)
    mask = masks.padding([7, 4, 0])
    full = attention(queries, memory, mask=mask, need_weights=True)
    cache = KVCache()
    for t in range(T):
        key = memory if t == 0 else memory[:, :0]
        step = attention(queries[:, t : t + 1], key, mask=mask, cache=cache, need_weights=True)
        assert_close(step.output, full.output[:, t : t + 1], atol=1e-5, rtol=0)
        assert_close(step.weights, full.weights[:, :, t : t + 1], atol=1e-5, rtol=0)
        assert cache.length == cache.kept == 7


def test_gradients_through_a_cache_equal_those_of_the_whole(attention):
    x = torch.randn(B, T, E)
    gradients = []
    for run in (
        lambda: decode(attention, x, KVCache(), [1] * T),
        lambda: attention(x, mask=masks.causal(T)).output,
    ):
        attention.zero_grad()
        run().pow(2).sum().backward()
        gradients.append([p.grad.clone() for p in attention.parameters()])
    assert_close(gradients[0], gradients[1], atol=1e-4, rtol=1e-4)


def test_no_grad_steps_after_grad_steps_leave_the_graph_usable():
    attention = MultiHeadAttention(E, 4)
    x, cache = torch.randn(B, 4, E), KVCache()
    with torch.no_grad():
        decode(attention, x[:, :2], cache, [1, 1])
    out = attention(x[:, 2:3], cache=cache).output
    with torch.no_grad():
        attention(x[:, 3:], cache=cache)
    out.sum().backward()
    assert all(p.grad.isfinite().all() for p in attention.parameters())


def test_what_update_returned_is_never_written_over():
    cache = KVCache(window=3)
    seen = []
    with torch.no_grad():
        for t in range(12):
            new = torch.full((1, 1, 1, 2), float(t))
            key, value = cache.update(new, -new)
            expected = torch.arange(max(0, t - 2), t + 1.0)
            seen.append((key, value, expected))
    for key, value, expected in seen:
        assert_close(key[0, 0, :, 0], expected)
        assert_close(value[0, 0, :, 0], -expected)


def test_update_does_not_change_or_keep_what_it_is_given():
    cache = KVCache()
    with torch.no_grad():
        given = torch.randn(1, 2, 3, 4)
        before = given.clone()
        key, _ = cache.update(given, given)
        given.zero_()
        assert_close(key, before)


def test_a_window_keeps_memory_bounded_and_counts_every_token():
    cache = KVCache(window=8)
    one = torch.zeros(2, 3, 1, 4)
    with torch.no_grad():
        for _ in range(500):
            cache.update(one, one)
    assert (cache.length, cache.kept) == (500, 7)
    assert cache.nbytes == 2 * 2 * 3 * 7 * 4 * 4
    assert cache._key.shape[-2] <= 2 * 8


@pytest.mark.parametrize("window", [None, 3])
def test_select_equals_decoding_the_chosen_rows(attention, window):
    x = torch.randn(B, T, E)
    rows = torch.tensor([2, 0, 0, 1])
    with torch.no_grad():
        cache = KVCache(window=window)
        decode(attention, x[:, :6], cache, [1] * 6)
        chosen = cache.select(rows)
        continued = decode(attention, x[rows, 6:], chosen, [1] * 5)
        whole = decode(attention, x[rows], KVCache(window=window), [1] * T)
        assert_close(continued, whole[:, 6:], atol=1e-5, rtol=0)
        # The original goes on as if nothing had been taken from it.
        original = decode(attention, x[:, 6:], cache, [1] * 5)
        assert_close(original, decode(attention, x, KVCache(window=window), [T])[:, 6:])
    assert chosen.length == cache.length == T


def test_masks_line_up_with_what_the_next_update_returns():
    cache = KVCache(window=3)
    assert_close(cache.mask(4), masks.sliding_window(4, window=3))
    cache.update(torch.zeros(1, 1, 5, 2), torch.zeros(1, 1, 5, 2))
    mask = cache.mask(2)
    key, _ = cache.update(torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 2, 2))
    assert mask.shape == (2, key.shape[-2]) == (2, 4)
    assert mask.tolist() == [[True, True, True, False], [False, True, True, True]]
    assert cache.mask(1) is None
    assert repr(cache) == "KVCache(window=3, length=7, kept=2)"
    chosen = KVCache(window=4).select(torch.tensor([0, 1]))
    assert repr(chosen) == "KVCache(window=4, length=0, kept=0)"


def test_any_dtype_and_values_of_another_size():
    key, value = (torch.zeros(1, 2, 3, n, dtype=torch.float64) for n in (4, 5))
    for kept, given in zip(KVCache().update(key, value), (key, value), strict=True):
        assert (kept.shape, kept.dtype) == (given.shape, given.dtype)
