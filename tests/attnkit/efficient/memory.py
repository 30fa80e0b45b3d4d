"""How much memory a computation needs, counted in tensors rather than in a process."""

import weakref
from collections.abc import Callable

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class _Watch(TorchDispatchMode):
    """Shows `see` every tensor that an operation returns, with the operation's arguments."""

    def __init__(self, see: Callable[[torch.Tensor, tuple], None]):
        super().__init__()
        self.see = see

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for x in result if isinstance(result, tuple | list) else [result]:
            if isinstance(x, torch.Tensor):
                self.see(x, args)
        return result


def largest_tensor(computation: Callable[[], object]) -> int:
    sizes = [0]
    with _Watch(lambda x, args: sizes.append(x.untyped_storage().nbytes() // x.itemsize)):
        computation()
    return max(sizes)


def written(computation: Callable[[], object]) -> int:
    sizes = []

    def see(x: torch.Tensor, args: tuple) -> None:
        given = {y.untyped_storage().data_ptr() for y in args if isinstance(y, torch.Tensor)}
        if x.untyped_storage().data_ptr() not in given:
            sizes.append(x.numel())

    with _Watch(see):
        computation()
    return sum(sizes)


class Living(TorchDispatchMode):
    """What operations made of `elements` numbers and nobody has let go, at the last operation."""

    def __init__(self, elements: int):
        super().__init__()
        self.elements, self.made, self.at_last = elements, [], 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.numel() == self.elements:
            self.made.append(weakref.ref(result.untyped_storage()))
        self.at_last = len({x().data_ptr() for x in self.made if x() is not None})
        return result
