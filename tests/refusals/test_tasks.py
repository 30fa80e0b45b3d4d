"""Wrong calls of tasks, metrics, intervals, regularizers, training and checkpoint."""

import datetime
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from attnlab import files, metrics, tasks, training
from attnlab.metrics import collapse as regularizers
from attnlab.metrics import intervals
from attnlab.tasks import Batches, Choices, Pair, Subwords, Vocab
from attnlab.tasks.dates import date_pair, ordinal_ending
from tests.refusals.wrong_calls import Wrong, assert_refused

PAIRS = tasks.reverse(10)
VOCABS = tasks.vocabs(PAIRS)
WEIGHTS = torch.rand(4, 5).softmax(-1)
LINE = nn.Linear(1, 1)
ONES = [torch.ones(1, 1)]


def squared(line, x):
    return line(x) ** 2


def fit(model=LINE, train=ONES, **options):
    options = {"steps": 1, "loss": squared, "progress": False, **options}
    return lambda: training.fit(model, train, **options)


def batches(pairs=PAIRS, source=VOCABS[0], target=VOCABS[1], **options):
    return lambda: Batches(pairs, source, target, **{"batch_size": 4, **options})


def aer(links, sure, possible):
    return lambda: metrics.alignment_error_rate(links, sure=sure, possible=possible)


DATA = [
    Wrong(lambda: Choices("7"), TypeError, "seed", "an int", "str '7'"),
    Wrong(lambda: Choices(0).below(0), ValueError, "end", "an int of at least 1", "0"),
    Wrong(lambda: Choices(0).between(5, 4), ValueError, "high", "an int of at least 5", "4"),
    Wrong(lambda: Choices(0).choice([]), ValueError, "options", "at least one option", "none"),
    Wrong(lambda: list(tasks.all_choices([1])), TypeError, "build", "a function of choose", "list"),
    Wrong(
        lambda: list(tasks.all_choices(lambda choose: choose(()))),
        ValueError,
        "options",
        "at least one option",
        "none",
    ),
    Wrong(lambda: tasks.reverse(-1), ValueError, "count", "an int of at least 0", "-1"),
    Wrong(lambda: tasks.reverse(2.0), TypeError, "count", "an int", "float 2.0"),
    Wrong(
        lambda: tasks.reverse(1, min_length=0),
        ValueError,
        "min_length",
        "an int of at least 1",
        "0",
    ),
    Wrong(
        lambda: tasks.copy(1, min_length=5, max_length=4),
        ValueError,
        "max_length",
        "an int of at least 5",
        "4",
    ),
    Wrong(lambda: tasks.copy(1, symbols=53), ValueError, "symbols", "an int of at most 52", "53"),
    Wrong(lambda: tasks.copy(1, symbols=1), ValueError, "symbols", "an int of at least 2", "1"),
    Wrong(lambda: tasks.reverse(1, seed=None), TypeError, "seed", "an int", "NoneType None"),
    Wrong(
        lambda: tasks.dates(1, first_year=999),
        ValueError,
        "first_year",
        "an int of at least 1000",
        "999",
    ),
    Wrong(
        lambda: tasks.dates(1, first_year=2000, last_year=1999),
        ValueError,
        "last_year",
        "an int of at least 2000",
        "1999",
    ),
    Wrong(lambda: date_pair("1979-05-03", "{d}"), TypeError, "date", "a datetime.date", "str"),
    Wrong(
        lambda: date_pair(datetime.date(1979, 5, 3), "{m}/{d}"),
        ValueError,
        "spelling",
        "…one of…",
        "'{m}/{d}'",
    ),
    Wrong(lambda: ordinal_ending(32), ValueError, "day", "an int of at most 31", "32"),
    Wrong(lambda: tasks.toy_french(-1), ValueError, "count", "an int of at least 0", "-1"),
    Wrong(
        lambda: tasks.toy_french(1, min_words=1),
        ValueError,
        "min_words",
        "an int of at least 2",
        "1",
    ),
    Wrong(
        lambda: tasks.toy_french(1, min_words=9, max_words=8),
        ValueError,
        "max_words",
        "an int of at least 9",
        "8",
    ),
    Wrong(lambda: tasks.salient(1, chosen=0), ValueError, "chosen", "an int of at least 1", "0"),
    Wrong(
        lambda: tasks.salient(1, min_sentences=8),
        ValueError,
        "min_sentences",
        "an int of at least 9",
        "8",
    ),
    Wrong(
        lambda: tasks.salient(1, max_sentences=9),
        ValueError,
        "max_sentences",
        "an int of at least 10",
        "9",
    ),
    Wrong(
        lambda: tasks.multi30k("dev"),
        ValueError,
        "split",
        "one of 'train', 'valid', 'test'",
        "'dev'",
    ),
    Wrong(
        lambda: tasks.multi30k("test", "es"),
        ValueError,
        "source",
        "one of 'de', 'en', 'fr'",
        "'es'",
    ),
    Wrong(
        lambda: tasks.multi30k("test", "de", "de"),
        ValueError,
        "target",
        "one of 'en', 'fr'",
        "'de'",
    ),
    Wrong(
        lambda: tasks.multi30k("test", download=1), TypeError, "download", "True or False", "int 1"
    ),
    Wrong(
        lambda: tasks.multi30k("test", folder="/nowhere"),
        FileNotFoundError,
        "folder",
        "test_2016_flickr.de.gz in /nowhere",
        "no such file",
    ),
]

