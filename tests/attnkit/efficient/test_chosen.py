"""Chosen keys: the mask holds each query's best visible ones, and k of all is all."""

import torch

from attnkit import masks, scaled_dot_product_attention
from attnkit.efficient import best_keys, index_scores


def test_index_scores_are_the_papers_sum():
    draw = torch.Generator().manual_seed(0)
    query, key = torch.randn(2, 4, 5, 8, generator=draw), torch.randn(2, 7, 8, generator=draw)
    gate = torch.randn(2, 4, 5, generator=draw)
    scores = index_scores(query, key, gate)
    for b, i, j in [(0, 0, 0), (1, 4, 6), (0, 3, 2)]:
        terms = [gate[b, h, i] * (query[b, h, i] @ key[b, j]).clamp(min=0) for h in range(4)]
        assert abs(scores[b, i, j] - sum(terms)) <= 1e-5


def test_every_query_keeps_the_best_of_what_it_sees():
    scores = torch.randn(3, 9, 9, generator=torch.Generator().manual_seed(1))
    causal = masks.causal(9)
    chosen = best_keys(scores, 4, mask=causal)
    assert not (chosen & ~causal).any()
    assert torch.equal(chosen.sum(-1), torch.arange(1, 10).clamp(max=4).expand(3, 9))
    worst_kept = scores.masked_fill(~chosen, torch.inf).amin(-1)
    best_dropped = scores.masked_fill(chosen | ~causal, -torch.inf).amax(-1)
    assert (worst_kept > best_dropped).all()


def test_as_many_as_there_are_is_attention_itself_and_an_empty_row_chooses_none():
    query, key, value = torch.randn(3, 6, 8, generator=torch.Generator().manual_seed(2)).unbind()
    mask = masks.causal(6) & torch.tensor([False, *[True] * 5])
    chosen = best_keys(query @ key.mT, 100, mask=mask)
    assert torch.equal(chosen, mask)
    assert scaled_dot_product_attention(query, key, value, mask=chosen).output[0].eq(0).all()
