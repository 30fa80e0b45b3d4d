"""The figures and tables of 06 and 06b: writers and masks, and what libraries make of a mask."""

from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import attnkit
from attnbook import recorded
from attnbook.figures.colours import BLUE, GREEN, VERMILION
from attnbook.machines import LeakDetector, MaskPainter
from attnbook.machines.leak_detector import LAYERS
from attnbook.machines.mask_painter import END, PAD, PLACES, RULES, START, look
from attnbook.tables import Table
from attnkit import masks
from attnlab import tasks

FILES = {
    "right": "masked_writer_right_way_up",
    "upside": "masked_writer_upside_down",
    "none": "masked_writer_no_mask",
}
"""The models behind the painter, by its names for them."""

NAMES = {"right way up": BLUE, "upside down": VERMILION, "no mask": GREEN}
"""The writers of the results, and their colours."""

MASKS = dict(zip(NAMES, ("causal mask", "mask upside down", "no mask"), strict=True))
"""What the page calls the mask that each was trained with."""

SENTENCES = (
    "ils ne sont pas venus",
    "le chat noir",
    "une fille étrange a dormi",
    "je vais toujours à mon marché",
)


@cache
def _writers() -> tuple[dict[str, dict[str, Tensor]], list[str]]:
    kept = {name: recorded.tensors(file) for name, file in FILES.items()}
    return {name: tensors for name, (tensors, _) in kept.items()}, kept["right"][1]["vocab"]


def painter(**settings) -> MaskPainter:
    """The mask painter with the three recorded writers."""
    writers, words = _writers()
    sentences = [sentence.split() for sentence in SENTENCES]
    return MaskPainter(writers, words=words, sentences=sentences, **settings)


def _rows() -> tuple[dict, dict[tuple[str, int], dict]]:
    run = recorded.results("masked_writers")
    return run, {(row["writer"], row["steps"]): row for row in run["rows"]}


def _budgets(run: dict) -> list[int]:
    return sorted({row["steps"] for row in run["rows"]})


def two_scores() -> None:
    """Draw the loss against the budget, in the usual test and without peeking."""
    run, rows = _rows()
    budgets = _budgets(run)
    with plt.style.context("attnbook.style"):
        figure, axes = plt.subplots(1, 2, figsize=(6.1, 2.5), layout="constrained")
        for ax, score in zip(axes, ("usual", "honest"), strict=True):
            for (name, colour), marker in zip(NAMES.items(), "so^", strict=True):
                found = [rows[name, steps][score] for steps in budgets]
                ax.plot(budgets, [one["median"] for one in found], color=colour, marker=marker,
                        label=MASKS[name])  # fmt: skip
                edges = [[one[edge] for one in found] for edge in ("low", "high")]
                ax.fill_between(budgets, *edges, color=colour, alpha=0.2)
            ax.axhline(np.log(run["words"]), color="grey", linestyle="--", linewidth=1)
            ax.set(xscale="log", yscale="log", xlabel="updates")
            ax.set_xticks(budgets, [f"{steps:,}" for steps in budgets])
        for ax, ticks in zip(axes, ([0.001, 0.01, 0.1, 1, 10], [1, 3, 10, 30]), strict=True):
            ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
            ax.minorticks_off()
        axes[1].set_ylim(1.5, 60)
        for name, height, side in zip(
            NAMES, (2.7, 8.3, 22), ("top", "bottom", "bottom"), strict=True
        ):
            axes[1].text(100, height, MASKS[name], color=NAMES[name], va=side, fontsize=9)
        axes[1].text(1600, 5.3, "a guess", ha="right", va="top", color="dimgrey", fontsize=9)
        axes[0].set_title("the usual test: a sentence at once", fontsize=10)
        axes[1].set_title("without peeking: word by word", fontsize=10)
        axes[0].set_ylabel("held-out loss, nats per word")
        figure.get_layout_engine().set(wspace=0.06)
        figure.suptitle(
            "A leak wins the usual test;\nwithout peeking, a guess is as good or better"
        )
        plt.show()


