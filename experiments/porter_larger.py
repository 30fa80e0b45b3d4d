"""The porter of `porter` with four times the places: up to 256 names to keep apart.

    python -m experiments.porter_larger            30 runs, an hour and a half of one CPU core
    python -m experiments.porter_larger --quick    two designs, a few updates, in seconds

256 places hold 16 to 256 pairs of 512 names. The designs are those of `porter`, all but the window
alone and the plain delta rule, each trained at the rate that served it best there. A state keeps as
many bytes as before, and a cache four times as many.
"""

from experiments import _record as record
from experiments import porter

PLACES, UPDATES = 256, 1600
RATES = dict.fromkeys(set(porter.DESIGNS) - {"window", "delta"}, porter.MIDDLE) | {
    "window, then full": porter.LOW
}


def settings(quick: bool) -> list[dict]:
    """Every design and seed, seeds outermost; with `quick`, two designs."""
    designs = ("full", "gated delta") if quick else [one for one in porter.DESIGNS if one in RATES]
    sizes = {"places": 32, "updates": 5} if quick else {"places": PLACES, "updates": UPDATES}
    return [
        {"design": design, "rate": RATES[design], "seed": seed, **sizes}
        for seed in (porter.SEEDS[:2] if quick else porter.SEEDS)
        for design in designs
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("porter_larger", __doc__, argv),
        settings=settings,
        measure=porter.measure,
        results=lambda runs: {
            "task": porter.task(runs[0]["places"]),
            "training": porter.trained(runs),
            "rows": porter.summarise(runs, runs[0]["places"]),
        },
    )


if __name__ == "__main__":
    main()
