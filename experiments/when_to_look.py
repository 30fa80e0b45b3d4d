"""Does it matter when a decoder looks? `reverse`, one decoder, its look moved and then forgotten.

    python -m experiments.when_to_look            63 runs, an hour and a half of one core
    python -m experiments.when_to_look --quick    tiny, to see that it runs

Every decoder has the parts of Bahdanau's. Only three lines of its step change: it looks with the
old state and feeds what it found to the step ("before"); it looks with the new state and feeds what
it found to the next step ("after"); or it looks with the new state, and nothing is fed to any step
("forgotten"). So the first two differ by the order alone, the last two by the memory alone. Scores
are dot products.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from attnkit.mechanisms.luong import LuongAttention
from attnlab import tasks
from attnlab.decoding import Stepped
from attnlab.decoding.predictions import predict
from attnlab.rnn import BahdanauDecoder, Encoded, Encoder, Seq2Seq, State
from attnlab.tasks import Batches
from experiments import _record as record
from experiments._scoring import exact
from experiments._training import fit, parameters

ORDERS, SEEDS = ("before", "after", "forgotten"), (0, 1, 2, 3, 4)
BATCH, LONGEST, STEPS, MORE = 64, 10, 1200, 4800
EMBED_DIM, HIDDEN_DIM = 64, 100  # those of additive attention in `by_length`
RATES, RATES_FOR_MORE = (0.002, 0.004, 0.008), (0.002, 0.004)
GROUP = ("order",)


class Moved(BahdanauDecoder):
    """A decoder that looks with its new state; what it found is fed to the next step, or to none.

    The parts, and so the parameters, are those of `BahdanauDecoder`.
    """

    remembers = True

    def start(self, memory: Encoded) -> State:
        """The first state; nothing has been found yet."""
        return super().start(memory)._replace(feed=torch.zeros_like(memory.outputs[:, 0]))

    def run(
        self, tokens: Tensor, state: State, memory: Encoded, *, need_weights: bool = False
    ) -> Stepped:
        """Read tokens (B, 1): move on, then look."""
        x = self._embed(tokens)  # (B, 1, E)
        outputs, state = self._recur(torch.cat((x, state.feed[:, None]), dim=-1), state)
        context, weights = self._look(outputs, memory, need_weights)  # (B, 1, F)
        if self.remembers:
            state = state._replace(feed=context[:, -1])
        joined = torch.cat((outputs, context, x), dim=-1)
        return Stepped(self.readout(self.dropout(joined)), state, weights)


class Forgotten(Moved):
    """As `Moved`, but what is found goes into the output alone."""

    remembers = False


DECODERS = dict(zip(ORDERS, (BahdanauDecoder, Moved, Forgotten), strict=True))


def build(order: str, sizes: tuple[int, int]) -> Seq2Seq:
    """One model: when it looks, and the sizes of the two vocabularies."""
    encoder = Encoder(sizes[0], EMBED_DIM, HIDDEN_DIM // 2)
    features = encoder.output_dim
    attention = LuongAttention(HIDDEN_DIM, features, "dot")
    decoder = DECODERS[order](sizes[1], EMBED_DIM, HIDDEN_DIM, features, attention)
    return Seq2Seq(encoder, decoder)


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train one model of one seed, and count exact answers by length."""
    order, seed, steps, longest, tested = (
        setting[key] for key in ("order", "seed", "steps", "longest", "tested")
    )
    known = tasks.reverse(BATCH * steps, max_length=longest, seed=1000 + seed)
    new = [
        pair
        for n in range(1, 2 * longest + 1)
        for pair in tasks.reverse(tested, min_length=n, max_length=n, seed=2000 + 100 * seed + n)
    ]
    vocabs = tasks.vocabs([*known, *new])
    torch.manual_seed(seed)
    model = build(order, (len(vocabs[0]), len(vocabs[1])))
    batches = Batches(known, *vocabs, batch_size=BATCH, seed=seed)
    seconds = fit(model, batches, steps=steps, lr=setting["rate"], seed=seed, device=device)
    right = exact(predict(model, Batches(new, *vocabs, batch_size=100)), new)
    counts = {str(n): [0, 0] for n in range(1, 2 * longest + 1)}
    for pair, one in zip(new, right, strict=True):
        counts[str(len(pair.source))][0] += 1
        counts[str(len(pair.source))][1] += one
    return {"parameters": parameters(model), "cpu_seconds": seconds, "by_length": counts}


def share(run: dict, *, beyond: bool) -> float:
    """Exact answers up to the longest length of training, or from there to twice that."""
    counts = [c for n, c in run["by_length"].items() if (int(n) > run["longest"]) is beyond]
    return sum(c[1] for c in counts) / sum(c[0] for c in counts)


def settings(quick: bool) -> list[dict]:
    """Every decoder, rate and seed; the shorter budget, with more seeds, first; seeds outermost."""
    sizes = {"longest": 3, "tested": 3} if quick else {"longest": LONGEST, "tested": 100}
    budgets = (
        [(3, RATES[:1], SEEDS[:2])]
        if quick
        else [(STEPS, RATES, SEEDS), (MORE, RATES_FOR_MORE, SEEDS[:3])]
    )
    return [
        {"order": order, "rate": rate, "steps": steps, "seed": seed, **sizes}
        for steps, rates, seeds in budgets
        for seed in seeds
        for order in ORDERS
        for rate in rates
    ]


def summarise(runs: Sequence[dict]) -> list[dict]:
    """One row for each decoder, budget and rate, with its runs."""
    return [
        {
            **same,
            "within": record.median_interval([share(run, beyond=False) for run in group]),
            "beyond": record.median_interval([share(run, beyond=True) for run in group]),
            "runs": group,
        }
        for same, group in record.grouped(runs, (*GROUP, "steps", "rate"))
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("when_to_look", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {
            "longest": runs[0]["longest"],
            "tested": runs[0]["tested"],
            "training": record.training(
                runs,
                GROUP,
                score=lambda run: share(run, beyond=True),
                of="exact answers from the longest length in training to twice that",
            ),
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
