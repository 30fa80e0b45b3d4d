"""The Transformer from sequence to sequence."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from attnkit.efficient.cache import KVCache
from attnkit.guard import checks
from attnlab.decoding import SequenceModel, Step, Stepped, select
from attnlab.decoding.tokens import (
    Lengths,
    check_padding,
    check_special,
    check_tokens,
    embed,
    source_mask,
)
from attnlab.transformer.positions import PositionScheme
from attnlab.transformer.stacks import Decoder, Encoder, after_caches


class Memory(NamedTuple):
    """The output of the encoder: `outputs` (B, S, E), `mask` (B, 1, S), and `weights`
    (B, layers, H, S, S) or None."""

    outputs: Tensor
    mask: Tensor
    weights: Tensor | None


class Predicted(NamedTuple):
    """The output of the decoder: `logits` (B, T, V), and `weights` (B, layers, H, T, T) and
    `cross_weights` (B, layers, H, T, S), or None."""

    logits: Tensor
    weights: Tensor | None
    cross_weights: Tensor | None


class Weights(NamedTuple):
    """Attention weights of every layer and head: `encoder` (B, layers, H, S, S), `decoder`
    (B, layers, H, T, T) and `cross` (B, layers, H, T, S), each before dropout."""

    encoder: Tensor
    decoder: Tensor
    cross: Tensor


class Transformer(SequenceModel):
    r"""Encoder and decoder of attention layers, from token ids to logits.

    .. math::

        m = \mathrm{Encoder}(\sqrt{E}\, W_x[x] + P) \qquad
        p(y_t \mid y_{<t}, x) =
        \mathrm{softmax}(W_o\, \mathrm{Decoder}(\sqrt{E}\, W_y[y_{<t}] + P, m))_t

    Vaswani et al. (2017). With the defaults it is the paper's: post-norm, ReLU, sinusoidal
    positions. With `norm_first` each stack ends in a layer norm, and trains without warm-up.

    Args:
        source_vocab, target_vocab: numbers of token ids.
        embed_dim: features E.
        num_heads: heads of every attention.
        num_layers: layers of the encoder, and of the decoder.
        hidden_dim: of the feed-forward networks; default 4 * embed_dim.
        num_kv_heads: heads of key and value; default `num_heads`.
        dropout: probability of each dropout, on the embeddings too.
        activation: "relu", "gelu", "gelu_tanh" or "silu".
        norm_first: True for pre-norm.
        positions: a kind of `PositionScheme`: "sinusoidal", "learned", "rotary", "alibi",
            "relative" or "none".
        max_len: longest sequence, for "learned" positions alone.
        window: let a target see only this many targets, its own included; None for all before it.
        share_embeddings: one matrix for source, target and logits (section 3.4 of the paper).
        pad, bos, eos: ids of padding, first symbol and end symbol, the same on both sides.
        options: further arguments of the layers: `head_dim`, `gated`, `norm`, `norm_eps` and
            `bias`.

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: an argument is out of range, or the vocabularies to be shared differ.

    Example:
        >>> import torch
        >>> from attnlab.transformer import Transformer
        >>> model = Transformer(10, 12, embed_dim=16, num_heads=2, num_layers=1)
        >>> source, target_in = torch.randint(3, 10, (2, 5)), torch.randint(3, 12, (2, 4))
        >>> model(source, [5, 3], target_in).shape
        torch.Size([2, 4, 12])
        >>> model.greedy(source, [5, 3], max_len=6, need_weights=True).weights.shape[:3]
        torch.Size([2, 1, 2])
    """

    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        *,
        embed_dim: int = 128,
        num_heads: int = 4,
        num_layers: int = 2,
        hidden_dim: int | None = None,
        num_kv_heads: int | None = None,
        dropout: float = 0.1,
        activation: str = "relu",
        norm_first: bool = False,
        positions: str = "sinusoidal",
        max_len: int = 512,
        window: int | None = None,
        share_embeddings: bool = False,
        pad: int = 0,
        bos: int = 1,
        eos: int = 2,
        **options: Any,
    ):
        super().__init__()
        self.source_vocab = checks.integer("source_vocab", source_vocab, minimum=1)
        self.target_vocab = checks.integer("target_vocab", target_vocab, minimum=1)
        check_special(min(source_vocab, target_vocab), pad=pad, bos=bos, eos=eos)
        self.pad, self.bos, self.eos = pad, bos, eos
        self.embed_dim = checks.integer("embed_dim", embed_dim, minimum=1)
        self.window = None if window is None else checks.integer("window", window, minimum=1)
        sizes = (embed_dim, num_heads, 4 * embed_dim if hidden_dim is None else hidden_dim)
        layer = {"num_kv_heads": num_kv_heads, "dropout": dropout, "activation": activation}
        layer |= {"norm_first": norm_first, **options}
        self.encoder = Encoder(*sizes, num_layers, **layer)
        self.decoder = Decoder(*sizes, num_layers, **layer)
        scheme = {"embed_dim": embed_dim, "num_heads": num_heads, "max_len": max_len}
        scheme["head_dim"] = options.get("head_dim")
        self.source_positions = PositionScheme(positions, **scheme)
        self.target_positions = PositionScheme(positions, **scheme, bidirectional=False)
        self.dropout = nn.Dropout(dropout)
        self._make_embeddings(checks.flag("share_embeddings", share_embeddings))

    def _make_embeddings(self, share: bool) -> None:
        if share and self.source_vocab != self.target_vocab:
            expected = f"{self.source_vocab} (source_vocab) when share_embeddings is True"
            checks.fail("target_vocab", expected, str(self.target_vocab))
        self.source_embedding = self._embedding(self.source_vocab)
        self.target_embedding = (
            self.source_embedding if share else self._embedding(self.target_vocab)
        )
        self.output = nn.Linear(self.embed_dim, self.target_vocab, bias=not share)
        if share:
            self.output.weight = self.target_embedding.weight

    def _embedding(self, vocab_size: int) -> nn.Embedding:
        # Variance 1 / E, so that it is 1 after the factor sqrt(E), as that of the positions.
        embedding = nn.Embedding(vocab_size, self.embed_dim, padding_idx=self.pad)
        nn.init.normal_(embedding.weight, std=self.embed_dim**-0.5)
        with torch.no_grad():
            embedding.weight[self.pad] = 0.0
        return embedding

    def forward(self, source: Tensor, source_lengths: Lengths, target_in: Tensor) -> Tensor:
        """Logits of every next token, given the right tokens before it (teacher forcing).

        Args:
            source: token ids (B, S).
            source_lengths: numbers of real tokens (B,), 0 allowed; None for S each.
            target_in: token ids (B, T), the first symbol first.

        Returns:
            (B, T, target_vocab); row t depends on `target_in` up to token t alone. Rows of padded
            targets are meaningless.

        Raises:
            TypeError: ids or lengths are not integers.
            ValueError: shapes do not fit, or an id or a length is out of range.
        """
        self._check_target(source, target_in)
        return self.decode(target_in, self.encode(source, source_lengths)).logits

    def weights(self, source: Tensor, source_lengths: Lengths, target_in: Tensor) -> Weights:
        """The attention weights behind `forward`, of every layer and head; same arguments."""
        self._check_target(source, target_in)
        memory = self.encode(source, source_lengths, need_weights=True)
        decoded = self.decode(target_in, memory, need_weights=True)
        return Weights(memory.weights, decoded.weights, decoded.cross_weights)

    def encode(
        self, source: Tensor, source_lengths: Lengths = None, *, need_weights: bool = False
    ) -> Memory:
        """Run the encoder over token ids (B, S): see `Memory`; arguments as in `forward`."""
        check_tokens("source", source, self.source_vocab)
        mask, size = source_mask(source, source_lengths), source.shape[1]  # (B, 1, S)
        check_padding("source", source, mask[:, 0], self.pad)
        x = embed(self.source_embedding, source, mask[:, 0]) * math.sqrt(self.embed_dim)
        x = self.dropout(self.source_positions.add(x))  # (B, S, E)
        positions = self.source_positions.in_attention(size, size, offset=0, device=x.device)
        output, weights = self.encoder(x, mask=mask, need_weights=need_weights, **positions)
        return Memory(output, mask, weights)

    def decode(
        self,
        target_in: Tensor,
        memory: Memory,
        *,
        caches: Sequence[KVCache] | None = None,
        cross_caches: Sequence[KVCache] | None = None,
        need_weights: bool = False,
    ) -> Predicted:
        """Run the decoder over token ids (B, T): see `Predicted`.

        Args:
            target_in: the first symbol and the tokens after it; with caches, the tokens that
                follow those of earlier calls.
            memory: from `encode`.
            caches: one `KVCache(window=model.window)` for each layer.
            cross_caches: one `KVCache()` for each layer, for this memory alone.
            need_weights: return the weights of every layer and head.

        Raises:
            TypeError, ValueError: as `forward`; the caches do not fit.
        """
        check_tokens("target_in", target_in, self.target_vocab)
        x = embed(self.target_embedding, target_in, target_in != self.pad)  # (B, T, E)
        x = x * math.sqrt(self.embed_dim)
        x, options = after_caches(x, self.target_positions, caches, self.window)
        output, weights, cross_weights = self.decoder(
            self.dropout(x),
            memory.outputs,
            memory_mask=memory.mask,
            caches=caches,
            cross_caches=cross_caches,
            need_weights=need_weights,
            **options,
        )
        return Predicted(self.output(output), weights, cross_weights)

    def begin(
        self, source: Tensor, source_lengths: Lengths, *, copies: int, need_weights: bool
    ) -> tuple[Step, list[KVCache]]:
        """Encode the sources; return `step` and empty caches: see `SequenceModel`."""
        memory = self.encode(source, source_lengths)
        return self.begin_from(memory, copies=copies, need_weights=need_weights)

    def begin_from(
        self, memory: Memory, *, copies: int, need_weights: bool
    ) -> tuple[Step, list[KVCache]]:
        """`begin`, from what `encode` gave."""
        outputs = memory.outputs
        rows = torch.arange(outputs.shape[0], device=outputs.device).repeat_interleave(copies)
        memory = select(memory, rows)
        # The memory is the same for all copies of a source, so its caches need no reordering.
        cross_caches = self.decoder.new_caches()

        def step(tokens: Tensor, caches: list[KVCache]) -> Stepped:
            options = {"caches": caches, "cross_caches": cross_caches}
            predicted = self.decode(tokens[:, None], memory, need_weights=need_weights, **options)
            weights = predicted.cross_weights  # (N, layers, H, 1, S)
            weights = None if weights is None else weights[..., 0, :]
            return Stepped(predicted.logits[:, 0], caches, weights)

        return step, self.decoder.new_caches(window=self.window)

    def _check_target(self, source: Tensor, target_in: Tensor) -> None:
        check_tokens("source", source, self.source_vocab)
        check_tokens("target_in", target_in, self.target_vocab)
        checks.size("target_in", target_in, 0, source.shape[0], "one target for each source")
