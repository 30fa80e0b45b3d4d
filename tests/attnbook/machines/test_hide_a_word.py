"""Hide a word or leave it out: what torch writes then, for each word of the recorded sentence."""

import lxml.html
import pytest
import torch

from attnbook import translators, widgets
from attnbook.machines import HideAWord
from attnbook.machines.live_translator import page, shown

MODEL = translators.translator("live_translator_additive")
STEPS = [("hide it", 1, False, "One."), ("leave it out", 1, True, "Two.")]


def make(text: str = "the", **settings) -> HideAWord:
    return HideAWord(MODEL, [text, "black", "cat"], **{"title": "Look", "steps": STEPS} | settings)


SETTINGS = [
    {"word": 0},
    {"word": 1},
    {"word": 1, "left": True},
    {"word": 2, "left": True},
    {"word": 23, "left": True},
    {"own": "two words", "word": 1},
]


@pytest.fixture(scope="module")
def cover() -> HideAWord:
    return widgets.hide_a_word()


def test_each_word_hidden_and_left_out_is_what_torch_writes(cover):
    for place in range(len(cover.words)):
        rest = cover.words[:place] + cover.words[place + 1 :]
        for left, read, hidden in ((False, cover.words, [place]), (True, rest, [])):
            cover.word, cover.left = place, left
            _, target, weights = shown.translate(MODEL, read, hidden).by_word()
            now = cover.compute()
            assert now["target"] == target
            found = torch.tensor(now["weights"])
            assert (found[:, place] == 0).all()
            kept = [j for j in range(len(cover.words)) if j != place]
            mine = weights if left else weights[:, kept]
            torch.testing.assert_close(found[:, kept], mine, atol=6e-4, rtol=0)


def test_the_three_steps_show_what_they_say(cover):
    """Hidden, *not* takes nothing with it; left out, it takes *n'* and *pas*."""
    gone = []
    for _, word, left, _ in cover.steps:
        cover.word, cover.left = word, left
        now = cover.compute()
        gone.append([one for one in now["before"] if one not in now["target"]])
        assert [one for one in now["target"] if one not in now["before"]] == []
    assert gone == [["noir"], [], ["n'", "pas"]]


def test_what_pas_had_looked_at_is_not(cover):
    cover.word = -1
    now = cover.compute()
    row = now["weights"][now["target"].index("pas")]
    assert cover.words[row.index(max(row))] == "not"
    assert f"{max(row):.2f}" in cover.steps[1][3]


def test_a_page_shows_its_first_state_before_the_script_has_come(cover):
    cover.word = -1
    target, weights = cover.runs[0]
    drawn = lxml.html.fromstring(cover.still()).findall("svg")
    assert [one.get("class").split()[1] for one in drawn] == ["word-wide", "word-tall"]
    for one in drawn:
        assert [word.text for word in one.iter("text")] == [*cover.words, *target]
        assert len(list(one.iter("path"))) == sum(w >= 0.04 for row in weights for w in row)
        assert one.get("aria-label") == cover.description()
    parts = page.view(cover)
    assert cover.still() in parts[2]
    assert "base64" not in parts[2]
    swallow = HideAWord(MODEL, ["the", "<b>"])
    assert "&lt;b&gt;" in swallow.still()
    assert "<b>" not in swallow.still()
