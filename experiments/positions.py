"""Positions beyond the lengths of training: the runs behind chapter 07.

    python -m experiments.positions            225 runs, about 45 minutes on one CPU core
    python -m experiments.positions --quick    two tasks, two seeds, a few updates, in seconds

Small causal models, alike in everything but their positions, are trained on sequences of at most N
tokens and tested on up to 4 N. Three tasks with known answers, from the least to the most that they
ask of a position:

- `latest`: most tokens are blanks; at a blank, name the latest symbol. Needs what is near.
- `back`: at every place, name the symbol three places back. Needs a distance, and nothing else.
- `marker`: from the marker on, name the symbol that stood three places before it. Needs a distance,
  then the marker wherever it is.

Accuracy is measured at the far end: the last four places for `latest` and `back`, the last one for
`marker`. All sequences are drawn afresh, symbols with equal probability. Each model is trained for
300, 1,200 and 2,400 updates, every time from the start, at a rate of 0.003. A third and three times
that rate are tried with 300 updates.

How it was chosen: `back` and `marker` before any run, the sizes and the smaller number of updates
so that most kinds learn the trained lengths. A first run showed ALiBi fail at both; `latest` and
the clipped bias were added then. `positions_controls` asks which clocks the rotary models use.
"""

import time

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnkit import masks
from attnkit.positions import ClippedRelativeBias
from attnlab.transformer import Encoder, PositionScheme
from experiments import _record as record
from experiments._training import cosine, parameters

SYMBOLS, BACK, NOTHING = 16, 3, -100
MARKER = SYMBOLS  # also the blank of `latest`
BLANKS = 0.75
TASKS = ("latest", "back", "marker")
POSITIONS = ("none", "sinusoidal", "rotary", "alibi", "clipped")
CLIP = 8  # distances from here on share a bias in "clipped"
TRAINED = 16  # N: the longest sequence of training, in tokens
TESTED = (8, 16, 20, 24, 32, 64)
SIZES = {"embed_dim": 64, "num_heads": 4, "hidden_dim": 128, "num_layers": 2}
UPDATES = (300, 1200, 2400)
RATES, TRIED_WITH = (0.001, 0.01), 300  # other rates, and the updates they are tried with
BATCH, RATE, HELD_OUT = 32, 0.003, 256
SEEDS = tuple(range(3))
ROW = ("task", "positions", "layers", "heads", "updates", "rate")


