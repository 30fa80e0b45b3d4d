"""The three writers: what a leak changes in the test, and what is known of the data."""

import torch

from experiments import masked_writers
from experiments.masked_writers import IGNORED, LONGEST, MASKS, Writer


def test_answers_are_the_words_one_place_on():
    vocab, known, held_out = masked_writers.corpus(800, 40)
    words, following = masked_writers.tensors(known, vocab)
    real = following != IGNORED
    assert (words[:, 1:][real[:, 1:]] == following[:, :-1][real[:, 1:]]).all()
    ends = [vocab[row[row != IGNORED][-1]] for row in following]
    assert set(ends) == {"<end>"}
    assert not {tuple(each) for each in known} & {tuple(each) for each in held_out}
    assert max(map(len, known + held_out)) < LONGEST


def test_word_by_word_is_all_at_once_where_nothing_leaks():
    vocab, _, held_out = masked_writers.corpus(800, 40)
    torch.manual_seed(0)
    model = Writer(len(vocab), embed_dim=8)
    found = {
        name: masked_writers.tested(model, held_out, vocab, mask) for name, mask in MASKS.items()
    }
    right = found.pop("right way up")
    assert abs(right["usual"] - right["honest"]) < 1e-5
    for leaking in found.values():
        assert abs(leaking["usual"] - leaking["honest"]) > 1e-3


def test_what_is_written_has_words_and_an_end():
    vocab, _, _ = masked_writers.corpus(800, 40)
    torch.manual_seed(0)
    model, generator = Writer(len(vocab), embed_dim=8), torch.Generator().manual_seed(0)
    for mask in MASKS.values():
        written = masked_writers.write(model, vocab, mask, generator)
        assert len(written) <= LONGEST
        assert "<end>" not in written
