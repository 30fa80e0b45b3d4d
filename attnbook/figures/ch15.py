"""The figures and tables of page 15: what one head of a published model looks at, and whether a
translator needs the heads that look where one would expect."""

import matplotlib.pyplot as plt
import torch

from attnbook import recorded
from attnbook.figures.colours import BLUE, GREEN, VERMILION

LIGHT_GREY = "#666666"
PROPERTIES = {
    "meant": "the referent",
    "animate": "alive",
    "subject": "the subject",
    "farther": "farther away",
}
FRAMES = {
    "active": "The animal didn't …",
    "passive": "The street wasn't …",
    "place first": "Near the street, …",
    "animate first": "For the animal, …",
}
"""The frames as the plot names them, by their first words."""
MODELS = {"A": ("o", BLUE), "B": ("s", VERMILION), "C": ("^", GREEN)}
OURS = (3, 1)
"""Layer and head of our head."""


def _head(run: dict, place: tuple[int, int] = OURS) -> dict:
    return next(row for row in run["rows"] if (row["layer"], row["head"]) == place)


def effects() -> None:
    """Draw the four effects of our head with their intervals, and how often it finds the
    referent, by frame."""
    run = recorded.results("reference")
    found = [_head(run)["effects"][name] for name in PROPERTIES]
    frames = run["famous"]["frames"]
    with plt.style.context("attnbook.style"):
        figure, (left, right) = plt.subplots(1, 2, figsize=(6, 2.4), layout="constrained")
        middle = [e["median"] for e in found]
        low = [e["median"] - e["low"] for e in found]
        high = [e["high"] - e["median"] for e in found]
        left.errorbar(middle, range(4), xerr=[low, high], fmt="o", color=BLUE, capsize=4)
        for place, value in enumerate(middle):
            told = f"{value:+.2f}".replace("-", "−")
            near = abs(value) < 0.15  # the line at 0
            side = ("left" if value > 0 else "right") if near else "center"
            left.text(value, place - 0.22, told, ha=side, fontsize=9.5)
        left.axvline(0, color=LIGHT_GREY, linewidth=0.8)
        left.set_yticks(range(4), PROPERTIES.values())
        left.set(xlim=(-0.4, 0.42), ylim=(3.6, -0.7), xticks=[-0.3, 0, 0.3])
        left.set_title("extra weight if a noun is …", fontsize=10.5, loc="right")
        share = [frame["right"] for frame in frames]
        right.barh(range(4), share, color=BLUE, height=0.6)
        for place, value in enumerate(share):
            right.text(value + 0.02, place, f"{value:.0%}", va="center", fontsize=9.5)
        right.axvline(0.5, color=LIGHT_GREY, linestyle="--", linewidth=1)
        right.text(0.51, -0.65, "a coin", color=LIGHT_GREY, fontsize=9.5)
        right.set_yticks(range(4), [FRAMES[frame["frame"]] for frame in frames])
        right.set(xlim=(0, 1), ylim=(3.6, -0.95), xticks=[0, 0.5, 1])
        right.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        right.set_title("more weight on the referent", fontsize=10.5, loc="right")
        figure.suptitle("Our head: the subject counts most, the referent a little")
        plt.show()


