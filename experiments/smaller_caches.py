"""Smaller caches for SmolLM2-135M-Instruct: groups, latents and fewer bits, and the loss with each.

    python -m experiments.smaller_caches            a minute or two of one core
    python -m experiments.smaller_caches --quick    short texts, in seconds

Nothing is trained. A layer of this model keeps keys and values of three heads of 64 features for a
token. Here every cache hands back what is left of them: the mean of the heads; the best latent of
so many numbers, fitted to the keys (before they are turned) and values of other texts; each number
in fewer bits, with two of 16 bits for every 64 numbers, the least and the step. Bytes count those.
With each it also writes on from one fixed beginning, always the likeliest token.
"""

from collections.abc import Callable
from functools import cache, partial

import torch
from torch import Tensor

from attnkit import KVCache
from attnkit.positions import rotary
from experiments import _record as record
from experiments import _smollm as smollm

LENGTH, FITTED, TEXTS, FITS = 192, 384, 3, (40, 41)
BEGINNING, WRITTEN = "Once upon a time there was a king who", 20
"""What it writes on from, and how many tokens: the first beginning of six whose text, with the
cache as it is, is of several sentences without a repetition."""
KEPT = smollm.KV_HEADS * smollm.HEAD_DIM
"""Numbers in the keys of a token, and as many in its values."""

FORMS = {"three": 0, "one": 0, "latent 192": 192, "latent 96": 96, "latent 48": 48}
"""The heads as they are, their mean, and latents by their numbers."""
TURNED = "latent 384"
"""All numbers, along the directions of the latents; only `smaller_caches_controls` asks for it."""

BITS, BLOCK, ENDS = (16, 8, 4, 2), 64, 32
"""Bits of a number; how many numbers share a least one and a step; the bits of these two."""


def _latent(form: str) -> int:
    return 2 * KEPT if form == TURNED else FORMS[form]


def numbers(form: str) -> int:
    """Numbers of a token in one layer."""
    return _latent(form) or 2 * KEPT // (3 if form == "one" else 1)


