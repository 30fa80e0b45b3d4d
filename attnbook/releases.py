"""What released models keep of the text they read, from `releases.toml`, and what that costs.

A step writes one token for each reader. It reads the weights once and every reader's cache, and
does its arithmetic meanwhile; a ceiling on its speed takes the longer of the two and nothing else.
"""

import json
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


OWN = "billions=8 layers=32 full=8 window=1024 kv_heads=8 head_dim=128"
"""A model in words."""

CONFIG = {
    "inside": ["text_config", "llm_config", "language_config"],
    "names": [
        ["n_layer", "layers"], ["num_hidden_layers", "layers"],
        ["n_head", "heads"], ["num_attention_heads", "heads"],
        ["n_embd", "width"], ["hidden_size", "width"],
        ["num_key_value_heads", "kv_heads"], ["head_dim", "head_dim"],
        ["kv_lora_rank", "latent"], ["qk_rope_head_dim", "rotary"],
        ["index_head_dim", "index"], ["index_topk", "top"],
        ["sliding_window_size", "window"], ["attention_chunk_size", "window"],
        ["sliding_window", "window"], ["no_rope_layer_interval", "every"],
        ["attn_layer_period", "every"], ["full_attention_interval", "every"],
        ["sliding_window_pattern", "every"], ["attn_layer_indices", "places"],
        ["linear_attn_config.full_attn_layers", "places"],
    ],
    "kinds": {
        "layer_types": {
            "full_attention": "full", "attention": "full", "sliding_attention": "window",
            "chunked_attention": "window", "linear_attention": "state", "mamba": "state",
        },
        "layers_block_type": {"attention": "full", "mamba": "state", "moe": "", "mlp": ""},
        "hybrid_override_pattern": {"*": "full", "M": "state", "-": "", "E": ""},
        "attn_type_list": {"1": "full", "0": "state"},
        "no_rope_layers": {"0": "full", "1": "window"},
    },
    "states": {
        "linear_num_value_heads": ["linear_num_value_heads", "linear_key_head_dim",
                                   "linear_value_head_dim"],
        "linear_attn_config": ["linear_attn_config.num_heads", "linear_attn_config.head_dim",
                               "linear_attn_config.head_dim"],
        "mamba_num_heads": ["mamba_num_heads", "mamba_head_dim", "ssm_state_size"],
        "mamba_n_heads": ["mamba_n_heads", "mamba_d_head", "mamba_d_state"],
        "mamba_d_state": ["mamba_expand", "hidden_size", "mamba_d_state"],
        "state_size": ["expand", "hidden_size", "state_size"],
        "attn_type_list": ["num_attention_heads", "head_dim", "head_dim"],
    },
    "types": {
        "gemma2": {"every": 2},
        "gemma3_text": {"every": 6, "heads": 8, "kv_heads": 4, "head_dim": 256},
        "gpt_oss": {"every": 2},
        "llama4_text": {"every": 4},
        **{name: {"every": 1000}  # none is
           for name in ("mistral", "mamba", "mamba2", "falcon_mamba")},
    },
    "notes": {
        "most": "; at most so: a window alone does not say which layers have it",
        "unread": "; cache unknown until you delete this note from the line, not understood: ",
        "broken": "; not a whole config.json",
    },
}  # fmt: skip
"""How a config.json of Hugging Face is read, here and on the page.

`names`: which fields say what; the last that is there counts. `kinds`: of fields that list
the layers, the kind that an entry means, none for a layer that keeps nothing. `states`: the factors
of a state's size, by the field that shows that there are states. `types`: what a `model_type` takes
where its file is silent, as its code in transformers does; `every`: the last of so many is full.
`matters`, below: names of fields that are not read, and may yet be about what is kept.
"""

_MATTERS = (
    "attn|attention|window|kv_|layer_types|block_type|period|pattern|compress|index_|indexer|mamba"
    "|ssm|linear_|global_head|hybrid|multi_query"
)
_HARMLESS = (
    "bias|drop|softcap|gate|implementation|num_attention_heads|scal|norm|expert|temp|n_heads|conv"
    "|dtype|mlp|rope|quant|flash|bidirectional|num_key_heads|group|multiplier|chunk|dt_|proj"
    "|kernel|res_block|max_window|use_sliding|alpha|beta|layer_offset"
)
_READ = [name for name, _ in CONFIG["names"]] + [*CONFIG["kinds"]]
_READ += [name for names in CONFIG["states"].values() for name in names]
_KNOWN = "|".join(sorted({name.partition(".")[0] for name in _READ}))
CONFIG["matters"] = f"^(?!.*({_HARMLESS}))(?!({_KNOWN})$).*({_MATTERS})"

WORDS = 800
"""The most letters of a model in words."""


