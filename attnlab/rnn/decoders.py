"""The three recurrent decoders: with one fixed vector, with Bahdanau's attention, with Luong's."""

from typing import Any

import torch
from torch import Tensor, nn

from attnkit.functional import Attended
from attnkit.guard import checks
from attnlab.decoding import Stepped
from attnlab.rnn.base import Decoder, State
from attnlab.rnn.encoder import Encoded


class FixedVectorDecoder(Decoder):
    r"""A decoder that sees only one vector c of the source: the encoder's last state.

    .. math:: s_t = f(s_{t-1}, y_{t-1}) \quad\text{or}\quad s_t = f(s_{t-1}, [y_{t-1}; c])
        \qquad p(y_t) = \mathrm{softmax}(W_o s_t)

    With `context="first"` c makes the first state and no other (Sutskever et al. 2014); with
    "every" it is joined to the input of every step as well (Cho et al. 2014).

    Args:
        vocab_size: number of token ids.
        embed_dim: features of an embedding.
        hidden_dim: features H of a state.
        memory_dim: features of the encoder's states, `encoder.output_dim`.
        context: "first" or "every".
        options: `cell`, "gru" or "lstm"; `num_layers`, as many as the encoder has; `dropout`, the
            probability on the embeddings, between layers and before the logits; `pad`, the id of
            padding. Default "gru", 1, 0.0 and 0.

    Shapes: target_in (B, T) -> logits (B, T, V); there are no weights. See `Decoder.forward`.

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: an argument is out of range.

    Example:
        >>> import torch
        >>> from attnlab.rnn import Encoder, FixedVectorDecoder
        >>> encoder = Encoder(vocab_size=10, embed_dim=4, hidden_dim=8)
        >>> decoder = FixedVectorDecoder(12, 4, 8, encoder.output_dim, context="every")
        >>> source, target_in = torch.randint(4, 9, (2, 3)), torch.ones(2, 5, dtype=torch.long)
        >>> decoder(target_in, encoder(source)).logits.shape
        torch.Size([2, 5, 12])
    """

    def __init__(
        self,
        vocab_size: int,
        embed_dim: int,
        hidden_dim: int,
        memory_dim: int,
        *,
        context: str = "first",
        **options: Any,
    ):
        checks.choice("context", context, ("first", "every"))
        super().__init__(
            *(vocab_size, embed_dim, hidden_dim, memory_dim),
            joined_dim=memory_dim if context == "every" else 0,
            readout_dim=hidden_dim,
            **options,
        )
        self.context = context

    def run(
        self, tokens: Tensor, state: State, memory: Encoded, *, need_weights: bool = False
    ) -> Stepped:
        """Read tokens (B, T): see `Decoder.run`. The weights are None."""
        x = self._embed(tokens)  # (B, T, E)
        if self.context == "every":
            context = memory.state[:, -1:].expand(-1, tokens.shape[1], -1)  # (B, T, F)
            x = torch.cat((x, context), dim=-1)  # (B, T, E + F)
        outputs, state = self._recur(x, state)
        return Stepped(self.readout(self.dropout(outputs)), state, None)


class _AttentionDecoder(Decoder):
    """A decoder with an attention module, called as every mechanism of attnkit is."""

    attention: nn.Module

    def prepare(self, encoded: Encoded) -> Encoded:
        """Project the keys once, if the attention lets them be projected beforehand."""
        encoded = super().prepare(encoded)
        project = getattr(self.attention, "project_key", None)
        return encoded if project is None else encoded._replace(projected=project(encoded.outputs))

    def _look(self, query: Tensor, memory: Encoded, need_weights: bool) -> Attended:
        options = {"mask": memory.mask, "need_weights": need_weights}
        if memory.projected is not None:
            options["projected_key"] = memory.projected
        return self.attention(query, memory.outputs, **options)


class BahdanauDecoder(_AttentionDecoder):
    r"""Attend to the source before each step, with the state of the last step as the query.

    .. math:: c_t = \mathrm{attend}(s_{t-1}, h) \qquad s_t = f(s_{t-1}, [y_{t-1}; c_t]) \qquad
        p(y_t) = \mathrm{softmax}(W_o [s_t; c_t; y_{t-1}])

    Bahdanau et al. (2015), section 3.1 and appendix A.2. Their last layer is a maxout network;
    ours is linear. With several layers, the last one's state is the query.

    Args:
        vocab_size: number of token ids.
        embed_dim: features of an embedding.
        hidden_dim: features H of a state, which are those of a query.
        memory_dim: features of the encoder's states, `encoder.output_dim`.
        attention: a mechanism of attnkit, or a module called alike; in the paper
            `AdditiveAttention(hidden_dim, memory_dim, ...)`.
        context_dim: features of the output of `attention`; default `memory_dim`.
        options: `cell`, `num_layers`, `dropout` and `pad`, as in `FixedVectorDecoder`.

    Shapes: target_in (B, T) -> logits (B, T, V), weights (B, T, S). See `Decoder.forward`.

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: an argument is out of range.

    Example:
        >>> import torch
        >>> from attnkit import AdditiveAttention
        >>> from attnlab.rnn import BahdanauDecoder, Encoder
        >>> encoder = Encoder(vocab_size=10, embed_dim=4, hidden_dim=8)
        >>> decoder = BahdanauDecoder(12, 4, 8, 16, AdditiveAttention(8, 16, hidden_dim=8))
        >>> source, target_in = torch.randint(4, 9, (2, 3)), torch.ones(2, 5, dtype=torch.long)
        >>> decoder(target_in, encoder(source), need_weights=True).weights.shape
        torch.Size([2, 5, 3])
    """

    parallel = False

    def __init__(
        self,
        vocab_size: int,
        embed_dim: int,
        hidden_dim: int,
        memory_dim: int,
        attention: nn.Module,
        *,
        context_dim: int | None = None,
        **options: Any,
    ):
        context_dim = _context_dim(attention, context_dim, memory_dim)
        super().__init__(
            *(vocab_size, embed_dim, hidden_dim, memory_dim),
            joined_dim=context_dim,
            readout_dim=hidden_dim + context_dim + embed_dim,
            **options,
        )
        self.attention = attention

    def run(
        self, tokens: Tensor, state: State, memory: Encoded, *, need_weights: bool = False
    ) -> Stepped:
        """Read tokens (B, 1): see `Decoder.run`."""
        x = self._embed(tokens)  # (B, 1, E)
        context, weights = self._look(state.hidden[:, -1:], memory, need_weights)  # (B, 1, C)
        outputs, state = self._recur(torch.cat((x, context), dim=-1), state)  # (B, 1, H)
        joined = torch.cat((outputs, context, x), dim=-1)  # (B, 1, H + C + E)
        return Stepped(self.readout(self.dropout(joined)), state, weights)


