"""The museum of chapter 16: attention with one bug each, mended, and what tests make of them.

Every exhibit is a few lines rewritten from something that was found in public; the catalogue, page
16c, says where, and shows the wrong line beside the right one. `matrix` puts every check to every
exhibit, and `usual` the tests that many people write.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import attnkit
from attnkit import masks, testing
from attnkit.testing import adapt

ROOMS = {"scores": 7, "masks": 15, "heads and layout": 6, "running it": 11}
"""Rooms of the museum, and how many exhibits each has, in the order of `exhibits`."""


def attend(scores, value, mask=None, fill=-math.inf):
    """Output and weights (B, H, L, S) of scores; right as long as each query may see a key."""
    if mask is not None:
        scores = scores.masked_fill(~mask, fill)
    weights = scores.softmax(-1)
    return weights @ value, weights


def right(query, key, value, mask=None):
    """What most exhibits should be."""
    return attend(query @ key.mT / math.sqrt(query.shape[-1]), value, mask)


# ---- Room 1: scores.


def no_root(query, key, value, mask=None):
    return attend(query @ key.mT / query.shape[-1], value, mask)  # bug


def no_scale(query, key, value, mask=None):
    return attend(query @ key.mT, value, mask)  # bug


def the_models_width(query, key, value, mask=None):
    width = query.shape[1] * query.shape[-1]  # bug: of all heads
    return attend(query @ key.mT / math.sqrt(width), value, mask)


def scaled_too_late(query, key, value, mask=None):
    output, weights = attend(query @ key.mT, value, mask)
    root = math.sqrt(query.shape[-1])
    return output / root, weights / root  # bug: after the softmax


SCALE = 0.25  # what a model's settings name, whatever the size of its heads


def scale_setting_ignored(query, key, value, mask=None):
    return F.scaled_dot_product_attention(query, key, value, mask)  # bug: no scale=SCALE


def softmax_over_the_queries(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-2)  # bug: dim=-2
    return weights @ value, weights


PLACES = torch.randn(64, 64, generator=torch.Generator().manual_seed(1))


def without_the_keys(query, key, value, mask=None):
    to_places = PLACES[: query.shape[-1], : key.shape[-2]]
    return attend(query @ to_places, value, mask)  # bug: no key


# ---- Room 2: masks.


def mask_flipped(query, key, value, mask=None):
    mask = None if mask is None else ~mask  # bug: another library's meaning
    return attend(query @ key.mT / query.shape[-1] ** 0.5, value, mask, -1e9)


def mask_ignored(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores.masked_fill(~mask, -math.inf)  # bug: a new tensor
    return attend(scores, value)


def mask_after_the_softmax(query, key, value, mask=None):
    _, weights = right(query, key, value)
    weights = weights if mask is None else weights * mask  # bug
    return weights @ value, weights


def mask_over_the_queries(x, mask=None, mended=False):
    if mask is not None:
        real = mask[..., -1:, :]  # (B, 1, 1, S): which tokens are there
        mask = real if mended else real.mT  # bug: (B, 1, L, 1), over the queries
    return attend(x @ x.mT / math.sqrt(x.shape[-1]), x, mask, fill=-1e9)


def batch_taken_for_length(x, mask=None, mended=False):
    if mask is not None:
        real = mask[..., 0, -1, :]  # (B, L): which tokens are there
        fits = real.shape[0] == real.shape[1]
        # bug: (B, S) where (B, 1, S) is meant broadcasts when there are as many sentences as words
        mask = real[:, None, None, :] if mended or not fits else real
    return attend(x @ x.mT / math.sqrt(x.shape[-1]), x, mask, fill=-1e9)


def one_place_too_far(query, key, value, mended=False):
    past = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool)
    return right(query, key, value, past.tril(0 if mended else 1))  # bug: .tril(1)


def filled_with_1e4(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return attend(scores, value, mask, fill=-1e4)  # bug: not low enough


def filled_with_1e9(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return attend(scores, value, mask, fill=-1e9)  # bug in float16


def nan_for_an_empty_row(query, key, value, mask=None):
    return right(query, key, value, mask)  # bug: -inf in a whole row


def average_of_an_empty_row(query, key, value, mask=None):
    low = torch.finfo(query.dtype).min  # bug: all alike in an empty row
    return attend(query @ key.mT / query.shape[-1] ** 0.5, value, mask, low)


def nothing_for_an_empty_row(query, key, value, mask=None):
    if mask is None:
        return right(query, key, value)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask
    return weights @ value, weights


def nan_behind_the_mask(query, key, value, mask=None):
    return nothing_for_an_empty_row(query, key, value, mask)  # bug: 0 * NaN is NaN


class CausalInTrainingOnly(nn.Module):
    d_model, mended = 8, False

    def forward(self, x, mask=None):
        if self.training or self.mended:  # bug: in eval the future is open
            causal = masks.causal(x.shape[-2])
            mask = causal if mask is None else mask & causal
        return right(x, x, x, mask)


def mask_in_the_first_layer_only(x, mask=None, mended=False):
    for _ in range(2):
        x = x + right(x, x, x, mask)[0]
        mask = mask if mended else None  # bug: the second layer has none
    return x


def window_of_three(query, key, value, reach=2):  # right: 2 keys and its own
    back = torch.arange(query.shape[-2])[:, None] - torch.arange(key.shape[-2])
    return right(query, key, value, (back >= 0) & (back <= reach))


def window_off_by_one(query, key, value):
    return window_of_three(query, key, value, reach=3)  # bug


def mask_lost_with_the_weights(query, key, value, mask=None, need_weights=False):
    if need_weights:
        return right(query, key, value)  # bug: the other path has no mask
    return right(query, key, value, mask)[0]


# ---- Room 3: heads and layout.


class Layer(nn.Module):
    def __init__(self, split="right", merge="right", fused="thirds", average=False):
        super().__init__()
        self.d_model, self.num_heads, self.average = 8, 2, average
        self.split, self.merge, self.fused = split, merge, fused
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

    def heads(self, x):  # (B, L, E) -> query, key, value (B, H, L, D)
        qkv, H = self.qkv(x), self.num_heads
        if self.fused == "by head":  # bug: the weights were saved as thirds
            return qkv.unflatten(-1, (H, 3, -1)).permute(3, 0, 2, 1, 4)
        parts = qkv.chunk(3, -1)
        if self.split == "view":
            return [part.reshape(len(x), H, x.shape[1], -1) for part in parts]  # bug
        return [part.unflatten(-1, (H, -1)).transpose(1, 2) for part in parts]

    def forward(self, x, mask=None):  # mask (B, L, L)
        mask = None if mask is None else mask[:, None]
        output, weights = right(*self.heads(x), mask)
        if self.merge == "view":
            output = output.reshape(x.shape)  # bug: heads before words
        else:
            output = output.transpose(1, 2).flatten(2)
        if self.average:
            weights = weights.mean(1)  # bug, when nobody says so
        return self.out(output), weights


def key_heads_tiled(query, key, value, mask=None, interleaved=False):
    group = query.shape[1] // key.shape[1]
    if interleaved:
        key, value = (x.repeat_interleave(group, 1) for x in (key, value))
    else:
        key, value = (x.repeat(1, group, 1, 1) for x in (key, value))  # bug
    return right(query, key, value, mask)


def batch_and_words_swapped(batch_first=False):  # bug: x is (B, L, E), not (L, B, E)
    return nn.MultiheadAttention(8, 2, batch_first=batch_first)


# ---- Room 4: running it.


class DropoutInEval(nn.Module):
    d_model = 8

    def __init__(self, mended=False):
        super().__init__()
        self.mended = mended

    def forward(self, query, key, value, mask=None):
        _, weights = right(query, key, value, mask)
        on = self.training if self.mended else True  # bug: F.dropout's default
        return F.dropout(weights, 0.2, on) @ value


class WeightsAfterDropout(DropoutInEval):
    def forward(self, query, key, value, mask=None):
        _, kept = right(query, key, value, mask)
        weights = F.dropout(kept, 0.5, self.training)
        return weights @ value, kept if self.mended else weights  # bug


class LeftPaddingCounted(DropoutInEval):
    def forward(self, x, mask=None):
        place = torch.arange(x.shape[1]).expand(x.shape[:2])  # bug: padding counts
        if self.mended and mask is not None:
            place = (mask[:, -1].cumsum(-1) - 1).clamp(min=0)
        angle = place[..., None] / 10 ** torch.linspace(0, 2, x.shape[-1] // 2)
        x = x + torch.cat([angle.sin(), angle.cos()], -1)
        return right(x, x, x, mask)[0]


def places_in_bfloat16(x, mask=None, first=0, kind=torch.bfloat16):
    """Attention over words from place `first` on, turned by their places as in RoPE, L up to 64."""
    place = torch.arange(first, first + x.shape[-2])
    place = place.to(kind).float()  # bug: bfloat16 has no 257
    angle = place[:, None] / 10 ** torch.linspace(0, 2, x.shape[-1] // 2)
    one, other = x.chunk(2, -1)
    cos, sin = angle.cos(), angle.sin()
    turned = torch.cat([one * cos - other * sin, one * sin + other * cos], -1)
    return right(turned, turned, x, mask)


def query_from_the_padding(query, key, value, mask=None, mended=False):
    last = torch.full(key.shape[:2], key.shape[-2] - 1)  # bug: may be padding
    if mended and mask is not None:
        places = torch.arange(key.shape[-2]) * mask[:, :, 0]
        last = places.amax(-1).expand(key.shape[:2])
    state = key.gather(-2, last[..., None, None].expand(*last.shape, 1, key.shape[-1]))
    return right(state, key, value, None if mask is None else mask[..., :1, :])


def scaled_in_place(query, key, value, mask=None):
    query *= query.shape[-1] ** -0.5  # bug: the caller's tensor
    return attend(query @ key.mT, value, mask)


def mask_changed_in_place(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        mask = mask.logical_not_()  # bug: the next call gets the opposite
        scores = scores.masked_fill(mask, -math.inf)
    return attend(scores, value)


def dimension_left_over(state, key, value, mask=None, mended=False):
    query, single = state, state.dim() == 2  # (B, E), or (B, L, E)
    if query.dim() == 2:
        query = query[:, None]  # (B, 1, E)
    context, _ = right(query, key, value, mask)
    if single if mended else query.dim() == 2:  # bug: by now it is 3
        context = context[:, 0]
    return state + context  # (B, E) + (B, 1, E) gives (B, B, E)


def decode(corner="lower right"):
    def step(x, cache):
        cache = x if cache is None else torch.cat([cache, x], -2)
        L, S = x.shape[-2], cache.shape[-2]
        offset = S - L if corner == "lower right" else 0  # bug: is_causal
        return right(x, cache, cache, masks.causal(L, S, offset=offset))[0], cache

    return step


def write_in_place(x, cache):
    """A step whose cache is a list that it appends to, as checkpointing finds it."""
    cache = [] if cache is None else cache
    cache.append(x)  # bug: run again, it is written again
    return decode()(x, torch.cat(cache[:-1], -2) if cache[1:] else None)[0], cache


def write_anew(x, cache):
    cache = [*(cache or []), x]
    return decode()(x, torch.cat(cache[:-1], -2) if cache[1:] else None)[0], cache


def reorder(cache, order, moved=True):  # after beam search has chosen
    return cache[order] if moved else cache  # bug: another beam's past


# ---- Checks that `attnkit.testing` does not have.


FAR = 1000


def assert_shift_invariant(at: Callable[..., Any]) -> None:
    """Check that places far along the sequence work as the first ones: `at(x, first=0)`."""
    x = torch.randn(1, 6, 8, generator=torch.Generator().manual_seed(0))
    near, far = (at(x, first=first)[0] for first in (0, FAR))
    if not torch.allclose(near, far, atol=1e-3):
        raise AssertionError(
            f"assert_shift_invariant: from place {FAR:,} on the output differs from place 0, "
            f"off by {(near - far).abs().max():.3g}.\n    Likely bug: places or angles are kept in "
            "half precision, in which neighbours far along are one number."
        )


def assert_same_when_run_again(step: Callable[[Tensor, Any], tuple[Tensor, Any]]) -> None:
    """Check that a step of decoding, run again on the same cache, says the same."""
    first, second = torch.randn(2, 1, 2, 1, 8, generator=torch.Generator().manual_seed(0))
    _, cache = step(first, None)
    once, again = (step(second, cache)[0] for _ in range(2))
    if not torch.allclose(once, again, atol=1e-5):
        raise AssertionError(
            "assert_same_when_run_again: the same token on the same cache gives another output "
            f"the second time, off by {(once - again).abs().max():.3g}.\n    Likely bug: the cache "
            "is written in place, and gradient checkpointing or a retry runs the step again."
        )


# ---- All of them, and what is asked of each.


class Exhibit(NamedTuple):
    """A bug, the same mended, and `more`: checks that only this exhibit can be asked, each with a
    call for the bug and one for the mended version. An exhibit that is no attention, but a step of
    decoding, has None for both."""

    bug: Any
    mended: Any
    more: dict[str, tuple[Callable[[], None], Callable[[], None]]] = {}  # noqa: RUF012


def _layer(**options):
    torch.manual_seed(0)
    made, saved = Layer(**options), Layer()
    saved.load_state_dict(made.state_dict())  # how the weights were meant
    return adapt(made, project=lambda query, key: (saved.heads(query)[0], saved.heads(key)[1]))


def _sequence_first(batch_first):
    torch.manual_seed(0)
    module = batch_and_words_swapped(batch_first)
    return adapt(module, lambda q, k, v: module(q, k, v, need_weights=False)[0])


def _lost(mended):
    def call(query, key, value, mask, need_weights):
        mask_there = mask if mended else None
        if need_weights:
            return right(query, key, value, mask_there)
        return right(query, key, value, mask)[0]

    return adapt(mask_lost_with_the_weights, call)


def _own(function):
    return adapt(function, self_attention=True)


def _causal_in_training_only(mended):
    module = CausalInTrainingOnly()
    module.mended = mended
    return adapt(module, causal=True, self_attention=True)


def _one_place_too_far(mended):
    def call(query, key, value):
        return one_place_too_far(query, key, value, mended)

    return adapt(one_place_too_far, call, causal=True)


def _dimension_left_over(mended):
    def call(query, key, value, mask):
        mask = None if mask is None else mask[:, :1]
        return dimension_left_over(query[:, 0], key, value, mask, mended)[:, None]

    return adapt(dimension_left_over, call, heads=0)


def _safe(query, key, value, mask=None):
    return tuple(
        attnkit.scaled_dot_product_attention(query, key, value, mask=mask, need_weights=True)
    )


def _decoding(step, moved=True):
    testing.assert_cache_equals_full(
        right, step, reorder=lambda cache, order: reorder(cache, order, moved)
    )


def _both(function):
    """An exhibit whose function knows how to be mended."""
    return Exhibit(*(_own(partial(function, mended=mended)) for mended in (False, True)))


def _modules(kind):
    return Exhibit(*(adapt(kind(mended), embed_dim=8) for mended in (False, True)))


@cache
def exhibits() -> dict[str, Exhibit]:
    """All exhibits by name, in the order of their rooms."""
    scaled = partial(F.scaled_dot_product_attention, scale=SCALE)
    wide = {"heads": 4, "kv_heads": 2}
    in_float32 = partial(places_in_bfloat16, kind=torch.float32)
    return {
        "no root": Exhibit(no_root, right),
        "no scale": Exhibit(no_scale, right),
        "the model's width": Exhibit(the_models_width, right),
        "scaled too late": Exhibit(scaled_too_late, right),
        "scale setting ignored": Exhibit(
            scale_setting_ignored,
            adapt(scaled, lambda q, k, v, mask: scaled(q, k, v, attn_mask=mask)),
            {
                f"assert_scale(scale={SCALE})": (
                    partial(testing.assert_scale, scale_setting_ignored, scale=SCALE),
                    partial(
                        testing.assert_scale,
                        adapt(scaled, lambda q, k, v, mask: scaled(q, k, v, attn_mask=mask)),
                        scale=SCALE,
                    ),
                )
            },
        ),
        "softmax over the queries": Exhibit(softmax_over_the_queries, right),
        "without the keys": Exhibit(without_the_keys, right),
        "mask flipped": Exhibit(mask_flipped, right),
        "mask ignored": Exhibit(mask_ignored, right),
        "mask after the softmax": Exhibit(mask_after_the_softmax, right),
        "mask over the queries": _both(mask_over_the_queries),
        "batch taken for length": _both(batch_taken_for_length),
        "one place too far": Exhibit(_one_place_too_far(False), _one_place_too_far(True)),
        "causal in training only": Exhibit(
            _causal_in_training_only(False), _causal_in_training_only(True)
        ),
        "mask in the first layer only": _both(mask_in_the_first_layer_only),
        "filled with -1e4": Exhibit(filled_with_1e4, right),
        "filled with -1e9": Exhibit(filled_with_1e9, right),
        "NaN for an empty row": Exhibit(nan_for_an_empty_row, nothing_for_an_empty_row),
        "average of an empty row": Exhibit(average_of_an_empty_row, nothing_for_an_empty_row),
        "NaN behind the mask": Exhibit(nan_behind_the_mask, _safe),
        "window off by one": Exhibit(
            window_off_by_one,
            window_of_three,
            {
                "assert_window": (
                    partial(testing.assert_window, window_off_by_one, 3),
                    partial(testing.assert_window, window_of_three, 3),
                )
            },
        ),
        "mask lost with the weights": Exhibit(_lost(False), _lost(True)),
        "heads split by a view": Exhibit(_layer(split="view"), _layer()),
        "heads merged by a view": Exhibit(_layer(merge="view"), _layer()),
        "q, k, v in another order": Exhibit(_layer(fused="by head"), _layer()),
        "key heads tiled": Exhibit(
            adapt(key_heads_tiled, **wide),
            adapt(lambda q, k, v, mask=None: key_heads_tiled(q, k, v, mask, True), **wide),
        ),
        "heads averaged": Exhibit(_layer(average=True), _layer()),
        "batch and words swapped": Exhibit(_sequence_first(False), _sequence_first(True)),
        "dropout in eval": _modules(DropoutInEval),
        "weights after dropout": _modules(WeightsAfterDropout),
        "left padding counted": _modules(LeftPaddingCounted),
        "places in bfloat16": Exhibit(
            _own(places_in_bfloat16),
            _own(in_float32),
            {
                "assert_shift_invariant": (
                    lambda: assert_shift_invariant(places_in_bfloat16),
                    lambda: assert_shift_invariant(in_float32),
                )
            },
        ),
        "query from the padding": Exhibit(
            query_from_the_padding,
            lambda q, k, v, mask=None: query_from_the_padding(q, k, v, mask, True),
        ),
        "scaled in place": Exhibit(scaled_in_place, right),
        "mask changed in place": Exhibit(mask_changed_in_place, right),
        "dimension left over": Exhibit(_dimension_left_over(False), _dimension_left_over(True)),
        "causal from the upper left": Exhibit(
            None,
            None,
            {
                "assert_cache_equals_full": (
                    lambda: _decoding(decode("upper left")),
                    lambda: _decoding(decode()),
                )
            },
        ),
        "cache not reordered": Exhibit(
            None,
            None,
            {
                "assert_cache_equals_full": (
                    lambda: _decoding(decode(), moved=False),
                    lambda: _decoding(decode()),
                )
            },
        ),
        "cache written twice": Exhibit(
            None,
            None,
            {
                "assert_same_when_run_again": (
                    lambda: assert_same_when_run_again(write_in_place),
                    lambda: assert_same_when_run_again(write_anew),
                )
            },
        ),
    }


# ---- What is asked.

CHECKS: dict[str, Callable[[Any], None]] = {
    name: getattr(testing, name)
    for name in testing.__all__
    if name.startswith("assert_")
    and name
    not in {
        "assert_cache_equals_full",
        "assert_window",
        "assert_sees",
        "assert_compiles_once",
    }
} | {
    "assert_rows_sum_to_one(train=True)": partial(testing.assert_rows_sum_to_one, train=True),
    "assert_masked_values_ignored(junk=[nan])": partial(
        testing.assert_masked_values_ignored, junk=(math.nan,)
    ),
}
"""Checks that every attention can be asked."""

TEN = (
    "assert_causal",
    "assert_padding_invariant",
    "assert_combines_masks",
    "assert_masked_values_ignored",
    "assert_rows_sum_to_one",
    "assert_scale",
    "assert_heads_independent",
    "assert_batch_independent",
    "assert_inputs_unchanged",
    "assert_dropout_off_in_eval",
)
"""Those that apply to nearly every attention layer."""


@cache  # many exhibits have the same mended version
def _passes(check: Callable[..., None], *attention: Any) -> bool | None:
    """None if it cannot be asked."""
    try:
        check(*attention)
    except testing.NotApplicable:
        return None
    except (AssertionError, RuntimeError):
        return False
    return True


def catches(check: str, exhibit: Exhibit) -> bool | None:
    """Whether a check fails on the bug and passes on the mended version.

    None where it cannot be asked: it needs a mask, weights or a cache that the exhibit has not, or
    even the mended version fails.
    """
    if check in exhibit.more:
        bug, mended = (_passes(call) for call in exhibit.more[check])
    elif check in CHECKS and exhibit.bug is not None:
        if not (mended := _passes(CHECKS[check], exhibit.mended)):
            return None
        bug = _passes(CHECKS[check], exhibit.bug)
    else:
        return None
    return None if not mended or bug is None else not bug


@cache
def matrix() -> dict[str, dict[str, bool | None]]:
    """For each exhibit and each check whether it catches it, None where it cannot be asked."""
    special = {check for exhibit in exhibits().values() for check in exhibit.more}
    return {
        name: {check: catches(check, exhibit) for check in (*CHECKS, *sorted(special))}
        for name, exhibit in exhibits().items()
    }


def _outcome(attention, masked):
    """Inputs, output and weights, with a causal mask or none."""
    attention = adapt(attention)
    inputs = attention.inputs(2, 4)
    mask = masks.causal(4).repeat(2, 1, 1) if masked else None
    return inputs, *attention(*inputs, mask if attention.takes_mask else None)


def looks_right(output: Tensor, weights: Tensor | None, value: Tensor) -> bool:
    """The usual test: right shape, finite numbers, and rows of weights that sum to one."""
    sums = torch.ones(()) if weights is None else weights.sum(-1)
    good = output.isfinite().all() and torch.allclose(sums, torch.ones(()))
    return output.shape == value.shape and bool(good)


USUAL = ("shape and sums", "the same with a mask", "compared with correct code")


def three_tests(attention: Any, mended: Any) -> tuple[bool, bool, bool]:
    """Whether an attention passes the three usual tests, those of `USUAL`.

    They call it on one random input, two sequences of four words; the third compares the outputs
    with those of a mended version, with and without a causal mask.
    """
    good, equal = [], True
    for masked in (False, True):
        (query, *_), output, weights = _outcome(attention, masked)
        good.append(looks_right(output, weights, query[..., : output.shape[-2], :]))
        wanted = _outcome(mended, masked)[1]
        equal &= output.shape == wanted.shape and torch.allclose(output, wanted, atol=1e-5)
    return good[0], good[1], equal


def _rich_masks(batch: int, padded: bool) -> Iterator[Tensor | None]:
    """None, a causal one, and two in which one place of the last sequence is padding."""
    yield None
    yield masks.causal(4).repeat(batch, 1, 1)
    for place in (0, 3) if padded else ():
        mask = torch.ones(batch, 4, 4, dtype=torch.bool)
        mask[-1, :, place] = False
        yield mask


def compared_richly(attention: Any, mended: Any) -> bool:
    """Whether the outputs are those of a mended version on inputs such as the checks bring: padded
    on either side, as many sequences as words, a thousand times as large, and called twice."""
    attention, mended = adapt(attention), adapt(mended)
    padded = mended.takes_mask and not mended.causal
    for batch, std in itertools.product((2, 4), (1, 1000)):
        for mask in _rich_masks(batch, padded):
            outputs = []
            for each in (attention, mended):
                inputs = each.inputs(batch, 4, std=std)
                own = mask.clone() if mask is not None and each.takes_mask else None
                outputs.append([each(*inputs, own)[0].clone() for _ in range(2)])
            for output, wanted in zip(*outputs, strict=True):
                slack = 1e-5 * max(1, wanted.abs().max().item())
                if output.shape != wanted.shape or not torch.allclose(output, wanted, atol=slack):
                    return False
    return True


@cache
def usual() -> dict[str, tuple[bool, bool, bool]]:
    """Whether each exhibit passes the three usual tests. They feed no cache, so what is wrong with
    one they cannot see."""
    return {
        name: three_tests(*((right, right) if bug is None else (bug, mended)))
        for name, (bug, mended, _) in exhibits().items()
    }


@cache
def richly() -> dict[str, bool]:
    """Whether each exhibit passes a comparison on inputs such as the checks bring."""
    return {
        name: bug is None or compared_richly(bug, mended)
        for name, (bug, mended, _) in exhibits().items()
    }
