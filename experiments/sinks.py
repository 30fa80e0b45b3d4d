"""On what does SmolLM2-135M-Instruct rest its weight, and what makes a token the one to rest on?

    python -m experiments.sinks            four minutes of one core
    python -m experiments.sinks --quick    two texts, in half a minute

A hundred texts of 96 tokens, which begin anywhere in a sentence. By layer and head: the mean weight
on the first token, of the tokens from place 60 on. Then what makes it the first. Token 48 is
blindfolded: it sees itself alone, in every layer, and all others read on as before. Or token 48 is
replaced by the piece that every chat begins with, <|im_start|>. The weight on place 48 says
whether it has become such a resting place.
"""

import torch
from torch import Tensor

from attnkit import masks
from experiments import _record as record
from experiments import _smollm as smollm

TEXTS, LENGTH, PLACE, FROM = 100, 96, 48, 60
CASES = ("plain", "blindfold", "special")


def settings(quick: bool) -> list[dict]:
    """One for each text; the seed is the text's number."""
    return [{"seed": text} for text in range(2 if quick else TEXTS)]


def blindfolded(length: int, place: int) -> Tensor:
    """The causal mask in which the token at `place` sees itself alone."""
    mask = masks.causal(length)
    mask[place] = False
    mask[place, place] = True
    return mask


def measure(setting: dict, *, device: torch.device) -> dict:
    """Of each case the weight (layers, H) on the first token and on PLACE, and the largest feature
    of the states of both and of the other tokens, by layer."""
    kind, tokens = smollm.text(setting["seed"], LENGTH)
    special = tokens.clone()
    special[0, PLACE] = smollm.reader().tokenizer.token_to_id("<|im_start|>")
    changed = {"plain": {}, "blindfold": {"mask": blindfolded(LENGTH, PLACE)}, "special": {}}
    found = {"kind": kind, "first": smollm.reader().words(tokens[0, :1].tolist())[0]}
    for case, change in changed.items():
        read = smollm.read(special if case == "special" else tokens, need_weights=True, **change)
        rows = read.weights[0, :, :, FROM:]  # (layers, H, rows, L)
        largest = read.states[0].abs().amax(-1)  # (layers + 1, L)
        found[case] = {
            "on_first": _rounded(rows[..., 0].mean(-1)),
            "on_place": _rounded(rows[..., PLACE].mean(-1)),
            "largest": {
                "first": _rounded(largest[:, 0], 1),
                "place": _rounded(largest[:, PLACE], 1),
                "others": _rounded(largest[:, FROM:].median(-1).values, 1),
            },
        }
    return found


def _rounded(x: Tensor, digits: int = 4) -> list:
    return [round(v, digits) if isinstance(v, float) else [round(y, digits) for y in v]
            for v in x.tolist()]  # fmt: skip


def results(runs: list[dict]) -> dict:
    """For each case, over the texts, the weight by layer; for the plain one by kind and head."""
    rows = []
    for case in CASES:
        first = torch.tensor([run[case]["on_first"] for run in runs])  # (N, layers, H)
        place = torch.tensor([run[case]["on_place"] for run in runs])
        layers = range(first.shape[1])
        rows.append({
            "case": case,
            "on_first": record.median_interval(first.mean((1, 2)).tolist()),
            "on_place": record.median_interval(place.mean((1, 2)).tolist()),
            "least": round(first.mean((1, 2)).min().item(), 4),
            "layers": {
                name: [record.median_interval(x[:, n].mean(-1).tolist()) for n in layers]
                for name, x in (("on_first", first), ("on_place", place))
            },
            "largest": {
                name: torch.tensor([run[case]["largest"][name] for run in runs])
                .median(0).values.tolist()
                for name in ("first", "place", "others")
            },
        })  # fmt: skip
    plain = torch.tensor([run["plain"]["on_first"] for run in runs])
    by_kind = {}
    for kind in smollm.KINDS:
        mine = torch.tensor([run["kind"] == kind for run in runs])
        by_kind[kind] = record.median_interval(plain[mine].mean((1, 2)).tolist())
    return {
        "model": smollm.NAME,
        "texts": len(runs),
        "first_tokens": len({run["first"] for run in runs}),
        "kinds": by_kind,
        "heads": _rounded(plain.mean(0)),  # (layers, H)
        "rows": rows,
    }


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("sinks", __doc__, argv)
    return record.run(chosen, settings=settings, measure=measure, results=results)


if __name__ == "__main__":
    main()