class LuongDecoder(_AttentionDecoder):
    r"""Look at the source after each step, with its own state as the query.

    .. math::

        s_t &= f(s_{t-1}, [y_{t-1}; \tilde s_{t-1}]) & c_t &= \mathrm{attend}(s_t, h) \\
        \tilde s_t &= \tanh(W_c [c_t; s_t]) & p(y_t) &= \mathrm{softmax}(W_o \tilde s_t)

    Luong et al. (2015), equations 5 and 6, where s is called h and h is called :math:`\bar h`.
    Without input feeding (their section 3.3) :math:`\tilde s_{t-1}` is not joined to the input,
    and a whole target is read in one go.

    Args:
        vocab_size, embed_dim, hidden_dim, memory_dim: as in `BahdanauDecoder`.
        attention: a mechanism of attnkit, or a module called alike; in the paper
            `LuongAttention(hidden_dim, memory_dim, score=...)`.
        input_feeding: join the last attentional vector to the input.
        context_dim, options: as in `BahdanauDecoder`.

    Shapes: target_in (B, T) -> logits (B, T, V), weights (B, T, S). See `Decoder.forward`.

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: an argument is out of range.

    Example:
        >>> import torch
        >>> from attnkit import LuongAttention
        >>> from attnlab.rnn import Encoder, LuongDecoder
        >>> encoder = Encoder(vocab_size=10, embed_dim=4, hidden_dim=8)
        >>> decoder = LuongDecoder(12, 4, 8, 16, LuongAttention(8, 16, "general"))
        >>> source, target_in = torch.randint(4, 9, (2, 3)), torch.ones(2, 5, dtype=torch.long)
        >>> decoder(target_in, encoder(source), need_weights=True).weights.shape
        torch.Size([2, 5, 3])
    """

    def __init__(
        self,
        vocab_size: int,
        embed_dim: int,
        hidden_dim: int,
        memory_dim: int,
        attention: nn.Module,
        *,
        input_feeding: bool = True,
        context_dim: int | None = None,
        **options: Any,
    ):
        context_dim = _context_dim(attention, context_dim, memory_dim)
        checks.flag("input_feeding", input_feeding)
        super().__init__(
            *(vocab_size, embed_dim, hidden_dim, memory_dim),
            joined_dim=hidden_dim if input_feeding else 0,
            readout_dim=hidden_dim,
            **options,
        )
        self.attention = attention
        self.input_feeding = input_feeding
        self.combine = nn.Linear(context_dim + hidden_dim, hidden_dim, bias=False)

    @property
    def parallel(self) -> bool:
        """Whether a whole target can be read in one go, as it can without input feeding."""
        return not self.input_feeding

    def start(self, memory: Encoded) -> State:
        """The state before the first token: see `Decoder.start`. What is fed starts at zero."""
        state = super().start(memory)
        if not self.input_feeding:
            return state
        return state._replace(feed=torch.zeros_like(state.hidden[:, -1]))  # (B, H)

    def run(
        self, tokens: Tensor, state: State, memory: Encoded, *, need_weights: bool = False
    ) -> Stepped:
        """Read tokens (B, T), T = 1 with input feeding: see `Decoder.run`."""
        x = self._embed(tokens)  # (B, T, E)
        if self.input_feeding:
            x = torch.cat((x, state.feed[:, None]), dim=-1)  # (B, 1, E + H)
        outputs, state = self._recur(x, state)  # (B, T, H)
        context, weights = self._look(outputs, memory, need_weights)  # (B, T, C)
        attentional = torch.tanh(self.combine(torch.cat((context, outputs), dim=-1)))  # (B, T, H)
        attentional = self.dropout(attentional)
        if self.input_feeding:
            state = state._replace(feed=attentional[:, -1])
        return Stepped(self.readout(attentional), state, weights)


def _context_dim(attention: nn.Module, context_dim: int | None, memory_dim: int) -> int:
    checks.instance("attention", attention, nn.Module, "an nn.Module")
    if context_dim is None:
        return checks.integer("memory_dim", memory_dim, minimum=1)
    return checks.integer("context_dim", context_dim, minimum=1)
