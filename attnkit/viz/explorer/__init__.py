"""The explorer: attention by head, length, mask, scale and temperature, under the reader's hand.

Four constructors, for what is known about the layer::

    AttentionExplorer(query, key, tokens=words)            # q.k computed in the browser, exactly
    AttentionExplorer.from_scores(scores, tokens=words)    # additive, general, ...: scores given
    AttentionExplorer.from_frames({4: w4, 5: w5, ...})     # weights recorded at each length
    AttentionExplorer.from_weights(weights, tokens=words)  # weights as any model gave them

Take the third when a shorter sequence changes what comes before the layer (an RNN, a deeper
bidirectional layer): weights must then be recorded, not computed. The caption says which it is.
"""

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import traitlets as t

from attnkit.formula import default_scale
from attnkit.guard import checks
from attnkit.viz import arrays as inputs
from attnkit.viz.explorer import compute
from attnkit.viz.explorer.settings import CONTROLS, READER, Settings
from attnkit.viz.widget import SettingError, Widget, anchor_of, expect

_PROVENANCE = {
    "qk": "Computed here from the model's queries and keys, for the settings above.",
    "scores": "Computed here from the model's scores, for the settings above.",
    "frames": "Recorded: the model was run at each length, and gave these weights.",
    "frame": "Recorded: these are the weights that the model gave.",
}


