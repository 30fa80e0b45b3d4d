"""Does a translator that has to choose *il* or *elle* look at what "it" refers to?

    python -m experiments.il_or_elle            three seeds, four minutes of one core
    python -m experiments.il_or_elle --quick    tiny, to see that it runs

The four frames of `reference`, with their French: *The animal didn't cross the street because it
was too tired* asks for *il*, the same with *wide* for *elle*. Half of the animate nouns and half of
the places are feminine, so that no rule of grammar is right in more than half of the pairs whose
nouns differ in gender. A small Transformer learns from three quarters of all pairs of nouns and is
tested on the rest, told the right French up to the pronoun. Of every head: the four effects of
`reference` on the weights of "it" (encoder) and of the step that writes the pronoun (decoder to
encoder), and the pronouns that are right without it.
"""

import random

import torch
from torch import Tensor

from attnlab import tasks
from attnlab.tasks import Batch, Batches, Pair, Vocab
from attnlab.tasks.pairs import collate
from attnlab.transformer import Transformer
from experiments import _record as record
from experiments import reference
from experiments._training import fit, parameters

SEEDS, STEPS, BATCH, RATE = (0, 1, 2), 2000, 32, 0.006
LAYERS, HEADS = 2, 4
SHAPE = {"embed_dim": 32, "hidden_dim": 64, "num_heads": HEADS, "num_layers": LAYERS,
         "dropout": 0.0, "norm_first": True}  # fmt: skip
MODEL, KINDS = "Transformer", ("encoder", "decoder", "cross")
FRAMES, MEANT = tuple(reference.FRAMES), ("tired", "wide")

# English, French; the first half is masculine, the second feminine.
ANIMATE = (
    "animal animal, dog chien, horse cheval, fox renard, monkey singe, cat chat, lion lion, "
    "wolf loup, rabbit lapin, bear ours, bird oiseau, pig cochon, goat chèvre, cow vache, "
    "mouse souris, frog grenouille, bee abeille, hen poule, turtle tortue, owl chouette, "
    "ant fourmi, giraffe girafe, whale baleine, otter loutre"
)
PLACES = (
    "bridge pont, field champ, garden jardin, tunnel tunnel, lake lac, park parc, canal canal, "
    "swamp marais, stream ruisseau, corridor couloir, path sentier, ditch fossé, street rue, "
    "river rivière, road route, valley vallée, forest forêt, yard cour, hill colline, "
    "beach plage, cave grotte, meadow prairie, square place, trail piste"
)
# English, French of either gender.
OF_ANIMATE = (
    "tired fatigué fatiguée, scared effrayé effrayée, hungry affamé affamée, sick malade malade, "
    "shy timide timide, lazy paresseux paresseuse, nervous nerveux nerveuse, weak faible faible"
)
OF_PLACES = (
    "wide large large, narrow étroit étroite, steep raide raide, flooded inondé inondée, "
    "long long longue, muddy boueux boueuse, crowded bondé bondée, dark sombre sombre"
)
# English infinitive and participle, French participle of either gender.
VERBS = (
    "cross crossed traversé traversée, reach reached atteint atteinte, use used utilisé utilisée, "
    "visit visited visité visitée, leave left quitté quittée"
)
ENGLISH = {
    "active": "the {a} did not {v} the {p} because it was too {x} .",
    "passive": "the {p} was not {d} by the {a} because it was too {x} .",
    "place first": "near the {p} , the {a} stopped because it was too {x} .",
    "animate first": "for the {a} , the {p} was no choice because it was too {x} .",
}
FRENCH = {
    "active": "{the_a} n' a pas {done} {the_p} parce qu' {it} était trop {x} .",
    "passive": "{the_p} n' a pas été {done_p} par {the_a} parce qu' {it} était trop {x} .",
    "place first": "près {of_p} , {the_a} s' est {stopped} parce qu' {it} était trop {x} .",
    "animate first": "pour {the_a} , {the_p} n' était pas un choix parce qu' {it} était trop {x} .",
}


def _table(text: str) -> list[list[str]]:
    return [row.split() for row in text.split(", ")]


_A, _P, _V = _table(ANIMATE), _table(PLACES), _table(VERBS)
_X = {"tired": _table(OF_ANIMATE), "wide": _table(OF_PLACES)}
NOUNS = len(_A)


def feminine(noun: int) -> bool:
    """Whether a noun is feminine, by its place in either list."""
    return noun >= NOUNS // 2


