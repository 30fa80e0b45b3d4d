"""The experiment on positions: its tasks are what they say, and no kind looks ahead."""

import pytest
import torch

from experiments import positions, positions_controls


def draw(task, length=12, size=64):
    generator = torch.Generator().manual_seed(0)
    return positions.batch(task, size, length, generator)


def rows(task):
    symbols, answers = draw(task)
    return zip(symbols.tolist(), answers.tolist(), strict=True)


def test_latest_asks_at_a_blank_for_the_symbol_before_it():
    for symbols, answers in rows("latest"):
        latest = None
        for symbol, answer in zip(symbols, answers, strict=True):
            if symbol == positions.MARKER:
                assert answer == latest
            else:
                assert answer == positions.NOTHING
                latest = symbol


def test_back_asks_for_the_symbol_three_places_back():
    for symbols, answers in rows("back"):
        assert answers == [positions.NOTHING] * positions.BACK + symbols[: -positions.BACK]


def test_marker_asks_for_what_stood_three_places_before_it():
    for symbols, answers in rows("marker"):
        assert symbols.count(positions.MARKER) == 1
        place = symbols.index(positions.MARKER)
        wanted = symbols[place - positions.BACK]
        left = len(symbols) - place
        assert answers == [positions.NOTHING] * place + [wanted] * left


@pytest.mark.parametrize("task", positions.TASKS)
def test_what_is_scored_stands_at_the_end(task):
    answers = draw(task)[1]
    scored = positions.asked_at_the_end(task, answers)
    asked = scored != positions.NOTHING
    assert asked.any()
    assert torch.equal(scored[asked], answers[asked])
    if task in ("latest", "back"):
        assert not asked[:, :-4].any()
    if task == "marker":
        assert asked[:, -1].all()
        assert not asked[:, :-1].any()


@pytest.mark.parametrize("kind", positions.POSITIONS)
def test_no_kind_lets_a_reader_see_what_comes(kind):
    torch.manual_seed(0)
    model = positions.Reader(kind).eval()
    symbols = torch.randint(positions.SYMBOLS, (2, 10))
    changed = symbols.clone()
    changed[:, 6:] = (changed[:, 6:] + 1) % positions.SYMBOLS
    with torch.no_grad():
        first, second = model(symbols), model(changed)
    assert torch.allclose(first[:, :6], second[:, :6], atol=1e-5)
    assert not torch.allclose(first[:, 6:], second[:, 6:], atol=1e-2)


def test_silenced_clocks_are_zero_and_the_others_as_before():
    rotary = (model := positions.Reader("rotary")).scheme.rotary
    given = torch.randn(1, 4, 10, 16)  # (B, H, L, D): eight clocks
    before = rotary(given)
    handle = positions_controls.silence(model, (1, 7, 20))
    cut = rotary(given).unflatten(-1, (8, 2))
    assert not cut[..., [1, 7], :].any()
    kept = [0, *range(2, 7)]
    assert torch.equal(cut[..., kept, :], before.unflatten(-1, (8, 2))[..., kept, :])
    handle.remove()
    assert torch.equal(rotary(given), before)


def test_answers_are_counted_by_how_far_back_their_symbol_stands():
    def copies(symbols):  # names the symbol five back
        return torch.nn.functional.one_hot(symbols.roll(5, 1), positions.SYMBOLS).float()

    shares = positions_controls.named(copies, 0, torch.device("cpu"))
    assert shares[5] == 1
    assert max(shares[:5] + shares[6:]) < 0.1
