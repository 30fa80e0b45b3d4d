"""Pictures of attention: the heat map, the explorer and its host for static pages.

    from attnkit.viz import AttentionExplorer, heatmap

For what a notebook keeps of them: `attnkit.viz.notebook` (`strip_modules`).
"""

from attnkit.viz.explorer import AttentionExplorer
from attnkit.viz.heatmap import heatmap

__all__ = ["AttentionExplorer", "heatmap"]
