"""Pictures of attention: the heat map, the explorer and its host for static pages.

    from attnkit.viz import AttentionExplorer, HeadSwitch, QueryPlane, heatmap

For notebooks and builds: `attnkit.viz.notebook` (`strip_modules`) and the Sphinx extension
`attnkit.viz.sphinx_ext`, named under `sphinx: extra_extensions` in `_config.yml`.
"""

from attnkit.viz.cache_scrubber import CacheScrubber
from attnkit.viz.cost_curves import CostCurves
from attnkit.viz.explorer import AttentionExplorer
from attnkit.viz.gate_slider import GateSlider
from attnkit.viz.head_switch import HeadSwitch
from attnkit.viz.heatmap import heatmap
from attnkit.viz.live_translator import LiveTranslator
from attnkit.viz.query_plane import QueryPlane

__all__ = [
    "AttentionExplorer",
    "CacheScrubber",
    "CostCurves",
    "GateSlider",
    "HeadSwitch",
    "LiveTranslator",
    "QueryPlane",
    "heatmap",
]
