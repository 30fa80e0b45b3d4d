"""Checks of the exercises of chapter 10."""

import math

import torch

from attnbook.exercises import ask, checker, compare, unaided
from attnlab import Translator, tasks
from attnlab.decoding import predictions


@checker(1)
def check_by_word(answer):
    generator = torch.Generator().manual_seed(1)
    for target, source in (
        ([(0, 1), (1, 3)], [(0, 2), (2, 3), (3, 6)]),
        ([(0, 3)], [(0, 1), (1, 2)]),
        ([(0, 1), (1, 2), (2, 5)], [(0, 4)]),
    ):
        T, S = target[-1][1], source[-1][1]
        weights = torch.rand(T, S, generator=generator).softmax(-1)
        expected = predictions.word_weights(weights, target, source)
        with unaided():
            got = ask(answer, weights, target, source)
        what = f"target words {target}, source words {source}"
        if problem := compare(got, expected, 1e-6, what):
            return problem


@checker(2)
def check_pieces(answer):
    pieces = [
        "▁a",
        "in",
        "aa",
        "▁t",
        "ab",
        "th",
        "ing",
        "aba",
        "▁th",
        "ba",
        "▁thin",
        "b",
        "a",
        "c",
        "h",
        "n",
        "g",
        "i",
        "t",
        "▁",
    ]
    ids = {piece: number for number, piece in enumerate(pieces)}
    subwords = tasks.Subwords(pieces)
    for word in (
        "thing",
        "ababa",
        "caaac",
        "aab",
        "thab",
        "bababa",
        "hint",
        "x",
    ):
        got = ask(answer, word, ids)
        if list(got) != subwords.pieces([word]):
            return f"{word}: expected {subwords.pieces([word])}, got {got}."


@checker(3)
def check_clipped(answer):
    for said, right, n, expected in (
        ("the the the cat", ["the cat sat"], 1, (2, 4)),
        ("the cat the cat", ["the cat", "a cat the cat"], 2, (2, 3)),
        ("a b", ["a b"], 3, (0, 0)),
        ("le le", ["le chat", "le le le"], 1, (2, 2)),
    ):
        texts = [one.split() for one in right]
        got = ask(answer, said.split(), texts, n)
        if tuple(got) != expected:
            return f"{said!r} for {right}, n = {n}: expected {expected}, got {tuple(got)}."


def best_ending(follow, size):
    beam, ended = [((), 0.0)], []
    while beam:
        longer = [
            ((*words, word), total + math.log(chance))
            for words, total in beam
            for word, chance in follow(words).items()
        ]
        longer.sort(key=lambda path: -path[1])
        kept = longer[:size]
        ended += [path for path in kept if path[0][-1] == "<eos>"]
        beam = [path for path in kept if path[0][-1] != "<eos>"]
        size -= len(kept) - len(beam)
    return max(ended, key=lambda path: path[1])[0]


SLOTS = {  # where a slot that is lost, or freed, changes what a beam of 2 finds
    (): {"a": 0.7, "<eos>": 0.3},
    ("a",): {"x": 0.52, "y": 0.48},
    ("a", "x"): dict.fromkeys("bcdefghijk", 0.1),
}


@checker(4)
def check_beam(answer):
    for seed in range(13):

        def follow(words, seed=seed):
            "Up to four words, then the end; chances by the words so far."
            if seed == 12:
                return SLOTS.get(words, {"<eos>": 1.0})
            if len(words) == 4:
                return {"<eos>": 1.0}
            number = sum((i + 1) * ord(w[0]) for i, w in enumerate(words))
            generator = torch.Generator().manual_seed(1000 * seed + number)
            chances = torch.rand(4, generator=generator).pow(2)
            chances = (chances / chances.sum()).tolist()
            names = ["a", "b", "c", "<eos>"] if words else ["a", "b", "c", "d"]
            return dict(zip(names, chances, strict=True))

        for size in (1, 2, 4):
            got = ask(answer, follow, size)
            expected = best_ending(follow, size)
            if tuple(got) != expected:
                return (
                    f"a beam of {size}: expected {' '.join(expected)},"
                    f" got {' '.join(map(str, got))}."
                )


@torch.no_grad()
def heads_by_word(text):  # -> French words, English words, (layers, H, T, S)
    "The Transformer's heads on one of the aligned pairs, told its French."
    translator = Translator.load("tatoeba-en-fr")
    pairs = tasks.tatoeba_aligned()
    (pair,) = (p for p in pairs if " ".join(p.source) == text)
    (batch,) = translator.batches([pair], batch_size=1)
    vocab, model = translator.source_vocab, translator.model
    weights = model.weights(batch.source, batch.source_lengths, batch.target_in).cross[0]
    spans = [vocab.spans(vocab.pieces(side)) for side in pair[1::-1]]
    found = [[predictions.word_weights(head, *spans) for head in layer] for layer in weights]
    return pair.target, pair.source, torch.stack([*map(torch.stack, found)])


@checker(5)
def check_head(answer):
    said, read, weights = heads_by_word("i have no children .")
    got = ask(answer)
    both = weights[:, :, [said.index("n'"), said.index("pas")], read.index("no")]
    total = both.sum(-1)  # (layers, H)
    if not (
        isinstance(got, (tuple, list))
        and len(got) == 2
        and all(isinstance(part, int) for part in got)
        and 0 <= got[0] <= 2
        and 0 <= got[1] <= 3
    ):
        return "Expected a layer, 0 to 2, and a head, 0 to 3."
    mine = total[tuple(got)]
    if mine < total.max():
        return (
            f"layer {got[0]}, head {got[1]} puts {mine:.2f} on it in both rows"
            " together; another head puts more."
        )