def _with_article(french: str, noun: int) -> str:
    return f"l' {french}" if french[0] in "aeiou" else f"{('le', 'la')[feminine(noun)]} {french}"


def pair(frame: str, meant: str, animate: int, place: int, verb: int, adjective: int) -> Pair:
    """A sentence and its French; nouns, verb and adjective by their places in the lists."""
    (a, french_a), (p, french_p) = _A[animate], _P[place]
    v, d, done, done_f = _V[verb]
    x, *french_x = _X[meant][adjective]
    she = feminine(animate if meant == "tired" else place)
    the_p = _with_article(french_p, place)
    target = FRENCH[frame].format(
        the_a=_with_article(french_a, animate), the_p=the_p, done=done,
        done_p=(done, done_f)[feminine(place)], it=("il", "elle")[she], x=french_x[she],
        stopped=("arrêté", "arrêtée")[feminine(animate)],
        of_p=f"de {the_p}" if feminine(place) else f"du {french_p}",
    )  # fmt: skip
    source = ENGLISH[frame].format(a=a, p=p, v=v, d=d, x=x)
    return Pair(tuple(source.split()), tuple(target.split()))


def held_out(animate: int, place: int) -> bool:
    """Whether a pair of nouns, a quarter of all, is kept for the test."""
    return (animate + place) % 4 == 0


def drawn(count: int, seed: int) -> list[Pair]:
    """Sentences to learn from, of pairs of nouns that are not held out."""
    generator, found = random.Random(seed), []
    while len(found) < count:
        animate, place = generator.randrange(NOUNS), generator.randrange(NOUNS)
        if not held_out(animate, place):
            found.append(pair(
                generator.choice(FRAMES), generator.choice(MEANT), animate, place,
                generator.randrange(len(_V)), generator.randrange(len(_X["wide"])),
            ))  # fmt: skip
    return found


def items() -> list[tuple[int, int]]:
    """The held-out pairs of nouns that differ in gender."""
    both = ((animate, place) for animate in range(NOUNS) for place in range(NOUNS))
    return [(a, p) for a, p in both if held_out(a, p) and feminine(a) != feminine(p)]


def tested() -> list[Pair]:
    """The eight sentences of each item, in the order of frames and of what is meant."""
    return [
        pair(frame, meant, a, p, (a + p) % len(_V), (a + 3 * p) % len(_X["wide"]))
        for a, p in items()
        for frame in FRAMES
        for meant in MEANT
    ]


