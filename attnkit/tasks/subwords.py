"""Words in pieces: byte-pair encoding (Sennrich et al. 2016), learned by sentencepiece.

A word that was seen rarely, or never, has no good row in an embedding; its pieces do. They come
from joining, again and again, the two neighbours that stand side by side most often in a text.
sentencepiece (Kudo and Richardson 2018) does the counting and joining. It was chosen over Hugging
Face's tokenizers since what it leaves is one list, of pieces in the order in which they were made,
and that list is all that reading needs, here and in a web page: there are no merge rules beside it.

**The file** that a `Translator` saves holds this list, `tokens`. A token's place is its id: first
come the special four of `Vocab`, then the joined pieces, the first made first, then the single
characters. The mark "▁" (U+2581) stands for the beginning of a word.

**To split a word**, exactly:

1. Put "▁" before it, and take it apart into characters (Unicode code points). A "▁" in the word
   itself becomes "_".
2. Of all neighbours that make a token when joined, join those whose token has the lowest id; of
   equals, those furthest to the left. Repeat until no neighbours make a token.
3. The id of a piece is the place of its token; a character that is not there has id 3, "<unk>".

Words are what `tokenize` makes of a text, so a full stop is a word too.
"""

from collections.abc import Iterable, Sequence
from io import BytesIO
from itertools import pairwise

from attnkit import checks
from attnkit.tasks.vocab import SPECIAL, UNK, Vocab, check_tokens

START = "▁"


class Subwords(Vocab):
    """A vocabulary of pieces of words, used as a `Vocab` of words is: words go in and come out.

    `encode` gives the ids of the pieces of each word, and `decode` joins pieces into words again.
    Ids are therefore more than words; `pieces` says what each stands for, and `spans` which of
    them make one word.

    Args:
        pieces: the tokens from id 4 on, in the order of the joins, then characters; one of them
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
        """Learn pieces from `sequences` of words, by sentencepiece; the same each time.

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
        library = _library()
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

    def __repr__(self) -> str:
        return f"Subwords({len(self)} tokens)"

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


def _library():
    try:
        import sentencepiece
    except ImportError as error:
        raise ImportError(
            "sentencepiece: expected to be installed (pip install 'attnkit[subwords]'), "
            f"got {error}"
        ) from error
    return sentencepiece