VOCAB = [
    Wrong(lambda: Vocab("abc"), TypeError, "tokens", "a sequence of strings", "the string 'abc'"),
    Wrong(lambda: Vocab(["a", 1]), TypeError, "tokens", "strings", "int 1"),
    Wrong(
        lambda: Vocab(["a", "a"]),
        ValueError,
        "tokens",
        "every token once, none of them special",
        "'a'",
    ),
    Wrong(
        lambda: Vocab(["<pad>"]),
        ValueError,
        "tokens",
        "every token once, none of them special",
        "'<pad>'",
    ),
    Wrong(
        lambda: Vocab.build(["ab", "c"]), TypeError, "sequences", "sequences of tokens", "str 'ab'"
    ),
    Wrong(
        lambda: Vocab.build([], min_count=0), ValueError, "min_count", "an int of at least 1", "0"
    ),
    Wrong(lambda: Vocab.build([], max_size=3), ValueError, "max_size", "an int of at least 4", "3"),
    Wrong(lambda: Vocab(["a"]).encode("a"), TypeError, "tokens", "sequences of tokens", "str 'a'"),
    Wrong(lambda: Vocab(["a"]).decode([5]), ValueError, "ids", "an int of at most 4", "5"),
    Wrong(lambda: Vocab(["a"]).decode([-1]), ValueError, "ids", "an int of at least 0", "-1"),
    Wrong(
        lambda: Vocab(["a"]).decode(torch.ones(1, 2, dtype=torch.long)),
        ValueError,
        "ids",
        "one sequence of ids",
        "shape (1, 2)",
    ),
    Wrong(lambda: Subwords(["a"]), ValueError, "pieces", "'▁' (U+2581) among them", "5 others"),
    Wrong(
        lambda: Subwords(["▁"]).encode("a"), TypeError, "tokens", "sequences of tokens", "str 'a'"
    ),
    Wrong(
        lambda: Subwords.build(["ab"], max_size=9),
        TypeError,
        "sequences",
        "sequences of tokens",
        "str 'ab'",
    ),
    Wrong(
        lambda: Subwords.build([[]], max_size=9),
        ValueError,
        "sequences",
        "at least one word",
        "none",
    ),
    Wrong(
        lambda: Subwords.build([["ab"]], max_size=900),
        ValueError,
        "max_size",
        "a size that these words allow",
        "900: …",
    ),
    Wrong(lambda: tasks.tatoeba("dev"), ValueError, "split", "…", "'dev'"),
    Wrong(lambda: tasks.tatoeba("test", "de"), ValueError, "source", "…", "'de'"),
    Wrong(lambda: tasks.tatoeba("test", "fr"), ValueError, "target", "…", "'fr'"),
    Wrong(lambda: tasks.references([("a", "b"), (1, "c")]), TypeError, "text", "a string", "int 1"),
    Wrong(lambda: tasks.pad([]), ValueError, "sequences", "at least one sequence", "none"),
    Wrong(lambda: tasks.tokenize(["a"]), TypeError, "text", "a string", "list ['a']"),
    Wrong(lambda: tasks.detokenize("a b"), TypeError, "tokens", "sequences of tokens", "str 'a b'"),
    Wrong(lambda: tasks.collate([], *VOCABS), ValueError, "pairs", "at least one pair", "none"),
    Wrong(
        lambda: tasks.collate(PAIRS[0], *VOCABS), TypeError, "pairs", "a sequence of Pair", "Pair"
    ),
    Wrong(
        lambda: tasks.text_pairs("Go. Va."),
        TypeError,
        "lines",
        "pairs (source, target)",
        "str 'G'",
    ),
    Wrong(
        lambda: tasks.text_pairs([("Go.", "Va.", "Bouge.")]),
        TypeError,
        "lines",
        "pairs (source, target)",
        "tuple ('Go.', 'Va.', 'Bouge.')",
    ),
    Wrong(
        lambda: tasks.collate([("a", "b")], *VOCABS),
        TypeError,
        "pairs",
        "Pair objects (text_pairs makes them of lines of text)",
        "tuple ('a', 'b')",
    ),
    Wrong(
        lambda: tasks.collate([Pair((), ("a",))], *VOCABS),
        ValueError,
        "pairs",
        "sources of at least one token",
        "an empty source",
    ),
    Wrong(batches([]), ValueError, "pairs", "at least one pair", "none"),
    Wrong(batches(source=["a"]), TypeError, "source_vocab", "a Vocab", "list"),
    Wrong(batches(target=None), TypeError, "target_vocab", "a Vocab", "NoneType"),
    Wrong(batches(batch_size=0), ValueError, "batch_size", "an int of at least 1", "0"),
    Wrong(batches(seed=0.5), TypeError, "seed", "an int", "float 0.5"),
    Wrong(batches(shuffle="yes"), TypeError, "shuffle", "True or False", "str 'yes'"),
    Wrong(lambda: next(batches()().epoch(-1)), ValueError, "number", "an int of at least 0", "-1"),
    Wrong(
        lambda: tasks.split(PAIRS, 8, 3),
        ValueError,
        "sizes",
        "at most 10 in all (the pairs there are)",
        "11",
    ),
    Wrong(lambda: tasks.split(PAIRS, -1), ValueError, "sizes", "an int of at least 0", "-1"),
]

