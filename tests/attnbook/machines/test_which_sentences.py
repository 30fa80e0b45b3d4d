"""The box of sentences: its numbers are torch's, and a text is cut as the page cuts it."""

import hashlib

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attnbook.machines import WhichSentences
from attnbook.machines.which_sentences import SENTENCES, sentences_of, vectors_of

TEXT = "The tea is cold. My kettle broke!\nHi all,\nDr. Brown, who ran 3.5 km, slept. He was tired."
MORE = "Nobody came.\n> Really? e.g. Ann."
QUESTION, CLAIMS = "Who slept?", "Brown slept. It rained."


def unit(text: str) -> list[float]:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
    vector = np.random.default_rng(seed).normal(size=6) + 0.5
    return list(vector / np.linalg.norm(vector))


EVERY = {one: unit(one) for one in sentences_of("\n".join((TEXT, MORE, QUESTION, CLAIMS)))}
SAMPLES = {
    "Another": {"text": MORE, "question": QUESTION, "claims": CLAIMS, "k": 1},
    "The tea": {"text": TEXT, "question": QUESTION, "claims": CLAIMS, "k": 2},
}


def make(**settings) -> WhichSentences:
    start = {"text": TEXT, "question": QUESTION, "claims": CLAIMS, "mode": "check", "k": 2}
    start |= {"vectors": EVERY, "samples": SAMPLES, "folder": "", "title": "A box"}
    return WhichSentences(**start | settings)


SETTINGS = [
    {"mode": "summary", "k": 3},
    {"mode": "summary", "k": 12, "text": MORE},
    {"mode": "check", "threshold": 0.75},
    {"mode": "check", "claims": ""},
    {"mode": "ask", "question": " "},
    {"mode": "ask", "question": "Why? <b>&amp</b> %:"},
    {"text": ""},
    {"text": "One that is not known. A. B. Cee.\n\r\n...\n Ünï, 漢字! “So.” He"},
]


@pytest.mark.parametrize("mode", ["summary", "ask", "check"])
def test_cosines_and_weights_are_torchs(mode):
    box = make(mode=mode)
    found = box.compute()
    keys = torch.tensor(np.array([box._found[one] for one in found["sentences"]]))
    asked = {"summary": keys.mean(0, keepdim=True)}.get(mode)
    if asked is None:
        asked = torch.tensor(np.array([box._found[one] for one in found["asked"]]))
    want = F.cosine_similarity(asked[:, None], keys[None], dim=-1)
    assert np.array(found["cosines"]) == pytest.approx(want.numpy(), abs=2e-3)  # half precision
    got = torch.tensor(found["cosines"])
    assert np.array(found["weights"]) == pytest.approx((20 * got).softmax(-1).numpy())
    count = box.k if mode == "summary" else 1
    best = got.topk(count).indices.sort().values
    assert found["chosen"] == best.tolist()


def test_a_text_is_cut_at_the_ends_of_sentences_and_of_lines():
    tea, kettle, *others = sentences_of(TEXT)
    assert (tea, kettle) == ("The tea is cold.", "My kettle broke!")
    assert others == ["Hi all,", "Dr. Brown, who ran 3.5 km, slept.", "He was tired."]
    said = 'She said "No."', "Then J. Doe left, i.e. he ran. so be it."
    assert sentences_of(f"{said[0]} {said[1]}\n--\n***") == list(said)
    assert len(sentences_of("Yes. " * 500)) == SENTENCES
    assert sentences_of(" \n.\n") == []


def test_without_a_vector_it_says_which_sentences_are_missing_and_computes_nothing():
    found = make(text="Is it? The tea is cold. Is it?", mode="summary").compute()
    assert found["missing"] == ["Is it?"]
    assert found["cosines"] == found["weights"] == found["chosen"] == []


def test_vectors_are_read_once_for_each_sentence():
    class Reader:
        def embed(self, texts):
            self.texts = texts
            return torch.tensor([unit(text) for text in texts])

    reader = Reader()
    found = vectors_of(reader, TEXT, "He was tired.", QUESTION)
    assert list(found) == reader.texts == [*sentences_of(TEXT), QUESTION]
