"""Names that users guess at the top of the package are there, or the error says where to look."""

import subprocess
import sys

import pytest

import attnkit
import attnlab


def test_what_users_reach_for_is_at_the_top():
    from attnkit import efficient, viz
    from attnlab import tasks, training, transformer

    assert attnkit.KVCache is efficient.KVCache
    assert attnlab.Transformer is transformer.Transformer
    assert attnlab.LanguageModel is transformer.LanguageModel
    assert attnlab.Vocab is tasks.Vocab
    assert attnlab.fit is training.fit
    assert attnkit.viz is viz
    assert attnkit.heatmap is viz.heatmap
    assert attnkit.AttentionExplorer is viz.AttentionExplorer


@pytest.mark.build
def test_drawing_is_imported_only_when_it_is_asked_for():
    code = "import sys, attnkit; print('attnkit.viz' in sys.modules, 'matplotlib' in sys.modules);"
    code += "attnkit.viz; print('attnkit.viz' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False", "True"]


def test_a_name_that_is_nowhere_is_python_s_own_error():
    with pytest.raises(AttributeError, match="module 'attnkit' has no attribute 'nonsense'"):
        attnkit.nonsense  # noqa: B018
    assert not hasattr(attnkit, "generate")