SCORES = [
    Wrong(lambda: intervals.wilson(1, 0), ValueError, "trials", "an int of at least 1", "0"),
    Wrong(lambda: intervals.wilson(3, 2), ValueError, "successes", "an int of at most 2", "3"),
    Wrong(
        lambda: intervals.wilson(1, 2, confidence=95),
        ValueError,
        "confidence",
        "a number between 0 and 1",
        "95",
    ),
    Wrong(lambda: intervals.median_interval([]), ValueError, "values", "at least 1 value", "0"),
    Wrong(lambda: intervals.median_interval(["a"]), TypeError, "values", "a number", "str 'a'"),
    Wrong(
        lambda: intervals.median_interval([0, float("nan")]),
        ValueError,
        "values",
        "a finite number",
        "nan",
    ),
    Wrong(lambda: intervals.order_statistic(0), ValueError, "count", "an int of at least 1", "0"),
    Wrong(
        lambda: metrics.exact_match(predicted=["a"], expected=[]),
        ValueError,
        "predicted",
        "as many as expected, 0",
        "1",
    ),
    Wrong(
        lambda: metrics.argmax_links(WEIGHTS[None]),
        ValueError,
        "weights",
        "shape (T, S), one example and head",
        "(1, 4, 5)",
    ),
    Wrong(lambda: metrics.argmax_links([[1.0]]), TypeError, "weights", "a torch.Tensor", "list"),
    Wrong(
        lambda: metrics.argmax_links(WEIGHTS, target_length=5),
        ValueError,
        "target_length",
        "an int of at most 4",
        "5",
    ),
    Wrong(
        lambda: metrics.argmax_links(WEIGHTS, source_length=6),
        ValueError,
        "source_length",
        "an int of at most 5",
        "6",
    ),
    Wrong(lambda: metrics.argmax_links(WEIGHTS / 0 * 0), ValueError, "weights", "numbers", "NaN"),
    Wrong(aer([], [], []), ValueError, "links", "at least one link, found or sure", "none"),
    Wrong(aer([set()], [set()] * 2, [set()]), ValueError, "sure", "as many as links, 1", "2"),
    Wrong(aer([set()], [set()], []), ValueError, "possible", "as many as links, 1", "0"),
    Wrong(
        lambda: metrics.entropy(WEIGHTS > 0),
        TypeError,
        "weights",
        "a floating-point tensor",
        "torch.bool",
    ),
    Wrong(
        lambda: metrics.entropy(torch.tensor(1.0)),
        ValueError,
        "weights",
        "at least 1 dimensions (..., S)",
        "shape ()",
    ),
    Wrong(
        lambda: metrics.bleu(hypotheses="a b", references=["a b"]),
        TypeError,
        "hypotheses",
        "a list of strings, one a sentence",
        "one string",
    ),
    Wrong(
        lambda: metrics.bleu(hypotheses=["a"], references=[[["a"]]]),
        TypeError,
        "references",
        "plain strings",
        "list ['a']",
    ),
    Wrong(
        lambda: metrics.bleu(hypotheses=["a"], references="a"),
        TypeError,
        "references",
        "a list of strings, one a sentence",
        "one string",
    ),
    Wrong(
        lambda: metrics.chrf(hypotheses=["a", "b"], references=[["a"], []]),
        ValueError,
        "references",
        "at least one for each sentence",
        "none for one of them",
    ),
    Wrong(
        lambda: metrics.bleu(hypotheses=["a"], references=["a"], lowercase=1),
        TypeError,
        "lowercase",
        "True or False",
        "int 1",
    ),
    Wrong(
        lambda: metrics.bleu(hypotheses=["a"], references=["a", "b"]),
        ValueError,
        "references",
        "as many as hypotheses, 1",
        "2",
    ),
    Wrong(
        lambda: metrics.rouge(hypotheses=[], references=[]),
        ValueError,
        "hypotheses",
        "at least one sentence",
        "none",
    ),
    Wrong(
        lambda: regularizers.low_entropy_penalty(WEIGHTS, minimum=1, rows=torch.ones(4)),
        TypeError,
        "rows",
        "a boolean tensor",
        "torch.float32",
    ),
    Wrong(
        lambda: regularizers.low_entropy_penalty(WEIGHTS, minimum=1, rows=torch.ones(5) > 0),
        ValueError,
        "rows",
        "a shape that broadcasts to (..., L) = (4,)",
        "shape (5,)",
    ),
    Wrong(
        lambda: regularizers.low_entropy_penalty(WEIGHTS[0], minimum=1),
        ValueError,
        "weights",
        "at least 2 dimensions (..., L, S)",
        "shape (5,)",
    ),
    Wrong(
        lambda: regularizers.low_entropy_penalty(WEIGHTS, minimum=0),
        ValueError,
        "minimum",
        "a number greater than 0",
        "0",
    ),
    Wrong(
        lambda: regularizers.low_entropy_penalty([1.0], minimum=1),
        TypeError,
        "weights",
        "a torch.Tensor",
        "list",
    ),
    Wrong(
        lambda: regularizers.rank_one_residual(torch.ones(2, 2, dtype=torch.long)),
        TypeError,
        "x",
        "a floating-point tensor",
        "torch.int64",
    ),
]

