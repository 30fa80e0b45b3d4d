"""Chapter 14: keys and values travel round a ring of devices, under a causal mask."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet
from attnlab.parallel.placement import shards

DEVICES = 4
CHUNKS = 2 * DEVICES
HELD = [[place for each in ranges for place in each] for ranges in shards(CHUNKS, DEVICES)]
"""The chunks of the sequence that each device holds, an early one and a late one."""

STRETCHES = [[2 * device, 2 * device + 1] for device in range(DEVICES)]
"""The chunks when each device holds one stretch of the text."""

DONE, NOW = 0.3, 0.8  # of the map of weights
PASSED = (0, 1, 3)  # the steps round the ring that are drawn


def owner(device: int, step: int) -> int:
    """Whose keys a device has in hand at a step: those that came from `step` places back."""
    return (device - step) % DEVICES


def squares(device: int, step: int) -> list[tuple[int, int]]:
    """The chunks of queries and of keys that a device compares at a step."""
    keys = HELD[owner(device, step)]
    return [(query, key) for query in HELD[device] for key in keys if key <= query]


def work(held: list[list[int]]) -> list[int]:
    """How many squares of scores each device computes in all: a chunk's own and those before."""
    return [sum(query + 1 for query in chunks) for chunks in held]


def shared(held: list[list[int]]) -> Sheet:
    """Who computes which rows of the map of scores, and how much that is."""
    sheet = Sheet(NARROW, 370, 13)
    wide, gap = 78, 9
    counts = work(held)
    for device, (chunks, count) in enumerate(zip(held, counts, strict=True)):
        x = device * (wide + gap)
        sheet.text(x + wide / 2, 9, f"device {device + 1}", style="d-bold")
        sheet.item("query", x, 22, wide, 26, _chunks(chunks))
        sheet.bar(x, 58, wide, 14, count / max(work(STRETCHES)))
        sheet.text(x + wide / 2, 86, f"{count} squares", "weight", size=12.5)
    owners = {chunk: device for device, chunks in enumerate(held) for chunk in chunks}
    side, left, top = 26, 64, 134
    _axes(sheet, left, top, side)
    for query in range(CHUNKS):
        for key in range(CHUNKS):
            x, y = left + key * side, top + query * side
            if key > query:
                sheet.hidden(x, y, side, side)
            else:
                sheet.cell(x, y, side, side, DONE, str(owners[query] + 1), size=12)
    sheet.text(0, 362, "queries and keys by chunk; numbers name the device", anchor="start",
               style="d-muted", size=12)  # fmt: skip
    return sheet


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
    _axes(sheet, left, top, side)
    for query in range(CHUNKS):
        y = top + query * side
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


def _axes(sheet: Sheet, left: float, top: float, side: float) -> None:
    """Names and numbers of the rows and columns."""
    sheet.text(left + CHUNKS * side / 2, top - 22, "keys", "key", size=12.5)
    sheet.text(left - 40, top + CHUNKS * side / 2, "queries", "query", size=12.5)
    for chunk in range(CHUNKS):
        middle = (chunk + 0.5) * side
        sheet.text(left + middle, top - 8, str(chunk + 1), "key", size=11.5)
        sheet.text(left - 9, top + middle, str(chunk + 1), "query", size=11.5)


def _chunks(held: list[int]) -> str:
    return " and ".join(str(place + 1) for place in held)


DRAWING = Drawing(
    name="ring",
    title="Four devices share a text: queries stay, keys and values travel round the ring.",
    description=(
        "A text is cut into eight chunks. With one stretch for each device, the causal mask leaves "
        "them 3, 7, 11 and 15 squares of scores. Instead device 1 holds chunks 1 and 8, device 2 "
        "holds 2 and 7, device 3 holds 3 and 6, device 4 holds 4 and 5, and each has 9 squares. "
        "Then the lower triangle of eight by eight squares fills in four steps: three squares a "
        "device in the first step, two of them on the diagonal and half hidden, and two whole "
        "squares a device in each later step."
    ),
    draw=lambda narrow: [shared(STRETCHES), shared(HELD), *map(frame, PASSED)],
    says=(
        "One stretch of the text for each device: the mask leaves the first one 3 squares and the "
        "last one 15. Three devices would wait for the fourth.",
        "So pair an early chunk with a late one, and each device has 9.",
        "Each begins with its own keys, and sends its keys and values on while it computes.",
        "Now everyone has the keys of the device before: two whole squares each. The next step is "
        "like this one, one place further round the ring.",
        "After four steps every query has met every key that it may see. Nobody waited, and "
        "nobody ever held more than two parts of the keys.",
    ),
)