def bytes_a_token(form: str, bits: int) -> float:
    """Bytes of a token in all layers."""
    n = numbers(form)
    own = n * bits + (-(-n // BLOCK) * ENDS if bits < 16 else 0)
    return smollm.LAYERS * own / 8


def quantised(x: Tensor, bits: int) -> Tensor:
    """The numbers in `bits` bits each, block by block of the last dimension, and back."""
    if bits >= 16:
        return x
    blocks = x.split(BLOCK, -1)
    return torch.cat([_rounded(block, 2**bits - 1) for block in blocks], -1)


def by_feature(x: Tensor, bits: int) -> Tensor:
    """The same with blocks of tokens, the last dimension but one, for each feature apart."""
    return quantised(x.mT, bits).mT


def _rounded(x: Tensor, steps: int) -> Tensor:
    least = x.amin(-1, keepdim=True)
    step = ((x.amax(-1, keepdim=True) - least) / steps).clamp_min(1e-8)
    return ((x - least) / step).round() * step + least


def unturned(key: Tensor) -> Tensor:
    """Keys (B, H, L, D) of positions 0, 1, ... before they were turned: by the mirror image."""
    mirror = torch.ones(key.shape[-1])
    mirror[1::2] = -1
    return mirror * rotary(mirror * key, base=smollm.BASE)


def flat(key: Tensor, value: Tensor) -> Tensor:
    """Keys and values (B, H, L, D) of a token in one row: (B, L, 2 * H * D)."""
    return torch.cat([x.transpose(1, 2).flatten(2) for x in (key, value)], -1)


class Kept(KVCache):
    """A cache that hands back what `squeeze` leaves of keys and values."""

    def __init__(self, squeeze):
        super().__init__()
        self.squeeze = squeeze

    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        return super().update(*self.squeeze(key, value))


@cache
def directions(length: int, texts: int = len(FITS)) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Of each layer: scale and mean (2 * KEPT,) of keys and values, and their directions as
    columns, the one of most variance first; of so many texts from the first of `FITS` on."""
    held = [[] for _ in range(smollm.LAYERS)]

    def keep(rows: list, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        rows.append(flat(unturned(key), value)[0])
        return key, value

    for number in range(FITS[0], FITS[0] + texts):
        caches = [Kept(partial(keep, rows)) for rows in held]
        smollm.read(smollm.text(number, length)[1], caches=caches)
    return [fitted_to(torch.cat(rows)) for rows in held]


def fitted_to(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Scale, mean and directions, as `directions` says, of one layer's rows (N, 2 * KEPT)."""
    mean, (keys, values) = x.mean(0), (x - x.mean(0)).split(KEPT, -1)
    scale = torch.cat([part.square().mean().sqrt().expand(KEPT) for part in (keys, values)])
    return scale, mean, torch.linalg.svd((x - mean) / scale)[2].T


def squeezed(
    layer: int,
    form: str,
    bits: int,
    fitted: int,
    key: Tensor,
    value: Tensor,
    texts: int = len(FITS),
    rounded: Callable[[Tensor, int], Tensor] = quantised,
) -> tuple[Tensor, Tensor]:
    """What a layer's cache of that form and those bits hands back of keys and values, its keys, or
    its latent, `rounded` in this way."""
    if size := _latent(form):
        scale, mean, columns = directions(fitted, texts)[layer]
        basis = columns[:, :size]
        latent = rounded((flat(unturned(key), value) - mean) / scale @ basis, bits)
        made = ((latent @ basis.T) * scale + mean).split(KEPT, -1)
        key, value = (x.unflatten(-1, (smollm.KV_HEADS, -1)).transpose(1, 2) for x in made)
        return rotary(key, base=smollm.BASE), value
    if form == "one":
        key, value = (x.mean(1, keepdim=True).expand_as(x) for x in (key, value))
    return rounded(key, bits), quantised(value, bits)


def settings(quick: bool) -> list[dict]:
    """Every form in every number of bits, on every text."""
    sizes = {"length": LENGTH, "fitted": FITTED, "written": WRITTEN}
    sizes = {"length": 24, "fitted": 32, "written": 2} if quick else sizes
    return [
        {"form": form, "bits": bits, "seed": seed, **sizes}
        for form in (("three", "latent 48") if quick else FORMS)
        for bits in (BITS[::3] if quick else BITS)
        for seed in range(2 if quick else TEXTS)
    ]


@torch.no_grad()
def measure(setting: dict, *, device: torch.device) -> dict:
    """The loss of a token of one text, how far keys and values are from what they were, and for
    the first text what the model writes of itself."""
    form, bits, fitted = (setting[key] for key in ("form", "bits", "fitted"))
    tokens = smollm.text(setting["seed"], setting["length"])[1]
    rounded = by_feature if setting.get("by_feature") else quantised
    way = {"texts": setting.get("texts", len(FITS)), "rounded": rounded}
    errors = []

    def read(tokens: Tensor) -> Tensor:
        """States after the last layer, from caches that keep what the setting leaves."""
        caches = [Kept(partial(squeeze, layer)) for layer in range(smollm.LAYERS)]
        return smollm.read(tokens, caches=caches).states[:, -1]

    def squeeze(layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        left = squeezed(layer, form, bits, fitted, key, value, **way)
        pairs = zip(left, (key, value), strict=True)
        errors.append([((a - b).norm() / b.norm()).item() for a, b in pairs])
        return left

    loss = smollm.losses(read(tokens), tokens).mean().item()
    keys, values = (sum(column) / len(errors) for column in zip(*errors, strict=True))
    # One text for each cache: of the likeliest tokens, another seed writes the same.
    said = written(read, setting["written"]) if setting["seed"] == 0 and setting["written"] else ""
    found = {"loss": round(loss, 4), "keys": round(keys, 4), "values": round(values, 4)}
    return found | {"said": said}


def written(read: Callable[[Tensor], Tensor], count: int) -> str:
    """What follows `BEGINNING`, token by token the likeliest. All is read again for each, since
    latents are of keys that begin at position 0."""
    model, tokenizer = smollm.reader().model, smollm.reader().tokenizer
    tokens = torch.tensor([tokenizer.encode(BEGINNING).ids])
    begun = tokens.shape[1]
    for _ in range(count):
        logits = model.output(model.stack.norm(read(tokens)[:, -1:]))  # (1, 1, V)
        tokens = torch.cat([tokens, logits.argmax(-1)], 1)
    return tokenizer.decode(tokens[0, begun:].tolist())


def results(runs: list[dict]) -> dict:
    """Of each form and number of bits: bytes a token, loss, and errors of keys and values."""
    return {
        "model": smollm.NAME,
        "beginning": BEGINNING,
        "rows": [
            {
                **same,
                "numbers": numbers(same["form"]),
                "bytes": bytes_a_token(same["form"], same["bits"]),
                **record.median_intervals(group, ("loss", "keys", "values")),
                "mean_loss": round(sum(run["loss"] for run in group) / len(group), 4),
                "said": group[0]["said"],
            }
            for same, group in record.grouped(runs, ("form", "bits"))
        ],
    }


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("smaller_caches", __doc__, argv)
    return record.run(chosen, settings=settings, measure=measure, results=results)


if __name__ == "__main__":
    main()
