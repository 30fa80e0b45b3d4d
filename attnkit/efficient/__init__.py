"""The same results for less: time, memory, or both."""

from attnkit.efficient.cache import KVCache

__all__ = ["KVCache"]
