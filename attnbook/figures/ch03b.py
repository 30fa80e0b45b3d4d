"""The figures of page 03b: what a model answers when it is lied to, or when a state is hidden."""

from collections.abc import Callable
from functools import cache

import matplotlib.pyplot as plt
import torch
from torch import Tensor
from torch.nn import functional

from attnbook import recorded, translators
from attnkit.functional import Attended
from attnlab import tasks
from attnlab.rnn import Seq2Seq
from attnlab.tasks import Batch, Batches
from attnlab.tasks.vocab import BOS, EOS, SPECIAL

LETTERS = 10
CASES = ("truth", "lie")
CHANGES = ("as it is", "largest hidden", "right hidden", "only the largest", "not scaled up")


def _strings(count: int, seed: int, kept: recorded.Recorded) -> Batch:
    """One batch of strings of ten letters for a model that reverses them."""
    pairs = tasks.reverse(count, min_length=LETTERS, max_length=LETTERS, seed=seed)
    vocabs = kept.source_vocab, kept.target_vocab
    (batch,) = Batches(pairs, *vocabs, batch_size=count, shuffle=False)
    return batch


def _changed(change: str, weights: Tensor, largest: Tensor, right: int) -> Tensor:
    """Weights (B, 1, S) of one step with a place hidden, or all on one; `largest` is (B,)."""
    places = torch.arange(weights.shape[-1])
    at_largest = places == largest[:, None]  # (B, S)
    chosen = {
        "as it is": torch.ones_like(at_largest),
        "largest hidden": ~at_largest,
        "right hidden": (places != right).expand_as(at_largest),
        "only the largest": at_largest,
        "not scaled up": ~at_largest,
    }[change]
    weights = weights.masked_fill(~chosen[:, None], 0)
    if change == "not scaled up":
        return weights
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-30)


def _answers(model: Seq2Seq, change: Callable[[Tensor], Tensor], *given) -> Tensor:
    """The likeliest tokens (B,) of one step of the decoder, its weights changed."""

    def hook(_, inputs, attended):
        weights = change(attended.weights)
        return Attended(weights @ inputs[1], weights)

    handle = model.decoder.attention.register_forward_hook(hook)
    logits = model.decoder.run(*given, need_weights=True).logits
    handle.remove()
    return logits[:, 0].argmax(-1)


@cache
@torch.no_grad()
def lied_to(name: str = "reverse_additive", count: int = 300) -> tuple[int, int, dict]:
    """Answers of a model that reverses, in the steps whose largest weight misses.

    At one step only, from the second on; all letters before it are the right ones. A lie is a
    random letter, neither the one that was written last nor the answer.

    Returns:
        The steps looked at, those whose largest weight misses, and by (told, change) the shares
        of right answers and of answers that repeat the last letter.
    """
    kept = recorded.model(name)
    model, batch = kept.model, _strings(count, 999, kept)
    memory = model.decoder.prepare(model.encoder(batch.source, batch.source_lengths))
    state, generator = model.decoder.start(memory), torch.Generator().manual_seed(0)
    missed_steps, found = 0, {}
    for step in range(LETTERS):
        last, answer = batch.target_in[:, step], batch.target_out[:, step]
        place = LETTERS - 1 - step
        plain = model.decoder.run(last[:, None], state, memory, need_weights=True)
        largest = plain.weights[:, 0].argmax(-1)  # (B,)
        missed = largest != place
        if step and missed.any():
            missed_steps += int(missed.sum())
            other = torch.ones(count, len(kept.target_vocab) - len(SPECIAL))
            for known in (last, answer):
                other.scatter_(1, known[:, None] - len(SPECIAL), 0)
            drawn = other.multinomial(1, generator=generator) + len(SPECIAL)
            for told, token in zip(CASES, (last[:, None], drawn), strict=True):
                for change in CHANGES:

                    def put(weights, change=change, largest=largest, place=place):
                        return _changed(change, weights, largest, place)

                    said = _answers(model, put, token, state, memory)
                    two = torch.stack([said == answer, said == last])[:, missed].sum(1)
                    found[told, change] = found.get((told, change), 0) + two
        state = plain.state
    steps = count * (LETTERS - 1)
    return steps, missed_steps, {k: (n / missed_steps).tolist() for k, n in found.items()}


