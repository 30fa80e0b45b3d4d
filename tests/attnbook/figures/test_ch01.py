"""The figures of chapter 01 show what the results file and the machine's models hold."""

import pytest

from attnbook.figures import ch01
from attnbook.machines import Backwards


def test_letters_of_both_orders_are_the_recorded_ones(shown):
    ch01.survivors()
    for ax, task in zip(shown[0].axes, ("reverse", "copy"), strict=True):
        kept = [share["median"] for share in ch01.row(task, "fixed", 500)["by_place"]["place"]]
        assert ax.images[0].get_array().tolist() == [kept]


def test_right_letters_change_nothing_before_the_first(shown):
    found = ch01.thread(500, letters=6, words=50)
    assert found["given"][0] == found["by itself"][0]
    ch01.thread_kept()
    rows = [ax.images[0].get_array().tolist() for ax in shown[0].axes]
    assert rows == [[ch01.thread(500)[way]] for way in ("by itself", "given")]


def test_by_itself_it_writes_what_the_machine_writes():
    kept = ch01.recorded.model("backwards_vector_500")
    pairs = ch01.tasks.reverse(20, min_length=6, max_length=6, symbols=26, seed=7)
    words = ["".join(pair.source) for pair in pairs]
    machine = Backwards([kept.model], names=["short"])
    right = [0] * 6
    for word in words:
        machine.word = word
        written = machine.compute()["answers"][0]["written"]
        for place, (a, b) in enumerate(zip(written, word[::-1], strict=False)):
            right[place] += a == b
    shares = ch01.thread(500, letters=6, words=20)["by itself"]
    assert shares == pytest.approx([count / 20 for count in right])