FIT = [
    Wrong(fit(model=squared), TypeError, "model", "an nn.Module", "function"),
    Wrong(
        fit(model=SimpleNamespace(model=nn.Linear(1, 1))),
        TypeError,
        "model",
        "an nn.Module (its .model is one)",
        "SimpleNamespace",
    ),
    Wrong(
        lambda: training.next_token_loss(nn.Linear(1, 1), (ONES, ONES)),
        TypeError,
        "tokens",
        "a tensor of ids (B, L)",
        "tuple",
    ),
    Wrong(fit(model=nn.Identity()), ValueError, "model", "a module with parameters", "none"),
    Wrong(
        fit(train=iter(ONES)),
        TypeError,
        "train",
        "tasks.Batches or a sequence of batches",
        "list_iterator",
    ),
    Wrong(fit(train=[]), ValueError, "train", "at least one batch", "none"),
    Wrong(fit(valid=[]), ValueError, "valid", "at least one batch", "none"),
    Wrong(fit(steps=-1), ValueError, "steps", "an int of at least 0", "-1"),
    Wrong(fit(steps=1e3), TypeError, "steps", "an int", "float 1000.0"),
    Wrong(fit(loss=None), TypeError, "loss", "a function of model and batch", "NoneType"),
    Wrong(
        fit(loss=training.sequence_loss),
        TypeError,
        "batch",
        "a tasks.Batch (for other batches pass loss=, as applications.summary_loss)",
        "Tensor",
    ),
    Wrong(fit(loss=lambda m, x: m(x) / 0), ValueError, "loss", "a finite number", "…inf at step 1"),
    Wrong(
        fit(loss=lambda m, x: m(x)[:0]),
        ValueError,
        "loss",
        "at least one loss for each batch",
        "shape (0, 1)",
    ),
    Wrong(fit(loss=lambda m, x: 1.0), TypeError, "loss", "a torch.Tensor", "float"),
    Wrong(fit(lr=0), ValueError, "lr", "a number greater than 0", "0"),
    Wrong(fit(lr="fast"), TypeError, "lr", "a number", "str 'fast'"),
    Wrong(fit(schedule=0.9), TypeError, "schedule", "a function of the step", "float"),
    Wrong(fit(schedule=lambda step: None), TypeError, "schedule", "a number", "NoneType None"),
    Wrong(fit(measure={}), TypeError, "measure", "a function of the model", "dict"),
    Wrong(fit(seed="a"), TypeError, "seed", "an int", "str 'a'"),
    Wrong(
        fit(device="abacus"),
        ValueError,
        "device",
        "a device of this machine (cpu would do)",
        "…'abacus'…",
    ),
    Wrong(fit(train=torch.ones(4, 3)), TypeError, "train", "…such as tensor.split(32)", "…(4, 3)"),
    Wrong(fit(start=2), ValueError, "start", "an int of at most 1", "2"),
    Wrong(fit(steps=3, start=2), ValueError, "optimizer", "…that took the first 2 steps", "None"),
    Wrong(fit(optimizer="adam"), TypeError, "optimizer", "a torch.optim.Optimizer", "str"),
    Wrong(
        fit(lr=0.1, optimizer=torch.optim.SGD(LINE.parameters(), 0.1)),
        ValueError,
        "lr",
        "None with an optimizer, which has its own",
        "0.1",
    ),
    Wrong(
        lambda: training.next_token_loss(LINE, torch.ones(3, dtype=torch.long)),
        ValueError,
        "tokens",
        "ids (B, L) of two tokens at least",
        "shape (3,)",
    ),
    Wrong(
        lambda: training.next_token_loss(LINE, torch.ones(3, 1, dtype=torch.long)),
        ValueError,
        "tokens",
        "ids (B, L) of two tokens at least",
        "shape (3, 1)",
    ),
    Wrong(fit(progress=None), TypeError, "progress", "True or False", "NoneType None"),
    Wrong(lambda: training.evaluate(squared, ONES), TypeError, "model", "an nn.Module", "function"),
    Wrong(
        lambda: training.evaluate(LINE, [], loss=squared),
        ValueError,
        "batches",
        "batches with at least one loss",
        "none",
    ),
]


