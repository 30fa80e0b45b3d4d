"""Losses: of a batch, of a data set, and the usual one for sequences."""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnkit import device as devices
from attnkit.guard import checks
from attnkit.guard.dtypes import widen
from attnlab.decoding import evaluating
from attnlab.tasks.vocab import PAD

Loss = Callable[[nn.Module, Any], Tensor]


def usual_loss(model: nn.Module, batch: Any) -> Tensor:
    """`next_token_loss` of a batch that is a tensor of ids, `sequence_loss` of any other.

    Example:
        >>> import torch
        >>> from attnlab.transformer import LanguageModel
        >>> model = LanguageModel(10, embed_dim=8, num_heads=2, num_layers=1)
        >>> usual_loss(model, torch.tensor([[5, 6, 7]])).shape
        torch.Size([2])
    """
    return (next_token_loss if isinstance(batch, Tensor) else sequence_loss)(model, batch)


def sequence_loss(model: nn.Module, batch: Any, *, label_smoothing: float = 0.0) -> Tensor:
    """Cross entropy of each target token with teacher forcing, without padding.

    Args:
        model: called as `model(source, source_lengths, target_in)`, gives logits (B, T, V). Its
            `pad` is the id of padding; 0 where it has none.
        batch: a `tasks.Batch`.
        label_smoothing: share of the target's probability that goes to all tokens alike (Szegedy
            et al. 2016, section 7) while the model is in training mode. For `fit`:
            `functools.partial(sequence_loss, label_smoothing=0.1)`.

    Returns:
        (N,), one loss in nats for each of the N target tokens, EOS included.

    Raises:
        TypeError, ValueError: as the model does.

    Example:
        >>> import torch
        >>> from attnlab import rnn, tasks
        >>> pairs = tasks.reverse(4, min_length=3, max_length=5)
        >>> batches = tasks.Batches(pairs, *tasks.vocabs(pairs), batch_size=4)
        >>> model = rnn.seq2seq(len(batches.source_vocab), len(batches.target_vocab), hidden_dim=8)
        >>> sequence_loss(model, next(iter(batches))).dim()
        1
    """
    if not hasattr(batch, "source"):
        expected = "a tasks.Batch (for other batches pass loss=, as applications.summary_loss)"
        checks.fail("batch", expected, type(batch).__name__, TypeError)
    logits = model(batch.source, batch.source_lengths, batch.target_in)  # (B, T, V)
    target = batch.target_out.long()
    losses = F.cross_entropy(
        logits.float().transpose(1, 2),
        target,
        reduction="none",
        label_smoothing=label_smoothing if model.training else 0.0,
    )
    return losses[target != getattr(model, "pad", PAD)]  # (N,)


def next_token_loss(model: nn.Module, tokens: Tensor) -> Tensor:
    """Cross entropy of each token given those before it, for `transformer.LanguageModel`.

    Args:
        model: called as `model(tokens)`, gives logits (B, L, V). Where it has an id `pad`, padding
            has no loss.
        tokens: ids (B, L), two tokens at least.

    Returns:
        (N,), one loss in nats for each of the N tokens that have one before them.

    Raises:
        TypeError: `tokens` is not a tensor.
        ValueError: it has not two dimensions, or only one token in a row.
        TypeError, ValueError: as the model does.

    Example:
        >>> import torch
        >>> from attnlab.transformer import LanguageModel
        >>> model = LanguageModel(10, embed_dim=8, num_heads=2, num_layers=1, pad=0)
        >>> next_token_loss(model, torch.tensor([[5, 6, 7], [8, 9, 0]])).shape
        torch.Size([3])
    """
    checks.instance("tokens", tokens, Tensor, "a tensor of ids (B, L)")
    if tokens.dim() != 2 or tokens.shape[1] < 2:
        checks.fail("tokens", "ids (B, L) of two tokens at least", f"shape {checks.shape(tokens)}")
    logits, target = model(tokens[:, :-1]), tokens[:, 1:].long()  # (B, L - 1, V), (B, L - 1)
    losses = F.cross_entropy(logits.float().transpose(1, 2), target, reduction="none")
    pad = getattr(model, "pad", None)
    return losses.flatten() if pad is None else losses[target != pad]  # (N,)


def evaluate(
    model: nn.Module,
    batches: Any,
    *,
    loss: Loss = usual_loss,
    device: torch.device | str | None = None,
) -> float:
    """Mean of all losses over all batches, in eval mode and without gradients.

    Afterwards every part of the model is back in its own mode, frozen ones too.

    Args:
        model: any module that `loss` can call.
        batches: `tasks.Batches` or a sequence of batches.
        loss: as for `fit`.
        device: where the batches go; default that of the model's first parameter.

    Raises:
        ValueError: there are no losses.

    >>> evaluate(nn.Identity(), [torch.tensor([1.0, 2.0]), torch.tensor([6.0])],
    ...          loss=lambda model, x: model(x))
    3.0
    """
    checks.instance("model", model, nn.Module, "an nn.Module")
    first = next(model.parameters(), torch.empty(0))
    device = first.device if device is None else devices.choose(device)
    total, count = 0.0, 0
    with evaluating(model):
        for batch in batches:
            losses = loss(model, moved(batch, device))
            total += summed(losses)
            count += losses.numel()
    if not count:
        checks.fail("batches", "batches with at least one loss", "none")
    return total / count


def summed(losses: Tensor) -> float:
    """The sum of losses, rounded once. By Python, since not every device has float64.

    Example:
        >>> import torch
        >>> summed(torch.tensor([1.0, 2.0]))
        3.0
    """
    losses = losses.detach()
    if not losses.isfinite().all():
        return losses.sum().item()
    return math.fsum(losses.flatten().tolist())


def batch_losses(model: nn.Module, batch: Any, *, loss: Loss, device: torch.device) -> Tensor:
    """Call the loss, under autocast where that is faster, and check its result."""
    enabled = devices.fast_dtype(device) == torch.bfloat16
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=enabled):
        losses = loss(model, batch)
    checks.floating("loss", losses)
    if not losses.numel():
        checks.fail("loss", "at least one loss for each batch", f"shape {checks.shape(losses)}")
    (losses,) = widen(losses)
    return losses


def moved(batch: Any, device: torch.device) -> Any:
    return batch.to(device) if hasattr(batch, "to") else batch
