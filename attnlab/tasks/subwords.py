"""Words in pieces: byte-pair encoding (Sennrich et al. 2016), learned by sentencepiece.

A rare or unseen word has no good row in an embedding; its pieces do. They are made by repeatedly
merging the most frequent pair of adjacent pieces in a text. sentencepiece (Kudo and Richardson
2018) does the counting and merging. It was chosen over Hugging Face's tokenizers because its result
is a single list, the pieces in the order of their merges, and this list is all that is needed to
split words, here and in a web page; there are no separate merge rules.

**The file** that a `Translator` saves holds this list, `tokens`. A token's index is its id: first
come the four special tokens of `Vocab`, then the merged pieces in the order of their merges, then
the single characters. The mark "▁" (U+2581) is the beginning of a word.

**To split a word**, exactly:

1. Prepend "▁" and split the word into characters (Unicode code points). A "▁" in the word itself
   becomes "_".
2. Of all adjacent pairs that form a token when merged, merge the pair whose token has the lowest
   id; in a tie, the leftmost. Repeat until no pair forms a token.
3. The id of a piece is the index of its token; an unknown character has id 3, "<unk>".

Words are what `tokenize` returns, so a full stop is a word too.
"""

from collections.abc import Iterable, Sequence
from io import BytesIO
from itertools import pairwise

from attnkit.guard import checks
from attnlab.tasks.vocab import SPECIAL, UNK, Vocab, check_tokens

START = "▁"


class Subwords(Vocab):
    """A vocabulary of subwords with the interface of `Vocab`: it encodes and decodes words.

    `encode` gives the ids of the pieces of each word, and `decode` joins pieces into words again.
    So there are more ids than words; `pieces` returns the piece of each id, and `spans` the range
    of pieces of each word.

    Args:
        pieces: the tokens from id 4 on, in the order of the merges, then characters; one of them
            is "▁" itself, so that every word has a beginning. `build` makes such a list.

    Raises:
        TypeError: a piece is not a string.
        ValueError: a piece comes twice or is one of the special four, or "▁" is missing.

    >>> subwords = Subwords(["▁c", "at", "▁cat", "▁", "a", "c", "s", "t"])
    >>> subwords.encode(["cats", "cat"])
    [6, 10, 6]
    >>> subwords.decode([1, 6, 10, 6, 2, 0])
    ['cats', 'cat']
    >>> subwords.pieces(["cats", "cat"]), subwords.spans(["▁cat", "s", "▁cat"])
    (['▁cat', 's', '▁cat'], [(0, 2), (2, 3)])
    """

    def __init__(self, pieces: Iterable[str]):
        super().__init__(pieces)
        if START not in self.ids:
            checks.fail("pieces", f"{START!r} (U+2581) among them", f"{len(self)} others")
        self._split: dict[str, list[str]] = {}  # a text has far fewer words than places

    @classmethod
    def build(cls, sequences: Iterable[Sequence[str]], *, max_size: int) -> "Subwords":
        """Learn pieces from `sequences` of words, by sentencepiece; deterministic.

        Every character of the words becomes a token, so words of these characters are never
        unknown.

        Args:
            sequences: token sequences, such as `tokenize` makes.
            max_size: number of ids, the special four and the characters included.

        Raises:
            ImportError: sentencepiece is not installed.
            TypeError: a sequence is a string.
            ValueError: there are no words, or too few for so many pieces, or more characters than
                `max_size` has room for.

        Example:
            >>> words = "walk walks walked walking talk talks talked talking".split()
            >>> subwords = Subwords.build([words], max_size=25)
            >>> subwords.pieces(["walking", "stalked"])
            ['▁walk', 'ing', '▁', 's', 't', 'alk', 'ed']
        """
        checks.integer("max_size", max_size, minimum=len(SPECIAL))
        lines = []
        for words in sequences:
            check_tokens("sequences", words)
            lines.append(" ".join(word.replace(START, "_") for word in words))
        if not any(lines):
            checks.fail("sequences", "at least one word", "none")
        learned = BytesIO()
        library = checks.installed("sentencepiece", "subwords")
        try:
            library.SentencePieceTrainer.train(
                sentence_iterator=iter(lines),
                model_writer=learned,
                vocab_size=max_size,
                **_OPTIONS,
            )
        except RuntimeError as error:
            checks.fail("max_size", "a size that these words allow", f"{max_size}: {error}")
        found = library.SentencePieceProcessor(model_proto=learned.getvalue())
        return cls(found.id_to_piece(number) for number in range(len(SPECIAL), len(found)))

    def encode(self, tokens: Sequence[str]) -> list[int]:
        """Return the ids of the pieces of all words, `UNK` for unknown characters. Adds no BOS or
        EOS."""
        return [self.ids.get(piece, UNK) for piece in self.pieces(tokens)]

    def pieces(self, tokens: Sequence[str]) -> list[str]:
        """Return the pieces of all words, one for each id that `encode` gives."""
        check_tokens("tokens", tokens)
        found: list[str] = []
        for word in tokens:
            if word not in self._split:
                self._split[word] = self._pieces_of(word)
            found += self._split[word]
        return found

    def spans(self, pieces: Sequence[str]) -> list[tuple[int, int]]:
        """Return where each word begins and ends: its pieces are `pieces[first:end]`."""
        check_tokens("pieces", pieces)
        # The first begins a word whatever it is: a model may write anything.
        starts = [
            place for place, piece in enumerate(pieces) if not place or piece.startswith(START)
        ]
        return list(pairwise([*starts, len(pieces)]))

    def join(self, pieces: Sequence[str]) -> list[str]:
        """Return the words that pieces make; a word without a letter, a lone "▁", is omitted."""
        words = ("".join(pieces[first:end]) for first, end in self.spans(pieces))
        return [word.removeprefix(START) for word in words if word != START]

    def _pieces_of(self, word: str) -> list[str]:
        parts = list(START + word.replace(START, "_"))
        while len(parts) > 1:
            joined = [left + right for left, right in pairwise(parts)]
            ranks = [self.ids.get(piece, len(self)) for piece in joined]
            lowest = min(ranks)
            if lowest == len(self):
                break
            place = ranks.index(lowest)
            parts[place : place + 2] = [joined[place]]
        return parts


# As plain as sentencepiece can be made: the words are given, and all that may be joined is inside
# one. One thread, since the counts of several would come in any order.
_OPTIONS = {
    "model_type": "bpe",
    "normalization_rule_name": "identity",
    "character_coverage": 1.0,
    "split_by_unicode_script": False,
    "split_by_number": False,
    "pad_id": 0,
    "bos_id": 1,
    "eos_id": 2,
    "unk_id": UNK,
    "num_threads": 1,
    "minloglevel": 2,
}
