"""Search, against brute force on models small enough to try every sentence."""

import itertools
import math

import pytest
import torch

from attnkit.efficient import KVCache
from attnlab.decoding import SequenceModel, Stepped, beam_search, evaluating, greedy_search, select

PAD, BOS, EOS = 0, 1, 2
V, MAX_LEN = 6, 4


class Chain:
    """A model without a network: the next token depends on the sentence and the last two tokens.

    `weights` of a step name the sentence, the last token and the time, so that a mix-up shows.
    """

    def __init__(self, batch: int, seed: int, sharpness: float = 2.0, end: float = 0.0):
        generator = torch.Generator().manual_seed(seed)
        self.logits = torch.randn(batch, V, V, V, generator=generator) * sharpness
        self.logits[..., EOS] += end
        self.log_probs = self.logits.log_softmax(-1)

    def state(self, copies: int = 1):
        sentences = torch.arange(len(self.logits)).repeat_interleave(copies)
        return {"sentence": sentences, "before": torch.zeros_like(sentences), "time": sentences * 0}

    def step(self, tokens, state):
        logits = self.logits[state["sentence"], state["before"], tokens]
        weights = torch.stack((state["sentence"], tokens, state["time"]), -1).float() + 1
        state = {"sentence": state["sentence"], "before": tokens, "time": state["time"] + 1}
        return Stepped(logits, state, weights)

    def score(self, sentence, tokens):
        total, before, last = 0.0, 0, BOS
        for token in tokens:
            total += self.log_probs[sentence, before, last, token].item()
            before, last = last, token
        return total

    def greedy(self, **options):
        return greedy_search(self.step, self.state(), len(self.logits), MAX_LEN, **options)

    def beam(self, beam_size, max_len=MAX_LEN, **options):
        batch = len(self.logits)
        return beam_search(
            self.step, self.state(beam_size), batch, max_len, beam_size=beam_size, **options
        )


def sentences(max_len=MAX_LEN):
    inner = range(EOS + 1, V)
    for length in range(max_len):
        for tokens in itertools.product(inner, repeat=length):
            yield (*tokens, EOS)


def normalised(score, length, alpha):
    return score / ((5 + length) / 6) ** alpha


def weights_of(row, tokens, steps):
    """What a chain's steps weigh along these tokens, and zeros after them."""
    path = [[row + 1, last + 1, time + 1] for time, last in enumerate([BOS, *tokens[:-1]])]
    return path + [[0, 0, 0]] * (steps - len(path))


def reference_beam(chain, row, beam_size, alpha, max_len):
    """Sutskever et al.'s words: a finished hypothesis leaves the beam, which shrinks by one."""
    open_ones, finished = [((), 0.0)], []
    for _ in range(max_len):
        longer = [
            ((*tokens, token), chain.score(row, (*tokens, token)))
            for tokens, _ in open_ones
            for token in range(EOS, V)
        ]
        longer.sort(key=lambda item: -item[1])
        kept = longer[: beam_size - len(finished)]
        finished += [item for item in kept if item[0][-1] == EOS]
        open_ones = [item for item in kept if item[0][-1] != EOS]
        if len(finished) == beam_size or not open_ones:
            break
    return max(finished or open_ones, key=lambda item: normalised(item[1], len(item[0]), alpha))


@pytest.mark.parametrize("beam_size", [1, 2, 3, 5, 8, 30])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 3.0])
@pytest.mark.parametrize("end", [-4.0, 0.0, 3.0])
def test_a_beam_is_the_textbooks_for_every_sentence_of_a_batch(beam_size, alpha, end):
    for seed in range(4):
        chain = Chain(4, seed, end=end)
        if beam_size <= 3:  # what follows the end must not matter; wider beams begin with fillers
            chain.logits[:, :, EOS] = math.nan
        decoded = chain.beam(beam_size, length_penalty=alpha)
        for row in range(4):
            tokens, score = reference_beam(chain, row, beam_size, alpha, MAX_LEN)
            length = int(decoded.lengths[row])
            assert tuple(decoded.tokens[row, :length].tolist()) == tokens
            assert decoded.scores[row].item() == pytest.approx(score, abs=1e-4)
            assert (decoded.tokens[row, length:] == PAD).all()
            assert decoded.weights[row].tolist() == weights_of(row, tokens, decoded.tokens.shape[1])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
def test_n_best_of_a_wide_beam_are_the_best_of_all_sentences_in_order(seed, alpha):
    chain = Chain(3, seed)
    decoded = chain.beam(300, length_penalty=alpha, n_best=5)
    assert decoded.tokens.shape[:2] == decoded.lengths.shape == decoded.scores.shape == (3, 5)
    assert decoded.weights.shape == (*decoded.tokens.shape, 3)
    for row in range(3):
        ranked = sorted(sentences(), key=lambda y: -normalised(chain.score(row, y), len(y), alpha))
        for place in range(5):
            length = int(decoded.lengths[row, place])
            tokens = decoded.tokens[row, place, :length].tolist()
            assert tuple(tokens) == ranked[place]
            expected = chain.score(row, tokens)
            assert decoded.scores[row, place].item() == pytest.approx(expected, abs=1e-4)
            assert (decoded.tokens[row, place, length:] == PAD).all()
            seen = decoded.weights[row, place].tolist()
            assert seen == weights_of(row, tokens, decoded.tokens.shape[2])


@pytest.mark.parametrize("end", [-4.0, 0.0, 3.0])
def test_the_first_of_the_n_best_is_the_best(end):
    for seed in range(6):
        chain = Chain(4, seed, end=end)
        best, several = chain.beam(4), chain.beam(4, n_best=3)
        length = best.tokens.shape[1]
        assert torch.equal(several.tokens[:, 0, :length], best.tokens)
        assert torch.equal(several.scores[:, 0], best.scores)
        ended = (several.tokens == EOS).any(-1)
        assert (ended[:, :-1] >= ended[:, 1:]).all(), "those that have ended come first"


