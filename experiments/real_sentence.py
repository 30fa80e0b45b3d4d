"""What the twelve heads of one layer of all-MiniLM-L6-v2 look at in one English sentence.

    python -m experiments.real_sentence            a second
    python -m experiments.real_sentence --quick    the first two heads

Chapter 08 shows the layer beside its own small model, also where the published weights are not
installed. So the weights are recorded, rounded to four digits, with the tokens that they are of.
"""

from typing import Any

import torch

from attnkit.pretrained import Reader
from experiments import _minilm as minilm
from experiments import _record as record

SENTENCE = "The animal didn't cross the street because it was too tired."
# Its second layer: the first where heads of one layer look at the word behind, at a word further
# on, and at [CLS].
LAYER, WORD = 1, "it"


def measure(reader: Reader, heads: int) -> dict[str, Any]:
    """The tokens, and for each of the first `heads` heads its weights (L, L)."""
    tokens, _, weights, _ = reader.read(SENTENCE)
    place = tokens.index(WORD)
    rows = []
    for head, found in enumerate(weights[LAYER, :heads]):
        most = int(found[place].argmax())
        rows.append(
            {
                "head": head,
                "most": tokens[most],
                "weight": round(found[place, most].item(), 4),
                "weights": [[round(weight, 4) for weight in row] for row in found.tolist()],
            }
        )
    return {
        "model": minilm.NAME,
        "sentence": SENTENCE,
        "tokens": tokens,
        "layer": LAYER,
        "word": WORD,
        "rows": rows,
    }


def main(argv: list[str] | None = None) -> dict:
    """Read the sentence and write the results file; return what was written."""
    chosen = record.options("real_sentence", __doc__, argv)
    torch.set_num_threads(1)
    with torch.no_grad():
        results = measure(minilm.reader("cpu"), 2 if chosen.quick else minilm.HEADS)
    return record.write(
        chosen.out, command=chosen.command, seeds=[], device=chosen.device, results=results
    )


if __name__ == "__main__":
    main()
