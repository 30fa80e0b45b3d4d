"""BERT's form of encoder (Devlin et al. 2019), on attnkit's own layers."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from attnkit.guard import checks
from attnlab.decoding.tokens import check_tokens, source_mask
from attnlab.files import put_weights
from attnlab.pretrained.settings import activation_of, check_settings, needed
from attnlab.pretrained.tensors import check_left, take
from attnlab.transformer import Encoder, States

HONOURED = (
    *("hidden_act", "hidden_size", "intermediate_size", "layer_norm_eps"),
    *("max_position_embeddings", "num_attention_heads", "num_hidden_layers", "vocab_size"),
    "type_vocab_size",  # of the segments the first is read
    "tie_word_embeddings",  # of a head, which is not read
)
ONLY = {
    "add_cross_attention": (False,),
    "directionality": ("bidi",),
    "is_decoder": (False,),
    "is_encoder_decoder": (False,),
    "position_embedding_type": ("absolute",),
}


class Bert(nn.Module):
    r"""An encoder of post-norm layers on words, learned positions and one segment.

    .. math:: h_0 = \mathrm{LN}(W[x] + P + s_0) \qquad h_n = \mathrm{EncoderLayer}_n(h_{n-1})

    Devlin et al. (2019). There is one segment, since one text is read at a time, and no head on
    top. `bert_model` fills it with published weights.

    Args:
        vocab_size: number of token ids.
        embed_dim, num_heads, hidden_dim, num_layers: of the `transformer.Encoder`.
        max_len: longest text in tokens.
        activation: "gelu", "relu", "gelu_tanh" or "silu".
        norm_eps: added to the variance in the layer norms.
        dropout: probability of each dropout, in training.

    Shapes: tokens (B, L) -> `States`. See `forward`.

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: an argument is out of range.

    Example:
        >>> import torch
        >>> model = Bert(10, embed_dim=8, num_heads=2, hidden_dim=16, num_layers=3).eval()
        >>> found = model(torch.randint(10, (2, 5)), [5, 3])
        >>> found.states.shape, found.weights.shape
        (torch.Size([2, 4, 5, 8]), torch.Size([2, 3, 2, 5, 5]))
    """

    def __init__(
        self,
        vocab_size: int,
        *,
        embed_dim: int,
        num_heads: int,
        hidden_dim: int,
        num_layers: int,
        max_len: int = 512,
        activation: str = "gelu",
        norm_eps: float = 1e-12,
        dropout: float = 0.1,
    ):
        super().__init__()
        self.vocab_size = checks.integer("vocab_size", vocab_size, minimum=1)
        self.max_len = checks.integer("max_len", max_len, minimum=1)
        self.num_heads, self.num_layers = num_heads, num_layers
        self.encoder = Encoder(
            embed_dim, num_heads, hidden_dim, num_layers,
            activation=activation, norm_eps=norm_eps, dropout=dropout,
        )  # fmt: skip
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.positions = nn.Parameter(torch.empty(max_len, embed_dim).normal_(std=0.02))
        self.segment = nn.Parameter(torch.zeros(embed_dim))
        self.norm = nn.LayerNorm(embed_dim, norm_eps)
        self.dropout = nn.Dropout(dropout)

    def embed(self, tokens: Tensor) -> Tensor:
        """The first state (B, L, E) of token ids (B, L): words, positions and segment, normed.

        Raises:
            TypeError: `tokens` is not an integer tensor.
            ValueError: an id is out of range, or L is above `max_len`.
        """
        check_tokens("tokens", tokens, self.vocab_size)
        if tokens.shape[1] > self.max_len:
            expected = f"at most {self.max_len} (max_len) in a text"
            checks.fail("tokens", expected, str(tokens.shape[1]))
        x = self.embedding(tokens) + self.positions[: tokens.shape[1]] + self.segment
        return self.dropout(self.norm(x))  # (B, L, E)

    def forward(
        self,
        tokens: Tensor,
        lengths: Tensor | Sequence[int] | None = None,
        *,
        mask: Tensor | None = None,
    ) -> States:
        """Read token ids (B, L), of which the first `lengths[b]` are real.

        Args:
            tokens: (B, L), padded on the right.
            lengths: numbers of real tokens (B,); None for L each.
            mask: boolean, broadcastable to (B, L, L), or per head to (B, H, L, L): who may attend
                to whom in every layer, beside the padding.

        Returns:
            `transformer.States`. Rows of padding are meaningless.

        Raises:
            TypeError, ValueError: as `embed` and `MultiHeadAttention`.
        """
        return self.run(self.embed(tokens), source_mask(tokens, lengths, name="lengths"), mask)

    def run(self, x: Tensor, real: Tensor, mask: Tensor | None = None) -> States:
        """The layers over first states x (B, L, E), as `embed` gives them or changed.

        `real` is a boolean mask (B, 1, L); `mask` as in `forward`.
        """
        if mask is not None:
            real = mask & (real[:, None] if mask.dim() == 4 else real)
        return self.encoder.states(x, mask=real)


def bert_model(tensors: Mapping[str, Tensor], config: Mapping[str, Any]) -> Bert:
    """Build a `Bert` in eval mode from the tensors and the `config.json` of a published one.

    Args:
        tensors: by their published names, with or without a leading "bert.".
        config: "hidden_size", "num_attention_heads", and the rest that `config.json` has.

    Raises:
        ValueError: a tensor is missing, left over or of another shape, or the config asks for
            something that this model has not, such as a causal mask; the message names it.

    Example:
        >>> config = {"model_type": "bert", "hidden_size": 8, "num_attention_heads": 2,
        ...           "num_hidden_layers": 1, "intermediate_size": 16, "hidden_act": "gelu",
        ...           "layer_norm_eps": 1e-12, "max_position_embeddings": 9, "vocab_size": 10}
        >>> bert_model({"embeddings.word_embeddings.weight": torch.zeros(10, 8)}, config)
        Traceback (most recent call last):
        ...
        ValueError: tensors: expected one named embeddings.position_embeddings.weight, got none
    """
    check_settings(config, HONOURED, ONLY)
    given = {name.removeprefix("bert."): value for name, value in tensors.items()}
    with torch.device("meta"):
        model = Bert(
            needed(config, "vocab_size"),
            embed_dim=needed(config, "hidden_size"),
            num_heads=needed(config, "num_attention_heads"),
            hidden_dim=needed(config, "intermediate_size"),
            num_layers=needed(config, "num_hidden_layers"),
            max_len=needed(config, "max_position_embeddings"),
            activation=activation_of("hidden_act", config.get("hidden_act", "gelu")),
            norm_eps=config.get("layer_norm_eps", 1e-12),
        )
    put_weights(model, _ours(given, model.num_layers), assign=True)
    check_left(given, r"embeddings\.position_ids|(pooler|cls|classifier|qa_outputs)\..*")
    return model.eval()


def _ours(given: dict[str, Tensor], num_layers: int) -> dict[str, Tensor]:
    """The published tensors under the names that they have here."""
    ours = {
        "embedding.weight": take(given, "embeddings.word_embeddings.weight"),
        "positions": take(given, "embeddings.position_embeddings.weight"),
        "segment": take(given, "embeddings.token_type_embeddings.weight")[0],
        "norm.weight": take(given, "embeddings.LayerNorm.weight"),
        "norm.bias": take(given, "embeddings.LayerNorm.bias"),
    }
    for number in range(num_layers):
        here, there = f"encoder.layers.{number}", f"encoder.layer.{number}"
        for end in ("weight", "bias"):
            parts = [
                take(given, f"{there}.attention.self.{name}.{end}")
                for name in ("query", "key", "value")
            ]
            ours[f"{here}.attention.in_proj.{end}"] = torch.cat(parts)
            for name, place in {
                "attention.out_proj": "attention.output.dense",
                "norm1": "attention.output.LayerNorm",
                "linear1": "intermediate.dense",
                "linear2": "output.dense",
                "norm2": "output.LayerNorm",
            }.items():
                ours[f"{here}.{name}.{end}"] = take(given, f"{there}.{place}.{end}")
    return ours
