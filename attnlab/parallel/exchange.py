"""Tensors that travel between processes while something else is computed."""

from collections.abc import Callable, Sequence

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
    next_rank, previous_rank = (rank + 1) % world, (rank - 1) % world
    outgoing = [tensor.contiguous() for tensor in tensors]
    incoming = [x.new_empty(*x.shape[:-2], length, x.shape[-1]) for x in tensors]
    operations = []
    for number, (sent, received) in enumerate(zip(outgoing, incoming, strict=True), tag):
        for kind, tensor, peer in (
            (distributed.isend, sent, next_rank),
            (distributed.irecv, received, previous_rank),
        ):
            if tensor.numel():
                operation = distributed.P2POp(
                    kind, tensor, group=group, tag=number, group_peer=peer
                )
                operations.append(operation)
    waiting = distributed.batch_isend_irecv(operations) if operations else []

    def wait() -> list[Tensor]:
        for each in waiting:
            each.wait()
        outgoing.clear()  # kept until here: what is being sent must not be freed
        return incoming

    return wait
