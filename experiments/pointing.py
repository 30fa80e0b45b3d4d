"""Does additive attention look where its answer comes from? `reverse`, by encoder.

    python -m experiments.pointing            three seeds of each, about 15 minutes of one core
    python -m experiments.pointing --quick    tiny, to see that it runs

The right source place of every target place is known. For models that answer right, it counts by
how many places the largest weight misses it, and then changes the weights of one step at a time:
all weight on one place, or one place hidden and the others scaled up to sum to 1 (or left as they
are). The answers that stay right say which state the decoder reads. The decoder is also told a lie
about the symbol that it wrote last, or that this was the answer itself: where the largest weight
misses, and as a control where it does not. And a linear probe says which symbols a state holds,
whether the decoder reads them there or not. Three encoders: one that reads in both directions, one
that reads forward only, and one that reads backward only.

The symbols of a tested word are all different. In words as they are drawn, the place that the
largest weight misses by one may hold the same symbol, and an answer would be right for a wrong
reason; how often it does is counted too.
"""

from collections import Counter
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from attnkit.functional import Attended
from attnlab import tasks
from attnlab.rnn import Seq2Seq, seq2seq
from attnlab.tasks import Batch, Batches
from attnlab.tasks.vocab import SPECIAL
from experiments import _record as record
from experiments._training import fit, parameters

