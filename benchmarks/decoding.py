"""Decoding with a cache against computing every prefix again, and what a token costs in memory.

    python -m benchmarks.decoding

One layer of attention, B1 E256 H8, decodes token by token. Grouped heads shrink the cache.
"""

from collections.abc import Callable

from benchmarks import _harness as harness

EMBED_DIM, HEADS = 256, 8
LENGTHS = [64, 128, 256, 512, 1024]
KV_HEADS = [8, 4, 2, 1]


def steps(length: int, kv_heads: int, device: str) -> dict[str, Callable[[], object]]:
    """Decode `length` tokens: with a cache, and from the whole prefix at each step."""
    import torch

    import attnkit
    from attnkit import masks
    from attnkit.efficient import KVCache

    torch.manual_seed(0)
    attention = attnkit.MultiHeadAttention(EMBED_DIM, HEADS, num_kv_heads=kv_heads)
    attention = attention.to(device).eval()
    x = torch.randn(1, length, EMBED_DIM, device=device)

    def with_cache() -> object:
        cache = KVCache()
        with torch.no_grad():
            for i in range(length):
                output = attention(x[:, i : i + 1], cache=cache).output
        return output

    def from_the_start() -> object:
        with torch.no_grad():
            for i in range(length):
                seen = x[:, : i + 1]
                output = attention(seen, mask=masks.causal(i + 1, device=device)).output[:, -1:]
        return output

    return {"with a cache": with_cache, "every prefix again": from_the_start}


def cache_bytes(length: int, kv_heads: int, device: str) -> int:
    """Bytes that a cache of `length` tokens holds, as its tensors say."""
    import torch

    import attnkit
    from attnkit.efficient import KVCache

    attention = attnkit.MultiHeadAttention(EMBED_DIM, HEADS, num_kv_heads=kv_heads).to(device)
    cache = KVCache()
    with torch.no_grad():
        attention(torch.randn(1, length, EMBED_DIM, device=device), cache=cache)
    return cache.nbytes


def speed(*, quick: bool, device: str) -> dict:
    lengths = LENGTHS[:2] if quick else LENGTHS
    found: dict = {"shape": f"B1 E{EMBED_DIM} H{HEADS}", "lengths": {}, "bytes per token": {}}
    for length in lengths:
        forms = steps(length, HEADS, device)
        found["lengths"][str(length)] = harness.compare(
            forms, rounds=3 if quick else 7, budget=15.0, device=device
        )
        harness.table(f"decode {length} tokens", found["lengths"][str(length)])
    for form in ("with a cache", "every prefix again"):
        times = [found["lengths"][str(n)][form]["ms"] for n in lengths]
        found.setdefault("exponents", {})[form] = harness.exponent(lengths, times)
    print(f"\ngrowth exponents of the time of a whole text: {found['exponents']}")
    for kv_heads in KV_HEADS:
        measured = cache_bytes(1024, kv_heads, device) / 1024
        counted = 2 * kv_heads * (EMBED_DIM // HEADS) * 4  # key and value, float32
        found["bytes per token"][str(kv_heads)] = {"counted": counted, "measured": measured}
        print(f"cache of one layer, {kv_heads} key heads: {counted} bytes a token counted, "
              f"{measured:g} measured")  # fmt: skip
    return found


if __name__ == "__main__":
    from benchmarks.__main__ import main

    main(["decoding"])
