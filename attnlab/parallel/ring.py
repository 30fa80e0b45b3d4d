r"""Exact attention over a sequence that no single process holds.

Liu, Zaharia and Abbeel (2023), "Ring attention with blockwise transformers for near-infinite
context". Each of N processes holds the queries, keys and values of its part of the sequence. The
keys and values travel round a ring: while a process computes with the part it has, it sends that
part on and receives the next. After N steps every query has met every key, and the results of the
parts are joined by their logsumexps, as flash attention joins its blocks.

The backward pass sends keys and values round once more, with the gradients that have been
collected for them, and computes each part anew. With the joined output :math:`O` and logsumexp
:math:`z`, a part with output :math:`O_p` and logsumexp :math:`z_p` counts :math:`w_p = e^{z_p - z}`
in :math:`O = \sum_p w_p O_p`, so that

.. math::

    dO_p = w_p\, dO, \qquad dz_p = w_p\, \mathrm{rowsum}\big(dO \circ (O_p - O)\big)
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, distributed

from attnkit.call import check
from attnkit.efficient.flash import Flash, flash_with_logsumexp
from attnkit.efficient.online_softmax import finite_or_zero
from attnkit.guard import checks
from attnkit.guard.dtypes import HALF, as_autocast, autocasting
from attnlab.parallel.exchange import pass_on
from attnlab.parallel.placement import Shards, place, shards_of


def ring_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    need_weights: bool = False,
    zigzag: bool = True,
    group: distributed.ProcessGroup | None = None,
) -> Tensor:
    """Softmax attention of this process's queries to the keys of all processes.

    All processes of the group call it together, each with its part of one sequence, cut as
    `split_sequence` cuts. Joined, the outputs equal `scaled_dot_product_attention` of the whole.
    A process holds its own part and one that is passing through, L / N positions each.

    Args:
        query: (..., L_r, E), this process's part; all but L_r the same on all processes.
        key: (..., L_r, E).
        value: (..., L_r, Ev).
        causal: a query sees only keys at its own place in the whole sequence or before.
        window: it sees only the `window` keys that end at its own place; without `causal` as many
            on the other side too, as in `masks.sliding_window`.
        scale: factor of the scores; 1/sqrt(E) when omitted.
        enable_gqa: grouped heads in dimension -3, as in `scaled_dot_product_attention`.
        need_weights: refused, since no process has the keys of a whole row of weights.
        zigzag: how the sequence was cut, as in `split_sequence`.
        group: the processes that share the sequence; all of them when omitted.

    Returns:
        (..., L_r, Ev). Gradients reach the processes that hold the keys and values; a second
        derivative raises an error.

    Raises:
        TypeError: an input is not a floating tensor, or dtypes differ.
        ValueError: shapes do not fit, on this process or between processes; weights are asked for;
            or `torch.distributed` has not been initialized.

    Example:
        As one process alone; `torchrun --nproc-per-node 4` starts four, which call
        `init_process_group()` without arguments and are otherwise the same.

        >>> import torch
        >>> from torch import distributed
        >>> from attnlab.parallel import join_sequence, split_sequence
        >>> alone = {"store": distributed.HashStore(), "rank": 0, "world_size": 1}
        >>> distributed.init_process_group("gloo", **alone)
        >>> whole = torch.randn(3, 2, 100, 8).unbind()  # query, key and value
        >>> parts = [split_sequence(x) for x in whole]
        >>> output = join_sequence(ring_attention(*parts, causal=True))
        >>> expected = torch.nn.functional.scaled_dot_product_attention(*whole, is_causal=True)
        >>> torch.allclose(output, expected, atol=1e-5)
        True
        >>> distributed.destroy_process_group()
    """
    if checks.flag("need_weights", need_weights):
        expected = "False, since a row of weights covers keys that are on other processes"
        checks.fail("need_weights", expected, "True")
    if autocasting(query):  # before the keys travel: half the bytes
        query, key, value = as_autocast(query, key, value)
    target, _, scale = check(query, key, value, scale=scale, enable_gqa=enable_gqa)
    window = None if window is None else checks.integer("window", window, minimum=1)
    placed = one_sequence(query, key, value, zigzag=zigzag, group=group)
    if not checks.flag("causal", causal) and window is None:  # order makes no difference
        placed = [[range(sum(map(len, ranges)))] for ranges in placed]
    options = {"scale": scale, "enable_gqa": enable_gqa}
    plan = Plan(placed, target[:-2], causal, window, options, group)
    return _Ring.apply(query, key, value, plan)


def one_sequence(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    zigzag: bool,
    group: distributed.ProcessGroup | None,
) -> Shards:
    """Check that the processes hold parts of one sequence; return the positions of each."""
    checks.size("key", key, -2, query.shape[-2], "the length of query: parts of one sequence")
    sizes = [math.prod(x.shape[:-2]) * x.shape[-1] for x in (query, key, value)]
    sizes.append(query.shape[-1])
    return shards_of(query.shape[-2], zigzag=zigzag, group=group, like=query, sizes=sizes)


class Plan(NamedTuple):
    """Where the parts of a sequence lie, and how attention is to be computed."""

    placed: Shards
    lead: tuple[int, ...]
    causal: bool
    window: int | None
    options: dict[str, Any]
    group: distributed.ProcessGroup | None

    def length(self, owner: int) -> int:
        """How many positions a process holds."""
        return sum(map(len, self.placed[owner]))

    def around(self, held: list[Tensor]) -> Iterator[tuple[int, list[Tensor]]]:
        """Keys and values of each process as they come round the ring, and whose they are."""
        rank, world = place(self.group)
        for step in range(world - 1):
            owner = (rank - step) % world
            wait = pass_on(held, self.length((owner - 1) % world), group=self.group)
            yield owner, held
            held = wait()
        yield (rank + 1) % world, held

    def pieces(self, owner: int) -> Iterator[tuple[range, slice]]:
        """The ranges of positions that a process holds, each with its slice of the tensors."""
        begin = 0
        for positions in self.placed[owner]:
            yield positions, slice(begin, begin + len(positions))
            begin += len(positions)

    def pairs(self, rank: int, owner: int) -> Iterator[tuple[slice, slice, int]]:
        """Slices of queries and of another's keys that meet, and how far the keys run ahead."""
        for queries, rows in self.pieces(rank):
            for keys, columns in self.pieces(owner):
                if self.meet(queries, keys):
                    yield rows, columns, queries.start - keys.start

    def meet(self, queries: range, keys: range) -> bool:
        """Whether any of these queries sees any of these keys."""
        if not queries or not keys or (self.causal and keys.start >= queries.stop):
            return False
        if self.window is None:
            return True
        before = keys.stop <= queries.start - self.window + 1
        behind = keys.start >= queries.stop + self.window - 1
        return not (before or behind)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, offset: int) -> Flash:
        """Attention of one slice of queries to one slice of keys."""
        places = {"causal": self.causal, "window": self.window, "offset": offset}
        return flash_with_logsumexp(query, key, value, **places, **self.options)