def losses() -> None:
    """Print the numbers of that figure."""
    run, rows = _rows()
    print(recorded.origin(run))
    print(f"{run['held_out']} held-out sentences of {run['length']:.1f} words on average;")
    numbers = run["training"][0]["parameters"]
    width = len(painter().network()["query"])
    print(f"{numbers:,} numbers a writer, {width} features, {run['words']} words")
    for steps in _budgets(run):
        print(f"after {steps:,} updates:")
        print("                usual                     without peeking           words written")
        for name in NAMES:
            row = rows[name, steps]
            cells = [_interval(row[score]) for score in ("usual", "honest")]
            print(f"  {name:13} {cells[0]:25} {cells[1]:25} {row['written']['median']:.1f}", end="")
            print(f"   (rate {row['rate']:g})")
    print(f"a guess among all {run['words']} words: {np.log(run['words']):.2f}")


def _interval(found: dict) -> str:
    return f"{found['median']:.2g} ({found['low']:.2g} to {found['high']:.2g})"


def silence_numbers() -> None:
    """Print the chance that a writer ends a sentence of which a word is still to come, and how
    often two more writers that see their answers fall silent."""
    run, rows = _rows()
    for steps in _budgets(run)[-1:]:
        print(
            f"mean chance of <end> after {steps:,} updates, by the words read, <start> among them;"
        )
        print("another word follows")
        for name in NAMES:
            shares = (f"{one['median']:.2f}" for one in rows[name, steps]["ends"].values())
            print(f"  {name:13}", *shares, sep="  ")
    more = recorded.results("masked_writers_controls")
    print(recorded.origin(more))
    for row in more["rows"]:
        print(f"  {row['writer']}: usual {_interval(row['usual'])}; of 100 sentences, silent in",
              *(f"{100 * share:.0f}" for share in row["silent"]))  # fmt: skip
    nats, answers = more["first_words"]["nats"], more["length"] + 1
    print(f"the first word costs {nats:.2f} nats, {nats / answers:.2f} an answer")


def negation() -> None:
    """Print the chance of “pas” after “ils ne sont” with and without “ne” in view."""
    place = 3  # of “sont”, the start among the words
    for name, painted in (("causal", []), ("ne painted out", [2 * (8 * place + 2)])):
        chance = painter(painted=painted).compute()["chance"][place]
        print(f"{name:15} after “sont”, “pas”: {chance:.2f}")
    seen, hidden = zip(*negated(100), strict=True)
    fell = sum(after < before / 10 for before, after in zip(seen, hidden, strict=True))
    print(f"a hundred others: {np.median(seen):.2f} to {np.median(hidden):.2f} (medians),", end=" ")
    print(f"less than a tenth in {fell} of {len(seen)}")


def negated(count: int) -> list[tuple[float, float]]:
    """The chance of “pas” in so many sentences, with “ne” in view of the verb and painted out."""
    writers, words = _writers()
    found: list[list[str]] = []
    for pair in tasks.toy_french(80 * count, max_words=PLACES - 1, seed=6):
        said = list(pair.target)
        if said in found or len(said) >= PLACES or not set(said) <= set(words):
            continue
        place = said.index("pas") if "pas" in said else 0  # of the verb, the start among the words
        if place > 1 and said[place - 2] in ("ne", "n'"):
            found.append(said)
    chances, shown = [], MaskPainter(writers, words=words, sentences=found[:count])
    for shown.sentence, said in enumerate(found[:count]):
        place = said.index("pas")
        each = []
        for shown.painted in ([], [2 * (PLACES * place + place - 1)]):
            each.append(shown.compute()["chance"][place])
        chances.append((each[0], each[1]))
    return chances


def one_cell() -> None:
    """Print what the writer without a mask says with and without the one cell of an answer."""
    now = painter(writer="none", rule="shifted").compute()
    print(
        f"no mask, one too far: {now['inView']} answers in view, usual {now['usual']:.2f},", end=" "
    )
    print(f"without peeking {now['peekless']:.1f}")
    place = 3  # of “sont”
    for name, painted in (("seen", []), ("painted out", [2 * (8 * place + 4)])):
        shown = painter(writer="none", rule="shifted", painted=painted).compute()
        word, share = shown["best"][place][0]
        print(f"  its answer {name}: after “sont” {word} {share:.2f}")


