"""Every explorer of every chapter, in the built book: its weights are what Python computes.

From the state that the committed notebook holds, at every length, mask, scale and temperature. That
Python computes what torch does is held in tests/attnkit/viz/test_explorer.py.
"""

import base64
import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from sphinx_external_toc.parsing import parse_toc_yaml

from attnkit.viz import AttentionExplorer
from attnkit.viz.explorer import compute
from booktools import gates
from booktools.address import ROOT
from tests.browser.explorer_page import control, saved_models, state_of, vectors

pytestmark = pytest.mark.browser

MASKS = ("none", "causal", "padding", "window", "prefix")
EXPONENTS = (0.0, -0.5, 0.8)  # of the temperature, to base ten
ROOTS = ".attnkit-explorer"
NO_ARRAYS = dict.fromkeys(("query", "key", "scores", "value", "frames", "frame_masks"), b"")

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
    """An explorer as a notebook holds it."""

    def __init__(self, model: dict) -> None:
        arrays = {one["path"][0]: base64.b64decode(one["data"]) for one in model["buffers"]}
        self.traits = SimpleNamespace(**NO_ARRAYS | model["state"] | arrays)
        self.data = compute.read(self.traits)
        self.square = self.data.queries is None
        self.lengths = list(self.data.frames) or list(range(1, self.traits.shape[2] + 1))

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
        there = [name for name in choices if name in self.traits.controls]
        return [
            dict(zip(there, values, strict=True))
            for values in itertools.product(*(choices[name] for name in there))
        ]

    def labels(self) -> dict[str, str]:
        return {
            "length": "Length" if self.square or self.data.frames else "Keys",
            "head": self.traits.head_label,
            "mask": "Mask",
            "temperature": "Temperature",
            "scale": self.traits.scale_label,
        }

    def hold(self, setting: dict, shown: dict) -> None:
        """Hold what the page shows with these controls to Python."""
        now = SimpleNamespace(**vars(self.traits))
        now.head, now.mask = setting.get("head", now.head), setting.get("mask", now.mask)
        now.scaled = setting.get("scale", now.scaled)
        if "length" in setting:
            now.seq_len = self.lengths[setting["length"]]
        if "temperature" in setting:
            now.temperature = float(f"{10 ** setting['temperature']:.3g}")
        assert [shown["seqLen"], shown["head"], shown["mask"]] == [now.seq_len, now.head, now.mask]
        assert shown["temperature"] == pytest.approx(now.temperature, rel=1e-9)
        weights = compute.values(self.data, now, "weights")
        expected = weights if now.head == "all" else weights[now.head]
        np.testing.assert_allclose(
            shown["weights"], expected, rtol=0, atol=1e-6, equal_nan=False, err_msg=str(setting)
        )


def explorers(path) -> list[State]:
    return [State(model) for model in saved_models(path, AttentionExplorer)]


CONTENTS = set(parse_toc_yaml(ROOT / "_toc.yml"))
PAGES = {
    name: path
    for path in gates.notebooks()
    if (name := path.relative_to(ROOT).with_suffix("").as_posix()) in CONTENTS and explorers(path)
}


def compare(page, states: list[State]) -> None:
    """Move every control of every explorer on the page, and hold what it shows to Python."""
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
            state.hold(setting, shown)


@pytest.mark.parametrize("name", PAGES)
def test_weights_are_pythons_at_every_length_mask_scale_and_temperature(name, open_page, site_url):
    page, record = open_page(f"{site_url}{name}.html")
    compare(page, explorers(PAGES[name]))
    assert record.console == []


def test_so_are_those_of_explorers_of_every_kind(show):
    words = {"query_tokens": list("abc"), "key_tokens": list("defgh")}
    made = [
        AttentionExplorer(vectors(2, 6, 4), vectors(2, 6, 4, seed=1), window=2, prefix_len=3),
        AttentionExplorer(vectors(1, 3, 4), vectors(1, 5, 4), **words),
        AttentionExplorer.from_scores(vectors(2, 5, 5), tokens=list("abcde"), scale=0.3),
        AttentionExplorer.from_frames({n: vectors(2, 3, n).softmax(-1) for n in (2, 4)}),
    ]
    models = state_of(*made)
    states = [State(models[widget.model_id]) for widget in made]
    assert [len(state.settings()) for state in states[::3]] == [3 * 5 * 3 * 2, 2]
    page, _, _ = show(*made)
    compare(page, states)
    assert len(PAGES) >= 2
