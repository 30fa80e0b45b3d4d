"""Three small writers that differ in their mask alone: what does the usual test see of a leak?

    python -m experiments.masked_writers            about two minutes of one CPU core
    python -m experiments.masked_writers --quick    tiny, to see that it runs

Each learns to name the next word of `toy_french`'s French. One may look at what came before, one
has its mask upside down, one has no mask; padding is hidden from all. The usual test scores a whole
sentence in one pass; without peeking, each word is scored from the words before it alone, as when
a model writes. Budgets go by factors of four, and each writer has its own best of two rates.

The weights are rounded to float16, which is what a page gets, and the rounded model is what is
tested. Those of seed 0 and `SHIPPED` are kept in `models/`.
"""

import time
from collections.abc import Sequence
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import attnkit
from attnbook import recorded
from attnkit import masks
from attnlab import files, tasks
from experiments import _record as record
from experiments._training import cosine, parameters

LONGEST = 8
"""Places of a sentence: the start and up to seven words."""

PAD, START, END = "<pad>", "<start>", "<end>"
MASKS = {
    "right way up": masks.causal(LONGEST),
    "upside down": ~masks.causal(LONGEST),
    "no mask": torch.ones(LONGEST, LONGEST, dtype=torch.bool),
}
"""By the writer's name: (L, L), True where a word may attend."""

CONTROLS = {
    "one too far": torch.ones(LONGEST, LONGEST).tril(1).bool(),
    "padding in view": MASKS["no mask"][None],
}
"""Those of `masked_writers_controls`. One of (1, L, L) is all that hides: the padding shows."""

FILES = {name: f"masked_writer_{name.replace(' ', '_')}" for name in MASKS}
"""The names of the files in `models/`."""

GROUP = ("writer", "steps", "rate")
BUDGETS, RATES, SEEDS, BATCH, WRITTEN = (100, 400, 1600), (0.01, 0.03), (0, 1, 2), 32, 100
SHIPPED = (1600, 0.01)
IGNORED = -100  # where no answer is asked for; cross_entropy leaves it out


class Writer(nn.Module):
    """One layer of one head; the table of words that it reads with also names the next one."""

    def __init__(self, words: int, embed_dim: int = 24):
        super().__init__()
        self.word = nn.Embedding(words, embed_dim)
        self.position = nn.Embedding(LONGEST, embed_dim)
        for name in ("query", "key", "value", "mix"):
            setattr(self, name, nn.Linear(embed_dim, embed_dim, bias=False))
        self.bias = nn.Parameter(torch.zeros(words))
        nn.init.normal_(self.word.weight, std=embed_dim**-0.5)
        nn.init.normal_(self.position.weight, std=embed_dim**-0.5)

    def forward(self, words: Tensor, mask: Tensor) -> Tensor:
        """Logits (B, L, V) of the next word, from words (B, L) and a mask (L, L) or (B, L, L)."""
        x = self.word(words) + self.position.weight[: words.shape[-1]]  # (B, L, E)
        given = self.query(x), self.key(x), self.value(x)
        seen = attnkit.scaled_dot_product_attention(*given, mask=mask).output
        return (x + self.mix(seen)) @ self.word.weight.T + self.bias


@cache
def corpus(known: int, tested: int) -> tuple[list[str], list, list]:
    """The vocabulary, sentences to learn from, and others; of the same ones whatever is asked."""
    drawn = (pair.target for pair in tasks.toy_french(known + 2 * tested, max_words=8))
    fit = [words for words in dict.fromkeys(drawn) if len(words) < LONGEST]
    met = {word for words in fit[tested:] for word in words}
    held_out = [words for words in fit[:tested] if met.issuperset(words)]
    return [PAD, START, END, *sorted(met)], fit[tested:], held_out


def tensors(sentences: Sequence[Sequence[str]], vocab: list[str]) -> tuple[Tensor, Tensor]:
    """Words (N, L), padded, and the next words (N, L), `IGNORED` at padding."""
    ids = {word: place for place, word in enumerate(vocab)}
    words = torch.full((len(sentences), LONGEST), ids[PAD])
    following = torch.full_like(words, IGNORED)
    for row, sentence in enumerate(sentences):
        whole = torch.tensor([ids[word] for word in (START, *sentence, END)])
        words[row, : len(whole) - 1], following[row, : len(whole) - 1] = whole[:-1], whole[1:]
    return words, following


def logits(model: Writer, words: Tensor, mask: Tensor) -> Tensor:
    """Logits (N, L, V) under a mask (L, L), with the padding hidden as well; of (1, L, L): not."""
    mask = mask[..., : words.shape[-1], : words.shape[-1]]
    return model(words, mask & (words != 0)[:, None] if mask.dim() == 2 else mask)


def loss(found: Tensor, following: Tensor) -> Tensor:
    """The mean loss of a word, in nats."""
    return F.cross_entropy(found.flatten(0, 1), following.flatten(), ignore_index=IGNORED)


