"""One decoder whose look is moved: the same parts, and each order depends on what it should."""

import pytest
import torch

from experiments.when_to_look import ORDERS, build


def test_all_orders_have_the_same_parts():
    first, *others = (
        {name: value.shape for name, value in build(order, (9, 9)).state_dict().items()}
        for order in ORDERS
    )
    assert all(other == first for other in others)


@pytest.mark.parametrize(
    ("order", "rows", "words"),
    [
        # The word read at step 1, and what look 1 finds: the first rows and words they change.
        ("before", [2, 3], [1, 2, 3]),
        ("after", [1, 2, 3], [1, 2, 3]),
        ("forgotten", [1, 2, 3], [1, 2, 3]),
    ],
)
def test_a_word_changes_the_looks_that_its_order_says(order, rows, words):
    model, source = _model(order), torch.tensor([[4, 5, 6]])
    told = torch.tensor([[1, 4, 5, 6]])
    other = torch.tensor([[1, 7, 5, 6]])
    with torch.no_grad():
        looks = [model.weights(source, None, one)[0] for one in (told, other)]
        logits = [model(source, None, one)[0] for one in (told, other)]
    assert _moved(*looks) == rows
    assert _moved(*logits) == words


@pytest.mark.parametrize(("order", "words"), [("before", 4), ("after", 4), ("forgotten", 1)])
def test_only_the_one_that_forgets_finds_for_one_word(order, words):
    model = _model(order)
    encoded = model.encoder(torch.tensor([[4, 5, 6]]), None)
    look, added = model.decoder._look, []

    def first_found_is_another(query, memory, need_weights):
        found = look(query, memory, need_weights)
        if added:
            return found
        added.append(torch.zeros_like(found.output, requires_grad=True))
        return found._replace(output=found.output + added[0])

    model.decoder._look = first_found_is_another
    logits = model.decoder(torch.tensor([[1, 4, 5, 6]]), encoded).logits[0]  # (T, V)
    reached = 0
    for row in logits:
        (gradient,) = torch.autograd.grad(row.square().sum(), added, retain_graph=True)
        reached += bool(gradient.abs().sum() > 1e-9)
    assert reached == words


def _model(order):
    torch.manual_seed(0)
    return build(order, (9, 9)).eval()


def _moved(before, after):
    return ((before - after).abs().amax(-1) > 1e-6).nonzero()[:, 0].tolist()
