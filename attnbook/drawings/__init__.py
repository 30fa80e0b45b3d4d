"""The book's drawings: each one source, computed from the numbers of the example beside it.

`python -m attnbook.drawings` writes the files that Jupyter and GitHub show; the book puts the
drawings into its pages itself (`attnbook.drawings.sphinx_ext`).
"""

from attnbook.drawings import (
    additive,
    beams,
    bugs,
    cache,
    decoder_step,
    encoder_decoder,
    entrances,
    heads,
    linear,
    lookup,
    luong,
    masks,
    memory,
    norms,
    online_softmax,
    phases,
    places,
    plane,
    reading,
    ring,
    scores,
    sharpness,
    summaries,
    transformer,
    translation,
)
from attnbook.drawings.drawing import Drawing

DRAWINGS: dict[str, Drawing] = {
    drawing.name: drawing
    for drawing in (
        encoder_decoder.DRAWING,
        memory.LEAKY,
        memory.BINARY,
        memory.LOOK_BACK,
        lookup.QUERY_KEY_VALUE,
        plane.DRAWING,
        decoder_step.DRAWING,
        additive.SCORE,
        additive.CROSSING,
        scores.DRAWING,
        luong.WEEK,
        luong.DECODERS,
        lookup.ONE_QUERY,
        sharpness.LOTTERY_DRAWING,
        sharpness.TEMPERATURE_DRAWING,
        masks.ONE_PASS,
        masks.CORNERS,
        entrances.DRAWING,
        places.WAVES,
        places.CLOCKS,
        heads.TWO_READINGS,
        heads.SPLIT_HEADS,
        heads.GROUPED_HEADS,
        transformer.TRANSFORMER,
        norms.DRAWING,
        online_softmax.DRAWING,
        translation.LINKS,
        translation.PIECES,
        translation.BEAM_SEARCH,
        summaries.READINGS,
        summaries.AMONG,
        summaries.CHOICE,
        cache.GROWING_CACHE,
        phases.DRAWING,
        beams.DRAWING,
        masks.PATTERNS,
        linear.DRAWING,
        ring.DRAWING,
        reading.FAMOUS,
        reading.FOUR_FRAMES,
        reading.ALIKE,
        bugs.BUG_MAP,
        bugs.MASK_AXES,
        bugs.VIEW_ALONE,
    )
}

__all__ = ["DRAWINGS", "Drawing"]
