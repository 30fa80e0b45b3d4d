"""Translate real language, with and without attention: the runs behind chapter 10.

    python -m experiments.translate                               hours of one CPU core
    python -m experiments.translate --data multi30k --pair de-en --model additive
    python -m experiments.translate --quick                       few sentences, in seconds

`tatoeba` comes with attnkit; `multi30k` is downloaded, or found in ATTNKIT_DATA. `--model` is
`transformer`, a recurrent model with `additive` or `dot` attention, or one with a `fixed` vector.
Sentences are split into joint pieces (`tasks.Subwords`), and one matrix holds the embeddings of
both languages and the logits.

Training takes label smoothing (Szegedy et al. 2016). The learning rate rises along a line, falls
with the square root of the updates (Vaswani et al. 2017), and in the last quarter falls to zero
along a line, so runs of different lengths agree until the shorter one begins to end. The model is
the mean of the weights at the end of the last epochs, and is scored once more after its weights
were rounded to eight bits. How much a beam forgives length (Wu et al. 2016) is chosen by BLEU on
the validation split. A run that was stopped goes on when the
command is given again, from `--folder`.

BLEU and chrF are sacrebleu's, in lower case, on the test split, with all translations that Tatoeba
has of a sentence as references. The sizes were chosen to fit two million parameters and hours on
one core, after a first try that had 1.2 million. Nothing was chosen by the test split: on
Multi30k the Transformer's dropout, and 0.005 as `--rate` from German, were kept for a lower
validation loss than 0.3 and 0.003 had after as many updates; the rate was not tried alone.
"""

import argparse
import functools
import math
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import attnkit
from attnlab import Translator, metrics, tasks, training
from attnlab.applications.translator import MODELS as SHIPPED
from attnlab.decoding import SequenceModel
from attnlab.decoding.predictions import predict
from attnlab.files import load_tensors, put_weights, save_tensors
from attnlab.tasks import PAD, Batch, Batches, Pair, Subwords
from experiments import _long
from experiments import _record as record
from experiments._training import parameters

PAIRS = {"tatoeba": ("en-fr", "fr-en"), "multi30k": ("de-en", "en-de", "fr-en", "en-fr")}
MODELS = ("transformer", "additive", "dot", "fixed")
BEAM, SMOOTHING, COOL_DOWN = 5, 0.1, 0.25
PENALTIES = (0.6, 1.0, 1.4, 1.8)
# First and last number of source words.
LENGTHS = {"tatoeba": ((1, 4), (5, 6), (7, 8), (9, 99)), "multi30k": ((1, 9), (10, 13), (14, 99))}
RUNS = Path(__file__).resolve().parent.parent / "runs"


class Recipe(NamedTuple):
    """How a model is made and trained: `options` are those of `Translator`."""

    kind: str
    options: dict[str, Any]
    pieces: int
    rate: float
    warm_up: int
    batch_size: int
    epochs: int
    averaged: int


def recipe(data: str, model: str) -> Recipe:
    """The sizes and rates of a model on a data set."""
    small = data == "tatoeba"
    dropout = 0.2 if small or model == "transformer" else 0.3
    shared = {"embed_dim": 128, "dropout": dropout, "share_embeddings": True}
    batch_size = 256 if small else 128
    pieces = 4000 if small else 6000
    if model == "transformer":
        layers = 3 if small else 4
        sizes = {"hidden_dim": 384, "num_heads": 4, "num_layers": layers, "norm_first": True}
        options = shared | sizes
        return Recipe("transformer", options, pieces, 0.003, 1000, batch_size, 40, 3)
    kind = "none" if model == "fixed" else model
    return Recipe(kind, shared | {"hidden_dim": 256}, pieces, 0.002, 1000, batch_size, 30, 3)


class Data(NamedTuple):
    """Pairs to learn from and to validate on, and the test: sources with their references.

    `validation` has the sources and references of the validation split in their place.
    """

    train: list[Pair]
    valid: list[Pair]
    sources: list[str]
    references: list[list[str]]
    validation: tuple[list[str], list[list[str]]]


@functools.lru_cache(maxsize=1)
def data_of(data: str, pair: str, most: int | None = None) -> Data:
    """Load a data set; with `most`, no more than so many pairs of each split."""
    load = tasks.tatoeba if data == "tatoeba" else tasks.multi30k
    languages = pair.split("-")
    train, valid, test = (load(split, *languages)[:most] for split in ("train", "valid", "test"))
    # A caption that comes twice counts twice, as in all that is published.
    texts = tasks.references if data == "tatoeba" else _alone
    return Data(tasks.text_pairs(train), tasks.text_pairs(valid), *texts(test), texts(valid))


