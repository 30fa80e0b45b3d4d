"""`predict` and `align` keep the order of the pairs and leave padding out."""

import pytest
import torch

from attnlab import metrics, tasks
from attnlab.decoding.predictions import (
    align,
    mean_heads,
    predict,
    teacher_forced_weights,
    word_weights,
)
from attnlab.rnn import seq2seq
from attnlab.tasks import EOS, Batches
from attnlab.transformer import Transformer
from tests.refusals.wrong_calls import refused

PAIRS = tasks.reverse(30, max_length=7, symbols=5)
VOCABS = tasks.vocabs(PAIRS)


def model(kind="additive"):
    torch.manual_seed(0)
    sizes = map(len, VOCABS)
    if kind == "transformer":
        one = Transformer(*sizes, embed_dim=8, num_heads=2, num_layers=2)
        one.output.bias.data[EOS] = -5.0  # untrained, it would end at once
        return one
    return seq2seq(*sizes, attention=kind, embed_dim=8, hidden_dim=16)


def batches(pairs=PAIRS, **options):
    return Batches(pairs, *VOCABS, **{"batch_size": 8, **options})


@pytest.mark.build
@pytest.mark.parametrize("kind", ["additive", "none", "transformer"])
@pytest.mark.parametrize("beam_size", [1, 3])
def test_predictions_do_not_depend_on_the_batches_and_come_in_order(kind, beam_size):
    one = model(kind)
    together = predict(one, batches(), max_len=9, beam_size=beam_size)
    alone = [predict(one, batches([p]), max_len=9, beam_size=beam_size)[0] for p in PAIRS]
    assert together == alone
    assert len({tuple(tokens) for tokens in together}) > 1
    assert one.training, "the mode is put back"


@pytest.mark.parametrize("kind", ["additive", "dot", "transformer"])
def test_alignments_are_the_argmax_of_each_pair_alone(kind):
    one = model(kind).eval()
    together = align(one, batches())
    for pair, links in zip(PAIRS, together, strict=True):
        batch = tasks.collate([pair], *VOCABS)
        with torch.no_grad():
            weights = teacher_forced_weights(one, batch)[0]
        assert links == metrics.argmax_links(weights[: len(pair.target)])
        assert len(links) == len(pair.target)


def test_pieces_of_a_word_are_aligned_as_one_word():
    words = [("unbind", "me"), ("meet", "unbind", "me")]
    joins = ["▁u", "▁un", "bi", "bin", "bind", "▁m", "▁me", "et"]
    subwords = tasks.Subwords([*joins, *"▁unbidmet"])
    pairs = [tasks.Pair(each, each) for each in words]
    assert len(subwords.encode(words[1])) == 5

    def straight(_, batch):  # each piece looks at itself
        return torch.eye(9)[: batch.target_in.shape[1], : batch.source.shape[1]].expand(
            len(batch.source), -1, -1
        )

    links = align(
        seq2seq(len(subwords), len(subwords), hidden_dim=8),
        Batches(pairs, subwords, subwords, batch_size=2),
        weigh=straight,
    )
    assert links == [{(0, 0), (1, 1)}, {(0, 0), (1, 1), (2, 2)}]


def test_weights_of_words_sum_over_columns_and_average_over_rows():
    weights = torch.arange(12.0).view(3, 4)
    got = word_weights(weights, [(0, 1), (1, 3)], [(0, 3), (3, 4)])
    assert got.tolist() == [[3, 3], [(4 + 5 + 6 + 8 + 9 + 10) / 2, (7 + 11) / 2]]
    assert word_weights(weights, [], [(0, 4)]).shape == (0, 1)
    assert word_weights(weights, [(0, 3)], []).shape == (1, 0)


def test_align_takes_the_weights_it_is_told_to_take():
    def gold(_, batch):
        weights = torch.zeros(*batch.target_in.shape, batch.source.shape[1])
        for row, place in enumerate(batch.index.tolist()):
            for target, source in PAIRS[place].sure:
                weights[row, target, source] = 1
        return weights

    assert align(model(), batches(), weigh=gold) == [pair.sure for pair in PAIRS]


def test_mean_heads_averages_whatever_lies_between():
    weights = torch.rand(2, 3, 4, 5, 6)
    assert torch.allclose(mean_heads(weights), weights.mean((1, 2)))
    assert mean_heads(weights[:, 0, 0]).equal(weights[:, 0, 0])


test_wrong_calls = refused("applications", "predictions", names=globals())
