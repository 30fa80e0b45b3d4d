"""Pictures of attention: the heat map, the explorer and its host for static pages.

    from attnkit.viz import AttentionExplorer, heatmap

For notebooks and builds: `attnkit.viz.notebook` (`strip_modules`) and the Sphinx extension
`attnkit.viz.sphinx_ext`, named under `sphinx: extra_extensions` in `_config.yml`.
"""

from attnkit.viz.explorer import AttentionExplorer
from attnkit.viz.heatmap import heatmap

__all__ = ["AttentionExplorer", "heatmap"]
