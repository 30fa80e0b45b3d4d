"""Greedy and beam search, for any model that can take one step, and sampling.

A model gives a function `step(tokens, state)`: the last token of each of N rows and a state whose
tensors have N rows come in; logits for the next token, the new state, and the attention weights
of the step come out. The searches know nothing of the state but that `select` can pick rows of it.
"""

from attnlab.decoding.base import SequenceModel, evaluating
from attnlab.decoding.beam import beam_search
from attnlab.decoding.greedy import greedy_search
from attnlab.decoding.sampling import sample
from attnlab.decoding.step import Decoded, Step, Stepped, select

__all__ = [
    "Decoded",
    "SequenceModel",
    "Step",
    "Stepped",
    "beam_search",
    "evaluating",
    "greedy_search",
    "sample",
    "select",
]
