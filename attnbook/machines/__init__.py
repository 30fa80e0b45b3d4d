"""Small machines to move by hand, one idea each: widgets beside attnkit's explorer."""

from attnbook.machines.cache_scrubber import CacheScrubber
from attnbook.machines.cost_curves import CostCurves
from attnbook.machines.gate_slider import GateSlider
from attnbook.machines.head_switch import HeadSwitch
from attnbook.machines.live_translator import LiveTranslator
from attnbook.machines.query_plane import QueryPlane

__all__ = [
    "CacheScrubber",
    "CostCurves",
    "GateSlider",
    "HeadSwitch",
    "LiveTranslator",
    "QueryPlane",
]
