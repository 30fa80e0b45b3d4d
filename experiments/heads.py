"""Two readings at once, with one head and with more: the runs behind chapter 08.

    python -m experiments.heads            174 runs, about twenty minutes on one CPU core
    python -m experiments.heads --quick    four of them, in seconds

A sentence such as "hang them not let them go" has two readings. With a comma after "not" the
command to carry out stands on its right, with a comma before it on its left. At "not" the model
must name both. Places enter queries and keys, not values, and the read-outs are linear, so one head
can only mix the two commands with one distribution: `bound` says how many sentences that costs.
Only the number of heads and what defines a variant differ between runs, besides the updates and the
learning rate. With several heads, each run also reports what is lost when one head's output is set
to zero.
"""

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import attnkit
from attnkit.positions import Rotary
from experiments import _record as record
from experiments._training import parameters

# fmt: off
VERBS = (
    "hang", "let", "bind", "chain", "feed", "follow", "forgive", "free", "guard", "hide", "hunt",
    "judge", "keep", "leave", "lock", "mock", "name", "pay", "rob", "seize", "shame", "teach",
    "visit", "warn",
)
# fmt: on
OPENINGS = ("", "sire", "by order", "the king says")
CLOSINGS = ("", "today", "at dawn")
STORY = ("hang", "let")  # "hang them not let them go" is never trained on
EMBED_DIM, BATCH = 32, 64
SEEDS = tuple(range(5))  # of the two that the chapter compares; the others have three
READINGS = ("left", "right", "both")

# What changes, by name; the rest is as in `Reader` and `measure`.
VARIANTS = {
    "1 head": {"heads": 1},
    "2 heads": {"heads": 2},
    "1 head, places in the values": {"heads": 1, "places": "everywhere"},
    "1 head, twice as wide": {"heads": 1, "embed_dim": 64},
    "1 head, two layers": {"heads": 1, "layers": 2},
    "4 heads": {"heads": 4},
    "8 heads": {"heads": 8},
    "4 heads, 2 of keys": {"heads": 4, "kv_heads": 2},
    "4 heads, 1 of keys": {"heads": 4, "kv_heads": 1},
}
COMPARED = ("1 head", "2 heads")
# The learning rates that are tried, by variant and updates: fewer in the longest runs.
RATES = (0.001, 0.003, 0.01)
PLAN = {
    "1 head": {100: RATES, 400: RATES, 1600: RATES, 6400: RATES[:2]},
    "2 heads": {100: RATES, 400: RATES, 1600: RATES, 6400: RATES[1:2]},
    "1 head, places in the values": {400: RATES, 1600: RATES, 6400: RATES[1:2]},
    "1 head, twice as wide": {400: RATES, 1600: RATES},
    "1 head, two layers": {400: RATES, 1600: RATES},
    "4 heads": {400: RATES[2:]},
    "8 heads": {400: RATES[2:]},
    "4 heads, 2 of keys": {400: RATES[2:]},
    "4 heads, 1 of keys": {400: RATES[2:]},
}


def sentence(left: str, right: str, opening: str = "", closing: str = "") -> list[str]:
    """The words of a sentence with two commands around "not"."""
    one, two = ("let them go" if verb == "let" else f"{verb} them" for verb in (left, right))
    return f"{opening} {one} not {two} {closing}".split()


