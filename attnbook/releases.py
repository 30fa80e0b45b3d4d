"""What released models keep of the text they read, from `releases.toml`, and what that costs.

A step writes one token for each reader. It reads the weights once and every reader's cache, and
does its arithmetic meanwhile; a ceiling on its speed takes the longer of the two and nothing else.
"""

import math
import re
import tomllib
from pathlib import Path

UNKNOWN = "unknown"
KINDS = ("full", "window", "latent", "chosen", "state")

DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
STAMP = DATA["stamp"]
CHIPS = {chip["id"]: chip for chip in DATA["chips"]}

UPDATE = 7
"""Operations for each number of a state: it fades, is read, is written, and answers a query."""


def _product(*factors: float | str) -> float | None:
    return None if UNKNOWN in factors else math.prod(factors)


def terms(layer: dict) -> dict:
    """A layer in numbers that need no names, None for what is unknown.

    `numbers` an entry, one entry for `stride` tokens (0: none) and for each of the last `window`;
    a step reads the `top` of the former (0: all) and `index` numbers of each; `work` and `indexing`
    are operations for an entry and for an index.
    """
    kind, heads = layer["kind"], layer.get("heads")
    stride, window = layer.get("stride", 1), layer.get("window", 0)
    if kind == "state":
        numbers = math.prod((heads, layer["key"], layer["value"]))
        stride, window, work = 0, 1, UPDATE * numbers
    elif kind in ("full", "window"):
        numbers = _product(2, layer["kv_heads"], layer["head"])
        work = _product(4, heads, layer["head"])
        stride = 1 if kind == "full" else 0
    elif "shared" in layer:
        numbers, work = layer["shared"], _product(4, heads, layer["shared"])
    else:
        numbers = layer["latent"] + layer["rotary"]
        work = _product(2, heads, numbers + layer["latent"])
    return {
        "kind": kind,
        "numbers": numbers,
        "stride": stride,
        "window": None if window == UNKNOWN else window,
        "top": layer.get("top", 0),
        "index": layer.get("index", 0),
        "work": work,
        "indexing": _product(2, layer.get("index_heads", 0), layer.get("index", 0)),
    }


def _model(entry: dict) -> dict:
    known = {
        name: None if entry.get(name) == UNKNOWN else entry.get(name)
        for name in ("parameters", "active", "experts", "chosen", "context")
    }
    order, layers = entry["order"], []
    if order != UNKNOWN:
        letters = [letter for times, run in order for letter in run * times]
        layers = [
            terms(entry["layers"][letter])
            | {"places": [at for at, one in enumerate(letters) if one == letter]}
            for letter in sorted(entry["layers"])
        ]
    known["active"] = known["active"] or known["parameters"]
    known["bits"] = entry.get("bits")
    if "size" in entry:
        known["bits"] = 8 * entry["size"] / entry["parameters"]
    return {key: entry[key] for key in ("id", "name", "date")} | known | {"layers": layers}


MODELS = {entry["id"]: _model(entry) for entry in DATA["models"]}
"""The models in the order of their release, each with its layers in `terms`."""


OWN = "layers=32 full=8 window=1024 kv_heads=8 head_dim=128 billions=8"
"""A model in words."""

_FIELD = re.compile(r"([a-z_]+) ?[=:] ?([0-9]+(?:[.][0-9]+)?)")
MOST_LAYERS = 512