@torch.no_grad()
def readable(name: str = "reverse_additive") -> dict[str, float]:
    """The share of letters that a linear map reads from a state, fitted on other strings."""
    kept = recorded.model(name)
    parts = [_strings(count, seed, kept) for count, seed in ((2000, 998), (300, 999))]
    states = [kept.model.encoder(part.source, part.source_lengths).outputs for part in parts]
    found = {}
    for shift, place in enumerate(("its own state", "the state next door", "the one after that")):
        x, new = (functional.pad(s[:, shift:].flatten(0, 1), (0, 1), value=1) for s in states)
        y, wanted = (part.source[:, : LETTERS - shift].flatten() for part in parts)
        reader = torch.linalg.lstsq(x, functional.one_hot(y).float()).solution
        found[place] = ((new @ reader).argmax(-1) == wanted).float().mean().item()
    return found


def lie_table() -> None:
    """Print the two by two, the hidden right place, and what a state holds."""
    steps, missed, found = lied_to()
    kept = recorded.model("reverse_additive")
    numbers = sum(one.numel() for one in kept.model.parameters())
    letters = len(kept.source_vocab) - len(SPECIAL)
    updates = recorded.results("by_length_reverse")["rows"][0]["steps"]
    print(f"a model of {numbers:,} numbers, {letters} letters, {updates:,} updates:")
    print(f"{steps:,} steps of 300 words, from the second letter on; the largest weight")
    print(f"misses in {missed}. In those, right answers (and repeats of the last letter):")
    print(f"{'':26}told the truth    told a lie")
    for change in CHANGES:
        cells = [f"{found[told, change][0]:.2f} ({found[told, change][1]:.2f})" for told in CASES]
        print(f"{change:26}{cells[0]:18}{cells[1]}")
    print("\na linear reader finds a letter in")
    for place, share in readable().items():
        print(f"  {place:22}{share:.2f}")


def two_by_two() -> None:
    """What it writes where its map misses: told the truth or a lie, and one place hidden."""
    _, missed, found = lied_to()
    names = {
        ("truth", "as it is"): "told the truth",
        ("truth", "largest hidden"): "told the truth,\nwhere it points is hidden",
        ("lie", "as it is"): "told a lie",
        ("lie", "largest hidden"): "told a lie,\nwhere it points is hidden",
    }
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(6.8, 2.9), layout="constrained")
        for at, case in enumerate(names):
            right, again = found[case]
            again = min(again, 1 - right)  # a letter that comes twice is right and last
            for left, share, color, label in (
                (0, right, "#1b7f5c", "the right letter"),
                (right, again, "#D55E00", "the last letter again"),
                (right + again, 1 - right - again, "#9aa3ab", "another"),
            ):
                ax.barh(at, share, left=left, color=color, label=None if at else label, height=0.6)
                if share > 0.1:
                    ax.text(left + share / 2, at, f"{share:.0%}", color="white", ha="center",
                            va="center")  # fmt: skip
        ax.set_yticks(range(len(names)), names.values())
        ax.set(xlim=(0, 1), ylim=(3.5, -0.5), xticks=(0, 0.5, 1))
        ax.set_xlabel(f"answers, in {missed} steps that point at a wrong letter")
        figure.suptitle("One lie, and it writes the last letter again")
        figure.legend(loc="outside lower center", ncols=3, fontsize=10)
        plt.show()


def _interval(found: dict) -> str:
    return f"{found['median']:.2f} ({found['low']:.2f} to {found['high']:.2f})"


def encoders_table() -> None:
    """Print what is behind the figure of the three encoders."""
    run = recorded.results("pointing")
    print(recorded.origin(run))
    print("encoder           largest weight misses; of those right with this hidden:")
    print(f"{'':40}largest weight       right place")
    for row in run["rows"]:
        cells = [_interval(row["answers"][c]["missed"]) for c in ("hide largest", "hide right")]
        print(f"{row['case']:18}{_interval(row['missed']):22}{cells[0]:21}{cells[1]}")


