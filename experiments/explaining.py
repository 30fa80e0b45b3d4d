"""Which words matter for "it" in all-MiniLM-L6-v2? Five answers, and how far they agree.

    python -m experiments.explaining            40 sentences, about a minute of one core
    python -m experiments.explaining --quick    three of them

For the state of "it" after the last layer, every other word of the sentence gets a number: the
weight of the famous head, the mean weight of all heads of the last layer, attention rollout, the
gradient (the norm of the Jacobian with respect to the word's first state, by random projections),
leaving the word out (no token may see it: one minus the cosine between the state with and without)
and swapping it ([MASK] in its place, the same distance). Kendall's tau with leaving out says how
far each orders the words alike. Then Jain and Wallace's test: the row of "it" in the famous head is
shuffled, in place of its own weights, and so are the rows of all heads of its layer. Beside it the
same dose for one word: the word that matters most is hidden from "it" in that head, or that layer,
alone.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab.pretrained import Reader
from experiments import _minilm as minilm
from experiments import _record as record
from experiments import reference

SENTENCES, PROJECTIONS, SHUFFLES, SEED = 40, 8, 10, 0
MASK_TOKEN = "[MASK]"
MEASURES = ("famous head", "last layer", "rollout", "gradient", "swapping")


def tau(one: Tensor, other: Tensor) -> float:
    """Kendall's rank correlation of two rows of numbers, tau-a.

    Example:
        >>> tau(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 3.0, 2.0]))
        0.3333333432674408
    """
    rows, columns = torch.triu_indices(len(one), len(one), 1)
    agree = torch.sign(one[rows] - one[columns]) * torch.sign(other[rows] - other[columns])
    return agree.float().mean().item()


def distance(state: Tensor, others: Tensor) -> Tensor:
    """One minus the cosine between a state (E,) and others (..., E)."""
    return 1 - F.cosine_similarity(state.expand_as(others), others, dim=-1)


def gradient(reader: Reader, tokens: Tensor, it: int, seed: int) -> Tensor:
    """An estimate of the Jacobian's norm, of the last state of "it" by each first state (L,)."""
    generator = torch.Generator().manual_seed(seed)
    x = reader.model.embed(tokens).detach().requires_grad_()
    state = reader.model.run(x, torch.ones(1, 1, tokens.shape[1], dtype=torch.bool)).states[
        0, -1, it
    ]
    total = torch.zeros(tokens.shape[1])
    for place in range(PROJECTIONS):
        along = torch.randn(state.shape, generator=generator)
        (slope,) = torch.autograd.grad(state, x, along, retain_graph=place < PROJECTIONS - 1)
        total += slope[0].square().sum(-1)
    return (total / PROJECTIONS).sqrt()


@torch.no_grad()
def left_out(reader: Reader, tokens: Tensor, it: int) -> Tensor:
    """How far the last state of "it" moves when no token may see this one (L,)."""
    L = tokens.shape[1]
    visible = ~torch.eye(L, dtype=torch.bool)[:, None]  # (L, 1, L): of text n, token n is hidden
    x = reader.model.embed(tokens).expand(L, -1, -1)
    plain = reader.model(tokens).states[0, -1, it]
    return distance(plain, minilm.run(reader.model, x, visible).states[:, -1, it])


@torch.no_grad()
def swapped(reader: Reader, tokens: Tensor, it: int) -> Tensor:
    """How far the last state of "it" moves when this token is [MASK] (L,)."""
    L = tokens.shape[1]
    changed = tokens.repeat(L, 1)
    changed.fill_diagonal_(reader.tokenizer.token_to_id(MASK_TOKEN))
    plain = reader.model(tokens).states[0, -1, it]
    return distance(plain, reader.model(changed).states[:, -1, it])


@torch.no_grad()
def shuffled(reader: Reader, tokens: Tensor, it: int, heads: list[int], seed: int) -> float:
    """How far the last state of "it" moves when its row in these heads of the famous layer is
    shuffled, median of several shuffles."""
    generator = torch.Generator().manual_seed(seed)
    L, layer = tokens.shape[1], minilm.FAMOUS[0]
    orders = torch.stack([torch.randperm(L, generator=generator) for _ in range(SHUFFLES)])

    def edit(number: int, weights: Tensor) -> Tensor:
        if number != layer:
            return weights
        weights = weights.clone()
        for head in heads:
            weights[:, head, it] = weights[:, head, it].gather(1, orders)
        return weights

    x = reader.model.embed(tokens)
    real = torch.ones(SHUFFLES, 1, L, dtype=torch.bool)
    moved = minilm.run(reader.model, x.expand(SHUFFLES, -1, -1), real, edit=edit)
    return distance(reader.model(tokens).states[0, -1, it], moved.states[:, -1, it]).median().item()


