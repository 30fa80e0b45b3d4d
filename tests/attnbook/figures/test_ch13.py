"""The figures of 13 draw the results files, and the race sings what the experiment taught."""

import pytest

from attnbook import recorded
from attnbook.figures import ch13
from experiments import songs


def test_the_race_has_the_songs_and_the_recorded_model_sings_them():
    race = ch13.race(step=30)
    assert race.titles == [*songs.SONGS]
    spelled = [[race.words[place] for place in song] for song in race.songs]
    assert spelled == songs.words()
    for song, words in enumerate(songs.words()):
        assert race._run(song, "none").written[:30] == [race.words.index(w) for w in words[1:31]]


def test_old_keys_move_in_the_encoder_alone(capsys):
    ch13.old_keys()
    decoder, encoder = (line.split() for line in capsys.readouterr().out.splitlines()[1:])
    assert decoder == ["decoder", "10", "55", "10", "0.00000"]
    assert encoder[:4] == ["encoder", "8", "36", "8"]
    assert float(encoder[4]) > 0.1


def test_milliseconds_are_those_of_the_files(shown):
    ch13.milliseconds()
    left, right = shown[0].axes
    layer, rows = recorded.results("bench-cpu")["decoding"], recorded.results("kv_cache")["rows"]
    for place, form in enumerate(("with a cache", "every prefix again")):
        x, y = left.lines[place].get_data()
        assert list(y * x) == pytest.approx([layer["lengths"][str(n)][form]["ms"] for n in x])
    for place, way in enumerate(("with", "without")):
        assert right.lines[place].get_ydata() == pytest.approx([1e3 * row[way] for row in rows])


def test_a_step_is_shared_by_its_readers(shown):
    ch13.readers()
    step, each = (line.get_data() for line in shown[0].axes[0].lines)
    rows = recorded.results("readers")["rows"]
    assert step[1] == pytest.approx([1e3 * row["seconds"]["median"] for row in rows])
    assert each[1] * each[0] == pytest.approx(step[1])
