"""The form of a page: what its open path holds, and what is said of one that breaks it."""

import pytest

from booktools import form

PAGE = """<article>
<h1>Why the root?<a class="headerlink" href="#x">#</a></h1>
<p>Wide heads score <em>high</em>: <span class="math"><mjx-container>x</mjx-container></span></p>
<div class="cell tag_figure"><details class="admonition hide figure-mark"><summary>Code and data
</summary><pre>a = 1</pre></details><div class="cell_output">0.97 and 1,024</div></div>
<div class="cell"><div class="cell_input"><pre>one = 1
two = 2
</pre></div><div class="cell_output"><div class="attnkit-view">99</div>3 of 7</div></div>
<details><summary>Who found it?</summary><p>Folded 12.</p><details><summary>In</summary></details>
</details><script>not read</script>
</article>"""


def test_the_open_path_is_what_a_reader_sees_before_opening_anything():
    found = form.form(PAGE, ideas=4)
    # Why the root / Wide heads score high / Who found it
    assert found == form.Form(ideas=4, words=10, numbers=4, code=2, folds=1)


def test_a_page_in_markdown_says_so_at_its_head(tmp_path):
    file = tmp_path / "page.md"
    assert form.stated(file) is None
    file.write_text("# Why?\n\n---\npage: 1\n---\n")
    assert form.stated(file) is None
    file.write_text("---\npage:\n  question: Why?\n  ideas:\n    - it is so\n---\n\n# Why?\n")
    assert form.stated(file) == {"question": "Why?", "ideas": ["it is so"]}


WHOLE = {"question": "Why the root?", "ideas": ["scores spread with the width"]}
SMALL = form.Form(1, 1800, 60, 120, 10)


def test_a_page_at_its_limits_is_in_the_form():
    assert list(form.faults(WHOLE, SMALL._replace(ideas=10))) == []


@pytest.mark.parametrize("name", form.LIMITS)
def test_one_more_of_anything_is_a_fault(name):
    over = SMALL._replace(**{name: form.LIMITS[name] + 1})
    (fault,) = form.faults(WHOLE, over)
    assert fault == f"{name} on the open path: {form.LIMITS[name] + 1}, at most {form.LIMITS[name]}"


def test_a_page_without_question_or_ideas_is_told_so():
    assert len(list(form.faults({}, SMALL._replace(ideas=0)))) == 2
    assert len(list(form.faults({"question": "The root", "ideas": ["a"]}, SMALL))) == 1
