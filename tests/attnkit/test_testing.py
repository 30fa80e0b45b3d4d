"""The checks of attnkit.testing: silent on what is right, and to the point on what is not."""

import inspect
import math
import re
import sys
import types
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import attnkit
from attnkit import masks, testing
from booktools.address import ROOT

from . import right_ones
from .right_ones import Plain, drawn, plain_function

#: Checks that need more than the attention; they have tests of their own.
WITH_MORE = {"assert_sees", "assert_window", "assert_cache_equals_full", "assert_compiles_once"}
CHECKS = [name for name in testing.__all__ if name.startswith("assert_") and name not in WITH_MORE]
# NaN for a fully masked row is PyTorch's choice, and that of the plain forms here.
GIVE_NAN = ("nn.MultiheadAttention", "a reader's class", "a reader's causal class",
            "a reader's function")  # fmt: skip


def alarms(kind, attention):
    """What the checks say against a right attention: nothing, one hopes."""
    for name in CHECKS:
        if name == "assert_empty_rows_see_nothing" and kind in GIVE_NAN:
            continue
        try:
            getattr(testing, name)(attention)
        except testing.NotApplicable:
            continue
        except AssertionError as error:
            yield f"{kind}: {error}"


ONE_OF_EACH = range(len(right_ones.KINDS))
TENS = [pytest.param(range(n, n + 10), marks=pytest.mark.slow) for n in range(0, 200, 10)]


@pytest.mark.build
@pytest.mark.filterwarnings("ignore:You are using a softmax over axis")
@pytest.mark.parametrize("seeds", [*([seed] for seed in ONE_OF_EACH), *TENS], ids=str)
def test_silent_on_right_attentions(seeds):
    assert not [alarm for seed in seeds for alarm in alarms(*drawn(seed))]


@pytest.mark.build
def test_most_checks_apply_to_most_attentions():
    """Silence would mean little if the checks stepped aside."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adapted = [testing.adapt(drawn(seed)[1]) for seed in ONE_OF_EACH]
    applied = sum(one.takes_mask + (one.project is not None) for one in adapted)
    assert applied / (2 * len(adapted)) > 0.8


# ---------------------------------------------------------------- bugs


def core(query, key, value, mask=None, *, scale=None, fill=-math.inf):
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = scores.masked_fill(~mask, fill)
    return scores.softmax(-1) @ value


def flipped(query, key, value, mask=None):
    if mask is not None:
        mask = ~mask | ~(~mask).any(-1, keepdim=True)
    return core(query, key, value, mask)


def ignores_mask(query, key, value, mask=None):
    return core(query, key, value)


def transposed_mask(query, key, value, mask=None):
    return core(query, key, value, mask if mask is None else mask.mT)


def after_softmax(query, key, value, mask=None):
    weights = (query @ key.mT / query.shape[-1] ** 0.5).softmax(-1)
    return (weights if mask is None else weights * mask) @ value


def over_queries(query, key, value, mask=None):
    weights = (query @ key.mT / query.shape[-1] ** 0.5).softmax(-2)
    return weights @ value, weights


def tiled(query, key, value, mask=None):
    group = query.shape[1] // key.shape[1]
    return core(query, key.repeat(1, group, 1, 1), value.repeat(1, group, 1, 1), mask)


def wide(function):
    """With sharper scales the fit sees nothing else; used for scales alone."""
    return testing.adapt(function, heads=2)


class ViewAlone(Plain):
    def forward(self, x, mask=None):
        B, L, E = x.shape
        query, key, value = (
            part.reshape(B, self.num_heads, L, -1) for part in self.qkv(x).chunk(3, -1)
        )
        return self.out(core(query, key, value, mask if mask is None else mask[:, None])
                        .reshape(B, L, E))  # fmt: skip


class OneMap(Plain):
    """Returns the mean of its heads' weights, as if it were all there is."""

    def heads(self, x):
        B, L, _ = x.shape
        return self.qkv(x).view(B, L, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)

    def forward(self, x, mask=None):
        query, key, _ = self.heads(x)
        weights = (query @ key.mT / query.shape[-1] ** 0.5).softmax(-1)
        return super().forward(x, mask), weights.mean(1)


def one_map():
    module = OneMap(8, 2)
    return testing.adapt(
        module, project=lambda query, key: (module.heads(query)[0], module.heads(key)[1])
    )


class Averaged(nn.Module):
    """Returns the output of the masked path only when it is asked for weights."""

    embed_dim = 8

    def forward(self, query, key, value, mask=None, need_weights=False):
        if need_weights:
            return plain_function(query, key, value, mask)
        return plain_function(query, key, value)[0], None


