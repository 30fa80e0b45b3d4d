"""Every explorer of every chapter, in the built book: its weights are what torch computes.

What is expected is computed here from the state that the committed notebook holds, in float64, by
torch's own softmax and by masks written out from their rules, and not by `attnkit`.
"""

import itertools
import math

import numpy as np
import pytest
import torch
from sphinx_external_toc.parsing import parse_toc_yaml

from attnkit.viz import AttentionExplorer
from booktools import gates
from booktools.address import ROOT
from tests.browser.explorer_page import control, saved_arrays, saved_models, state_of, vectors

pytestmark = pytest.mark.browser

MASKS = ("none", "causal", "padding", "window", "prefix")
EXPONENTS = (0.0, -0.5, 0.8)  # of the temperature, to base ten
ROOTS = ".attnkit-explorer"

# Set each control that is there to each value in turn, and note what the explorer then shows.
SWEEP = """(root, [controls, settings]) => settings.map(setting => {
    for (const [name, value] of Object.entries(setting)) {
        const input = controls[name];
        if (input.type === "checkbox") input.checked = value; else input.value = value;
        input.dispatchEvent(new Event("input", { bubbles: true }));
    }
    return root.snapshot();
})"""


class State:
    def __init__(self, model: dict) -> None:
        self.traits = model["state"]
        self.arrays = saved_arrays(model)
        self.recorded = self.traits["kind"] == "frames"
        self.square = self.traits["query_tokens"] is None
        self.lengths = [frame[0] for frame in self.traits["frame_shapes"]] or list(
            range(1, self.traits["shape"][2] + 1)
        )

    def array(self, name: str, *shape: int) -> torch.Tensor:
        return torch.tensor(self.arrays[name], dtype=torch.float64).reshape(shape)

    def scores(self) -> torch.Tensor:
        heads, rows, columns, *features = self.traits["shape"]
        if self.traits["kind"] == "scores":
            return self.array("scores", heads, rows, columns)
        query = self.array("query", heads, rows, *features)
        return query @ self.array("key", heads, columns, *features).mT

    def frame(self, place: int) -> torch.Tensor:
        heads, shapes = self.traits["shape"][0], self.traits["frame_shapes"]
        sizes = [heads * rows * columns for _, rows, columns in shapes]
        start = sum(sizes[:place])
        return torch.tensor(
            self.arrays["frames"][start : start + sizes[place]], dtype=torch.float64
        ).reshape(heads, *shapes[place][1:])

    def mask(self, kind: str, rows: int, columns: int) -> torch.Tensor:
        """True where a query may attend, (L, S)."""
        i, j = torch.arange(rows)[:, None], torch.arange(columns)[None]
        window, prefix = self.traits["window"], self.traits["prefix_len"]
        hidden = min(self.traits["padding"], columns - 1)
        return {
            "none": (i >= 0) & (j >= 0),
            "causal": j <= i,
            "padding": (i >= 0) & (j < columns - hidden),
            "window": (j <= i) & (j > i - window),
            "prefix": (j <= i) | (j < prefix),
        }[kind]

    def weights(self, place: int, mask: str, scaled: bool, temperature: float) -> torch.Tensor:
        """What the explorer must show of all heads, (H, L, S)."""
        if self.recorded:
            return self.frame(place)
        columns = self.lengths[place]
        rows = columns if self.square else self.traits["shape"][1]
        scale = self.traits["scale"] if scaled and self.traits["scale"] is not None else 1.0
        scores = self.scores()[:, :rows, :columns] * scale / temperature
        visible = self.mask(mask, rows, columns)
        return scores.masked_fill(~visible, -math.inf).softmax(-1)

    def settings(self) -> list[dict]:
        """Values to set the controls to, by the control's name: those that the page has."""
        last = len(self.lengths) - 1
        choices = {
            "length": sorted({0, last // 2, last}),
            "head": ["all"],
            "mask": MASKS if self.square else ("none", "padding"),
            "temperature": EXPONENTS,
            "scale": [True, False],
        }
        there = [name for name in choices if name in self.traits["controls"]]
        return [
            dict(zip(there, values, strict=True))
            for values in itertools.product(*(choices[name] for name in there))
        ]

    def labels(self) -> dict[str, str]:
        return {
            "length": "Length" if self.square or self.recorded else "Keys",
            "head": self.traits.get("head_label", "Head"),
            "mask": "Mask",
            "temperature": "Temperature",
            "scale": self.traits["scale_label"],
        }


def explorers(path) -> list[State]:
    return [State(model) for model in saved_models(path, AttentionExplorer)]


CONTENTS = set(parse_toc_yaml(ROOT / "_toc.yml"))
PAGES = {
    name: path
    for path in gates.notebooks()
    if (name := path.relative_to(ROOT).with_suffix("").as_posix()) in CONTENTS and explorers(path)
}


def compare(page, states: list[State]) -> None:
    """Move every control of every explorer on the page, and hold what it shows to torch."""
    page.wait_for_function(
        "([roots, count]) => [...document.querySelectorAll(roots)]"
        ".filter(root => root.snapshot).length === count",
        arg=[ROOTS, len(states)],
    )
    for state, root in zip(states, page.locator(ROOTS).all(), strict=True):
        settings, labels = state.settings(), state.labels()
        controls = {key: control(root, labels[key]).element_handle() for key in settings[0]}
        found = root.evaluate(SWEEP, [controls, settings])
        for setting, shown in zip(settings, found, strict=True):
            hold(state, setting, shown)


def hold(state: State, setting: dict, shown: dict) -> None:
    traits = state.traits
    place = setting.get("length", state.lengths.index(traits["seq_len"]))
    mask = setting.get("mask", traits["mask"])
    scaled = setting.get("scale", traits["scaled"])
    temperature = traits["temperature"]
    if "temperature" in setting:
        temperature = float(f"{10 ** setting['temperature']:.3g}")
    assert shown["seqLen"] == state.lengths[place]
    assert shown["head"] == setting.get("head", traits["head"])
    assert shown["mask"] == mask
    assert shown["temperature"] == pytest.approx(temperature, rel=1e-9)
    expected = state.weights(place, mask, scaled, temperature)
    if shown["head"] != "all":
        expected = expected[shown["head"]]
    np.testing.assert_allclose(
        shown["weights"], expected, rtol=0, atol=1e-6, equal_nan=False, err_msg=str(setting)
    )


@pytest.mark.parametrize("name", PAGES)
def test_weights_are_torchs_at_every_length_mask_scale_and_temperature(name, open_page, site_url):
    page, record = open_page(f"{site_url}{name}.html")
    compare(page, explorers(PAGES[name]))
    assert record.console == []


def test_there_are_explorers_to_compare():
    assert len(PAGES) >= 2


def test_where_words_look_at_other_words_they_can_be_seen_as_lines():
    (path,) = ROOT.glob("appendices/exercises/10_*.ipynb")
    crossing = [state.traits for state in explorers(path) if not state.square]
    assert crossing
    assert [traits["title"] for traits in crossing if "view" not in traits["controls"]] == []


def test_the_comparison_reaches_every_kind_of_explorer_and_notices_one_wrong_number(show):
    made = [
        AttentionExplorer(vectors(2, 6, 4), vectors(2, 6, 4, seed=1), window=2, prefix_len=3),
        AttentionExplorer(
            vectors(1, 3, 4), vectors(1, 5, 4), query_tokens=list("abc"), key_tokens=list("defgh")
        ),
        AttentionExplorer.from_scores(vectors(2, 5, 5), tokens=list("abcde"), scale=0.3),
        AttentionExplorer.from_frames({n: vectors(2, 3, n).softmax(-1) for n in (2, 4)}),
    ]
    models = state_of(*made)
    states = [State(models[widget.model_id]) for widget in made]
    assert len(states[0].settings()) == 3 * 5 * 3 * 2
    assert len(states[-1].settings()) == 2
    page, _, _ = show(*made)
    compare(page, states)
    for state in states:
        name = next(name for name in ("frames", "scores", "key") if state.arrays[name].size)
        right = state.arrays[name]
        state.arrays[name] = right.copy()
        state.arrays[name][-1] += 1e-4
        with pytest.raises(AssertionError, match="Not equal to tolerance"):
            compare(page, states)
        state.arrays[name] = right
