"""One token's way through the 30 layers of SmolLM2-135M-Instruct.

    python -m experiments.one_token            two minutes of one core
    python -m experiments.one_token --quick    a text of the forty, in seconds

The last token of "The capital of France is": in each layer the mean weight of its nine heads on
the first token; the head that gives most to another token, itself apart; how large its state is;
and which word the model would say if its last norm and output came after this layer (the "logit
lens"), and which place the word it says in the end has there. What each of the 270 heads is worth
to that word, and what the one of most worth is to ten other capitals. And of every fourth token of
forty texts, for how many the word of a layer is the one said in the end.
"""

import torch

from experiments import _record as record
from experiments import _smollm as smollm

PROMPT = "The capital of France is"
CAPITALS = (
    ("Germany", "Berlin"), ("Italy", "Rome"), ("Spain", "Madrid"), ("Russia", "Moscow"),
    ("Japan", "Tokyo"), ("China", "Beijing"), ("Egypt", "Cairo"), ("Greece", "Athens"),
    ("Poland", "Warsaw"), ("Austria", "Vienna"),
)  # fmt: skip
TEXTS, LENGTH, EVERY = 40, 64, 4


def settings(quick: bool) -> list[dict]:
    """One for each text; the seed is the text's number."""
    return [{"seed": text} for text in range(1 if quick else TEXTS)]


@torch.no_grad()
def lens(states: torch.Tensor) -> torch.Tensor:
    """Probabilities (..., V) of the next token, from a state (..., E) of any layer."""
    model = smollm.reader().model
    return model.output(model.stack.norm(states)).softmax(-1)


def measure(setting: dict, *, device: torch.device) -> dict:
    """For each layer the share of every fourth token whose word is already the last one's."""
    _, tokens = smollm.text(setting["seed"], LENGTH)
    states = smollm.read(tokens).states[0, :, ::EVERY]  # (layers + 1, L / 4, E)
    said = torch.stack([lens(layer).argmax(-1) for layer in states])
    return {"settled": (said == said[-1]).float().mean(-1).tolist()}


def way() -> list[dict]:
    """What happens to the last token of the prompt in each layer."""
    reading = smollm.reader().read(PROMPT, need_weights=True)
    said = lens(reading.states[:, -1])  # (layers + 1, V)
    rows = []
    for layer, weights in enumerate(reading.weights[:, :, -1]):  # (H, L)
        looks = weights[:, 1:-1]
        head, place = divmod(int(looks.argmax()), looks.shape[-1])
        after = said[layer + 1]
        rows.append({
            "layer": layer,
            "on_first": round(weights[:, 0].mean().item(), 4),
            "head": head,
            "token": reading.tokens[place + 1],
            "weight": round(looks[head, place].item(), 4),
            "says": smollm.reader().words([int(after.argmax())])[0],
            "chance": round(after.max().item(), 4),
            "answer": round(after[said[-1].argmax()].item(), 4),
            "rank": 1 + int((after > after[said[-1].argmax()]).sum()),
            "size": round(reading.states[layer + 1, -1].norm().item(), 1),
        })  # fmt: skip
    return rows


def chance(prompt: str, answer: str) -> float:
    """The probability of an answer's first piece after a prompt."""
    piece = smollm.reader().tokenizer.encode(f" {answer}").ids[0]
    states = smollm.read(smollm.reader().batch([prompt])[0]).states
    return round(lens(states[0, -1, -1])[piece].item(), 4)


def off() -> dict:
    """The chance of "Paris" without each head, and of ten other capitals without the one that
    lowers it most."""
    paris = (PROMPT, "Paris")
    found = []
    for layer in range(smollm.LAYERS):
        for head in range(smollm.HEADS):
            with smollm.without([(layer, head)]):
                found.append({"layer": layer, "head": head, "chance": chance(*paris)})
    found.sort(key=lambda one: one["chance"])
    others = []
    for country, capital in CAPITALS:
        prompt = PROMPT.replace("France", country)
        with smollm.without([(found[0]["layer"], found[0]["head"])]):
            less = chance(prompt, capital)
        others.append({"answer": capital, "whole": chance(prompt, capital), "without": less})
    return {"whole": chance(*paris), "heads": found, "capitals": others}


def results(runs: list[dict]) -> dict:
    """The way of the one token, and for each layer how many of all tokens have settled."""
    settled = torch.tensor([run["settled"] for run in runs])  # (texts, layers + 1)
    return {
        "model": smollm.NAME,
        "prompt": PROMPT,
        "tokens": smollm.reader().read(PROMPT).tokens,
        "settled": [record.median_interval(column.tolist()) for column in settled.T],
        "of_tokens": len(runs) * LENGTH // EVERY,
        "share": [round(share, 4) for share in settled.mean(0).tolist()],  # of all those tokens
        "rows": way(),
        "off": off(),
    }


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("one_token", __doc__, argv)
    return record.run(chosen, settings=settings, measure=measure, results=results)


if __name__ == "__main__":
    main()
