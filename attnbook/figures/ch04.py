"""The figures of chapter 04: five models on one grid of learning rates, and what a score costs."""

import statistics

import matplotlib.pyplot as plt

from attnbook import recorded
from attnbook.figures.colours import BLACK, BLUE, GREEN, PINK, VERMILION
from attnlab.metrics.intervals import median_interval

TASK, SEEDS = "toy_french", 3
STYLE = {
    "dot": {"color": BLUE, "marker": "s"},
    "general": {"color": GREEN, "marker": "^"},
    "concat": {"color": PINK, "marker": "v"},
    "additive": {"color": VERMILION, "marker": "o"},
    "dot, input feeding": {"color": BLACK, "marker": "D"},
}
"""One colour and one marker a model, on both pages."""

SIDES = {"concat": 0.978, "dot": 0.94, "additive": 0.902, "general": 0.862}
"""The models of the figure, and how high the name of each stands at the right."""


def exact(run: dict, lengths: range) -> float:
    """The share of exact answers over sources of these lengths."""
    counts = [run["by_length"][str(n)] for n in lengths if str(n) in run["by_length"]]
    return sum(c[1] for c in counts) / sum(c[0] for c in counts)


def by_rate() -> dict[str, dict[float, list[float]]]:
    """Exact answers of three seeds by model and learning rate, on sources as long as in training.

    Example:
        >>> found = by_rate()
        >>> list(found)[:3], sorted(found["general"])
        (['dot', 'general', 'concat'], [0.002, 0.004, 0.008])
    """
    usual, others = recorded.results(f"by_length_{TASK}"), recorded.results("score_rates")
    rates = {side["model"]: side["rates"] for side in usual["training"]}
    lengths = range(1, usual["trained_to"] + 1)
    found = {}
    for model in STYLE:
        (row,) = (row for row in usual["rows"] if row["model"] == model)
        (rate,) = rates[model]
        runs = {rate: row["runs"][:SEEDS]}
        runs |= {row["rate"]: row["runs"] for row in others["rows"] if row["model"] == model}
        found[model] = {rate: [exact(run, lengths) for run in runs[rate]] for rate in sorted(runs)}
    return found


def rates() -> None:
    """Exact answers against the learning rate, a line a model."""
    found = by_rate()
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(6.1, 2.7), layout="constrained")
        for place, (model, high) in enumerate(SIDES.items()):
            across = [rate * 1.03 ** (place - 1.5) for rate in found[model]]  # beside each other
            middle, *ends = zip(*map(median_interval, found[model].values()), strict=True)
            style = STYLE[model]
            ax.plot(across, middle, markersize=7, label=model, **style)
            ax.vlines(across, *ends, color=style["color"], linewidth=2)
            ax.text(0.0087, high, model, color=style["color"], va="center", weight="bold")
        ticks = list(found["dot"])
        ax.set(xscale="log", xlim=(0.0018, 0.0119), ylim=(0.5, 1))
        ax.set(xlabel="learning rate", ylabel="exact answers")
        ax.set_xticks(ticks, [f"{rate:g}" for rate in ticks])
        ax.minorticks_off()
        figure.suptitle("Up to 0.008, a faster rate helps every score")
        plt.show()


SHAPES = {
    "one step": ("1 word asks 30", -0.2, "white"),
    "256 tokens": ("256 ask 256", 0.2, BLACK),
}
"""The shapes whose times are drawn: their names, the place and the filling of their marks."""


def price() -> None:
    """A mark a layer and shape: how many times as long as dot it takes, with quartiles."""
    rows = {row["shape"]: row["ratios"] for row in recorded.results("score_cost")["rows"]}
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(6.1, 2.0), layout="constrained")
        for shape, (label, aside, fill) in SHAPES.items():
            ratios = rows[shape].values()  # of forward and backward, the last row of a shape
            high = [place + aside for place in range(len(ratios))]
            middle, *ends = ([one[key] for one in ratios] for key in ("ratio", "low", "high"))
            ax.hlines(high, *ends, color=BLACK, linewidth=2)
            ax.plot(middle, high, "o", color=BLACK, markerfacecolor=fill, label=label)
            for x, end, y in zip(middle, ends[1], high, strict=True):
                said = f"{x:.0f}" if x > 9.5 else f"{x:.1f}"
                ax.annotate(
                    said, (end, y), (5, -14 * aside), textcoords="offset points", va="center"
                )
        names = [name.replace("broadcast", "as in chapter 03") for name in rows["one step"]]
        ax.set_yticks(range(len(names)), names)
        ax.set(xscale="log", xlim=(0.65, 110), ylim=(3.5, -0.5))
        ax.set_xticks([1, 10, 100], ["as long as dot", "10 times", "100 times"])
        ax.minorticks_off()
        ax.legend(loc="lower right", bbox_to_anchor=(1, 0.98), ncols=2, frameon=False)
        figure.suptitle("How much a network costs depends on how many words ask")
        plt.show()


def rates_table() -> None:
    """Print what the figure shows, the sizes, and each model's best rate."""
    usual, others = recorded.results(f"by_length_{TASK}"), recorded.results("score_rates")
    print(recorded.origin(usual).replace(" (", "\n  (", 1))
    print(recorded.origin(others).replace(" (", "\n  (", 1))
    print("toy_french, 1,000 updates, sources as long as in training: exact answers,")
    print("median of seeds 0 to 2 (smallest to largest)")
    found = by_rate()
    print(f"{'rate':20}" + "".join(f"{rate:<20g}" for rate in found["dot"]).rstrip())
    for model, rated in found.items():
        cells = "".join(f"{f'{median_interval(some):.2f}':20}" for some in rated.values())
        print(f"{model:20}{cells}".rstrip())
    print("at the best of these rates:")
    for model, rated in found.items():
        rate = max(rated, key=lambda rate, rated=rated: median_interval(rated[rate])[0])
        (row,) = (row for row in usual["rows"] if row["model"] == model)
        size = f"{row['runs'][0]['parameters']:,} numbers, states of {row['runs'][0]['hidden_dim']}"
        alike = next(x for x in others["rows"] if (x["model"], x["rate"]) == (model, rate))
        seconds = statistics.median(run["cpu_seconds"] for run in alike["runs"])
        share = f"{median_interval(rated[rate]):.2f}"
        print(f"{model:20}{share:20}rate {rate:g}, {seconds:.0f} s, {size}")


def cost_table() -> None:
    """Print how long a layer of each score takes, as ratios to dot."""
    timed = recorded.results("score_cost")
    print(recorded.origin(timed))
    print("time of a layer / time of dot: median of the rounds (quartiles)")
    for row in timed["rows"]:
        passes = "forward and backward" if row["backward"] else "forward"
        batch = f"{row['batch']} sentences of {row['queries']} x {row['keys']}"
        print(f"{row['shape']}, {batch}, {passes}")
        for name, found in row["ratios"].items():
            ratio, low, high = (
                f"{x:.0f}" if x > 9.5 else f"{x:.1f}"
                for x in (found["ratio"], found["low"], found["high"])
            )
            print(f"  {name:20} {ratio} ({low} to {high})")
