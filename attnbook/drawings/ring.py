"""Chapter 14: keys and values travel round a ring of devices, under a causal mask."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet
from attnkit.efficient.parallel import shards

DEVICES = 4
CHUNKS = 2 * DEVICES
HELD = [[place for each in ranges for place in each] for ranges in shards(CHUNKS, DEVICES)]
"""The chunks of the sequence that each device holds, an early one and a late one."""

DONE, NOW = 0.3, 0.8  # of the map of weights


def owner(device: int, step: int) -> int:
    """Whose keys a device has in hand at a step: those that came from `step` places back."""
    return (device - step) % DEVICES


def squares(device: int, step: int) -> list[tuple[int, int]]:
    """The chunks of queries and of keys that a device compares at a step."""
    keys = HELD[owner(device, step)]
    return [(query, key) for query in HELD[device] for key in keys if key <= query]


def frame(step: int) -> Sheet:
    """Who has which keys, and which part of the scores is computed from them."""
    sheet = Sheet(NARROW, 370, 13)
    wide, gap = 78, 9
    for device in range(DEVICES):
        x = device * (wide + gap)
        own, keys = HELD[device], HELD[owner(device, step)]
        sheet.text(x + wide / 2, 9, f"device {device + 1}", style="d-bold")
        sheet.item("query", x, 22, wide, 26, _chunks(own))
        sheet.item("key", x, 54, wide, 26, _chunks(keys), style="d-new" if step else "d-box")
        if step < DEVICES - 1:
            begin, end = x + wide / 2, x + wide / 2 + wide + gap
            if device < DEVICES - 1:
                sheet.arrow([(begin, 82), (begin, 92), (end, 92), (end, 84)], "key", style="d-thin")
    if step < DEVICES - 1:
        last, first = (DEVICES - 1) * (wide + gap) + wide / 2, wide / 2
        path = [(last, 82), (last, 99), (first - 6, 99), (first - 6, 84)]
        sheet.arrow(path, "key", style="d-thin d-dashed")
    _scores(sheet, step, 64, 134)
    sheet.text(0, 362, "queries and keys by chunk; numbers name the device", anchor="start",
               style="d-muted", size=12)  # fmt: skip
    return sheet


def _scores(sheet: Sheet, step: int, left: float, top: float) -> None:
    """The map of scores: done before, computed now, still to come, hidden by the mask."""
    side = 26
    now = {square: device for device in range(DEVICES) for square in squares(device, step)}
    before = {
        square: device
        for past in range(step)
        for device in range(DEVICES)
        for square in squares(device, past)
    }
    sheet.text(left + CHUNKS * side / 2, top - 22, "keys", "key", size=12.5)
    sheet.text(left - 40, top + CHUNKS * side / 2, "queries", "query", size=12.5)
    for query in range(CHUNKS):
        y = top + query * side
        sheet.text(left + (query + 0.5) * side, top - 8, str(query + 1), "key", size=11.5)
        sheet.text(left - 9, y + side / 2, str(query + 1), "query", size=11.5)
        for key in range(CHUNKS):
            x = left + key * side
            if key > query:
                sheet.hidden(x, y, side, side)
            elif (query, key) in now:
                sheet.cell(x, y, side, side, NOW, str(now[query, key] + 1), size=12)
            elif (query, key) in before:
                sheet.cell(x, y, side, side, DONE, str(before[query, key] + 1), size=12)
            else:
                sheet.cell(x, y, side, side, 0.0)


def _chunks(held: list[int]) -> str:
    return " and ".join(str(place + 1) for place in held)


DRAWING = Drawing(
    name="ring",
    title="Four devices share a text: queries stay, keys and values travel round the ring.",
    description=(
        "A text is cut into eight chunks. Device 1 holds chunks 1 and 8, device 2 holds 2 and 7, "
        "device 3 holds 3 and 6, device 4 holds 4 and 5. Below the devices, the lower triangle of "
        "eight by eight squares of scores fills in four steps: three squares a device in the "
        "first step, two of them on the diagonal and half hidden, and two whole squares a device "
        "in each later step."
    ),
    draw=lambda narrow: [frame(step) for step in range(DEVICES)],
    says=(
        "Each device begins with its own keys. It holds an early chunk and a late one, and sends "
        "its keys and values on while it computes.",
        "Everyone has the keys of the device before, and two whole squares to compute.",
        "One step further round the ring: two squares again for each.",
        "After four steps every query has met every key that it may see. Nobody waited, and "
        "nobody ever held more than two parts of the keys.",
    ),
)