def own(text: str) -> dict:
    """The model that these words describe, as one of `MODELS`.

    `layers`, of which `full` keep the whole text, spread evenly: `kv_heads` of `head_dim` features,
    or a `latent` of so many numbers. The others keep the last `window` tokens, or a `state` of so
    many numbers. `billions`: its parameters. What is missing, or zero, is unknown.
    """
    found = {name: min(float(value), 1e9) for name, value in _FIELD.findall(text.lower())}
    said = {name: value for name, value in found.items() if value}
    count = int(min(said.get("layers", 0), MOST_LAYERS))
    full = int(min(said.get("full", 0 if "full" in found else count), count))
    shape = (said.get("kv_heads"), said.get("head_dim"))
    entry = said.get("latent") or (None if None in shape else math.prod((2, *shape)))
    whole = {"kind": "latent" if "latent" in said else "full", "numbers": entry, "stride": 1}
    rest = {"kind": "window", "numbers": entry, "stride": 0, "window": said.get("window")}
    if "state" in said:
        rest |= {"kind": "state", "numbers": said["state"], "window": 1}
    places: tuple[list[int], list[int]] = ([], [])
    for at in range(count):
        places[(at + 1) * full // count == at * full // count].append(at)
    unknown = {"window": 0, "top": 0, "index": 0, "work": None, "indexing": 0}
    layers = [
        unknown | layer | {"places": where}
        for layer, where in zip((whole, rest), places, strict=True)
        if where
    ]
    model = {"id": "own", "name": "Your model", "date": "", "layers": layers}
    model |= dict.fromkeys(("experts", "chosen", "context", "bits"))
    return model | {name: said.get("billions") for name in ("parameters", "active")}


def stored(model: dict, weight_bits: int) -> float:
    """Bits of a weight; with 0, those that it was published in, and 16 where no source says."""
    return weight_bits or model["bits"] or 16


LONGEST = 2**30


def longest(model: dict, room: float, cache_bits: int) -> int:
    """The most tokens, up to `LONGEST`, of which one reader's cache fits into so many bytes."""
    low, high = 0, LONGEST
    while low < high:
        middle = (low + high + 1) // 2
        kept = math.fsum(len(layer["places"]) * _in(layer, middle)[0] for layer in model["layers"])
        low, high = (middle, high) if kept * cache_bits / 8 <= room else (low, middle - 1)
    return low


def total(values: list[float | None]) -> float | None:
    """The sum, or None where a part of it is unknown; of nothing, too."""
    return None if not values or None in values else math.fsum(values)


def entries(layer: dict, context: int) -> tuple[float, float] | None:
    """Entries of one reader for the whole text, and for its last tokens."""
    if layer["window"] is None:
        return None
    return context / layer["stride"] if layer["stride"] else 0, min(context, layer["window"])


def _in(layer: dict, context: int) -> tuple[float | None, float | None, float | None]:
    """Numbers kept by a layer, numbers that a step reads, and its operations."""
    if layer["numbers"] is None or (found := entries(layer, context)) is None:
        return None, None, None
    far, near = found
    seen = min(far, layer["top"] or far) + near
    kept, read = far + near, seen * (2 if layer["kind"] == "state" else 1)  # read and written
    indices, work, indexing = layer["index"] * far, layer["work"], layer["indexing"]
    done = None if None in (work, indexing) else work * seen + indexing * far
    return layer["numbers"] * kept + indices, layer["numbers"] * read + indices, done


def weights_read(model: dict, readers: int) -> float | None:
    """Parameters, in billions, of which a step has a use: an expert is read if anyone calls it.

    Each reader calls `chosen` of the `experts`, independently and any as likely as another.
    """
    whole, active, experts = model["parameters"], model["active"], model["experts"]
    if not experts or whole is None:
        return whole
    # What is not active for one reader is its share of the experts that it does not call.
    return whole - (whole - active) * (1 - model["chosen"] / experts) ** (readers - 1)


def cost(
    model: dict,
    chip: dict,
    *,
    context: int,
    readers: int = 1,
    weight_bits: int = 16,
    cache_bits: int = 16,
) -> dict[str, float | str | None]:
    """Memory and time of a step, None where a number that it needs is unknown.

    Args:
        model: one of `MODELS`.
        chip: one of `CHIPS`; as many as the memory asks for share everything evenly, and talk to
            each other in no time.
        context: tokens that each reader's text has.
        readers: texts written at once.
        weight_bits, cache_bits: of each number; 0 for weights as they were published.

    Returns:
        Bytes: `token` for each further token of a reader, `cache` of a reader, `weights`. Numbers
        of `chips`; tokens of the `longest` text of one reader on one chip, and the `most` readers
        of `context` tokens there. Seconds: `load` to read the weights that are needed, `fetch` to
        read the caches, `compute`, and `step`, the longer of load + fetch and compute; `bound`:
        "memory" or "compute", and None where it is unknown which.
    """
    layers = [layer for layer in model["layers"] for _ in layer["places"]]
    kept, read, done = (
        total([_in(layer, context)[which] for layer in layers]) for which in range(3)
    )
    grown = total(
        [
            None if layer["numbers"] is None or layer["window"] is None
            else (layer["numbers"] + layer["index"]) / layer["stride"] if layer["stride"] else 0
            for layer in layers
        ]
    )  # fmt: skip
    token, cache, fetched = (
        None if numbers is None else numbers * cache_bits / 8 for numbers in (grown, kept, read)
    )
    whole, used = model["parameters"], weights_read(model, readers)
    weight_bits = stored(model, weight_bits)
    weights = None if whole is None else 1e9 * whole * weight_bits / 8
    found = {"token": token, "cache": cache, "weights": weights}
    rest = dict.fromkeys(("chips", "longest", "most", "load", "fetch", "compute", "step", "bound"))
    if cache is None or weights is None:
        return found | rest
    count = math.ceil((weights + readers * cache) / (1e9 * chip["memory"]))
    load = 1e9 * used * weight_bits / 8 / (count * 1e12 * chip["bandwidth"])
    fetch = readers * fetched / (count * 1e12 * chip["bandwidth"])
    compute = None
    if done is not None:
        compute = readers * (2e9 * model["active"] + done) / (count * 1e12 * chip["compute"])
    step = max(load + fetch, compute or 0)
    room = 1e9 * chip["memory"] - weights
    bound = None if compute is None else "memory" if load + fetch >= compute else "compute"
    return found | {
        "chips": count,
        "longest": longest(model, room, cache_bits),
        "most": max(math.floor(room / cache), 0),
        "load": load,
        "fetch": fetch,
        "compute": compute,
        "step": step,
        "bound": bound,
    }


UNITS = {"kB": 1e3, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "GB": 1e9, "ms": 1e-3}


def checked() -> list[dict]:
    """The published figures, each with what `cost` says instead, in the same unit: `ours`."""
    rows = []
    for row in DATA["checked"]:
        asked = {
            name: row[name] for name in ("readers", "weight_bits", "cache_bits") if name in row
        }
        model, chip = MODELS[row["model"]], CHIPS[row.get("chip", "h100")]
        found = cost(model, chip, context=row.get("context", 1024), **asked)
        found["total"] = found["weights"] + asked.get("readers", 1) * found["cache"]
        rows.append(row | {"name": model["name"], "ours": found[row["what"]] / UNITS[row["unit"]]})
    return rows
