"""The figures of page 14b: what released models keep, and what others have published of it."""

from html import escape

import matplotlib.pyplot as plt

from attnbook import releases
from attnbook.figures.colours import INK
from attnbook.machines.kept_machine import CONTEXTS
from attnbook.releases import CHIPS, KINDS, MODELS, UNKNOWN, cost
from attnbook.tables import Table

LONG = 131072
COLOURS = dict(zip(KINDS, ("#176b87", "#c25700", "#7a45c9", "#a3146f", "#262c33"), strict=True))
EXAMPLES = {
    "full": "llama-3.1-70b",
    "window": "gemma-3-27b",
    "latent": "deepseek-v3",
    "chosen": "deepseek-v3.2",
    "state": "qwen3-next-80b",
}
"""A model for each kind of layer."""


def boxes(tokens: int = LONG) -> list[tuple[str, str, float, float]]:
    """Of each example the kind, the model's name, how many entries and how many numbers each.

    A state has no entries: its numbers are laid out as tall as the tallest of the others.
    """
    found = []
    for kind, name in EXAMPLES.items():
        model = MODELS[name]
        layer = next(one for one in model["layers"] if one["kind"] == kind)
        far, near = releases.entries(layer, tokens)
        found.append((kind, model["name"], far + near, layer["numbers"] + layer["index"]))
    tall = max(numbers for kind, _, _, numbers in found if kind != "state")
    return [
        (kind, name, numbers / tall, tall) if kind == "state" else (kind, name, wide, numbers)
        for kind, name, wide, numbers in found
    ]


BYTES = 2
"""Of a number in 16 bits."""


