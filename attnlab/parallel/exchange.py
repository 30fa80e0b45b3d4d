"""Tensors that travel between processes while something else is computed."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, distributed


def pass_on(
    tensors: Sequence[Tensor],
    length: int,
    *,
    group: distributed.ProcessGroup | None,
    tag: int = 0,
) -> Callable[[], list[Tensor]]:
    """Send tensors to the next process of the ring, and receive those of the one before.

    Both happen in the background: call what is returned to wait for what comes.

    Args:
        tensors: (..., l, E), to be sent.
        length: dimension -2 of the tensors that come; the rest is as in those sent.
        group: the processes of the ring, in order of rank.
        tag: a number that no other exchange under way uses, nor do the next `len(tensors)`.
    """
    rank, world = distributed.get_rank(group), distributed.get_world_size(group)
    after, before = (rank + 1) % world, (rank - 1) % world
    gone = [tensor.contiguous() for tensor in tensors]
    come = [x.new_empty(*x.shape[:-2], length, x.shape[-1]) for x in tensors]
    operations = []
    for number, (sent, received) in enumerate(zip(gone, come, strict=True), tag):
        same = {"group": group, "tag": number}
        if sent.numel():
            send = distributed.P2POp(distributed.isend, sent, group_peer=after, **same)
            operations.append(send)
        if received.numel():
            receive = distributed.P2POp(distributed.irecv, received, group_peer=before, **same)
            operations.append(receive)
    waiting = distributed.batch_isend_irecv(operations) if operations else []

    def wait() -> list[Tensor]:
        for each in waiting:
            each.wait()
        gone.clear()  # kept until here: what is being sent must not be freed
        return come

    return wait


class AllToAll(torch.autograd.Function):
    """Send part p of dimension 0 to process p, and concatenate what comes; and back again."""

    @staticmethod
    def forward(ctx, x: Tensor, sent: list[int], received: list[int], group) -> Tensor:
        """x (sum(sent), ...) -> (sum(received), ...)."""
        ctx.sent, ctx.received, ctx.group = sent, received, group
        return _all_to_all(x, sent, received, group)

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor | None, ...]:
        """The same exchange the other way round."""
        return _all_to_all(grad, ctx.received, ctx.sent, ctx.group), None, None, None


def _all_to_all(x: Tensor, sent: list[int], received: list[int], group) -> Tensor:
    out = x.new_empty(sum(received), *x.shape[1:])
    distributed.all_to_all_single(out, x.contiguous(), received, sent, group=group)
    return out
