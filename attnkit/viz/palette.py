"""The colours shared by the matplotlib heat map and the explorer.

Zero is next to the page and more is further from it, in equal steps of lightness, so that the map
reads the same in grey, in print and to a colour-blind eye. `static/explorer.css` holds the same
anchors; a unit test compares the two.
"""

from matplotlib.colors import LinearSegmentedColormap

SEQUENTIAL = (
    "#f3f7f4",
    "#cbe3d6",
    "#93cbbd",
    "#59aeaf",
    "#348ba0",
    "#2f668e",
    "#2f4275",
    "#1f1f45",
)
"""Weights, from zero to the maximum, on a light page."""

DIVERGING = ("#7f3b08", "#c7741c", "#f2c892", "#f6f5f3", "#b9c3e3", "#6d74b8", "#2d1e6b")
"""Scores, from the most negative to the most positive, with zero in the middle."""

HATCH = "#a7adb3"
"""The strokes that mark a masked cell."""

NAN = "#d6006c"
"""The colour of a cell that is not a number."""

weights_map = LinearSegmentedColormap.from_list("attnkit", SEQUENTIAL)
scores_map = LinearSegmentedColormap.from_list("attnkit_scores", DIVERGING)