def start_cells(count: int = 300) -> None:
    """Print what hiding the start, or a first word from itself, does to the writer without a mask;
    where it ends cut sentences, and what an open mask costs the causal one.

    The sentences are those that it was tested on, as `experiments.masked_writers` draws them.
    """
    said = [list(pair.target) for pair in tasks.toy_french(2 * count, max_words=PLACES)]
    said = [list(words) for words in dict.fromkeys(map(tuple, said)) if len(words) < PLACES]
    writers, words = _writers()
    shown = MaskPainter(writers, words=words, sentences=said[:count], writer="none")
    last, first, cases = [], [], {}
    for shown.sentence, sentence in enumerate(said[:count]):
        n = len(sentence)
        last.append(_hiding(shown, "none", n, 0))
        cases.setdefault(sentence[0], _hiding(shown, "causal", 1, 1))
        first.append(cases[sentence[0]])
    most = sum(row["most"] == 0 for row, _ in last)
    fell = sum(after["end"] < before["end"] / 10 for before, after in last)
    print(f"no mask, the last row of {len(last)} sentences: start looked at most in {most};")
    print(f"  start hidden: <end> falls to less than a tenth in {fell} of {len(last)}")
    repeats = sum(row["says"] == sentence[0]
                  for (row, _), sentence in zip(first, said, strict=False))  # fmt: skip
    ends = sum(after["says"] == "<end>" for _, after in first)
    print(f"cut after the first word: repeats itself in {repeats}, {len(cases)} first words;")
    print(f"  that word hidden from itself: says <end> in {ends} of {len(first)}")
    for shown.writer in ("none", "right"):
        over = []
        for sentence in said[:count]:
            ids = [START, *map(words.index, sentence)]
            over += look(shown.network(), ids, np.tri(len(ids)) > 0)[1][2:-1, END].tolist()
        print(f"{shown.writer}, cut after two words or more: <end> above a half in", end=" ")
        print(f"{sum(one > 0.5 for one in over)} of {len(over)}")
    lost = {}
    for shown.rule in ("causal", "none"):
        lost[shown.rule] = []
        for shown.sentence in range(count):
            lost[shown.rule].append(shown.compute()["usual"])
    worse = sum(after > before for before, after in zip(*lost.values(), strict=True))
    print(f"right, its mask opened: worse in {worse} of {count}")
    shown = painter(writer="none")
    for name, row in (("sont", 3), ("venus", 5)):
        before, after = _hiding(shown, "causal", row, 0)
        weight = before["weights"][0]
        print(f"after “{name}”, causal: {weight:.2f} on start, <end> {before['end']:.2f};", end=" ")
        print(f"start hidden: {after['says']}, <end> {after['end']:.2f}")


def _hiding(shown: MaskPainter, rule: str, row: int, key: int) -> list[dict]:
    """What a row says and looks at, first under a rule, then with one key hidden as well."""
    net, found = shown.network(), []
    ids = [START, *(shown.words.index(word) for word in shown.sentences[shown.sentence])]
    mask = RULES[rule][1][: len(ids), : len(ids)].copy()
    for _ in range(2):
        weights, chances = (each[row] for each in look(net, ids, mask))
        found.append({
            "weights": weights,
            "most": int(weights.argmax()),
            "says": shown.words[chances.argmax()],
            "end": chances[END],
        })  # fmt: skip
        mask[row, key] = False
    return found


