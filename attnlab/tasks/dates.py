"""`dates`: a date in one of many spellings to year-month-day, character by character."""

import datetime
import re

from attnkit.guard import checks
from attnlab.tasks.choices import Choices
from attnlab.tasks.pairs import Pair

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July",
    "August", "September", "October", "November", "December",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

# {d} day, {dd} day in two digits, {th} ordinal ending, {m} {mm} month as a number, {month} its
# name, {mon} its first three letters, {y} year, {day} weekday. No spelling with month and day in
# doubt is among them: 03/05/1979 means one day in London and another in Boston.
SPELLINGS = (
    "{d} {month} {y}", "{dd} {month} {y}", "{d} {mon} {y}", "{d}-{mon}-{y}", "{mon} {d}, {y}",
    "{month} {d}, {y}", "{month} {d}{th}, {y}", "{d}{th} {month} {y}", "{d}{th} of {month}, {y}",
    "the {d}{th} of {month} {y}", "{day} {d} {month} {y}", "{day}, {month} {d}, {y}",
    "{d}.{m}.{y}", "{dd}.{mm}.{y}", "{y} {month} {d}", "{y}, {d} {mon}",
)  # fmt: skip


def dates(
    count: int, *, first_year: int = 1900, last_year: int = 2099, seed: int = 0
) -> list[Pair]:
    """Make dates in many spellings with their ISO 8601 form, both split into characters.

    Links: each digit of the year belongs to the digit it copies, and so do digits of the day and
    of a month written as a number; these links are sure. A zero that was added belongs to the
    digit it stands before, and both digits of a month's name to all its letters; those links are
    possible. The two hyphens belong to nothing and have no link.

    Args:
        count: number of examples, drawn independently.
        first_year: earliest year, from 1000.
        last_year: latest year, to 9999.
        seed: one seed gives the same examples on every machine.

    Raises:
        TypeError: an argument is not an int.
        ValueError: a number is out of range.

    >>> for pair in dates(3):
    ...     print("".join(pair.source), "->", "".join(pair.target))
    1972 May 4 -> 1972-05-04
    1972, 30 Jul -> 1972-07-30
    16 October 1919 -> 1919-10-16
    """
    checks.integer("count", count, minimum=0)
    checks.integer("first_year", first_year, minimum=1000, maximum=9999)
    checks.integer("last_year", last_year, minimum=first_year, maximum=9999)
    draw = Choices(seed)
    first = datetime.date(first_year, 1, 1).toordinal()
    last = datetime.date(last_year, 12, 31).toordinal()
    pairs = []
    for _ in range(count):
        date = datetime.date.fromordinal(draw.between(first, last))
        pairs.append(date_pair(date, draw.choice(SPELLINGS)))
    return pairs


def date_pair(date: datetime.date, spelling: str) -> Pair:
    """Write one date in one of `SPELLINGS`, with its ISO form and the links between the two.

    Raises:
        TypeError: `date` is not a date.
        ValueError: `spelling` is not one of `SPELLINGS`.

    >>> pair = date_pair(datetime.date(1979, 5, 3), "{d} {month} {y}")
    >>> "".join(pair.source), "".join(pair.target), (9, 0) in pair.sure
    ('3 May 1979', '1979-05-03', True)
    """
    checks.instance("date", date, datetime.date, "a datetime.date")
    checks.choice("spelling", spelling, SPELLINGS)
    source, spans = _spell(date, spelling)
    target = f"{date.year:04}-{date.month:02}-{date.day:02}"
    sure, possible = set(), set()
    for field, rows in {"y": range(4), "m": range(5, 7), "d": range(8, 10)}.items():
        places = spans[field]
        if source[places[0]].isdigit():
            copied = rows[-len(places) :]
            sure |= set(zip(copied, places, strict=True))
            possible |= {(row, places[0]) for row in rows if row not in copied}
        else:
            possible |= {(row, place) for row in rows for place in places}
    return Pair(tuple(source), tuple(target), frozenset(sure), frozenset(sure | possible))


def ordinal_ending(day: int) -> str:
    """Return the letters after a day of the month.

    >>> [f"{day}{ordinal_ending(day)}" for day in (1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 30)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '13th', '21st', '22nd', '23rd', '30th']
    """
    checks.integer("day", day, minimum=1, maximum=31)
    return "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def _spell(date: datetime.date, spelling: str) -> tuple[str, dict[str, range]]:
    """Fill in the spelling; return it with the places of its year, month and day."""
    month = MONTHS[date.month - 1]
    fields = {
        "y": ("y", f"{date.year}"),
        "d": ("d", f"{date.day}"),
        "dd": ("d", f"{date.day:02}"),
        "m": ("m", f"{date.month}"),
        "mm": ("m", f"{date.month:02}"),
        "month": ("m", month),
        "mon": ("m", month[:3]),
        "th": ("", ordinal_ending(date.day)),
        "day": ("", DAYS[date.weekday()]),
    }
    text, spans = "", {}
    for number, piece in enumerate(re.split(r"[{}]", spelling)):
        part, written = fields[piece] if number % 2 else ("", piece)
        spans[part] = range(len(text), len(text) + len(written))
        text += written
    return text, spans