def corpus(device: torch.device | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor, int]:
    """All sentences: words (N, L), commands (N, 2), place of "not" (N,), held out (N,), words.

    Padding is 0. A quarter of the ordered pairs of commands is held out, `STORY` among them.
    """
    pairs = list(itertools.permutations(range(len(VERBS)), 2))
    order = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(0)).tolist()
    pairs = [pairs[place] for place in order]
    pairs.sort(key=tuple(map(VERBS.index, STORY)).__ne__)
    made = [
        (sentence(VERBS[a], VERBS[b], opening, closing), (a, b), place < len(pairs) // 4)
        for place, (a, b) in enumerate(pairs)
        for opening in OPENINGS
        for closing in CLOSINGS
    ]
    texts, commands, held_out = zip(*made, strict=True)
    number = {word: n for n, word in enumerate(sorted(set(itertools.chain(*texts))), start=1)}
    rows = [torch.tensor([number[word] for word in text]) for text in texts]
    words = nn.utils.rnn.pad_sequence(rows, batch_first=True)  # (N, L)
    at_not = (words == number["not"]).int().argmax(-1)  # (N,)
    parts = (words, torch.tensor(commands), at_not, torch.tensor(held_out))
    return *(part.to(device) for part in parts), len(number)


def bound() -> tuple[int, int]:
    """How many of the ordered pairs of commands one head can get right, and how many there are.

    For one head with linear read-outs, whose scores add a part of the word and a part of the
    place and whose values know only the word, no three commands of the same shape are right in
    both readings in all six of their ordered pairs (the proof is in chapter 08). So the unordered
    pairs that are right in both orders form a graph without triangles, at most n^2 / 4 of them
    (Mantel 1907); of every other pair at least one order is wrong. "let them go" has a shape of
    its own, and nothing is claimed of its pairs.
    """
    plain = len(VERBS) - 1
    wrong = plain * (plain - 1) // 2 - plain * plain // 4
    pairs = len(VERBS) * (len(VERBS) - 1)
    return pairs - wrong, pairs


class Reader(nn.Module):
    """Attention, and two linear read-outs at "not".

    forward: words (B, L), place of "not" (B,), a factor for each head of the last layer (H,) or
    None -> logits (B, 2, commands).
    """

    def __init__(
        self,
        vocabulary: int,
        longest: int,
        *,
        heads: int,
        kv_heads: int | None = None,
        embed_dim: int = EMBED_DIM,
        layers: int = 1,
        hidden: int = 0,
        places: str = "queries and keys",
    ):
        super().__init__()
        self.places = places
        self.word = nn.Embedding(vocabulary + 1, embed_dim)
        self.place = nn.Embedding(longest, embed_dim) if places != "rotary" else None
        self.rotate = Rotary(embed_dim // heads) if places == "rotary" else None
        self.attention = nn.ModuleList(
            attnkit.MultiHeadAttention(embed_dim, heads, num_kv_heads=kv_heads)
            for _ in range(layers)
        )
        answers = 2 * len(VERBS)
        steps = [nn.Linear(embed_dim, hidden), nn.ReLU()] if hidden else []
        self.read = nn.Sequential(*steps, nn.Linear(hidden or embed_dim, answers))

    def forward(self, words: Tensor, at_not: Tensor, switch: Tensor | None = None) -> Tensor:
        x, real = self.word(words), (words > 0)[:, None]  # (B, L, E), (B, 1, S)
        placed = 0 if self.place is None else self.place.weight[: words.shape[1]]
        for number, attention in enumerate(self.attention, start=1):
            query = x + placed
            value = query if self.places == "everywhere" else x
            last = number == len(self.attention)
            out = _attend(attention, query, value, real, self.rotate, switch if last else None)
            x = out if last else x + out
        at = x[torch.arange(len(words)), at_not]  # (B, E)
        return self.read(at).unflatten(-1, (2, -1))


def _attend(attention, query, value, real, rotate, switch) -> Tensor:
    """The layer's output; with `switch` (H,), each head's part multiplied by its factor."""
    if switch is None:
        return attention(query, query, value, mask=real, rotate=rotate).output
    # The columns of the last projection belong to the heads, a block each.
    columns = switch.repeat_interleave(attention.head_dim)  # (E,)
    weight = {"out_proj.weight": attention.out_proj.weight * columns}
    return torch.func.functional_call(
        attention, weight, (query, query, value), {"mask": real, "rotate": rotate}
    ).output


def train(given: tuple, setting: dict, options: dict) -> Reader:
    """A reader with these options, trained on the sentences of a `corpus` that are not held out."""
    words, commands, at_not, held_out, vocabulary = given
    updates, rate = setting["updates"], setting["rate"]
    torch.manual_seed(setting["seed"])
    model = Reader(vocabulary, words.shape[1], **options).to(words.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.0)
    known = (~held_out).nonzero()[:, 0]
    for update in range(updates):
        for group in optimizer.param_groups:  # level, then down to zero
            group["lr"] = rate * min(1.0, 2 - 2 * update / updates)
        chosen = known[torch.randint(len(known), (BATCH,)).to(words.device)]
        logits = model(words[chosen], at_not[chosen])
        loss = F.cross_entropy(logits.flatten(0, 1), commands[chosen].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train one model; return its accuracy, with all heads and without each of them.

    Every entry is [left, right, both]: shares of sentences in which that is named. `off` has one
    entry a head, on the held-out sentences.
    """
    options = VARIANTS[setting["variant"]]
    words, commands, at_not, held_out, _ = given = corpus(device)
    model = train(given, setting, options)

    @torch.no_grad()
    def right(rows: Tensor, off: tuple[int, ...] = ()) -> list[float]:
        switch = None
        if off:
            switch = torch.ones(options["heads"], device=device)
            switch[list(off)] = 0.0
        hit = model(words[rows], at_not[rows], switch).argmax(-1) == commands[rows]  # (B, 2)
        return [*hit.float().mean(0).tolist(), hit.all(-1).float().mean().item()]

    return {
        "parameters": parameters(model),
        "attention_parameters": parameters(model.attention),
        "known": right(~held_out),
        "held_out": right(held_out),
        "all": right(torch.ones_like(held_out)),
        "off": [right(held_out, (head,)) for head in range(options["heads"])],
    }


def settings(quick: bool) -> list[dict]:
    """Every variant, budget, rate and seed; with `quick`, two variants, two seeds, few updates."""
    plan = {one: {60: RATES[2:]} for one in COMPARED} if quick else PLAN
    return [
        {"variant": variant, "seed": seed, "updates": updates, "rate": rate}
        for variant, budgets in plan.items()
        for updates, rates in budgets.items()
        for rate in rates
        for seed in SEEDS[: 2 if quick else None if variant in COMPARED else 3]
    ]


def summarise(runs: list[dict]) -> list[dict]:
    """One row for each variant, budget and rate: medians and intervals over seeds, and what is left
    without each head, by seed."""
    rows = []
    for row, group in record.grouped(runs, ("variant", "updates", "rate")):
        row |= {name: group[0][name] for name in ("parameters", "attention_parameters")}
        for name in ("known", "held_out", "all"):
            row[name] = {
                reading: record.median_interval([run[name][place] for run in group])
                for place, reading in enumerate(READINGS)
            }
        row["off"] = [[_rounded(entry) for entry in run["off"]] for run in group]
        rows.append(row)
    return rows


def _rounded(values: list[float]) -> list[float]:
    return [round(value, 4) for value in values]


def trained(runs: list[dict]) -> list[dict]:
    """What the training behind the file was, by variant."""
    return record.training(
        runs,
        ("variant",),
        score=lambda run: run["held_out"][2],
        of="held-out sentences with both readings right",
        updates="updates",
    )


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    most, pairs = bound()
    held_out = corpus()[3]
    return record.run(
        record.options("heads", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {
            "task": {
                "commands": len(VERBS),
                "pairs": pairs,
                "sentences": len(held_out),
                "held_out": int(held_out.sum()),
                "embed_dim": EMBED_DIM,
                "batch": BATCH,
            },
            "training": trained(runs),
            "bound": {"pairs": most, "share": round(most / pairs, 4)},
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
