"""Published models, opened: their weights in attnkit's own layers, to read and to write with.

reader = attnlab.pretrained.load("SmolLM2-135M-Instruct")
reader.chat("What is the capital of France?")
reading = reader.read("The animal didn't cross the street.", need_weights=True)
reading.tokens       # L strings
reading.logits       # (L, V), of the token after each
reading.weights      # (layers, H, L, L)
"""

from attnlab.pretrained.bert import Bert, bert_model
from attnlab.pretrained.gpt2 import gpt2_model
from attnlab.pretrained.language import LanguageReader, LanguageReading
from attnlab.pretrained.llama import llama_model
from attnlab.pretrained.opening import from_folder, load
from attnlab.pretrained.published import available
from attnlab.pretrained.reader import Reader, Reading

__all__ = [
    "Bert",
    "LanguageReader",
    "LanguageReading",
    "Reader",
    "Reading",
    "available",
    "bert_model",
    "from_folder",
    "gpt2_model",
    "llama_model",
    "load",
]