def test_fit_knows_no_other_argument():
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        fit(nonsense=1)()


@pytest.mark.build  # it must draw in vain some thousand times before it says so
def test_more_sentences_than_there_are_is_refused():
    assert_refused(
        Wrong(
            lambda: tasks.toy_french(3000, max_words=2),
            ValueError,
            "count",
            "at most about 542 for these lengths",
            "3000",
        )
    )


@pytest.mark.parametrize("wrong", DATA + VOCAB + SCORES + FIT)
def test_wrong_call_is_refused(wrong):
    assert_refused(wrong)


def test_checkpoints_refuse_what_does_not_fit(tmp_path):
    path = tmp_path / "x.safetensors"
    files.save_tensors(path, nn.Linear(2, 3).state_dict())
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(path.read_bytes()[:-4])
    for wrong in [
        Wrong(
            lambda: files.load_weights(LINE, path),
            ValueError,
            "weights",
            "…bias: (1,)…",
            "…bias: (3,), and 1 more…",
        ),
        Wrong(
            lambda: files.load_weights(nn.Linear(2, 3, bias=False), path),
            ValueError,
            "weights",
            "…bias: none…",
            "…bias: (3,), and 0 more…",
        ),
        Wrong(
            lambda: files.load_weights("model", path),
            TypeError,
            "model",
            "…nn.Module…",
            "…str…",
        ),
        Wrong(
            lambda: files.load_tensors(broken),
            ValueError,
            "path",
            "…a whole safetensors file…",
            "…broken.safetensors…",
        ),
        Wrong(
            lambda: files.load_tensors(tmp_path / "no"),
            FileNotFoundError,
            "path",
            "…a safetensors file…",
            "…nothing at…",
        ),
        Wrong(
            lambda: files.save_tensors(path, {}, {"f": squared}),
            TypeError,
            "state",
            "…for JSON…",
            "…function…",
        ),
    ]:
        assert_refused(wrong)
