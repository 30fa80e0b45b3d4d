"""Is layer 3, head 1 of all-MiniLM-L6-v2 a coreference head? Weights of "it" on two nouns.

    python -m experiments.reference            2,208 sentences and 36 schemas, about a minute
    python -m experiments.reference --quick    some of them, in seconds

240 items, each with an animate noun, a place, and an adjective for either. Four frames: in each
pair of them the animate noun and the place change parts, so that being animate, being the subject,
being the farther noun and being what "it" means come apart, and each is as often true of the
animate noun as of the place. With the two adjectives an item gives eight sentences, four pairs. For
every head: how much more weight of "it" goes to the noun that is animate (subject, farther, meant)
than to the other. And schemas of Levesque, Davis and Morgenstern (2012), whose nouns are both
things. For a page to play with there are a few items more, with all their weights.
"""

import base64

import torch
from torch import Tensor

from attnlab.pretrained import Reader
from experiments import _minilm as minilm
from experiments import _record as record

# fmt: off
ANIMATE = (
    "animal", "dog", "horse", "fox", "child", "goat", "monkey", "cat", "bear", "lion", "wolf",
    "cow", "sheep", "rabbit", "mouse", "bird", "deer", "elephant", "pig", "duck", "tiger", "snake",
    "frog", "bull",
)
PLACES = (
    "street", "river", "bridge", "field", "road", "garden", "tunnel", "valley", "lake", "stream",
    "forest", "park", "yard", "hill", "beach", "cave", "trail", "canal", "meadow", "swamp",
    "corridor", "square", "ditch", "path",
)
OF_ANIMATE = ("tired", "scared", "hungry", "sick", "shy", "lazy", "nervous", "weak")
OF_PLACES = ("wide", "narrow", "steep", "flooded", "long", "muddy", "crowded", "dark")
VERBS = (("cross", "crossed"), ("enter", "entered"), ("reach", "reached"), ("use", "used"),
         ("visit", "visited"))
# fmt: on
ITEMS, PAGE_NOUNS, PAGE_ENDS = 240, 12, 3

# Of each frame: its text, whether the animate noun is the subject, and whether it is the farther.
FRAMES = {
    "active": ("The {a} didn't {v} the {p} because it was too {x}.", True, True),
    "passive": ("The {p} wasn't {d} by the {a} because it was too {x}.", False, False),
    "place first": ("Near the {p}, the {a} stopped because it was too {x}.", True, False),
    "animate first": ("For the {a}, the {p} was no choice because it was too {x}.", False, True),
}
READINGS = ("meant", "animate", "subject", "farther")

# Of the Winograd Schema Challenge (Levesque, Davis and Morgenstern 2012; CC BY 4.0): schemas with
# "it" and two nouns of one piece each. The text, the two nouns, and for each ending the one meant.
SCHEMAS = (
    (
        "The trophy doesn't fit into the brown suitcase because it is too {}.",
        ("trophy", "suitcase"),
        ("large", "small"),
    ),
    (
        "The large ball crashed right through the table because it was made of {}.",
        ("ball", "table"),
        ("steel", "foam"),
    ),
    (
        "I poured water from the bottle into the cup until it was {}.",
        ("bottle", "cup"),
        ("empty", "full"),
    ),
    (
        "The delivery truck zoomed by the school bus because it was going so {}.",
        ("truck", "bus"),
        ("fast", "slow"),
    ),
    (
        "The sculpture rolled off the shelf because it wasn't {}.",
        ("sculpture", "shelf"),
        ("fixed", "level"),
    ),
    (
        "The table won't fit through the doorway because it is too {}.",
        ("table", "doorway"),
        ("wide", "narrow"),
    ),
    (
        "I couldn't put the pot on the shelf because it was too {}.",
        ("pot", "shelf"),
        ("tall", "high"),
    ),
    ("The drain is clogged with hair. It has to be {}.", ("drain", "hair"), ("cleaned", "removed")),
    ("The fish ate the worm. It was {}.", ("fish", "worm"), ("hungry", "tasty")),
    (
        "The cat was lying by the mouse hole waiting for the mouse, but it was too {}.",
        ("cat", "mouse"),
        ("impatient", "cautious"),
    ),
)
# Ours, of the same form, where neither noun is alive.
OWN_SCHEMAS = (
    ("The nail went through the board because it was so {}.", ("nail", "board"), ("sharp", "thin")),
    ("The rope broke under the weight because it was too {}.",
     ("rope", "weight"), ("old", "great")),
    ("The key doesn't turn in the lock because it is {}.", ("key", "lock"), ("bent", "frozen")),
    ("The picture doesn't fit in the frame because it is too {}.",
     ("picture", "frame"), ("big", "small")),
    ("The stone broke the window because it was {}.", ("stone", "window"), ("heavy", "fragile")),
    ("The boat couldn't pass under the bridge because it was too {}.",
     ("boat", "bridge"), ("tall", "low")),
    ("The knife wouldn't cut the bread because it was too {}.",
     ("knife", "bread"), ("blunt", "hard")),
    ("The car couldn't climb the hill because it was too {}.", ("car", "hill"), ("old", "steep")),
)  # fmt: skip