def encoders() -> None:
    """Right answers where the map misses, with two places hidden, by encoder."""
    rows = {row["case"]: row for row in recorded.results("pointing")["rows"]}
    hide = {
        "hide largest": ("the place it points at is hidden", "#0072B2"),
        "hide right": ("the right place is hidden", "#D55E00"),
    }
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
        for at, case in enumerate(("both directions", "forward only", "backward only")):
            row = rows[case]
            name = (
                f"reads {case}: points at a wrong letter in {row['missed']['median']:.0%} of steps"
            )
            ax.text(0.01, 3 * at - 0.85, name, fontsize=10, va="center")
            for place, (change, (label, color)) in enumerate(hide.items()):
                found, y = row["answers"][change]["missed"], 3 * at + 0.8 * place
                m, low, high = (found[part] for part in ("median", "low", "high"))
                ax.barh(y, m, height=0.66, color=color, label=None if at else label)
                ax.plot([low, high], [y, y], color="#222832", linewidth=1.5)
                ax.text(high + 0.02, y, f"{m:.0%}", va="center")
        ax.set(xlim=(0, 1.14), ylim=(7.4, -1.5), xticks=(0, 0.5, 1), yticks=())
        ax.set_xlabel("right answers in those steps, five seeds of 1,200 updates")
        figure.suptitle("A map that misses means two things; hiding a place tells which")
        figure.legend(loc="outside lower center", ncols=2, fontsize=10)
        plt.show()


def negation_table() -> None:
    """Print how often the cover's models negate with "not" hidden, and without it."""
    found = recorded.results("negation")
    print("of a hundred sentences with “not”, negated in French: median of three")
    print("draws (smallest to largest)")
    for row in found["rows"]:
        told = [
            f"{case} {x['median']:.0f} ({x['low']:.0f} to {x['high']:.0f})"
            for case, x in row["negated"].items()
            if case != "as it is"
        ]
        print(f"  {row['model']:27} {', '.join(told)}")


@torch.no_grad()
def _written(model: Seq2Seq, ids: Tensor, hidden: Tensor) -> Tensor:
    """Greedy translations (B, 30) with one state (B,) hidden from the attention; -1: none."""
    encoded = model.encoder(ids)
    mask = encoded.mask & (torch.arange(ids.shape[1]) != hidden[:, None])[:, None]  # (B, 1, S)
    memory = model.decoder.prepare(encoded._replace(mask=mask))
    state, word = model.decoder.start(memory), torch.full((len(ids), 1), BOS)
    ended, out = torch.zeros_like(word, dtype=torch.bool), []
    for _ in range(30):
        step = model.decoder.run(word, state, memory, need_weights=True)
        state, word = step.state, step.logits.argmax(-1)
        word = word.masked_fill(ended, EOS)
        ended = ended | (word == EOS)
        out.append(word)
    return torch.cat(out, 1)


def hidden_states_table(lengths: tuple[int, ...] = (6,), count: int = 100) -> None:
    """Print how often hiding one state changes the French of the cover's GRU."""
    translator = translators.translator("live_translator_additive")
    met = tasks.toy_french(84_000, max_words=12, seed=5000)
    _, others = tasks.split(met, 80_000, 4000, seed=0)
    updates = recorded.results("live_translator")["rows"][0]["steps"]
    print(f"the cover's GRU, {updates:,} updates:")
    print("states whose hiding changes the French, of 100 unseen sentences")
    for length in lengths:
        some = [pair.source for pair in others if len(pair.source) == length][:count]
        ids = torch.tensor([translator.source_vocab.encode(words) for words in some])
        plain = _written(translator.model, ids, torch.full((count,), -1))
        changed = [
            (_written(translator.model, ids, torch.full((count,), place)) != plain).any(1)
            for place in range(length)
        ]
        changed = torch.stack(changed, 1)  # (B, S)
        few = int((changed.sum(1) <= length / 3).sum())
        print(f"  {length} words: {changed.float().mean():.0%} of the states;", end="")
        print(f" a third of them or fewer in {few} of 100")
