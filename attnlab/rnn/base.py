"""Base class of the recurrent decoders: first state, single steps, teacher forcing."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnkit.guard import checks
from attnlab.decoding import Stepped
from attnlab.decoding.tokens import check_special, check_tokens, embed
from attnlab.rnn.encoder import Encoded, recurrent


class State(NamedTuple):
    """The state of a decoder between two tokens.

    `hidden` (B, layers, H), an LSTM's `cell` (B, layers, H) or None, and `feed` (B, H), Luong's
    attentional vector, where it is fed to the next step.
    """

    hidden: Tensor
    cell: Tensor | None
    feed: Tensor | None


class Taught(NamedTuple):
    """The output for a whole target: `logits` (B, T, V), and `weights` (B, T, S) or None; with
    `MultiHeadAttention` the weights are (B, H, T, S)."""

    logits: Tensor
    weights: Tensor | None


class Decoder(nn.Module):
    r"""Base class of the decoders. A subclass defines `run`, from tokens to logits.

    The first state is computed from the encoder's last states, layer by layer:

    .. math:: s_0 = \tanh(W_s\, h + b_s)

    Bahdanau et al. (2015), appendix A.2.2, do this with the backward direction alone. An LSTM's
    first cells are a linear map of the encoder's cells, or zero when the encoder is a GRU.

    Raises:
        TypeError, ValueError: an argument is not of the type named, or out of range.

    Example:
        >>> import torch
        >>> from attnlab.rnn import Encoder, FixedVectorDecoder
        >>> encoder = Encoder(vocab_size=10, embed_dim=4, hidden_dim=8)
        >>> encoded = encoder(torch.randint(4, 10, (2, 3)))
        >>> decoder = FixedVectorDecoder(vocab_size=12, embed_dim=4, hidden_dim=8, memory_dim=16)
        >>> target_in = torch.ones(2, 5, dtype=torch.long)
        >>> isinstance(decoder, Decoder), decoder(target_in, encoded).logits.shape
        (True, torch.Size([2, 5, 12]))
    """

    #: Whether `run` takes many tokens at once; False when a step needs the output of the last.
    parallel = True

    def __init__(
        self,
        vocab_size: int,
        embed_dim: int,
        hidden_dim: int,
        memory_dim: int,
        *,
        joined_dim: int,
        readout_dim: int,
        cell: str = "gru",
        num_layers: int = 1,
        dropout: float = 0.0,
        pad: int = 0,
    ):
        super().__init__()
        self.vocab_size = checks.integer("vocab_size", vocab_size, minimum=1)
        check_special(vocab_size, pad=pad)
        self.pad = pad
        self.hidden_dim = checks.integer("hidden_dim", hidden_dim, minimum=1)
        self.memory_dim = checks.integer("memory_dim", memory_dim, minimum=1)
        self.embedding = nn.Embedding(
            vocab_size, checks.integer("embed_dim", embed_dim, minimum=1), padding_idx=pad
        )
        self.rnn = recurrent(cell, embed_dim + joined_dim, hidden_dim, num_layers, dropout)
        self.bridge = nn.Linear(memory_dim, hidden_dim)
        self.cell_bridge = nn.Linear(memory_dim, hidden_dim) if cell == "lstm" else None
        self.dropout = nn.Dropout(dropout)
        self.readout = nn.Linear(readout_dim, vocab_size)

    def share(self, encoder: nn.Module) -> None:
        r"""Use one matrix W for the source, the target and the logits (Press and Wolf 2017).

        .. math:: p(y_t) = \mathrm{softmax}(W \tanh(W_o\, r_t + b_o))

        W_o brings the readout r_t to the features of an embedding, as the "deep output" of
        Bahdanau et al. (2015) does before its last matrix. Their maxout is a tanh here.

        Raises:
            ValueError: the two have embeddings of another shape.
        """
        weight = self.embedding.weight
        if encoder.embedding.weight.shape != weight.shape:
            got = checks.shape(encoder.embedding.weight)
            checks.fail("encoder", f"embeddings of shape {checks.shape(weight)}", got)
        # Small, since logits are sums over them: a GRU's first inputs may well be small.
        nn.init.normal_(weight, std=self.embedding.embedding_dim**-0.5)
        with torch.no_grad():
            weight[self.pad] = 0.0
        encoder.embedding = self.embedding
        narrow = nn.Linear(self.readout.in_features, self.embedding.embedding_dim)
        logits = nn.Linear(self.embedding.embedding_dim, self.vocab_size, bias=False)
        logits.weight = weight
        self.readout = nn.Sequential(narrow, nn.Tanh(), logits)

    def run(
        self, tokens: Tensor, state: State, memory: Encoded, *, need_weights: bool = False
    ) -> Stepped:
        """Read tokens (B, T), one only unless `parallel`: logits (B, T, V), the new state, and
        weights (B, T, S) or None."""
        raise NotImplementedError(f"{type(self).__name__} must define run(...)")

    def prepare(self, encoded: Encoded) -> Encoded:
        """Do once what does not depend on the target, such as projecting the keys."""
        checks.size("encoded.outputs", encoded.outputs, -1, self.memory_dim, "memory_dim")
        return encoded

    def start(self, memory: Encoded) -> State:
        """The state before the first token.

        Raises:
            ValueError: the encoder has another number of layers or features.
        """
        checks.size("encoded.state", memory.state, 1, self.rnn.num_layers, "num_layers")
        checks.size("encoded.state", memory.state, 2, self.memory_dim, "memory_dim")
        hidden = torch.tanh(self.bridge(memory.state))  # (B, layers, H)
        cell = None
        if self.cell_bridge is not None:
            without = memory.cell is None
            cell = torch.zeros_like(hidden) if without else self.cell_bridge(memory.cell)
        return State(hidden, cell, None)

    def step(
        self, tokens: Tensor, state: State, memory: Encoded, *, need_weights: bool = False
    ) -> Stepped:
        """Read the last tokens (N,): logits (N, V), the new state, weights (N, S) or None."""
        logits, state, weights = self.run(tokens[:, None], state, memory, need_weights=need_weights)
        return Stepped(logits[:, 0], state, None if weights is None else weights[..., 0, :])

    def forward(
        self,
        target_in: Tensor,
        encoded: Encoded,
        *,
        teacher_forcing: float = 1.0,
        need_weights: bool = False,
    ) -> Taught:
        """Read a whole target (B, T); with less `teacher_forcing`, partly what was predicted.

        Args:
            target_in: token ids (B, T), the first symbol first.
            encoded: from an `Encoder`.
            teacher_forcing: probability, for each token but the first, of reading the target's
                and not the most probable one (scheduled sampling, Bengio et al. 2015).
            need_weights: return the weights (B, T, S).

        Raises:
            TypeError: ids are not integers.
            ValueError: sizes do not fit, an id is out of range, or `teacher_forcing` is not from
                0 to 1.
        """
        check_tokens("target_in", target_in, self.vocab_size)
        checks.size("target_in", target_in, 0, encoded.mask.shape[0], "one target for each source")
        checks.flag("need_weights", need_weights)
        if not 0 <= checks.number("teacher_forcing", teacher_forcing) <= 1:
            checks.fail("teacher_forcing", "a probability from 0 to 1", str(teacher_forcing))
        memory = self.prepare(encoded)
        state = self.start(memory)
        if self.parallel and teacher_forcing == 1:
            logits, _, weights = self.run(target_in, state, memory, need_weights=need_weights)
            return Taught(logits, weights)
        all_logits, all_weights = [], []
        for tokens in target_in.split(1, dim=1):  # (B, 1)
            if all_logits and teacher_forcing < 1:
                forced = torch.rand(tokens.shape, device=tokens.device) < teacher_forcing
                tokens = torch.where(forced, tokens, all_logits[-1].argmax(-1))
            logits, state, weights = self.run(tokens, state, memory, need_weights=need_weights)
            all_logits.append(logits)
            all_weights.append(weights)
        attended = need_weights and all_weights[0] is not None
        weights = torch.cat(all_weights, dim=-2) if attended else None
        return Taught(torch.cat(all_logits, dim=1), weights)

    def _embed(self, tokens: Tensor) -> Tensor:
        return self.dropout(embed(self.embedding, tokens, tokens != self.pad))  # (B, T, E)

    def _recur(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Run the recurrent layers over x (B, T, features): all states (B, T, H), and the last."""
        hidden = state.hidden.transpose(0, 1).contiguous()  # (layers, B, H)
        if state.cell is None:
            outputs, hidden = self.rnn(x, hidden)
            return outputs, state._replace(hidden=hidden.transpose(0, 1))
        cell = state.cell.transpose(0, 1).contiguous()
        outputs, (hidden, cell) = self.rnn(x, (hidden, cell))
        return outputs, state._replace(hidden=hidden.transpose(0, 1), cell=cell.transpose(0, 1))
