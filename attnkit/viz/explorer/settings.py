"""The settings of the explorer: traits that its controls move, and the values they may take."""

import math

import traitlets as t

from attnkit.viz.widget import expect

MASKS = ("none", "causal", "padding", "window", "prefix")
VIEWS = ("map", "lines")
COMPARED = (
    *("seq_len", "head", "mask", "padding", "window", "prefix_len", "scaled", "temperature"),
    "hidden",
)
STAGES = ("scores", "masked scores", "weights")
CONTROLS = ("length", "head", "mask", "scale", "temperature", "stage", "view", "hide", "compare")
_ONE_SEQUENCE = ("causal", "window", "prefix")


class Settings(t.HasTraits):
    """The traits that the reader moves.

    What they may be depends on `kind`, `shape`, `lengths` and `self_attention`, which the
    explorer has.
    """

    seq_len = t.Int(1).tag(sync=True)
    head = t.Union([t.Int(), t.Enum(("all",))], default_value=0).tag(sync=True)
    mask = t.Enum(MASKS, "none").tag(sync=True)
    padding = t.Int(2).tag(sync=True)
    window = t.Int(3).tag(sync=True)
    prefix_len = t.Int(2).tag(sync=True)
    scaled = t.Bool(True).tag(sync=True)
    temperature = t.Float(1.0).tag(sync=True)
    stage = t.Enum(STAGES, "weights").tag(sync=True)
    pinned = t.List(t.Int()).tag(sync=True)
    stretch = t.Bool(False).tag(sync=True)
    hidden = t.List(t.Int()).tag(sync=True)
    view = t.Enum(VIEWS, "map").tag(sync=True)
    guess = t.List(t.Int()).tag(sync=True)
    kept = t.Dict().tag(sync=True)
    difference = t.Bool(False).tag(sync=True)

    @t.validate("seq_len")
    def _valid_seq_len(self, proposal):
        known = self.lengths
        recorded = self.kind == "frames"
        range_ = f"one of the lengths recorded, {known}" if recorded else f"1 to {known[-1]}"
        return expect(
            proposal, f"an int, {range_}", _is_int(proposal.value) and proposal.value in known
        )

    @t.validate("head")
    def _valid_head(self, proposal):
        value, heads = proposal.value, self.shape[0]
        fits = value == "all" or (_is_int(value) and 0 <= value < heads)
        return expect(proposal, f'"all" or an int from 0 to {heads - 1}', fits)

    @t.validate("mask")
    def _valid_mask(self, proposal):
        value = proposal.value
        if self.kind == "frames":
            return expect(proposal, '"none": recorded weights hold their mask', value == "none")
        fits = self.self_attention or value not in _ONE_SEQUENCE
        return expect(
            proposal,
            '"none" or "padding" for cross-attention, because the other masks compare positions in '
            "one sequence",
            fits,
        )

    @t.validate("stage")
    def _valid_stage(self, proposal):
        fits = self.kind != "frames" or proposal.value == "weights"
        return expect(proposal, '"weights": scores were not recorded', fits)

    @t.validate("padding", "window", "prefix_len")
    def _valid_count(self, proposal):
        least = 1 if proposal.trait.name == "window" else 0
        fits = _is_int(proposal.value) and proposal.value >= least
        return expect(proposal, f"an int of at least {least}", fits)

    @t.validate("temperature")
    def _valid_temperature(self, proposal):
        fits = math.isfinite(proposal.value) and proposal.value > 0
        return expect(proposal, "a finite number greater than 0", fits)

    @t.validate("hidden")
    def _valid_hidden(self, proposal):
        value, columns = proposal.value, self.shape[2]
        if self.kind == "frames":
            return expect(proposal, "[]: without scores nothing can be computed anew", not value)
        fits = all(_is_int(n) and 0 <= n < columns for n in value) and len({*value}) == len(value)
        return expect(proposal, f"different positions from 0 and below {columns}", fits)

    @t.validate("guess")
    def _valid_guess(self, proposal):
        counts = self.shape[:3]
        return expect(
            proposal,
            f"[head, query], [head, query, key], each from 0 and below {counts}, or []",
            _is_cell(proposal.value, counts, (0, 2, 3)),
        )

    @t.validate("kept")
    def _valid_kept(self, proposal):
        for name, value in proposal.value.items():
            expect(proposal, f"settings out of {COMPARED}", name in COMPARED)
            trait = self.traits()[name]
            trait._cross_validate(self, trait.validate(self, value))
        return proposal.value

    @t.validate("pinned")
    def _valid_pinned(self, proposal):
        counts = self.shape[:3]
        fits = _is_cell(proposal.value, counts, (0, 3))
        return expect(proposal, f"[head, query, key], each from 0 and below {counts}, or []", fits)


READER = tuple(Settings.class_own_traits())
"""The names of the settings."""


def _is_int(value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_cell(value, counts, sizes: tuple[int, ...]) -> bool:
    """Whether `value` has one of these sizes, and its places are below the counts."""
    below = all(0 <= n < most for n, most in zip(value, counts, strict=False))
    return len(value) in sizes and below
