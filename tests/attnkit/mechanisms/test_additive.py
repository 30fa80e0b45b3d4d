"""Additive attention in both its forms, and what the scored modules share."""

import math
import sys

import pytest
import torch
from torch.testing import assert_close

from attnkit import AdditiveAttention, LuongAttention, ProjectedAttention, masks
from attnkit.call import Call
from attnkit.mechanisms.scored import ScoredAttention

B, L, S, A = 2, 3, 5, 7


@pytest.fixture
def attention():
    torch.manual_seed(0)
    return AdditiveAttention(query_dim=4, key_dim=6, hidden_dim=A)


@pytest.fixture
def tensors():
    torch.manual_seed(1)
    return torch.randn(B, L, 4), torch.randn(B, S, 6), torch.randn(B, S, 2)


def test_queries_and_keys_are_projected_once_each(attention, tensors):
    calls = []
    for name in ("query_proj", "key_proj"):
        layer = getattr(attention, name)
        layer.register_forward_hook(lambda *_, name=name: calls.append(name))
    attention(*tensors, need_weights=True)
    assert sorted(calls) == ["key_proj", "query_proj"]


MECHANISMS = {
    "additive": lambda: AdditiveAttention(4, 6, 7),
    "general": lambda: LuongAttention(4, 6, score="general"),
    "concat": lambda: LuongAttention(4, 6, score="concat"),
    "projected": lambda: ProjectedAttention(4, 6, 7),
}


@pytest.fixture(params=MECHANISMS.values(), ids=MECHANISMS)
def mechanism(request):
    torch.manual_seed(0)
    return request.param()


def test_keys_projected_beforehand_give_the_same(mechanism, tensors):
    query, key, value = tensors
    mask = masks.padding([S, 2], S)
    runs = []
    for options in ({}, {"projected_key": mechanism.project_key(key)}):
        mechanism.zero_grad()
        output, weights = mechanism(*tensors, mask=mask, need_weights=True, **options)
        output.square().sum().backward()
        runs.append((output, weights, *(x.grad.clone() for x in mechanism.parameters())))
    assert_close(*runs)
    calls = []
    for layer in mechanism.children():
        layer.register_forward_hook(lambda layer, *_: calls.append(layer))
    mechanism(query, key, value, projected_key=mechanism.project_key(key.detach()))
    assert len(calls) == len(set(calls))


def test_projected_keys_are_the_ones_that_count(mechanism, tensors):
    query, key, value = tensors
    other = mechanism.project_key(key.flip(1))
    assert_close(
        mechanism(query, key, value, projected_key=other).output,
        mechanism(query, key.flip(1), value).output,
    )


def test_junk_in_projected_keys_is_masked_too(mechanism, tensors):
    query, key, value = tensors
    mask = masks.padding([S, 2], S)
    clean = mechanism(query, key, value, mask=mask).output
    projected = mechanism.project_key(key).detach().clone()
    projected[1, 2:] = math.nan
    projected.requires_grad_()
    output = mechanism(query, key, value, mask=mask, projected_key=projected).output
    assert_close(output, clean)
    output.sum().backward()
    assert projected.grad.isfinite().all()
    assert (projected.grad[1, 2:] == 0).all()
    assert (projected.grad[1, :2] != 0).any()


def test_a_mechanism_without_a_score_says_so():
    with pytest.raises(NotImplementedError, match=r"ScoredAttention must define scores\(query"):
        ScoredAttention(2, 2)(torch.randn(1, 2, 2))


def test_scores_of_a_wrong_shape_are_refused():
    class Summed(ScoredAttention):
        def scores(self, query, key):
            return (query @ key.mT).sum(-1)  # (..., L): it would broadcast without an error

    for shape in ((1, 3, 2), (3, 3, 2)):
        with pytest.raises(
            ValueError, match=r"scores: expected shape \(\.\.\., L, S\) = \(.*3, 3\)"
        ):
            Summed(2, 2)(torch.randn(shape))


def test_the_base_class_projects_nothing():
    base, x = ScoredAttention(2, 3), torch.randn(1, 2, 3)
    assert base.project_key(x) is x
    assert base.project_query(x) is x


@pytest.mark.parametrize(
    "make",
    [lambda: AdditiveAttention(4, 4, 64), lambda: LuongAttention(4, 4, "concat", hidden_dim=64)],
    ids=["additive", "concat"],
)
@pytest.mark.parametrize("length", [8, 256])
def test_many_pairs_take_the_tiled_form_and_few_the_plain_one(make, length, monkeypatch):
    torch.manual_seed(0)
    module, x = make(), torch.randn(1, length, 4)
    home = sys.modules[type(module).__module__]
    tiled, runs = home.attend_in_tiles, []
    monkeypatch.setattr(home, "attend_in_tiles", lambda *x: runs.append(1) or tiled(*x))
    found = module(x, need_weights=True)
    assert len(runs) == (length == 256)
    call = Call(module.project_query(x), module.project_key(x), x, lead=(1,))
    plain = ScoredAttention.attend(module, call, True)
    assert_close(tuple(found), plain, rtol=0, atol=1e-5)


@pytest.mark.parametrize("score", ["dot", "general"])
def test_only_an_additive_score_is_tiled(score, monkeypatch):
    home = sys.modules[LuongAttention.__module__]
    monkeypatch.setattr(home, "attend_in_tiles", None)
    x = torch.randn(1, 256, 64)
    assert LuongAttention(64, 64, score)(x).output.shape == x.shape
