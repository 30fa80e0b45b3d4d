"""What a score costs: every layer computes what its name says."""

import pytest
import torch

from attnbook import recorded
from experiments import score_cost

CPU = torch.device("cpu")


def test_the_tiled_and_the_broadcast_layer_give_the_same():
    torch.manual_seed(0)
    x = torch.randn(2, 128, score_cost.HIDDEN)
    tiled, broadcast = (score_cost.LAYERS[name]() for name in ("additive", "additive, broadcast"))
    broadcast.load_state_dict(tiled.state_dict())
    assert torch.allclose(tiled(x).output, broadcast(x).output, atol=1e-6)


@pytest.mark.parametrize("name", score_cost.LAYERS)
@pytest.mark.parametrize("shape", score_cost.SHAPES)
def test_both_passes_reach_queries_and_keys(name, shape):
    sizes = score_cost.SHAPES[shape] | {"batch": 2}
    grads = score_cost.call(name, **sizes, backward=True, device=CPU)()
    assert len(grads) == 2 + (
        len(list(score_cost.LAYERS[name]().parameters())) if shape != "one step" else 0
    )
    assert all(grad.isfinite().all() and grad.any() for grad in grads)


def test_the_results_in_the_book_are_of_the_shapes_in_the_code():
    written = recorded.results("score_cost")
    assert written["command"] == "python -m experiments.score_cost"
    assert {(row["shape"], row["backward"]) for row in written["rows"]} == {
        (shape, backward) for shape in score_cost.SHAPES for backward in (False, True)
    }