def il_or_elle() -> None:
    """Draw each head of the translators: how much more weight the referent gets there, against the
    right pronouns without that head."""
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(6, 2.7), layout="constrained")
        missed = {}  # of each model the head without which it does worst
        for run, (name, (marker, colour)) in zip(_longest()["runs"], MODELS.items(), strict=True):
            heads = [head for head in run["heads"] if head["kind"] != "decoder"]
            points = [(head["effects"]["meant"], head["right_without"]) for head in heads]
            missed[name] = min(points, key=lambda point: point[1])
            ax.plot(
                *zip(*points, strict=True),
                marker,
                color=colour,
                alpha=0.75,
                label=f"model {name}",
            )
        ax.axhline(0.5, color=LIGHT_GREY, linestyle="--", linewidth=1)
        ax.text(0.12, 0.515, "a coin", color=LIGHT_GREY, fontsize=9.5, ha="center")
        notes = (
            (
                "B: extra weight for the\nreferent, and needed",
                missed["B"],
                (0.255, 0.64),
                "right",
            ),
            (
                "C: same weight on both nouns,\nand needed just as much",
                missed["C"],
                (0.016, 0.6),
                "left",
            ),
            ("A: looks at the adjective", missed["A"], (0.016, 0.78), "left"),
            ("most heads", (0.0035, 1), (0.075, 0.93), "left"),
        )
        for words, point, (x, y), ha in notes:
            ax.annotate(
                words,
                point,
                (x, y),
                ha=ha,
                va="center",
                fontsize=9.5,
                arrowprops={"arrowstyle": "-", "color": LIGHT_GREY, "linewidth": 0.8, "shrinkB": 4},
            )
        ax.set(xlim=(-0.05, 0.26), ylim=(0.42, 1.04))
        ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        ax.set_xlabel("extra weight for the referent in this head")
        ax.set_ylabel("right pronouns without it")
        ax.legend(fontsize=9.5, loc="upper right")
        figure.suptitle("Two heads are needed alike; only one favours the referent")
        plt.show()


def _longest() -> dict:
    """The translators of the most updates."""
    return max(recorded.results("il_or_elle")["rows"], key=lambda row: row["steps"])


def reference_table() -> None:
    """Print the numbers of the first figure, and how our head and a chosen one do elsewhere."""
    run = recorded.results("reference")
    print(recorded.origin(run).replace(" (", "\n(", 1))
    surest = min(e["coverage"] for row in run["rows"] for e in row["effects"].values())
    print(f"{run['items']} items, {2 * run['pairs']:,} sentences; intervals hold the median with")
    print(f"a confidence of at least {surest:.2f}; our head, medians:")
    for name, label in PROPERTIES.items():
        effect = _head(run)["effects"][name]
        print(
            f"  {label:13} {effect['median']:+.2f} ({effect['low']:+.2f} to {effect['high']:+.2f})"
        )
    print("share of sentences with more on the animate noun, and on the referent:")
    for frame in run["famous"]["frames"]:
        print(f"  {frame['frame']:14} {frame['looks_animate']:.2f}   {frame['right']:.2f}")
    print(f"  all together          {_head(run)['right']:.2f}")
    subjects = {"active", "place first"}  # where the animate noun is the subject
    looks = [
        frame["looks_animate"] if frame["frame"] in subjects else 1 - frame["looks_animate"]
        for frame in run["famous"]["frames"]
    ]
    print(f"share with more on the subject, all together: {sum(looks) / len(looks):.2f}")
    largest = sorted((row["effects"]["meant"]["median"] for row in run["rows"]), reverse=True)
    print(
        f"extra weight for the referent, largest of 72: {largest[0]:+.2f}, next {largest[1]:+.2f}"
    )
    moves = sum(row["moves"] > 0.75 for row in run["rows"])
    print(f"heads where a changed ending moves weight its way, in over 3/4 of pairs: {moves} of 72")


def chosen_table() -> None:
    """Print how the head with the best score does on other sentences, and how coins do."""
    run = recorded.results("reference")
    best, schemas = run["chosen"], run["schemas"]
    count = schemas["published"] + schemas["own"]
    print(f"chosen: layer {best['layer']}, head {best['head']}")
    print(f"  items it was chosen on  right {best['right_where_chosen']:.2f}")
    print(f"  the other items         right {best['right_elsewhere']:.2f}")
    print(f"  {count} schemas              right {schemas['chosen']['right']:.2f}")
    print(f"our head, {count} schemas      right {schemas['famous']['right']:.2f}")
    print(f"best of 72, {count} schemas    right {schemas['most_right_of_any_head']:.2f}")
    changes = torch.tensor([  # pairs right in both sentences, or in neither
        1 + 2 * row["both_right"] - 2 * row["right"] for row in run["rows"]
    ])  # fmt: skip
    where, fresh = coins(changes, count)
    print(f"72 heads that change sides by coin, in {changes.mean():.2f} of the pairs as these do:")
    low, middle, high = where
    print(f"  best of 72 coins: {middle:.2f} where it was chosen, {fresh:.2f} on fresh pairs")
    print(f"  (medians of 500 draws; nine in ten of the first are {low:.2f} to {high:.2f})")


