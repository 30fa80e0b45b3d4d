"""The recurrent sequence-to-sequence model: an encoder and a decoder."""

from typing import Any

import torch
from torch import Tensor

from attnkit.guard import checks
from attnkit.mechanisms.additive import AdditiveAttention
from attnkit.mechanisms.luong import SCORES, LuongAttention
from attnlab.decoding import SequenceModel, Step, Stepped, select
from attnlab.decoding.tokens import Lengths, check_special
from attnlab.rnn.base import Decoder, State, Taught
from attnlab.rnn.decoders import BahdanauDecoder, FixedVectorDecoder, LuongDecoder
from attnlab.rnn.encoder import Encoded, Encoder


class Seq2Seq(SequenceModel):
    r"""A recurrent model from one sequence to another.

    .. math:: p(y \mid x) = \prod_t p(y_t \mid y_{<t}, \mathrm{Encoder}(x))

    Sutskever et al. (2014), Cho et al. (2014); with attention Bahdanau et al. (2015), Luong et
    al. (2015). `rnn.seq2seq` builds the usual ones by name.

    Args:
        encoder: an `Encoder`.
        decoder: a `Decoder` with `memory_dim == encoder.output_dim`.
        bos, eos: ids of first symbol and end symbol; that of padding is the decoder's.

    Shapes: source (B, S), target_in (B, T) -> logits (B, T, V). See `forward`.

    Raises:
        TypeError: a part is of another type.
        ValueError: the two do not fit each other, or an id is out of range.

    Example:
        >>> import torch
        >>> from attnlab.rnn import Encoder, FixedVectorDecoder, Seq2Seq
        >>> model = Seq2Seq(Encoder(10, 4, 8), FixedVectorDecoder(12, 4, 8, memory_dim=16))
        >>> source, target_in = torch.randint(3, 10, (2, 5)), torch.randint(3, 12, (2, 4))
        >>> model(source, [5, 3], target_in).shape
        torch.Size([2, 4, 12])
        >>> decoded = model.greedy(source, [5, 3], max_len=6)
        >>> decoded.lengths.shape
        torch.Size([2])
    """

    def __init__(self, encoder: Encoder, decoder: Decoder, *, bos: int = 1, eos: int = 2):
        super().__init__()
        checks.instance("encoder", encoder, Encoder, "an rnn.Encoder")
        checks.instance("decoder", decoder, Decoder, "an rnn.Decoder")
        for name, want, got in (
            ("memory_dim", encoder.output_dim, decoder.memory_dim),
            ("num_layers", encoder.rnn.num_layers, decoder.rnn.num_layers),
        ):
            if want != got:
                checks.fail("decoder", f"{name}={want}, as the encoder has", f"{name}={got}")
        check_special(decoder.vocab_size, pad=decoder.pad, bos=bos, eos=eos)
        self.encoder, self.decoder = encoder, decoder
        self.pad, self.bos, self.eos = decoder.pad, bos, eos

    def forward(
        self,
        source: Tensor,
        source_lengths: Lengths,
        target_in: Tensor,
        *,
        teacher_forcing: float = 1.0,
    ) -> Tensor:
        """Logits of every next token, given the right ones before it (teacher forcing).

        Args:
            source: token ids (B, S).
            source_lengths: numbers of real tokens (B,), 0 allowed; None for S each.
            target_in: token ids (B, T), the first symbol first.
            teacher_forcing: probability of reading the right token; see `Decoder.forward`.

        Returns:
            (B, T, V); row t depends on `target_in` up to token t alone.

        Raises:
            TypeError: ids or lengths are not integers.
            ValueError: shapes do not fit, or an id, a length or the probability is out of range.
        """
        return self._teach(source, source_lengths, target_in, teacher_forcing).logits

    def weights(self, source: Tensor, source_lengths: Lengths, target_in: Tensor) -> Tensor:
        """The attention weights (B, T, S) behind `forward`; same arguments.

        Raises:
            ValueError: the decoder has no attention.
        """
        weights = self._teach(source, source_lengths, target_in, 1.0, need_weights=True).weights
        if weights is None:
            checks.fail("decoder", "one with attention", type(self.decoder).__name__)
        return weights

    def begin(
        self, source: Tensor, source_lengths: Lengths, *, copies: int, need_weights: bool
    ) -> tuple[Step, State]:
        """Encode the sources; return `step` and the first state: see `SequenceModel`.

        Raises:
            ValueError: weights are asked of a decoder without attention.
        """
        if need_weights and not hasattr(self.decoder, "attention"):
            kind = type(self.decoder).__name__
            checks.fail("need_weights", f"False with a {kind}, which has none", "True")
        encoded = self.encoder(source, source_lengths)
        return self.begin_from(encoded, copies=copies, need_weights=need_weights)

    def begin_from(
        self, encoded: Encoded, *, copies: int, need_weights: bool
    ) -> tuple[Step, State]:
        """`begin`, from what the encoder gave."""
        outputs = encoded.outputs
        rows = torch.arange(outputs.shape[0], device=outputs.device).repeat_interleave(copies)
        memory = select(self.decoder.prepare(encoded), rows)

        def step(tokens: Tensor, state: State) -> Stepped:
            return self.decoder.step(tokens, state, memory, need_weights=need_weights)

        return step, self.decoder.start(memory)

    def _teach(
        self, source: Tensor, source_lengths: Lengths, target_in: Tensor, ratio: float, **options
    ) -> Taught:
        encoded = self.encoder(source, source_lengths)
        return self.decoder(target_in, encoded, teacher_forcing=ratio, **options)


