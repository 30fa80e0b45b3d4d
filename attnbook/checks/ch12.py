"""Checks of the exercises of chapter 12."""

import math
import weakref

import torch
import torch.nn.functional as F
from torch.utils import checkpoint as again
from torch.utils import flop_counter
from torch.utils._python_dispatch import TorchDispatchMode

from attnbook import releases
from attnbook.exercises import ask, checker, compare, unaided
from attnbook.machines import Roofline
from attnkit.efficient import flash_with_logsumexp


def kept_by(call, *given):
    "Bytes that autograd keeps, without the tensors given; the result."
    found = {}

    def keep(tensor):
        memory = tensor.untyped_storage()
        found[memory.data_ptr()] = memory.nbytes()
        return tensor

    hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x)
    with hooks:
        result = call()
    for tensor in given:
        found.pop(tensor.untyped_storage().data_ptr(), None)
    return sum(found.values()), result


class Largest(TorchDispatchMode):
    "The most elements of any tensor that is made meanwhile."

    def __init__(self):
        super().__init__()
        self.most = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for x in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(x, torch.Tensor):
                self.most = max(self.most, x.untyped_storage().nbytes())
        return result


def draw(generator, *shape, dtype=torch.float32):
    x = torch.randn(shape, generator=generator, dtype=dtype)
    return x.requires_grad_()


def three_lines(q, k, v):
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v


COUNTED = {  # what is called to count bytes, and to count products
    "plain": (three_lines, three_lines),
    "checkpointed": (lambda *x: again.checkpoint(three_lines, *x, use_reentrant=False),) * 2,
    "fused": (  # PyTorch's counter does not know its kernel for the CPU
        F.scaled_dot_product_attention,
        lambda *x: flash_with_logsumexp(*x).output,
    ),
}


@checker(1)
def check_costs(answer):
    generator = torch.Generator().manual_seed(1)
    for form, (call, same) in COUNTED.items():
        for B, H, L, E in ((1, 1, 64, 8), (2, 1, 96, 16), (1, 4, 128, 32)):
            inputs = [draw(generator, B, H, L, E) for _ in range(3)]
            expected, _ = kept_by(lambda c=call, x=inputs: c(*x), *inputs)
            with flop_counter.FlopCounterMode(display=False) as counter:
                same(*inputs).sum().backward()
            times = counter.get_total_flops() // (2 * B * H * L * L * E)
            got = ask(answer, form, B, H, L, E)
            what = f"{form}, B={B}, H={H}, L={L}, E={E}"
            if not isinstance(got, tuple) or len(got) != 2:
                return f"{what}: expected two numbers, bytes and products."
            if got[0] != expected:
                return f"{what}: autograd keeps {expected:,} bytes, not {got[0]:,}."
            if got[1] != times:
                return f"{what}: PyTorch counts {times} products, not {got[1]}."


def cases():
    "Scores, values, the size of a block, and a name."
    generator = torch.Generator().manual_seed(2)
    scores = torch.randn(4, 11, generator=generator)
    value = torch.randn(11, 3, generator=generator)
    late, empty = scores.clone(), scores.clone()
    late[1, :4] = empty[1] = -math.inf
    return [
        (scores, value, 11, "friendly scores, one block"),
        (scores, value, 4, "friendly scores, blocks of 4"),
        (scores, value, 1, "friendly scores, key by key"),
        (scores * 2000, value, 4, "scores of thousands"),
        (scores - 2000, value, 4, "scores near -2000"),
        (late, value, 4, "a row that sees nothing in the first block"),
        (empty, value, 4, "a row that sees nothing"),
    ]


def shares(scores):
    "Weights in float64, 0 in a row that sees nothing."
    sees = (scores != -math.inf).any(-1, keepdim=True)
    return scores.double().masked_fill(~sees, 0.0).softmax(-1) * sees


def whole(scores, value):
    "Output and logsumexp, in float64, by the whole row."
    return shares(scores) @ value.double(), scores.double().logsumexp(-1)


def compare_pair(got, expected, what, near=1e-4):
    if not isinstance(got, tuple) or len(got) != 2:
        return f"{what}: expected a pair (output, logsumexp)."
    if problem := compare(got[0], expected[0], near, f"{what}: output"):
        return problem
    total, right = got[1], expected[1]
    if not isinstance(total, torch.Tensor) or total.shape != right.shape:
        return f"{what}: logsumexp: expected shape {tuple(right.shape)}."
    empty = right == -math.inf
    if not (total[empty] == -math.inf).all():
        return f"{what}: logsumexp: of no scores at all it is -inf."
    tolerance = 1e-5 * (1 + right[~empty].abs().max().item())
    return compare(total[~empty], right[~empty], tolerance, f"{what}: logsumexp")


