"""The recurrent encoder."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attnkit.guard import checks
from attnlab.decoding.tokens import (
    Lengths,
    check_padding,
    check_special,
    check_tokens,
    embed,
    source_mask,
)

CELLS: dict[str, type[nn.RNNBase]] = {"gru": nn.GRU, "lstm": nn.LSTM}


class Encoded(NamedTuple):
    """The output of the encoder, with F = hidden_dim, or 2 * hidden_dim when it is bidirectional.

    `outputs` (B, S, F): the states of the last layer, zero at padding. `state` (B, layers, F):
    the last state of each layer, that of the backward direction being the one at the first
    token. `cell` (B, layers, F): the same of an LSTM's cells, or None. `mask` (B, 1, S).
    `projected`: the keys that a decoder's attention has projected from `outputs`, or None.
    """

    outputs: Tensor
    state: Tensor
    cell: Tensor | None
    mask: Tensor
    projected: Tensor | None = None


class Encoder(nn.Module):
    r"""A GRU or LSTM over embedded tokens, in one direction or both.

    .. math:: h_j = [\overrightarrow{h}_j; \overleftarrow{h}_j]

    Bahdanau et al. (2015), section 3.2. Sequences are packed, so that the backward direction
    starts at each sequence's last real token, and nothing depends on the padding.

    Args:
        vocab_size: number of token ids.
        embed_dim: features of an embedding.
        hidden_dim: features of a state, in each direction.
        cell: "gru" or "lstm".
        num_layers: layers on top of each other.
        bidirectional: read backwards too.
        dropout: probability of dropout on the embeddings, between layers and on the outputs.
        pad: id of padding; its embedding is zero.

    Shapes: source (B, S) -> `Encoded`. See `forward`.

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: an argument is out of range.

    Example:
        >>> import torch
        >>> from attnlab.rnn import Encoder
        >>> encoder = Encoder(vocab_size=10, embed_dim=4, hidden_dim=8)
        >>> encoded = encoder(torch.tensor([[3, 4, 5], [6, 0, 0]]), [3, 1])
        >>> encoded.outputs.shape, encoded.state.shape, encoded.mask.shape
        (torch.Size([2, 3, 16]), torch.Size([2, 1, 16]), torch.Size([2, 1, 3]))
    """

    def __init__(
        self,
        vocab_size: int,
        embed_dim: int,
        hidden_dim: int,
        *,
        cell: str = "gru",
        num_layers: int = 1,
        bidirectional: bool = True,
        dropout: float = 0.0,
        pad: int = 0,
    ):
        super().__init__()
        self.vocab_size = checks.integer("vocab_size", vocab_size, minimum=1)
        check_special(vocab_size, pad=pad)
        directions = 2 if checks.flag("bidirectional", bidirectional) else 1
        self.embedding = nn.Embedding(
            vocab_size, checks.integer("embed_dim", embed_dim, minimum=1), padding_idx=pad
        )
        self.rnn = recurrent(cell, embed_dim, hidden_dim, num_layers, dropout, bidirectional)
        self.dropout = nn.Dropout(dropout)
        self.output_dim = directions * hidden_dim

    def forward(self, source: Tensor, source_lengths: Lengths = None) -> Encoded:
        """Read token ids (B, S).

        Args:
            source: token ids (B, S).
            source_lengths: numbers of real tokens (B,), 0 allowed; None for S each. A source of
                length 0 gives states of zero.

        Raises:
            TypeError: ids or lengths are not integers.
            ValueError: shapes do not fit, or an id or a length is out of range.
        """
        check_tokens("source", source, self.vocab_size)
        mask = source_mask(source, source_lengths)  # (B, 1, S)
        check_padding("source", source, mask[:, 0], self.embedding.padding_idx)
        lengths = mask[:, 0].sum(-1)  # (B,)
        x = self.dropout(embed(self.embedding, source, mask[:, 0]))  # (B, S, E)
        if source_lengths is None and torch.compiler.is_compiling():  # which knows no packing
            outputs, state = self.rnn(x)  # (B, S, F)
        else:
            # Packing takes no empty sequence, so it reads one padding; its states become 0 below.
            packed = pack_padded_sequence(x, lengths.clamp(min=1).cpu(), True, enforce_sorted=False)
            outputs, state = self.rnn(packed)
            outputs, _ = pad_packed_sequence(outputs, True, total_length=source.shape[1])
        outputs = self.dropout(outputs).masked_fill(~mask.transpose(1, 2), 0.0)
        state, cell = state if isinstance(state, tuple) else (state, None)
        empty = lengths == 0
        return Encoded(outputs, self._last(state, empty), self._last(cell, empty), mask)

    def _last(self, state: Tensor | None, empty: Tensor) -> Tensor | None:
        """Join the directions of (layers * directions, B, hidden_dim) into (B, layers, F)."""
        if state is None:
            return None
        state = state.unflatten(0, (self.rnn.num_layers, -1))  # (layers, directions, B, hidden)
        state = state.permute(2, 0, 1, 3).flatten(2)  # (B, layers, F)
        return state.masked_fill(empty[:, None, None], 0.0)


def recurrent(
    cell: str,
    input_dim: int,
    hidden_dim: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool = False,
) -> nn.RNNBase:
    """Build a batch-first `nn.GRU` or `nn.LSTM` from checked arguments."""
    kind = CELLS[checks.choice("cell", cell, tuple(CELLS))]
    checks.integer("hidden_dim", hidden_dim, minimum=1)
    checks.integer("num_layers", num_layers, minimum=1)
    checks.probability("dropout", dropout)
    between = dropout if num_layers > 1 else 0.0
    return kind(
        input_dim,
        hidden_dim,
        num_layers,
        batch_first=True,
        dropout=between,
        bidirectional=bidirectional,
    )
