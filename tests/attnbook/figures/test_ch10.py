"""The figures of 10 draw the results files, and what the pages say of them holds."""

import pytest

from attnbook import translators
from attnbook.figures import ch10


def test_the_curves_are_those_of_the_files(shown):
    ch10.curves()
    lines = {line.get_label().split(" (")[0]: line for line in shown[0].axes[0].lines}
    for name, row in ch10.rows().items():
        x, y = lines[ch10.NAMES[name]].get_data()
        assert [*zip(x, y, strict=True)] == [(p["step"], p["valid_loss"]) for p in row["curve"]]


def test_the_order_of_the_losses_is_that_of_the_title():
    found = {
        name: {point["step"]: point["valid_loss"] for point in row["curve"]}
        for name, row in ch10.rows().items()
    }
    for step, loss in found["fixed"].items():
        assert loss > found["additive"][step] > found["transformer"][step] or step < 1000
        assert min(loss, found["additive"][step]) > found["transformer"][step]


def test_captions_are_those_of_the_files(shown):
    ch10.captions()
    for line, row in zip(shown[0].axes[0].lines, ch10.rows("multi30k_de-en").values(), strict=True):
        parts = row["beam"]["by_length"].values()
        assert line.get_ydata().tolist() == [part["bleu"] for part in parts]


def test_the_sentences_of_the_machine_are_chosen_by_rule():
    sources, _ = ch10.test()
    tenth = -(-len(sources) // 10)
    assert list(translators.BY_RULE) == [sources[row] for row in range(0, len(sources), tenth)]


def test_all_that_the_machine_shows_at_first_is_said_in_english():
    runs = translators.three_columns().runs
    said = {" ".join(column["target"]) for _, *columns in runs for column in columns}
    assert said == set(translators.MEANINGS)


@pytest.mark.parametrize("name", ["fixed", "additive", "transformer"])
def test_rounding_to_eight_bits_changes_little(name):
    row = ch10.rows()[name]
    assert abs(row["eight_bits"]["bleu"] - row["greedy"]["bleu"]) < 0.5


def test_the_judgement_is_that_of_the_file_and_bears_out_its_title(shown):
    ch10.judged()
    rows = {row["model"]: row for row in ch10.recorded.results("judged")["rows"]}
    for ax, part in zip(shown[0].axes, ("meaning", "french"), strict=True):
        drawn = [[bar.get_width() for bar in bars] for bars in ax.containers]
        assert drawn == [list(grade) for grade in zip(
            *(row[part][0].values() for row in rows.values()), strict=True)]  # fmt: skip
    vector, bahdanau = rows["One vector"], rows["Bahdanau"]
    for judge in (0, 1):
        assert 3 * vector["meaning"][judge]["kept"] < bahdanau["meaning"][judge]["kept"]
        assert abs(vector["french"][judge]["right"] - bahdanau["french"][judge]["right"]) <= 3


def test_a_tick_is_on_what_both_judges_would_take():
    lines = str(ch10.judged_table()).splitlines()
    assert len(lines) == 101
    taken = [row["taken"] for row in ch10.recorded.results("judged")["rows"]]
    ticks = sum(line.count("✓") for line in lines)
    assert sum(map(sum, taken)) - 300 <= ticks <= sum(map(min, taken))
    assert ticks > 90


def test_the_beams_sentences_are_of_the_test_with_a_right_translation_and_all_is_said():
    sources, references = ch10.test()
    known = dict(zip(sources, references, strict=True))
    tree, best = ch10.beam_tree(), set()
    for place, (source, right) in enumerate(ch10.SEARCHED.items()):
        assert right in {ch10._plain(text) for text in known[source]}
        tree.sentence = place
        for width in range(1, 6):
            for penalty in (0.0, 0.6, 2.0):
                tree.width, tree.penalty = width, penalty
                best.add(tree.compute()["found"][0]["text"])
    assert best <= set(ch10.BEAM_MEANINGS)


def test_the_cat_needs_three_beginnings_and_a_penalty():
    found = {
        (width, penalty): ch10.beam_tree(width=width, penalty=penalty).compute()["found"][0]["text"]
        for width in range(1, 6)
        for penalty in (0.0, 0.6)
    }
    cat = {setting for setting, text in found.items() if "chat" in text}
    assert cat == {(3, 0.6), (4, 0.6), (5, 0.6)}
