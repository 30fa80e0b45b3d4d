"""A small attention layer with ten lines that can each be broken, and what checks say of it.

The machine of chapter 16 shows these lines, and `build` runs them: what is read is what is checked.
`write` asks every check of every combination of at most two broken lines, in a quarter of a minute,
and puts what they say into `broken_layer.json` beside this file.
"""

import itertools
import json
from collections.abc import Collection, Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook import museum
from attnkit import testing

HEADS, SIZE = 2, 4


class Line(NamedTuple):
    """A line of the layer; without a `name` it cannot be broken. `exhibit` is the museum's name,
    and `slip` what to say of the line where that name is wrong once another line is broken too."""

    right: str
    wrong: str = ""
    name: str = ""
    exhibit: str = ""
    slip: str = ""


LINES = (
    Line("def forward(self, x, mask):  # True: may look"),
    Line("    qkv = self.qkv(x).chunk(3, -1)"),
    Line(
        "    q, k, v = (t.unflatten(-1, (H, D)).transpose(1, 2) for t in qkv)",
        "    q, k, v = (t.reshape(B, H, L, D) for t in qkv)",
        "split",
        "heads split by a view",
    ),
    Line("    scores = q @ k.mT / D**0.5", "    scores = q @ k.mT", "scale", "no scale"),
    Line(
        "    seen = torch.ones(L, L).tril().bool()",
        "    seen = torch.ones(L, L).tril(1).bool()",
        "causal",
        "one place too far",
    ),
    Line(
        "    seen = seen & mask[:, None]",
        "    seen = seen & mask[:, None].mT",
        "axis",
        "mask over the queries",
    ),
    Line(
        "    low = torch.finfo(scores.dtype).min",
        "    low = -1e9",
        "fill",
        "filled with -1e9",
    ),
    Line(
        "    scores = scores.masked_fill(~seen, low)",
        "    scores.masked_fill(~seen, low)",
        "kept",
        "mask after the softmax",
        "result not kept",
    ),
    Line(
        "    weights = scores.softmax(-1)",
        "    weights = scores.softmax(-2)",
        "axis_of_softmax",
        "softmax over the queries",
    ),
    Line(
        "    weights = weights * seen",
        "    # weights = weights * seen",
        "empty",
        "average of an empty row",
    ),
    Line(
        "    used = F.dropout(weights, 0.2, self.training)",
        "    used = F.dropout(weights, 0.2)",
        "dropout",
        "dropout in eval",
    ),
    Line("    output = (used @ v).transpose(1, 2).flatten(2)"),
    Line(
        "    return self.out(output), weights",
        "    return self.out(output), weights.mean(1)",
        "mean",
        "heads averaged",
    ),
)
BREAKABLE = tuple(line for line in LINES if line.name)

CHECKS = (
    "assert_causal",
    "assert_padding_invariant",
    "assert_masked_values_ignored",
    "assert_empty_rows_see_nothing",
    "assert_rows_sum_to_one",
    "assert_scale",
    "assert_heads_independent",
    "assert_dropout_off_in_eval",
    "assert_half_precision",
)
CANNOT = "cannot be asked: "
"""What a check's words begin with that finds nothing to look at."""


class _Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.d_model = HEADS * SIZE
        torch.manual_seed(0)
        self.qkv = nn.Linear(self.d_model, 3 * self.d_model)
        self.out = nn.Linear(self.d_model, self.d_model)

    def heads(self, x: Tensor) -> list[Tensor]:
        """Query, key and value (B, H, L, D), as they should be."""
        parts = self.qkv(x).chunk(3, -1)
        return [part.unflatten(-1, (HEADS, SIZE)).transpose(1, 2) for part in parts]

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Output (B, L, E) and weights (B, H, L, L) of x (B, L, E) and a mask (B, L, L)."""
        if mask is None:
            mask = torch.ones(*x.shape[:2], x.shape[1], dtype=torch.bool)
        return self.lines(x, mask)


def build(broken: Collection[str] = ()) -> nn.Module:
    """The layer in which the lines of these names are wrong."""
    head, *rest = (line.wrong if line.name in broken else line.right for line in LINES)
    sizes = f"    B, L, _ = x.shape\n    H, D = {HEADS}, {SIZE}"
    names = {"torch": torch, "F": F}
    exec("\n".join([head, sizes, *rest]), names)
    return type("SelfAttention", (_Layer,), {"lines": names["forward"]})()


def _adapted(layer: nn.Module) -> testing.Adapted:
    def project(query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        return layer.heads(query)[0], layer.heads(key)[1]

    return testing.adapt(layer, causal=True, self_attention=True, project=project)


def said(broken: Collection[str] = ()) -> list[str]:
    """What the three usual tests and the checks say of the layer, "" where they find nothing."""
    layer, right = _adapted(build(broken)), _adapted(build())
    usual = museum.three_tests(layer, right)
    words = ["" if passed else "fails" for passed in usual]
    for name in CHECKS:
        try:
            getattr(testing, name)(layer)
            words.append("")
        except testing.NotApplicable as error:
            words.append(CANNOT + str(error))
        except AssertionError as error:
            words.append(str(error))
    return words


def combinations() -> Iterator[tuple[str, ...]]:
    """The names of the broken lines, none, one or two, in the order of the lines."""
    names = [line.name for line in BREAKABLE]
    return chain.from_iterable(itertools.combinations(names, size) for size in range(3))


def record() -> dict[str, Any]:
    """What is said of every combination: all words once, and for each combination their places."""
    words: dict[str, int] = {"": 0}
    rows = {
        " ".join(names): [words.setdefault(word, len(words)) for word in said(names)]
        for names in combinations()
    }
    return {"words": list(words), "rows": rows}


FILE = Path(__file__).with_suffix(".json")


@cache
def recorded() -> dict[str, Any]:
    """What `record` wrote."""
    return json.loads(FILE.read_text("utf8"))


def write() -> None:
    """Record anew."""
    FILE.write_text(json.dumps(record(), ensure_ascii=False, separators=(",", ":")) + "\n", "utf8")
