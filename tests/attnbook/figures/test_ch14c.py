"""The figure of 14c draws the results file."""

import pytest

from attnbook import recorded
from attnbook.figures import ch14c


def test_bars_are_those_of_the_file(shown):
    ch14c.sharing()
    memory, waiting = shown[0].axes
    rows = recorded.results("parallel")["rows"]
    for at, zigzag in enumerate(ch14c.WAYS):
        mine = [row for row in rows if row["zigzag"] == zigzag]
        heights = [bar.get_height() for bar in memory.containers[at]]
        assert heights == [row["mib"]["median"] for row in mine]
        idle = [bar.get_height() for bar in waiting.containers[at]]
        assert idle == pytest.approx([100 * row["forward_idle"]["median"] for row in mine])
