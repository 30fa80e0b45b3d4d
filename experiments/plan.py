"""Plan ring attention: memory, bytes sent and bounds of the time, by arithmetic.

    python -m experiments.plan --length 1e6 --devices 64
    python -m experiments.plan --length 131072 --devices 8 --link 12.5 --kv-heads 8

One layer of causal self-attention over a sequence that is divided among devices as
`attnlab.parallel.ring_attention` divides it. The time of a pass is at least that of its arithmetic
and at least that of its messages; they overlap, so the bound is the larger of the two, and the
longest part of a sequence for which messages take longer follows. `experiments.parallel` measures
small runs, and its results file holds the plan beside them.

The defaults are published figures of one H100 SXM: 989 TFLOP/s in bfloat16 without sparsity, and
900 GB/s of NVLink, 450 each way. A 100-gigabit network sends 12.5 GB/s.
"""

import argparse
from collections.abc import Sequence
from typing import NamedTuple

DTYPES = {"float32": 4, "bfloat16": 2}
# Of a pair of query and key that see each other, for each feature: the scores and the output
# forward; backward the scores again, and four products more.
FORWARD, BACKWARD = 2 + 2, 2 + 4 * 2


class Shape(NamedTuple):
    """One attention layer over `length` positions on `devices` devices."""

    length: int
    devices: int
    batch: int = 1
    heads: int = 32
    kv_heads: int = 32
    head_dim: int = 128
    dtype: str = "bfloat16"


class Plan(NamedTuple):
    """What one device holds, sends and computes.

    tensors: bytes of its parts of query, key, value and output.
    travelling: bytes of the keys and values in hand and of those on their way to it.
    sent, sent_backward: bytes that it sends in the forward and in the backward pass.
    flops, flops_backward: floating-point operations of its share of the visible pairs.
    """

    tensors: int
    travelling: int
    sent: int
    sent_backward: int
    flops: float
    flops_backward: float


def plan(shape: Shape, *, recompute: bool = True) -> Plan:
    """Plan a layer for the device with the longest part of the sequence.

    With `recompute` the backward pass counts the forward pass of each part once more, as
    `ring_attention` does it.
    """
    part = -(-shape.length // shape.devices)
    size = DTYPES[shape.dtype] * shape.batch * shape.head_dim * part
    keys_values = 2 * size * shape.kv_heads
    steps = shape.devices - 1
    # Gradients travel in float32, one step more: home.
    gradients = keys_values * 4 // DTYPES[shape.dtype] * (shape.devices if steps else 0)
    pairs = shape.batch * shape.heads * shape.length * (shape.length + 1) / 2 / shape.devices
    backward = BACKWARD + (FORWARD if recompute else 0)
    return Plan(
        tensors=2 * size * shape.heads + keys_values,
        travelling=2 * keys_values if steps else keys_values,
        sent=steps * keys_values,
        sent_backward=steps * keys_values + gradients,
        flops=FORWARD * shape.head_dim * pairs,
        flops_backward=backward * shape.head_dim * pairs,
    )


def shortest_part(shape: Shape, *, flops: float, link: float) -> float:
    """From how many positions a device on, forward arithmetic takes at least as long as messages.

    At each step a device computes (L/N)^2 / 2 pairs for each head, and sends L/N keys and values:
    the lengths at which both take equally long.

    Args:
        shape: the layer; its length does not matter.
        flops: operations a second of one device.
        link: bytes a second that one device sends.
    """
    sent = 2 * shape.kv_heads * DTYPES[shape.dtype]  # bytes of a position, for each feature
    computed = FORWARD / 2 * shape.heads  # operations of a pair of positions, for each feature
    return sent * flops / (link * computed)


def options(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.plan",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    default = Shape(0, 1)
    parser.add_argument("--length", type=float, required=True, help="positions, as in 1e6")
    parser.add_argument("--devices", type=int, required=True)
    parser.add_argument("--batch", type=int, default=default.batch)
    parser.add_argument("--heads", type=int, default=default.heads)
    parser.add_argument("--kv-heads", type=int, help="default: as many as --heads")
    parser.add_argument("--head-dim", type=int, default=default.head_dim)
    parser.add_argument("--dtype", choices=tuple(DTYPES), default=default.dtype)
    parser.add_argument("--tflops", type=float, default=989.0, help="of one device")
    parser.add_argument("--link", type=float, default=450.0, help="GB/s that one device sends")
    chosen = parser.parse_args(argv)
    chosen.kv_heads = chosen.kv_heads or chosen.heads
    for name in ("length", "devices", "batch", "heads", "kv_heads", "head_dim", "tflops", "link"):
        if getattr(chosen, name) <= 0:
            option = name.replace("_", "-")
            parser.error(f"argument --{option}: expected more than 0, got {getattr(chosen, name)}")
    if chosen.length != int(chosen.length):
        parser.error(f"argument --length: expected a whole number, got {chosen.length}")
    if chosen.heads % chosen.kv_heads:
        parser.error(f"argument --kv-heads: expected a divisor of {chosen.heads}")
    return chosen


def main(argv: list[str] | None = None) -> Plan:
    """Print the plan that the options ask for, and return it."""
    chosen = options(argv)
    sizes = {name: getattr(chosen, name) for name in Shape._fields if name != "length"}
    shape = Shape(int(chosen.length), **sizes)
    planned = plan(shape)
    flops, link = chosen.tflops * 1e12, chosen.link * 1e9
    print(f"{shape.length:,} positions on {shape.devices} devices, one layer, causal")
    print(f"{shape.heads} heads over {shape.kv_heads}, {shape.head_dim} features, {shape.dtype}\n")
    print("for each device")
    print(f"  query, key, value, output {planned.tensors / 2**30:12.3f} GiB")
    print(f"  keys and values passing   {planned.travelling / 2**30:12.3f} GiB")
    for name, sent, work in (
        ("forward", planned.sent, planned.flops),
        ("backward", planned.sent_backward, planned.flops_backward),
    ):
        messages, arithmetic = sent / link, work / flops
        limit = "messages" if messages > arithmetic else "arithmetic"
        print(f"  {name:<9} {sent / 2**30:9.3f} GiB sent {1e3 * messages:10.2f} ms", end="")
        print(f"   {work / 1e12:9.2f} TFLOP {1e3 * arithmetic:10.2f} ms   bound by {limit}")
    least = shortest_part(shape, flops=flops, link=link)
    print(f"\nForward, arithmetic is the longer from {least:,.0f} positions a device on.")
    return planned


if __name__ == "__main__":
    main()
