"""Token ids: checks, the mask of a padded batch, and its embedding."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attnkit import masks
from attnkit.guard import checks

Lengths = Tensor | Sequence[int] | None


def check_tokens(name: str, tokens: Tensor, vocab_size: int) -> Tensor:
    """Check token ids: an integer tensor (B, length), not empty, with ids below `vocab_size`.

    The ids themselves are checked on the CPU only: on a GPU that would stall the stream.

    Raises:
        TypeError: `tokens` is not an integer tensor.
        ValueError: it is not two-dimensional, is empty, or an id is out of range.
    """
    checks.tensor(name, tokens)
    if tokens.dtype not in (torch.int32, torch.int64):
        checks.fail(name, "an integer tensor of token ids", str(tokens.dtype), TypeError)
    if tokens.dim() != 2 or tokens.numel() == 0:
        checks.fail(name, "shape (B, length) with at least one token", f"{checks.shape(tokens)}")
    if tokens.is_cpu and not torch.compiler.is_compiling():
        low, high = int(tokens.min()), int(tokens.max())
        if low < 0 or high >= vocab_size:
            expected = f"ids from 0 to {vocab_size - 1} (the vocabulary)"
            checks.fail(name, expected, f"ids from {low} to {high}")
    return tokens


def check_special(vocab_size: int, **ids: int) -> None:
    """Check that special ids such as pad, bos and eos are in the vocabulary and all different.

    Raises:
        TypeError: an id is not an int.
        ValueError: an id is out of range, or two are the same.
    """
    for name, number in ids.items():
        checks.integer(name, number, minimum=0, maximum=vocab_size - 1)
    if len(set(ids.values())) < len(ids):
        got = ", ".join(f"{name}={number}" for name, number in ids.items())
        checks.fail(list(ids)[-1], "an id of its own", got)


def source_mask(tokens: Tensor, lengths: Lengths, *, name: str = "source_lengths") -> Tensor:
    """Mask (B, 1, S) of a padded batch (B, S): True for the first `lengths[b]` tokens.

    Args:
        tokens: (B, S), checked.
        lengths: B numbers from 0 to S, on any device; None when nothing is padded.
        name: of `lengths` in error messages.

    Raises:
        TypeError: `lengths` holds something other than integers.
        ValueError: there are not B of them, or one is out of range.
    """
    batch, max_len = tokens.shape
    if lengths is None:
        return torch.ones(batch, 1, max_len, dtype=torch.bool, device=tokens.device)
    try:
        mask = masks.padding(lengths, max_len).to(tokens.device)  # (B, 1, S)
    except (TypeError, ValueError) as error:
        # The same error, under the name that the argument has in a model.
        raise type(error)(str(error).replace("lengths", name, 1)) from None
    if mask.shape[0] != batch:
        checks.fail(name, f"{batch} lengths, one for each source", str(mask.shape[0]))
    return mask


def check_padding(name: str, tokens: Tensor, real: Tensor, pad: int | None) -> None:
    """Check that no padding is among the real tokens, where it would be read as one of them.

    On the CPU only, as in `check_tokens`.

    Args:
        name: of the tokens in error messages.
        tokens: (B, L), checked.
        real: boolean (B, L), True for real tokens.
        pad: id of padding, or None for a model without.

    Raises:
        ValueError: there is.
    """
    if pad is None or not tokens.is_cpu or torch.compiler.is_compiling():
        return
    wrong = ((tokens == pad) & real).any(1)  # (B,)
    if wrong.any():
        row = int(wrong.nonzero()[0])
        expected = f"no padding (id {pad}) among the real tokens: it belongs on the right, and"
        checks.fail(name, f"{expected} lengths say how many are real", f"some in row {row}")


def embed(embedding: nn.Embedding, tokens: Tensor, real: Tensor) -> Tensor:
    """Look tokens (B, L) up and put zeros where `real` (B, L) is False. Gives (B, L, E).

    Zeros, whatever the embedding of the padding is: a NaN there would reach the gradients of the
    weights after it even when no output depends on it, since 0 * NaN is NaN.
    """
    return embedding(tokens).masked_fill(~real[..., None], 0.0)  # (B, L, E)