class Remembers(nn.Module):
    embed_dim = 8
    kept = 0.0

    def forward(self, query, key, value):
        output = core(query, key, value) + self.kept
        self.kept = query.mean()
        return output


class CausalInTraining(Plain):
    def forward(self, x, mask=None):
        self.causal = self.training
        return super().forward(x, mask)


class Drops(nn.Module):
    embed_dim = 8

    def forward(self, query, key, value, mask=None):
        return F.dropout(core(query, key, value, mask), 0.5)


BUGS = [
    ("assert_causal", flipped, "polarity"),
    ("assert_causal", ignores_mask, "accepted and ignored"),
    ("assert_causal", lambda q, k, v: core(q, k, v), "missing, .* after the softmax"),
    ("assert_causal", lambda q, k, v: core(q, k, v, masks.causal(q.shape[-2], offset=1)),
     "diagonal is shifted by 1"),
    ("assert_causal", over_queries, "query 0 sees key 1"),
    ("assert_causal", lambda: testing.adapt(CausalInTraining(8, 2), causal=True), "eval mode"),
    ("assert_combines_masks", transposed_mask, "transposed"),
    ("assert_combines_masks", flipped, "Likely bug"),
    ("assert_combines_masks", lambda: ViewAlone(8, 2), "view or transpose"),
    ("assert_padding_invariant", ignores_mask, "1 padded key on the right changes the output"),
    ("assert_padding_invariant", transposed_mask, "of a sequence of length"),
    ("assert_padding_invariant", after_softmax, "after the softmax"),
    ("assert_masked_values_ignored", ignores_mask, "in a hidden key"),
    ("assert_masked_values_ignored", lambda q, k, v, mask: core(q, k, v, mask, fill=-1e4),
     "finite fill"),
    ("assert_rows_sum_to_one", after_softmax, "no longer sums to 1"),
    ("assert_rows_sum_to_one", over_queries, "softmax runs over the queries"),
    ("assert_scale", lambda: wide(lambda q, k, v: core(q, k, v, scale=1.0)), "scale is missing"),
    ("assert_scale", lambda: wide(lambda q, k, v: core(q, k, v, scale=1 / q.shape[-1])),
     "the root is missing"),
    ("assert_scale", lambda: wide(lambda q, k, v: core(q, k, v, scale=(2 * q.shape[-1]) ** -0.5)),
     "model's width"),
    ("assert_scale", over_queries, "not a softmax"),
    ("assert_heads_independent", lambda: testing.adapt(tiled, heads=4, kv_heads=2), "interleaved"),
    ("assert_heads_independent", 
     lambda q, k, v: core(q, k, v).mean(1, keepdim=True).expand(-1, 2, -1, -1),
     "heads are mixed"),
    ("assert_heads_independent", lambda: one_map(), "averaged over the heads"),
    ("assert_weights_change_nothing", Averaged, "with a mask"),
    ("assert_half_precision", lambda q, k, v, mask: core(q, k, v, mask, fill=-1e9), "raises"),
    ("assert_half_precision", 
     lambda q, k, v: core(1e3 * q, 1e3 * k, v, scale=1e-6 * q.shape[-1] ** -0.5),
     "overflow"),
    ("assert_permutation_equivariant", lambda q, k, v: core(q, k, v, masks.causal(q.shape[-2])),
     "another order"),
    ("assert_permutation_equivariant", lambda: ViewAlone(8, 2), "without a transpose"),
    ("assert_batch_independent", lambda q, k, v: core(q, k, v).mean(0, keepdim=True).expand_as(q),
     "sequence 0"),
    ("assert_queries_independent", over_queries, "over the queries"),
    ("assert_inputs_unchanged", lambda q, k, v: core(q.mul_(0.5), k, v), "caller's query"),
    ("assert_inputs_unchanged", Remembers, "call in between"),
    ("assert_dropout_off_in_eval", Drops, "training=self.training"),
    ("assert_empty_rows_see_nothing", plain_function, "NaN"),
    ("assert_empty_rows_see_nothing", lambda q, k, v, mask: core(q, k, v, mask, fill=-1e9),
     "finite fill"),
    ("assert_empty_rows_see_nothing",
     lambda q, k, v, mask: core(q, k, v, mask).nan_to_num(0.0), "gradient of NaN"),
]  # fmt: skip