def _alone(lines: Sequence[tuple[str, str]]) -> tuple[list[str], list[list[str]]]:
    return [source for source, _ in lines], [[target] for _, target in lines]


def schedule(steps: int, warm_up: int) -> Callable[[int], float]:
    """Make a schedule: the step, from 0, to a factor of the learning rate. See the module."""

    def factor(step: int) -> float:
        done = step + 1
        end = (steps - step) / (COOL_DOWN * steps)
        return min(done / warm_up, math.sqrt(warm_up / done)) * min(1.0, end)

    return factor


def loss_of(bfloat16: bool = False) -> Callable[[nn.Module, Batch], Tensor]:
    """Make the loss: cross entropy of every target token, smoothed while the model trains.

    With `bfloat16` the model computes in it while it trains, on a CPU too.
    """

    def loss(model: nn.Module, batch: Batch) -> Tensor:
        device = batch.source.device.type
        with torch.autocast(device, torch.bfloat16, enabled=bfloat16 and model.training):
            logits = model(batch.source, batch.source_lengths, batch.target_in)  # (B, T, V)
        target = batch.target_out.flatten()
        # Rows of a matrix: half the time that cross_entropy takes with classes in the middle.
        losses = F.cross_entropy(
            logits.flatten(0, 1).float(),
            target,
            ignore_index=PAD,
            label_smoothing=SMOOTHING if model.training else 0.0,
            reduction="none",
        )
        return losses[target != PAD]  # (N,)

    return loss


def train(
    model: SequenceModel,
    batches: Batches,
    valid: Batches,
    made: Recipe,
    *,
    seed: int,
    folder: Path,
    device: torch.device,
    bfloat16: bool = False,
) -> list[dict[str, float]]:
    """Train `model` in place; return the history.

    It ends with the mean of its weights after each of the last epochs. `folder` holds what is
    needed to go on.
    """
    steps = made.epochs * len(batches)
    ends = [steps - back * len(batches) for back in reversed(range(made.averaged))]
    ends_of = {end: folder / f"epoch-{end // len(batches)}.safetensors" for end in ends}
    left = [end for end, file in ends_of.items() if not file.exists()]
    clock = Clock(folder)
    for end in left:
        _long.fit(
            model,
            batches,
            steps=end,
            valid=valid,
            loss=loss_of(bfloat16),
            lr=made.rate,
            schedule=schedule(steps, made.warm_up),
            measure=clock,
            folder=folder,
            seed=seed,
            device=device,
        )
        save_tensors(ends_of[end], model.state_dict())
    put_weights(model, mean_weights(list(ends_of.values())))
    model.to(device).eval()
    return _long.history_of(folder)


