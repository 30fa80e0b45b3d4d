"""What attention among sentences is worth to a summarizer, and where its choice fails.

    python -m experiments.summaries            25 runs, about five minutes of one core
    python -m experiments.summaries --quick    a few updates, to see that it runs

The documents of `tasks.salient`: three of 10 to 16 sentences matter, those which report an event in
the life of the one person who is named more than once. A `Summarizer` with no layer or one
among the sentences learns to choose them. Its precision at k is measured on new documents as in
training; on longer ones; with five that matter; without the habits of the person; and with names
that no training document held. ROUGE is against the summaries that come with the documents.
Each is trained for several numbers of updates, every time from the start, on documents that it sees
once.

Where a sentence that matters looks, in the last layer: the weight of each head on the other
sentences about the same person, beside their share of the document, and beside the weight that the
sentences about strangers give to the person's. The head is the one with the highest weight on half
of the documents; the numbers are of the other half.

How sure the choice looks: the weight of the sentences chosen, and as how many equal shares the
attention of the summary is spread (the exponential of its entropy), with known and with new names.
"""

import random
import time
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean

import torch
from torch import Tensor

from attnlab import Summarizer, metrics, tasks, training
from attnlab.applications import summary_loss
from attnlab.tasks import Document, DocumentBatches, Vocab
from attnlab.tasks.salient import NAMES, DocumentBatch
from experiments import _record as record
from experiments._training import parameters

SEEDS, BATCH, RATE = (0, 1, 2, 3, 4), 16, 5e-3
UPDATES = {0: (240, 960), 1: (240, 480, 960)}  # by the layers among the sentences
CURVE = 20  # updates whose mean loss is one point of a curve
SURE = ("as in training", "new names")
TESTS = ("as in training", "30 to 40 sentences", "five that matter", "without habits", "new names")
SIZES = {"embed_dim": 32, "num_heads": 4, "dropout": 0.0}


def documents(count: int, seed: int) -> dict[str, list[Document]]:
    """The documents of each test; those without habits and with new names are the plain ones."""
    plain = tasks.salient(count, seed=seed)
    return {
        "as in training": plain,
        "30 to 40 sentences": tasks.salient(count, min_sentences=30, max_sentences=40, seed=seed),
        "five that matter": tasks.salient(
            count, min_sentences=15, max_sentences=20, chosen=5, seed=seed
        ),
        "without habits": [without_habits(document) for document in plain],
        "new names": [with_new_names(document) for document in plain],
    }


def same_person(document: Document) -> list[int]:
    """The sentences about the person that the document is about, in order."""
    subject = document.sentences[document.salient[0]][0]
    return [n for n, sentence in enumerate(document.sentences) if sentence[0] == subject]


def without_habits(document: Document) -> Document:
    """The document without what its person does every day."""
    out = set(same_person(document)) - set(document.salient)
    kept = [n for n in range(len(document.sentences)) if n not in out]
    return document._replace(
        sentences=tuple(document.sentences[n] for n in kept),
        salient=tuple(kept.index(n) for n in document.salient),
    )


def with_new_names(document: Document) -> Document:
    """The document with a name of the form "name3" for each of `NAMES`."""
    new = {name: f"name{number}" for number, name in enumerate(NAMES)}
    return document._replace(
        sentences=tuple(tuple(new.get(w, w) for w in s) for s in document.sentences),
        summary=tuple(tuple(new.get(w, w) for w in s) for s in document.summary),
    )


def chosen(model: Summarizer, items: Sequence[Document]) -> list[list[int]]:
    """The sentences that the model chooses of each document, as many as matter."""
    found: list[list[int]] = [[] for _ in items]
    batches = DocumentBatches(items, model.vocab, batch_size=100, shuffle=False)
    device = model.query.device
    model.eval()
    for batch in batches:
        with torch.no_grad():
            scores = model(batch.sentences.to(device)).scores.cpu()
        for row, place in enumerate(batch.index.tolist()):
            k = len(items[place].salient)
            order = scores[row].sort(descending=True, stable=True).indices
            found[place] = sorted(order[:k].tolist())
    return found


def precision(picked: Sequence[Sequence[int]], items: Sequence[Document]) -> float:
    """Mean share of the chosen sentences that matter."""
    shares = [
        len({*places} & {*document.salient}) / len(places)
        for places, document in zip(picked, items, strict=True)
    ]
    return round(sum(shares) / len(shares), 5)


def rouge(picked: Sequence[Sequence[int]], items: Sequence[Document]) -> dict[str, float]:
    """ROUGE of the chosen sentences, joined, against the summary that comes with a document."""
    hypotheses = [
        " ".join(" ".join(document.sentences[n]) for n in places)
        for places, document in zip(picked, items, strict=True)
    ]
    references = [" ".join(map(" ".join, document.summary)) for document in items]
    scores = metrics.rouge(hypotheses=hypotheses, references=references)
    return {kind: round(score, 5) for kind, score in scores.items()}


def sureness(model: Summarizer, items: Sequence[Document]) -> dict[str, float]:
    """Mean weight of the chosen sentences, and mean number of sentences that share the weight."""
    weight, sharing = [], []
    for document in items:
        ids = tasks.stack_sentences([document.sentences], model.vocab).to(model.query.device)
        with torch.no_grad():
            weights = model(ids).weights[0].cpu()  # (N,)
        weight.append(weights.topk(len(document.salient)).values.sum().item())
        sharing.append(torch.special.entr(weights).sum().exp().item())
    return {
        "weight": round(sum(weight) / len(weight), 5),
        "sharing": round(sum(sharing) / len(sharing), 5),
    }