class Blocks:
    "An iterator of blocks that notices when they are collected."

    def __init__(self, scores, value, size):
        self.parts = zip(scores.split(size, -1), value.split(size), strict=True)
        self.given = []
        self.most = 0

    def __iter__(self):
        for part in self.parts:
            block = tuple(x.clone() for x in part)
            self.given += [weakref.ref(x) for x in block]
            yield block
            del block
            alive = sum(reference() is not None for reference in self.given)
            self.most = max(self.most, alive // 2)


@checker(2)
def check_online(answer):
    for scores, value, size, what in cases():
        blocks = Blocks(scores, value, size)
        with unaided():
            got = ask(answer, iter(blocks))
        problem = compare_pair(got, whole(scores, value), what)
        if problem:
            return problem
        if blocks.most > 2:
            return f"{what}: it keeps {blocks.most} blocks at once."


@checker(3)
def check_join(answer):
    for scores, value, _, what in (cases()[0], *cases()[3:]):
        what = what.removesuffix(", one block")
        for cut in (4, 7):
            halves = [whole(scores[:, keys], value[keys])
                      for keys in (slice(0, cut), slice(cut, None))]  # fmt: skip
            parts = [tuple(x.float() for x in half) for half in halves]
            # Of the pairs as they are given, with their logsumexps rounded.
            both = torch.stack([each for _, each in parts], -1)
            outputs = torch.stack([output for output, _ in parts], 1)
            expected = tuple(x[:, 0] for x in whole(both[:, None], outputs))
            for first, second in (parts, parts[::-1]):
                with unaided():
                    got = ask(answer, first, second)
                if problem := compare_pair(got, expected, what, near=1e-6):
                    if "output: off" in problem and not compare_pair(got, expected, what, 1e-3):
                        problem += (
                            " The sum of two logsumexps in the thousands is rounded to 1e-4:"
                            " subtract the two from each other."
                        )
                    return problem


@checker(4)
def check_backward(answer):
    generator = torch.Generator().manual_seed(4)
    for L, S, E, Ev, size in ((6, 9, 4, 3, 9), (40, 70, 8, 5, 16)):
        query, key, value, grad = (
            draw(generator, *shape, dtype=torch.float64).detach()
            for shape in ((L, E), (S, E), (S, Ev), (L, Ev))
        )
        leaves = [x.clone().requires_grad_() for x in (query, key, value)]
        scores = leaves[0] @ leaves[1].T / E**0.5
        output = scores.softmax(-1) @ leaves[2]
        expected = torch.autograd.grad(output, leaves, grad)
        given = (query, key, value, output.detach(),
                 scores.logsumexp(-1).detach(), grad)  # fmt: skip
        with torch.no_grad(), unaided(), Largest() as seen:
            got = ask(answer, *given, size)
        if not isinstance(got, tuple) or len(got) != 3:
            return "Expected three gradients, of query, key and value."
        for name, a, b in zip(("query", "key", "value"), got, expected, strict=True):
            what = f"{L} queries, {S} keys, gradient of {name}"
            if problem := compare(a, b, 1e-9, what):
                return problem
        allowed = max(L * size, *(x.numel() for x in given))
        if seen.most > 8 * allowed:
            return (
                f"{L} queries, {S} keys: a tensor of {seen.most // 8}"
                f" numbers, and {allowed} would do."
            )


@checker(5)
def check_step(answer):
    model = Roofline().model
    weights, kept, work = given = model["parameters"], 2 * model["kept"], model["work"]
    for chip in releases.CHIPS.values():
        peak, band = 1e12 * chip["compute"], 1e12 * chip["bandwidth"]
        for readers in (1, 64, 512):
            for tokens in (1024, 65536):
                moved = 2 * weights + readers * tokens * kept
                done = readers * (2 * weights + tokens * work)
                expected = max(moved / band, done / peak), done / moved
                got = ask(answer, *given, readers, tokens, peak, band)
                what = f"{chip['name']}, {readers} readers of {tokens:,} tokens"
                if not isinstance(got, (tuple, list)) or len(got) != 2:
                    return f"{what}: expected two numbers, seconds and FLOP a byte."
                parts = ((2 * weights, readers * 2 * weights),
                         (readers * tokens * kept, readers * tokens * work))  # fmt: skip
                apart = sum(max(moved / band, done / peak) for moved, done in parts)
                if math.isclose(apart, got[0]) and not math.isclose(apart, expected[0]):
                    return f"{what}: seconds: weights and attention overlap, too."
                for name, a, b in zip(("seconds", "FLOP a byte"), got, expected, strict=True):
                    if not math.isclose(a, b, rel_tol=1e-6):
                        return f"{what}: {name}: got {a:.4g}, expected {b:.4g}."