def vocabs() -> tuple[Vocab, Vocab]:
    """Every word of the grammar."""
    return tasks.vocabs([
        pair(frame, meant, n, n, n % len(_V), n % len(_X["wide"]))
        for frame in FRAMES for meant in MEANT for n in range(NOUNS)
    ])  # fmt: skip


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train one model; the pronouns that it gets right, with every head and without each, and the
    four effects of every head."""
    seed, steps = setting["seed"], setting["steps"]
    words = vocabs()
    torch.manual_seed(seed)
    model = Transformer(*map(len, words), **SHAPE)
    known = drawn(BATCH * steps, 1000 + seed)
    batches = Batches(known, *words, batch_size=BATCH, seed=seed)
    seconds = fit(model, batches, steps=steps, lr=RATE, seed=seed, device=device)
    model.eval()
    pairs = tested()
    batch = collate(pairs, *words).to(device)
    off = [
        (kind, layer, head) for kind in KINDS for layer in range(LAYERS) for head in range(HEADS)
    ]
    full = pronouns(model, batch, words)
    alone = {place: pronouns(model, batch, words, [place]) for place in off}
    return {
        "parameters": parameters(model),
        "cpu_seconds": seconds,
        "right": share(full),
        "by_frame": {
            frame: share(full.view(-1, len(FRAMES), 2)[:, n]) for n, frame in enumerate(FRAMES)
        },
        "both_right": share(full.view(-1, 2).all(1)),
        "without": {
            **{
                kind: share(pronouns(model, batch, words, [one for one in off if one[0] == kind]))
                for kind in KINDS
            },
            "any": share(pronouns(model, batch, words, off)),
        },
        "heads": looks(
            model, batch, pairs, {place: share(right) for place, right in alone.items()}
        ),
    }


def share(right: Tensor) -> float:
    """The share of what is right."""
    return round(right.float().mean().item(), 4)


@torch.no_grad()
def pronouns(model: Transformer, batch: Batch, words: tuple, off: list = ()) -> Tensor:
    """Whether each pronoun is right (N,), without the heads (kind, layer, head) in `off`."""
    kept = {}
    for kind, layer, head in off:
        attention = attention_of(model, kind, layer)
        kept.setdefault(attention, attention.out_proj.weight.clone())
        part = slice(head * attention.head_dim, (head + 1) * attention.head_dim)
        attention.out_proj.weight[:, part] = 0.0  # the columns of a head
    logits = model(batch.source, batch.source_lengths, batch.target_in)
    for attention, weight in kept.items():
        attention.out_proj.weight.copy_(weight)
    rows, at = step_of(batch, words)
    return (logits[rows, at].argmax(-1) == batch.target_out[rows, at]).cpu()


def attention_of(model: Transformer, kind: str, layer: int) -> torch.nn.Module:
    """One of the three attentions of a layer."""
    if kind == "encoder":
        return model.encoder.layers[layer].attention
    layer = model.decoder.layers[layer]
    return layer.cross_attention if kind == "cross" else layer.self_attention


def step_of(batch: Batch, words: tuple) -> tuple[Tensor, Tensor]:
    """Rows, and the step of each that writes *il* or *elle*."""
    il, elle = words[1].encode(["il", "elle"])
    at = ((batch.target_out == il) | (batch.target_out == elle)).int().argmax(1)
    return torch.arange(len(at)), at


@torch.no_grad()
def looks(model: Transformer, batch: Batch, pairs: list[Pair], without: dict) -> list[dict]:
    """A row for each head of the encoder and from decoder to encoder: its weight on the noun meant,
    on the other and on the adjective, its four effects, and what is right without it; and for each
    of the decoder the last alone."""
    weights = model.weights(batch.source, batch.source_lengths, batch.target_in)
    rows, step = step_of(batch, vocabs())
    it = torch.tensor([one.source.index("it") for one in pairs])
    of = {"encoder": weights.encoder[rows, :, :, it], "cross": weights.cross[rows, :, :, step]}
    nouns = [(_A[a][0], _P[p][0]) for a, p in items() for _ in range(2 * len(FRAMES))]
    places = torch.tensor([
        [one.source.index(noun) for noun in both] + [len(one.source) - 2]
        for one, both in zip(pairs, nouns, strict=True)
    ])  # fmt: skip
    found = []
    for (kind, layer, head), right in without.items():
        row = {"kind": kind, "layer": layer, "head": head, "right_without": right}
        if kind in of:
            on = of[kind][:, layer, head].cpu().gather(1, places)  # (N, 3)
            more = (on[:, 0] - on[:, 1]).view(-1, len(FRAMES), 2)
            meant = on[:, :2].view(-1, 2, 2)  # (N / 2, tired or wide, animate or place)
            row |= {
                "on_meant": round(meant.diagonal(0, 1, 2).mean().item(), 4),
                "on_other": round(meant.flip(2).diagonal(0, 1, 2).mean().item(), 4),
                "on_adjective": round(on[:, 2].mean().item(), 4),
                "looks_at_meant": round(
                    reference.rates(more.flatten(0, 1))["right"].item(), 4
                ),
                "effects": {name: round(effect.mean().item(), 4)
                            for name, effect in reference.effects(more).items()},
            }  # fmt: skip
        found.append(row)
    return found


def settings(quick: bool) -> list[dict]:
    """Every seed."""
    steps = 4 if quick else STEPS
    return [
        {"model": MODEL, "steps": steps, "seed": seed} for seed in (SEEDS[:2] if quick else SEEDS)
    ]


def summarise(runs: list[dict]) -> list[dict]:
    """One row: medians over seeds, and the runs."""
    return [
        {
            **same,
            **record.median_intervals(group, ("right", "both_right")),
            "without": {
                what: record.median_interval([run["without"][what] for run in group])
                for what in (*KINDS, "any")
            },
            "runs": group,
        }
        for same, group in record.grouped(runs, ("model", "steps"))
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("il_or_elle", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {
            "example": [" ".join(side) for side in pair("active", "tired", 0, 12, 0, 0)[:2]],
            "nouns": 2 * NOUNS,
            "items": len(items()),
            "sentences": len(tested()),
            "training": record.training(
                [run | {"rate": RATE} for run in runs],
                ("model",),
                score=lambda run: run["right"],
                of="right pronouns for unseen pairs of nouns",
            ),
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
