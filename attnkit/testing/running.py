"""Checks of how attention runs: dropout, decoding with a cache, torch.compile."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attnkit import masks
from attnkit.testing.adapter import NotApplicable, adapt, random_mask, same


def assert_dropout_off_in_eval(attention: Any) -> None:
    """Check that two calls in eval mode agree, whatever the state of the random generator.

    Raises:
        AssertionError: with how far the two are apart.

    Example:
        >>> import torch
        >>> assert_dropout_off_in_eval(torch.nn.MultiheadAttention(8, 2, dropout=0.5))
    """
    attention = adapt(attention)
    for length in (1, 4, 16):
        inputs = attention.inputs(2, length, seed=18)
        mask = None if attention.causal else random_mask(attention, 2, length, length, seed=length)
        first = attention(*inputs, mask, seed=1)[0]
        for seed in (2, 3, 4):
            again = attention(*inputs, mask, seed=seed)[0]
            if not same(again, first).all():
                raise AssertionError(
                    f"assert_dropout_off_in_eval: two calls in eval mode differ by "
                    f"{(again - first).abs().max():.3g} ({attention.name}, length {length}).\n"
                    "    Likely bug: F.dropout without training=self.training, or a dropout_p "
                    "passed to F.scaled_dot_product_attention in eval mode: a function does not "
                    "know the mode."
                )


def assert_cache_equals_full(
    attention: Any,
    step: Callable[[Tensor, Any], tuple[Tensor, Any]],
    *,
    reorder: Callable[[Any, Tensor], Any] | None = None,
) -> None:
    """Check that decoding with a cache gives what one causal pass over all gives.

    The tokens come one at a time, all at once, and in pieces: a prompt of three, then two
    together, then single ones. A mask aligned at the upper left fails at the second piece.

    Args:
        attention: anything that `adapt` takes: the full pass. It gets a causal mask, unless it is
            causal by itself.
        step: a function (x, cache) -> (output, cache) that is given the next tokens, (B, n, E), or
            (B, H, n, E) for functions on heads, and None or what it returned as cache before.
        reorder: a function (cache, order) -> cache that puts the sequences of the cache into the
            order of `order` (B,), as beam search does between steps. Checked if it is given.

    Raises:
        AssertionError: with the pieces and the first token that differs.

    Example:
        >>> import attnkit
        >>> attention = attnkit.MultiHeadAttention(8, 2)
        >>> def step(x, cache):
        ...     cache = attnkit.KVCache() if cache is None else cache
        ...     mask = cache.mask(x.shape[1])
        ...     return attention(x, mask=mask, cache=cache).output, cache
        >>> assert_cache_equals_full(attention, step)
    """
    attention = adapt(attention)
    total, batch = 6, 3
    x = attention.inputs(batch, total, seed=19)[0]

    def full(tokens: Tensor) -> Tensor:
        mask = None
        if attention.takes_mask and not attention.causal:
            mask = masks.causal(total, device=tokens.device).expand(batch, total, total)
        return attention(tokens, tokens, tokens, mask)[0]

    def decode(tokens: Tensor, pieces: tuple[int, ...], order: Tensor | None = None) -> Tensor:
        outputs, cache, start = [], None, 0
        with attention._mode(False), torch.no_grad():
            for n, size in enumerate(pieces):
                if n == 1 and order is not None:
                    cache = reorder(cache, order)
                output, cache = step(tokens[..., start : start + size, :], cache)
                outputs.append(output)
                start += size
        return torch.cat(outputs, -2)

    expected = full(x)
    for pieces in ((1,) * 6, (6,), (3, 1, 1, 1), (3, 2, 1), (1, 5)):
        output = decode(x, pieces)
        if output.shape == expected.shape and same(output, expected).all():
            continue
        bad = ~same(output, expected).flatten(0, -3).all(-1).all(0)
        first = int(bad.nonzero()[0])
        raise AssertionError(
            f"assert_cache_equals_full: fed in pieces of {pieces}, token {first} differs from the "
            f"full pass by {(output - expected).abs().max():.3g} ({attention.name}).\n"
            "    Likely bug: "
            + (
                "the causal mask is aligned at the upper left: with a cache the last query sits "
                "at the last key."
                if first >= pieces[0]
                else "the step is not causal, or masks or positions differ from the full pass."
            )
        )
    if reorder is None:
        return
    order = torch.tensor([2, 0, 0])
    tokens = torch.cat([x[order][..., :3, :], x[..., 3:, :]], -2)
    output = decode(torch.cat([x[..., :3, :], x[..., 3:, :]], -2), (3, 1, 1, 1), order)
    if not same(output[..., 3:, :], full(tokens)[..., 3:, :]).all():
        raise AssertionError(
            f"assert_cache_equals_full: after the sequences are reordered to {order.tolist()}, as "
            f"beam search does, the tokens that follow differ ({attention.name}).\n    Likely "
            "bug: the cache, or a part of it, keeps the old order: index keys, values and "
            "masks with the beams."
        )


def assert_compiles_once(attention: Any) -> None:
    """Check that torch.compile makes one whole graph, and at most three over changing lengths.

    Counted on graphs, without code generation, so that it takes a second.

    Raises:
        AssertionError: with the number of graphs, or what breaks the graph.

    Example:
        >>> import torch.nn.functional as F
        >>> assert_compiles_once(F.scaled_dot_product_attention)
    """
    attention = adapt(attention)
    if attention.takes_mask is False and attention.causal:
        raise NotApplicable("assert_compiles_once: called with a mask")
    graphs = []

    def backend(graph: torch.fx.GraphModule, _: list[Tensor]) -> Callable[..., Any]:
        graphs.append(graph)
        return graph.forward

    def call(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Any:
        return attention.run(query, key, value, mask, False, False)

    torch._dynamo.reset()
    compiled = torch.compile(call, backend=backend, fullgraph=True)
    try:
        with attention._mode(False), torch.no_grad():
            for lengths, allowed in (((4, 4, 4), 1), ((5, 6, 7, 9), 3)):
                for n, length in enumerate(lengths):
                    query, key, value = attention.inputs(2, length, seed=20 + n)
                    mask = random_mask(attention, 2, length, length, seed=n)
                    if mask is not None and attention.heads is not None:
                        mask = mask.unsqueeze(1)
                    compiled(query, key, value, mask)
                if len(graphs) > allowed:
                    raise AssertionError(
                        f"assert_compiles_once: {len(graphs)} graphs for lengths {lengths}, "
                        f"expected at most {allowed} ({attention.name}).\n    Likely bug: a number "
                        "that changes with each call is read in Python: a length, a step, an "
                        "item()."
                    )
    except torch._dynamo.exc.TorchDynamoException as error:
        raise AssertionError(
            f"assert_compiles_once: the graph breaks ({attention.name}): "
            f"{str(error).splitlines()[0]}\n    Likely bug: Python decides by the values of a "
            "tensor (if mask.any(), .item(), .tolist()), or something is printed."
        ) from error
    finally:
        torch._dynamo.reset()
