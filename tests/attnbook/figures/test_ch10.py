"""The figures of 10 draw the results files, and what the pages say of them holds."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from attnbook import translators
from attnbook.figures import ch10
from attnlab import tasks
from experiments import resampled
from tests.book.chapter import page_cells


def test_each_dot_is_a_run_on_equal_terms(draw):
    rows = ch10.recorded.results("equal_updates")["rows"]
    lines = draw(ch10.equal_updates)[0].lines
    drawn = sorted(y for line in lines if line.get_marker() == "o" for y in line.get_ydata())
    assert drawn == sorted(run["bleu"] for row in rows if row["steps"] == 976
                           for run in row["runs"])  # fmt: skip
    for (model, steps), row in ch10.best_rates().items():
        for other in rows:
            if (other["model"], other["steps"]) == (model, steps):
                assert row["bleu"]["median"] >= other["bleu"]["median"]


def test_what_the_page_says_of_equal_terms_holds():
    best = ch10.best_rates()
    last = {name: row for (name, steps), row in best.items() if steps == 976}
    bleu = {name: [run["bleu"] for run in row["runs"]] for name, row in last.items()}
    assert min(bleu["additive"] + bleu["transformer"]) > max(bleu["fixed"])
    assert min(bleu["additive"]) > max(bleu["transformer"])
    rows = ch10.recorded.results("equal_updates")["rows"]
    rates = {row["rate"] for row in rows}
    assert last["fixed"]["rate"] == last["additive"]["rate"] == max(rates)
    assert last["transformer"]["rate"] == min(rates)
    slow = {row["model"]: row["bleu"]["median"] for row in rows
            if (row["steps"], row["rate"]) == (976, min(rates))}  # fmt: skip
    assert slow["transformer"] > slow["additive"] > slow["fixed"]
    # Why the judged bars are no fair race: the GRUs' rate is the worst of these, epochs differ.
    found = ch10.rows()
    for name in ("fixed", "additive"):
        scores = {row["rate"]: row["bleu"]["median"] for row in rows
                  if (row["model"], row["steps"]) == (name, 976)}  # fmt: skip
        assert scores[found[name]["rate"]] == min(scores.values())
    assert ch10.EPOCHS["One vector"] < ch10.EPOCHS["Bahdanau"]
    assert 1.8 < ch10.EPOCHS["Transformer"] / ch10.EPOCHS["Bahdanau"] < 2


@pytest.mark.slow
def test_the_control_is_drawn_of_models_as_rounded_as_those_of_the_page(draw):
    bars = [bar.get_width() for bar in draw(ch10.control)[0].patches]
    lost, without, choice = bars
    assert bars == list(ch10.control_scores().values())
    assert 1.5 * lost < without < 0.6 * choice
    assert choice - without == pytest.approx(17.1, abs=0.1)  # what the question on the page asks
    rows = ch10.rows()
    assert rows["fixed"]["epochs"] == rows["additive"]["epochs"] == ch10.EPOCHS["Bahdanau"]
    assert rows["transformer"]["epochs"] == ch10.EPOCHS["Transformer"]
    assert rows["additive"]["eight_bits"]["bleu"] == pytest.approx(choice, abs=0.05)


def test_captions_are_those_of_the_files(draw):
    ax, *_ = draw(ch10.captions)
    rows = ch10.rows("multi30k_de-en").values()
    for line, row, text, name in zip(ax.lines, rows, ax.texts, ch10.SHOWN, strict=True):
        parts = row["beam"]["by_length"].values()
        assert line.get_ydata().tolist() == [part["bleu"] for part in parts]
        assert (text.get_text(), text.get_color()) == (ch10.NAMES[name], line.get_color())


def test_the_sentences_of_the_machine_are_chosen_by_rule():
    sources, _ = ch10.test()
    tenth = -(-len(sources) // 10)
    assert list(translators.BY_RULE) == [sources[row] for row in range(0, len(sources), tenth)]


def test_all_that_the_machine_shows_at_first_is_said_in_english():
    machine = translators.three_columns()
    runs = machine.runs
    said = {" ".join(column["target"]) for _, *columns in runs for column in columns}
    assert said == set(translators.MEANINGS)
    for text, column, row, place, note in machine.notes:
        source, *columns = runs[machine.sentences.index(text)]
        share = columns[column]["weights"][row][place]
        assert share == max(columns[column]["weights"][row])
        word = columns[column]["target"][row]
        assert {".": "full stop"}.get(word, word) in note
        assert f"“{source[place]}”" in note


def test_what_the_page_says_of_its_maps_and_of_what_was_met_in_training():
    dog = "The children are playing in the garden with their dog."
    assert ch10.models()["Transformer"](dog) == "les enfants jouent dans le jardin."
    train = [tasks.tokenize(english) for english, _ in tasks.tatoeba("train")]
    assert sum(len(words) <= 8 for words in train) > 0.97 * len(train)
    assert not any("malice" in words for words in train)
    runs = translators.three_columns().runs
    runs = dict(zip(translators.three_columns().sentences, runs, strict=True))
    source, _, bahdanau, *_ = runs["Her old cat is still alive."]
    assert bahdanau["weights"][bahdanau["target"].index("vie")][source.index("old")] > 0.9


def test_the_buttons_are_unseen_and_right_by_both_that_look():
    machine = translators.three_columns()
    assert machine.sentences[: machine.listed] == list(translators.PICKED)
    chosen = machine.sentences[machine.listed : machine.listed + machine.chosen]
    assert chosen == list(translators.BY_RULE)
    assert not {*translators.PICKED} & {english for english, _ in tasks.tatoeba("train")}
    said = {
        text: [translators.MEANINGS[" ".join(one["target"])] for one in columns]
        for text, (_, *columns) in zip(machine.sentences, machine.runs, strict=True)
    }
    for text in translators.PICKED:
        right = text.rstrip(".").lower()
        assert right not in (said[text][0], said[text][3])
        assert said[text][1:3] == [right] * 2
    a_cat, no_cats = (said[text] for text in translators.CATS)
    assert a_cat[:3] == ["I have a cat"] * 3
    assert no_cats[0] == "I have no car"
    assert all(text.startswith("I have no cats") for text in no_cats[1:3])


@pytest.mark.parametrize("name", ["fixed", "additive", "transformer"])
def test_rounding_to_eight_bits_changes_little(name):
    row = ch10.rows()[name]
    assert abs(row["eight_bits"]["bleu"] - row["greedy"]["bleu"]) < 0.5


def test_the_judgement_is_that_of_the_file_and_bears_out_its_title(draw):
    rows = {row["model"]: row for row in ch10.recorded.results("judged")["rows"]}
    for ax, part in zip(draw(ch10.judged), ("meaning", "french"), strict=True):
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


def test_the_machine_opens_on_the_third_beginning_which_leads_to_the_best_sentence():
    tree = ch10.beam_tree()
    nodes, now = tree.trees[0], tree.compute()
    chain, node = now["chain"], now["found"][0]["node"]
    assert [nodes[at["node"]][1] for at in chain] == ["▁son", "▁vieux"]
    assert now["rows"][1].index(tree.box) == tree.width - 1 == 2
    while node > tree.box:
        node = nodes[node][0]
    assert node == tree.box
    assert ch10.beam_tree(width=2).compute()["chain"] == []


def test_the_wrong_sentence_is_shorter_and_twice_as_likely():
    tree = ch10.beam_tree(sentence=2, width=2, box=0)
    wrong, right = tree.compute()["found"]
    assert right["text"] == tree.people[2]
    assert (wrong["text"], wrong["length"] < right["length"]) == ("ne fais rien, d'accord?", True)
    assert math.exp(wrong["total"] - right["total"]) == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize("width, text", [(2, "ne fais rien de stupide, d'accord?"),
                                         (5, "ne fais rien d'accord, d'accord?")])  # fmt: skip
def test_the_penalty_that_gains_on_the_whole_test_mends_it_with_two_and_not_with_five(width, text):
    tree = ch10.beam_tree(sentence=2, width=width, penalty=1.8, box=0)
    assert tree.compute()["found"][0]["text"] == text


def test_the_pages_bootstrap_is_that_of_the_experiment():
    said = {
        "Transformer": ["le chat noir dort bien .", "elle est ici .", "il ne va pas à la maison ."],
        "Bahdanau": ["le chat noir dort .", "elle est là .", "il va à la maison demain ."],
    }
    right = [["le chat noir dort bien ."], ["elle est ici ."], ["il ne va pas à la maison ."]]
    took = {}
    fake = SimpleNamespace(test=lambda: ([], right), said=said.get, searches=took.update)
    exec(page_cells("10b")["searches"], {"ch10": fake})
    draws = np.random.default_rng(0).multinomial(3, [1 / 3] * 3, size=10_000)
    ours, theirs = (resampled.counts(said[name], right) for name in ("Transformer", "Bahdanau"))
    want = resampled.difference(ours, theirs, draws)
    assert took["ahead"] == pytest.approx([want["difference"], *want["interval_95"]], abs=0.006)


def test_a_gain_whose_interval_holds_0_is_another_colour(draw):
    (ax,) = draw(ch10.searches, ahead=(11.2, 9.4, 13.1))
    dots = [line for line in ax.lines if len(line.get_xdata()) == 1]
    assert [dot.get_color() == ch10.VERMILION for dot in dots] == [True, False, False, False]
    gains = [float(dot.get_xdata()[0]) for dot in dots]
    assert gains[2:] == [11.2, 7.58]  # the same search on both sides: see the names


def test_a_third_of_the_lead_over_bahdanaus_model_was_its_search():
    greedy, beam = ch10.recorded.results("resampled")["transformer_over_additive"]
    assert (greedy["search"], beam["search"]) == ("greedy", "beam")
    assert 1 - beam["difference"] / greedy["difference"] == pytest.approx(1 / 3, abs=0.02)
    assert beam["interval_95"][0] > 5


def test_a_finished_path_of_the_printed_search_stands_still():
    names = {}
    exec(page_cells("10b")["beam-code"], names)
    assert names["search"](2) == (("", "c'", "est", "lui", "<eos>"), pytest.approx(0.288))
    names["NEXT"].clear()
    names["NEXT"].update({"": {"il": 0.55, "ce": 0.45}, "il": {"est": 1.0},
                          "est": {"lui": 0.5, "moi": 0.5}})  # fmt: skip
    assert names["search"](2) == (("", "ce", "<eos>"), 0.45)
