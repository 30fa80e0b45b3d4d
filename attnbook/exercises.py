"""Exercise checkers: running an answer and reporting the result."""

import functools
import inspect
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

__all__ = ["Borrowed", "Unanswered", "Verdict", "ask", "checker", "compare", "unaided"]


class Unanswered(Exception):
    """The reader's function still returns `...`. Raised by :func:`ask`.

    >>> from attnbook.exercises import Unanswered, ask
    >>> try:
    ...     ask(lambda x: ..., 1)
    ... except Unanswered:
    ...     print("not written yet")
    not written yet
    """


class Borrowed(Exception):
    """The reader's function called a ready-made one; the message is its name.

    Raised within :func:`unaided`.

    >>> import torch
    >>> from attnbook.exercises import Borrowed, unaided
    >>> x = torch.ones(2, 3)
    >>> with unaided():
    ...     try:
    ...         torch.nn.functional.scaled_dot_product_attention(x, x, x)
    ...     except Borrowed as error:
    ...         print(error)
    scaled_dot_product_attention
    """


class Forgotten(Exception):
    """The reader's function returned `None`. Raised by :func:`ask`."""


class Verdict(NamedTuple):
    """What a check finds: whether the answer is right, and the words that it prints."""

    right: bool
    words: str


class _Unaided(TorchFunctionMode):
    def __init__(self, allow: Iterable[str]) -> None:
        super().__init__()
        self.allow = tuple(allow)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = _called_of_attnkit() or (func.__name__ if "attention" in func.__name__ else "")
        if name and not any(name == a or name.startswith(f"{a}.") for a in self.allow):
            raise Borrowed(name)
        return func(*args, **(kwargs or {}))


def _called_of_attnkit() -> str:
    """The full name of the function of attnkit that the reader's code called, or an empty text."""
    # Outwards from where torch was called; what called the reader's code is this module.
    name, frame = "", inspect.currentframe().f_back.f_back
    while frame and (module := frame.f_globals.get("__name__", "")) != __name__:
        if module.split(".")[0] in ("attnkit", "attnlab"):
            name = f"{module}.{frame.f_code.co_qualname}"
        frame = frame.f_back
    return name


def unaided(allow: Iterable[str] = ()) -> AbstractContextManager:
    """A context in which the ready-made functions of torch and attnkit refuse to run.

    These are torch's functions with "attention" in their name, also when a module such as
    `nn.MultiheadAttention` calls them, and everything in attnkit that calls torch.

    Args:
        allow: exceptions: names of torch's functions, and full names of modules or functions of
            attnkit, together with whatever these call.

    Raises:
        Borrowed: within the context, on such a call.

    >>> import torch, attnkit
    >>> from attnbook.exercises import ask, checker, unaided
    >>> def check(answer, allow=()):
    ...     @checker(1)
    ...     def first_problem(answer):
    ...         with unaided(allow):
    ...             ask(answer, torch.ones(2, 3))
    ...     first_problem(answer)
    >>> check(lambda x: (x @ x.T).softmax(-1) @ x)
    Exercise 1: right.
    >>> check(attnkit.masked_softmax)
    Exercise 1: not yet. It calls a ready-made function: attnkit.functional.masked_softmax.
    >>> check(attnkit.masked_softmax, allow=["attnkit.functional"])
    Exercise 1: right.
    """
    return _Unaided(allow)


def ask(answer: Callable, *inputs: Any, copy: bool = True) -> Any:
    """Call the reader's function, and detect when it has not been written.

    Args:
        answer: the reader's function.
        inputs: what to call it with.
        copy: pass copies of the tensors, also of those in tuples and lists, so that an answer that
            modifies its inputs cannot spoil the check. Pass `False` to test whether the answer
            modifies its inputs.

    Returns:
        What the function returns.

    Raises:
        Unanswered: it returns `...`, or a tuple of nothing else.
        Forgotten: it returns `None`.

    >>> import torch
    >>> from attnbook.exercises import ask
    >>> x = torch.tensor([1.0, 2.0])
    >>> ask(lambda x: x.mul_(2), x), x
    (tensor([2., 4.]), tensor([1., 2.]))
    """
    result = answer(*(_copied(x) if copy else x for x in inputs))
    parts = result if isinstance(result, tuple) and result else (result,)
    if all(part is ... for part in parts):
        raise Unanswered
    if result is None:
        raise Forgotten
    return result


