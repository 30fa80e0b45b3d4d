"""What only the book needs: exercise checkers, recorded results, its style.

It ships with attnkit, since Colab installs one thing, and attnkit knows nothing of it.
"""

from attnbook import arithmetic, exercises, machines, recorded

arithmetic.hold_in_notebooks()

__all__ = ["exercises", "machines", "recorded"]
