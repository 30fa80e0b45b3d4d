"""Results and models written by the experiments.

Both lie in folders beside the package, in a checkout, and under `share/attnkit` of the environment
when the package was installed from one.
"""

import json
import math
import sysconfig
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor, nn

from attnkit.guard import checks
from attnlab import files
from attnlab.decoding import SequenceModel
from attnlab.metrics.intervals import Interval
from attnlab.rnn import seq2seq
from attnlab.tasks.vocab import SPECIAL, Vocab
from attnlab.transformer import Transformer

_CHECKOUT = Path(__file__).resolve().parent.parent
_INSTALLED = Path(sysconfig.get_path("data"), "share", "attnkit")
_KINDS = {"seq2seq": seq2seq, "transformer": Transformer}


class Recorded(NamedTuple):
    """A trained model in eval mode, its vocabularies, and a dict that says how it was made."""

    model: SequenceModel
    source_vocab: Vocab
    target_vocab: Vocab
    about: dict


def results(name: str) -> dict:
    """Return the results of an experiment: its numbers, command, seeds, versions, device and date.

    Args:
        name: of the experiment, as in `results/NAME.json`.

    Raises:
        FileNotFoundError: there is no such file.

    Example:
        >>> results("scales")["command"]
        'python -m experiments.scales'
    """
    return json.loads(_find("results", f"{name}.json").read_text(encoding="utf-8"))


def interval(found: dict) -> Interval:
    """A median with its bounds, which the experiments record under these three names.

    Args:
        found: what `record.median_interval` of an experiment gave.

    Raises:
        KeyError: `found` lacks one of the three.

    Example:
        >>> f"{interval({'median': 0.914, 'low': 0.9, 'high': 0.92}):.2f}"
        '0.91 (0.90 to 0.92)'
    """
    return Interval(found["median"], found["low"], found["high"])


def every_seed(chapter: str, name: str, live: Any) -> Any:
    """Return what a chapter measured with several seeds, of which it trains only the first.

    Args:
        chapter: its number; `experiments.seeds` wrote `results/seeds_CHAPTER.json`.
        name: of the numbers in that file.
        live: the numbers measured just now, as lists over seeds, in dicts or lists of any depth.

    Returns:
        The recorded numbers, with the structure of `live`; `live` itself when it has several seeds.

    Warns:
        UserWarning: a number measured just now is not the first of those recorded.

    Raises:
        FileNotFoundError: there is no such file.
        KeyError: it has no numbers of that name.

    Example:
        >>> every_seed("04", "anything", {"lookup": [0.99, 1.0]})
        {'lookup': [0.99, 1.0]}
    """
    here = list(_over_seeds(live))
    if any(len(values) > 1 for values in here):
        return live
    found = results(f"seeds_{chapter}")["rows"][name]
    for (value,), (first, *_) in zip(here, _over_seeds(found), strict=True):
        # Half a unit of what a chapter prints: the processor decides the digits after that.
        if not math.isclose(value, first, rel_tol=1e-4, abs_tol=0.005):
            warnings.warn(
                f"{name}: seed 0 gives {value:.4g} here, but {first:.4g} in the numbers recorded "
                f"for all seeds: {chapter} was changed, or this machine computes otherwise",
                stacklevel=2,
            )
    return found


def _over_seeds(numbers: Any) -> Iterator[list[float]]:
    """The innermost lists."""
    inner = list(numbers.values()) if isinstance(numbers, dict) else numbers
    if isinstance(inner[0], dict | list):
        for part in inner:
            yield from _over_seeds(part)
    else:
        yield inner


def origin(run: dict) -> str:
    """One line on where the numbers of `results` come from: command, seeds, device, date.

    Example:
        >>> origin({"command": "make bench", "device": "a CPU", "date": "2026-01-31"})
        'make bench (a CPU, 2026-01-31)'
    """
    count = len(run.get("seeds", ()))
    seeds = [f"{count} seed{'s' * (count > 1)}"] if count else []
    return f"{run['command']} ({', '.join([*seeds, run['device'], run['date']])})"