def mean_weights(files: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of the weights in files of `save_tensors` (Vaswani et al. 2017, 6.1)."""
    saved = [load_tensors(file)[0] for file in files]
    return {name: torch.stack([each[name] for each in saved]).mean(0) for name in saved[0]}


class Clock:
    """Minutes of CPU time that training took, over all stops, as a `measure` of `fit`."""

    def __init__(self, folder: Path):
        past = _long.history_of(folder)
        self.before = past[-1]["minutes"] if past else 0.0
        self.start = time.process_time()

    def __call__(self, model: nn.Module) -> dict[str, float]:
        return {"minutes": self.before + (time.process_time() - self.start) / 60}


def translate(
    translator: Translator, data: Data, beam_size: int = 1, length_penalty: float = PENALTIES[0]
) -> list[str]:
    """Translate the test's sources."""
    pairs = [Pair(tuple(tasks.tokenize(source)), ()) for source in data.sources]
    longest = max(len(translator.source_vocab.encode(pair.source)) for pair in pairs)
    batches = translator.batches(pairs, batch_size=100, shuffle=False)
    options = {"beam_size": beam_size, "length_penalty": length_penalty}
    said = predict(translator.model, batches, max_len=2 * longest + 10, **options)
    return [tasks.detokenize(words) for words in said]


def by_penalty(translator: Translator, data: Data) -> dict[float, float]:
    """BLEU of a beam on the validation split, for each length penalty."""
    sources, references = data.validation
    validation = data._replace(sources=sources, references=references)
    found = {}
    for penalty in PENALTIES:
        said = translate(translator, validation, BEAM, penalty)
        score = metrics.bleu(hypotheses=said, references=references, lowercase=True).score
        found[penalty] = round(score, 2)
    return found


def scores(said: Sequence[str], data: Data, lengths: Sequence[tuple[int, int]]) -> dict:
    """BLEU and chrF with their signatures, and BLEU by the number of source words."""
    bleu = metrics.bleu(hypotheses=said, references=data.references, lowercase=True)
    chrf = metrics.chrf(hypotheses=said, references=data.references, lowercase=True)
    words = [len(tasks.tokenize(source)) for source in data.sources]
    by_length = {}
    for first, last in lengths:
        rows = [row for row, number in enumerate(words) if first <= number <= last]
        if rows:
            part = metrics.bleu(
                hypotheses=[said[row] for row in rows],
                references=[data.references[row] for row in rows],
                lowercase=True,
            )
            name = f"{first}-{last}" if last < 99 else f"{first} and more"
            by_length[name] = {"bleu": round(part.score, 2), "sentences": len(rows)}
    return {
        "bleu": round(bleu.score, 2),
        "bleu_signature": bleu.signature,
        "bleu_details": bleu.details,
        "chrf": round(chrf.score, 2),
        "chrf_signature": chrf.signature,
        "by_length": by_length,
    }


def measure(setting: dict, *, folder: Path, device: torch.device, bfloat16: bool = False) -> dict:
    """Train one model, or go on with it, and score it."""
    data = data_of(setting["data"], setting["pair"], setting["most"])
    made = Recipe(**{name: setting[name] for name in Recipe._fields})
    vocab = Subwords.build((side for pair in data.train for side in pair[:2]), max_size=made.pieces)
    torch.manual_seed(setting["seed"])
    translator = Translator(vocab, vocab, made.kind, **made.options)
    batches = translator.batches(data.train, batch_size=made.batch_size, seed=setting["seed"])
    valid = translator.batches(data.valid, batch_size=made.batch_size, shuffle=False)
    options = {"seed": setting["seed"], "folder": folder, "device": device, "bfloat16": bfloat16}
    history = train(translator.model, batches, valid, made, **options)
    lengths = LENGTHS[setting["data"]]
    validation = by_penalty(translator, data)
    penalty = max(validation, key=validation.get)
    greedy, beam = translate(translator, data), translate(translator, data, BEAM, penalty)
    valid_loss = training.evaluate(translator.model, valid, loss=loss_of())
    translator.save(folder / "translator")
    translator.save(folder / "eight_bits", eight_bits=True)
    rounded = translate(Translator.load(folder / "eight_bits"), data)
    return {
        "parameters": parameters(translator.model),
        "updates": history[-1]["step"],
        "minutes": round(history[-1]["minutes"], 1),
        "curve": [
            {name: round(row[name], 4) for name in ("step", "train_loss", "valid_loss")}
            for row in history
        ],
        "valid_loss": round(valid_loss, 4),
        "greedy": scores(greedy, data, lengths),
        "beam": {
            "size": BEAM,
            "length_penalty": penalty,
            "validation_bleu": {str(each): score for each, score in validation.items()},
            **scores(beam, data, lengths),
        },
        "eight_bits": {
            "bytes": sum(file.stat().st_size for file in (folder / "eight_bits").iterdir()),
            "changed": sum(one != other for one, other in zip(greedy, rounded, strict=True)),
            **scores(rounded, data, lengths),
        },
        "translations": list(_by_rule(data, greedy, beam)),
    }


def _by_rule(data: Data, greedy: Sequence[str], beam: Sequence[str]) -> Iterator[dict]:
    """Every tenth part of the test gives its first sentence: chosen by no one."""
    for row in range(0, len(data.sources), math.ceil(len(data.sources) / 10)):
        yield {
            "source": data.sources[row],
            "references": data.references[row],
            "greedy": greedy[row],
            "beam": beam[row],
        }


def settings(
    data: str,
    pair: str,
    model: str,
    *,
    seeds: Sequence[int],
    epochs: int | None,
    rate: float | None = None,
    quick: bool,
) -> list[dict]:
    """One setting for each seed; with `quick`, tiny ones."""
    made = recipe(data, model)
    if quick:
        sizes = {"embed_dim": 16, "hidden_dim": 16, "dropout": 0.0}
        sizes |= {"num_layers": 1, "num_heads": 2} if model == "transformer" else {}
        made = made._replace(options=made.options | sizes, pieces=300, batch_size=50, averaged=2)
        made = made._replace(epochs=2, warm_up=10)
    if epochs is not None:
        made = made._replace(epochs=epochs, averaged=min(made.averaged, epochs))
    if rate is not None:
        made = made._replace(rate=rate)
    shared = {"data": data, "pair": pair, "model": model, "most": 150 if quick else None}
    return [shared | {"seed": seed} | made._asdict() for seed in seeds]


def options(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.translate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", choices=tuple(PAIRS), default="tatoeba")
    parser.add_argument("--pair", help="default: en-fr of tatoeba, de-en of multi30k")
    parser.add_argument("--model", choices=MODELS, default="transformer")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="one run for each")
    parser.add_argument("--epochs", type=int, help="default: by data and model")
    parser.add_argument("--rate", type=float, help="greatest learning rate; default: by model")
    parser.add_argument("--bfloat16", action="store_true", help="train in it on a CPU too")
    parser.add_argument("--ship", action="store_true", help="put the first seed's into attnkit")
    parser.add_argument("--quick", action="store_true", help="few sentences, two seeds, two epochs")
    parser.add_argument("--device", help="default: the best there is")
    parser.add_argument("--folder", type=Path, help="of the checkpoints (default: in runs/)")
    parser.add_argument("--restart", action="store_true", help="forget what a stopped run had done")
    parser.add_argument("--out", type=Path, help="file to write (default: in results/)")
    given = list(sys.argv[1:] if argv is None else argv)
    chosen = parser.parse_args(given)
    chosen.pair = chosen.pair or PAIRS[chosen.data][0]
    if chosen.pair not in PAIRS[chosen.data]:
        parser.error(f"argument --pair: expected one of {', '.join(PAIRS[chosen.data])}")
    if chosen.quick:
        if chosen.ship:
            parser.error("argument --ship: expected a run without --quick")
        chosen.seeds = [0, 1]
    # Where a run is kept, and that it was stopped, does not change what comes out.
    telling = [word for word in given if word != "--restart" and word != str(chosen.folder)]
    telling = [word for word in telling if word != "--folder"]
    chosen.command = " ".join(["python", "-m", "experiments.translate", *telling])
    chosen.device = attnkit.device.choose(chosen.device)
    name = f"translate_{chosen.data}_{chosen.pair}_{chosen.model}"
    chosen.out = chosen.out or record.RESULTS / f"{name}{'.quick' if chosen.quick else ''}.json"
    chosen.folder = chosen.folder or RUNS / name
    return chosen


def ship(folder: Path, chosen: argparse.Namespace) -> Path:
    """Copy a model in eight bits to where `Translator.load` finds it by its name."""
    name = f"{chosen.data}-{chosen.pair}" + f"-{chosen.model}" * (chosen.model != MODELS[0])
    return Path(shutil.copytree(folder / "eight_bits", SHIPPED / name, dirs_exist_ok=True))


def summarise(rows: list[dict]) -> dict:
    """What the file says: the training behind it, and every run."""
    seconds = [row | {"cpu_seconds": round(60 * row["minutes"], 1)} for row in rows]
    trained = record.training(
        seconds,
        ("data", "pair", "model"),
        score=lambda run: run["beam"]["bleu"] / 100,
        of="BLEU with a beam, as a share of 100",
        updates="epochs",
        unit="epochs",
    )
    total = round(sum(row["cpu_seconds"] for row in seconds), 1)
    return {"cpu_seconds": total, "training": trained, "rows": rows}


def main(argv: list[str] | None = None) -> dict:
    """Train, score and write the results file; return what was written."""
    chosen = options(argv)
    torch.set_num_threads(1)  # as in `record.run`
    if chosen.restart and not chosen.quick:
        shutil.rmtree(chosen.folder, ignore_errors=True)
    wanted = settings(
        chosen.data,
        chosen.pair,
        chosen.model,
        seeds=chosen.seeds,
        epochs=chosen.epochs,
        rate=chosen.rate,
        quick=chosen.quick,
    )
    if chosen.quick:
        chosen.folder = Path(tempfile.mkdtemp())
    rows = [
        measure(
            setting,
            folder=chosen.folder / f"seed-{setting['seed']}",
            device=chosen.device,
            bfloat16=chosen.bfloat16,
        )
        for setting in wanted
    ]
    if chosen.ship:
        ship(chosen.folder / f"seed-{chosen.seeds[0]}", chosen)
    if chosen.quick:
        shutil.rmtree(chosen.folder)
    return record.write(
        chosen.out,
        command=chosen.command,
        seeds=chosen.seeds,
        device=chosen.device,
        results=summarise([setting | row for setting, row in zip(wanted, rows, strict=True)]),
    )


if __name__ == "__main__":
    main()