def coins(changes: torch.Tensor, pairs: int, draws: int = 500) -> tuple[list[float], float]:
    """The score of the best of many heads that know nothing: its 5th, 50th and 95th percentile
    where it is chosen, and the median on fresh pairs of sentences; `changes` (heads,): how often a
    head's larger weight changes sides."""
    generator = torch.Generator().manual_seed(15)
    size = (draws, 2, len(changes), pairs)
    changed = torch.rand(size, generator=generator) < changes[:, None]
    heads = (torch.rand(size, generator=generator) < 0.5).float()
    right = torch.where(changed, heads, 0.5).mean(-1)  # (draws, 2, heads)
    best = right[:, 0].argmax(-1)[:, None, None].expand(-1, 2, 1)
    where, fresh = right.gather(2, best)[..., 0].T  # (draws,) each
    return where.quantile(torch.tensor([0.05, 0.5, 0.95])).tolist(), fresh.median().item()


def similar_table() -> None:
    """Print what the published model loses without heads on a task that hardly needs attention."""
    run = recorded.results("similar")

    def count(row: dict) -> int:
        return round(row["found"] * run["pairs"])

    worst = min(run["rows"], key=lambda row: row["found"])
    print(recorded.origin(run).replace(" (", "\n(", 1))
    print(f"all heads on: {count(run['plain'])} of {run['pairs']} pairs found")
    print(f"without layer {worst['layer']}, head {worst['head']}: {count(worst)}")
    print(f"without our head: {count(_head(run))}")
    layers = [count(row) for row in run["layers"]]
    print(f"without all heads of a layer: {min(layers)} to {max(layers)}")
    print(f"without any attention: {count(run['no_attention'])}")


def il_table() -> None:
    """Print the budgets of the translators, what they lose, and their heads that stand out."""
    run, longest = recorded.results("il_or_elle"), _longest()
    print(recorded.origin(run).replace(" (", "\n(", 1))
    trained = run["training"][0]
    print(f"{trained['parameters']:,} numbers, a rate of {trained['rates'][0]};")
    print(f"{run['sentences']} sentences of {run['items']} unseen pairs of nouns: right pronouns")
    for row in sorted(run["rows"], key=lambda row: row["steps"]):
        print(f"  {row['steps']:,} updates   {recorded.interval(row['right']):.2f}")
    print(f"after {longest['steps']:,}, without attention in the")
    for kind in ("encoder", "decoder", "cross", "any"):
        print(f"  {kind:8} {recorded.interval(longest['without'][kind]):.2f}")
    print("by seed, the head that is missed most and the head with most for the referent:")
    print("                  right    extra for  weight on the    more on the")
    print("                  without  referent   adjective        referent")
    for seed, one in enumerate(longest["runs"]):
        looking = [head for head in one["heads"] if "effects" in head]
        for name, head in (
            ("missed", min(looking, key=lambda head: head["right_without"])),
            ("looks", max(looking, key=lambda head: head["effects"]["meant"])),
        ):
            where = f"{head['kind']} {head['layer']}.{head['head']}"
            print(
                f"  {seed} {name:6} {where:12} {head['right_without']:.2f}     "
                f"{head['effects']['meant']:+.2f}      {head['on_adjective']:.2f}"
                f"             {head['looks_at_meant']:.2f}"
            )
    print("without the worst of the decoder's own heads, which see only French, by seed:")
    own = [[head for head in one["heads"] if head["kind"] == "decoder"] for one in longest["runs"]]
    print("  ", *(f"{min(head['right_without'] for head in heads):.2f}" for heads in own))
    needed = min(longest["runs"][1]["heads"], key=lambda head: head["right_without"])
    meant, alive = needed["effects"]["meant"], needed["effects"]["animate"]
    print("B's head, weight on the noun meant less that on the other:")
    print(f"  where an animal is meant {meant + alive:+.2f}, a place {meant - alive:+.2f}")