def model(name: str) -> Recorded:
    """Load a model that an experiment trained, onto the CPU and into eval mode.

    Args:
        name: of the file, as in `models/NAME.safetensors`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is broken.

    Example:
        >>> model("nothing")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        FileNotFoundError: name: expected a file models/nothing.safetensors in ..., found none
    """
    return load_model(_find("models", f"{name}.safetensors"))


def tensors(name: str) -> tuple[dict[str, Tensor], dict]:
    """The tensors of a small model of an experiment's own, by name, and what its file says of them.

    Args:
        name: of the file, as in `models/NAME.safetensors`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is broken.

    Example:
        >>> weights, state = tensors("masked_writer_no_mask")
        >>> state["about"]["writer"], len(state["vocab"]) == len(weights["word.weight"])
        ('no mask', True)
    """
    return files.load_tensors(_find("models", f"{name}.safetensors"))


def model_file(name: str) -> Path:
    """The file to which an experiment in a checkout writes the model of that name.

    Example:
        >>> model_file("toy").name
        'toy.safetensors'
    """
    return _CHECKOUT / "models" / f"{name}.safetensors"


def build(kind: str, arguments: dict[str, Any]) -> SequenceModel:
    """Make an untrained model: "seq2seq" is `rnn.seq2seq`, "transformer" is `Transformer`.

    Raises:
        ValueError: `kind` is neither, or an argument is out of range.

    Example:
        >>> type(build("seq2seq", {"source_vocab": 9, "target_vocab": 9, "hidden_dim": 8})).__name__
        'Seq2Seq'
    """
    checks.choice("kind", kind, tuple(_KINDS))
    return _KINDS[kind](**arguments)


def save_model(
    path: str | Path,
    model: nn.Module,
    kind: str,
    arguments: dict[str, Any],
    vocabs: Sequence[Vocab],
    about: dict,
) -> None:
    """Write the weights of a model from `build(kind, arguments)`, with everything needed to use it.

    Args:
        path: of a safetensors file.
        vocabs: of source and target.
        about: how it was made; what JSON can hold.

    Raises:
        TypeError: `about` or `arguments` holds what JSON cannot.
        ValueError: `kind` is unknown.

    Example:
        >>> import tempfile
        >>> arguments = {"source_vocab": 5, "target_vocab": 5, "hidden_dim": 8}
        >>> words, path = Vocab(["a"]), Path(tempfile.mkdtemp(), "m.safetensors")
        >>> save_model(path, build("seq2seq", arguments), "seq2seq", arguments, (words, words), {})
        >>> load_model(path).source_vocab.decode([4])
        ['a']
    """
    checks.choice("kind", kind, tuple(_KINDS))
    state = {
        "kind": kind,
        "arguments": arguments,
        "vocabs": [vocab.tokens[len(SPECIAL) :] for vocab in vocabs],
        "about": about,
    }
    files.save_tensors(path, dict(model.state_dict()), state)


def load_model(path: str | Path) -> Recorded:
    """Load what `save_model` wrote, onto the CPU and into eval mode.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is broken, or its weights are not those of the model that it names.

    Example:
        >>> load_model("nowhere.safetensors")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        FileNotFoundError: ...
    """
    tensors, state = files.load_tensors(path)
    model = build(state["kind"], state["arguments"])
    files.put_weights(model, tensors)
    source_vocab, target_vocab = (Vocab(tokens) for tokens in state["vocabs"])
    return Recorded(model.eval(), source_vocab, target_vocab, state["about"])


def _find(folder: str, name: str) -> Path:
    for root in (_CHECKOUT, _INSTALLED):
        if (path := root / folder / name).is_file():
            return path
    raise FileNotFoundError(
        f"name: expected a file {folder}/{name} in {_CHECKOUT} or {_INSTALLED}, found none"
    )
