"""Save and load: safetensors for the numbers, JSON for the rest, no pickles.

A file is written under another name and then moved, so a reader finds the old one or the new one,
and never half of one.
"""

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from attnkit.guard import checks


def save_tensors(path: str | Path, tensors: dict[str, Tensor], state: Any = None) -> None:
    """Write tensors and a JSON-able state into one safetensors file, all of it or nothing.

    Args:
        path: of the file. Its folder is made when it is missing.
        tensors: by name. Copies are written, so tensors may share memory.
        state: anything JSON can hold; it goes into the file's header.

    Raises:
        TypeError: `state` holds something that JSON cannot.

    Example:
        >>> import torch
        >>> folder = Path(tempfile.mkdtemp())
        >>> save_tensors(folder / "a.safetensors", {"x": torch.ones(2)}, {"step": 3})
        >>> load_tensors(folder / "a.safetensors")
        ({'x': tensor([1., 1.])}, {'step': 3})
    """
    try:
        metadata = {"state": json.dumps(state)}
    except (TypeError, ValueError) as error:
        checks.fail("state", "numbers, strings, lists and dicts for JSON", str(error), TypeError)
    copies = {name: value.detach().cpu().clone().contiguous() for name, value in tensors.items()}
    replace_file(path, save(copies, metadata))


def load_tensors(path: str | Path) -> tuple[dict[str, Tensor], Any]:
    """Return the tensors, on the CPU, and the state of a file that `save_tensors` wrote.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not a whole safetensors file.

    Example:
        >>> import torch
        >>> path = Path(tempfile.mkdtemp()) / "b.safetensors"
        >>> save_tensors(path, {"x": torch.zeros(1)})
        >>> load_tensors(path)
        ({'x': tensor([0.])}, None)
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"path: expected a safetensors file, got nothing at {path}")
    try:
        with safe_open(path, framework="pt") as file:
            state = json.loads((file.metadata() or {}).get("state", "null"))
            return {name: file.get_tensor(name) for name in file.keys()}, state  # noqa: SIM118
    except SafetensorError as error:
        checks.fail("path", "a whole safetensors file", f"{path}: {error}")
    except ValueError as error:
        checks.fail("path", "a state in JSON in its header", f"{path}: {error}")


def save_json(path: str | Path, value: Any) -> None:
    """Write a JSON file, all of it or nothing; errors as in `to_json`.

    Example:
        >>> path = Path(tempfile.mkdtemp()) / "c.json"
        >>> save_json(path, {"seed": 1})
        >>> load_json(path, ("seed",))
        {'seed': 1}
    """
    replace_file(path, to_json("value", value))


def to_json(name: str, value: Any) -> bytes:
    """The content of a JSON file.

    Args:
        name: of the value in error messages.
        value: strings, lists, dicts, and numbers of Python's or NumPy's.

    Raises:
        TypeError: there is something else in it.
        ValueError: half a character, which no file can hold.

    Example:
        >>> to_json("value", {"é": 1})
        b'{\\n "\\xc3\\xa9": 1\\n}'
    """
    try:
        text = json.dumps(value, ensure_ascii=False, indent=1, default=_number)
        return text.encode()
    except TypeError as error:
        checks.fail(name, "strings, numbers, lists and dicts for JSON", str(error), TypeError)
    except ValueError as error:
        checks.fail(name, "text that a file can hold", str(error))


def _number(value: Any) -> int | float:
    if isinstance(value, np.generic) and isinstance(value.item(), int | float):
        return value.item()
    raise TypeError(f"{type(value).__name__} {value!r}")


def load_json(path: str | Path, keys: Sequence[str]) -> dict[str, Any]:
    """Read a JSON file that `save_json` wrote.

    Args:
        path: of the file, which is there.
        keys: that it must hold.

    Raises:
        ValueError: it is not JSON, or lacks a key.

    Example:
        >>> path = Path(tempfile.mkdtemp()) / "f.json"
        >>> save_json(path, {"seed": 1})
        >>> load_json(path, ["seed"])
        {'seed': 1}
    """
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        checks.fail("path", "a whole JSON file", f"{path}: {error}")
    if not isinstance(value, dict) or not set(keys) <= set(value):
        found = ", ".join(value) if isinstance(value, dict) else type(value).__name__
        checks.fail("path", f"a JSON file with {', '.join(keys)}", f"{path} with {found}")
    return value


def load_weights(model: nn.Module, path: str | Path) -> Any:
    """Put the weights of a file into `model`, and return the state that was saved with them.

    Raises:
        FileNotFoundError: there is no such file.
        TypeError: `model` is not a module.
        ValueError: the file is broken, or its weights are not those of this model.

    Example:
        >>> path, model = Path(tempfile.mkdtemp()) / "d.safetensors", nn.Linear(2, 2)
        >>> save_tensors(path, dict(model.state_dict()), "epoch 3")
        >>> load_weights(nn.Linear(2, 2), path)
        'epoch 3'
    """
    checks.instance("model", model, nn.Module, "an nn.Module")
    tensors, state = load_tensors(path)
    put_weights(model, tensors)
    return state


def put_weights(model: nn.Module, tensors: dict[str, Tensor], *, assign: bool = False) -> None:
    """Put tensors into `model` by name, all of them or none.

    Args:
        model: any module.
        tensors: one for each name of the model's `state_dict`.
        assign: make the tensors themselves the weights, and no copies: for a model on the meta
            device. Tied weights are then tied no more.

    Raises:
        ValueError: a name is missing, surplus, or has another shape.

    Example:
        >>> import torch
        >>> model = nn.Linear(1, 1)
        >>> put_weights(model, {"weight": torch.ones(1, 1), "bias": torch.zeros(1)})
        >>> model.weight.item()
        1.0
    """
    own = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    given = {name: tuple(value.shape) for name, value in tensors.items()}
    differ = sorted(name for name in own | given if own.get(name) != given.get(name))
    if differ:
        name = differ[0]
        checks.fail(
            "weights",
            f"those of this model ({name}: {own.get(name, 'none')})",
            f"{name}: {given.get(name, 'none')}, and {len(differ) - 1} more that differ",
        )
    model.load_state_dict(tensors, assign=assign)


def replace_file(path: str | Path, content: bytes) -> None:
    """Write a file, all of it or nothing: a reader finds the old content or the new.

    Example:
        >>> path = Path(tempfile.mkdtemp()) / "e.txt"
        >>> replace_file(path, b"whole")
        >>> path.read_bytes()
        b'whole'
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