class AttentionExplorer(Settings, Widget):
    """A heat map of attention with its controls, in Jupyter, in Colab and in the built book.

    Computes, for each head, scores = scale * q.k / temperature, puts the mask on them and takes
    the softmax (Vaswani et al. 2017, eq. 1), with the semantics of `attnkit.masks` and
    `attnkit.masked_softmax`; the browser does so in float64 from float32 inputs.

    Args:
        query: (H, L, E), or (L, E) for one head; tensor, array or nested lists.
        key: (H, S, E), or (S, E). Heads that share keys must be repeated first.
        value: (H, S, Ev), or (S, Ev); the row in hand can then be followed to its output.
        tokens: L strings for self-attention; the length then shortens queries and keys alike.
        query_tokens, key_tokens: L and S strings for cross-attention, instead of `tokens`. The
            length then shortens the keys; all queries stay. With neither, L == S is taken as
            self-attention and the positions stand in for words.
        scale: the number that the scale control switches on; 1 / sqrt(E) when left out.
        seq_len: tokens (cross-attention: keys) on show; all of them when left out.
        head: a head's index, or "all" for a grid.
        mask: "none", "causal", "padding", "window" or "prefix". Causal, window and prefix are for
            self-attention.
        padding: how many of the last tokens on show the padding mask hides. One always stays.
        window: keys that the window mask shows, the query's own included.
        prefix_len: keys that the prefix mask shows to every query, beside the causal ones.
        scaled: whether `scale` is on.
        temperature: divides the scores.
        stage: "scores" (scaled, before the mask), "masked scores" or "weights".
        controls: which controls to show, out of "length", "head", "mask", "scale",
            "temperature", "stage", "view", "hide" (the words, to be pressed) and "compare" (keep a
            picture); those that apply when left out, without "hide".
        hidden: positions of keys that no query may see, whatever the mask; not for recorded
            weights.
        view: "map", or "lines" from queries to keys.
        guess: [head, query] of a row that is covered until the reader has guessed where most of
            its weight is; [head, query, key] after that.
        kept: settings of a second picture beside the first, to compare; what it leaves out is as
            on show. {} for none.
        difference: whether the second picture is the first's weights minus its own.
        stretch: whether the largest number on show has the darkest colour; else 1 has it, and for
            scores the largest raw score.
        head_names: H strings.
        head_label: what the control of the heads is called, where they are no heads of one layer.
        tour: the steps of a guide inside the explorer: each a mapping of "say", one sentence for
            the reader, and of the settings that differ from those given beside `tour`. The
            explorer opens on the first.
        anchor: the explorer's name in the address of its page, such as "explorer-05-1". A link
            to `#explorer-05-1=2` takes the second step of the tour, and one to
            `#explorer-05-1=mask:none;seq_len:5` sets these.
        title, caption: plain text above and below.

    All settings, from `seq_len` to `stage`, are traits: set them and the page follows; move a
    control and the trait follows (`explorer.observe(...)`). `pinned` is [head, query, key] of the
    cell that the reader pinned, or []. `step`, from 0, is the tour's: set it, and all settings are
    those of that step.

    Raises:
        TypeError: an array that holds no real numbers, tokens that are no strings, an unknown
            argument.
        ValueError: shapes that do not fit, or a setting out of range (`SettingError`).

    Example:
        >>> import torch
        >>> query = torch.randn(2, 3, 4)
        >>> explorer = AttentionExplorer(query, query, tokens=list("abc"))
        >>> explorer.mask = "causal"
        >>> explorer.seq_len, explorer.scaled
        (3, True)
    """

    _modules = tuple(
        f"explorer/{name}.js"
        for name in (
            *("compute", "draw", "words", "controls", "tour", "apart", "hide"),
            *("guess", "lines", "compare", "explorer"),
        )
    )
    _styles = ("explorer/explorer.css",)

    kind = t.Enum(("qk", "scores", "frames"), "qk").tag(sync=True)
    shape = t.List(t.Int()).tag(sync=True)  # H, L, S and, for q.k, E
    query = t.Bytes().tag(sync=True)  # float32 (H, L, E)
    key = t.Bytes().tag(sync=True)  # float32 (H, S, E)
    scores = t.Bytes().tag(sync=True)  # float32 (H, L, S)
    value = t.Bytes().tag(sync=True)  # float32 (H, S, Ev), or none
    frames = t.Bytes().tag(sync=True)  # float32, one (H, L, S) after another
    frame_masks = t.Bytes().tag(sync=True)  # bits, one (H, L, S) after another, or none
    frame_shapes = t.List().tag(sync=True)  # [length, L, S] of each
    frame_tokens = t.List().tag(sync=True)  # [query tokens, key tokens] of each, or none
    key_tokens = t.List(t.Unicode()).tag(sync=True)
    query_tokens = t.List(t.Unicode(), allow_none=True, default_value=None).tag(sync=True)
    head_names = t.List(t.Unicode()).tag(sync=True)
    head_label = t.Unicode("Head").tag(sync=True)
    scale = t.Float(None, allow_none=True).tag(sync=True)
    tour = t.List(t.Dict()).tag(sync=True)  # of each step, what to say and all settings
    step = t.Int(0).tag(sync=True)
    controls = t.List(t.Enum(CONTROLS)).tag(sync=True)
    scale_label = t.Unicode().tag(sync=True)

    def __init__(
        self,
        query: inputs.Array,
        key: inputs.Array,
        *,
        value=None,
        tokens: Sequence[str] | None = None,
        query_tokens: Sequence[str] | None = None,
        key_tokens: Sequence[str] | None = None,
        scale: float | None = None,
        **settings: Any,
    ):
        query = inputs.by_head("query", query, "(H, L, E)")
        key = inputs.by_head("key", key, "(H, S, E)")
        for dim, what in ((0, "heads"), (2, "features (E)")):
            if key.shape[dim] != query.shape[dim]:
                checks.fail("key", f"{query.shape[dim]} {what}, as in query", f"shape {key.shape}")
        heads, rows, features = query.shape
        scale = default_scale(features) if scale is None else checks.positive("scale", scale)
        self._start(
            dict(
                kind="qk",
                shape=[heads, rows, key.shape[1], features],
                query=query.tobytes(),
                key=key.tobytes(),
                value=_value_bytes(value, key.shape),
                scale=float(scale),
                **inputs.token_traits(rows, key.shape[1], tokens, query_tokens, key_tokens),
            ),
            **settings,
        )

    @classmethod
    def from_scores(
        cls,
        scores: inputs.Array,
        *,
        value=None,
        tokens: Sequence[str] | None = None,
        query_tokens: Sequence[str] | None = None,
        key_tokens: Sequence[str] | None = None,
        scale: float | None = None,
        **settings: Any,
    ) -> "AttentionExplorer":
        """An explorer of raw scores (H, L, S), or (L, S): additive, general or any other kind.

        `scale` multiplies the scores when given, and its control appears; otherwise there is
        none. The other arguments and errors are those of the class.
        """
        scores = inputs.by_head("scores", scores, "(H, L, S)")
        self = cls.__new__(cls)
        self._start(
            dict(
                kind="scores",
                shape=list(scores.shape),
                scores=scores.tobytes(),
                value=_value_bytes(value, (scores.shape[0], scores.shape[2])),
                scale=None if scale is None else float(checks.positive("scale", scale)),
                **inputs.token_traits(*scores.shape[1:], tokens, query_tokens, key_tokens),
            ),
            **settings,
        )
        return self

    @classmethod
    def from_frames(
        cls,
        frames: Mapping[int, inputs.Array],
        *,
        tokens: Sequence[str] | None = None,
        query_tokens: Sequence[str] | Mapping[int, Sequence[str]] | None = None,
        key_tokens: Sequence[str] | Mapping[int, Sequence[str]] | None = None,
        mask: inputs.Array | None = None,
        **settings: Any,
    ) -> "AttentionExplorer":
        """An explorer of recorded weights, one frame for each length.

        Args:
            frames: length -> weights (H, L, S) or (L, S), as the model gave them at that length.
            tokens: for self-attention, the tokens of the longest frame (the others show its
                first ones).
            query_tokens, key_tokens: for cross-attention, the same, or a mapping
                length -> tokens where they change with the length (a translation does).
            mask: which keys each query could see in the model, True where it may: a boolean array
                that broadcasts to the longest frame's (H, L, S), of which shorter frames take the
                first rows and columns; or "causal" or "none"; or a mapping length -> one of
                these. Hidden cells are then hatched, and a row is measured against the keys that
                it sees. Left out, the explorer says nothing of it.

        Mask, scale and temperature have no controls: they happened in the model. `seq_len` must
        be one of the lengths recorded. The other arguments and errors are those of the class.
        """
        arrays = inputs.frames_by_length(frames)
        heads, rows, columns = (max(a.shape[d] for a in arrays.values()) for d in range(3))
        square = all(array.shape[1] == array.shape[2] for array in arrays.values())
        if tokens is not None and not square:
            checks.fail("tokens", "frames with L == S (or query_tokens and key_tokens)", "others")
        if tokens is query_tokens is key_tokens is None and not square:
            query_tokens, key_tokens = inputs.numbered(rows), inputs.numbered(columns)
        per_frame = isinstance(query_tokens, Mapping) or isinstance(key_tokens, Mapping)
        if per_frame:
            names = inputs.frame_tokens(arrays, query_tokens, key_tokens)
            longest = max(range(len(names)), key=lambda place: len(names[place][1]))
            query_tokens, key_tokens = names[longest]
            rows, columns = len(query_tokens), len(key_tokens)
        self = cls.__new__(cls)
        self._start(
            dict(
                kind="frames",
                shape=[heads, rows, columns],
                frames=b"".join(array.tobytes() for array in arrays.values()),
                frame_masks=inputs.frame_masks(arrays, mask),
                frame_shapes=[[length, *array.shape[1:]] for length, array in arrays.items()],
                frame_tokens=names if per_frame else [],
                scale=None,
                **inputs.token_traits(rows, columns, tokens, query_tokens, key_tokens),
            ),
            **settings,
        )
        return self

    @classmethod
    def from_weights(cls, weights, *, head_names=None, **settings: Any) -> "AttentionExplorer":
        """An explorer of the weights that any model gave, of one layer or of several.

        `weights` is (H, L, S), or (L, S) for one head, or a list of layers, such as `attentions`
        of a model of transformers called with `output_attentions=True`: each (H, L, S), or
        (1, H, L, S). The heads of all layers stand in one list. The other arguments and errors
        are those of `from_frames`; layers that differ in L or S are a ValueError.

        Example:
            >>> import torch
            >>> layers = [torch.rand(1, 2, 3, 3).softmax(-1) for _ in range(4)]
            >>> AttentionExplorer.from_weights(layers, tokens=list("abc")).head_names[-1]
            'layer 3, head 1'
        """
        heads, names = inputs.heads_of_layers(weights)
        frames = {heads.shape[2]: heads}
        return cls.from_frames(frames, head_names=head_names or names, **settings)

    def _start(
        self,
        data,
        *,
        seq_len=None,
        controls=None,
        head_names=None,
        head_label="Head",
        tour=(),
        anchor="",
        title="",
        caption="",
        **settings: Any,
    ):
        """Begin with the data's traits and the settings, in range and known by name."""
        for name in settings:
            if name not in READER:
                checks.fail(name, "an argument of AttentionExplorer", "this name", TypeError)
        heads, lengths = data["shape"][0], [frame[0] for frame in data.get("frame_shapes", [])]
        provenance = "frame" if len(lengths) == 1 else data["kind"]
        super().__init__(
            seq_len=max(lengths, default=data["shape"][2]) if seq_len is None else seq_len,
            controls=_controls(data, lengths) if controls is None else controls,
            head_names=inputs.head_names(head_names, heads),
            head_label=head_label,
            anchor=anchor_of(anchor),
            title=title,
            note=inputs.note(caption, _PROVENANCE[provenance]),
            scale_label=_scale_label(data),
            **data,
            **settings,
        )
        self.tour = self._steps(tour)
        self._take_step()

    def _steps(self, tour) -> list[dict]:
        """The tour with all settings in each step, after trying each."""
        if isinstance(tour, str | Mapping) or not isinstance(tour, Sequence):
            checks.fail("tour", "a list of steps", type(tour).__name__, TypeError)
        given = {name: getattr(self, name) for name in READER}
        steps = []
        for place, step in enumerate(tour):
            name = f"tour[{place}]"
            if not isinstance(step, Mapping) or not isinstance(step.get("say"), str):
                checks.fail(name, 'a mapping with a sentence as "say"', repr(step)[:60], TypeError)
            if unknown := step.keys() - {"say", *READER}:
                checks.fail(name, f"settings out of {READER}", sorted(unknown)[0])
            chosen = given | {key: step[key] for key in step if key != "say"}
            try:
                self._set_all(chosen)
            except t.TraitError as error:
                raise SettingError(f"{name}: {error}") from error
            steps.append({"say": step["say"], "set": chosen})
        self._set_all(given)
        return steps

    def _set_all(self, values: Mapping[str, object]) -> None:
        """Set several traits, one after another."""
        for name, value in values.items():
            setattr(self, name, value)

    @t.validate("step")
    def _valid_step(self, proposal):
        fits = 0 <= proposal.value < max(len(self.tour), 1)
        return expect(proposal, f"0 to {len(self.tour) - 1}", fits)

    @t.observe("step")
    def _take_step(self, change=None):
        if self.tour:
            self._set_all(self.tour[self.step]["set"])

    @functools.cached_property
    def _data(self) -> compute.Data:
        return compute.read(self)

    @property
    def self_attention(self) -> bool:
        """Whether queries and keys are the same tokens."""
        return self.query_tokens is None

    @property
    def lengths(self) -> list[int]:
        """The lengths that `seq_len` may take."""
        return [frame[0] for frame in self.frame_shapes] or list(range(1, self.shape[2] + 1))

    def visible(self) -> np.ndarray:
        """The mask on show, boolean (L, S), or (H, L, S) as recorded; True may be attended."""
        return compute.mask(self._data, self).numpy()

    def values(self, stage: str | None = None) -> np.ndarray:
        """What is on show, by torch: float64 (H, L, S) for the settings now set.

        `stage` is "scores", "masked scores" (masked cells are -inf) or "weights"; the one on show
        when left out. Recorded weights are returned as they are.
        """
        return compute.values(self._data, self, stage)

    def change(self) -> np.ndarray:
        """Weights on show minus those of the kept picture: float64 (H, L, S), or (1, L, S) of the
        heads that the two show, for the queries and keys that both have.

        Raises ValueError when no picture is kept.
        """
        if not self.kept:
            checks.fail("kept", "settings of a picture to compare with", "{}")
        return compute.change(self._data, self)

    def output(self) -> np.ndarray:
        """Weights on show times values, by torch: float64 (H, L, Ev).

        Raises ValueError when the explorer was given no `value`.
        """
        if self._data.value is None:
            checks.fail("value", "an explorer that was given values", "none")
        return compute.output(self._data, self)

    def shown_tokens(self) -> tuple[list[str], list[str]]:
        """The query tokens and the key tokens on show."""
        return compute.tokens(self._data, self)

    def figure(self):
        return compute.figure(self._data, self, self.title or None)

    def _words(self):
        return compute.words(self._data, self)


