"""How long one training update takes: recurrent networks against the Transformer, by length.

    python -m experiments.update_rates            about three minutes of one core
    python -m experiments.update_rates --quick    a few rounds, to see that it runs

The models of `by_length` on `reverse`, all of about the same number of parameters, each take one
update, forward, backward and the optimizer's step, on 64 sources of one length. In the recurrent
ones a word waits for the word before; the Transformer does all words at once, and compares each
with all others. Times depend on the machine, so only their ratio to the Transformer's is written,
taken within each interleaved round. On one thread of a CPU nothing runs side by side, so this says
what the work is, and a GPU's gain comes on top.
"""

from collections.abc import Callable

import torch

from attnbook import recorded
from attnlab import tasks, training
from benchmarks import _harness as harness
from experiments import _record as record
from experiments import by_length

BATCH, LENGTHS = 64, (4, 8, 16, 32, 64, 128)
MODELS = ("transformer", "fixed GRU", "additive")
INTERVAL = (
    "time of an update divided by the Transformer's in the same round: median of the rounds, with "
    "quartiles"
)


def update(name: str, length: int, device: torch.device) -> Callable[[], object]:
    """One update of a model on a batch of sources of one length, and targets of the same."""
    pairs = tasks.reverse(BATCH, min_length=length, max_length=length, seed=length)
    vocabs = tasks.vocabs(pairs)
    kind, arguments = by_length.plan(name, "reverse", tuple(map(len, vocabs)))
    torch.manual_seed(0)
    model = recorded.build(kind, arguments).to(device).train()
    batch = next(iter(tasks.Batches(pairs, *vocabs, batch_size=BATCH))).to(device)
    adam = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def once() -> float:
        adam.zero_grad()
        loss = training.sequence_loss(model, batch).mean()
        loss.backward()
        adam.step()
        return loss.item()

    return once


def measure(length: int, *, quick: bool, device: torch.device) -> dict:
    """Ratios of the recurrent models to the Transformer at one length."""
    calls = {name: update(name, length, device) for name in MODELS}
    rounds, budget = (3, 0.5) if quick else (31, 30.0)
    found = harness.compare(calls, rounds=rounds, budget=budget, device=device.type)
    ratios = {
        name: {key: found[name][key] for key in ("ratio", "low", "high")} for name in MODELS[1:]
    }
    return {"length": length, "rounds": found[MODELS[0]]["rounds"], "ratios": ratios}


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("update_rates", __doc__, argv)
    torch.set_num_threads(1)
    lengths = LENGTHS[:2] if chosen.quick else LENGTHS
    return record.write(
        chosen.out,
        command=chosen.command,
        seeds=[0],
        device=chosen.device,
        results={
            "interval": INTERVAL,
            "rows": [
                measure(length, quick=chosen.quick, device=chosen.device) for length in lengths
            ],
        },
    )


if __name__ == "__main__":
    main()