def items(count: int) -> list[dict]:
    """Words of each item: every noun comes equally often, with ever other partners."""
    found = []
    for n in range(count):
        turn = n // len(ANIMATE)
        verb, done = VERBS[(n + turn) % len(VERBS)]
        found.append(
            {
                "a": ANIMATE[n % len(ANIMATE)],
                "p": PLACES[(n + 5 * turn) % len(PLACES)],
                "v": verb,
                "d": done,
                "tired": OF_ANIMATE[(n + 3 * turn) % len(OF_ANIMATE)],
                "wide": OF_PLACES[(n + 3 * turn + n // 8) % len(OF_PLACES)],
            }
        )
    return found


def sentence(item: dict, frame: str, meant: str) -> str:
    """A sentence of an item in which "it" is the animate noun ("tired") or the place ("wide")."""
    return FRAMES[frame][0].format(**item, x=item[meant])


def looks(reader: Reader, texts: list[str], nouns: list[tuple[str, str]]) -> Tensor:
    """Weight of "it" on each of two nouns: (N, 2, layers, H)."""
    found = []
    for start in range(0, len(texts), 64):
        part = slice(start, start + 64)
        for reading, pair in zip(reader.read(texts[part]), nouns[part], strict=True):
            it = max(place for place, token in enumerate(reading.tokens) if token == "it")
            places = [reading.tokens.index(noun) for noun in pair]
            found.append(reading.weights[:, :, it, places].permute(2, 0, 1))  # (2, layers, H)
    return torch.stack(found)


def signs(meant: str, frame: str) -> dict[str, int]:
    """Of each reading: 1 where it is true of the animate noun, -1 where it is of the place."""
    _, subject, farther = FRAMES[frame]
    truth = {"meant": meant == "tired", "animate": True, "subject": subject, "farther": farther}
    return {name: 1 if true else -1 for name, true in truth.items()}


def effects(more: Tensor) -> dict[str, Tensor]:
    """From the weight on the animate noun less that on the place, (items, frames, 2, ...), to how
    much more the noun gets that is meant (animate, subject, farther), by item: (items, ...)."""
    found = dict.fromkeys(READINGS, 0.0)
    for place, frame in enumerate(FRAMES):
        for column, meant in enumerate(("tired", "wide")):
            for name, sign in signs(meant, frame).items():
                found[name] = found[name] + sign * more[:, place, column] / (2 * len(FRAMES))
    return found


def rates(more: Tensor) -> dict[str, Tensor]:
    """From the same differences (pairs, 2, ...): the share of sentences with more weight on the
    noun meant, and of pairs in which the other adjective moves weight to the other noun."""
    right = torch.stack([more[:, 0] > 0, more[:, 1] < 0], 1).float()  # (pairs, 2, ...)
    return {
        "right": right.mean((0, 1)),
        "both right": right.all(1).float().mean(0),
        "moves": (more[:, 0] > more[:, 1]).float().mean(0),
    }


def by_frame(more: Tensor) -> list[dict]:
    """Shares of one head in each frame, from (items, frames, 2)."""
    return [
        {
            "frame": frame,
            **{name: round(value.item(), 4) for name, value in rates(more[:, place]).items()},
            "looks_animate": round((more[:, place] > 0).float().mean().item(), 4),
        }
        for place, frame in enumerate(FRAMES)
    ]


def schemas(reader: Reader, which: tuple) -> Tensor:
    """Weight of "it" on the first noun less that on the second, (schemas, 2, layers, H); the first
    ending means the first noun."""
    texts = [text.format(end) for text, _, ends in which for end in ends]
    nouns = [pair for _, pair, ends in which for _ in ends]
    weights = looks(reader, texts, nouns)  # (2 N, 2, layers, H)
    return (weights[:, 0] - weights[:, 1]).unflatten(0, (-1, 2))


def head_rows(reader: Reader, more: Tensor) -> list[dict]:
    """A row for each head: its four effects, and its shares of right sentences and of pairs."""
    found, shares = effects(more), rates(more.flatten(0, 1))
    return [
        {
            "layer": layer,
            "head": head,
            "effects": {
                name: record.median_interval(found[name][:, layer, head].tolist())
                for name in READINGS
            },
            **{
                name.replace(" ", "_"): round(value[layer, head].item(), 4)
                for name, value in shares.items()
            },
        }
        for layer in range(minilm.LAYERS)
        for head in range(minilm.HEADS)
    ]


def chosen_head(more: Tensor) -> dict:
    """The head with the most sentences right in every second item, tried on the others."""
    known, new = (rates(part.flatten(0, 1))["right"] for part in (more[::2], more[1::2]))
    place = int(known.argmax())
    return {
        "layer": place // minilm.HEADS,
        "head": place % minilm.HEADS,
        "right_where_chosen": round(known.max().item(), 4),
        "right_elsewhere": round(new.flatten()[place].item(), 4),
    }


def for_the_page(reader: Reader, nouns: int, ends: int) -> dict:
    """Nouns and verb of some items, some pairs of adjectives for each of them, and the weights of
    "it" (nouns, ends, 8 sentences, 2, layers * H), of 65,535, in base64."""
    made = items(nouns)
    pairs = list(zip(OF_ANIMATE[:ends], OF_PLACES[:ends], strict=True))
    each = [i | {"tired": x, "wide": y} for i in made for x, y in pairs]
    texts = [sentence(i, frame, meant) for i in each for frame in FRAMES
             for meant in ("tired", "wide")]  # fmt: skip
    found = looks(reader, texts, [(i["a"], i["p"]) for i in each for _ in range(2 * len(FRAMES))])
    whole = (found * 65535).round().to(torch.uint16).flatten()
    return {
        "frames": [list(frame) for frame in FRAMES.values()],
        "nouns": [[i[name] for name in "apvd"] for i in made],
        "ends": [list(pair) for pair in pairs],
        "looks": base64.b64encode(whole.numpy().tobytes()).decode(),
    }


def measure(reader: Reader, count: int) -> dict:
    """All numbers of the file."""
    made = items(count)
    texts = [
        sentence(i, frame, meant) for i in made for frame in FRAMES for meant in ("tired", "wide")
    ]
    nouns = [(i["a"], i["p"]) for i in made for _ in range(2 * len(FRAMES))]
    weights = looks(reader, texts, nouns)  # (N, 2, layers, H)
    more = (weights[:, 0] - weights[:, 1]).unflatten(0, (count, len(FRAMES), 2))
    layer, head = minilm.FAMOUS
    published, own = (schemas(reader, which) for which in (SCHEMAS, OWN_SCHEMAS))
    together = torch.cat([published, own])
    best = chosen_head(more)
    return {
        "items": count,
        "pairs": count * len(FRAMES),
        "frames": {name: frame[0] for name, frame in FRAMES.items()},
        "examples": texts[:8],
        "famous": {"layer": layer, "head": head, "frames": by_frame(more[..., layer, head])},
        "chosen": {**best, "frames": by_frame(more[..., best["layer"], best["head"]])},
        "schemas": {
            "published": len(published),
            "own": len(own),
            **{
                name: {
                    rate.replace(" ", "_"): round(value[place].item(), 4)
                    for rate, value in rates(together).items()
                }
                for name, place in (
                    ("famous", minilm.FAMOUS),
                    ("chosen", (best["layer"], best["head"])),
                )
            },
            "most_right_of_any_head": round(rates(together)["right"].max().item(), 4),
        },
        "rows": head_rows(reader, more),
        "page": for_the_page(reader, min(count, PAGE_NOUNS), PAGE_ENDS),
    }


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("reference", __doc__, argv)
    torch.set_num_threads(1)
    results = measure(minilm.reader(chosen.device), 10 if chosen.quick else ITEMS)
    return record.write(
        chosen.out, command=chosen.command, seeds=[], device=chosen.device, results=results
    )


if __name__ == "__main__":
    main()