class _Ring(torch.autograd.Function):
    """Output (..., L_r, Ev) of this process's queries."""

    @staticmethod
    def forward(ctx, query: Tensor, key: Tensor, value: Tensor, plan: Plan) -> Tensor:
        rank = place(plan.group)[0]
        wide = torch.float32 if query.dtype in HALF else query.dtype
        rows = (*plan.lead, query.shape[-2])
        output = query.new_zeros(*rows, value.shape[-1], dtype=wide)
        logsumexp = query.new_full(rows, -math.inf, dtype=wide)
        for owner, held in plan.around([key, value]):
            for own, its, offset in plan.pairs(rank, owner):
                key_part, value_part = (x[..., its, :] for x in held)
                part = plan.attend(query[..., own, :], key_part, value_part, offset)
                _join(output[..., own, :], logsumexp[..., own], part)
        output = output.to(value.dtype)
        ctx.save_for_backward(query, key, value, output, logsumexp)
        ctx.plan = plan
        return output

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():
            raise NotImplementedError(
                "ring_attention: expected to be differentiated once, got create_graph=True"
            )
        query, key, value, output, logsumexp = ctx.saved_tensors
        plan: Plan = ctx.plan
        rank, world = place(plan.group)
        wide = logsumexp.dtype
        delta = (grad.to(wide) * output).sum(-1)  # (..., L_r)
        query_grad = torch.zeros_like(query, dtype=wide)
        wait_grads = None
        for owner, held in plan.around([key, value]):
            grads = [torch.zeros_like(x, dtype=wide) for x in held]
            for own, its, offset in plan.pairs(rank, owner):
                rows = query[..., own, :], grad[..., own, :], delta[..., own], logsumexp[..., own]
                part = _part_gradients(plan, *rows, *(x[..., its, :] for x in held), offset)
                query_grad[..., own, :] += part[0]
                grads[0][..., its, :] += part[1]
                grads[1][..., its, :] += part[2]
            if wait_grads is not None:  # what the processes before have added for these keys
                grads = [one + other for one, other in zip(grads, wait_grads(), strict=True)]
            if world > 1:  # after the last step they are home
                following = plan.length((owner - 1) % world)
                wait_grads = pass_on(grads, following, group=plan.group, tag=2)
        grads = grads if wait_grads is None else wait_grads()
        same = zip((query_grad, *grads), (query, key, value), strict=True)
        return *(x.to(like.dtype) for x, like in same), None


def _join(output: Tensor, logsumexp: Tensor, part: Flash) -> None:
    """Add the result for more keys to output (..., l, Ev) and logsumexp (..., l), in place."""
    total = torch.logaddexp(logsumexp, part.logsumexp)
    base = finite_or_zero(total)
    output *= (logsumexp - base).exp()[..., None]
    output += part.output * (part.logsumexp - base).exp()[..., None]
    logsumexp.copy_(total)


def _part_gradients(
    plan: Plan,
    query: Tensor,
    grad: Tensor,
    delta: Tensor,
    logsumexp: Tensor,
    key: Tensor,
    value: Tensor,
    offset: int,
) -> tuple[Tensor, ...]:
    """What one part adds to the gradients of its queries, keys and values."""
    inputs = [x.detach().requires_grad_() for x in (query, key, value)]
    with torch.enable_grad():
        part = plan.attend(*inputs, offset)
    share = (part.logsumexp.detach() - finite_or_zero(logsumexp)).exp()  # (..., l)
    output_grad = grad * share[..., None]
    share_grad = share * ((grad.to(delta.dtype) * part.output.detach()).sum(-1) - delta)
    return torch.autograd.grad(part, inputs, (output_grad.to(part.output.dtype), share_grad))
