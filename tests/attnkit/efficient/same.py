"""What the tests of efficient forms compare with: another form, in values and gradients."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def drawn(*shapes: tuple[int, ...], seed: int, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    """Normal numbers, drawn in float64 whatever the dtype, that want a gradient."""
    generator = torch.Generator().manual_seed(seed)
    made = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]
    return [x.to(dtype).requires_grad_() for x in made]


def random(*shape: int) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(5))


def assert_same(
    form: Callable[..., Tensor],
    other: Callable[..., Tensor],
    inputs: Sequence[Tensor],
    tolerance: float = 1e-10,
    *,
    relative: bool = False,
) -> None:
    """Outputs and gradients of both are within so much, if `relative` of the largest number."""
    results = []
    for call in (form, other):
        output = call(*inputs)
        weight = torch.cos(torch.arange(output.numel(), dtype=output.dtype)).view(output.shape)
        results.append((output, *torch.autograd.grad((output * weight).sum(), inputs)))
    for mine, theirs in zip(*results, strict=True):
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
        assert mine.isfinite().all()
        unit = max(1.0, theirs.abs().max().item()) if relative else 1.0
        assert (mine - theirs).abs().max().item() <= tolerance * unit
