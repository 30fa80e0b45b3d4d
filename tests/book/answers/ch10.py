"""Wrong answers to the exercises of chapter 10, and what the checks must say of them."""

PARAMETERS = {1: "w, t, s", 3: "s, r, n", 4: "follow, size"}

WRONG = {
    (1, "means of the columns"): ("over_words(w, t, s, torch.mean, torch.mean)", "off by"),
    (1, "source and target swapped"): ("by_word(w.T, s, t).T", "off by"),
    (1, "attnkit's"): ("predictions.word_weights(w, t, s)", "a ready-made function"),
    (2, "no mark"): ("lambda word, ids: split_word(word, ids)[1:]", "thing: expected"),
    (2, "the longest piece from the left"): ("greedy", "expected"),
    (2, "of equals, the rightmost"): ("rightmost", "expected"),
    (3, "not clipped"):
        ("(sum(t in sum(map(lambda w: runs(w, n), r), []) for t in runs(s, n)), len(runs(s, n)))",
         "the the the cat"),
    (3, "clipped by the sum of the references"): ("summed", "the cat the cat"),
    (3, "the first reference only"): ("clipped(s, r[:1], n)", "expected (2, 3)"),
    (4, "greedy"): ("beam(follow, 1)", "a beam of 2"),
    (4, "stops at the first end"): ("any_end(follow, size, 'first')", "a beam of"),
    (4, "everything"): ("beam(follow, 10_000)", "a beam of 1"),
    (4, "the finished compete"): ("any_end(follow, size, 'compete')", "expected <eos>, got a y"),
    (4, "a finished one frees its slot"): ("any_end(follow, size, 'free')", "expected <eos>, got"),
    (5, "one number"): ("lambda: 4 * head_of_no()[0] + head_of_no()[1]", "Expected a layer"),
    (5, "the one that puts least"): ("least", "another head puts more"),
    (5, "the row of the verb"): ("verb", "another head puts more"),
}  # fmt: skip

HELPERS = """
from itertools import pairwise

def over_words(weights, target, source, join, merge):
    weights = torch.stack([join(weights[:, a:b], 1) for a, b in source], 1)
    return torch.stack([merge(weights[a:b], 0) for a, b in target])

def greedy(word, ids):
    word, parts = "▁" + word, []
    while word:
        end = max([n for n in range(1, len(word) + 1) if word[:n] in ids], default=1)
        parts.append(word[:end])
        word = word[end:]
    return parts

def rightmost(word, ids):
    parts = list("▁" + word)
    while found := [(ids[a + b], -n) for n, (a, b) in enumerate(pairwise(parts)) if a + b in ids]:
        place = -min(found)[1]
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
    return parts

def runs(words, n):
    return [tuple(words[k : k + n]) for k in range(len(words) - n + 1)]

def summed(said, right, n):
    ours, theirs = runs(said, n), sum([runs(words, n) for words in right], [])
    return sum(min(ours.count(t), theirs.count(t)) for t in set(ours)), len(ours)

def any_end(follow, size, how):
    kept, done = [((), 0.0)], []
    while kept and not (done and how == "first"):
        longer = done * (how == "compete")
        longer += [((*words, word), total + math.log(chance))
                   for words, total in kept for word, chance in follow(words).items()]
        longer = sorted(longer, key=lambda path: -path[1])[:size]
        done = done * (how == "free") + [path for path in longer if path[0][-1] == "<eos>"]
        kept = [path for path in longer if path[0][-1] != "<eos>"]
    return max(done, key=lambda path: path[1])[0]

def totals(rows):
    said, read, weights = heads_by_word("i have no children .")
    places = [said.index(row) for row in rows]
    return weights[:, :, places, read.index("no")].sum(-1)

def named(place):
    layer, head = divmod(int(place), 4)
    return layer, head

def least():
    return named(totals(["n'", "pas"]).argmin())

def verb():
    return named((totals(["ai"]) - totals(["n'", "pas"])).argmax())
"""
