"""The models of `test_sequence_models.py`, small and untrained, and a batch to read."""

import torch
from torch import nn

from attnlab.rnn import seq2seq
from attnlab.transformer import POSITION_SCHEMES, Transformer

LENGTHS, TARGETS = (7, 5, 2, 1), (6, 6, 3, 2)
RECURRENT = {
    "fixed first": {"attention": "none"},
    "fixed every": {"attention": "none", "context": "every"},
    "fixed lstm": {"attention": "none", "cell": "lstm", "context": "every", "num_layers": 2},
    "additive": {"attention": "additive"},
    "additive lstm": {"attention": "additive", "cell": "lstm", "num_layers": 2},
    "dot": {"attention": "dot"},
    "dot no feeding": {"attention": "dot", "input_feeding": False},
    "general lstm": {"attention": "general", "cell": "lstm"},
    "general no feeding": {"attention": "general", "input_feeding": False, "num_layers": 2},
    "concat": {"attention": "concat", "num_layers": 2},
    "one way": {"attention": "general", "bidirectional": False},
}
TRANSFORMERS = {
    **{kind: {"positions": kind} for kind in POSITION_SCHEMES},
    "pre-norm gelu": {"norm_first": True, "activation": "gelu"},
    "grouped": {"num_kv_heads": 2, "positions": "rotary"},
    "multi-query": {"num_kv_heads": 1},
    "window": {"window": 3, "positions": "rotary"},
    "window sinusoidal": {"window": 3},
    "window alibi": {"window": 2, "positions": "alibi"},
}


def recurrent(**options):
    torch.manual_seed(0)
    model = seq2seq(11, 13, **({"embed_dim": 6, "hidden_dim": 8} | options))
    for parameter in model.parameters():  # wide enough for the parts to matter
        nn.init.normal_(parameter, std=0.4)
    with torch.no_grad():
        for embedding in embeddings(model):
            embedding.weight[0] = 0.0
    return model.eval()


def transformer(positions="sinusoidal", **options):
    torch.manual_seed(0)
    defaults = {"embed_dim": 16, "num_heads": 4, "num_layers": 2, "positions": positions}
    model = Transformer(11, 13, **(defaults | options))
    for name, parameter in model.named_parameters():
        if "relative" in name:
            nn.init.normal_(parameter)
    return model.eval()


def embeddings(model):
    if isinstance(model, Transformer):
        return model.source_embedding, model.target_embedding
    return model.encoder.embedding, model.decoder.embedding


def batch(lengths=LENGTHS, targets=TARGETS):
    torch.manual_seed(1)
    source = torch.randint(3, 11, (len(lengths), max(lengths)))
    target_in = torch.randint(3, 13, (len(targets), max(targets)))
    target_in[:, 0] = 1
    for row, (length, target) in enumerate(zip(lengths, targets, strict=True)):
        source[row, length:] = 0
        target_in[row, target:] = 0
    return source, torch.tensor(lengths), target_in
