"""The figures of 13 draw the results files, and the race sings what the experiment taught."""

import re

import pytest

from attnbook import recorded
from attnbook.figures import ch13
from attnbook.machines.decode_race import BUGS
from booktools import gates
from experiments import songs


def test_the_race_has_the_songs_and_the_recorded_model_sings_them():
    race = ch13.race(step=30)
    assert race.titles == [*songs.SONGS]
    spelled = [[race.words[place] for place in song] for song in race.songs]
    assert spelled == songs.words()
    for song, words in enumerate(songs.words()):
        assert race._run(song, "none").written[:30] == [race.words.index(w) for w in words[1:31]]


def test_each_link_of_a_bug_shows_its_first_wrong_word():
    (page,) = gates.CHAPTERS.glob("13_*.ipynb")
    links = re.findall(r"#machine-13=(bug:[a-z]+[^)]*)", page.read_text("utf8"))
    assert {re.split("[:;]", link)[1] for link in links} == set(BUGS) - {"none"}
    for link in links:
        found = dict(part.split(":") for part in link.split(";"))
        song, step = int(found.get("song", 2)), int(found["step"])
        now = ch13.race(song=song, step=step, bug=found["bug"]).compute()
        assert 0 < now["differs"] <= step <= now["differs"] + 12  # the page shows the last 32


def test_milliseconds_are_those_of_the_file(draw):
    (axes,) = draw(ch13.milliseconds)
    rows = recorded.results("kv_cache")["rows"]
    for line, way in zip(axes.lines, ("with", "without"), strict=True):
        assert list(line.get_xdata()) == [row["length"] for row in rows]
        assert line.get_ydata() == pytest.approx([1e3 * row[way] for row in rows])


def test_a_card_reads_the_weights_once_and_a_cache_for_each_reader(draw):
    (axes,) = draw(ch13.card)
    widths = [bar.get_width() for bar in axes.patches]
    assert widths[::2] == pytest.approx([2e3 * 7.50e9 / 3.35e12] * len(ch13.READERS), rel=1e-3)
    each = 1e3 * 131_072 * 8192 / 3.35e12
    assert widths[1::2] == pytest.approx([n * each for n in ch13.READERS])