def seq2seq(
    source_vocab: int,
    target_vocab: int,
    *,
    attention: str = "additive",
    embed_dim: int = 64,
    hidden_dim: int = 128,
    cell: str = "gru",
    num_layers: int = 1,
    bidirectional: bool = True,
    dropout: float = 0.0,
    share_embeddings: bool = False,
    **options: Any,
) -> Seq2Seq:
    """Build a recurrent model by the name of its attention.

    Args:
        source_vocab, target_vocab: numbers of token ids.
        attention: "none" (`FixedVectorDecoder`), "additive" (`BahdanauDecoder`), or "dot",
            "general" or "concat" (`LuongDecoder`).
        embed_dim: features of an embedding.
        hidden_dim: features of a decoder's state and of an encoder's, both directions together,
            so that "dot" can compare them; even when `bidirectional`.
        cell, num_layers, bidirectional, dropout: of both sides.
        share_embeddings: one matrix for source, target and logits: see `Decoder.share`.
        options: further arguments of the decoder, such as `context` or `input_feeding`; with
            "additive" also `attention_dim`, the features of its score, `hidden_dim` if left out.

    Returns:
        `Seq2Seq`.

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: an argument is out of range, or the vocabularies to be shared differ.

    Example:
        >>> from attnlab.rnn import seq2seq
        >>> model = seq2seq(10, 12, attention="dot", hidden_dim=8, input_feeding=False)
        >>> type(model.decoder).__name__, model.decoder.attention.score
        ('LuongDecoder', 'dot')
    """
    checks.choice("attention", attention, ("none", "additive", *SCORES))
    checks.integer("hidden_dim", hidden_dim, minimum=1)
    if checks.flag("bidirectional", bidirectional) and hidden_dim % 2:
        checks.fail("hidden_dim", "an even number, half for each direction", str(hidden_dim))
    shared = {"cell": cell, "num_layers": num_layers, "dropout": dropout}
    encoder_dim = hidden_dim // 2 if bidirectional else hidden_dim
    pad = options.get("pad", 0)
    encoder = Encoder(
        source_vocab, embed_dim, encoder_dim, bidirectional=bidirectional, pad=pad, **shared
    )
    symbols = {name: options.pop(name) for name in ("bos", "eos") if name in options}
    sizes = (target_vocab, embed_dim, hidden_dim, encoder.output_dim)
    if attention == "none":
        decoder = FixedVectorDecoder(*sizes, **shared, **options)
    elif attention == "additive":
        features = options.pop("attention_dim", hidden_dim)
        mechanism = AdditiveAttention(hidden_dim, encoder.output_dim, features)
        decoder = BahdanauDecoder(*sizes, mechanism, **shared, **options)
    else:
        mechanism = LuongAttention(hidden_dim, encoder.output_dim, attention)
        decoder = LuongDecoder(*sizes, mechanism, **shared, **options)
    if checks.flag("share_embeddings", share_embeddings):
        if source_vocab != target_vocab:
            expected = f"{source_vocab} (source_vocab) when share_embeddings is True"
            checks.fail("target_vocab", expected, str(target_vocab))
        decoder.share(encoder)
    return Seq2Seq(encoder, decoder, **symbols)
