"""Chapter 13: reading the prompt in one call, then writing a word a call."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet

PROMPT, WRITTEN = ("a", "cat", "did", "not"), ("sleep", "in", "the")


def draw(narrow: bool) -> Sheet:
    """A row for each call: what it reads, what lies in the cache, what it writes."""
    sheet = Sheet(NARROW, 272, 12.5)
    w, gap, high = 44, 4, 28
    words = (*PROMPT, *WRITTEN)
    calls = [range(len(PROMPT)), *([len(PROMPT) + n] for n in range(len(WRITTEN) - 1))]
    tops = [32, 116, 162]
    sheet.text(0, 12, "prefill: the whole prompt in one call", anchor="start", style="d-bold")
    sheet.text(0, 96, "decode: one word a call", anchor="start", style="d-bold")
    for number_, (call, y) in enumerate(zip(calls, tops, strict=True)):
        for place in range(call[-1] + 1):
            x = place * (w + gap)
            if place in call:
                sheet.item("state", x, y, w, high, words[place])
            else:
                sheet.shape("key", x + 9, y + 2, 26, 11)
                sheet.shape("value", x + 9, y + 15, 26, 11)
        end = (call[-1] + 1) * (w + gap)
        sheet.arrow([(end, y + high / 2), (end + 16, y + high / 2)])
        said = WRITTEN[number_]
        sheet.text(end + 20, y + high / 2, said, anchor="start", style="d-bold")
    sheet.shape("key", 0, 222, 26, 11)
    sheet.shape("value", 0, 235, 26, 11)
    sheet.text(36, 234, "key and value, kept in the cache", anchor="start")
    said = "Each call reads every weight of the model once."
    sheet.text(0, 262, said, anchor="start", style="d-muted", size=12)
    return sheet


DRAWING = Drawing(
    name="prefill-decode",
    title="The prompt is read in one call; after that, every word needs a call of its own.",
    description=(
        "Three calls of a model. The first reads the prompt, a cat did not, all at once, and "
        "writes sleep: this is called prefill. The second reads sleep alone and writes in, the "
        "third reads in and writes the: this is decoding. Keys and values of all earlier words "
        "come from the cache."
    ),
    draw=draw,
)
