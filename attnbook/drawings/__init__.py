"""The book's drawings: each one source, computed from the numbers of the example beside it.

`python -m attnbook.drawings` writes the files that Jupyter and GitHub show; the book puts the
drawings into its pages itself (`attnbook.drawings.sphinx_ext`).
"""

from attnbook.drawings import cache, encoder_decoder, heads, lookup, transformer
from attnbook.drawings.drawing import Drawing

DRAWINGS: dict[str, Drawing] = {
    drawing.name: drawing
    for drawing in (
        encoder_decoder.DRAWING,
        lookup.QUERY_KEY_VALUE,
        lookup.ONE_QUERY,
        heads.SPLIT_HEADS,
        heads.GROUPED_HEADS,
        transformer.TRANSFORMER,
        cache.GROWING_CACHE,
    )
}

__all__ = ["DRAWINGS", "Drawing"]
