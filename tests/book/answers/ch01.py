"""Answers to the exercises of chapter 01 that are wrong, and what the checks must say of them."""

PARAMETERS = {1: "n", 2: "s, n", 3: "s, w", 4: "step, s, start, end, most", 5: "h, n"}

WRONG = {
    (1, "the gate the other way up"): ("-logit(0.5 ** (1 / n))", "left at step 2, not 0.5"),
    (1, "the gate itself and not its bias"): ("0.5 ** (1 / n)", "state is left at step 1, not 0.5"),
    (1, "loses one part in n at each step"): ("logit(1 - 1 / (n + 1))", "0.4444 of the state"),
    (1, "a time constant in place of a half-life"): ("logit(math.exp(-1 / n))", "bias, 0.3679"),
    (2, "the last column"): ("s[:, -1]", "lengths [1, 5, 3] in 5 columns: the result holds NaN"),
    (2, "one too early"): ("s[torch.arange(len(s)), (n - 2).clamp(min=0)]", "3 columns: off by up"),
    (2, "forgets the empty row"): ("s[torch.arange(len(s)), n - 1].nan_to_num()", "[2, 0, 6] in 6"),
    (3, "by the place in the answer"): ("by_place(s, w)[::-1]", "place 1 of the source"),
    (3, "compares with the source unturned"):
        ("[share(x[j:j + 1] == y[j:j + 1] for x, y in zip(s, w)) for j in range(len(s[0]))]",
         "place 1 of the source is right in 1.00 of them, not 0.00"),
    (3, "turns what was written round"):
        ("[share(x[j:j + 1] == y[::-1][j:j + 1] for x, y in zip(s, w)) for j in range(len(s[0]))]",
         "Sources ['abcd', 'bacd'], written ['dc', 'xcab']"),
    (4, "always reads the start"):
        ("greedy(step, s, start, end, most, feed=False)", "your steps read [0, 0, 0"),
    (4, "keeps the first state"): ("greedy(step, s, start, end, most, move=False)", "[1, 2, 3"),
    (4, "writes the end symbol too"): ("greedy(step, s, start, end, most) + [end]", "6, 10, 11]"),
    (4, "has no limit"): ("greedy(step, s, start, end, 99)", "At most 3 tokens"),
    (5, "last letter first"): ("digits(h, n)[::-1]", "6 letters in one torch.float32"),
    (5, "rounds"): ("digits(h, n, round)", "expected"),
    (5, "in float32"): ("digits(h.float(), n)", "letters in one torch.float64"),
}  # fmt: skip

HELPERS = """
def logit(p):
    return math.log(p / (1 - p)) if p < 1 else math.inf

def share(rights):
    rights = list(rights)
    return sum(rights) / len(rights)

def by_place(sources, written):
    turned = [source[::-1] for source in sources]
    places = range(len(sources[0]))
    return [share(x[j] == y[j:j + 1] for x, y in zip(turned, written)) for j in places][::-1]

def greedy(step, state, start, end, most, feed=True, move=True):
    token, written = start, []
    while len(written) < most:
        scores, after = step(token if feed else start, state)
        state = after if move else state
        token = int(scores.argmax())
        if token == end:
            break
        written.append(token)
    return written

def digits(state, count, take=int):
    letters, rest = [], float(state)
    for _ in range(count):
        rest *= 16
        letters.append(take(rest))
        rest -= letters[-1]
    return letters[::-1]
"""
