"""A decoder-only Transformer: the next token from the tokens before it."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from attnkit.efficient.cache import KVCache
from attnkit.guard import checks
from attnlab.decoding import Decoded, evaluating, sample
from attnlab.decoding.tokens import Lengths, check_padding, check_tokens, source_mask
from attnlab.transformer.positions import PositionScheme
from attnlab.transformer.stacks import Encoder, States, after_caches


class LanguageModel(nn.Module):
    r"""A decoder-only Transformer, from token ids to the logits of each next token.

    .. math:: p(y_{t+1} \mid y_{\le t}) = \mathrm{softmax}(W_o\, \mathrm{LN}(h_t))

    with :math:`h` from pre-norm layers of self-attention under a causal mask, which is GPT-2's
    form (Radford et al. 2019). Llama's (Touvron et al. 2023) has rotary positions, norms by the
    root mean square, a gated feed-forward network and no biases: `norm="rms"`, `gated=True`,
    `activation="silu"`, `bias=False`. Gemma 3's (2025) has windows in five layers of six, with a
    base of their own: `window=[512] * 5 + [None]`, `rotary_base=[1e4] * 5 + [1e6]`, and norms at
    every place: `qk_norm=True`, `norm_after=True`. Gemma 2 (2024) has no norms of queries and keys
    but caps, `soft_cap=50` and `logit_cap=30`. The attention of gpt-oss (2025) has
    `window=[128, None]` and `sink=True`. Train it with
    `training.fit(..., loss=training.next_token_loss)`.

    Args:
        vocab_size: number of token ids V.
        embed_dim: features E.
        num_heads: heads of every attention.
        num_layers: number of layers.
        hidden_dim: of the feed-forward networks; default 4 * embed_dim.
        num_kv_heads: heads of key and value; default `num_heads`.
        dropout: probability of each dropout, on the embeddings too.
        activation: "relu", "gelu", "gelu_tanh" or "silu".
        positions: a kind of `PositionScheme`.
        max_len: longest text, for "learned" positions alone.
        rotary_base, rotary_layout: of "rotary" positions, as `positions.rotary` takes them.
        window: let a token see only this many tokens, itself included; None for all before it.
            Of this and of `rotary_base` a list is a pattern, repeated from the first layer to the
            last.
        embedding_scale: factor of the embeddings, which are not multiplied where they are W_o.
        tie_embeddings: use the embedding as W_o too (Press and Wolf 2017).
        logit_cap: c, to make of each logit :math:`c \tanh(\mathrm{logit} / c)`; None for none.
        pad: id of padding, which the loss skips and which fills finished texts; None for none.
        options: further arguments of `EncoderLayer`: `head_dim`, `scale`, `qk_norm`, `sink`,
            `soft_cap`, `gated`, `norm`, `norm_eps`, `norm_after` and `bias`; and `kv_from`, of
            `Encoder`, where layers that share keys have the same window and base.

    Shapes: tokens (B, L) -> logits (B, L, V). See `forward` and `generate`.

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: an argument is out of range.

    Example:
        >>> import torch
        >>> from attnlab.transformer import LanguageModel
        >>> model = LanguageModel(12, embed_dim=16, num_heads=2, num_layers=1)
        >>> tokens = torch.randint(12, (2, 5))
        >>> model(tokens).shape
        torch.Size([2, 5, 12])
        >>> model.generate(tokens, 3, temperature=0).tokens.shape
        torch.Size([2, 3])
    """

    def __init__(
        self,
        vocab_size: int,
        *,
        embed_dim: int = 128,
        num_heads: int = 4,
        num_layers: int = 2,
        hidden_dim: int | None = None,
        num_kv_heads: int | None = None,
        dropout: float = 0.1,
        activation: str = "gelu",
        positions: str = "rotary",
        max_len: int = 512,
        rotary_base: float | Sequence[float] = 10000.0,
        rotary_layout: str = "interleaved",
        window: int | Sequence[int | None] | None = None,
        embedding_scale: float = 1.0,
        tie_embeddings: bool = True,
        logit_cap: float | None = None,
        pad: int | None = None,
        **options: Any,
    ):
        super().__init__()
        self.vocab_size = checks.integer("vocab_size", vocab_size, minimum=1)
        checks.integer("embed_dim", embed_dim, minimum=1)
        if pad is not None:
            checks.integer("pad", pad, minimum=0, maximum=vocab_size - 1)
        self.pad = pad
        self.embedding_scale = checks.number("embedding_scale", embedding_scale)
        checks.integer("num_layers", num_layers, minimum=1)
        rotary_base = _repeated("rotary_base", rotary_base, num_layers)
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        nn.init.normal_(self.embedding.weight, std=0.02)
        self.positions = PositionScheme(
            positions,
            embed_dim,
            num_heads,
            max_len=max_len,
            bidirectional=False,
            head_dim=options.get("head_dim"),
            base=rotary_base,
            layout=rotary_layout,
        )
        self.dropout = nn.Dropout(dropout)
        self.stack = Encoder(
            embed_dim,
            num_heads,
            4 * embed_dim if hidden_dim is None else hidden_dim,
            num_layers,
            num_kv_heads=num_kv_heads,
            dropout=dropout,
            activation=activation,
            norm_first=True,
            **options,
        )
        #: The window of each layer.
        self.windows = self.stack.each("window", _repeated("window", window, num_layers))
        for size in self.windows:
            if size is not None:
                checks.integer("window", size, minimum=1)
        bases = self.stack.each("rotary_base", rotary_base)
        for number, source in enumerate(self.stack.kv_from or ()):
            if (self.windows[number], bases[number]) != (self.windows[source], bases[source]):
                expected = "a layer with the same window and rotary base"
                checks.fail(f"kv_from[{number}]", expected, str(source))
        self.output = nn.Linear(embed_dim, vocab_size, bias=False)
        if checks.flag("tie_embeddings", tie_embeddings):
            self.output.weight = self.embedding.weight
        self.logit_cap = None if logit_cap is None else checks.positive("logit_cap", logit_cap)

    def forward(self, tokens: Tensor, *, caches: Sequence[KVCache] | None = None) -> Tensor:
        """Logits (B, L, V) of the token after each of tokens (B, L).

        Padding belongs on the right, where the causal mask hides it from every real token.

        Args:
            tokens: token ids (B, L); with caches, those that follow the tokens of earlier calls.
            caches: from `new_caches`.

        Raises:
            TypeError: `tokens` is not an integer tensor.
            ValueError: a shape does not fit, an id is out of range, or the caches are not those
                of this model.
        """
        x, attending = self._embed(tokens, caches)
        return self.logits(self.stack(x, caches=caches, **attending).output)

    def logits(self, state: Tensor) -> Tensor:
        """Logits (..., V) of states (..., E) that the last norm has left."""
        logits, cap = self.output(state), self.logit_cap
        return logits if cap is None else cap * (logits / cap).tanh()

    def weights(self, tokens: Tensor) -> Tensor:
        """The attention weights (B, layers, H, L, L) behind `forward(tokens)`."""
        x, attending = self._embed(tokens, None)
        return self.stack(x, need_weights=True, **attending).weights

    def states(
        self,
        tokens: Tensor,
        *,
        caches: Sequence[KVCache] | None = None,
        need_weights: bool = True,
    ) -> States:
        """The state before the first layer and after each, and all weights, behind `forward`.

        `states` (B, layers + 1, L, E) and `weights` (B, layers, H, L, S), or None unless asked for;
        the logits are `logits(stack.norm(states[:, -1]))`. Arguments and errors as in `forward`.
        """
        x, attending = self._embed(tokens, caches)
        return self.stack.states(x, caches=caches, need_weights=need_weights, **attending)

    @property
    def max_len(self) -> int | None:
        """The longest text, where positions are "learned"; None where they end nowhere."""
        return self.positions.table.max_len if self.positions.kind == "learned" else None

    def new_caches(self) -> list[KVCache]:
        """An empty `KVCache` for each layer that has keys of its own."""
        return self.stack.new_caches(window=self.windows)

    def generate(
        self,
        tokens: Tensor,
        max_new_tokens: int,
        *,
        lengths: Lengths = None,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        stop: int | Sequence[int] | None = None,
        generator: torch.Generator | None = None,
        use_cache: bool = True,
    ) -> Decoded:
        """Continue each prompt, in eval mode and without gradients.

        All prompts are read up to the end of the shortest at once, and from there on token by
        token: a row takes its prompt's next token while there is one, and then what is sampled.
        So each prompt stands at positions 0, 1, ..., whatever the length of the others.

        Args:
            tokens: prompts (B, P), at least one token each, padded on the right.
            max_new_tokens: most tokens to write after each prompt.
            lengths: numbers of real tokens of the prompts (B,); default P each.
            temperature, top_k, top_p, generator: as in `decoding.sample`; temperature 0 takes the
                most probable token.
            stop: id, or ids, after which a row is finished; None for none.
            use_cache: keep keys and values in a `KVCache`. Without it every step reads the whole
                text again; the result is the same.

        Returns:
            `Decoded(tokens, lengths, scores, None)`: the new tokens (B, N), the `stop` included
            where it was reached, then `pad` (or `stop` where the model has no padding); how many
            they are (B,); and the sum of the log-probabilities that the model gives them, before
            temperature, `top_k` and `top_p`. `pad` itself is never written.

        Raises:
            TypeError: an argument is not of the type named.
            ValueError: a number is out of range, or "learned" positions do not reach that far.

        Example:
            >>> model = LanguageModel(12, embed_dim=16, num_heads=2, num_layers=1, pad=0)
            >>> prompts = torch.tensor([[5, 6, 7], [8, 0, 0]])
            >>> seed = torch.Generator().manual_seed(0)
            >>> found = model.generate(prompts, 4, lengths=[3, 1], top_k=5, generator=seed)
            >>> found.tokens.shape, found.lengths
            (torch.Size([2, 4]), tensor([4, 4]))
        """
        lengths = self._check_prompts(tokens, lengths, max_new_tokens)  # (B,)
        stops = () if stop is None else stop if isinstance(stop, Sequence) else (stop,)
        for number in stops:
            checks.integer("stop", number, minimum=0, maximum=self.vocab_size - 1)
        checks.flag("use_cache", use_cache)
        sampling = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
        filler = next((item for item in (self.pad, *stops) if item is not None), 0)
        text = tokens.new_full((tokens.shape[0], int(lengths.max()) + max_new_tokens), filler)
        for row, length in enumerate(lengths.tolist()):
            text[row, :length] = tokens[row, :length]
        caches = self.new_caches() if use_cache else None
        start, now = 0, int(lengths.min())
        written = torch.zeros_like(lengths)  # (B,)
        scores = torch.zeros(text.shape[0], device=text.device, dtype=torch.float32)
        alive = torch.ones_like(lengths, dtype=torch.bool)
        with evaluating(self):
            while alive.any():
                x, attending = self._embed(text[:, start:now], caches)
                last = self.stack(x, caches=caches, **attending).output[:, -1]  # (B, E)
                logits = self.logits(last)  # (B, V)
                chosen = sample(self._writable(logits, stops), **sampling, generator=generator)
                writes = alive & (now >= lengths)
                text[:, now] = torch.where(writes, chosen, text[:, now])
                gained = logits.float().log_softmax(-1).gather(1, chosen[:, None])[:, 0]
                scores += gained.masked_fill(~writes, 0.0)
                written += writes
                alive &= written < max_new_tokens
                for number in stops:
                    alive &= ~(writes & (chosen == number))
                start, now = now if use_cache else 0, now + 1
        new = lengths[:, None] + torch.arange(int(written.max()), device=text.device)  # (B, N)
        return Decoded(text.gather(1, new), written, scores, None)

    def _writable(self, logits: Tensor, stops: Sequence[int]) -> Tensor:
        """Logits (B, V) without the padding, which ends no text and says nothing."""
        if self.pad is None or self.pad in stops:
            return logits
        return logits.index_fill(-1, torch.tensor(self.pad, device=logits.device), -math.inf)

    def _embed(
        self, tokens: Tensor, caches: Sequence[KVCache] | None
    ) -> tuple[Tensor, dict[str, Any]]:
        """The first state (B, L, E), and the mask and positions that every layer takes."""
        check_tokens("tokens", tokens, self.vocab_size)
        if self.pad is not None:  # what stands before a real token is taken for one
            later = (tokens != self.pad).flip(1).cummax(1).values.flip(1)  # (B, L)
            check_padding("tokens", tokens, later, self.pad)
        x = self.embedding(tokens) * self.embedding_scale  # (B, L, E)
        own = self.stack.own_keys(len(self.windows))
        by_window: dict[int | None, list[KVCache]] = {window: [] for window in self.windows}
        for number, cache in zip(own, caches or (), strict=False):
            by_window[self.windows[number]].append(cache)
        placed = {
            window: after_caches(x, self.positions, held, window)
            for window, held in by_window.items()
        }
        attending: dict[str, Any] = {"rotate": self.positions.rotate}
        for name in ("mask", "bias"):
            attending[name] = [placed[window][1][name] for window in self.windows]
        x, _ = placed[self.windows[0]]
        return self.dropout(x), attending

    def _check_prompts(self, tokens: Tensor, lengths: Lengths, max_new_tokens: int) -> Tensor:
        check_tokens("tokens", tokens, self.vocab_size)
        checks.integer("max_new_tokens", max_new_tokens, minimum=1)
        real = source_mask(tokens, lengths, name="lengths")[:, 0]  # (B, P)
        check_padding("tokens", tokens, real, self.pad)
        lengths = real.sum(-1)  # (B,)
        if not lengths.all():
            checks.fail("lengths", "at least 1 token in each prompt", str(lengths.tolist()))
        longest = int(lengths.max())
        if self.max_len is not None and longest + max_new_tokens > self.max_len:
            most = self.max_len - longest
            expected = f"at most {most}, for learned positions end there"
            checks.fail("max_new_tokens", expected, str(max_new_tokens))
        return lengths


def _repeated(name: str, value: Any, num_layers: int) -> Any:
    """A list or tuple repeated up to one item a layer; anything else as it is."""
    if not isinstance(value, list | tuple):
        return value
    if not value:
        checks.fail(name, "at least one item in the pattern", "none")
    return [value[number % len(value)] for number in range(num_layers)]
