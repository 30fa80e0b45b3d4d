"""What all-MiniLM-L6-v2 looks at in one English sentence.

    python -m experiments.real_sentence            seconds
    python -m experiments.real_sentence --quick    the first two heads of a layer

Chapters 05, 08 and 09 show it beside their own small models, also where the published weights are
not installed. So it is recorded, rounded, with the tokens that it is of:

* `rows`, for chapter 08: the weights of all heads of one layer;
* `layers`, for chapter 09: of each layer the head in which `WORD` gives most of its weight to a
  word other than the special [CLS] and [SEP];
* `projected`, for chapter 05: the queries and keys of the head with the famous picture;
* `like_it`: how typical the rows of chapter 08 are of a hundred sentences of the same form.
"""

from typing import Any

import torch
from torch import Tensor

from attnlab.pretrained import Reader
from experiments import _minilm as minilm
from experiments import _record as record
from experiments import reference

SENTENCE = "The animal didn't cross the street because it was too tired."
# Its second layer: the first where heads of one layer look at the word behind, at a word further
# on, and at [CLS].
LAYER, WORD = 1, "it"
LIKE_IT = 100  # sentences of the same form, of `experiments.reference`


def measure(reader: Reader, heads: int, like_it: int = LIKE_IT) -> dict[str, Any]:
    """The tokens, what the first `heads` heads of a layer do with them, and how typical that is."""
    tokens, _, weights, states = reader.read(SENTENCE)
    place = tokens.index(WORD)
    weights = weights[:, :heads]  # (layers, H, L, L)
    layers = []
    for layer, found in enumerate(weights):
        head = int(found[:, place, 1:-1].amax(-1).argmax())
        row = found[head, place].clone()
        row[[0, -1]] = 0.0
        layers.append({"layer": layer, **looks(head, row, found[head], tokens)})
    layer, head = minilm.FAMOUS
    query, key = projected(reader, states[layer], layer, min(head, heads - 1))
    return {
        "model": minilm.NAME,
        "sentence": SENTENCE,
        "tokens": tokens,
        "layer": LAYER,
        "word": WORD,
        "rows": [
            looks(head, found[place], found, tokens) for head, found in enumerate(weights[LAYER])
        ],
        "layers": layers,
        "projected": {
            "layer": layer,
            "head": min(head, heads - 1),
            "query": rounded(query),
            "key": rounded(key),
        },
        "like_it": typical(reader, heads, like_it),
    }


def typical(reader: Reader, heads: int, count: int) -> dict[str, int]:
    """Of `count` sentences, in how many no head of the layer gives most of `WORD` to the animate
    noun, and in how many the mean of the heads gives most to the first token."""
    none = first = 0
    for item in reference.items(count):
        tokens, _, weights, _ = reader.read(reference.sentence(item, "active", "tired"))
        rows = weights[LAYER, :heads, tokens.index(WORD)]  # (H, L)
        none += tokens.index(item["a"]) not in rows.argmax(-1).tolist()
        first += int(rows.mean(0).argmax()) == 0
    return {"sentences": count, "none": none, "first": first}


def looks(head: int, row: Tensor, weights: Tensor, tokens: list[str]) -> dict[str, Any]:
    """A head's weights (L, L), and where `row` of them, over the tokens, is largest."""
    most = int(row.argmax())
    return {
        "head": head,
        "most": tokens[most],
        "weight": round(row[most].item(), 4),
        "weights": rounded(weights),
    }


def projected(reader: Reader, states: Tensor, layer: int, head: int) -> tuple[Tensor, Tensor]:
    """The queries and keys (L, D) that a head makes of the states (L, E) before its layer."""
    attention = reader.model.encoder.layers[layer].attention
    query, key, _ = attention.in_proj(states).chunk(3, -1)
    own = slice(head * attention.head_dim, (head + 1) * attention.head_dim)
    return query[:, own], key[:, own]


def rounded(x: Tensor) -> list[list[float]]:
    return [[round(value, 4) for value in row] for row in x.tolist()]


def main(argv: list[str] | None = None) -> dict:
    """Read the sentence and write the results file; return what was written."""
    chosen = record.options("real_sentence", __doc__, argv)
    torch.set_num_threads(1)
    with torch.no_grad():
        sizes = (2, 3) if chosen.quick else (minilm.HEADS, LIKE_IT)
        results = measure(minilm.reader("cpu"), *sizes)
    return record.write(
        chosen.out, command=chosen.command, seeds=[], device=chosen.device, results=results
    )


if __name__ == "__main__":
    main()
