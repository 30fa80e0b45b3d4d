"""all-MiniLM-L6-v2 in a page: its weights in eight bits, its tokenizer and its layers."""

from pathlib import Path

from attnbook.machines import engine
from attnbook.machines.engine.in_parts import InParts
from attnbook.machines.sentence_model.eight_bits import content
from attnkit.viz.widget import KITS

HERE = Path(__file__).parent

ENGINE = (*engine.READS, *(HERE / name for name in ("wordpiece.js", "encoder.js")))
"""The files that compute, without a page or a worker."""

MODEL = InParts("sentence-model", (*ENGINE, *engine.SERVES, HERE / "worker.js"), content)
"""What a built book holds of it."""

KITS["sentences"] = (HERE / "maps.js",)