def looks(model: Summarizer, items: Sequence[Document]) -> dict[str, float]:
    """Weight of sentences that matter on others about the same person, what strangers' sentences
    give to all about that person, and what even looks give."""
    weight, even, strangers, all_even = [], [], [], []
    for document in items:
        ids = tasks.stack_sentences([document.sentences], model.vocab).to(model.query.device)
        with torch.no_grad():
            scored = model(ids, need_weights=True)
        among: Tensor = scored.sentence_weights[0, -1].cpu()  # (H, N, N)
        same = same_person(document)
        for place in document.salient:
            others = [n for n in same if n != place]
            weight.append(among[:, place, others].sum(-1))  # (H,)
            even.append(len(others) / len(document.sentences))
        rest = [n for n in range(len(document.sentences)) if n not in same]
        strangers.append(among[:, rest][:, :, same].sum(-1).mean(-1))  # (H,)
        all_even.append(len(same) / len(document.sentences))
    half, later = len(weight) // 2, len(items) // 2
    head = torch.stack(weight[:half]).mean(0).argmax()
    return {
        "weight": round(torch.stack(weight[half:])[:, head].mean().item(), 5),
        "even": round(sum(even[half:]) / len(even[half:]), 5),
        "strangers": round(torch.stack(strangers[later:])[:, head].mean().item(), 5),
        "strangers_even": round(sum(all_even[later:]) / len(all_even[later:]), 5),
    }


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train one summarizer; what it chooses of each kind of document."""
    seed, updates = setting["seed"], setting["updates"]
    known = tasks.salient(BATCH * updates, seed=1000 + seed)
    tests = documents(setting["tested"], seed=2000 + seed)
    vocab = Vocab.build(sentence for item in known for sentence in item.sentences)
    torch.manual_seed(seed)
    model = Summarizer(vocab, num_layers=setting["layers"], **SIZES).to(device)
    batches = DocumentBatches(known, vocab, batch_size=BATCH, seed=seed)
    losses: list[float] = []

    def loss(model: Summarizer, batch: DocumentBatch) -> Tensor:
        found = summary_loss(model, batch)
        losses.append(found.mean().item())
        return found

    start = time.process_time()
    training.fit(
        model, batches, steps=updates, lr=RATE, loss=loss, seed=seed, device=device, progress=False
    )
    seconds = time.process_time() - start
    draw = random.Random(seed)
    picked = {name: chosen(model, items) for name, items in tests.items()}
    plain = tests["as in training"]
    return {
        "parameters": parameters(model),
        "cpu_seconds": round(seconds, 1),
        "precision": {name: precision(picked[name], items) for name, items in tests.items()},
        "rouge": rouge(picked["as in training"], plain),
        "looks": looks(model, plain[:60]) if setting["layers"] else None,
        "sureness": {name: sureness(model, tests[name]) for name in SURE},
        "curve": [
            {"step": end, "train_loss": round(fmean(losses[end - CURVE : end]), 4)}
            for end in range(CURVE, len(losses) + 1, CURVE)
        ],
        "lead": baseline(plain, lambda document, k: range(k)),
        "random": baseline(
            plain, lambda document, k: draw.sample(range(len(document.sentences)), k)
        ),
    }


def baseline(items: Sequence[Document], choose: Callable[[Document, int], Iterable[int]]) -> dict:
    """Precision and ROUGE of a rule, from a document and k to places."""
    picked = [list(choose(document, len(document.salient))) for document in items]
    return {"precision": precision(picked, items), "rouge": rouge(picked, items)}


def settings(quick: bool) -> list[dict]:
    """Every number of layers and of updates, and seed; seeds outermost."""
    return [
        {"layers": layers, "updates": count, "seed": seed, "tested": 20 if quick else 200}
        for seed in (SEEDS[:2] if quick else SEEDS)
        for layers, updates in UPDATES.items()
        for count in ((4,) if quick else updates)
    ]


def summarise(runs: Sequence[dict]) -> list[dict]:
    """One row for each number of layers and of updates, over seeds; and each run's numbers."""
    rows = []
    for same, group in record.grouped(runs, ("layers", "updates")):
        row = {
            **same,
            "parameters": group[0]["parameters"],
            "cpu_seconds": record.median_interval([run["cpu_seconds"] for run in group])["median"],
            "precision": record.median_intervals([run["precision"] for run in group]),
            "rouge": record.median_intervals([run["rouge"] for run in group]),
            "sureness": {
                name: record.median_intervals([run["sureness"][name] for run in group])
                for name in SURE
            },
            "runs": group,
        }
        if same["layers"]:
            row["looks"] = record.median_intervals([run["looks"] for run in group])
        rows.append(row)
    return rows


def over_seeds(runs: Sequence[dict], rule: str) -> dict:
    """Precision and ROUGE of a rule that needs no model: each seed's documents count once."""
    first = runs[0]["layers"], runs[0]["updates"]
    found = [run[rule] for run in runs if (run["layers"], run["updates"]) == first]
    return {
        "precision": record.median_interval([one["precision"] for one in found]),
        "rouge": record.median_intervals([one["rouge"] for one in found]),
    }


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("summaries", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {
            "training": [
                entry
                for test in TESTS
                for entry in record.training(
                    [{**run, "rate": RATE, "right": run["precision"][test]} for run in runs],
                    ("layers",),
                    score=lambda run: run["right"],
                    of=f"precision, {test}",
                    updates="updates",
                )
            ],
            "tested": runs[0]["tested"],
            **{rule: over_seeds(runs, rule) for rule in ("lead", "random")},
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