def two_ways() -> None:
    """Draw one causal mask, and the weights that PyTorch's function and its module make of it."""
    may = masks.causal(len(WORDS))
    panels = {"the mask": may.double(), "weights, function": _sdpa(may),
              "weights, module": _mha(may)}  # fmt: skip
    with plt.style.context("attnbook.style"):
        figure, axes = plt.subplots(1, 3, figsize=(6.1, 2.7), sharey=True, layout="constrained",
                                    width_ratios=[1.2, 1, 1])  # fmt: skip
        for ax, (name, picture) in zip(axes, panels.items(), strict=True):
            handed = name == "the mask"
            ax.imshow(picture.numpy() * (0.25 if handed else 1), vmin=0, vmax=1, cmap="Blues",
                      aspect="auto")  # fmt: skip
            for i, j in np.ndindex(*may.shape):
                v = picture[i, j].item()
                said = str(bool(v)) if handed else f"{v:.2g}".removeprefix("0") if v else "0"
                colour = "white" if v > 0.6 and not handed else "black" if v else "dimgrey"
                ax.text(j, i, said, ha="center", va="center", fontsize=12.5, color=colour)
            ax.set_title(name, fontsize=11)
            ax.set_xticks(range(len(WORDS)), WORDS)
            ax.set_yticks(range(len(WORDS)), WORDS)
            ax.tick_params(length=0, labelsize=9.5)
            ax.set_xlabel("looked at")
        axes[0].set_ylabel("who looks")
        figure.suptitle("One mask: the function shows the past, the module the future")
        plt.show()


WORDS = ("the", "cat", "sat", "down")


def _sdpa(mask: Tensor) -> Tensor:
    """The weights (L, L) among equal scores."""
    zeros, eye = torch.zeros(1, *mask.shape), torch.eye(len(mask))[None]
    return F.scaled_dot_product_attention(zeros, zeros, eye, attn_mask=mask)[0].double()


def _mha(mask: Tensor) -> Tensor:
    """The same, as its output for values that are rows of the identity matrix."""
    eye = torch.eye(len(mask))
    layer = nn.MultiheadAttention(len(mask), 1, bias=False, batch_first=True)
    with torch.no_grad():  # nothing is projected
        layer.in_proj_weight.copy_(eye.repeat(3, 1))
        layer.out_proj.weight.copy_(eye)
        zeros = torch.zeros(1, *mask.shape)
        return layer(zeros, zeros, eye[None], attn_mask=mask, need_weights=False)[0][0].double()


def padding_table() -> Table:
    """Whether a sentence comes out the same alone, beside padding, and after another one."""
    net = painter().network()
    words = _writers()[1]
    one = [START, *(words.index(word) for word in SENTENCES[1].split())]  # 4 places
    n = len(one)
    other = [START, words.index("ils")]

    def chances(ids, mask, places=None):
        return look(net, ids, mask, places)[1]

    alone = chances(one, masks.causal(n).numpy())

    def differs(ids, mask, first, places=None):
        got = chances(ids, mask.numpy(), places)[first : first + n]
        worst = float(np.abs(got - alone).max())
        return "same" if worst < 1e-9 else f"off by {worst:.2f}"

    pad, m = [PAD] * 3, len(other)
    causal, real = masks.causal(n + 3), torch.tensor([True] * n + [False] * 3)
    before = [0, 0, 0, *range(n)]
    both, document = masks.causal(m + n), torch.tensor([0] * m + [1] * n)
    again = [*range(m), *range(n)]
    packed = [*other, *one]
    rows = [
        ["padding after", "causal", differs(one + pad, causal, 0)],
        ["padding after", "causal & padding", differs(one + pad, causal & real, 0)],
        ["padding before", "causal", differs(pad + one, causal, 3, before)],
        ["padding before", "causal & padding",
         differs(pad + one, causal & real.flip(0), 3, before)],
        ["after another sentence", "causal", differs(packed, both, m, again)],
        ["after another sentence", "causal & blocks",
         differs(packed, both & masks.blocks(document), m, again)],
        ["the same, positions run on", "causal & blocks",
         differs(packed, both & masks.blocks(document), m)],
    ]  # fmt: skip
    return Table(["the sentence stands", "mask", "its next-word chances"], rows)