def batch(task: str, size: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw inputs (B, L) and answers (B, L), NOTHING where none is asked for.

    A token of `latest` is blank with probability BLANKS, but for the first.
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
    else:
        blank = torch.rand(size, length, generator=generator) < BLANKS  # (B, L)
        blank[:, 0] = False
        places = torch.arange(length).expand(size, -1)
        latest = places.masked_fill(blank, 0).cummax(-1).values  # (B, L)
        answers = torch.where(blank, symbols.gather(1, latest), answers)
        symbols[blank] = MARKER
    return symbols, answers


def asked_at_the_end(task: str, answers: Tensor) -> Tensor:
    """The answers (B, L) that are scored."""
    last = {"back": 4, "latest": 4, "marker": 1}[task]
    scored = answers.clone()
    scored[:, :-last] = NOTHING
    return scored


class Reader(nn.Module):
    """Embed, place, causal pre-norm layers, name a symbol. (B, L) -> (B, L, SYMBOLS)."""

    def __init__(
        self,
        positions: str,
        longest: int = max(TESTED),
        *,
        layers: int = SIZES["num_layers"],
        heads: int = SIZES["num_heads"],
        base: float = 10_000.0,
    ):
        super().__init__()
        width, sizes = SIZES["embed_dim"], SIZES | {"num_layers": layers, "num_heads": heads}
        kind = "none" if positions == "clipped" else positions
        self.symbol = nn.Embedding(SYMBOLS + 1, width)
        self.scheme = PositionScheme(
            kind, width, heads, max_len=longest, bidirectional=False, base=base
        )
        self.clipped = ClippedRelativeBias(heads, CLIP) if positions == "clipped" else None
        self.encoder = Encoder(**sizes, dropout=0.0, norm_first=True)
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
    model, seconds = trained(setting, device=device)
    return {
        "accuracy": accuracies(model, setting, device=device),
        "parameters": parameters(model),
        "cpu_seconds": seconds,
    }


def trained(setting: dict, *, device: torch.device) -> tuple[Reader, float]:
    """One model, trained, and the CPU seconds it took."""
    task, updates, rate = setting["task"], setting["updates"], setting["rate"]
    torch.manual_seed(setting["seed"])
    sizes = {name: setting[name] for name in ("layers", "heads", "base") if name in setting}
    model = Reader(setting["positions"], **sizes).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.0, fused=True)
    generator = torch.Generator().manual_seed(1000 + setting["seed"])
    schedule = cosine(updates)
    start = time.process_time()
    for update in range(updates):
        optimizer.param_groups[0]["lr"] = rate * schedule(update)
        length = 2 * int(torch.randint(3, TRAINED // 2 + 1, (1,), generator=generator))
        symbols, answers = (part.to(device) for part in batch(task, BATCH, length, generator))
        loss = F.cross_entropy(model(symbols).flatten(0, 1), answers.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model.eval(), round(time.process_time() - start, 1)


def accuracies(model: Reader, setting: dict, *, device: torch.device) -> dict[str, float]:
    """The share right at each length tested, on texts that depend on the seed alone."""
    held_out = torch.Generator().manual_seed(2_000_000 + setting["seed"])
    return {
        str(length): _accuracy(model, setting["task"], length, held_out, device)
        for length in TESTED
    }


@torch.no_grad()
def _accuracy(
    model: Reader, task: str, length: int, generator: torch.Generator, device: torch.device
) -> float:
    symbols, answers = (part.to(device) for part in batch(task, HELD_OUT, length, generator))
    scored = asked_at_the_end(task, answers)
    right = model(symbols).argmax(-1) == scored  # (B, L)
    return (right.sum() / (scored != NOTHING).sum()).item()


def settings(quick: bool) -> list[dict]:
    """Every task, kind, size and seed; seeds outermost, so that a first look comes early."""
    size = (SIZES["num_layers"], SIZES["num_heads"])
    if quick:
        cases, updates, seeds = (
            [("latest", "alibi", size), ("back", "rotary", (1, 1))],
            (10,),
            (0, 1),
        )
    else:
        cases = [(task, kind, size) for task in TASKS for kind in POSITIONS]
        updates, seeds = UPDATES, SEEDS
    runs = [(seed, count, RATE, *case) for seed in seeds for count in updates for case in cases]
    if not quick:
        runs += [
            (seed, TRIED_WITH, rate, task, kind, size)
            for seed in seeds
            for rate in RATES
            for task in TASKS
            for kind in POSITIONS
        ]
    return [
        {
            "task": task,
            "positions": kind,
            "layers": layers,
            "heads": heads,
            "updates": count,
            "rate": rate,
            "seed": seed,
        }
        for seed, count, rate, task, kind, (layers, heads) in runs
    ]


def summarise(runs: list[dict]) -> list[dict]:
    """One row for each task, kind, size, number of updates and rate: accuracy by length."""
    return [
        {
            **same,
            "parameters": group[0]["parameters"],
            "cpu_seconds": record.median_interval([run["cpu_seconds"] for run in group])["median"],
            "accuracy": record.median_intervals([run["accuracy"] for run in group]),
        }
        for same, group in record.grouped(runs, ROW)
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
            "training": [
                entry
                for length in (TRAINED, 2 * TRAINED, 4 * TRAINED)
                for entry in record.training(
                    [{**run, "at": run["accuracy"][str(length)]} for run in runs],
                    ("task", "positions", "layers", "heads"),
                    score=lambda run: run["at"],
                    of=f"right at length {length}",
                    updates="updates",
                )
            ],
            "held_out": HELD_OUT,
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
