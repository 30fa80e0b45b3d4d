"""The figures of page 11 draw what is recorded."""

import numpy as np
import pytest

from attnbook import recorded
from attnbook.figures import ch11
from attnlab import pretrained, tasks

MINILM = "all-MiniLM-L6-v2"


def test_the_histograms_are_of_the_claims_once_and_with_a_sentence_twice(draw):
    rows = ch11.kinds()
    kinds = (("said", "not said"), ("said twice", "not said, a stranger twice"))
    panels = iter(draw(ch11.sure))
    for pair in kinds:
        for name in ("cosine", "weight"):
            for drawn, kind in zip(next(panels).patches, pair, strict=True):
                heights, edges, _ = drawn.get_data()
                counts, _ = np.histogram(rows[kind][name], edges)
                assert counts.sum() == 774
                assert list(heights) == pytest.approx(list(counts / counts.max()))


def test_a_threshold_flags_what_is_below_it(draw):
    (ax,) = draw(ch11.curve)
    *curves, mark = ax.lines
    assert set(mark.get_xdata()) == {ch11.machine().threshold}
    for line, kind in zip(curves, ch11.KINDS, strict=True):
        x, y = line.get_data()
        cosines = ch11.kinds()[kind]["cosine"]
        below = 100 * sum(c < 0.5 for c in cosines) / len(cosines)
        assert (x[50], y[50]) == pytest.approx((0.5, below))
        assert list(y) == sorted(y)
        assert any(f"({len(cosines)} claims)" in text.get_text() for text in ax.texts)


def test_a_sentence_stands_at_its_rouge(draw):
    (ax,) = draw(ch11.first)
    rows = {row["method"]: row["rouge1"] for row in recorded.results("docstrings")["rows"]}
    for place, name in enumerate(ch11.METHODS):
        ends, mean = ax.lines[2 * place : 2 * place + 2]
        assert mean.get_xdata()[0] == pytest.approx(100 * rows[name]["mean"])
        assert list(ends.get_xdata()) == [100 * rows[name][end] for end in ("low", "high")]


def test_every_seed_of_the_choosers_is_drawn(draw):
    (ax,) = draw(ch11.chooser)
    run = recorded.results("summaries")
    tests = next(row["precision"] for row in run["rows"])
    assert [len(line.get_xdata()) for line in ax.lines] == [5] * 2 * len(tests)


@pytest.mark.skipif(not pretrained.available(MINILM), reason="needs the reader")
def test_the_last_of_the_layers_gives_the_readers_own_cosines(capsys):
    ch11.by_layer()
    (row,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("     6 "))
    vectors = pretrained.load(MINILM).embed([ch11.BOIL, *tasks.split_sentences(ch11.KETTLE)])
    cosines = (vectors[1:] @ vectors[0]).tolist()
    assert [float(cell) for cell in row.split()[1:]] == pytest.approx(cosines, abs=0.0051)
