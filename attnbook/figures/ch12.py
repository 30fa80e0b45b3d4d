"""The figures of 12 and 12b: what the table costs, and a card under its roof."""

import matplotlib.pyplot as plt

from attnbook import recorded, releases
from attnbook.figures.colours import BLUE, GREEN, VERMILION
from attnbook.machines import FastMemory, OnlineTiles, Roofline
from attnbook.tables import Table
from attnkit.efficient.flash import SHORT

PEAK = 1e12 * releases.CHIPS["h100"]["compute"]
BAND = 1e12 * releases.CHIPS["h100"]["bandwidth"]

VALUES = [7, 14, 21, 3, 10, 5, 18, 1]
SCORES = [0.5, 1.5, -1, 0, 2, -0.5, 1, 4]

FORMS = {
    "plain": ("with the table", VERMILION, "o"),
    "tiles": ("tiles in PyTorch", GREEN, "^"),
    "fused": ("fused kernel", BLUE, "s"),
}
PEAKS = {"plain": "full, by hand", "tiles": "flash in PyTorch", "fused": "full, fused"}
"""What the benchmarks call each form."""

PAPER = [
    {"name": "with the table", "gflop": 66.6, "gb": 40.3, "ms": 41.7},
    {"name": "FlashAttention", "gflop": 75.2, "gb": 4.4, "ms": 7.3},
]
"""Forward and backward of GPT-2's attention, from figure 2 of Dao et al. (2022)."""


def tiles(**settings) -> OnlineTiles:
    """The row of eight keys that the page opens."""
    return OnlineTiles(VALUES, scores=SCORES, **settings)


def memory(**settings) -> FastMemory:
    """The fast memory of the exercises."""
    return FastMemory(**settings)


def roof(**settings) -> Roofline:
    """The roofline of Llama 3.1 8B."""
    return Roofline(**settings)


def attention() -> dict[int, dict[str, float]]:
    """Milliseconds of each form by length, without a mask, forward, its memory kept."""
    return {
        row["count"]: {name: 1e3 * found["median"] for name, found in row["seconds"].items()}
        for row in recorded.results("three_forms")["rows"]
        if row["kept"]
    }


def two_calls() -> None:
    """Draw what reading a prompt and writing a token do and move, in milliseconds of an H100."""
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(5.8, 2.3), layout="constrained")
        names, y = ["read 2,048 tokens", "write the next one"], [0, 1]
        calls = [roof(phase=phase).parts(1)["step"] for phase in ("prefill", "decode")]
        for shift, label, ms, colour in (
            (-0.2, "arithmetic", [1e3 * done / PEAK for done, _ in calls], VERMILION),
            (0.2, "weights, keys, values", [1e3 * moved / BAND for _, moved in calls], BLUE),
        ):
            bars = ax.barh([at + shift for at in y], ms, height=0.36, color=colour, label=label)
            ax.bar_label(bars, [f"{v:.1f} ms" if v > 0.1 else f"{v:.3f} ms" for v in ms], padding=3)
        ax.set_yticks(y, names)
        ax.invert_yaxis()
        ax.set(xlim=(0, 37), xlabel="milliseconds")
        ax.legend(loc="lower right")
        figure.suptitle("Writing one token fetches the same weights as reading 2,048", fontsize=11)
        plt.show()


