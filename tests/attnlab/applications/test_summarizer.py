"""Scores for sentences: equivariant, padding invariant, saved and loaded, learned."""

import warnings

import pytest
import torch

from attnlab import Summarizer, tasks, training
from attnlab.applications.summarizer import summary_loss
from attnlab.tasks import DocumentBatches, Vocab
from tests.refusals.wrong_calls import refused

torch.set_num_threads(1)
DOCUMENTS = tasks.salient(40, seed=1)
VOCAB = Vocab.build(sentence for item in DOCUMENTS for sentence in item.sentences)


def model(**options):
    torch.manual_seed(0)
    return Summarizer(VOCAB, **{"embed_dim": 16, "num_heads": 2, "num_layers": 1, **options}).eval()


def ids(*documents):
    return tasks.stack_sentences([document.sentences for document in documents], VOCAB)


def test_every_kind_of_weights_sums_to_one_where_there_is_something_to_see():
    few, many = sorted(DOCUMENTS[:8], key=lambda item: len(item.sentences))[::7]
    scored = model()(ids(few, many), need_weights=True)
    count = len(few.sentences)
    assert count < len(many.sentences)
    assert torch.allclose(scored.weights.sum(-1), torch.ones(2))
    assert (scored.weights[0, count:] == 0).all()
    assert (scored.scores[0, count:] == -torch.inf).all()
    words = scored.word_weights.sum(-1)
    assert torch.allclose(words[0, :count], torch.ones(count, 2))
    assert (words[0, count:] == 0).all()
    assert (scored.sentence_weights[0, ..., count:] == 0).all()


def test_scores_follow_the_sentences_when_these_change_places():
    sentences = list(DOCUMENTS[0].sentences)
    order = list(reversed(range(len(sentences))))
    one = model()
    straight = one.summarize(sentences, k=3)
    turned = one.summarize([sentences[place] for place in order], k=3)
    assert turned.scores[::-1] == pytest.approx(straight.scores, abs=1e-5)
    assert set(turned.sentences) == set(straight.sentences)


def test_attention_among_sentences_is_what_lets_one_sentence_judge_another():
    sentences = ids(DOCUMENTS[0])
    changed = sentences.clone()
    changed[0, 1] = sentences[0, 2]
    for layers, same in ((0, True), (1, False)):
        one = model(num_layers=layers)
        before, after = one(sentences).scores[0, 0], one(changed).scores[0, 0]
        assert bool(torch.isclose(before, after, atol=1e-6)) == same


def test_summary_is_the_k_best_in_the_order_of_the_document():
    summary = model().summarize(["Alice won the election", "the rain", ["bruno", "sang"]], k=2)
    best = sorted(range(3), key=lambda place: -summary.scores[place])[:2]
    assert summary.chosen == sorted(best)
    assert sum(summary.weights) == pytest.approx(1)
    texts = ["Alice won the election", "the rain", "bruno sang"]
    assert summary.sentences == [texts[place] for place in sorted(best)]


def test_text_is_split_into_its_sentences():
    one = model()
    text = "Dr. Alice won the election. The rain fell.\nBruno sang on monday."
    summary = one.summarize(text, k=2)
    split = ["Dr. Alice won the election.", "The rain fell.", "Bruno sang on monday."]
    assert summary == one.summarize(split, k=2)
    assert len(summary.scores) == 3


@pytest.mark.parametrize("batch_size", [1, 3, 32])
def test_many_documents_give_what_each_gives_alone(batch_size):
    one = model()
    documents = [[" ".join(s) for s in item.sentences] for item in DOCUMENTS[:7]]
    together = one.summarize_all(documents, 2, batch_size=batch_size)
    assert len(together) == 7
    for found, document in zip(together, documents, strict=True):
        alone = one.summarize(document, 2)
        assert (found.chosen, found.sentences) == (alone.chosen, alone.sentences)
        assert len(found.weights) == len(document)
        assert found.scores == pytest.approx(alone.scores, abs=1e-5)
        assert found.weights == pytest.approx(alone.weights, abs=1e-5)