@torch.no_grad()
def hidden(reader: Reader, tokens: Tensor, it: int, word: int, heads: list[int]) -> float:
    """How far the last state of "it" moves when "it" does not see a word in these heads of the
    famous layer: the other weights of the row share out what the word had."""

    def edit(number: int, weights: Tensor) -> Tensor:
        if number != minilm.FAMOUS[0]:
            return weights
        rows = weights[:, heads, it].clone()  # (1, heads, L)
        rows[..., word] = 0
        weights = weights.clone()
        weights[:, heads, it] = rows / rows.sum(-1, keepdim=True)
        return weights

    real = torch.ones(1, 1, tokens.shape[1], dtype=torch.bool)
    moved = minilm.run(reader.model, reader.model.embed(tokens), real, edit=edit)
    return distance(reader.model(tokens).states[0, -1, it], moved.states[0, -1, it]).item()


def one_sentence(reader: Reader, text: str, nouns: tuple[str, str], seed: int) -> dict:
    """All measures of a sentence."""
    reading = reader.read(text)
    tokens = reader.batch([text])[0]
    it = reading.tokens.index("it")
    layer, head = minilm.FAMOUS
    found = {
        "famous head": reading.weights[layer, head, it],
        "last layer": reading.weights[-1, :, it].mean(0),
        "rollout": minilm.rollout(reading.weights)[it],
        "gradient": gradient(reader, tokens, it, seed),
        "swapping": swapped(reader, tokens, it),
        "leaving out": left_out(reader, tokens, it),
    }
    kept = [n for n in range(1, tokens.shape[1] - 1) if n != it]
    out = found["leaving out"][kept]
    places = [reading.tokens.index(noun) for noun in nouns]
    most, every = kept[out.argmax().item()], list(range(minilm.HEADS))
    return {
        "text": text,
        "tokens": reading.tokens,
        "taus": {name: round(tau(found[name][kept], out), 4) for name in MEASURES},
        "first_noun": {  # whether the animate noun matters more than the place
            name: bool(value[places[0]] > value[places[1]]) for name, value in found.items()
        },
        "numbers": {name: [round(v, 5) for v in value.tolist()] for name, value in found.items()},
        "shuffled_head": round(shuffled(reader, tokens, it, [head], seed), 6),
        "shuffled_layer": round(shuffled(reader, tokens, it, every, seed), 6),
        "hidden_head": round(hidden(reader, tokens, it, most, [head]), 6),
        "hidden_layer": round(hidden(reader, tokens, it, most, every), 6),
        "left_out_most": round(out.max().item(), 6),
    }


def measure(reader: Reader, count: int) -> dict:
    """All numbers of the file: half of the sentences with either adjective."""
    every = reference.items(reference.ITEMS)
    chosen = every[:: len(every) // count][:count]
    found = []
    for n, item in enumerate(chosen):
        frame = tuple(reference.FRAMES)[n // 2 % len(reference.FRAMES)]
        text = reference.sentence(item, frame, ("tired", "wide")[n % 2])
        found.append(one_sentence(reader, text, (item["a"], item["p"]), SEED + n))
    return {
        "sentences": len(found),
        "rows": [
            {
                "measure": name,
                "tau": record.median_interval([one["taus"][name] for one in found]),
                "same_noun": sum(
                    one["first_noun"][name] == one["first_noun"]["leaving out"] for one in found
                ),
            }
            for name in MEASURES
        ],
        "shuffled": {
            name: record.median_interval([one[name] for one in found])
            for name in ("shuffled_head", "shuffled_layer", "left_out_most")
        },
        "hidden": {
            name: record.median_interval([one[name] for one in found])
            for name in ("hidden_head", "hidden_layer")
        },
        "examples": found[:2],
    }


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("explaining", __doc__, argv)
    torch.set_num_threads(1)
    results = measure(minilm.reader("cpu"), 3 if chosen.quick else SENTENCES)
    return record.write(
        chosen.out, command=chosen.command, seeds=[SEED], device=chosen.device, results=results
    )


if __name__ == "__main__":
    main()