def bare_roof() -> None:
    """Draw the roof of an H100 and a matrix times 1 to 4,096 vectors under it."""
    side, ridge = 4096, PEAK / BAND
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(5.8, 2.3), layout="constrained")
        ax.plot([0.4, ridge, 8192], [0.4 * BAND / 1e12, PEAK / 1e12, PEAK / 1e12], color="black")
        ax.axvline(ridge, color="black", linestyle=":", linewidth=1)
        ax.annotate(f"ridge {ridge:.0f}", (ridge, 1.3), (5, 0), textcoords="offset points")
        for n in (1, 256, 4096):
            done, moved = 2 * side * side * n, 2 * (side * side + 2 * side * n)
            x, y = done / moved, min(PEAK, BAND * done / moved) / 1e12
            ax.plot(x, y, "o", color=BLUE, markersize=8, zorder=3)
            label = f"{n:,} vectors" if n > 1 else "1 vector"
            away = (14, -22) if n == 256 else (8, -12)
            ax.annotate(label, (x, y), away, textcoords="offset points", fontsize=10)
        ax.text(3, 60, "waits for bytes", ha="center", fontsize=10.5, color=VERMILION)
        ax.text(1600, 1900, "waits for arithmetic", ha="center", fontsize=10.5, color=VERMILION)
        ax.set(xscale="log", yscale="log", xlim=(0.4, 8192), ylim=(1, 6000))
        ax.set(xlabel="FLOP for each byte moved", ylabel="TFLOP/s")
        ax.set_xticks([1, 16, 256, 4096], ["1", "16", "256", "4,096"])
        ax.set_yticks([1, 10, 100, 1000], ["1", "10", "100", "1,000"])
        ax.minorticks_off()
        figure.suptitle("More uses of a byte: up the slope, then along the level", fontsize=11)
        plt.show()


def costs() -> None:
    """Draw the peak of memory and the time of each form by length."""
    peaks = recorded.results("bench-cpu")["long"]["memory"]
    lengths, times = [n for n in peaks if n.isdigit()], attention()
    with plt.style.context("attnbook.style"):
        figure, axes = plt.subplots(1, 2, figsize=(5.4, 2.5), layout="constrained")
        for form, (name, colour, marker) in FORMS.items():
            known = [n for n in lengths if PEAKS[form] in peaks[n]]
            mib = [peaks[n][PEAKS[form]]["mib"] for n in known]
            look = {"color": colour, "marker": marker}
            axes[0].plot([int(n) for n in known], mib, **look)
            drawn = [n for n in times if form != "tiles" or n > SHORT]
            axes[1].plot(drawn, [times[n][form] for n in drawn], label=name, **look)
        axes[0].set_title("MiB at the peak,\nboth passes, causal", fontsize=11)
        axes[1].set_title("milliseconds forward,\nno mask, memory kept", fontsize=11)
        for ax, ticks in zip(axes, ([1024, 2048, 4096, 8192], [*times]), strict=True):
            ax.set(xscale="log", yscale="log", xlabel="tokens")
            ax.set_xticks(ticks, [f"{n:,}" for n in ticks], fontsize=9)
            powers = [10**n for n in range(4) if ax.get_ylim()[0] < 10**n]
            ax.set_yticks(powers, [f"{n:,}" for n in powers])
            ax.minorticks_off()
            ax.grid(alpha=0.3)
        row = {"loc": "outside lower center", "ncols": 3, "handlelength": 1.2}
        figure.legend(fontsize=10.5, frameon=False, borderaxespad=0.2, **row)
        figure.suptitle("Without the table: memory grows with n, time with n²", fontsize=11.5)
        plt.show()


def card() -> Table:
    """What an H100 took, and what its roof allows."""
    found = {(row["case"], row["of"]): row for row in recorded.results("card")["rows"]}
    rows = []

    def line(what: str, done: float, moved: float, seconds: float) -> None:
        least = max(done / PEAK, moved / BAND)
        reached = f"{least / seconds:.0%}"
        rows.append([what, _time(least), _time(seconds), reached])

    for n in (1, 4, 256, 4096):
        row = found["weights", n]
        name = f"a matrix times {n:,} vector{'s' * (n > 1)}"
        line(name, row["operations"], row["bytes"], row["seconds"]["product"])
    row = found["attention", 4096]
    for name, form, table in (("with the table", "plain", row["table"]), ("fused", "fused", 0)):
        line(f"attention, 4,096 tokens, {name}", row["operations"], row["bytes"] + table,
             row["seconds"][form])  # fmt: skip
    for phase, name in (("prefill", "read 2,048 tokens"), ("decode", "write one token")):
        (done, moved), took = roof(phase=phase).parts(1)["step"], found["call", phase]["seconds"]
        line(f"{name}, from Python", done, moved, took["launched"])
        if "recorded" in took:
            line(f"{name}, recorded", done, moved, took["recorded"])
    return Table(["on an H100", "the roof allows", "it took", "share"], rows)


def _time(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms" if seconds >= 1e-3 else f"{1e3 * seconds:.3g} ms"
