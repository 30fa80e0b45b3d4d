"""Base class with greedy and beam search."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import Any

import torch
from torch import Tensor, nn

from attnkit.guard import checks
from attnlab.decoding.beam import beam_search
from attnlab.decoding.greedy import greedy_search
from attnlab.decoding.sampling import sample
from attnlab.decoding.step import Decoded, Step


class SequenceModel(nn.Module):
    """A model from one sequence to another that can be searched, greedily or with a beam.

    A subclass has the ids `pad`, `bos` and `eos`, and defines `begin`.

    Example:
        >>> from attnlab import rnn
        >>> model = rnn.seq2seq(10, 12, hidden_dim=8)
        >>> isinstance(model, SequenceModel)
        True
        >>> model.greedy(torch.tensor([[4, 5]]), torch.tensor([2]), 3).tokens.shape[1] <= 3
        True
    """

    pad: int
    bos: int
    eos: int

    def begin(
        self, source: Tensor, source_lengths: Any, *, copies: int, need_weights: bool
    ) -> tuple[Step, Any]:
        """Read the sources (B, S); return `step` and the first state, `copies` rows for each."""
        raise NotImplementedError(f"{type(self).__name__} must define begin(...)")

    def greedy(
        self,
        source: Tensor,
        source_lengths: Any,
        max_len: int,
        *,
        min_len: int = 0,
        need_weights: bool = False,
    ) -> Decoded:
        """Write the most probable token at every step, in eval mode and without gradients.

        Args:
            source: token ids (B, S).
            source_lengths: numbers of real tokens (B,), or None for S each.
            max_len: most tokens to write, the end symbol included.
            min_len: fewest tokens to write, the end symbol included.
            need_weights: return the weights of every step.

        Returns:
            `Decoded(tokens, lengths, scores, weights)`.

        Raises:
            TypeError, ValueError: an argument does not fit; see `greedy_search`.
        """
        with evaluating(self):
            step, state = self.begin(source, source_lengths, copies=1, need_weights=need_weights)
            options = {"min_len": min_len, **self._symbols(source)}
            return greedy_search(step, state, source.shape[0], max_len, **options)

    def beam(
        self,
        source: Tensor,
        source_lengths: Any,
        max_len: int,
        *,
        beam_size: int = 5,
        length_penalty: float = 0.6,
        n_best: int | None = None,
        min_len: int = 0,
        need_weights: bool = False,
    ) -> Decoded:
        """Search with a beam, in eval mode and without gradients: see `beam_search`.

        Args:
            source, source_lengths, max_len, min_len, need_weights: as in `greedy`.
            beam_size: hypotheses kept for each sentence.
            length_penalty: how much length is forgiven, from 0 on.
            n_best: number of hypotheses to return; default only the best.

        Returns:
            `Decoded(tokens, lengths, scores, weights)` of the best hypothesis, or of `n_best`.

        Raises:
            TypeError, ValueError: an argument does not fit; see `beam_search`.
        """
        checks.integer("beam_size", beam_size, minimum=1)
        with evaluating(self):
            step, state = self.begin(
                source, source_lengths, copies=beam_size, need_weights=need_weights
            )
            options = {"beam_size": beam_size, "length_penalty": length_penalty, "n_best": n_best}
            options |= {"min_len": min_len, **self._symbols(source)}
            return beam_search(step, state, source.shape[0], max_len, **options)

    def sample(
        self,
        source: Tensor,
        source_lengths: Any,
        max_len: int,
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        generator: torch.Generator | None = None,
        min_len: int = 0,
        need_weights: bool = False,
    ) -> Decoded:
        """Draw every token at random, in eval mode and without gradients.

        Args:
            source, source_lengths, max_len, min_len, need_weights: as in `greedy`.
            temperature, top_k, top_p, generator: as in `decoding.sample`.

        Returns:
            `Decoded(tokens, lengths, scores, weights)`; the scores are the log-probabilities that
            the model gives, whatever the temperature.

        Raises:
            TypeError, ValueError: an argument does not fit; see `greedy_search` and `sample`.
        """
        drawing = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
        with evaluating(self):
            step, state = self.begin(source, source_lengths, copies=1, need_weights=need_weights)
            options = {"min_len": min_len, **self._symbols(source)}
            options["choose"] = partial(sample, generator=generator, **drawing)
            return greedy_search(step, state, source.shape[0], max_len, **options)

    def _symbols(self, source: Tensor) -> dict[str, Any]:
        return {"pad": self.pad, "bos": self.bos, "eos": self.eos, "device": source.device}


# How many are evaluating a model now, and the mode that each part had before the first of them.
_IN_EVAL: dict[nn.Module, tuple[int, list[tuple[nn.Module, bool]]]] = {}
_LOCK = Lock()


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put a model into eval mode without gradients, and every part back into its own mode.

    Several threads may do so with one model: the last of them puts it back.

    Example:
        >>> model = nn.Linear(2, 2).train()
        >>> with evaluating(model):
        ...     model.training, torch.is_grad_enabled()
        (False, False)
        >>> model.training
        True
    """
    with _LOCK:
        users, modes = _IN_EVAL.get(model, (0, None))
        if modes is None:
            modes = [(module, module.training) for module in model.modules()]
            model.eval()
        _IN_EVAL[model] = users + 1, modes
    try:
        with torch.no_grad():
            yield
    finally:
        with _LOCK:
            users, modes = _IN_EVAL.pop(model)
            if users > 1:
                _IN_EVAL[model] = users - 1, modes
            else:
                for module, training in modes:
                    module.training = training
