"""Positions beyond the lengths of training: the runs behind chapter 07.

    python -m experiments.positions            145 runs, about thirteen minutes on one CPU core
    python -m experiments.positions --quick    two tasks, two seeds, a few updates, in seconds

Small causal models, alike in everything but their positions, are trained on sequences of at most N
tokens and tested on up to 4 N. Four tasks with known answers, from the least to the most that they
ask of a position:

- `latest`: most tokens are blanks; at a blank, name the latest symbol. Needs what is near.
- `back`: at every place, name the symbol three places back. Needs a distance, and nothing else.
- `marker`: from the marker on, name the symbol that stood three places before it. Needs a distance,
  then the marker wherever it is.
- `reverse`: after a separator, write the sequence backwards. The distance to the next symbol grows
  with every symbol written.

Accuracy is measured at the far end: the last four places for `latest` and `back`, the last one for
`marker`, and all symbols written for `reverse`. All sequences are drawn afresh, symbols with equal
probability.

How it was chosen: `back`, `marker` and `reverse` before any run, the sizes and updates so that most
kinds learn the trained lengths. A first run with a seed that is not among these showed ALiBi fail
at `back` and `marker`, and T5's buckets fade; `latest`, the clipped bias, and ALiBi at `back` with
five times the updates were added then.
"""

import time

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnkit import masks
from attnkit.positions import ClippedRelativeBias
from attnlab.transformer import Encoder, PositionScheme
from experiments import _record as record
from experiments._training import cosine

SYMBOLS, BACK, NOTHING = 16, 3, -100
MARKER = SYMBOLS  # also the separator of `reverse` and the blank of `latest`
BLANKS = 0.75
TASKS = ("latest", "back", "marker", "reverse")
POSITIONS = ("none", "sinusoidal", "learned", "rotary", "alibi", "bucketed", "clipped")
CLIP = 8  # distances from here on share a bias in "clipped"
TRAINED = 16  # N: the longest sequence of training, in tokens
TESTED = (8, 16, 20, 24, 32, 64)
SIZES = {"embed_dim": 64, "num_heads": 4, "hidden_dim": 128, "num_layers": 2}
UPDATES = {"latest": 300, "back": 400, "marker": 700, "reverse": 700}
LONG = {"task": "back", "positions": "alibi", "updates": 2000}
BATCH, RATE, HELD_OUT = 32, 0.003, 256
SEEDS = tuple(range(5))


