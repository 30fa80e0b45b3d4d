"""What only chapter 06 asks of its exercises."""

import attnkit
from tests.book.chapter import chapter


def test_leaks_misses_three_of_the_six_broken_layers():
    """As exercise 4 says of the chapter's own check, on a layer as it comes."""
    book = chapter("ch06")
    names = {"torch": book.book["torch"]}
    exec(book.cells["leaks-code"].source, names)
    causal = attnkit.masks.causal(6)
    bugs = book.book["BUGS"]
    caught = {what for what, layer in bugs.items() if names["leaks"](layer.train(), causal).any()}
    assert len(bugs) == 6
    assert caught == {
        "sees one word ahead",
        "masks after the softmax",
        "takes a mean over the sentence",
    }
    for layer in book.book["RIGHT"].values():
        assert not names["leaks"](layer.train(), causal).any()
