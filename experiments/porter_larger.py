"""The porter of `porter` with four times the places: up to 256 names to keep apart.

    python -m experiments.porter_larger            18 runs, an hour of one CPU core
    python -m experiments.porter_larger --quick    two designs, a few updates, in seconds

256 places hold 16 to 256 pairs of 512 names. Six designs of `porter`, each trained at the rate that
served it best there, but the latent at the one below it, since it learned nothing here at its own
in a first run. A state keeps as many bytes as before, and a cache four times as many.
"""

from experiments import _record as record
from experiments import porter

PLACES, UPDATES = 256, 1600
RATES = {
    "full": porter.MIDDLE,
    "window, then full": porter.LOW,
    "latent": porter.LOW,
    "linear": porter.MIDDLE,
    "gated delta": porter.MIDDLE,
    "gated delta, then full": porter.MIDDLE,
}


def settings(quick: bool) -> list[dict]:
    """Every design and seed, seeds outermost; with `quick`, two designs."""
    designs = ("full", "gated delta") if quick else RATES
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
