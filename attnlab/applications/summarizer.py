"""A summarizer: score the sentences of a document and choose the best k."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from attnkit.functional import masked_softmax
from attnkit.guard import checks
from attnkit.mechanisms.multihead import MultiHeadAttention
from attnlab import files
from attnlab.decoding.base import evaluating
from attnlab.decoding.tokens import check_tokens
from attnlab.tasks.salient import DocumentBatch, stack_sentences
from attnlab.tasks.sentences import split_sentences
from attnlab.tasks.vocab import PAD, SPECIAL, Vocab, tokenize
from attnlab.transformer import Encoder


class Scored(NamedTuple):
    """The output of `Summarizer` for B documents of N sentences of W tokens.

    `scores` (B, N), -inf where there is no sentence; `weights` (B, N), their softmax, which is
    the attention of the summary over the sentences; `sentence_weights` (B, layers, H, N, N), of
    each sentence over the others, and `word_weights` (B, N, H, W), of each sentence over its
    words, both None unless asked for.
    """

    scores: Tensor
    weights: Tensor
    sentence_weights: Tensor | None
    word_weights: Tensor | None


class Summary(NamedTuple):
    """What a `Summarizer` chose of a document.

    `chosen`: indices of the chosen sentences, in the order of the document. `sentences`: their
    texts. `scores` and `weights`: the score of every sentence of the document, and its share of
    the summary's attention, which sums to 1.
    """

    chosen: list[int]
    sentences: list[str]
    scores: list[float]
    weights: list[float]


class Summarizer(nn.Module):
    r"""Attention over words, among sentences, and of the summary over sentences.

    .. math::

        s_i = \mathrm{MHA}(q, X_i) \qquad H = \mathrm{Encoder}(s_1 \dots s_N) \qquad
        e_i = v^\top \tanh(W h_i + b) \qquad \alpha = \mathrm{softmax}(e)

    A learned query reads each sentence X_i (Yang et al. 2016, with more than one head), sentences
    attend to each other (Vaswani et al. 2017), and the e_i are the scores by which sentences are
    chosen. No positions are used, so the order of the sentences changes nothing.

    Args:
        vocab: of the words.
        embed_dim: features E.
        num_heads: heads, over words and among sentences.
        num_layers: layers among sentences; 0 judges every sentence by itself.
        dropout: probability, in the layers and on the words.

    Train it with `training.fit(model, batches, loss=summary_loss, ...)` on
    `tasks.DocumentBatches`. Until then `summarize` warns that its choice means nothing.

    Shapes: sentences (B, N, W) -> scores (B, N). See `forward`.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: a number is out of range.

    >>> vocab = Vocab("the cat sat slept dog".split())
    >>> summary = Summarizer(vocab, embed_dim=8, num_heads=2).summarize(
    ...     ["the cat sat", "the dog slept", "the dog sat"], k=2)
    >>> len(summary.chosen), round(sum(summary.weights), 4)
    (2, 1.0)
    """

    def __init__(
        self,
        vocab: Vocab,
        *,
        embed_dim: int = 64,
        num_heads: int = 4,
        num_layers: int = 2,
        dropout: float = 0.1,
    ):
        super().__init__()
        self.vocab = checks.instance("vocab", vocab, Vocab, "a Vocab")
        checks.integer("num_layers", num_layers, minimum=0)
        self.options = {"embed_dim": embed_dim, "num_heads": num_heads}
        self.options |= {"num_layers": num_layers, "dropout": dropout}
        self.reader = MultiHeadAttention(embed_dim, num_heads)
        self.embedding = nn.Embedding(len(vocab), embed_dim, padding_idx=PAD)
        self.query = nn.Parameter(torch.randn(1, embed_dim))
        self.register_buffer("_first_query", self.query.detach().clone(), persistent=False)
        self.dropout = nn.Dropout(checks.probability("dropout", dropout))
        self.encoder = None
        if num_layers:
            sizes = (embed_dim, num_heads, 4 * embed_dim, num_layers)
            self.encoder = Encoder(*sizes, dropout=dropout, norm_first=True)
        self.score = nn.Sequential(
            nn.Linear(embed_dim, embed_dim), nn.Tanh(), nn.Linear(embed_dim, 1, bias=False)
        )

    def forward(self, sentences: Tensor, *, need_weights: bool = False) -> Scored:
        """Score the sentences of documents.

        Args:
            sentences: token ids (B, N, W), `PAD` where there is no token; a row of `PAD` alone
                stands for no sentence.
            need_weights: return the weights over words and among sentences.

        Raises:
            TypeError: `sentences` is not an integer tensor.
            ValueError: it is not three-dimensional, is empty, or an id is out of range.
        """
        self._check(sentences)
        real = sentences != PAD  # (B, N, W)
        exists = real.any(-1)  # (B, N)
        words = self.dropout(self.embedding(sentences))  # (B, N, W, E)
        query = self.query.expand(*words.shape[:2], 1, -1)  # (B, N, 1, E)
        read = self.reader(query, words, mask=real[:, :, None], need_weights=need_weights)
        states, among = read.output[:, :, 0], None  # (B, N, E)
        if self.encoder is not None:
            states, among = self.encoder(states, mask=exists[:, None], need_weights=need_weights)
        scores = self.score(states)[..., 0]  # (B, N)
        weights = masked_softmax(scores, exists)
        word_weights = None if read.weights is None else read.weights[..., 0, :]  # (B, N, H, W)
        return Scored(scores.masked_fill(~exists, -torch.inf), weights, among, word_weights)

    def summarize(self, document: str | Sequence[str | Sequence[str]], k: int = 3) -> Summary:
        """Choose the k sentences with the highest scores, in eval mode.

        Warns when the model still has its first weights, and when it does not know most of the
        words.

        Args:
            document: text, which `tasks.split_sentences` splits; or its sentences, each as text or
                as tokens.
            k: how many, 1 to the number of sentences.

        Raises:
            TypeError: `document` is neither, or `k` is not an int.
            ValueError: there are no sentences, one has no word, or `k` is out of range.
            ImportError: `document` is text, and pysbd is not installed.

        Example:
            >>> model = Summarizer(Vocab(["rain", "sun", "."]), embed_dim=8, num_heads=2)
            >>> with torch.no_grad():
            ...     _ = model.query.add_(0.1)  # stands for a training
            >>> len(model.summarize("Rain. Sun and rain. No rain.", k=2).sentences)
            2
        """
        sentences = _sentences("document", document)
        checks.integer("k", k, minimum=1, maximum=len(sentences.texts))
        self._warn([sentences])
        return self._choose([sentences], k)[0]

    def summarize_all(
        self,
        documents: Sequence[str | Sequence[str | Sequence[str]]],
        k: int = 3,
        *,
        batch_size: int = 32,
        progress: bool = False,
    ) -> list[Summary]:
        """Summarize many documents, in batches, as `summarize` does each.

        Args:
            documents: each as `summarize` takes it.
            k: how many sentences of each, 1 to the number of sentences of the shortest.
            batch_size: documents read at a time.
            progress: show a bar, of documents. The environment variable TQDM_DISABLE=1 hides it.

        Returns:
            A `Summary` for each document, in their order.

        Raises:
            TypeError: `documents` is one string, or as for `summarize`.
            ValueError: there are no documents, or as for `summarize`.
        """
        if isinstance(documents, str) or not isinstance(documents, Sequence):
            got = type(documents).__name__
            checks.fail("documents", "a list of documents", got, TypeError)
        if not len(documents):
            checks.fail("documents", "at least one document", "none")
        checks.integer("k", k, minimum=1)
        checks.integer("batch_size", batch_size, minimum=1)
        shown = {} if checks.flag("progress", progress) else {"disable": True}
        read = [_sentences(f"documents[{n}]", document) for n, document in enumerate(documents)]
        for number, sentences in enumerate(read):
            if (count := len(sentences.texts)) < k:
                checks.fail(f"documents[{number}]", f"at least k = {k} sentences", str(count))
        self._warn(read)
        found: list[Summary] = []
        with tqdm(desc="Summarizing", total=len(read), **shown) as bar:
            for start in range(0, len(read), batch_size):
                found += self._choose(read[start : start + batch_size], k)
                bar.update(len(found) - start)
        return found

    def _choose(self, documents: Sequence["_Sentences"], k: int) -> list[Summary]:
        ids = stack_sentences([each.tokens for each in documents], self.vocab)
        with evaluating(self):
            scored = self(ids.to(self.query.device))
        found = []
        for row, (texts, _) in enumerate(documents):
            scores, weights = (
                part[row, : len(texts)].float().cpu() for part in (scored.scores, scored.weights)
            )
            chosen = sorted(scores.sort(descending=True, stable=True).indices[:k].tolist())
            picked = [texts[place] for place in chosen]
            found.append(Summary(chosen, picked, scores.tolist(), weights.tolist()))
        return found

    def _warn(self, documents: Sequence["_Sentences"]) -> None:
        """Say what makes a choice meaningless; to the caller of `summarize`."""
        if torch.equal(self.query, self._first_query):
            instead = "train it with training.fit(..., loss=summary_loss), or load(folder)"
            warnings.warn(f"an untrained Summarizer chooses at random: {instead}", stacklevel=3)
            return
        words = [word for each in documents for tokens in each.tokens for word in tokens]
        share = sum(word not in self.vocab for word in words) / len(words)
        if share > 0.5:
            warnings.warn(
                f"the Summarizer does not know {share:.0%} of the words: it was trained on other "
                "text, and its choice means little",
                stacklevel=3,
            )

    def save(self, folder: str | Path) -> None:
        """Write `weights.safetensors` and `summarizer.json` into a folder."""
        description = {"options": self.options, "tokens": self.vocab.tokens[len(SPECIAL) :]}
        text = files.to_json("options", description)  # refused before anything is written
        files.save_tensors(Path(folder) / "weights.safetensors", self.state_dict())
        files.replace_file(Path(folder) / "summarizer.json", text)

    @classmethod
    def load(cls, folder: str | Path) -> "Summarizer":
        """Read what `save` wrote; the model comes on the CPU, in eval mode.

        Raises:
            FileNotFoundError: a file is missing.
            ValueError: the weights are not those of the model described.
        """
        path = Path(folder) / "summarizer.json"
        if not path.is_file():
            raise FileNotFoundError(f"folder: expected summarizer.json, got none in {folder}")
        saved = files.load_json(path, ("options", "tokens"))
        loaded = cls(Vocab(saved["tokens"]), **saved["options"])
        files.load_weights(loaded, Path(folder) / "weights.safetensors")
        return loaded.eval()

    def _check(self, sentences: Tensor) -> None:
        checks.tensor("sentences", sentences)
        if sentences.dim() != 3 or not sentences.numel():
            checks.fail("sentences", "shape (B, N, W), not empty", f"{checks.shape(sentences)}")
        check_tokens("sentences", sentences.flatten(1), len(self.vocab))


class _Sentences(NamedTuple):
    """The sentences of a document, as text and as tokens."""

    texts: list[str]
    tokens: list[list[str]]


def _sentences(name: str, document: str | Sequence[str | Sequence[str]]) -> _Sentences:
    """Check a document, which a message calls `name`, and split what is not split."""
    if not isinstance(document, Sequence):
        checks.fail(name, "text or a list of sentences", type(document).__name__, TypeError)
    sentences = split_sentences(document) if isinstance(document, str) else document
    if not len(sentences):
        checks.fail(name, "at least one sentence", "none")
    tokens = []
    for number, item in enumerate(sentences):
        if not isinstance(item, Sequence):
            got = type(item).__name__
            checks.fail(f"{name}[{number}]", "text or a list of tokens", got, TypeError)
        tokens.append(tokenize(item) if isinstance(item, str) else list(item))
    if not all(tokens):
        empty = tokens.index([])
        checks.fail(f"{name}[{empty}]", "at least one word", repr(sentences[empty]))
    return _Sentences(
        [item if isinstance(item, str) else " ".join(item) for item in sentences], tokens
    )


def summary_loss(model: Summarizer, batch: DocumentBatch) -> Tensor:
    """Cross entropy of the important sentences under the summary's attention: -ln of the weight of
    each, minus ln of their number, so that the minimum is 0. For `training.fit`.

    Returns:
        (M,), one loss in nats for each important sentence of the batch.

    Raises:
        TypeError, ValueError: as the model does.

    Example:
        >>> from attnlab import tasks
        >>> documents = tasks.salient(2)
        >>> vocab = Vocab.build(line for document in documents for line in document.sentences)
        >>> batch = next(iter(tasks.DocumentBatches(documents, vocab, batch_size=2)))
        >>> summary_loss(Summarizer(vocab, embed_dim=8, num_heads=2), batch).shape
        torch.Size([6])
    """
    scored = model(batch.sentences)
    surprise = -scored.scores.float().log_softmax(-1)  # (B, N)
    least = batch.salient.sum(-1, keepdim=True).clamp(min=1).log()  # (B, 1)
    return (surprise - least)[batch.salient]  # (M,)
