"""Controls to `smaller_caches`: another rounder, latents fitted to more texts, and a turn alone.

    python -m experiments.smaller_caches_controls            a minute of one core
    python -m experiments.smaller_caches_controls --quick    short texts, in seconds

Nothing is trained. `by_feature`: a block that shares a least number and a step is one feature of 64
tokens, in keys and latents, and no longer 64 features of one token: as many bytes, but one large
feature coarsens no other. (Values stay as they were.) `texts`: so many that the latents are fitted
to. And a "latent" of all 384 numbers, which only turns the axes: so one sees what the turn alone
does to the rounding.
"""

import torch

from experiments import _record as record
from experiments import _smollm as smollm
from experiments import smaller_caches as caches

PLAIN, MORE = len(caches.FITS), 10
GROUP = ("form", "bits", "by_feature", "texts")
WAYS = [
    ("three", 16, False, PLAIN),
    *[(form, bits, True, PLAIN) for form in ("three", "latent 192") for bits in (8, 4, 2)],
    *[(caches.TURNED, bits, False, PLAIN) for bits in (4, 2)],
    *[(form, 16, False, MORE) for form in ("latent 192", "latent 96", "latent 48")],
]


def settings(quick: bool) -> list[dict]:
    """Every way on every text."""
    sizes = {"length": caches.LENGTH, "fitted": caches.FITTED, "written": 0}
    sizes |= {"length": 24, "fitted": 32} if quick else {}
    return [
        {**dict(zip(GROUP, way, strict=True)), "seed": seed, **sizes}
        for way in (WAYS[:2] if quick else WAYS)
        for seed in range(2 if quick else caches.TEXTS)
    ]


def measure(setting: dict, *, device: torch.device) -> dict:
    """The loss of a token of one text."""
    return {"loss": caches.measure(setting, device=device)["loss"]}


def results(runs: list[dict]) -> dict:
    """Of each way: bytes a token, and the loss."""
    return {
        "model": smollm.NAME,
        "rows": [
            {
                **same,
                "bytes": caches.bytes_a_token(same["form"], same["bits"]),
                **record.median_intervals(group, ("loss",)),
                "mean_loss": round(sum(run["loss"] for run in group) / len(group), 4),
            }
            for same, group in record.grouped(runs, GROUP)
        ],
    }


def main(argv: list[str] | None = None) -> dict:
    """Run the controls and write their results file; return what was written."""
    chosen = record.options("smaller_caches_controls", __doc__, argv)
    return record.run(chosen, settings=settings, measure=measure, results=results)


if __name__ == "__main__":
    main()
