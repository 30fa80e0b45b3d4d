"""A published language model with its tokenizer: it reads, writes on, and answers."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from attnkit.guard import checks
from attnlab.pretrained.reader import Reader, check_unicode
from attnlab.pretrained.tokenizer import TEMPLATES, check_messages
from attnlab.transformer import LanguageModel

Messages = str | Sequence[Mapping[str, str]]


class LanguageReading(NamedTuple):
    """One text as a language model read it.

    `tokens` are L strings, of which some may be a part of a character. `logits` (L, V) are those of
    the token after each. `outputs` (L, E) is the state after the last layer and norm, `states`
    (layers + 1, L, E) the state before the first layer and after each, before the last norm.
    `weights` (layers, H, L, L) are the attention of every layer and head, or None unless asked for.
    """

    tokens: list[str]
    logits: Tensor
    outputs: Tensor
    weights: Tensor | None
    states: Tensor


class LanguageReader(Reader):
    """A `LanguageModel` and the tokenizer that it was trained with.

    `load` and `from_folder` make one.

    Args:
        model: a `LanguageModel`.
        tokenizer: a `tokenizers.Tokenizer`.
        longest: most tokens of a text, what is written included; default the model's `max_len`,
            or None for no end.
        stop: id, or ids, of the token that ends what is written; None for none.
        template: of a chat, one of those known in `pretrained.tokenizer`; None for a model that was
            not trained to chat.

    Raises:
        TypeError: `model` is not a `LanguageModel`.
        ValueError: `longest` is above the model's `max_len`.

    Example:
        >>> from attnlab import pretrained
        >>> if pretrained.available("SmolLM2-135M-Instruct"):
        ...     reader = pretrained.load("SmolLM2-135M-Instruct")
        ...     reading = reader.read("The cat sat on the", need_weights=True)
        ...     assert reading.tokens == ["The", " cat", " sat", " on", " the"]
        ...     assert reading.weights.shape == (30, 9, 5, 5)
        ...     assert reader.generate("The capital of France is", 1) == " Paris"
    """

    kind: ClassVar[type[nn.Module]] = LanguageModel

    def __init__(
        self,
        model: LanguageModel,
        tokenizer: Any,
        longest: int | None = None,
        *,
        stop: int | Sequence[int] | None = None,
        template: str | None = None,
    ):
        super().__init__(model, tokenizer, longest)
        self.stop, self.template = stop, template
        self._literal: Any = None

    def cut(self) -> None:
        """Cut nothing: a text that is too long is refused."""
        self.tokenizer.no_truncation()

    def batch(self, texts: Sequence[str]) -> tuple[Tensor, list[int]]:
        """The token ids (B, L) of texts, padded on the right with 0, and the length of each.

        Raises:
            TypeError: `texts` is a string, or holds something that is none.
            ValueError: there are none, one of them has no tokens or more than `longest`, or is no
                Unicode text (a lone surrogate).
        """
        tokens, lengths = super().batch(texts)
        self._check_length("texts", max(lengths))
        return tokens, lengths

    @torch.no_grad()
    def read(
        self, text: str | Sequence[str], *, need_weights: bool = False
    ) -> LanguageReading | list[LanguageReading]:
        """Read one text, or several side by side, padded and cut back: the readings are the same.

        Args:
            text: one, or a list.
            need_weights: return the weights of all heads, which take layers * H * L * L numbers.

        Returns:
            A `LanguageReading`, or a list of them for a list of texts.

        Raises:
            TypeError, ValueError: as `batch`.
        """
        one = isinstance(text, str)
        tokens, lengths = self.batch([text] if one else text)  # (B, L)
        # A token sees those before it, and padding on the right is behind every real one.
        states, weights = self.model.states(tokens, need_weights=need_weights)
        outputs = self.model.stack.norm(states[:, -1])  # (B, L, E)
        logits = self.model.logits(outputs)  # (B, L, V)
        readings = [
            LanguageReading(
                self.words(tokens[row, :length].tolist()),
                logits[row, :length],
                outputs[row, :length],
                None if weights is None else weights[row, :, :, :length, :length],
                states[row, :, :length],
            )
            for row, length in enumerate(lengths)
        ]
        return readings[0] if one else readings

    def words(self, ids: Sequence[int]) -> list[str]:
        """What each token stands for, as text; of a part of a character the replacement sign."""
        return [self.tokenizer.decode([token], skip_special_tokens=False) for token in ids]

    def generate(self, prompt: str, max_new_tokens: int = 100, **sampling: Any) -> str:
        """Write on from a prompt, up to the model's end symbol.

        Args:
            prompt: the text so far. Special tokens in it, such as ``<|im_end|>``, count as such.
            max_new_tokens: most tokens to write.
            sampling: `temperature` (default 0, the most probable token each time), `top_k` and
                `top_p`, as in `decoding.sample`, and `seed` (default 0).

        Returns:
            The new text alone.

        Raises:
            TypeError: an argument has the wrong type.
            ValueError: the prompt has no tokens, or has no room for so many more.
        """
        checks.instance("prompt", prompt, str, "a string")
        ids = self.tokenizer.encode(check_unicode("prompt", prompt)).ids
        if not ids:
            checks.fail("prompt", "at least one token", "none")
        return self._written(ids, max_new_tokens, **sampling)

    def chat(self, messages: Messages, max_new_tokens: int = 100, **sampling: Any) -> str:
        """Answer the user.

        Args:
            messages: what the user says; or a list of dicts of "role" ("system", "user" or
                "assistant") and "content", the last one the user's. Special tokens in a content
                are text and nothing else.
            max_new_tokens, sampling: as in `generate`.

        Returns:
            The answer alone.

        Raises:
            TypeError: an argument has the wrong type.
            ValueError: the model knows no chat, a role is unknown, or there is no room for so many
                more tokens.
        """
        return self._written(self.chat_ids(messages), max_new_tokens, **sampling)

    def chat_ids(self, messages: Messages) -> list[int]:
        """The token ids of a chat, up to where the answer begins; arguments as in `chat`."""
        if self.template not in TEMPLATES:
            got = "none" if self.template is None else f"another: {self.template[:60]!r}"
            checks.fail("template", "a form of chat that is known here (ChatML's)", got)
        chat, alone = check_messages(messages), TEMPLATES[self.template]
        if chat[0][0] != "system" and alone is not None:
            chat = [("system", alone), *chat]
        begin, end = (self.tokenizer.token_to_id(f"<|im_{side}|>") for side in ("start", "end"))
        ids: list[int] = []
        for number, (role, content) in enumerate(chat):
            check_unicode(f"messages[{number}] content", content)
            ids += [begin, *self._plain(f"{role}\n{content}"), end, *self._plain("\n")]
        return [*ids, begin, *self._plain("assistant\n")]

    def _plain(self, text: str) -> list[int]:
        """The ids of a text in which special tokens are text."""
        if self._literal is None:
            self._literal = type(self.tokenizer).from_str(self.tokenizer.to_str())
            self._literal.encode_special_tokens = True
        return self._literal.encode(text, add_special_tokens=False).ids

    def _written(
        self, ids: list[int], max_new_tokens: int, *, seed: int = 0, **sampling: Any
    ) -> str:
        checks.integer("max_new_tokens", max_new_tokens, minimum=1)
        self._check_length("prompt and max_new_tokens", len(ids) + max_new_tokens)
        device = next(self.model.parameters()).device
        generator = torch.Generator(device).manual_seed(checks.integer("seed", seed))
        found = self.model.generate(
            torch.tensor([ids], device=device),
            max_new_tokens,
            stop=self.stop,
            generator=generator,
            **{"temperature": 0.0, **sampling},
        )
        return self.tokenizer.decode(found.tokens[0, : int(found.lengths)].tolist())

    def _check_length(self, name: str, length: int) -> None:
        if self.longest is not None and length > self.longest:
            checks.fail(name, f"at most {self.longest} tokens, which the model reads", str(length))
