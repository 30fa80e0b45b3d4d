"""What else can hold a deep stack in check: the deepest of `norms_deeper` without the clipping of
gradients, and post-norm at half the rate.

    python -m experiments.norms_controls            9 runs, about 6 minutes of one core
    python -m experiments.norms_controls --quick    tiny, to see that it runs

Eighteen layers a side, with no warm-up. All other runs scale a gradient down to norm 1 where it is
longer; here it is left as it is. Post-norm at half the rate keeps the clipping.
"""

from experiments import _record as record
from experiments import norms
from experiments.norms_deeper import DEPTHS, RATE, SEEDS, summarise

FORMS = (("none", RATE, False), ("pre", RATE, False), ("post", RATE / 2, True))
GROUP = ("norm", "rate", "clip")


def settings(quick: bool) -> list[dict]:
    """Every form and seed; with `quick`, one layer and few updates."""
    sizes = ({"steps": 4, "tested": 20, "layers": 1} if quick else
             {"steps": 300, "tested": 500, "layers": DEPTHS[-1]})  # fmt: skip
    return [
        {"norm": norm, "rate": rate, "clip": clip, "warm_up": False, "seed": seed, **sizes}
        for seed in (SEEDS[:2] if quick else SEEDS)
        for norm, rate, clip in FORMS
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("norms_controls", __doc__, argv),
        settings=settings,
        measure=norms.measure,
        results=lambda runs: {
            "layers": runs[0]["layers"],
            "steps": runs[0]["steps"],
            "training": norms.trained(runs, GROUP),
            "rows": summarise(runs, GROUP),
        },
    )


if __name__ == "__main__":
    main()