SEEDS, BATCH = (0, 1, 2), 64
EMBED_DIM, HIDDEN_DIM = 64, 100  # those of additive attention in `by_length`, as is all the rest
RATE, STEPS, MORE, LONGEST = 0.004, 1200, 4800, 10
CASES = ("both directions", "forward only", "backward only")
GROUP = ("case", "steps")
CHANGES = ("none", "only right", "only largest", "hide right", "hide largest", "zero largest")
WHERE, TOLD = ("missed", "met"), ("truth", "lie", "answer")


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train one model of one seed, and see where it looks and what it reads."""
    case, seed, steps, longest = (setting[key] for key in ("case", "seed", "steps", "longest"))
    backward = case == "backward only"
    known = tasks.reverse(BATCH * steps, max_length=longest, seed=1000 + seed)
    drawn = tasks.reverse(40 * setting["tested"], min_length=longest, max_length=longest,
                          seed=5000 + seed)  # fmt: skip
    new = [pair for pair in drawn if len(set(pair.source)) == longest][: setting["tested"]]
    drawn = drawn[: setting["tested"]]
    if backward:
        known, new, drawn = map(tasks.reverse_source, (known, new, drawn))
    vocabs = tasks.vocabs([*known, *new])
    torch.manual_seed(seed)
    model = seq2seq(
        *(len(vocab) for vocab in vocabs), embed_dim=EMBED_DIM, hidden_dim=HIDDEN_DIM,
        bidirectional=case == "both directions",
    )  # fmt: skip
    batches = Batches(known, *vocabs, batch_size=BATCH, seed=seed)
    seconds = fit(model, batches, steps=steps, lr=RATE, seed=seed, device=device)
    batch, as_drawn = (
        next(iter(Batches(words, *vocabs, batch_size=len(words), shuffle=False)))
        for words in (new, drawn)
    )
    place = torch.arange(longest).expand(len(new), -1)  # (B, T)
    right = place if backward else place.flip(1)
    found = look(model, batch.to(device), right)
    usual = look(model, as_drawn.to(device), right)
    found["as_drawn"] = {name: usual[name] for name in ("missed", "same_symbol")}
    found["told"] = lie(model, batch.to(device), right, len(SPECIAL), len(vocabs[1]))
    # To the right of a place in the source as it was: what is copied just before it.
    probed = tasks.reverse(setting["probed"], min_length=longest, max_length=longest,
                           seed=7000 + seed)  # fmt: skip
    probed = tasks.reverse_source(probed) if backward else probed
    (other,) = Batches(probed, *vocabs, batch_size=len(probed), shuffle=False)
    on = -1 if backward else 1
    found["probe"] = {
        name: probe(model, (other, batch), shift * on)
        for name, shift in (("its own state", 0), ("the state next door", 1), ("two further", 2))
    }
    if backward:  # in the order of the source as it was
        found["shifts"] = {str(-int(shift)): n for shift, n in reversed(found["shifts"].items())}
    return {"parameters": parameters(model), "cpu_seconds": seconds, **found}


@torch.no_grad()
def look(model: Seq2Seq, batch: Batch, right: Tensor) -> dict:
    """Shifts of the largest weight, and answers that stay right under each change of one step.

    The model is told the right targets. `right` (B, T) are the source places to be read. Answers
    are counted over all steps, and over those whose largest weight is on another place ("missed").
    "same_symbol" is the share of those whose other place holds the right symbol all the same.
    """
    memory = model.decoder.prepare(model.encoder(batch.source, batch.source_lengths))
    state = model.decoder.start(memory)
    shifts: Counter[int] = Counter()
    step_of, doubles = right.to(batch.source.device).argsort(1), 0
    kept = {(change, which): 0 for change in CHANGES for which in ("all", "missed")}
    share = 0.0
    for t, place in enumerate(right.to(batch.source.device).unbind(1)):
        tokens, answer = batch.target_in[:, t : t + 1], batch.target_out[:, t]
        plain = model.decoder.run(tokens, state, memory, need_weights=True)
        weight, largest = plain.weights[:, 0].max(-1)  # (B,)
        share += weight.sum().item()
        shifts.update((largest - place).tolist())
        there = batch.target_out.gather(1, step_of.gather(1, largest[:, None]))[:, 0]
        doubles += int(((there == answer) & (largest != place)).sum())
        for change in CHANGES:
            what, _, where = change.partition(" ")
            chosen = place if where == "right" else largest
            logits = plain.logits
            if what != "none":
                with weights_changed(model.decoder.attention, CHANGED[what], chosen):
                    logits = model.decoder.run(tokens, state, memory, need_weights=True).logits
            same = logits[:, 0].argmax(-1) == answer  # (B,)
            kept[change, "all"] += int(same.sum())
            kept[change, "missed"] += int(same[largest != place].sum())
        state = plain.state
    steps = right.numel()
    missed = steps - shifts[0]
    return {
        "steps_looked_at": steps,
        "shifts": {str(shift): count for shift, count in sorted(shifts.items())},
        "missed": round(missed / steps, 5),
        "same_symbol": round(doubles / missed, 5) if missed else None,
        "largest_weight": round(share / steps, 4),
        "answers": {
            change: {
                "all": round(kept[change, "all"] / steps, 5),
                "missed": round(kept[change, "missed"] / missed, 5) if missed else None,
            }
            for change in CHANGES
        },
    }


@torch.no_grad()
def lie(model: Seq2Seq, batch: Batch, right: Tensor, lowest: int, above: int) -> dict:
    """What the decoder writes, told the symbol that it wrote last, a wrong one, or the answer.

    In the steps whose largest weight misses, and apart from them in those where it does not
    ("met"), with the weights as they are and with the place of the largest hidden: the shares of
    right answers, of answers that repeat the symbol at that place, and of those that repeat the one
    written last. At one step only, from the second on. Symbols are the tokens from `lowest` up to
    below `above`; a lie is neither the symbol that was written last nor the right answer.
    """
    memory = model.decoder.prepare(model.encoder(batch.source, batch.source_lengths))
    state = model.decoder.start(memory)
    generator = torch.Generator().manual_seed(0)
    counts: dict[tuple[str, str, str], Tensor] = {}
    steps, right = Counter(), right.to(batch.source.device)
    step_of = right.argsort(1)  # (B, S), when the symbol of each place is to be written
    for t, place in enumerate(right.unbind(1)):
        last, answer = batch.target_in[:, t], batch.target_out[:, t]
        plain = model.decoder.run(last[:, None], state, memory, need_weights=True)
        largest = plain.weights[:, 0].argmax(-1)  # (B,)
        if t:
            symbols = torch.arange(lowest, above, device=last.device).expand(len(last), -1)
            possible = (symbols != last[:, None]) & (symbols != answer[:, None])  # (B, V)
            drawn = torch.multinomial(possible.float().cpu(), 1, generator=generator)
            wrong = symbols.gather(1, drawn.to(symbols.device))  # (B, 1)
            beside = batch.target_out.gather(1, step_of.gather(1, largest[:, None]))[:, 0]
            where = {"missed": largest != place, "met": largest == place}
            steps.update({name: int(rows.sum()) for name, rows in where.items()})
            for told, tokens in zip(TOLD, (last[:, None], wrong, answer[:, None]), strict=True):
                for weights, change in (("as it is", _as_they_are), ("hidden", hide)):
                    with weights_changed(model.decoder.attention, change, largest):
                        said = model.decoder.run(tokens, state, memory, need_weights=True).logits
                    said = said[:, 0].argmax(-1)
                    same = torch.stack([said == answer, said == beside, said == last])  # (3, B)
                    for name, rows in where.items():
                        key = name, told, weights
                        counts[key] = counts.get(key, 0) + same[:, rows].sum(1)
        state = plain.state
    found: dict = {name: {"steps": steps[name]} for name in WHERE}
    for (name, told, weights), same in counts.items():
        if steps[name]:
            shares = [round(n / steps[name], 5) for n in same.tolist()]
            numbers = dict(zip(("right", "beside", "last"), shares, strict=True))
            found[name].setdefault(told, {})[weights] = numbers
    return found


def probe(model: Seq2Seq, batches: Sequence[Batch], shift: int) -> float:
    """The share of symbols that a linear map reads from the encoder's state `shift` places on.

    It is fitted to all places of the first batch at once and tested on the second.
    """
    parts = []
    for batch in batches:
        batch = batch.to(next(model.parameters()).device)
        with torch.no_grad():
            states = model.encoder(batch.source, batch.source_lengths).outputs  # (B, S, F)
        n = batch.source.shape[1]
        at = torch.arange(max(0, -shift), min(n, n - shift), device=states.device)
        parts.append((states[:, at + shift].flatten(0, 1), batch.source[:, at].flatten()))
    (states, symbols), (unseen, wanted) = parts
    reader = nn.Linear(states.shape[-1], int(symbols.max()) + 1, device=states.device)
    nn.init.zeros_(reader.weight)
    nn.init.zeros_(reader.bias)
    optimizer = torch.optim.LBFGS(reader.parameters(), max_iter=60, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = functional.cross_entropy(reader(states), symbols)
        value.backward()
        return value

    optimizer.step(loss)
    with torch.no_grad():
        return round((reader(unseen).argmax(-1) == wanted).float().mean().item(), 5)


def only(weights: Tensor, place: Tensor) -> Tensor:
    """All weight (B, 1, S) on one place (B,) of each row."""
    return torch.zeros_like(weights).scatter(-1, place[:, None, None], 1.0)


def hide(weights: Tensor, place: Tensor) -> Tensor:
    """No weight on that place; the others keep their proportions and sum to 1."""
    weights = weights.scatter(-1, place[:, None, None], 0.0)
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-9)


def zero(weights: Tensor, place: Tensor) -> Tensor:
    """No weight on that place, and the others as they were: a common mistake."""
    return weights.scatter(-1, place[:, None, None], 0.0)


def _as_they_are(weights: Tensor, place: Tensor) -> Tensor:
    return weights


CHANGED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"only": only, "hide": hide, "zero": zero}


def weights_changed(attention: nn.Module, change: Callable, place: Tensor):
    """A context in which the attention returns the average of its values by changed weights."""

    def hook(module: nn.Module, inputs: tuple[Tensor, ...], attended: Attended) -> Attended:
        weights = change(attended.weights, place)  # (B, 1, S)
        return Attended(weights @ inputs[1], weights)  # keys are values

    return attention.register_forward_hook(hook)


def settings(quick: bool) -> list[dict]:
    """Every case and seed; seeds outermost, so that a first look comes early."""
    sizes = {"longest": 4, "tested": 20, "probed": 30} if quick else {
        "longest": LONGEST, "tested": 400, "probed": 2000}  # fmt: skip
    models = [(case, 3 if quick else STEPS) for case in CASES]
    models += [] if quick else [("both directions", MORE)]
    return [
        {"case": case, "steps": steps, "seed": seed, **sizes}
        for seed in (SEEDS[:2] if quick else SEEDS)
        for case, steps in models
    ]


def summarise(runs: Sequence[dict]) -> list[dict]:
    """One row a case and number of updates, over seeds, with intervals; and each run's numbers."""
    return [
        {
            **same,
            "parameters": group[0]["parameters"],
            **record.median_intervals(group, ("missed", "largest_weight", "cpu_seconds")),
            "answers": {
                change: record.median_intervals([run["answers"][change] for run in group])
                for change in CHANGES
            },
            "probe": record.median_intervals([run["probe"] for run in group]),
            "as_drawn": record.median_intervals([run["as_drawn"] for run in group]),
            "told": {
                where: {
                    told: {
                        weights: record.median_intervals(
                            [run["told"][where][told][weights] for run in group]
                        )
                        for weights in ("as it is", "hidden")
                    }
                    for told in TOLD
                }
                for where in WHERE
                if all(run["told"][where]["steps"] for run in group)
            },
            "runs": group,
        }
        for same, group in record.grouped(runs, GROUP)
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("pointing", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {
            "longest": runs[0]["longest"],
            "tested": runs[0]["tested"],
            "training": record.training(
                [run | {"rate": RATE} for run in runs],
                ("case",),
                score=lambda run: run["answers"]["none"]["all"],
                of="right answers at each step, told the right symbols before",
            ),
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