def five_layers() -> None:
    """One layer of each kind to scale: the area is what it keeps of one text."""
    shapes = dict.fromkeys(EXAMPLES, "{wide:,.0f} × {tall:,.0f}")
    shapes["full"] = "{wide:,.0f} tokens × {tall:,.0f} numbers"
    shapes["latent"] += "; one thin vector a token"
    shapes["chosen"] += "; a step uses 2,048 (ticks)"
    shapes["state"] = "{kept:,.0f} numbers"
    inside = {
        "full": "a key and a value for every token",
        "window": "the same, for the last tokens only",
        "state": "one table, however long the text",
    }
    with plt.style.context("attnbook.style"):
        _, ax = plt.subplots(figsize=(5.9, 3.5), layout="constrained")
        low, gap = 0.0, 1900
        for kind, name, wide, tall in boxes():
            low -= tall + gap
            ax.add_patch(plt.Rectangle((0, low), wide, tall, color=COLOURS[kind], linewidth=0.8))
            if kind == "chosen":
                (layer,) = MODELS[EXAMPLES[kind]]["layers"]  # what a step attends to
                parts = 16  # as they may lie: no two neighbours, and none at an end
                for at in range(parts):
                    left = LONG * (at + 0.2 + 0.6 * (at * 0.618 % 1)) / parts
                    ax.add_patch(plt.Rectangle((left, low), layer["top"] / parts, tall, color=INK,
                                               linewidth=0))  # fmt: skip
            said = shapes[kind].format(wide=wide, tall=tall, kept=wide * tall)
            high = low + tall + 250
            ax.text(0, high, f"{kind}: {name}, {said}", fontsize=10, va="bottom")
            size = BYTES * wide * tall / 1e6
            ax.text(LONG, high, f"{size:,.{0 if size > 10 else 1}f} MB", fontsize=10, va="bottom",
                    ha="right", weight="bold")  # fmt: skip
            ax.text(min(wide, LONG / 40) + LONG / 90, low + tall / 2, inside.get(kind, ""),
                    fontsize=9, va="center", color="white" if wide == LONG else INK)  # fmt: skip
        ax.set(xlim=(0, LONG), ylim=(low - 300, 300), yticks=[],
               xlabel="tokens; each number takes 2 bytes")  # fmt: skip
        ax.set_xticks([0, LONG // 2, LONG])
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        ax.spines["left"].set_visible(False)
        ax.set_title("One layer, five ways to keep a text: area is memory", loc="left",
                     fontsize=11)  # fmt: skip
        plt.show()


GROWN = (
    "llama-2-7b",
    "llama-3.1-8b",
    "gemma-3-27b",
    "kimi-k3",
    "deepseek-v4-pro",
    "mistral-7b",
)


def caches(name: str) -> list[float]:
    """GB of one reader's cache, at each of the machine's lengths."""
    chip = CHIPS["h100"]
    return [cost(MODELS[name], chip, context=tokens)["cache"] / 1e9 for tokens in CONTEXTS]


def growth() -> None:
    """The cache of one reader against the length of the text, thin where it is too long for it."""
    styles = ("-", "--", "-.", "-", "--", ":")
    with plt.style.context("attnbook.style"):
        _, ax = plt.subplots(figsize=(5.8, 3.05), layout="constrained")
        aside = {"llama-3.1-8b": 4, "gemma-3-27b": -3}  # two labels that would touch
        for name, style in zip(GROWN, styles, strict=True):
            model = MODELS[name]
            kinds = [layer["kind"] for layer in model["layers"]]
            kind = next(one for one in ("state", "window", "chosen", "latent", "full")
                        if one in kinds)  # fmt: skip
            sizes, far = caches(name), CONTEXTS.index(model["context"])
            look = {"color": COLOURS[kind], "linestyle": style}
            ax.plot(CONTEXTS[: far + 1], sizes[: far + 1], linewidth=2.2, **look)
            ax.plot(CONTEXTS[far:], sizes[far:], linewidth=0.8, **look)
            ax.annotate(model["name"], (CONTEXTS[-1], sizes[-1]),
                        xytext=(5, aside.get(name, 0)),
                        textcoords="offset points", va="center", fontsize=9)  # fmt: skip
        ax.set(xscale="log", yscale="log",
               xlabel="tokens of the text; thin: more than its publisher supports",
               ylabel="GB for one reader, 16 bits")  # fmt: skip
        lengths = (1024, 16384, 131072, 1048576)
        ax.set_xticks(lengths, ["1,024", "16,384", "131,072", "1 million"])
        ax.set_yticks((0.1, 1, 10, 100), ("0.1", "1", "10", "100"))
        ax.minorticks_off()
        ax.grid(alpha=0.3)
        ax.set_title("A window stops, a state starts high, the rest grows",
                     loc="left", fontsize=11)  # fmt: skip
        plt.show()


WHAT = {
    "token": "each further token",
    "cache": "cache, {context:,} tokens",
    "weights": "weights, {weight_bits} bits",
    "total": "{readers} readers, {weight_bits} bits",
    "step": "step, {readers} readers",
}


def checked() -> Table:
    """All published figures as they were published, and how far the calculator is from each."""
    rows = []
    for row in releases.checked():
        digits = len(str(row["value"]).partition(".")[2])
        published, ours = f"{row['value']:g} {row['unit']}", f"{row['ours']:.{digits}f}"
        rows.append([row["name"], _what(row), row["by"], published, ours, _error(row)])
    return Table(["model", "what", "published by", "published", "here", "error"], rows)


def worst() -> Table:
    """Of each publisher the figure that the calculator is farthest from; GiB in GB."""
    found: dict[str, dict] = {}
    for row in releases.checked():
        if row["by"] not in found or _off(row) > _off(found[row["by"]]):
            found[row["by"]] = row
    rows = []
    for row in found.values():
        what = f"{row['context']:,} tokens" if row["what"] == "cache" else _what(row)
        unit = row["unit"] if row["what"] in ("token", "step") else "GB"
        value = row["value"] * releases.UNITS[row["unit"]] / releases.UNITS[unit]
        rows.append([row["name"], what, f"{value:.3g} {unit}", _error(row), row["by"]])
    return Table(["model", "what", "published", "error", "by"], rows)


def _what(row: dict) -> str:
    return WHAT[row["what"]].format(**{"weight_bits": 16, "context": 0, "readers": 1} | row)


def _off(row: dict) -> float:
    return abs(row["ours"] / row["value"] - 1)


def _error(row: dict) -> str:
    return f"{100 * (row['ours'] / row['value'] - 1):+.1f}%".replace("-0.0", "+0.0")


def _written(value: float | None, unit: float) -> str:
    return UNKNOWN if value is None else f"{value / unit:,.4g}"


def models() -> None:
    """Print what one reader costs in each model, at 131,072 tokens and 16 bits."""
    print(
        f"{len(MODELS)} models, one reader of {LONG:,} tokens, 16 bits: kB a token, GB of cache, "
        "GB of weights, layers"
    )
    for model in MODELS.values():
        found = cost(model, CHIPS["h100"], context=LONG)
        counts = ", ".join(f"{len(one['places'])} {one['kind']}" for one in model["layers"])
        columns = [
            _written(found["token"], 1e3),
            _written(found["cache"], 1e9),
            _written(found["weights"], 1e9),
        ]
        print(f"{model['date']:8}{model['name']:17}", *(f"{x:>9}" for x in columns),
              "", counts or UNKNOWN)  # fmt: skip


STEPS = (
    ("llama-3.1-70b", "h100", LONG, 1),
    ("llama-3.1-70b", "h100", LONG, 32),
    ("gpt-oss-120b", "h100", LONG, 3),
    ("gpt-oss-120b", "h200", 32768, 50),
    ("llama-3.1-8b", "h200", 32768, 50),
    ("deepseek-v3", "h100", LONG, 64),
    ("deepseek-v3.2", "h100", LONG, 64),
    ("deepseek-v3", "h100", 4096, 1),
    ("deepseek-v3", "h100", 4096, 64),
    ("deepseek-v3", "a100", LONG, 256),
    ("llama-3.1-8b", "h100", 1024, 1),
    ("kimi-k3", "h100", 1024, 1),
    ("llama-3.1-8b", "h100", 2048, 1),
    ("kimi-k3", "h100", 2048, 1),
)


def steps() -> None:
    """Print the steps that the page speaks of, and the largest error of a published cache."""
    for name, chip, context, readers in STEPS:
        model = MODELS[name]
        found = cost(model, CHIPS[chip], context=context, readers=readers, weight_bits=0)
        used = releases.weights_read(model, readers)
        print(
            f"{model['name']}, {readers} of {context:,} tokens on {found['chips']} × "
            f"{CHIPS[chip]['name']}, weights {found['weights'] / 1e9:.4g} GB: cache "
            f"{found['cache'] / 1e9:.3f} GB, {used:,.3g} billion weights needed; weights "
            f"{1e3 * found['load']:.3g} ms, caches {1e3 * found['fetch']:.3g} ms, compute "
            f"{1e3 * found['compute']:.3g} ms; {1e3 * found['step']:.3g} ms, {found['bound']}"
        )
    errors = [_off(row) for row in releases.checked() if row["what"] in ("token", "cache")]
    print(f"largest error of a cache: {max(errors):.2%}")


class Sources:
    """The sources of every number in the list, as links on a page and as text elsewhere."""

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {what} {link}" for name, what, link in self._rows())

    def _repr_html_(self) -> str:
        named: dict[str, list[str]] = {}
        for name, what, link in self._rows():
            words = f'<a href="{escape(link)}">{escape(what)}</a>'
            named.setdefault(name, []).append(words)
        items = (f"<li>{escape(name)}: {', '.join(links)}</li>" for name, links in named.items())
        return f"<ul>\n{''.join(item + chr(10) for item in items)}</ul>"

    @staticmethod
    def _rows() -> list[tuple[str, str, str]]:
        data = releases.DATA
        of_models = [
            (f"{entry['name']} ({entry['date']})", what, link)
            for entry in data["models"]
            for what, link in entry["sources"].items()
        ]
        of_chips = [(chip["name"], "specification", chip["source"]) for chip in data["chips"]]
        of_figures = [("Published figures", row["by"], row["source"]) for row in data["checked"]]
        return list(dict.fromkeys(of_models + of_chips + of_figures))