@pytest.mark.parametrize("min_len", [0, 1, 2, 4])
def test_no_sentence_is_shorter_than_min_len(min_len):
    for seed in range(5):
        chain = Chain(3, seed, end=2.0)
        decoded = chain.beam(300, min_len=min_len)
        for row in range(3):
            long_enough = (y for y in sentences() if len(y) >= min_len)
            best = max(long_enough, key=lambda y: normalised(chain.score(row, y), len(y), 0.6))
            assert tuple(decoded.tokens[row, : int(decoded.lengths[row])].tolist()) == best
        greedy = chain.greedy(min_len=min_len)
        assert (greedy.lengths >= min_len).all()
        for mine, of_one in zip(greedy, chain.beam(1, min_len=min_len), strict=True):
            torch.testing.assert_close(mine, of_one)
    assert (Chain(3, 0, end=9.0).greedy().lengths == 1).all()


CHAINS = {  # ids of padding, first symbol and end; which token follows which; what is written
    "other ids": ({"pad": 5, "bos": 4, "eos": 3}, {4: 1, 1: 0, 0: 3}, [1, 0, 3]),
    "no padding": ({"pad": None, "bos": 3, "eos": 2}, {3: 0, 0: 1, 1: 2}, [0, 1, 2]),
}


@pytest.mark.parametrize(("ids", "follows", "written"), CHAINS.values(), ids=CHAINS)
def test_a_model_may_write_every_token_but_its_first_symbol_and_padding(ids, follows, written):
    table = torch.full((V, V), -9.0)
    for last, then in follows.items():
        table[last, then] = 9.0

    def step(tokens, state):
        return Stepped(table[tokens], state, None)

    assert greedy_search(step, None, 1, 9, **ids).tokens.tolist() == [written]
    assert beam_search(step, None, 1, 9, beam_size=3, **ids).tokens.tolist() == [written]


def test_a_finished_row_without_padding_is_filled_with_the_end():
    logits = torch.full((2, 4), -9.0)
    logits[0, 2] = logits[1, 0] = 0.0

    def step(tokens, state):
        return Stepped(logits, state, None)

    found = greedy_search(step, None, 2, 3, pad=None, bos=3, eos=2)
    assert found.tokens.tolist() == [[2, 2, 2], [0, 0, 0]]
    assert found.lengths.tolist() == [1, 3]


def test_one_symbol_may_begin_and_end():
    logits = torch.tensor([[-9.0, -9.0, 0.0, -1.0]])
    for search, options in ((greedy_search, {}), (beam_search, {"beam_size": 1})):
        found = search(
            lambda tokens, state: Stepped(logits, state, None),
            None, 1, 5, pad=None, bos=2, eos=2, **options,
        )  # fmt: skip
        assert found.tokens.tolist() == [[2]]


def test_both_searches_stop_early_and_ask_for_no_step_too_many():
    steps = []

    def step(tokens, state):
        steps.append(len(tokens))
        logits = torch.full((len(tokens), V), -10.0)
        logits[:, EOS if len(steps) == 3 else 4] = 10.0
        return Stepped(logits, state, None)

    decoded = greedy_search(step, None, 2, 50)
    assert decoded.tokens.tolist() == [[4, 4, EOS]] * 2
    assert steps == [2] * 3
    steps.clear()
    decoded = beam_search(step, None, 2, 50, beam_size=3)
    assert decoded.tokens.tolist() == [[4, 4, EOS]] * 2
    assert steps == [6] * 3
    assert decoded.weights is None


def test_low_precision_logits_are_summed_in_float32():
    def step(tokens, state):
        return Stepped(torch.zeros(len(tokens), V, dtype=torch.bfloat16), state, None)

    decoded = greedy_search(step, None, 1, 1)
    assert decoded.scores.dtype == torch.float32
    assert decoded.scores.item() == pytest.approx(-math.log(V), abs=1e-6)


def test_select_reaches_into_every_container():
    cache = KVCache()
    cache.update(torch.arange(3.0).view(3, 1, 1, 1), torch.arange(3.0).view(3, 1, 1, 1))
    rows = torch.tensor([2, 0])
    numbers = torch.arange(3)
    state = {"a": numbers, "b": [cache, (numbers, None)], "c": Stepped(numbers, None, numbers)}
    picked = select(state, rows)
    assert picked["a"].tolist() == picked["b"][1][0].tolist() == [2, 0]
    assert picked["b"][1][1] is None
    assert isinstance(picked["c"], Stepped)
    assert picked["c"].weights.tolist() == [2, 0]
    key, _ = picked["b"][0].update(torch.zeros(2, 1, 1, 1), torch.zeros(2, 1, 1, 1))
    assert key[:, 0, :, 0].tolist() == [[2, 0], [0, 0]]
    assert numbers.tolist() == [0, 1, 2]


def test_evaluating_puts_every_module_back_even_after_an_error():
    model = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Linear(2, 2))
    model[0].eval()
    inside = []

    def fail_while_evaluating():
        with evaluating(model):
            inside.extend([model.training, model[1].training, torch.is_grad_enabled()])
            raise KeyError

    with pytest.raises(KeyError):
        fail_while_evaluating()
    assert inside == [False, False, False]
    assert model.training
    assert model[1].training
    assert not model[0].training
    assert torch.is_grad_enabled()


def test_a_model_that_cannot_begin_says_so():
    with pytest.raises(NotImplementedError, match="SequenceModel must define begin"):
        SequenceModel().begin(None, None, copies=1, need_weights=False)