def empty_rows() -> Table:
    """What several ways of masking make of a row that sees nothing, and of the gradient."""
    may = masks.causal(3) & (torch.arange(3)[:, None] > 0)  # row 0: nothing
    ways = {
        "fill with -1e9": lambda s: s.masked_fill(~may, -1e9).softmax(-1),
        "add -1e4": lambda s: (s + torch.where(may, 0.0, -1e4)).softmax(-1),
        "fill with -inf": lambda s: s.masked_fill(~may, -torch.inf).softmax(-1),
        "fill with -inf, set NaN to 0 afterwards": lambda s: (
            s.masked_fill(~may, -torch.inf).softmax(-1).nan_to_num(0.0)
        ),
        "add -inf, set NaN to 0 afterwards": lambda s: (
            (s + torch.where(may, 0.0, -torch.inf)).softmax(-1).nan_to_num(0.0)
        ),
        "fill with -inf, but it sees itself": lambda s: s.masked_fill(
            ~(may | torch.eye(3, dtype=torch.bool)), -torch.inf
        ).softmax(-1),
        "PyTorch’s module, with weights": lambda s: nn.MultiheadAttention(3, 1, batch_first=True)(
            s, s, s, attn_mask=~may
        )[1][0],
        "PyTorch’s module, without, in training": lambda s: _as_built(s, ~may, training=True),
        "PyTorch’s module, in eval(), no_grad": lambda s: _as_built(s, ~may, training=False),
        "PyTorch’s function": lambda s: F.scaled_dot_product_attention(
            s, torch.eye(3)[None], torch.eye(3)[None], attn_mask=may, scale=1.0
        )[0],
        "attnkit": lambda s: attnkit.masked_softmax(s, may),
    }
    rows = []
    for name, way in ways.items():
        scores = torch.tensor([[[2.0, 1, 0]] * 3], requires_grad=True)
        values = torch.ones(3, 2, requires_grad=True)
        weights = way(scores).reshape(3, 3)
        (weights @ values)[1:].pow(2).sum().backward()  # the loss leaves row 0 out
        finite = all(x.grad is not None and bool(x.grad.isfinite().all()) for x in (scores, values))
        shown = [f"{w:.2f}".replace("nan", "NaN") for w in weights[0].tolist()]
        shown = f"{shown[0]} each" if len({*shown}) == 1 else " ".join(shown)
        gradients = ("finite" if finite else "NaN") if weights.requires_grad else "–"
        rows.append([name, shown, gradients])
    return Table(["a row that sees nothing", "its weights", "gradients"], rows)


def _as_built(scores: Tensor, hide: Tensor, *, training: bool) -> Tensor:
    """The weights (3, 3) of PyTorch's module with its biases, which `eval()` sends elsewhere.

    The scores are all 0, the values one for each key; `scores` is there for its gradient.
    """
    layer = nn.MultiheadAttention(4, 2, batch_first=True).train(training)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.cat([torch.zeros(8, 4), torch.eye(4)]))
        layer.out_proj.weight.copy_(torch.eye(4))
    with torch.set_grad_enabled(training):
        x = (torch.eye(4)[:3] + 0 * scores.sum())[None]
        return layer(x, x, x, attn_mask=hide, need_weights=False)[0][0, :, :3]


def leaking_layers() -> Table:
    """The detector's four layers: the pairs that leak, and through what."""
    hidden, rows, most = ~masks.causal(6).numpy(), [], 0.0
    for layer in LAYERS:
        now = LeakDetector(library="attnkit", layer=layer).compute()
        most = max(most, np.array(now["weights"])[hidden].max())
        name, way = LAYER_NAMES[layer]
        rows.append([name, f"{now['leaks']} of {hidden.sum()}", way])
    said = f"The largest weight on a hidden key, in all four: {most:.2f}."
    return Table(["layer", "pairs that leak", "the future comes in through"], rows, caption=said)


LAYER_NAMES = {
    "before": ("masked before the softmax", "–"),
    "after": ("masked after the softmax", "the divisor"),
    "first": ("only the first of two masked", "the second layer"),
    "normed": ("normed over the words", "the mean"),
}
