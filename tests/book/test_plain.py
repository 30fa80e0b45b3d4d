"""The plain copies of the notebooks: whoever reads them without the book sees no sign of it."""

from __future__ import annotations

import json
import re

import pytest

from booktools import gates
from booktools.address import ROOT, parse_address
from booktools.plain import Plain

FOLDED = {"hide-input", "hide-cell", "remove-input"}

ADDRESS = parse_address("https://github.com/Owner/name")
SITE = "https://owner.github.io/name/"
PAGE = "chapters/10_machine_translation"


def words(text: str, address=None) -> str:
    return Plain(ROOT, address).text(text, PAGE)


RAW = {
    "a role": r"\{[a-zA-Z][\w:.+-]*\}`",
    "a label": r"^\([\w-]+\)=$",
    "a drawing in another folder": r"\]\([^)]*attnbook/drawings/",
    "a link into the page": r"\]\(#",
    "a directive": r"^[ ]*[`:]{3,}\{",
}


@pytest.mark.parametrize("address", [None, ADDRESS], ids=["no address", "an address"])
@pytest.mark.parametrize("path", gates.notebooks(), ids=lambda path: path.stem)
def test_no_copy_shows_what_only_the_book_understands(path, address):
    page = path.relative_to(ROOT).with_suffix("").as_posix()
    nb = json.loads(path.read_text("utf-8"))
    copy = Plain(ROOT, address).notebook(nb, page)
    for cell in copy["cells"]:
        if cell["cell_type"] == "markdown":
            text = "".join(cell["source"])
            found = {name for name, sign in RAW.items() if re.search(sign, text, re.MULTILINE)}
            assert not found, text
    code, same = ([c for c in book["cells"] if c["cell_type"] == "code"] for book in (nb, copy))
    for own, copied in zip(code, same, strict=True):
        assert copied | {"metadata": own["metadata"]} == own
        folded = FOLDED.intersection(own["metadata"].get("tags", ()))
        assert copied["metadata"].get("jupyter", {}).get("source_hidden", False) == bool(folded)
    assert copy["metadata"] == nb["metadata"]


def test_a_claim_is_its_number():
    number = words("{claim}`10-dot-beam`")
    assert re.fullmatch(r"[\d.,]+", number)
    whole, part = words("{claim}`10-aer-worst`"), words("{claim}`10-aer-worst|^[0-9]`")
    assert whole.startswith(part)
    assert len(part) == 1


def test_citations_are_names_with_links():
    assert words("{cite:t}`bahdanau2015neural`") == (
        "[Bahdanau et al. (2015)](https://arxiv.org/abs/1409.0473)"
    )
    two = words("{cite:p}`reimers2019sentence,bahdanau2015neural`")
    assert two.startswith("([Reimers and Gurevych, 2019](")
    assert two.count("; [") == 1


def test_terms_and_chapters_are_words_and_links_where_there_is_a_book_to_link_to():
    assert words("a {term}`hidden\nstate` and {chapter}`03`") == "a hidden state and chapter 03"
    assert words("{term}`states <hidden state>`", ADDRESS) == (
        f"[states]({SITE}appendices/glossary.html#term-hidden-state)"
    )
    assert words("{chapter}`03`", ADDRESS) == (
        f"[chapter 03]({SITE}chapters/03_additive_attention.html)"
    )


def test_what_is_labelled_is_its_title():
    assert words("{ref}`the reference <api-testing>`") == "the reference"
    assert words("{ref}`api-testing`") not in ("", "api-testing")
    assert words("(here)=\n## Title") == "## Title"


def test_any_other_role_is_code():
    assert words("{py:func}`~attnlab.parallel.ring_attention`") == "`ring_attention`"
    assert words("{unheard-of}`words`") == "`words`"


def test_links_lead_to_the_book_or_stay_in_the_folder():
    assert words("[it](#two-sentences)") == "it"
    assert words("[over two\nlines](#two-sentences)") == "over two\nlines"
    assert words("[no\n\nlink](#two-sentences)") == "[no\n\nlink](#two-sentences)"
    assert words("[it](#two-sentences)", ADDRESS) == f"[it]({SITE}{PAGE}.html#two-sentences)"
    assert words("[how](../appendices/install.md)") == "[how](../appendices/install.md)"
    assert words("[how](../appendices/install.md#x)", ADDRESS) == (
        f"[how]({SITE}appendices/install.html#x)"
    )
    assert words("[masks](06_masks.ipynb)", ADDRESS) == f"[masks]({SITE}chapters/06_masks.html)"
    assert words("[out](https://a.org/b#c)", ADDRESS) == "[out](https://a.org/b#c)"


def test_code_is_not_read():
    code = "```python\n# {claim}`x` [a](#b)\n```"
    assert words(f"before\n\n{code}\n\n{{chapter}}`03`") == f"before\n\n{code}\n\nchapter 03"


def test_drawings_are_in_the_text():
    shown = words("![What it shows.](../attnbook/drawings/one-pass.svg)")
    assert shown.startswith("![What it shows.](data:image/svg+xml;base64,")
    nowhere = "![x](../attnbook/drawings/nowhere.svg)"
    assert words(nowhere) == nowhere
