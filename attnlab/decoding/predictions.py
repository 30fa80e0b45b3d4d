"""Decode and align a whole data set with a trained model."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from attnkit.guard import checks
from attnlab.decoding import SequenceModel
from attnlab.decoding.base import evaluating
from attnlab.metrics import Link, argmax_links
from attnlab.tasks.pairs import Batches

Weigh = Callable[[Any, Any], Tensor]
Span = tuple[int, int]


def predict(
    model: SequenceModel,
    batches: Batches,
    *,
    max_len: int | None = None,
    beam_size: int = 1,
    length_penalty: float = 0.6,
) -> list[list[str]]:
    """Decode every source, greedily or with a beam.

    Args:
        model: a sequence-to-sequence model; it runs in eval mode.
        batches: the data. Their order does not matter.
        max_len: most tokens to write; default twice the longest target of a batch, plus 10.
        beam_size: 1 decodes greedily.
        length_penalty: of a beam, as in `beam_search`: the larger, the longer what is written.

    Returns:
        Tokens without the end symbol, in the order of `batches.pairs`.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: a number is out of range.

    Example:
        >>> from attnlab import rnn, tasks
        >>> pairs = tasks.copy(3, max_length=2)
        >>> batches = tasks.Batches(pairs, *tasks.vocabs(pairs), batch_size=2)
        >>> model = rnn.seq2seq(len(batches.source_vocab), len(batches.target_vocab), hidden_dim=8)
        >>> len(predict(model, batches, max_len=4))
        3
    """
    _check(model, batches)
    checks.integer("beam_size", beam_size, minimum=1)
    device = next(model.parameters()).device
    predicted: list[list[str]] = [[] for _ in batches.pairs]
    for batch in batches:
        batch = batch.to(device)
        limit = max_len if max_len is not None else 2 * int(batch.target_lengths.max()) + 10
        if beam_size == 1:
            decoded = model.greedy(batch.source, batch.source_lengths, limit)
        else:
            options = {"beam_size": beam_size, "length_penalty": length_penalty}
            decoded = model.beam(batch.source, batch.source_lengths, limit, **options)
        for index, tokens in zip(batch.index.tolist(), decoded.tokens.cpu(), strict=True):
            predicted[index] = batches.target_vocab.decode(tokens)
    return predicted


def teacher_forced_weights(model: Any, batch: Any) -> Tensor:
    """Weights (B, T, S) while the model reads the right targets: those of an RNN's decoder, or
    a Transformer's cross-attention, averaged over layers and heads.

    Example:
        >>> from attnlab import rnn, tasks
        >>> pairs = tasks.copy(2, min_length=3, max_length=3)
        >>> batches = tasks.Batches(pairs, *tasks.vocabs(pairs), batch_size=2)
        >>> model = rnn.seq2seq(len(batches.source_vocab), len(batches.target_vocab), hidden_dim=8)
        >>> teacher_forced_weights(model, next(iter(batches))).shape[0]
        2
    """
    weights = model.weights(batch.source, batch.source_lengths, batch.target_in)
    return mean_heads(weights if isinstance(weights, Tensor) else weights.cross)  # (B, T, S)


def mean_heads(weights: Tensor) -> Tensor:
    """Average weights (B, ..., T, S) over all dimensions between: layers and heads. (B, T, S)

    Example:
        >>> mean_heads(torch.ones(2, 8, 5, 7)).shape
        torch.Size([2, 5, 7])
    """
    return weights.flatten(1, -3).mean(1) if weights.dim() > 3 else weights


def word_weights(
    weights: Tensor, target_words: Sequence[Span], source_words: Sequence[Span]
) -> Tensor:
    """Join weights (T, S) over pieces of words into weights over words.

    The weight of a source word is the sum over its pieces, that of a target word the mean over its
    own, so a row adds up to what its pieces' rows did.

    Args:
        weights: (T, S).
        target_words: where each word begins and ends among the T pieces, as `Vocab.spans` says.
        source_words: the same among the S pieces.

    Returns:
        (number of target words, number of source words).

    Example:
        >>> weights = torch.tensor([[0.2, 0.3, 0.5], [0.0, 0.2, 0.8]])
        >>> word_weights(weights, [(0, 2)], [(0, 1), (1, 3)])
        tensor([[0.1000, 0.9000]])
    """
    empty = weights.new_zeros(weights.shape[0], 0)
    columns = [weights[:, first:end].sum(1) for first, end in source_words]
    weights = torch.stack(columns, 1) if columns else empty
    rows = [weights[first:end].mean(0) for first, end in target_words]
    return torch.stack(rows) if rows else weights[:0]


def align(
    model: SequenceModel, batches: Batches, *, weigh: Weigh = teacher_forced_weights
) -> list[frozenset[Link]]:
    """Link each target word to the source word it attends to most, given the right targets.

    The links compare with gold links of the same sentences, whatever the model would have
    written by itself (forced decoding, as in Luong et al. 2015, section 5.4).

    Args:
        model: a model with attention; it runs in eval mode.
        batches: the data. Their order does not matter.
        weigh: function of model and batch that gives the weights (B, T, S), such as those of one
            head.

    Returns:
        Links (index of the target word, index of the source word), in the order of
        `batches.pairs`; the end symbol and padding have none.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: the model has no attention, or `weigh` gives another shape.

    Example:
        >>> from attnlab import rnn, tasks
        >>> pairs = tasks.copy(3, min_length=2, max_length=2)
        >>> batches = tasks.Batches(pairs, *tasks.vocabs(pairs), batch_size=2)
        >>> model = rnn.seq2seq(len(batches.source_vocab), len(batches.target_vocab), hidden_dim=8)
        >>> [len(links) for links in align(model, batches)]
        [2, 2, 2]
    """
    _check(model, batches)
    checks.function("weigh", weigh, "a function of model and batch")
    device = next(model.parameters()).device
    links: list[frozenset[Link]] = [frozenset() for _ in batches.pairs]
    for batch in batches:
        with evaluating(model):
            weights = weigh(model, batch.to(device)).float().cpu()
        expected = (*batch.target_in.shape, batch.source.shape[1])
        if weights.shape != torch.Size(expected):
            checks.fail("weigh", f"weights (B, T, S) = {expected}", f"{checks.shape(weights)}")
        for row, index in enumerate(batch.index.tolist()):
            pair = batches.pairs[index]
            source = batches.source_vocab.spans(batches.source_vocab.pieces(pair.source))
            target = batches.target_vocab.spans(batches.target_vocab.pieces(pair.target))
            links[index] = argmax_links(
                word_weights(weights[row], target, source),
                target_length=len(target),
                source_length=len(source),
            )
    return links


def _check(model: object, batches: object) -> None:
    checks.instance("model", model, SequenceModel, "a sequence-to-sequence model")
    checks.instance("batches", batches, Batches, "tasks.Batches")