@torch.no_grad()
def tested(model: Writer, sentences: list, vocab: list[str], mask: Tensor) -> dict:
    """The usual loss; without peeking, the loss and the chance of the end where a word follows,
    by the number of words read, the start among them."""
    words, following = tensors(sentences, vocab)
    usual = loss(logits(model, words, mask), following).item()
    last = [logits(model, words[:, :n], mask)[:, -1] for n in range(1, LONGEST + 1)]
    honest = torch.stack(last, 1)  # (N, L, V)
    ends, end = honest.softmax(-1)[..., vocab.index(END)], vocab.index(END)
    follows = (following != IGNORED) & (following != end)
    return {
        "usual": usual,
        "honest": loss(honest, following).item(),
        "ends": {str(n + 1): ends[:, n][follows[:, n]].mean().item() for n in range(6)},
    }


@torch.no_grad()
def write(model: Writer, vocab: list[str], mask: Tensor, generator: torch.Generator) -> list[str]:
    """A sentence, a word drawn at a time, without its end."""
    words = [vocab.index(START)]
    while len(words) <= LONGEST and vocab[words[-1]] != END:
        chances = logits(model, torch.tensor([words]), mask)[0, -1].softmax(-1)
        words.append(chances.multinomial(1, generator=generator).item())
    return [vocab[word] for word in words[1:] if vocab[word] != END]


def measure(setting: dict, *, device: torch.device, command: str, save: bool) -> dict:
    """Train, round and test one writer of one seed at one rate."""
    name, steps, rate, seed = (setting[key] for key in ("writer", "steps", "rate", "seed"))
    vocab, known, held_out = corpus(setting["known"], setting["tested"])
    masks_of = MASKS | CONTROLS
    start, mask = time.process_time(), masks_of[name].to(device)
    torch.manual_seed(seed)
    model = Writer(len(vocab)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, cosine(steps, warm_up=20))
    words, following = (x.to(device) for x in tensors(known, vocab))
    for _ in range(steps):
        chosen = torch.randint(len(known), (BATCH,))
        step = loss(logits(model, words[chosen], mask), following[chosen])
        optimizer.zero_grad()
        step.backward()
        optimizer.step()
        schedule.step()
    seconds = round(time.process_time() - start, 1)
    model, mask = model.eval().cpu().half().float(), masks_of[name]
    generator = torch.Generator().manual_seed(seed)
    count = setting.get("texts", WRITTEN)
    lengths = [len(write(model, vocab, mask, generator)) for _ in range(count)]
    if save and seed == 0 and (steps, rate) == SHIPPED:
        weights = {key: value.half() for key, value in model.state_dict().items()}
        about = {"writer": name, "seed": seed, "steps": steps, "rate": rate, "command": command}
        state = {"vocab": vocab, "about": about}
        files.save_tensors(recorded.model_file(FILES[name]), weights, state)
    return {
        "parameters": parameters(model),
        "cpu_seconds": seconds,
        "words": len(vocab),
        "held_out": len(held_out),
        "length": sum(map(len, held_out)) / len(held_out),
        **tested(model, held_out, vocab, mask),
        "written": sum(lengths) / count,
        "silent": lengths.count(0) / count,
    }


def settings(quick: bool) -> list[dict]:
    """Every writer at every budget and rate."""
    sizes = {"known": 8000, "tested": 300}
    if quick:
        sizes = {"known": 500, "tested": 20, "texts": 5}
    return [
        {"writer": name, "steps": steps, "rate": rate, "seed": seed, **sizes}
        for steps in ((2,) if quick else BUDGETS)
        for name in MASKS
        for rate in (RATES[:1] if quick else RATES)
        for seed in ((0, 1) if quick else SEEDS)
    ]


def summarise(runs: Sequence[dict]) -> list[dict]:
    """One row for each writer and budget, at the rate with the least usual loss."""
    rows = []
    for same, group in record.grouped(runs, GROUP[:2]):
        by_rate = record.grouped(group, ("rate",))
        best = min(by_rate, key=lambda found: record.median_interval(
            [run["usual"] for run in found[1]])["median"])  # fmt: skip
        names = ("usual", "honest", "written")
        rows.append({
            **same,
            **best[0],
            **record.median_intervals(best[1], names),
            "ends": {n: record.median_interval([run["ends"][n] for run in best[1]])
                     for n in best[1][0]["ends"]},
        })  # fmt: skip
    return rows


def trained(runs: Sequence[dict]) -> list[dict]:
    """What a reader must know of the training, by writer."""
    return record.training(
        runs,
        ("writer",),
        score=lambda run: torch.tensor(-run["usual"]).exp().item(),
        of="chance of the right word in the usual test, geometric mean",
    )


def main(argv: list[str] | None = None) -> dict:
    """Run everything and write the results file; return what was written."""
    chosen = record.options("masked_writers", __doc__, argv)
    return record.run(
        chosen,
        settings=settings,
        measure=record.keeping(measure, chosen),
        results=lambda runs: {
            "words": runs[0]["words"],
            "held_out": runs[0]["held_out"],
            "length": runs[0]["length"],
            "training": trained(runs),
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