@pytest.mark.parametrize("check, bug, words", BUGS, ids=[f"{n}-{b[0]}" for n, b in enumerate(BUGS)])
def test_a_bug_is_caught_and_named(check, bug, words):
    made = not inspect.signature(bug).parameters or inspect.isclass(bug)
    attention = bug() if made else bug
    with pytest.raises(AssertionError, match=words) as caught:
        getattr(testing, check)(attention)
    assert str(caught.value).startswith(f"{check}: ")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    "kind", ["nn.MultiheadAttention", "attnkit", "a reader's function", "a reader's class"]
)
def test_silent_on_right_attention_in_half_precision(dtype, kind):
    """Scores of inputs of size 1,000 overflow in float16, and rounded weights sum to 0.998."""

    def inside(query, key, value, mask=None):
        output, weights = plain_function(*(x.to(dtype) for x in (query, key, value)), mask)
        return output.float(), weights.float()

    for seed in (0, 1):
        torch.manual_seed(seed)
        attention = {
            "nn.MultiheadAttention": lambda: nn.MultiheadAttention(16, 4, batch_first=True),
            "attnkit": lambda: attnkit.MultiHeadAttention(16, 4),
            "a reader's class": lambda: Plain(16, 4),
        }
        one = attention[kind]().to(dtype) if kind in attention else inside
        assert not list(alarms(kind, one))


def test_what_is_forgiven_in_half_precision_is_not_in_float32():
    """A softmax that takes no maximum off, and rows that are half a percent short."""

    def overflowing(query, key, value, mask):
        shares = (query @ key.mT / query.shape[-1] ** 0.5).exp().masked_fill(~mask, 0.0)
        return shares / shares.sum(-1, keepdim=True).clamp_min(1e-30) @ value

    def short(query, key, value, mask):
        output, weights = attnkit.scaled_dot_product_attention(
            query, key, value, mask=mask, need_weights=True
        )
        return output, 0.995 * weights

    with pytest.raises(AssertionError, match="moves the output by NaN"):
        testing.assert_masked_values_ignored(overflowing)
    with pytest.raises(AssertionError, match=r"sum to (0\.99\d?|0) up to 0\.995"):
        testing.assert_rows_sum_to_one(short)


def test_a_finite_fill_is_found_in_float16():
    def filled(query, key, value, mask):
        return core(query, key, value, mask, fill=-1e4)

    with pytest.raises(AssertionError, match="finite fill"):
        testing.assert_masked_values_ignored(testing.adapt(filled, dtype=torch.float16))


def test_a_sink_is_named_where_each_row_leaves_a_share():
    def sink(query, key, value):
        weights = (query @ key.mT / query.shape[-1] ** 0.5).exp()
        weights = weights / (1 + weights.sum(-1, keepdim=True))
        return weights @ value, weights

    with pytest.raises(AssertionError, match="none, if a sink"):
        testing.assert_rows_sum_to_one(sink)


def test_every_check_has_a_bug_it_catches():
    assert {check for check, *_ in BUGS} == set(CHECKS)


def test_the_message_shows_the_smallest_input_and_both_maps():
    with pytest.raises(AssertionError) as caught:
        testing.assert_causal(ignores_mask)
    assert "2 queries, 2 keys" in str(caught.value)
    assert "■ ·         ■ ■\n    ■ ■         ■ ■" in str(caught.value)


# ---------------------------------------------------------------- windows, offsets, what is seen


def local(window):
    def attend(query, key, value):
        return core(query, key, value, masks.sliding_window(query.shape[-2], window=window))

    return attend


def test_a_window_off_by_one_is_found():
    testing.assert_window(local(3), 3)
    for wrong in (2, 4):
        with pytest.raises(AssertionError, match=f"up to {wrong} keys, expected 3"):
            testing.assert_window(local(wrong), 3)


def test_upper_left_alignment_is_found():
    def upper_left(query, key, value):
        return F.scaled_dot_product_attention(query, key, value, is_causal=True)

    testing.assert_causal(upper_left)
    with pytest.raises(AssertionError, match="upper left"):
        testing.assert_causal(upper_left, offset=2)
    testing.assert_causal(F.scaled_dot_product_attention, offset=2)


def test_an_expected_map_may_differ_from_the_mask():
    both = masks.causal(4) & masks.sliding_window(4, window=2)
    testing.assert_sees(local(2), both)
    with pytest.raises(AssertionError, match="does not see key 0"):
        testing.assert_sees(local(2), masks.causal(4))