def _value_bytes(value, shape: tuple[int, ...]) -> bytes:
    """The values as float32 bytes, none when left out; `shape` begins with H and S."""
    if value is None:
        return b""
    value = inputs.by_head("value", value, "(H, S, Ev)")
    if value.shape[:2] != tuple(shape[:2]):
        checks.fail("value", f"H, S = {shape[0]}, {shape[1]}, as in the keys", f"{value.shape}")
    return value.tobytes()


def _controls(data: dict, lengths: list[int]) -> list[str]:
    """The controls that apply: recorded weights have no mask, and one head needs no choice."""
    applies = {
        "length": len(lengths) != 1,
        "head": data["shape"][0] > 1,
        "mask": data["kind"] != "frames",
        "scale": data["scale"] is not None,
        "temperature": data["kind"] != "frames",
        "stage": data["kind"] != "frames",
        "view": data["query_tokens"] is not None,
        "hide": False,
        "compare": True,
    }
    return [name for name in CONTROLS if applies[name]]


def _scale_label(data: dict) -> str:
    """The words beside the scale control."""
    scale = data["scale"]
    if scale is None:
        return ""
    features = data["shape"][3] if data["kind"] == "qk" else 0
    usual = features and math.isclose(scale, default_scale(features))
    return f"scale by 1/√{features}" if usual else f"scale by {scale:.3g}"
