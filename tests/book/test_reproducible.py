"""What a build makes by itself is the same each time."""

import time

from attnbook.machines import DMachine
from attnbook.machines.live_translator.page import view
from booktools import icons, sphinx_ext


def test_the_icons_hold_no_time_of_day(monkeypatch):
    made = icons.style()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert icons.style() == made


def test_a_view_of_a_page_has_one_name_for_one_state():
    first, second = (view(DMachine())[1] for _ in range(2))
    assert first == second
    assert view(DMachine(d=4))[1] != first


def test_what_python_compiles_is_no_change_of_the_books_code(tmp_path, monkeypatch):
    """It was one, and the second build of a new checkout wrote every page again."""
    code = tmp_path / "sphinx_ext.py"
    code.write_text("1")
    monkeypatch.setattr(sphinx_ext, "__file__", str(code))
    first = sphinx_ext.digest(tmp_path)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "sphinx_ext.cpython-311.pyc").write_text("compiled")
    assert sphinx_ext.digest(tmp_path) == first
    code.write_text("2")
    assert sphinx_ext.digest(tmp_path) != first
