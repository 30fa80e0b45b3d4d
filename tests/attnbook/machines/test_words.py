"""What machines say on GitHub and on paper: words without a measured number, and a picture."""

import pytest

from tests.browser.test_machines import CASES


@pytest.mark.parametrize("name", CASES)
def test_its_picture_is_described_by_its_words(name):
    data, metadata = CASES[name].make(title="B")._repr_mimebundle_()
    assert data["text/plain"] == metadata["image/png"]["alt"]
    assert data["text/plain"].startswith("B")
    assert len(data["text/plain"]) > 20
    assert data["image/png"]


def test_a_box_without_a_text_has_a_picture_too():
    assert CASES["WhichSentences"].make(text="").figure()