def config_words(text: str) -> str:
    """The words for a config.json, for `own`; other text stays as it is.

    What is missing stays blank. The words end in a note where all layers count as full, since
    nothing says which are not, and where fields may matter that were not understood.
    """
    if not text.strip().startswith("{"):
        return text[:WORDS]
    try:
        outer = json.loads(text)
    except ValueError:
        return CONFIG["notes"]["broken"]
    found = next((outer[name] for name in CONFIG["inside"] if outer.get(name)), outer)
    usual = CONFIG["types"].get(found.get("model_type"), {})

    def field(name: str):
        value = found
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        return value

    said: dict = dict.fromkeys(key for _, key in CONFIG["names"]) | usual
    for name, key in CONFIG["names"]:
        value = field(name)
        if type(value) in (int, float, list):
            said[key] = value
    layers, every, heads, latent = (said[key] for key in ("layers", "every", "heads", "latent"))
    window = None if found.get("use_sliding_window") is False else said["window"]
    listed, shown = (next(filter(found.get, CONFIG[by]), None) for by in ("kinds", "states"))
    unread = [name for name in found if found[name] and re.search(CONFIG["matters"], name)]
    full, note = layers, ""
    if listed:
        each = [CONFIG["kinds"][listed].get(str(one)) for one in found[listed]]
        near, states = (each.count(kind) for kind in ("window", "state"))
        unsized = near and not said["window"]
        if None in each or len(each) != layers or unsized or (window and near and states):
            unread.append(listed)
        layers = each.count("full") + near + states
        full = layers - states - (near if window else 0)
    elif said["places"]:
        full = len(said["places"])
    elif every and (window or shown):
        full = layers // every
    elif window:
        note = CONFIG["notes"]["most"]
    elif shown:
        unread.append(shown)
    words = {"billions": None, "layers": layers}
    if full != layers:
        words["full"] = full
        if shown:
            words["state"] = _product(*(field(name) or UNKNOWN for name in CONFIG["states"][shown]))
        else:
            words["window"] = window
    if latent:
        words["latent"] = latent + (said["rotary"] or 0)
        words |= {key: said[key] for key in ("index", "top") if said[key]}
    elif full or not shown:
        kv_heads, head_dim = said["kv_heads"], said["head_dim"]
        words["kv_heads"] = heads if kv_heads is None else kv_heads
        words["head_dim"] = said["width"] / heads if head_dim is None and heads else head_dim
    text = " ".join(f"{key}={_plain(value)}" for key, value in words.items())
    return (text + (CONFIG["notes"]["unread"] + ", ".join(unread) if unread else note))[:WORDS]


def _plain(value: float | None) -> str:
    return f"{value:.15g}" if isinstance(value, (int, float)) else ""


_FIELD = re.compile(r"([a-z_]+) ?[=:] ?([0-9]+(?:[.][0-9]+)?)(?![.,]?[0-9])")
SAID = ("billions", "layers", "full", "window", "state", "kv_heads", "head_dim", "latent",
        "index", "top")  # fmt: skip
MOST_LAYERS, MOST = 512, 1e9


def unread(text: str) -> list[str]:
    """What in the words of `own` is not understood, or not to be had together."""
    for note in CONFIG["notes"].values():
        text = text.partition(note)[0]
    text = text.lower()
    pairs = [(name, float(value)) for name, value in _FIELD.findall(text)]
    found = dict(pairs)
    layers, full = (int(found.get(name, 0)) for name in ("layers", "full"))
    known = {f"{name}{sign}" for name in SAID for sign in "=:"}  # a name whose number is to come
    over = [(name, "latent") for name in ("kv_heads", "head_dim")] + [("window", "state")]
    return [
        *(f"{name}={value:.15g}" for name, value in pairs if name not in SAID or value > MOST),
        *(word for part in _FIELD.sub(" ", text).split()
          if (word := part.strip(",;")) and word not in known),
        *([f"layers={layers} (more than {MOST_LAYERS})"] if layers > MOST_LAYERS else []),
        *([f"full={full} (of {layers} layers)"] if full > layers > 0 else []),
        *(f"{name} beside {other}" for name, other in over if found.get(name) and found.get(other)),
    ]  # fmt: skip


def own(text: str) -> dict:
    """The model that these words, or a config.json, describe, as one of `MODELS`.

    `layers`, of which `full` keep the whole text, spread evenly: `kv_heads` of `head_dim` features,
    or a `latent` of so many numbers, with an `index` of which a step chooses the `top`. The others
    keep the last `window` tokens, or a `state` of so many numbers; with one of these and without
    `full`, all layers are such. `billions`: its parameters. What is missing or zero is unknown. So
    is all of the cache where a word is `unread`, or after the words "not understood".
    """
    text = config_words(text)
    found = {name: min(float(value), MOST) for name, value in _FIELD.findall(text.lower())}
    said = {name: value for name, value in found.items() if value}
    count = int(min(said.get("layers", 0), MOST_LAYERS))
    full = int(said.get("full", 0 if found.keys() & {"full", "window", "state"} else count))
    if full > count:
        count = 0
    shape = (said.get("kv_heads"), said.get("head_dim"))
    entry = said.get("latent") or (None if None in shape else math.prod((2, *shape)))
    blind = "not understood" in text or unread(text)
    if blind:
        entry = None
    index, top = said.get("index", 0), said.get("top", 0)
    kind = "chosen" if index else "latent" if "latent" in said else "full"
    whole = {"kind": kind, "numbers": entry, "stride": 1, "index": index, "top": top}
    rest = {"kind": "window", "numbers": entry, "stride": 0, "window": said.get("window")}
    if "state" in said:
        rest |= {"kind": "state", "numbers": None if blind else said["state"], "window": 1}
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
        of `chips`, and of the `most` readers on one. Seconds: `load` to read the weights that are
        needed, `fetch` to read the caches, `compute`, and `step`, the longer of load + fetch and
        compute; `bound`: "memory" or "compute", and None where it is unknown which.
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
    rest = dict.fromkeys(("chips", "most", "load", "fetch", "compute", "step", "bound"))
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
