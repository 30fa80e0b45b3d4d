"""A card under its roof: what is counted is torch's count, and the book has every case."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from attnbook import recorded
from experiments import card

ROWS = recorded.results("card")["rows"]


@pytest.mark.parametrize("row", [row for row in ROWS if "operations" in row], ids=str)
def test_operations_and_bytes_are_torchs(row):
    """Of what the experiment would run, on the meta device."""
    size, like = row["of"], {"device": "meta", "dtype": torch.bfloat16}
    with FlopCounterMode(display=False) as counter:
        if row["case"] == "weights":
            tensors = (
                torch.empty(card.SIDE, card.SIDE, **like),
                torch.empty(card.SIDE, size, **like),
            )
            result = tensors[0] @ tensors[1]
        else:
            tensors = torch.empty(3, 1, card.HEADS, size, card.WIDTH, **like)
            result = card.FORMS["plain"](*tensors)
    assert row["operations"] == counter.get_total_flops()
    assert row["bytes"] == sum(x.nbytes for x in (*tensors, result))
    if row["case"] == "attention":
        assert row["table"] == 4 * (tensors[0] @ tensors[1].mT).nbytes


def test_the_book_has_every_case():
    found = [{name: row[name] for name in ("case", "of", "small", "seed")} for row in ROWS]
    assert found == card.settings(quick=False)


def test_the_quick_form_has_a_row_a_setting(tmp_path):
    out = tmp_path / "card.json"
    written = card.main(["--quick", "--device", "cpu", "--out", str(out)])
    assert len(written["rows"]) == len(card.settings(quick=True)) == 7
    for row in written["rows"]:
        if row["case"] == "kernels":
            assert row["taken"]["3"] == "math"  # the table is back, as page 12 says
        else:
            assert all(took > 0 for took in row["seconds"].values())
