"""How long a chapter is: what counts as open, what is folded, and the limits."""

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from attnbook.pages.notebook import VIEW_MIME
from booktools import gates, measure, normal_form


def printing(text, *tags, source="run()"):
    output = new_output("stream", name="stdout", text=text)
    return new_code_cell(source, outputs=[output], metadata={"tags": list(tags)})


def chapter(*cells):
    return new_notebook(cells=[new_markdown_cell(x) if isinstance(x, str) else x for x in cells])


WIDGET = new_code_cell("show()", outputs=[new_output("display_data", {VIEW_MIME: {}})])


@pytest.mark.parametrize("text, words", [
    ("One query *looks* at three keys.", 6),
    ("It's a {term}`causal mask`, [see here](https://a.b/c) or {cite:t}`x2015`.", 8),
    ("Open.\n\n<details>\n<summary>Why?</summary>\n\nNot counted.\n\n</details>\n\nTwo.", 2),
    ("Before\n\n```python\nnot = a.word\n```\n\nafter", 2),
    ("The score $q^\\top k$ grows:\n\n$$\\alpha_i = x$$", 5),
    ("![A picture of words](a.svg)\n\nUnder it", 2),
    ("Read.\n\n## Exercises\n\nDone.\n\n### Exercise 1\n\nDo.\n\n## Summary\n\nRead.", 3),
    ("Read.\n\n## Sources\n\nWho found it, where.", 1),
])  # fmt: skip
def test_words_of_the_open_path(text, words):
    assert measure.measure(chapter(text)).words == words


def test_a_text_to_learn_from_is_read_at_200_words_a_minute():
    assert measure.measure(chapter("word " * 600)).minutes == pytest.approx(3)


def test_the_code_of_exercises_is_not_read_and_what_follows_is():
    one, two, read = (printing("1 2 3", source="a\nb\nc") for _ in range(3))
    size = measure.measure(chapter("## Exercises", one, "### Exercise 1", two, "## More", read))
    assert size.numbers == 3
    assert size.minutes == pytest.approx(1 / measure.WORDS_A_MINUTE + 3 / 30)


@pytest.mark.parametrize("text, numbers", [
    ("0.5 and 1,024 of 3", 3), ("x2 v1.2 -4 1e-3", 2), ("67% (6-100)", 3), ("none", 0),
])  # fmt: skip
def test_printed_numbers(text, numbers):
    assert measure.measure(chapter(printing(text))).numbers == numbers


@pytest.mark.parametrize("tag", ["hide-output", "hide-cell", "remove-output", "remove-cell"])
def test_a_folded_output_has_no_numbers_and_no_lines(tag):
    size = measure.measure(chapter(printing("1 2 3" * 40, tag)))
    assert (size.numbers, size.longest_line) == (0, 0)


def test_folded_code_takes_no_time_and_its_output_is_seen():
    size = measure.measure(chapter(printing("12 of 100", "hide-input", source="x\n" * 300)))
    assert (size.minutes, size.numbers, size.longest_line) == (0, 2, 9)


def test_drawings_widgets_and_what_comes_before_the_first_move():
    still = "![One query](../attnbook/drawings/one-query.svg)"
    names = [name for name, drawing in measure.DRAWINGS.items() if drawing.says]
    stepper = f"![Steps](../attnbook/drawings/{names[0]}.svg)"
    size = measure.measure(chapter("Text", still, WIDGET, "Text", stepper))
    assert size.widgets == 1
    assert size.drawings == 1 + ("one-query" in measure.DRAWINGS)
    late = measure.measure(chapter(*["Text"] * 50, WIDGET)).first_move
    soon = measure.measure(chapter("Text", stepper, *["Text"] * 50, WIDGET)).first_move
    assert soon < 0.1 < late < 1
    assert measure.measure(chapter("Text")).first_move == 1


def test_a_chapter_over_a_limit_is_refused_and_says_which():
    long = chapter("word " * 3100, printing("5 " * 130))
    found = list(measure.faults(long))
    assert [fault.split(" on the")[0] for fault in found] == ["words", "numbers", "longest line"]
    assert "3100, at most 3000" in found[0]
    assert list(measure.faults(chapter("word " * 2900, printing("5 " * 40)))) == []


def test_the_gates_hold_the_limits(tmp_path):
    path = tmp_path / "01_long.ipynb"
    path.write_text(normal_form.dumps(chapter("word " * 3100)), "utf8")
    assert any("words on the open path: 3100" in fault for fault in gates.check([path], None))


def test_the_table_marks_what_is_over_a_limit(capsys):
    small, large = (measure.measure(chapter("word " * n)) for n in (10, 3100))
    lines = measure.table({"small": small, "large": large}).splitlines()
    assert lines[0].split()[:3] == ["minutes", "words", "numbers"]
    assert "3100!" in lines[2]
    assert "!" not in lines[1]
    assert measure.main(["05"]) == 0
    assert "05_" in capsys.readouterr().out
