"""Two settings side by side, and their difference: weights now minus those that were kept."""

import numpy as np
import pytest

from attnkit.viz import AttentionExplorer
from tests.browser.explorer_page import (
    WORDS,
    control,
    move,
    named,
    settle,
    snapshot,
    text,
    vectors,
)

pytestmark = pytest.mark.browser


def an_explorer(**settings):
    query, key = vectors(2, len(WORDS), 16), vectors(2, len(WORDS), 16, seed=1)
    return AttentionExplorer(query, key, tokens=WORDS, **settings)


def picture(root, part: str = "before") -> str:
    return root.evaluate(f"e => e.querySelector('{named(part)}').toDataURL()")


def test_the_kept_picture_stays_while_the_other_moves(show):
    page, root, record = show(an_explorer(pinned=[0, 8, 1]))
    root.get_by_role("button", name="Keep this picture to compare").click()
    settle(page)
    beside = [root.locator(named(part)).bounding_box() for part in ("map", "before")]
    assert beside[0]["width"] == pytest.approx(beside[1]["width"], abs=2)
    assert beside[1]["x"] > beside[0]["x"] + beside[0]["width"]
    assert "the same settings" in text(root, "old")
    assert "No weight has changed" in text(root, "change")
    kept, moving = picture(root), picture(root, "map")
    control(root, "Mask").select_option("causal")
    move(root, "Temperature", -0.5)
    settle(page)
    assert picture(root) == kept
    assert picture(root, "map") != moving
    assert (
        text(root, "old") == "Kept: mask none, temperature 1. Now: mask causal, temperature 0.316"
    )
    root.get_by_role("button", name="Let go of the kept picture").click()
    settle(page)
    assert not root.locator(".explorer-kept").is_visible()
    assert snapshot(root)["kept"] == {}
    assert not record.console


@pytest.mark.parametrize(
    "now, kept",
    [
        ({"temperature": 0.5}, {"temperature": 2.0}),
        ({"head": 1, "mask": "causal"}, {"head": 0, "seq_len": 9}),
        ({"head": "all", "hidden": [1]}, {"scaled": False}),
    ],
)
def test_the_largest_change_in_words_is_torchs(show, now, kept):
    explorer = an_explorer(**now, kept=kept, difference=True)
    change = explorer.change()
    plain = an_explorer(**{**now, **kept}).values()
    then = plain if now.get("head") == "all" else plain[[kept.get("head", 0)]]
    rows = change.shape[1]
    heads = slice(None) if now.get("head") == "all" else [now.get("head", 0)]
    expected = explorer.values()[heads][:, :rows, :rows] - then[:, :rows, :rows]
    np.testing.assert_allclose(change, expected, rtol=0, atol=1e-12)
    _, query, key = np.unravel_index(np.abs(change).argmax(), change.shape)
    by = change.flat[np.abs(change).argmax()]
    _, root, _ = show(explorer)
    said = text(root, "change")
    place = {"The": "The", "the": "the"}
    assert f"“{place.get(WORDS[query], WORDS[query])}” → “{WORDS[key]}”" in said
    assert f"({by:+.3f})".replace("-", "−") in said


def test_the_difference_is_a_choice_with_a_scale_about_zero(show):
    page, root, _ = show(an_explorer(temperature=0.5, kept={"temperature": 2.0}))
    plain = picture(root)
    box = control(root, "show the difference")
    box.focus()
    page.keyboard.press(" ")
    settle(page)
    assert snapshot(root)["difference"] is True
    assert picture(root) != plain
    assert (text(root, "less"), text(root, "more")) == ("−1.00", "+1.00")
    assert "blue has more weight now" in text(root, "old")
    assert text(root, "live") == text(root, "change")
    root.get_by_label("stretch colours").check()
    settle(page)
    assert text(root, "less").replace("−", "") == text(root, "more").replace("+", "") != "1.00"
    move(root, "Temperature", np.log10(2))
    settle(page)
    assert "No weight has changed" in text(root, "change")


def test_other_words_have_no_difference(show):
    frames = {n: vectors(1, n, n, seed=n).softmax(-1) for n in (3, 4)}
    french = {3: ["le", "chat", "noir"], 4: ["le", "petit", "chat", "noir"]}
    english = {3: ["the", "black", "cat"], 4: ["the", "small", "black", "cat"]}
    _, root, _ = show(
        AttentionExplorer.from_frames(
            frames, query_tokens=french, key_tokens=english, kept={"seq_len": 3}
        )
    )
    assert "other words" in text(root, "change")
    assert control(root, "show the difference").is_disabled()


def test_on_a_phone_the_two_pictures_stand_below_each_other(show):
    _, root, _ = show(an_explorer(kept={"mask": "causal"}), width=360)
    above, below = (root.locator(named(part)).bounding_box() for part in ("map", "before"))
    assert below["y"] > above["y"] + above["height"]
