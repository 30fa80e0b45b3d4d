"""A published model with its tokenizer: text in, states and attention weights out."""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnkit import masks
from attnkit.guard import checks
from attnlab.pretrained.bert import Bert


class Reading(NamedTuple):
    """One text as an encoder read it.

    `tokens` are L strings, special ones included. `outputs` (L, E) is the state after the last
    layer, `weights` (layers, H, L, L) the attention of every layer and head, and `states`
    (layers + 1, L, E) the state before the first layer and after each.
    """

    tokens: list[str]
    outputs: Tensor
    weights: Tensor
    states: Tensor


class Reader:
    """An encoder and the tokenizer that it was trained with.

    `load` and `from_folder` make one.

    Args:
        model: a `Bert`.
        tokenizer: a `tokenizers.Tokenizer`.
        longest: tokens that a text is cut to; default the model's `max_len`.

    Raises:
        TypeError: `model` is of another kind.
        ValueError: `longest` is above the model's `max_len`.

    Example:
        >>> from attnlab import pretrained
        >>> if pretrained.available("all-MiniLM-L6-v2"):
        ...     reader = pretrained.load("all-MiniLM-L6-v2")
        ...     cat, kitten, bank = reader.embed(["A cat.", "A kitten.", "Two banks merged."])
        ...     assert cat @ kitten > 0.5 > cat @ bank
    """

    kind: ClassVar[type[nn.Module]] = Bert

    def __init__(self, model: nn.Module, tokenizer: Any, longest: int | None = None):
        checks.instance("model", model, self.kind, f"a {self.kind.__name__}")
        if longest is not None:
            checks.integer("longest", longest, minimum=1, maximum=model.max_len)
        self.model, self.tokenizer = model, tokenizer
        self.longest = model.max_len if longest is None else longest
        tokenizer.no_padding()
        self.cut()

    def cut(self) -> None:
        """Have the tokenizer cut a text to what is read of it."""
        self.tokenizer.enable_truncation(self.longest)

    def batch(self, texts: Sequence[str]) -> tuple[Tensor, list[int]]:
        """The token ids (B, L) of texts, padded on the right with 0, and the length of each.

        Raises:
            TypeError: `texts` is a string, or holds something that is none.
            ValueError: there are none, one of them has no tokens, or is no Unicode text (a lone
                surrogate).
        """
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            checks.fail("texts", "a list of strings", type(texts).__name__, TypeError)
        for number, text in enumerate(texts):
            check_unicode(f"texts[{number}]", text)
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
            ValueError: a text has no tokens, or is no Unicode text.
        """
        one = isinstance(text, str)
        tokens, lengths = self.batch([text] if one else text)  # (B, L)
        states, weights = self.model(tokens, lengths)
        readings = [
            Reading(
                [self.tokenizer.id_to_token(token) for token in tokens[row, :length].tolist()],
                states[row, -1, :length],
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
            outputs = self.model(tokens, lengths).states[:, -1]  # (B, L, E)
            found.append(mean_of_real(outputs, lengths))
        if not found:
            checks.fail("texts", "at least one text", "none")
        return torch.cat(found)


def check_unicode(name: str, text: str) -> str:
    """Check that a text can be written in UTF-8, as one with half of a surrogate pair cannot.

    Raises:
        ValueError: it cannot; the message names the place.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        got = f"{text[error.start]!a} at {error.start}"
        checks.fail(name, "text that can be written in UTF-8", got)
    return text


def mean_of_real(outputs: Tensor, lengths: Sequence[int]) -> Tensor:
    """The normalised mean (B, E) of the first `lengths[b]` of outputs (B, L, E)."""
    real = masks.padding(lengths, outputs.shape[1]).to(outputs.device)  # (B, 1, L)
    total = (real.to(outputs.dtype) @ outputs)[:, 0]  # (B, E)
    return F.normalize(total, dim=-1)
