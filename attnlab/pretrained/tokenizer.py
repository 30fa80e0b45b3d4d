"""A tokenizer from the pieces and merges of a GGUF file, and the form of a chat."""

from collections.abc import Mapping, Sequence
from typing import Any

from attnkit.guard import checks

# How the text is cut before its bytes are merged: whether digits stand alone.
SINGLE_DIGITS = {"smollm": True, "gpt-2": False, "gpt2": False}
SPECIAL, NORMAL, UNUSED = 3, 1, 5

_ROW = "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
_END = "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
_ALONE = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
_SYSTEM = (
    "{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\n"
    + _ALONE
    + "<|im_end|>\n' }}{% endif %}"
)
# The templates that are known, which are programs that the files bring: none is ever run. To each
# the system's message that it begins with where the chat has none.
TEMPLATES = {
    "{% for message in messages %}" + _SYSTEM + _ROW + _END: _ALONE,
    "{% for message in messages %}" + _ROW + _END: None,
}
ROLES = ("system", "user", "assistant")


def build_tokenizer(settings: Mapping[str, Any]) -> Any:
    """Make a `tokenizers.Tokenizer` of byte-level byte-pair encoding (Radford et al. 2019).

    A byte that the file has no token for, such as some control characters, is left out, as
    Hugging Face's tokenizer of the same model does.

    Args:
        settings: of a GGUF file, of which "tokenizer.ggml.tokens", "...merges", "...token_type"
            and "...pre" count.

    Raises:
        ValueError: the file has a tokenizer of another kind, or not all of its parts.
        ImportError: `tokenizers` is not installed.
    """
    library = checks.installed("tokenizers", "pretrained")
    given = {
        name.removeprefix("tokenizer.ggml."): value
        for name, value in settings.items()
        if name.startswith("tokenizer.ggml.")
    }
    checks.choice("tokenizer.ggml.model", given.get("model"), ("gpt2",))
    digits = SINGLE_DIGITS[
        checks.choice("tokenizer.ggml.pre", given.get("pre"), tuple(SINGLE_DIGITS))
    ]
    for name in ("add_space_prefix", "add_eos_token"):
        if given.get(name, False):
            checks.fail(f"tokenizer.ggml.{name}", "False, for there is nothing else here", "True")
    pieces, merges = _strings(given, "tokens"), _strings(given, "merges")
    types = given.get("token_type", [NORMAL] * len(pieces))
    if not isinstance(types, list) or len(types) != len(pieces):
        checks.fail("tokenizer.ggml.token_type", f"{len(pieces)}, one for each token", "others")
    ids = {piece: number for number, piece in enumerate(pieces)}
    if len(ids) < len(pieces):
        checks.fail("tokenizer.ggml.tokens", "every token once", f"{len(pieces) - len(ids)} twice")
    pairs = [tuple(merge.split(" ")) for merge in merges]
    for pair in pairs:
        if len(pair) != 2 or not {*pair, "".join(pair)} <= ids.keys():
            checks.fail("tokenizer.ggml.merges", "pairs of tokens that make a token", repr(pair))
    tokenizer = library.Tokenizer(library.models.BPE(ids, pairs))
    cuts = [library.pre_tokenizers.ByteLevel(add_prefix_space=False)]
    if digits:
        cuts.insert(0, library.pre_tokenizers.Digits(individual_digits=True))
    tokenizer.pre_tokenizer = library.pre_tokenizers.Sequence(cuts)
    tokenizer.decoder = library.decoders.ByteLevel()
    special = [piece for piece, kind in zip(pieces, types, strict=True) if kind == SPECIAL]
    tokenizer.add_special_tokens(special)
    odd = {*types} - {NORMAL, SPECIAL, UNUSED}
    if odd:
        expected = f"types {NORMAL}, {SPECIAL} and {UNUSED}"
        checks.fail("tokenizer.ggml.token_type", expected, str(sorted(odd)))
    first = _piece(given, "bos_token_id", pieces)
    if given.get("add_bos_token", False) and first is not None:
        tokenizer.post_processor = library.processors.TemplateProcessing(
            single=[first, "$A"], special_tokens=[(first, ids[first])]
        )
    return tokenizer


def _strings(given: Mapping[str, Any], name: str) -> list[str]:
    found = given.get(name)
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        checks.fail(f"tokenizer.ggml.{name}", "a list of strings", type(found).__name__)
    return found


def _piece(given: Mapping[str, Any], name: str, pieces: Sequence[str]) -> str | None:
    number = given.get(name)
    if number is None:
        return None
    return pieces[
        checks.integer(f"tokenizer.ggml.{name}", number, minimum=0, maximum=len(pieces) - 1)
    ]


def check_messages(messages: Any) -> list[tuple[str, str]]:
    """The role and content of each message of a chat; a string is one of the user's.

    Raises:
        TypeError, ValueError: it is no chat, is empty, or a role is unknown.
    """
    if isinstance(messages, str):
        return [("user", messages)]
    if not isinstance(messages, Sequence):
        expected = "a string, or a list of messages"
        checks.fail("messages", expected, type(messages).__name__, TypeError)
    checks.not_empty("messages", messages, "at least one message")
    chat = []
    for number, message in enumerate(messages):
        name = f"messages[{number}]"
        if not isinstance(message, Mapping) or message.keys() != {"role", "content"}:
            checks.fail(name, "a dict of role and content", checks.described(message), TypeError)
        checks.choice(f"{name} role", message["role"], ROLES)
        checks.instance(f"{name} content", message["content"], str, "a string")
        chat.append((message["role"], message["content"]))
    return chat
