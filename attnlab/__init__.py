"""The laboratory: models to put attention into, data whose answers are known, training, measures.

The map, from the bottom up; a file imports only from those above it here and from its own package.

    files           save and load: safetensors, no pickles
    download        fetch a file once, and check it
    metrics         accuracy, alignment, BLEU and ROUGE, entropy, intervals
    tasks           data with known answers, vocabularies, batches
    decoding        greedy and beam search, sampling
    rnn             recurrent encoders, and decoders with attention
    transformer     layers, stacks, the translation model, the language model
    training        fit and evaluate
    parallel        attention over a sequence that is divided among processes
    pretrained      published models in these layers, with their tokenizers
    applications    a translator and a summarizer
"""

from attnlab import (
    applications,
    decoding,
    download,
    files,
    metrics,
    parallel,
    pretrained,
    rnn,
    tasks,
    training,
    transformer,
)
from attnlab.applications import Summarizer, Translator
from attnlab.tasks import Vocab
from attnlab.training import fit
from attnlab.transformer import LanguageModel, Transformer

LAYERS = (
    *(
        "files",
        "download",
        "metrics",
        "tasks",
        "decoding",
        "rnn",
        "transformer",
        "training",
        "parallel",
    ),
    *("pretrained", "applications"),
)

__all__ = [
    "LAYERS",
    "LanguageModel",
    "Summarizer",
    "Transformer",
    "Translator",
    "Vocab",
    "applications",
    "decoding",
    "download",
    "files",
    "fit",
    "metrics",
    "parallel",
    "pretrained",
    "rnn",
    "tasks",
    "training",
    "transformer",
]
