"""Wrong calls of the mechanisms: each error names the argument, what was expected, what came."""

import pytest
import torch
from torch import nn

from attnkit import (
    AdditiveAttention,
    LuongAttention,
    MultiHeadAttention,
    ProjectedAttention,
    SelfAttention,
    mechanisms,
)
from tests.refusals.wrong_calls import assert_line_refused, refused, table

B, L, S, H = 2, 3, 5, 4
TWO, FOUR, SIX, EIGHT = (torch.randn(B, S, n) for n in (2, 4, 6, 8))
QUERY = torch.randn(B, L, 4)
INTEGERS = torch.ones(B, S, 4, dtype=torch.long)
BOOLEAN = torch.ones(B, L, S, dtype=torch.bool)

additive = AdditiveAttention(4, 6, 7)
same = AdditiveAttention(4, 4, 7)
general = LuongAttention(4, 6, score="general")
concat = LuongAttention(4, 6, score="concat")
dot = LuongAttention(4, 4)
projected = ProjectedAttention(4, 6, 7)
one = SelfAttention(8)
many = MultiHeadAttention(8, H)
grouped = MultiHeadAttention(8, H, num_kv_heads=2)
apart = MultiHeadAttention(4, 2, kdim=6, vdim=2)


def torch_module(**options):
    return nn.MultiheadAttention(8, H, **options)


MECHANISMS = {"additive": additive, "general": general, "concat": concat, "projected": projected}


test_a_wrong_call_is_refused = refused(
    "mechanisms", "building", "calls", names=vars(mechanisms) | globals()
)


@pytest.mark.parametrize("module", MECHANISMS.values(), ids=MECHANISMS)
@pytest.mark.parametrize("line", table("mechanisms")["every"])
def test_every_scored_mechanism_refuses_the_same(module, line):
    assert_line_refused(line, globals() | {"module": module})


def test_the_right_calls_of_these_tensors_are_taken():
    """So that what is refused above is refused for the reason named."""
    for module in MECHANISMS.values():
        module(QUERY, SIX, TWO, mask=BOOLEAN, need_weights=True)
        module(QUERY, SIX, projected_key=module.project_key(SIX))
    dot(QUERY, FOUR)
    one(EIGHT, EIGHT, EIGHT)
    apart(QUERY, SIX, TWO, mask=BOOLEAN)
    bias, mask = torch.zeros(H, S, S), torch.ones(B, H, S, S, dtype=torch.bool)
    for module in (many, grouped):
        module(EIGHT, EIGHT, EIGHT, mask=mask, bias=bias)
