"""A published language model on the page: its file, read and run in plain JavaScript."""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines import engine
from attnbook.machines.engine.in_parts import InParts, Part
from attnkit.viz import arrays as inputs
from attnkit.viz.widget import Widget, anchor_of
from attnlab.pretrained import published

__all__ = ["AskModel", "ask"]

HERE = Path(__file__).parent

NAME = "SmolLM2-135M-Instruct"

ENGINE = (*engine.READS, *(HERE / name for name in ("tokenizer.js", "model.js", "sample.js")))
"""The files that compute, without a page or a worker."""


def content() -> bytes | None:
    """The model's file, or None where its package is not installed."""
    try:
        (path,) = published.find(NAME, None, False).values()
    except FileNotFoundError:
        return None
    return path.read_bytes()


MODEL = InParts("language-model", (*ENGINE, *engine.SERVES, HERE / "worker.js"), content)
"""What a built book holds of it."""

_ABOUT = (
    "Runs that are named here were recorded. All others are computed in your browser, by the "
    "published weights of SmolLM2-135M-Instruct (Allal et al. 2025; Apache 2.0) in four bits."
)


class AskModel(Widget):
    """A language model that the reader asks: words as they are drawn, all heads, switches.

    It opens on recorded runs, and the model itself comes when the reader presses a button: in
    parts, each checked, from the folder of a built book. A worker then reads, writes and hands over
    the weights of every head; heads can be turned off, the first token hidden or dropped, a window
    set, and positions moved. One of the heads is open in the explorer.

    Args:
        recorded: runs, as `booktools.language_model_runs` records them; the first is on show.
        parts: of the model's file, in a built book; none where the book was built without it.
        folder: where they are, from the host's script on.
        title, caption: plain text above and below.
        anchor: its name in the address of its page.

    Example:
        >>> from attnbook.machines import AskModel
        >>> AskModel(recorded=[]).temperature
        0.0
    """

    _kits = (*Widget._kits, "machines", "engine", "heads")
    _modules = (HERE / "ask.js",)
    _styles = (engine.STYLE, engine.HEADS_STYLE, HERE / "ask.css")

    recorded = t.List(t.Dict()).tag(sync=True)
    parts = t.List(t.Dict()).tag(sync=True)  # {"bytes", "sha"} of each
    folder = t.Unicode().tag(sync=True)

    prompt = t.Unicode().tag(sync=True)
    chat = t.Bool(False).tag(sync=True)  # whether the prompt is a question
    most = t.Int(24).tag(sync=True)  # tokens to write
    temperature = t.Float(0.0).tag(sync=True)
    top_p = t.Float(0.9).tag(sync=True)
    seed = t.Int(0).tag(sync=True)
    first = t.Enum(("seen", "dropped", "never"), "seen").tag(sync=True)
    window = t.Int(0).tag(sync=True)
    keep = t.Bool(False).tag(sync=True)
    shift = t.Int(0).tag(sync=True)
    scale = t.Float(1.0).tag(sync=True)
    off = t.List(t.Unicode()).tag(sync=True)  # heads, as "layer.head"
    layer = t.Int(13).tag(sync=True)  # of the head that is drawn large
    head = t.Int(8).tag(sync=True)
    token = t.Int(0).tag(sync=True)  # whose row and next words are shown

    def __init__(
        self,
        recorded: list[dict],
        *,
        parts: list[Part] | None = None,
        folder: str = MODEL.folder,
        title: str = "",
        caption: str = "",
        anchor: str = "",
        **settings,
    ):
        first = dict(recorded[0]["settings"]) if recorded else {}
        super().__init__(
            recorded=recorded,
            parts=[part._asdict() for part in parts or []],
            folder=folder,
            title=title,
            note=inputs.note(caption, _ABOUT),
            anchor=anchor_of(anchor),
            **first | settings,
        )

    def figure(self) -> Figure:
        figure, axes = plt.subplots(figsize=(6, 2.4))
        run = self.recorded[0] if self.recorded else {"next": [[]]}
        found = next((each for each in reversed(run["next"]) if each), [])
        axes.barh([word for word, *_ in found][::-1], [own for _, own, _ in found][::-1])
        axes.set(title="The next word, by the model", xlabel="probability", xlim=(0, 1))
        plt.close(figure)
        return figure

    def _words(self) -> str:
        return (
            "A language model: a text and how it goes on, the weights of 30 layers of 9 heads as "
            "small maps, and the words that may come next as bars."
        )


def ask() -> AskModel:
    """The widget of the page "Ask a language model"."""
    recorded = json.loads((HERE / "recorded.json").read_text("utf-8"))
    return AskModel(recorded, parts=MODEL.parts, anchor="ask", title="Ask SmolLM2")
