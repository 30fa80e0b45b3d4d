"""What a build makes by itself is the same each time."""

import time

from attnbook.machines import DMachine
from attnbook.machines.live_translator.page import view
from booktools import icons


def test_the_icons_hold_no_time_of_day(monkeypatch):
    made = icons.style()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert icons.style() == made


def test_a_view_of_a_page_has_one_name_for_one_state():
    first, second = (view(DMachine())[1] for _ in range(2))
    assert first == second
    assert view(DMachine(d=4))[1] != first
