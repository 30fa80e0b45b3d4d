"""ONNX's own cases of its Attention operator, read as data and run through attnkit.

The cases come with onnx: `onnx.backend.test.case.node.attention` makes a node, its inputs and the
outputs that are expected, one case for each of its functions, for the operator sets 23, 24 and 25.
`run` below says in attnkit's words what a node says. All apply. The "_expanded" form of each case,
which spells the node out in smaller operators, tests a runtime of ONNX and no attention.
"""

import math
from collections import Counter
from functools import cache
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from onnx.backend.test.case.node import attention as cases_of_onnx
from onnx.helper import get_attribute_value

import attnkit
from attnkit import functional, masks
from booktools.address import ROOT

TOLERANCE = {torch.float32: 1e-5, torch.float16: 5e-3, torch.bfloat16: 5e-2}


class Case(NamedTuple):
    name: str
    opset: int
    options: dict
    inputs: dict[str, torch.Tensor]
    outputs: dict[str, torch.Tensor]


INPUTS = ("Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen")
OUTPUTS = ("Y", "present_key", "present_value", "qk_matmul_output")


def tensor(array: np.ndarray) -> torch.Tensor:
    """A NumPy array as a tensor; bfloat16, which NumPy lacks, by its bits."""
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(np.ascontiguousarray(array))


@cache
def cases() -> dict[str, Case]:
    found = {}

    def collect(node, inputs, outputs, name, opset_imports, **_):
        given = (x for x in node.input if x)
        wanted = (x for x in node.output if x)
        places = {n: OUTPUTS[i] for i, n in enumerate(node.output) if n}
        slots = {n: INPUTS[i] for i, n in enumerate(node.input) if n}
        found[name] = Case(
            name,
            opset_imports[0].version,
            {each.name: get_attribute_value(each) for each in node.attribute},
            {slots[n]: tensor(x) for n, x in zip(given, inputs, strict=True)},
            {places[n]: tensor(x) for n, x in zip(wanted, outputs, strict=True)},
        )

    # The cases draw from the global generator.
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    with patch.object(cases_of_onnx, "expect", collect):
        for name, make in vars(cases_of_onnx.Attention).items():
            if name.startswith("export"):
                make.__func__()
    np.random.set_state(state)  # noqa: NPY002
    return found


