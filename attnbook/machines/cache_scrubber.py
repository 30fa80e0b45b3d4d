"""A cache that the reader grows word by word: what it holds, and what each word then costs."""

from collections.abc import Sequence
from typing import ClassVar

import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine
from attnkit.guard import checks
from attnkit.viz import arrays as inputs
from attnkit.viz.heatmap import plain_axes


class CacheScrubber(Machine):
    r"""The cache of keys and values of a text, word by word, and the multiply-adds of each step.

    For E features, H query heads and :math:`H_{kv}` heads of keys and values, one layer projects a
    word with :math:`2E^2 + 2 E H_{kv} E / H` multiply-adds, and spends :math:`2tE` on the scores
    and the average of a query that sees t words. With a cache that is done for one word a step,
    without it for t. The cache holds :math:`2 t H_{kv} E / H` numbers a layer (Shazeer 2019).

    Args:
        words: strings, one a step.
        embed_dim: E.
        num_heads: H; divides `embed_dim`.
        num_layers: layers, each with a cache of its own.
        number_bytes: bytes of a number in the cache.
        kv_heads: heads of keys and values at the start. A trait, as is `step`: set them and the
            page follows.
        step: words written, from 1.
        title, caption: plain text above and below.

    Raises:
        TypeError: `words` are no strings, a size is no integer.
        ValueError: no words, a size below 1, heads that do not divide what they share.

    Example:
        >>> cache = CacheScrubber(["le", "chat"], embed_dim=8, num_heads=4, step=2)
        >>> cache.numbers(), cache.nbytes()
        (32, 128)
        >>> cache.multiply_adds(2), cache.multiply_adds(2, cached=False)
        (288, 576)
        >>> cache.kv_heads = 1
        >>> cache.nbytes()
        32
    """

    _about = (
        "Counted, not measured. Attention only; the pairs that the mask hides are counted, since a "
        "matrix product computes them, too."
    )
    _limits: ClassVar = {"step": lambda m: (1, len(m.words)), "kv_heads": lambda m: m.choices()}

    words = t.List(t.Unicode()).tag(sync=True)
    embed_dim = t.Int().tag(sync=True)
    num_heads = t.Int().tag(sync=True)
    num_layers = t.Int(1).tag(sync=True)
    number_bytes = t.Int(4).tag(sync=True)
    kv_heads = t.Int(1).tag(sync=True)
    step = t.Int(1).tag(sync=True)

    def __init__(
        self,
        words: Sequence[str],
        *,
        embed_dim: int,
        num_heads: int,
        num_layers: int = 1,
        number_bytes: int = 4,
        kv_heads: int | None = None,
        step: int = 1,
        **texts: str,
    ):
        words = inputs.strings("words", words)
        if not words:
            checks.fail("words", "at least 1 string", "none")
        sizes = {
            "embed_dim": embed_dim,
            "num_heads": num_heads,
            "num_layers": num_layers,
            "number_bytes": number_bytes,
        }
        sizes = {name: checks.integer(name, size, minimum=1) for name, size in sizes.items()}
        if embed_dim % num_heads:
            checks.fail("num_heads", f"a divisor of embed_dim = {embed_dim}", str(num_heads))
        super().__init__(
            words=words,
            **sizes,
            kv_heads=num_heads if kv_heads is None else kv_heads,
            step=step,
            **texts,
        )

    def choices(self) -> list[int]:
        """The numbers of key heads that the query heads can share, the most first."""
        return [n for n in range(self.num_heads, 0, -1) if self.num_heads % n == 0]

    def numbers(self) -> int:
        """Numbers in all caches after `step` words."""
        return 2 * self.step * self.kv_heads * (self.embed_dim // self.num_heads) * self.num_layers

    def nbytes(self) -> int:
        """Bytes of all caches after `step` words."""
        return self.numbers() * self.number_bytes

    def multiply_adds(self, step: int, *, cached: bool = True) -> int:
        """Multiply-adds of the attention layers at one step, with a cache or without."""
        features = self.embed_dim
        shared = self.kv_heads * features // self.num_heads
        word = 2 * features**2 + 2 * features * shared + 2 * step * features
        return word * (1 if cached else step) * self.num_layers

    def total(self, *, cached: bool = True) -> int:
        """Multiply-adds of all steps up to `step`."""
        return sum(self.multiply_adds(n, cached=cached) for n in range(1, self.step + 1))

    def compute(self) -> dict:
        steps = range(1, len(self.words) + 1)
        kept = 2 * self.step * self.embed_dim * self.num_layers * self.number_bytes
        return {
            "each": [[self.multiply_adds(n), self.multiply_adds(n, cached=False)] for n in steps],
            "numbers": self.numbers(),
            "bytes": self.nbytes(),
            "saved": kept - self.nbytes(),
            "cached": self.total(),
            "again": self.total(cached=False),
        }

    def figure(self) -> Figure:
        figure, ax = plain_axes((6.4, 3.4), self.title or "What each word costs")
        steps = range(1, len(self.words) + 1)
        for cached, style in (
            (False, {"fill": False, "linestyle": "--"}),
            (True, {"color": "#1f4fc4"}),
        ):
            counts = [self.multiply_adds(n, cached=cached) for n in steps]
            label = "with a cache" if cached else "without the cache"
            ax.bar(steps, counts, label=label, **style)
        ax.set_xticks(steps, self.words, rotation=45, ha="right")
        ax.set(ylabel="multiply-adds of this step")
        ax.legend()
        return figure

    def _words(self) -> str:
        return (
            f"Multiply-adds of each of {len(self.words)} steps of writing, with a cache of keys "
            f"and values and without."
        )
