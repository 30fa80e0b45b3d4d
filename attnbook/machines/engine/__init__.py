"""What the models that run in a page share: their file in parts, and the worker that reads it."""

from pathlib import Path

from attnkit.viz.widget import KITS

HERE = Path(__file__).parent

READS = (HERE / "gguf.js", HERE / "blocks.js")
"""The files of a worker that read a model's file; they stand before those of the model."""

SERVES = (HERE / "files.js", HERE / "serve.js")
"""Those that bring it and answer the page; they stand after."""

STYLE = HERE / "loader.css"
HEADS_STYLE = HERE / "heads.css"

KITS["heads"] = (HERE / "heads.js",)
KITS["engine"] = (HERE.parent / "live_translator" / "files.js", HERE / "loader.js")
