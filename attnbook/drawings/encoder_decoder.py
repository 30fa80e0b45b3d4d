"""Chapter 01: the encoder and the decoder, unrolled, with the states of a trained model."""

from functools import cache
from typing import NamedTuple

import torch

from attnbook import recorded
from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet
from attnlab.tasks.vocab import SPECIAL

SOURCE = ("c", "a", "t")
RIGHT = ("t", "a", "c")
ROWS, COLUMNS = 16, 4


class Run(NamedTuple):
    """What the model read and wrote, and its state (64 numbers) after each letter."""

    read: tuple[str, ...]
    read_states: list[list[float]]
    heard: tuple[str, ...]
    written: tuple[str, ...]
    written_states: list[list[float]]


@cache
def run() -> Run:
    """Let chapter 01's model, a GRU with one fixed vector, write the word backwards."""
    kept = recorded.model("backwards_vector_2000")
    model, ends = kept.model, kept.target_vocab.tokens.index(SPECIAL[2])
    source = torch.tensor([kept.source_vocab.encode(list(SOURCE))])
    with torch.no_grad():
        encoded = model.encoder(source)
        memory = model.decoder.prepare(encoded)
        state, word = model.decoder.start(memory), model.bos
        heard, written, states = [], [], []
        while word != ends and len(written) < 8:
            heard.append(kept.target_vocab.tokens[word])
            stepped = model.decoder.step(torch.tensor([word]), state, memory)
            state, word = stepped.state, stepped.logits[0].argmax().item()
            written.append(kept.target_vocab.tokens[word])
            states.append(state.hidden[0, -1].tolist())
    return Run(SOURCE, encoded.outputs[0].tolist(), tuple(heard), tuple(written), states)


def strip(sheet: Sheet, x: float, y: float, size: float, values: list[float], fixed: bool) -> None:
    """A state: a cell for each of its numbers, in four columns."""
    for place, value in enumerate(values):
        row, column = divmod(place, COLUMNS)
        sheet.cell(x + column * size, y + row * size, size, size, (value + 1) / 2, kind="score")
    frame = "d-thickframe" if fixed else "d-frame"
    sheet.rect(x - 3, y - 3, COLUMNS * size + 6, ROWS * size + 6, f"d-state {frame}", 4)


def draw(narrow: bool) -> Sheet:
    """In one line on a wide page; on a narrow one the decoder stands below the encoder."""
    found = run()
    size, pitch = (6.2, 84.0) if narrow else (8.0, 95.0)
    w, h = COLUMNS * size, ROWS * size
    sheet = Sheet(NARROW, 486, 13.5) if narrow else Sheet(WIDE, 290, 15)
    small = 12.5 if narrow else 13

    x, y = (30.0, 62.0) if narrow else (16.0, 84.0)
    sheet.text(x - 4, 14, "The encoder reads", anchor="start", style="d-bold")
    for place, (word, state) in enumerate(zip(found.read, found.read_states, strict=True)):
        left, fixed = x + place * pitch, place == len(found.read) - 1
        strip(sheet, left, y, size, state, fixed)
        if not fixed:
            sheet.rect(left - 3, y - 3, w + 6, h + 6, "d-state d-veil", 4)
        _in(sheet, left + w / 2, y + h, word)
        if not fixed:
            _on(sheet, left + w, y + h / 2, pitch - w)

    end = x + (len(found.read) - 1) * pitch + w  # the right edge of the fixed vector
    above = y - (18 if narrow else 22)
    dropped = x + w / 2 + (len(found.read) - 2) * pitch / 2
    sheet.text(dropped, above, "not passed on", size=small, style="d-muted")
    sheet.text(end - w / 2, above, "passed on", size=small, style="d-bold")
    middle = y + h / 2
    if narrow:
        below, start, turn = y + h + 154.0, 34.0, y + h + 64
        around = [(end + 8, middle), (end + 42, middle), (end + 42, turn), (12, turn)]
        around += [(12, below + h / 2), (start - 6, below + h / 2)]
        sheet.arrow(around, "state", style="d-thick")
        for row, line in enumerate(("one", "vector,", "64", "numbers,", "no more")):
            sheet.text(end + 50, middle - 34 + 17 * row, line, size=small, anchor="start")
        sheet.text(start - 4, turn + 28, "The decoder writes", anchor="start", style="d-bold")
        _key(sheet, NARROW - 40, 14, small, "a cell: ")
    else:
        below, start = y, end + 118
        sheet.arrow([(end + 9, middle), (start - 7, middle)], "state", style="d-thick")
        for row, line in enumerate(("one vector,", "64 numbers,")):
            sheet.text((end + start) / 2, middle - 37 + 18 * row, line, size=small)
        sheet.text((end + start) / 2, middle + 20, "no more", size=small)
        sheet.text((end + start) / 2, y + h - 18, "a cell: a number", size=small, style="d-muted")
        _key(sheet, (end + start) / 2, y + h, small, "")
        sheet.text(start - 4, 14, "The decoder writes", anchor="start", style="d-bold")

    for place, (word, state) in enumerate(zip(found.written, found.written_states, strict=True)):
        left = start + place * pitch
        strip(sheet, left, below, size, state, False)
        _in(sheet, left + w / 2, below + h, _name(found.heard[place]), told=True)
        top = below - (22 if narrow else 28)
        sheet.arrow([(left + w / 2, below - 7), (left + w / 2, top)])
        sheet.text(left + w / 2, top - 11, _name(word), style="d-bold")
        if place < len(found.written) - 1:
            _on(sheet, left + w, below + h / 2, pitch - w)
    last = start + (len(found.written) - 1) * pitch + w
    again = "each letter that it writes, it reads back in"
    sheet.text((start + last) / 2, below + h + 64, again, size=small, style="d-muted")
    return sheet


def _key(sheet: Sheet, x: float, y: float, size: float, words: str) -> None:
    """What a cell is: a number, its colour from -1 to 1."""
    for place in range(5):
        sheet.cell(x - 25 + 10 * place, y - 5, 10, 10, place / 4, kind="score")
    sheet.text(x - 29, y, f"{words}−1", size=size, style="d-muted", anchor="end")
    sheet.text(x + 29, y, "1", size=size, style="d-muted", anchor="start")


def _in(sheet: Sheet, x: float, bottom: float, word: str, told: bool = False) -> None:
    """A word goes in from below; one that the decoder has written itself, in a softer ink."""
    style = "d-muted" if told else ""
    sheet.arrow([(x, bottom + 30), (x, bottom + 8)], style=style)
    sheet.text(x, bottom + 42, word, style=style)


def _on(sheet: Sheet, x: float, y: float, gap: float) -> None:
    sheet.arrow([(x + 9, y), (x + gap - 9, y)], "state")


def _name(word: str) -> str:
    return {SPECIAL[1]: "start", SPECIAL[2]: "end"}.get(word, word)


DRAWING = Drawing(
    name="encoder-decoder",
    title="A decoder that knows a cat only as one vector writes it backwards.",
    description=(
        "A recurrent encoder reads c, a and t. After each letter it has a state, drawn as a "
        "strip of 64 coloured cells, one for each number. The first two strips are pale, for "
        "they are not passed on. Only the last one goes to the decoder, which writes t, a and c, "
        "and stops. At each step it reads the letter that it has just written. The numbers are "
        "those of a model of this chapter, trained for 2,000 updates."
    ),
    draw=draw,
    two_layouts=True,
)
