"""Checks of the exercises of chapter 15."""

import torch

from attnbook.exercises import ask, checker, compare


@checker(1)
def check_effects(answer):
    generator = torch.Generator().manual_seed(1)
    more = torch.randn(5, 4, 2, generator=generator)  # (items, frames, 2)
    subject = torch.tensor([1.0, -1.0, 1.0, -1.0])
    referent = torch.tensor([1.0, -1.0])
    expected = torch.stack(
        [
            (more * referent).mean((1, 2)),
            (more * subject[:, None]).mean((1, 2)),
        ],
        -1,
    )  # (items, 2)
    got = ask(answer, more, subject)
    return compare(got, expected, 1e-6, "referent and subject of 5 items")


def stack(layers, heads, length, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(layers, heads, length, length, generator=generator).softmax(-1)


@checker(2)
def check_rollout(answer):
    for layers, heads, length in ((1, 1, 3), (3, 2, 5)):
        weights = stack(layers, heads, length, 2)
        expected = torch.eye(length)
        for layer in weights:
            expected = (layer.mean(0) + torch.eye(length)) / 2 @ expected
        got = ask(answer, weights)
        if problem := compare(got, expected, 1e-5, f"{layers} layers, {heads} heads"):
            return problem


@checker(3)
def check_without_sink(answer):
    generator = torch.Generator().manual_seed(3)
    for shape in ((2, 3, 4, 4), (3, 5), (2, 4, 6)):
        weights = torch.randn(shape, generator=generator).softmax(-1)
        weights[..., 1, :] = torch.eye(shape[-1])[0]
        expected = weights.clone()
        expected[..., 0] = 0
        total = expected.sum(-1, keepdim=True)
        expected = torch.where(total > 0, expected / total, 0.0)
        got = ask(answer, weights)
        if problem := compare(got, expected, 1e-5, f"weights {shape}"):
            return problem


@checker(4)
def check_next_word(answer):
    layer, head = ask(answer)
    if (layer, head) != (1, 8):
        return (
            f"Layer {layer}, head {head} does not give the word after it the most weight. In the "
            "explorer, show all heads: which has its dark cells just above the diagonal?"
        )
