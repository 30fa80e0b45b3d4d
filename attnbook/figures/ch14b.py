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


def five_layers() -> None:
    """One layer of each kind to scale: the area is what it keeps of one text."""
    found = boxes()
    with plt.style.context("attnbook.style"):
        _, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
        low, gap = 0.0, 1900
        for kind, name, wide, tall in found:
            low -= tall + gap
            ax.add_patch(plt.Rectangle((0, low), wide, tall, color=COLOURS[kind], linewidth=0.8))
            if kind == "chosen":
                (layer,) = MODELS[EXAMPLES[kind]]["layers"]  # what a step attends to
                ax.add_patch(plt.Rectangle((0, low), layer["top"], tall, color=INK))
            size = "" if kind == "state" else f"{wide:,.0f} × {tall:,.0f} = "
            ax.text(0, low + tall + 250, f"{kind}: {name}, {size}{wide * tall / 1e6:,.1f} million",
                    fontsize=10, va="bottom")  # fmt: skip
        ax.set(xlim=(0, LONG), ylim=(low - 300, 300), yticks=[], xlabel="tokens")
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
    """The cache of one reader against the length of the text."""
    styles = ("-", "--", "-.", "-", "--", ":")
    with plt.style.context("attnbook.style"):
        _, ax = plt.subplots(figsize=(5.8, 3.2), layout="constrained")
        aside = {"llama-3.1-8b": 4, "gemma-3-27b": -3}  # two labels that would touch
        for name, style in zip(GROWN, styles, strict=True):
            model = MODELS[name]
            kinds = [layer["kind"] for layer in model["layers"]]
            kind = next(one for one in ("state", "window", "chosen", "latent", "full")
                        if one in kinds)  # fmt: skip
            ax.plot(CONTEXTS, caches(name), color=COLOURS[kind], linestyle=style, linewidth=2)
            ax.annotate(model["name"], (CONTEXTS[-1], caches(name)[-1]),
                        xytext=(5, aside.get(name, 0)),
                        textcoords="offset points", va="center", fontsize=9)  # fmt: skip
        ax.set(xscale="log", yscale="log", xlabel="tokens of the text",
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


def checked(every: bool = False) -> Table:
    """Published figures, and how far the calculator is from each.

    Args:
        every: all of them, each with the number that the calculator gives; else the first of each
            publisher and kind.
    """
    rows, seen = [], set()
    for row in releases.checked():
        what = WHAT[row["what"]].format(**{"weight_bits": 16, "context": 0, "readers": 1} | row)
        digits = len(str(row["value"]).partition(".")[2])
        published, ours = f"{row['value']:g} {row['unit']}", f"{row['ours']:.{digits}f}"
        error = f"{100 * (row['ours'] / row['value'] - 1):+.1f}%".replace("-0.0", "+0.0")
        if every or (row["by"], row["what"]) not in seen:
            seen.add((row["by"], row["what"]))
            here = [ours] if every else []
            rows.append([row["name"], what, row["by"], published, *here, error])
    here = ["here"] if every else []
    return Table(["model", "what", "published by", "published", *here, "error"], rows)


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
    ("llama-3.1-8b", "h100", 4096, 1),
    ("kimi-k3", "h100", 4096, 1),
    ("smollm2-135m", "h100", 8192, 1),
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
    errors = [
        abs(row["ours"] / row["value"] - 1)
        for row in releases.checked()
        if row["what"] in ("token", "cache")
    ]
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