def batch(task: str, size: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw inputs (B, L) and answers (B, L), NOTHING where none is asked for.

    A token of `latest` is blank with probability BLANKS, but for the first. `reverse` has L / 2
    symbols, the separator, and all but the last symbol of the answer.
    """
    symbols = torch.randint(SYMBOLS, (size, length), generator=generator)  # (B, L)
    answers = torch.full_like(symbols, NOTHING)
    if task == "back":
        answers[:, BACK:] = symbols[:, :-BACK]
    elif task == "marker":
        place = torch.randint(BACK, length, (size, 1), generator=generator)  # (B, 1)
        wanted = symbols.gather(1, place - BACK)  # (B, 1)
        symbols.scatter_(1, place, MARKER)
        answers = torch.where(torch.arange(length) >= place, wanted, answers)
    elif task == "latest":
        blank = torch.rand(size, length, generator=generator) < BLANKS  # (B, L)
        blank[:, 0] = False
        places = torch.arange(length).expand(size, -1)
        latest = places.masked_fill(blank, 0).cummax(-1).values  # (B, L)
        answers = torch.where(blank, symbols.gather(1, latest), answers)
        symbols[blank] = MARKER
    else:
        half = length // 2
        backwards = symbols[:, :half].flip(1)  # (B, L / 2)
        symbols[:, half] = MARKER
        symbols[:, half + 1 :] = backwards[:, :-1]
        answers[:, half:] = backwards
    return symbols, answers


def asked_at_the_end(task: str, answers: Tensor) -> Tensor:
    """The answers (B, L) that are scored."""
    last = {"back": 4, "latest": 4, "marker": 1, "reverse": answers.shape[1]}[task]
    scored = answers.clone()
    scored[:, :-last] = NOTHING
    return scored


class Reader(nn.Module):
    """Embed, place, two causal pre-norm layers, name a symbol. (B, L) -> (B, L, SYMBOLS)."""

    def __init__(self, positions: str, longest: int = max(TESTED)):
        super().__init__()
        width, heads = SIZES["embed_dim"], SIZES["num_heads"]
        kind = {"bucketed": "relative", "clipped": "none"}.get(positions, positions)
        self.symbol = nn.Embedding(SYMBOLS + 1, width)
        self.scheme = PositionScheme(kind, width, heads, max_len=longest, bidirectional=False)
        self.clipped = ClippedRelativeBias(heads, CLIP) if positions == "clipped" else None
        self.encoder = Encoder(**SIZES, dropout=0.0, norm_first=True)
        self.answer = nn.Linear(width, SYMBOLS)

    def forward(self, symbols: Tensor) -> Tensor:
        length, device = symbols.shape[1], symbols.device
        if self.clipped is None:
            bias = self.scheme.bias(length, length, offset=0, device=device)
        else:
            bias = self.clipped(length)  # (H, L, L)
        output, _ = self.encoder(
            self.scheme.add(self.symbol(symbols)),
            mask=masks.causal(length, device=device),
            bias=bias,
            rotate=self.scheme.rotate,
        )
        return self.answer(output)  # (B, L, SYMBOLS)


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train one model; return its accuracy at each length tested, and the CPU seconds it took."""
    task, updates = setting["task"], setting["updates"]
    torch.manual_seed(setting["seed"])
    model = Reader(setting["positions"]).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.0, fused=True)
    generator = torch.Generator().manual_seed(1000 + setting["seed"])
    schedule = cosine(updates)
    start = time.process_time()
    for update in range(updates):
        optimizer.param_groups[0]["lr"] = RATE * schedule(update)
        length = 2 * int(torch.randint(3, TRAINED // 2 + 1, (1,), generator=generator))
        symbols, answers = (part.to(device) for part in batch(task, BATCH, length, generator))
        loss = F.cross_entropy(model(symbols).flatten(0, 1), answers.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    seconds = time.process_time() - start
    held_out = torch.Generator().manual_seed(2_000_000 + setting["seed"])
    accuracy = {
        str(length): _accuracy(model.eval(), task, length, held_out, device) for length in TESTED
    }
    return {"accuracy": accuracy, "cpu_seconds": round(seconds, 1)}


@torch.no_grad()
def _accuracy(
    model: Reader, task: str, length: int, generator: torch.Generator, device: torch.device
) -> float:
    symbols, answers = (part.to(device) for part in batch(task, HELD_OUT, length, generator))
    scored = asked_at_the_end(task, answers)
    right = model(symbols).argmax(-1) == scored  # (B, L)
    return (right.sum() / (scored != NOTHING).sum()).item()


def settings(quick: bool) -> list[dict]:
    """Every task, kind of positions and seed; seeds outermost, so that a first look comes early."""
    if quick:
        tasks, kinds, updates, seeds = ("latest", "reverse"), ("alibi", "clipped"), {}, SEEDS[:2]
    else:
        tasks, kinds, updates, seeds = TASKS, POSITIONS, UPDATES, SEEDS
    once = [
        {"task": task, "positions": kind, "updates": updates.get(task, 10)}
        for task in tasks
        for kind in kinds
    ]
    longer = [] if quick else [LONG]
    return [{**setting, "seed": seed} for seed in seeds for setting in once + longer]


def summarise(runs: list[dict]) -> list[dict]:
    """One row for each task, kind and number of updates: accuracy by length, over the seeds."""
    return [
        same | {"accuracy": record.median_intervals([run["accuracy"] for run in group])}
        for same, group in record.grouped(runs, ("task", "positions", "updates"))
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("positions", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {
            "trained": TRAINED,
            "tested": list(TESTED),
            "symbols": SYMBOLS,
            "back": BACK,
            "clip": CLIP,
            "model": SIZES,
            "batch": BATCH,
            "rate": RATE,
            "held_out": HELD_OUT,
            "cpu_seconds": round(sum(run["cpu_seconds"] for run in runs)),
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
