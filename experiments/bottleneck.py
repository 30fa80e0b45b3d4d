"""What one vector holds: accuracy by its size, what is lost first, how far the gradient reaches.

    python -m experiments.bottleneck            65 runs, about 17 minutes on one busy CPU core
    python -m experiments.bottleneck --quick    a few of them, in seconds

An encoder reads letters, a decoder writes them again from the encoder's last state alone:
backwards (`reverse`) or in order (`copy`). All are trained alike on sources of up to 10 letters;
one size once more with four times the updates. Each run counts exact answers by length, letters
right by the position of their source, given the model's own letters or the right ones, and
how large the gradient of the loss of the letter that needs the first source letter is at the
first and at the last source letter, before training and after.
"""

import string
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab import tasks
from attnlab.decoding.predictions import predict
from attnlab.rnn import Seq2Seq, seq2seq
from attnlab.tasks import PAD, Batches, Pair
from experiments import _record as record
from experiments._scoring import exact, reaches
from experiments._training import fit

SEEDS, BATCH, RATE, EMBED_DIM, LETTERS = (0, 1, 2, 3, 4), 64, 0.004, 32, 20
LONGEST, TESTED, STEPS, MORE = 10, 20, 800, 3200
WIDTHS, MIDDLE = (16, 32, 64, 128, 256), 64
TASKS = {"reverse": tasks.reverse, "copy": tasks.copy}
BY_PLACE = (6, 8, 10, 14)
REACH = (1, 2, 4, 6, 8, 10, 12, 16, 20)
GROUP = ("task", "cell", "width", "steps")


def build(cell: str, width: int, size: int) -> Seq2Seq:
    """Make an untrained model with `width` numbers in its state; an LSTM has a cell as well."""
    return seq2seq(size, size, attention="none", embed_dim=EMBED_DIM, hidden_dim=width, cell=cell,
                   bidirectional=False)  # fmt: skip


def batches(setting: dict, count: int, seed: int, shortest: int, longest: int) -> Batches:
    """Draw examples of the task, with one vocabulary of all letters for both sides."""
    task = TASKS[setting["task"]]
    pairs = task(count, min_length=shortest, max_length=longest, symbols=LETTERS, seed=seed)
    vocab = tasks.Vocab(list(string.ascii_letters[:LETTERS]))
    return Batches(pairs, vocab, vocab, batch_size=BATCH, seed=setting["seed"])


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train and test one model of one seed."""
    seed, steps = setting["seed"], setting["steps"]
    known = batches(setting, BATCH * steps, 1000 + seed, 1, setting["longest"])
    torch.manual_seed(seed)
    model = build(setting["cell"], setting["width"], len(known.source_vocab)).to(device)
    reach = {"untrained": _reach(model, setting)}
    fit(model, known, steps=steps, lr=RATE, seed=seed, device=device)
    reach["trained"] = _reach(model, setting)
    found: dict = {"by_length": {}, "by_place": {}, "reach": reach}
    for n in range(1, setting["most"] + 1):
        new = batches(setting, setting["tested"], 2000 + 100 * seed + n, n, n)
        free, forced = predict(model, new), _teacher_forced(model, new)
        found["by_length"][str(n)] = _counts(new.pairs, free, forced)
        if n in BY_PLACE:
            found["by_place"][str(n)] = {
                "free": _by_place(new.pairs, free),
                "told": _by_place(new.pairs, forced),
            }
    return found


@torch.no_grad()
def _teacher_forced(model: Seq2Seq, data: Batches) -> list[list[str]]:
    """The most probable letter at each position, given the right letters before it."""
    device, predicted = next(model.parameters()).device, [[""]] * len(data.pairs)
    for batch in data:
        batch = batch.to(device)
        logits = model(batch.source, batch.source_lengths, batch.target_in)  # (B, T, V)
        for index, tokens, n in zip(
            batch.index.tolist(), logits.argmax(-1).tolist(), batch.target_lengths, strict=True
        ):
            # All but the last, which answers for the end symbol. It may name that symbol early.
            predicted[index] = [data.target_vocab.tokens[token] for token in tokens[: int(n) - 1]]
    return predicted


def _counts(
    pairs: Sequence[Pair], free: Sequence[Sequence[str]], forced: Sequence[Sequence[str]]
) -> list[int]:
    """Examples, exact answers, letters, letters right by itself, and right given the target."""
    places = range(len(pairs[0].target))
    right = [sum(_right(pairs, predicted, t) for t in places) for predicted in (free, forced)]
    return [len(pairs), sum(exact(free, pairs)), len(pairs) * len(places), *right]


def _by_place(pairs: Sequence[Pair], predicted: Sequence[Sequence[str]]) -> list[int]:
    """The share of correct outputs for each source letter, from the first read to the last."""
    backwards = pairs[0].target == pairs[0].source[::-1]
    counts = [_right(pairs, predicted, t) for t in range(len(pairs[0].target))]
    return counts[::-1] if backwards else counts


def _right(pairs: Sequence[Pair], predicted: Sequence[Sequence[str]], place: int) -> int:
    return sum(
        len(tokens) > place and tokens[place] == pair.target[place]
        for pair, tokens in zip(pairs, predicted, strict=True)
    )


def _reach(model: Seq2Seq, setting: dict) -> dict:
    """Base-10 logarithm of the gradient's norm at the first and last source letter, median."""
    found = {}
    for n in (n for n in REACH if n <= setting["most"]):
        data = batches(setting, BATCH, 9000 + n, n, n)
        (batch,) = data
        place = n - 1 if setting["task"] == "reverse" else 0  # the letter that needs the first
        first, last = gradient(model, batch, place)[:, [0, n - 1]].norm(dim=-1).T  # (B,) each
        logs = torch.stack([first, last, first / last]).double().clamp(min=1e-30).log10()
        found[str(n)] = [round(value, 5) for value in logs.median(dim=-1).values.tolist()]
    return found


