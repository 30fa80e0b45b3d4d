"""The figure of chapter 02: its lines are the recorded shares, its dotted one is exact."""

from itertools import product

import pytest

from attnbook.figures import ch02


@pytest.mark.parametrize("pairs", [1, 2, 3, 5])
def test_who_missed_the_name_does_best_with_the_most_frequent_number(pairs):
    lists = list(product(range(4), repeat=pairs))
    often = sum(max(map(one.count, one)) for one in lists) / len(lists)
    assert ch02.unheard(pairs, 4) == pytest.approx(often / pairs)


def test_the_lines_are_the_recorded_shares_and_the_dotted_one_is_the_best_without_the_name(draw):
    lines = {line.get_label(): list(line.get_ydata()) for line in draw(ch02.by_list)[0].lines}
    for updates in ch02.BUDGETS:
        found = ch02.row("last state", updates)["accuracy"]
        expected = [found[pairs]["median"] for pairs in found]
        assert lines[f"last state, {updates:,} updates"] == expected
    assert lines["looks back, 500 updates"] == [1.0] * 4
    dotted = lines["best without hearing the name"]
    assert dotted == pytest.approx([ch02.unheard(int(pairs)) for pairs in found])
    # What the page says of 500 updates: within two points of it, whatever the length.
    assert lines["last state, 500 updates"] == pytest.approx(dotted, abs=0.02)


def test_the_map_and_the_answers_are_those_of_the_recorded_list(draw):
    ax, says = draw(ch02.looks)[:2]
    found = {model: ch02.asked(model)["list"] for model in ("lookup", "last state")}
    assert ax.images[0].get_array().tolist() == found["lookup"]["weights"]
    assert [label.get_text()[-1] for label in ax.get_xticklabels()] == [
        str(number) for number in found["lookup"]["numbers"]
    ]
    written = [text.get_text() for text in says.texts]
    assert written[1:9] == [str(answer) for answer in found["lookup"]["answers"]]
    assert written[10:] == [str(answer) for answer in found["last state"]["answers"]]
    # What the title and the page say of them.
    assert found["lookup"]["answers"] == found["lookup"]["numbers"]
    assert set(found["last state"]["answers"]) == {5}