def test_words_that_it_does_not_know_are_worth_a_warning():
    one = model()
    with torch.no_grad():
        one.query.add_(0.1)
    with pytest.warns(UserWarning, match=r"does not know 75% of the words") as caught:
        one.summarize(["alice juggles", "nobody cares"], 1)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=r"does not know 100% of the words") as caught:
        one.summarize_all(["Nobody cares. Who juggles?"], 1)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one.summarize(["alice juggles", "alice won"], 1)


def test_document_batches_hold_every_document_once_with_its_answer():
    batches = DocumentBatches(DOCUMENTS, VOCAB, batch_size=7, seed=3)
    for epoch in (0, 1):
        seen = []
        for batch in batches.epoch(epoch):
            for row, place in enumerate(batch.index.tolist()):
                assert (
                    tuple(batch.salient[row].nonzero()[:, 0].tolist()) == DOCUMENTS[place].salient
                )
                words = [VOCAB.decode(sentence) for sentence in batch.sentences[row]]
                assert [tuple(w) for w in words if w] == list(DOCUMENTS[place].sentences)
                seen.append(place)
        assert sorted(seen) == list(range(len(DOCUMENTS)))
    assert len(batches) == len(list(batches)) == 6


def test_loss_is_least_for_even_attention_on_the_important_sentences():
    batch = next(iter(DocumentBatches(DOCUMENTS[:1], VOCAB, batch_size=1)))

    class Fixed(torch.nn.Module):
        def forward(self, sentences):
            scores = torch.where(batch.salient, 30.0, 0.0)
            return type("S", (), {"scores": scores})

    assert summary_loss(Fixed(), batch).tolist() == pytest.approx([0, 0, 0], abs=1e-6)
    losses = summary_loss(model(), batch)
    assert (losses.shape, bool(losses.mean() > 0.5)) == ((3,), True)


def test_saved_and_loaded_scores_the_same(tmp_path):
    one = model()
    one.save(tmp_path)
    other = Summarizer.load(tmp_path)
    assert not other.training
    assert torch.equal(one(ids(*DOCUMENTS[:3])).scores, other(ids(*DOCUMENTS[:3])).scores)
    with pytest.raises(FileNotFoundError, match=r"folder: expected summarizer\.json"):
        Summarizer.load(tmp_path / "no")


@pytest.mark.slow
def test_it_learns_what_matters_and_a_lead_baseline_does_not():
    train = tasks.salient(3000, seed=10)
    test = tasks.salient(200, seed=11)
    vocab = Vocab.build(sentence for item in train for sentence in item.sentences)
    torch.manual_seed(0)
    one = Summarizer(vocab, embed_dim=64, num_heads=4, num_layers=2, dropout=0.0)
    batches = DocumentBatches(train, vocab, batch_size=32)
    training.fit(one, batches, steps=500, lr=2e-3, loss=summary_loss, progress=False)
    precision = lead = 0.0
    for document in test:
        chosen = one.summarize(document.sentences, k=3).chosen
        precision += len({*chosen} & {*document.salient}) / (3 * len(test))
        lead += len({0, 1, 2} & {*document.salient}) / (3 * len(test))
    assert precision > 0.9
    assert lead < 0.4


def summarize(sentences, k=1):
    return model().summarize(sentences, k)


def all_of(documents, k=2):
    return model().summarize_all(documents, k)


test_wrong_calls = refused("applications", "summarizer", names=globals())


def test_an_untrained_model_says_so_and_a_trained_or_loaded_one_does_not(tmp_path):
    vocab = Vocab(["a", "b", "c", "d"])
    model = Summarizer(vocab, embed_dim=8, num_heads=2)
    with pytest.warns(UserWarning, match=r"untrained .* loss=summary_loss"):
        model.summarize(["a b", "c d"], 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with torch.no_grad():
            model.query.add_(0.1)
        chosen = model.summarize(["a b", "c d"], 1).chosen
        model.save(tmp_path)
        assert Summarizer.load(tmp_path).summarize(["a b", "c d"], 1).chosen == chosen
    assert "_first_query" not in model.state_dict()
