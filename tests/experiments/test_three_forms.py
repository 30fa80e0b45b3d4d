"""The three forms of attention: they give the same, and which ask for memory again."""

import torch

from attnbook import recorded
from experiments import three_forms


def test_the_three_forms_give_the_same():
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 1, three_forms.HEADS, 256, three_forms.WIDTH)
    plain, tiles, fused = (form(q, k, v) for form in three_forms.FORMS.values())
    assert torch.allclose(plain, tiles.output, atol=1e-5)
    assert torch.allclose(plain, fused, atol=1e-5)


def test_memory_that_is_kept_is_not_asked_for_again():
    most = [0, 0]
    for row in recorded.results("three_forms")["rows"]:
        faults = row["faults"]["plain"]["median"]
        most[row["kept"]] = max(faults, most[row["kept"]])
    pages = three_forms.HEADS * three_forms.LENGTHS[-1] ** 2 * 4 // 4096
    assert most[False] > pages  # of the largest table
    assert most[True] < 100
