"""The figures of page 14b draw the list."""

import matplotlib.pyplot as plt
import pytest

from attnbook.figures import ch14b
from attnbook.machines.kept_machine import CONTEXTS
from attnbook.releases import CHIPS, DATA, KINDS, MODELS, cost


def test_a_box_is_what_a_layer_keeps():
    ch14b.five_layers()
    found = ch14b.boxes()
    assert [kind for kind, *_ in found] == list(KINDS)
    drawn = [patch for patch in plt.gca().patches if patch.get_facecolor()[:3] != (0, 0, 0)]
    areas = [patch.get_width() * patch.get_height() for patch in drawn]
    for kind, name, wide, tall in found:
        model = next(one for one in MODELS.values() if one["name"] == name)
        alone = model | {"layers": [one | {"places": [0]} for one in model["layers"]
                                    if one["kind"] == kind]}  # fmt: skip
        kept = cost(alone, CHIPS["h100"], context=ch14b.LONG)["cache"] / 2
        assert wide * tall == pytest.approx(kept)
        assert any(area == pytest.approx(kept) for area in areas)


def test_a_line_is_a_model_at_every_length():
    ch14b.growth()
    lines = plt.gca().lines
    for name, near, far in zip(ch14b.GROWN, lines[::2], lines[1::2], strict=True):
        # Thick as far as its publisher supports, and thin from there on.
        assert near.get_xdata()[-1] == far.get_xdata()[0] == MODELS[name]["context"]
        assert near.get_linewidth() > 2 * far.get_linewidth()
        assert [*near.get_xdata(), *far.get_xdata()[1:]] == CONTEXTS
        drawn = [*near.get_ydata(), *far.get_ydata()[1:]]
        assert drawn == pytest.approx(ch14b.caches(name))


def test_every_published_figure_has_a_row_and_every_number_a_link():
    table = ch14b.checked()
    assert len(table.rows) == len(DATA["checked"])
    errors = [float(row[-1][0].rstrip("%")) for row in table.rows]
    assert sum(abs(error) < 3 for error in errors) >= len(errors) - 1
    sources = ch14b.Sources()
    for entry in DATA["models"] + DATA["chips"] + DATA["checked"]:
        for link in entry.get("sources", {"": entry.get("source")}).values():
            assert link in repr(sources)
            assert f'href="{link}"' in sources._repr_html_()


def test_with_every_layer_full_gemma_would_keep_six_times_as_much():
    gemma, chip = MODELS["gemma-3-27b"], CHIPS["h100"]
    (full,) = (layer for layer in gemma["layers"] if layer["kind"] == "full")
    count = sum(len(layer["places"]) for layer in gemma["layers"])
    every = gemma | {"layers": [full | {"places": list(range(count))}]}
    sizes = [cost(one, chip, context=ch14b.LONG)["cache"] for one in (every, gemma)]
    assert round(sizes[0] / sizes[1]) == 6
