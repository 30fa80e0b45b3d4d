"""What machines say on GitHub and on paper: words without a measured number, and a picture."""

import pytest

from attnbook.releases import MODELS
from tests.browser.test_machines import CASES

SAYS = {
    "QueryPlane": ({}, "B. 3 keys as arrows"),
    "OrderMachine": ({}, "B. The tiles hang, them, not"),
    "WhichSentences": ({}, "B. A box for a text"),
    "Porter": ({"said": "Ann 3"}, 'B. A porter is told "Ann 3"'),
    "HandsMachine": ({}, "B. 8 clocks"),
    "KeptMachine": ({}, f"B. A strip for each of {len(MODELS)} language models"),
}


@pytest.mark.parametrize("name", SAYS)
def test_its_picture_is_described_by_its_words(name):
    settings, words = SAYS[name]
    data, metadata = CASES[name].make(title="B", **settings)._repr_mimebundle_()
    assert data["text/plain"] == metadata["image/png"]["alt"]
    assert data["text/plain"].startswith(words)
    assert data["image/png"]


def test_a_box_without_a_text_has_a_picture_too():
    assert CASES["WhichSentences"].make(text="").figure()
