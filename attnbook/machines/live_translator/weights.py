"""A translator as the page gets it: one safetensors file with all that it takes to translate."""

import json
from typing import Any

from safetensors.torch import save
from torch import nn

from attnbook.machines.live_translator.shown import heads_of
from attnkit.guard import checks
from attnkit.mechanisms import AdditiveAttention
from attnlab.applications import Translator
from attnlab.applications.translator import first_names
from attnlab.rnn import BahdanauDecoder, FixedVectorDecoder, Seq2Seq
from attnlab.tasks import Subwords, Vocab
from attnlab.training.quantization import pack
from attnlab.transformer import Transformer

PRECISIONS = ("float32", "float16", "int8")


def payload(translator: Translator, precision: str = "float32") -> bytes:
    """The safetensors file of a translator: its weights, its sizes and its two vocabularies.

    A matrix that the model uses in several places is there once, under the first of its names;
    `shared` in the description says for the other names which that is.

    Args:
        translator: with a `Transformer`, or with GRUs and additive attention or one vector.
        precision: of the weights: "float32", "float16", or "int8", which is
            `training.quantization.pack`.

    Raises:
        TypeError: `translator` is not a `Translator`.
        ValueError: the page has no engine for its model, or `precision` is unknown.
    """
    checks.choice("precision", precision, PRECISIONS)
    state = description(translator)
    weights = translator.model.state_dict()
    firsts = first_names(weights)
    weights = {name: weights[name] for name, first in firsts.items() if name == first}
    state["shared"] = {name: first for name, first in firsts.items() if name != first}
    if precision == "int8":
        weights = pack(weights)
    elif precision == "float16":
        weights = {name: weight.half() for name, weight in weights.items()}
    text = json.dumps(state, ensure_ascii=False, separators=(",", ":"))
    plain = {name: weight.detach().cpu().clone().contiguous() for name, weight in weights.items()}
    return save(plain, {"state": text})


def description(translator: Translator) -> dict[str, Any]:
    """What the page's engine must know beside the weights."""
    checks.instance("translator", translator, Translator, "an attnlab.Translator")
    for side, vocab in (("source", translator.source_vocab), ("target", translator.target_vocab)):
        if type(vocab) not in (Vocab, Subwords):
            expected = f"words or pieces as {side} tokens, a Vocab or Subwords"
            checks.fail("translator", expected, type(vocab).__name__)
    model, vocabs = translator.model, (translator.source_vocab, translator.target_vocab)
    if isinstance(model, Transformer):
        kind, config = "transformer", _transformer(model)
    elif isinstance(model, Seq2Seq):
        fixed = isinstance(model.decoder, FixedVectorDecoder)
        kind, config = "fixed" if fixed else "additive", _recurrent(model)
    else:
        checks.fail("translator", "a Seq2Seq or Transformer inside", type(model).__name__)
    names = {module: name for name, module in model.named_modules()}
    return {
        "kind": kind,
        "heads": [f"{names[one]} {head}" for one, head in heads_of(model)],
        "config": config,
        "pieces": [isinstance(vocab, Subwords) for vocab in vocabs],
        "source": vocabs[0].tokens,
        "target": None if vocabs[0] == vocabs[1] else vocabs[1].tokens,
        "parameters": sum(weight.numel() for weight in model.parameters()),
    }


def _recurrent(model: Seq2Seq) -> dict[str, Any]:
    decoder, cells = model.decoder, (model.encoder.rnn, model.decoder.rnn)
    if isinstance(decoder, FixedVectorDecoder):
        checks.choice("context", decoder.context, ("first",))
    elif not isinstance(decoder, BahdanauDecoder):
        expected = "a model with additive attention, or a Transformer"
        checks.fail("translator", expected, type(decoder).__name__)
    elif not isinstance(decoder.attention, AdditiveAttention):
        checks.fail("translator", "additive attention", type(decoder.attention).__name__)
    for cell in cells:
        if not isinstance(cell, nn.GRU):
            checks.fail("translator", "GRUs", type(cell).__name__)
    return {"num_layers": cells[0].num_layers, "bidirectional": cells[0].bidirectional}


def _transformer(model: Transformer) -> dict[str, Any]:
    layer = model.encoder.layers[0]
    if layer.activation != "relu":
        checks.fail("translator", "activation='relu'", repr(layer.activation))
    positions = model.source_positions.kind
    if positions not in ("sinusoidal", "learned", "none"):
        expected = "positions that are added to the embeddings, or none"
        checks.fail("translator", expected, repr(positions))
    return {
        "embed_dim": model.embed_dim,
        "num_heads": layer.attention.num_heads,
        "num_kv_heads": layer.attention.num_kv_heads,
        "num_layers": len(model.encoder.layers),
        "norm_first": layer.norm_first,
        "positions": positions,
        "window": model.window,
    }
