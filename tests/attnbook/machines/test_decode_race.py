"""The race: its writers are torch's language model, and each bug is what its name says."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from attnbook.machines import DecodeRace, decode_race
from attnbook.machines.decode_race import BUGS, DRAFT, DRAFTED, LEFT_BEHIND, SEEN
from attnkit import KVCache
from attnlab.transformer import LanguageModel

WORDS = list("abcdefgh")
SONGS = [list("abcdefghgfedcbaabbccddeeffgghh"), list("hgfedcbaabcdefghaaaabbbbccccdd")]
LAST = len(SONGS[0]) - 1
SIZES = {"embed_dim": 8, "num_heads": 2, "num_layers": 2, "hidden_dim": 12}


def a_model() -> LanguageModel:
    """Untrained, of a few features, with weights that float16 holds."""
    torch.manual_seed(3)
    options = {"norm": "rms", "gated": True, "activation": "silu", "bias": False, "dropout": 0.0}
    model = LanguageModel(len(WORDS), **SIZES, **options)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return model.half().double().eval()


def make(*, text: str = "A song", **settings) -> DecodeRace:
    weights = {name: x for name, x in a_model().state_dict().items() if name[:3] != "out"}
    given = {"words": WORDS, "titles": [text, "Another"], "songs": SONGS, "heads": 2}
    return DecodeRace(weights, **given | {"step": 12, "title": "A title"} | settings)


SETTINGS = [
    {"bug": "draft", "step": LAST},
    {"bug": "readers", "song": 1, "step": 7},
    {"bug": "place", "step": 1},
    {"bug": "layers", "song": 1},
    {"bug": "left", "step": 20},
    {"bug": "old", "song": 1, "step": 25},
]


def ids(song: list[str]) -> torch.Tensor:
    return torch.tensor([[WORDS.index(word) for word in song]])


@torch.no_grad()
def expected(song: int, bug: str) -> torch.Tensor:
    """Logits (n, V) over the song, of torch's model with caches in which there is that bug."""

    class Stuck(KVCache):
        length = property(lambda self: 0, lambda self, count: None)

    model, one, other = a_model(), ids(SONGS[song]), ids(SONGS[1 - song])
    caches = [Stuck(), Stuck()] if bug == "place" else model.new_caches()
    if bug == "old":
        model(other[:, :LEFT_BEHIND], caches=caches)
    rows = []
    for n in range(LAST):
        if bug == "draft" and n and n % DRAFTED == 0:
            model(one[:, :DRAFT], caches=caches)
        rows.append(model(one[:, n : n + 1], caches=caches)[0, -1])
        if bug == "readers":
            model(other[:, n : n + 1], caches=caches)
    return torch.stack(rows)


@pytest.mark.parametrize("song", [0, 1])
@pytest.mark.parametrize("bug", ["none", "place", "readers", "draft", "old"])
def test_every_step_is_torchs_with_that_bug(song, bug):
    found = torch.from_numpy(make()._run(song, bug).logits)
    torch.testing.assert_close(found, expected(song, bug), atol=1e-6, rtol=1e-6)


@torch.no_grad()
def test_without_a_bug_each_step_is_the_whole_text_and_the_writing_is_greedy():
    run, model = make()._run(0, "none"), a_model()
    whole = model(ids(SONGS[0])[:, :-1])[0]
    torch.testing.assert_close(torch.from_numpy(run.logits), whole, atol=1e-6, rtol=1e-6)
    written = model.generate(ids(SONGS[0])[:, :1], LAST, temperature=0).tokens[0]
    assert run.written == written.tolist()


def test_what_is_right_is_what_a_writer_without_a_cache_says(monkeypatch):
    now = make(step=LAST).compute()
    assert now["written"] == now["right"]
    assert now["caught"] == 0
    plain = decode_race.read

    def backwards(net, heads, words, *rest):
        "It spoils that writer alone: the other reads one word at a time."
        return plain(net, heads, words[::-1], *rest)

    monkeypatch.setattr(decode_race, "read", backwards)
    now = make(step=LAST).compute()
    assert now["written"] != now["right"]
    assert now["caught"] == 2


def test_the_bugs_that_torchs_model_refuses_are_what_they_are_called():
    run = make()._run(0, "left").logits  # at the upper left, a query sees the first key alone
    again = make(songs=[["a", *SONGS[0][1:]], SONGS[1]])._run(0, "left").logits
    assert (run == again).all()
    words = dict.fromkeys(WORDS)
    assert len({tuple(row.round(9)) for row in run}) <= len(words)  # and so knows no more than it
    shared, right = (make()._run(0, bug).logits for bug in ("layers", "none"))
    assert abs(shared[0] - right[0]).max() > SEEN  # the second layer finds the first one's key


def test_what_is_reported_is_when_logits_and_words_first_differ():
    for bug in BUGS:
        machine = make(bug=bug, step=LAST)
        now, right = machine.compute(), make()._run(0, "none")
        far = abs(machine._run(0, bug).logits - right.logits).max(1) > SEEN
        assert now["caught"] == (far.argmax() + 1 if far.any() else 0)
        wrong = [n for n, pair in enumerate(zip(now["written"], now["right"], strict=True))
                 if pair[0] != pair[1]]  # fmt: skip
        assert now["differs"] == (wrong[0] if wrong else 0)
        assert bool(now["caught"]) == (bug != "none")


@torch.no_grad()
def test_multiply_adds_are_counted_as_torch_counts_products():
    """The scores and averages of hidden pairs left out, which torch computes."""
    model, machine, step = a_model(), make(), 9
    E, layers = SIZES["embed_dim"], SIZES["num_layers"]
    with FlopCounterMode(display=False) as counter:
        model.weights(ids(SONGS[0])[:, :step])
    products = counter.get_total_flops() // 2
    hidden = layers * 2 * E * step * (step - 1) // 2
    assert machine.counts(step)[1] == products - hidden + len(WORDS) * E
    kept = [machine.counts(n)[0] - len(WORDS) * E for n in range(1, step + 1)]
    assert sum(kept) == products - hidden  # a step with a cache is a row of the whole
    total = make(step=step).compute()["all"]
    assert total == [sum(machine.counts(n)[way] for n in range(1, step + 1)) for way in (0, 1)]
