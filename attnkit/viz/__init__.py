"""Pictures of attention: the heat map and the explorer.

    from attnkit.viz import AttentionExplorer, heatmap

A page without a kernel gets them from `attnbook.pages`.
"""

from attnkit.viz.explorer import AttentionExplorer
from attnkit.viz.heatmap import heatmap

__all__ = ["AttentionExplorer", "heatmap"]