def run(case: Case) -> dict[str, torch.Tensor]:
    given, options = case.inputs, case.options
    query, key, value = (given[name] for name in "QKV")
    flat = query.dim() == 3
    if flat:
        query, key, value = (
            x.unflatten(-1, (options[f"{who}_num_heads"], -1)).transpose(1, 2)
            for x, who in zip((query, key, value), ("q", "kv", "kv"), strict=True)
        )
    past = 0
    if "past_key" in given:
        past = given["past_key"].shape[-2]
        key = torch.cat([given["past_key"], key], -2)
        value = torch.cat([given["past_value"], value], -2)
    mask, bias = visible(case, query.shape[-2], key.shape[-2], past)
    grouped = query.shape[1] != key.shape[1]
    scale = options.get("scale", query.shape[-1] ** -0.5)
    softcap = options.get("softcap", 0.0)
    if softcap:  # not an argument of ours: capped scores go to `attend`
        keys, values = (x.repeat_interleave(query.shape[1] // x.shape[1], 1) for x in (key, value))
        scores = attnkit.functional.dot_scores(query.float(), keys.float(), scale=scale)
        scores = softcap * (scores / softcap).tanh()
        scores = scores if bias is None else scores + bias
        seen = mask if bias is None else mask & (bias != -math.inf)
        output, weights = functional.attend(scores, values.float(), mask=seen)
        output, weights = output.to(query.dtype), weights.to(query.dtype)
    else:
        output, weights = attnkit.scaled_dot_product_attention(
            query, key, value, mask=mask, bias=bias, scale=scale, enable_gqa=grouped,
            need_weights=True,
        )  # fmt: skip
        # The path without weights is another one.
        fused, _ = attnkit.scaled_dot_product_attention(
            query, key, value, mask=mask, bias=bias, scale=scale, enable_gqa=grouped
        )
        close(fused, output, case)
    answers = {"Y": output, "present_key": key, "present_value": value}
    if flat:
        answers["Y"] = output.transpose(1, 2).flatten(2)
    if "qk_matmul_output" in case.outputs:
        answers["qk_matmul_output"] = of_mode(case, query, key, mask, bias, weights, scale)
    return answers


def visible(case: Case, L: int, S: int, past: int) -> tuple[torch.Tensor, torch.Tensor | None]:
    """What the node lets a query see, as our mask, and what it adds to the scores."""
    given, options = case.inputs, case.options
    mask, bias = torch.ones(L, S, dtype=torch.bool), given.get("attn_mask")
    if bias is not None and bias.shape[-1] < S:  # what a mask does not reach is hidden
        fill = False if bias.dtype == torch.bool else -math.inf
        bias = F.pad(bias, (0, S - bias.shape[-1]), value=fill)
    if bias is not None and bias.dtype == torch.bool:
        mask, bias = mask & bias, None
    offsets = torch.tensor([past])
    if "nonpad_kv_seqlen" in given:
        lengths = given["nonpad_kv_seqlen"]
        offsets = lengths - L
        mask = mask & masks.padding(lengths, S)[:, None]
    if options.get("is_causal"):
        mask = mask & torch.stack([masks.causal(L, S, offset=int(o)) for o in offsets])[:, None]
    left, right = options.get("left_window_size", -1), options.get("right_window_size", -1)
    if left >= 0:  # counts keys beside the query's own, as ours does not
        near = [masks.causal(L, S, offset=int(o) - left - 1) for o in offsets]
        mask = mask & ~torch.stack(near)[:, None]
    if right >= 0:
        mask = (
            mask
            & torch.stack([masks.causal(L, S, offset=int(o) + right) for o in offsets])[:, None]
        )
    return mask, bias


def of_mode(case, query, key, mask, bias, weights, scale):
    """The fourth output: scores at one of four places."""
    mode, softcap = case.options.get("qk_matmul_output_mode", 0), case.options.get("softcap", 0.0)
    if mode == 3:
        return weights
    keys = key.repeat_interleave(query.shape[1] // key.shape[1], 1)
    scores = functional.dot_scores(query, keys, scale=scale)
    if mode >= 1 and softcap:
        scores = softcap * (scores / softcap).tanh()
    if mode == 2:
        scores = scores if bias is None else scores + bias
        scores = scores.masked_fill(~mask, -math.inf)
    return scores


def close(actual, expected, case):
    assert actual.shape == expected.shape, case.name
    assert actual.dtype == expected.dtype, case.name
    assert not actual.isnan().any(), case.name
    same_infinities = torch.equal(actual.isinf(), expected.isinf())
    assert same_infinities, case.name
    finite = ~expected.isinf()
    error = (actual[finite].double() - expected[finite].double()).abs().max().item()
    largest = expected[finite].double().abs().max().clamp_min(1.0).item()
    assert error <= TOLERANCE[expected.dtype] * largest, f"{case.name}: off by {error:.3g}"


@pytest.mark.parametrize("name", sorted(cases()))
def test_a_case_of_onnx(name):
    case = cases()[name]
    answers = run(case)
    for output, expected in case.outputs.items():
        close(answers[output], expected, case)


def test_how_many_cases_there_are():
    """A new release of onnx cannot empty the table unseen, and the reference says how many."""
    opsets = Counter(case.opset for case in cases().values())
    assert opsets == {23: 69, 24: 13, 25: 11}
    page = " ".join((ROOT / "appendices/api/testing.md").read_text("utf8").split())
    counts = f"{opsets[23]} of operator set 23, {opsets[24]} of 24 and {opsets[25]} of 25"
    said = f"{len(cases())} cases, {counts}; none left out"
    assert said in page, said
