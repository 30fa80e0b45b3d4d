"""The README's recipes run as they stand, and give what they say."""

from __future__ import annotations

import re

import pytest

from booktools.address import ROOT

README = (ROOT / "README.md").read_text("utf8")
RECIPES = dict(
    re.findall(
        r"^\*\*([^*]+?)\.?\*\*[^\n]*(?:\n[^\n`]+)*\n\n```python\n(.*?)```", README, re.M | re.S
    )
)


def run(title: str) -> dict:
    """What a recipe defines."""
    names: dict = {}
    exec(compile(RECIPES[title], f"README: {title}", "exec"), names)
    return names


def test_there_are_eight_recipes_and_two_commands():
    assert len(RECIPES) == 8 == README.count("```python")
    assert re.findall(r"^make (\w+) ", README, re.M) == ["book", "test"]


def test_attend_and_replace():
    assert run("Attend")["weights"].sum(-1).sub(1).abs().max() < 1e-6
    assert run("Replace a module of PyTorch")["difference"] < 1e-6


@pytest.mark.build
def test_translate():
    translation = run("Translate")["translation"]
    assert translation.text
    rows, columns = translation.weights.shape
    assert (rows, columns) == (len(translation.target), len(translation.source))


def test_load():
    translator = run("Load a trained translator")["translator"]
    assert translator("I don't like coffee.", beam_size=5) == "je n'aime pas le café."
    assert "je n'aime pas le café." in RECIPES["Load a trained translator"]


@pytest.mark.build
def test_summarize():
    names = run("Summarize")
    summary = names["summary"]
    assert len(summary.sentences) == len(summary.chosen) == 3
    assert len(summary.weights) == len(names["documents"][0].sentences)
    assert abs(sum(summary.weights) - 1) < 1e-5


def test_record():
    calls = run("Record the weights")["calls"]
    assert [call["weights"].shape for call in calls] == [(1, 4, 6, 6)] * 2
    assert len({call.module for call in calls}) == 2


def test_test():
    run("Test")  # silent, since PyTorch's own module is right
    wrong = RECIPES["Test"].replace("nn.MultiheadAttention(16, num_heads=4)", "lambda q, k, v: v")
    with pytest.raises(AssertionError, match="assert_causal: query 1 does not see key 0"):
        exec(wrong, {})


def test_explore():
    explorer = run("Explore")["explorer"]
    assert explorer.values().shape == (4, 5, 5)
    assert explorer.visible().sum() == pytest.approx(15)
