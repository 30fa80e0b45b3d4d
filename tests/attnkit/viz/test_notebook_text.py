"""JSON and scripts inside a script element: an HTML parser must find its end where it is."""

import json
from html.parser import HTMLParser

import pytest

from attnbook.pages.notebook import closed, inert

WORDS = ["</script>", "</ScRiPt >", "<!--<script>", "<!--", "<script", "-->", "a < b", "<", "&lt;"]


@pytest.mark.parametrize("word", WORDS)
def test_inert_json_holds_no_sign_that_begins_markup(word):
    text = inert({word: [word]})
    assert "<" not in text
    assert json.loads(text) == {word: [word]}


class Scripts(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_data(self, data):
        if self.cdata_elem == "script":
            self.found.append(data)


@pytest.mark.parametrize("word", [word for word in WORDS if word.startswith("<")])
def test_a_closed_script_says_what_it_said_and_nothing_of_markup(word):
    script = closed(f"const word = {json.dumps(word)};")
    lower = script.lower()
    assert not any(sign in lower for sign in ("</", "<!--", "<script"))
    # A backslash before these letters means the letter itself, in a string of JavaScript.
    assert script.replace("\\", "") == f'const word = "{word}";'
    parser = Scripts()
    parser.feed(f"<script>{script}</script><p>")
    assert "".join(parser.found) == script
