"""Data: with known answers, what to say and where to look, and real sentences."""

from attnlab.tasks.choices import Choices, all_choices
from attnlab.tasks.copying import copy, reverse
from attnlab.tasks.dates import dates
from attnlab.tasks.multi30k import multi30k
from attnlab.tasks.pairs import (
    Batch,
    Batches,
    Pair,
    collate,
    reverse_source,
    split,
    text_pairs,
    vocabs,
)
from attnlab.tasks.salient import (
    Document,
    DocumentBatch,
    DocumentBatches,
    salient,
    stack_sentences,
)
from attnlab.tasks.sentences import split_sentences
from attnlab.tasks.subwords import Subwords
from attnlab.tasks.tatoeba import references, tatoeba, tatoeba_aligned
from attnlab.tasks.toy_french import noun_phrases, toy_french
from attnlab.tasks.vocab import BOS, EOS, PAD, UNK, Vocab, detokenize, pad, tokenize

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "UNK",
    "Batch",
    "Batches",
    "Document",
    "DocumentBatch",
    "DocumentBatches",
    "Choices",
    "Pair",
    "Subwords",
    "Vocab",
    "collate",
    "copy",
    "dates",
    "detokenize",
    "all_choices",
    "multi30k",
    "noun_phrases",
    "pad",
    "references",
    "reverse",
    "reverse_source",
    "salient",
    "split",
    "split_sentences",
    "stack_sentences",
    "tatoeba",
    "tatoeba_aligned",
    "text_pairs",
    "tokenize",
    "toy_french",
    "vocabs",
]
