"""Published models, opened: their weights in attnkit's own layers, to read with.

reader = attnlab.pretrained.load("all-MiniLM-L6-v2")
reading = reader.read("The animal didn't cross the street because it was too tired.")
reading.tokens       # L strings
reading.weights      # (layers, H, L, L)
"""

from attnlab.pretrained.bert import Bert, bert_model
from attnlab.pretrained.gpt2 import gpt2_model
from attnlab.pretrained.published import available
from attnlab.pretrained.reader import Reader, Reading, from_folder, load

__all__ = [
    "Bert",
    "Reader",
    "Reading",
    "available",
    "bert_model",
    "from_folder",
    "gpt2_model",
    "load",
]