def gradient(model: Seq2Seq, batch: tasks.Batch, place: int) -> Tensor:
    """Gradient (B, S, embed_dim) of the loss of one target place in each of the source letters."""
    batch = batch.to(next(model.parameters()).device)
    seen = []
    hook = model.encoder.embedding.register_forward_hook(lambda *call: seen.append(call[-1]))
    try:
        logits = model(batch.source, batch.source_lengths, batch.target_in)[:, place]  # (B, V)
    finally:
        hook.remove()
    loss = F.cross_entropy(logits, batch.target_out[:, place], ignore_index=PAD, reduction="sum")
    return torch.autograd.grad(loss, seen[0])[0].cpu()


def settings(quick: bool) -> list[dict]:
    """Every model and seed; seeds outermost, so that a first look comes early."""
    models = [("reverse", cell, width, STEPS) for width in WIDTHS for cell in ("gru", "lstm")]
    models += [("copy", cell, MIDDLE, STEPS) for cell in ("gru", "lstm")]
    models += [("reverse", "gru", MIDDLE, MORE)]
    if quick:
        models = [("reverse", "gru", 16, 3), ("copy", "lstm", 16, 3)]
    sizes = {"longest": LONGEST, "most": 8 if quick else TESTED, "tested": 5 if quick else 200}
    return [
        {**dict(zip(GROUP, model, strict=True)), "seed": seed, **sizes}
        for seed in (SEEDS[:2] if quick else SEEDS)
        for model in models
    ]


def summarise(runs: Sequence[dict]) -> list[dict]:
    """One row for each task, cell, width and number of updates, over seeds, with intervals."""
    return [same | _row(group) for same, group in record.grouped(runs, GROUP)]


def _row(group: Sequence[dict]) -> dict:
    def over_seeds(numbers: Sequence[Sequence[float]]) -> list[dict]:
        return [record.median_interval(list(column)) for column in zip(*numbers, strict=True)]

    first = group[0]
    by_length = {}
    for n in first["by_length"]:
        counts = [run["by_length"][n] for run in group]
        shares = over_seeds([[c[1] / c[0], c[3] / c[2], c[4] / c[2]] for c in counts])
        by_length[n] = dict(zip(("exact", "letters", "letters_told"), shares, strict=True))
    by_place = {
        n: {way: over_seeds([[count / run["tested"] for count in run["by_place"][n][way]]
                             for run in group]) for way in ways}
        for n, ways in first["by_place"].items()
    }  # fmt: skip
    reach = {
        when: {n: dict(zip(("first", "last", "ratio"),
                           over_seeds([run["reach"][when][n] for run in group]), strict=True))
               for n in lengths}
        for when, lengths in first["reach"].items()
    }  # fmt: skip
    return {
        "holds_90": record.median_interval([reaches(run) for run in group]),
        "by_length": by_length,
        "by_place": by_place,
        "reach": reach,
    }


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("bottleneck", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {"trained_to": runs[0]["longest"], "rows": summarise(runs)},
    )


if __name__ == "__main__":
    main()