def _copied(x: Any) -> Any:
    if type(x) in (tuple, list):
        return type(x)(map(_copied, x))
    return x.clone() if isinstance(x, Tensor) else x


def compare(got: Any, expected: Tensor, tolerance: float, what: str) -> str | None:
    """A sentence that says how an answer differs from the expected tensor.

    Args:
        got: the answer, which may be anything.
        expected: the right tensor, of any shape.
        tolerance: the largest difference allowed of any entry, in the entries' own units.
        what: name of the case, with which the sentence begins.

    Returns:
        The sentence, or `None` if `got` has the shape of `expected`, is finite and close to it.

    >>> import torch
    >>> from attnbook.exercises import compare
    >>> compare(torch.tensor([1.0, 2.5]), torch.tensor([1.0, 2.0]), 1e-6, "two numbers")
    'two numbers: off by up to 0.5.'
    """
    if not isinstance(got, Tensor):
        return f"{what}: expected a tensor, got {type(got).__name__}."
    if got.shape != expected.shape:
        return f"{what}: expected shape {tuple(expected.shape)}, got {tuple(got.shape)}."
    if not torch.isfinite(got).all():
        return f"{what}: the result holds NaN or Inf."
    worst = (got.double() - expected.double()).abs().max().item() if got.numel() else 0.0
    return None if worst <= tolerance else f"{what}: off by up to {worst:.1g}."


def checker(number: int) -> Callable[[Callable], Callable[[Callable], None]]:
    """Turn a function that returns the first problem of an answer into one that reports it.

    Args:
        number: of the exercise, for the report.

    Returns:
        A decorator. What it decorates is called with the reader's function, calls it by
        :func:`ask`, and returns the first problem as a sentence, or `None`. What comes out prints
        one line and stops for nothing: an error of the reader's function is a problem as well.
        Its `verdict` returns the same as a :class:`Verdict`, for who gives marks.

    >>> from attnbook.exercises import ask, checker
    >>> @checker(2)
    ... def check_double(answer):
    ...     for n in (1, 5):
    ...         if ask(answer, n) != 2 * n:
    ...             return f"Twice {n} is {2 * n}."
    >>> check_double(lambda n: ...)
    Exercise 2: no answer yet.
    >>> check_double(lambda n: n + 1)
    Exercise 2: not yet. Twice 5 is 10.
    >>> check_double(lambda n: n / 0)
    Exercise 2: not yet. It raised ZeroDivisionError: division by zero
    >>> check_double(lambda n: n + n)
    Exercise 2: right.
    >>> check_double.verdict(lambda n: n)
    Verdict(right=False, words='Exercise 2: not yet. Twice 1 is 2.')
    """

    def wrap(first_problem: Callable) -> Callable[[Callable], None]:
        def verdict(answer: Callable) -> Verdict:
            try:
                problem = first_problem(answer)
            except Unanswered:
                return Verdict(False, f"Exercise {number}: no answer yet.")
            except Forgotten:
                problem = "It returned None: is a `return` missing?"
            except Borrowed as error:
                problem = f"It calls a ready-made function: {error}."
            except Exception as error:
                problem = f"It raised {type(error).__name__}: {error}"
            words = "right." if problem is None else f"not yet. {problem}"
            return Verdict(problem is None, f"Exercise {number}: {words}")

        @functools.wraps(first_problem)
        def check(answer: Callable) -> None:
            print(verdict(answer).words)

        check.verdict = verdict
        return check

    return wrap