def test_nan_under_the_mask_is_asked_for_on_demand():
    junk = (1e4, math.nan, math.inf)
    testing.assert_masked_values_ignored(attnkit.MultiHeadAttention(8, 2), junk=junk)
    with pytest.raises(AssertionError, match="nan in a hidden key"):
        testing.assert_masked_values_ignored(F.scaled_dot_product_attention, junk=junk)


# ---------------------------------------------------------------- decoding, compiling


def cached(*, upper_left=False, reorders=True):
    def step(x, cache):
        key = x if cache is None else torch.cat([cache, x], -2)
        if upper_left:
            return F.scaled_dot_product_attention(x, key, key, is_causal=True), key
        L, S = x.shape[-2], key.shape[-2]
        return core(x, key, key, masks.causal(L, S, offset=S - L)), key

    return step, lambda cache, order: cache[order] if reorders else cache


def test_cache_equals_full():
    step, reorder = cached()
    testing.assert_cache_equals_full(F.scaled_dot_product_attention, step, reorder=reorder)


@pytest.mark.parametrize(
    "options, words", [({"upper_left": True}, "upper left"), ({"reorders": False}, "old order")]
)
def test_a_wrong_cache_is_found(options, words):
    step, reorder = cached(**options)
    with pytest.raises(AssertionError, match=words):
        testing.assert_cache_equals_full(F.scaled_dot_product_attention, step, reorder=reorder)


@pytest.mark.build
@pytest.mark.parametrize(
    "attention",
    [nn.MultiheadAttention(8, 2), attnkit.MultiHeadAttention(8, 2), Plain(8, 2), plain_function],
    ids=["torch", "attnkit", "plain", "function"],
)
def test_compiles_once(attention):
    testing.assert_compiles_once(attention)


@pytest.mark.build
def test_what_breaks_or_repeats_the_graph_is_found():
    def asks(query, key, value, mask):
        return core(query, key, value, None if mask.all() else mask)

    calls = [0]

    def counts(query, key, value):
        calls[0] += 1
        return core(query, key, value) * calls[0]

    with pytest.raises(AssertionError, match="the graph breaks"):
        testing.assert_compiles_once(asks)
    with pytest.raises(AssertionError, match="graphs for lengths"):
        testing.assert_compiles_once(counts)


# ---------------------------------------------------------------- the adapter


def test_what_cannot_be_asked_says_why():
    with pytest.raises(testing.NotApplicable, match="takes no mask"):
        testing.assert_padding_invariant(lambda q, k, v: v)
    with pytest.raises(testing.NotApplicable, match="project"):
        testing.assert_scale(Plain(8, 2))
    with pytest.raises(testing.NotApplicable, match="knows order"):
        testing.assert_permutation_equivariant(testing.adapt(Plain(8, 2, causal=True), causal=True))


def test_a_module_is_left_in_the_mode_it_was_in():
    layer = nn.TransformerEncoderLayer(8, 2, batch_first=True)
    layer.dropout.eval()
    before = [module.training for module in layer.modules()]
    adapted = testing.adapt(layer, lambda q, k, v: layer(q), embed_dim=8, self_attention=True)
    testing.assert_dropout_off_in_eval(adapted)
    assert [module.training for module in layer.modules()] == before


def test_the_generator_is_left_as_it_was():
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    state = torch.random.get_rng_state()
    testing.assert_causal(F.scaled_dot_product_attention)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.rand(1) == expected


# ---------------------------------------------------------------- the recipe

TEXT = (ROOT / "appendices/api/testing.md").read_text("utf8")


@pytest.mark.build
def test_the_recipe_runs_as_it_stands(monkeypatch):
    recipe, other = re.findall(r"^```python\n(.*?)^```", TEXT, re.M | re.S)
    module = types.ModuleType("recipe")
    monkeypatch.setitem(sys.modules, "recipe", module)  # torch.compile looks it up
    names = vars(module)
    exec(compile(recipe, "recipe", "exec"), names)
    (mark,) = names["test_my_attention"].pytestmark
    for check in mark.args[1]:
        names["test_my_attention"](names["MyAttention"](16, 4), check)
    assert len(mark.args[1]) > 8
    exec(compile(other, "recipe", "exec"), {})


def test_the_message_in_the_reference_is_one_that_comes():
    class MyAttention(Plain):
        pass

    shown = re.search(r"```text\n(.*?)```", TEXT, re.S)[1].rstrip()
    with pytest.raises(AssertionError) as caught:
        testing.assert_causal(testing.adapt(MyAttention(8, 2), causal=True))
    assert str(caught.value) == shown
