"""The heat map: honest axes, colours and marks, and text that stays text."""

import gc
import math

import matplotlib.colors
import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from attnkit import masks
from attnkit.viz import heatmap, palette
from attnkit.viz.heatmap import png
from attnkit.viz.widget import HERE
from tests.refusals.wrong_calls import refused

WORDS = ["the", "$x^2$ $", "<img src=x>", "m_a_t"]


def weights(heads: int | None = None) -> torch.Tensor:
    shape = (4, 4) if heads is None else (heads, 4, 4)
    return torch.randn(shape, generator=torch.Generator().manual_seed(0)).softmax(-1)


def maps(figure: Figure) -> list:
    return [ax for ax in figure.axes if ax.get_xlabel() == "key"]


def test_one_head_has_labelled_axes_and_a_bar_from_zero():
    figure = heatmap(weights(), tokens=WORDS, title="A finding")
    (ax,) = maps(figure)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("key", "query")
    bar = next(ax for ax in figure.axes if ax.get_ylabel() == "attention weight")
    assert bar.get_ylim()[0] == 0.0
    assert bar.get_ylim()[1] == pytest.approx(float(weights().max()))
    shown = ax.images[-1].get_array()
    np.testing.assert_allclose(shown, weights().numpy())


def test_no_title_lies_on_another_in_the_picture():
    figure = heatmap(
        torch.eye(16).expand(3, 16, 16),
        tokens=[f"word {n}" for n in range(16)],
        names=["one", "two", "three"],
        mask=masks.causal(16),
        title="A finding",
    )
    FigureCanvasAgg(figure)  # what can measure text
    png(figure)
    (whole,) = figure.texts
    lowest = whole.get_window_extent().y0
    assert all(ax.title.get_window_extent().y1 < lowest for ax in maps(figure))


def test_scores_have_zero_in_the_middle():
    figure = heatmap(weights() - 0.3, kind="scores")
    bar = next(ax for ax in figure.axes if ax.get_ylabel() == "score")
    low, high = bar.get_ylim()
    assert low == -high


def test_text_with_dollars_stays_text():
    figure = heatmap(weights(), tokens=WORDS, title="costs $5 and $6", names=["$a$ _ {"])
    (ax,) = maps(figure)
    assert [label.get_text() for label in ax.get_xticklabels()] == WORDS
    for text in [*ax.get_xticklabels(), *ax.get_yticklabels(), ax.title, figure._suptitle]:
        assert text.get_parse_math() is False


def test_the_same_picture_is_the_same_file():
    assert len({png(heatmap(weights(), tokens=WORDS, title="A title")) for _ in range(2)}) == 1


def test_masked_cells_are_hatched_and_not_coloured():
    figure = heatmap(weights(), tokens=WORDS, mask=masks.causal(4))
    (ax,) = maps(figure)
    hidden = np.ma.getmaskarray(ax.images[-1].get_array())
    assert (hidden == ~masks.causal(4).numpy()).all()
    assert any(collection.get_hatch() for collection in ax.collections)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["masked"]
    assert heatmap(weights()).legends == []


def test_a_cell_without_a_number_gets_a_cross():
    values = weights()
    values[1, 2] = math.nan
    figure = heatmap(values, mask=masks.causal(4) | True)
    (ax,) = maps(figure)
    (crosses,) = ax.lines
    assert crosses.get_xydata().tolist() == [[2.0, 1.0]]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["not a number"]
    values[0, 3] = math.nan
    (ax,) = maps(heatmap(values, mask=~torch.eye(4, dtype=torch.bool).roll(-1, 0)))
    assert ax.images[-1].get_array().shape == (4, 4)


def test_masked_cells_do_not_set_the_colour_bar():
    values = weights()
    values[0, 3] = 50.0
    figure = heatmap(values, mask=masks.causal(4))
    bar = next(ax for ax in figure.axes if ax.get_ylabel() == "attention weight")
    assert bar.get_ylim()[1] <= 1.0


@pytest.mark.parametrize("heads", [1, 2, 4, 5, 8])
def test_a_grid_has_one_map_a_head_on_one_colour_scale(heads):
    figure = heatmap(weights(heads), tokens=WORDS, names=[f"head {h}" for h in range(heads)])
    grid = maps(figure)
    assert [ax.get_title() for ax in grid] == [f"head {h}" for h in range(heads)]
    assert len({ax.images[-1].norm for ax in grid}) == 1


def test_an_axes_may_be_given():
    ax = Figure().subplots()
    assert heatmap(weights(), ax=ax) is ax
    assert ax.get_xlabel() == "key"


def test_long_sequences_thin_their_labels():
    figure = heatmap(torch.full((200, 200), 1 / 200), tokens=[f"t{n}" for n in range(200)])
    (ax,) = maps(figure)
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert labels == [f"t{n}" for n in range(0, 200, 5)]


def luminance(colour) -> float:
    linear = [
        v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4
        for v in matplotlib.colors.to_rgb(colour)
    ]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def style_colours(block: str) -> dict[str, list[str]]:
    """The lists of the style sheets' colours, `block` 0 for light pages and 1 for dark."""
    css = "".join(
        (HERE / name).read_text("utf-8") for name in ("machine.css", "explorer/explorer.css")
    )
    return {
        name: css.split(f"--machine-{name}:")[1 + block].split(";")[0].split("}")[0].split(",")
        for name in ("weights", "scores", "hatch", "nan")
    }


def test_the_explorer_and_the_heat_map_share_their_colours():
    light = style_colours(0)
    assert light["weights"] == list(palette.SEQUENTIAL)
    assert light["scores"] == list(palette.DIVERGING)
    assert (light["hatch"], light["nan"]) == ([palette.HATCH], [palette.NAN])


@pytest.mark.parametrize("block, darker", [(0, True), (1, False)])
def test_more_attention_is_always_further_from_the_page(block, darker):
    steps = np.diff([luminance(colour) for colour in style_colours(block)["weights"]])
    assert (steps < 0).all() if darker else (steps > 0).all()


def draw(**changed):
    return heatmap(**{"values": weights(), **changed})


test_a_wrong_call_names_the_argument_and_both_sides = refused("viz", "heat map", names=globals())


@pytest.fixture
def every_warning():
    """Let torch give every time the warnings that it otherwise gives once a process."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(before)


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


ARRAYS = {
    "that cannot be written to": lambda array: read_only(array.copy()),
    "in a list": lambda array: [read_only(row.copy()) for row in array],
    "turned round": lambda array: array[::-1, ::-1].copy()[::-1, ::-1],
}


@pytest.mark.parametrize("given", ARRAYS.values(), ids=ARRAYS)
def test_arrays_are_taken_without_a_warning(given, every_warning, recwarn):
    gc.collect()  # what other tests left, such as an open socket, warns now and not below
    recwarn.clear()
    (ax,) = maps(heatmap(given(weights().numpy())))
    np.testing.assert_array_equal(ax.images[-1].get_array(), weights().numpy())
    assert not recwarn.list
