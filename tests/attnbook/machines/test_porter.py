"""The porter: his answers are those of torch's attention and of the papers' recurrences."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attnbook.machines import Porter, porter
from attnbook.machines.porter import BEST, MEMORIES, NAMES, ROOMS, WRITERS, key

SAID = ", ".join(f"{name} {room}" for name, room in zip(NAMES, "161803398874", strict=False))


def make(**settings) -> Porter:
    return Porter(**{"said": SAID, "title": "A porter"} | settings)


AGAIN = f"{SAID}, Ann 5, Ben 0, Ann 8"
SETTINGS = [
    {"memory": "all", "ask": 3},
    {"memory": "window", "said": AGAIN, "ask": 47},
    {"memory": "window", "said": "ann7 Ann 3. Zoe 1"},
    {"memory": "best", "said": AGAIN, "ask": 1},
    {"memory": "sum", "said": f"{SAID} / Ann 4, Una 2", "ask": 1},
    {"memory": "delta", "said": f"{AGAIN} / Ann 4"},
    {"memory": "gated", "said": f"{AGAIN} / Ann 4, Una 2"},
    {"memory": "gated", "said": "Ann 4 /"},
    {"memory": "window", "said": ""},
    {"memory": "best", "said": "Ann 3, Ben <b>7</b>, é 4 %:/ Ben 1"},
    {"memory": "all", "said": "Ann 12, Zoë 3, Ümit 4 / Øre 1, Zoë 5, Bob x"},
    {"memory": "all", "said": "Ann 1, ann 2, Ben 3 / BEN 4"},
    {"memory": "delta", "said": "Ann 1, ann 2, Ben 3, Cid 4 / BEN 4", "ask": 0},
    {"memory": "sum", "said": ", ".join(["Ann 1, Ben 6, Cid 1, Dot 8"] * 12) + " / Ann 1"},
]


def attended(machine: Porter) -> np.ndarray:
    """What torch's attention brings to each guest (guests, ROOMS), by the docstring's words."""
    pairs = [one for one in machine.heard() if one]
    query = torch.tensor(np.array([key(name) for name in machine.guests()]))
    keys = torch.tensor(np.array([key(name) for name, _ in pairs]))
    value = F.one_hot(torch.tensor([room for _, room in pairs]), ROOMS).double()
    age = torch.arange(len(pairs)).flip(0).double()
    agreed = (query[:, None].sign() == keys.sign()).sum(-1) - age / 1000  # newer ones first
    kept = {
        "all": torch.ones_like(agreed, dtype=torch.bool),
        "window": (age < porter.WINDOW).expand_as(agreed),
        "best": agreed >= agreed.topk(min(BEST, len(pairs))).values[:, -1:],
    }

    def attend(seen):
        bias = (-porter.AGE * age).masked_fill(~seen, -torch.inf)
        bias = F.pad(bias, (0, 1), value=porter.SILENCE)  # a key of zeros, whose value is nothing
        more = [F.pad(x, (0, 0, 0, 1)) for x in (keys, value)]
        return F.scaled_dot_product_attention(query, *more, attn_mask=bias, scale=porter.SHARP)

    return attend(kept[machine.memory]).numpy()


@pytest.mark.parametrize("memory", MEMORIES[:3])
def test_pairs_are_attended_to_as_by_torch(memory):
    for ask in range(12):
        machine = make(memory=memory, said=AGAIN, ask=ask)
        assert machine.compute()["bars"] == pytest.approx(attended(machine)[ask], abs=1e-9)


@pytest.mark.parametrize("rule", WRITERS)
def test_a_state_is_that_of_the_papers_recurrence(rule):
    machine = make(memory=rule, said=f"{AGAIN} / Ann 4, Una 2")
    state, one = torch.zeros(ROOMS, 8).double(), torch.eye(8).double()
    for pair in machine.heard():
        if pair is None:
            alpha = 0.0 if rule == "gated" else 1.0
            state = alpha * state
            continue
        k = torch.tensor(key(pair[0]))
        v = torch.eye(ROOMS)[pair[1]].double()
        kept = one if rule == "sum" else one - torch.outer(k, k)
        state = state @ kept + torch.outer(v, k)
    shown = machine.compute()
    assert np.array(shown["state"]) == pytest.approx(state.numpy(), abs=1e-12)
    assert shown["bars"] == pytest.approx((state @ torch.tensor(key("Ann"))).numpy(), abs=1e-12)


def test_a_key_has_length_one_and_depends_on_its_letters_alone():
    keys = np.array([key(name) for name in NAMES])
    assert np.linalg.norm(keys, axis=1) == pytest.approx(1)
    assert len(set(NAMES)) == len(NAMES)
    assert (key("ANN") == key("ann")).all()
    overlap = keys @ keys.T - np.eye(len(NAMES))
    assert overlap.max() < 0.9
    assert abs(overlap.mean()) < 0.05


def test_only_states_keep_the_same_bytes_and_only_the_best_read_less_than_they_keep():
    for memory in MEMORIES:
        few, many = make(memory=memory).compute(), make(memory=memory, said=AGAIN).compute()
        assert (few["kept"] == many["kept"]) is (memory in ("window", *WRITERS))
        assert (many["read"] < many["kept"]) is (memory == "best")


def test_what_is_typed_is_heard_leniently_and_up_to_48_pairs():
    assert make(said="ann7 Ben, Cid 1 x / 5 Ben  3").heard() == [("ann", 7), ("Cid", 1), None]
    assert make(said="Ann 12, Zoë 3; Ümit 4").heard() == [("Zoë", 3), ("Ümit", 4)]
    assert len(make(said="A 1 " * 100).heard()) == 48
    assert make(said="A 1 " * 48 + "/").guests() == {}


def test_only_the_gate_forgets_who_has_left():
    found = {memory: make(memory=memory, said=f"{SAID} /").compute() for memory in MEMORIES}
    assert all(one["gone"] == 12 for one in found.values())
    assert found["gated"]["stale"] == 0 < found["delta"]["stale"] < found["all"]["stale"] == 12
    back = make(memory="all", said=f"{SAID} / Ann 1").compute()
    assert (back["right"], back["gone"], back["stale"]) == (1, 11, 11)


@pytest.mark.parametrize("memory", MEMORIES)
def test_small_and_large_letters_are_one_guest(memory):
    machine = make(memory=memory, said="Ann 1, ann 2, Ben 3 / BEN 4, Cid 5")
    assert machine.guests() == {"BEN": 4, "Cid": 5}
    assert machine.gone() == {"Ann": 2}
    found = make(memory="all", said="Ann 1, ann 2").compute()
    assert (found["guests"], found["rooms"], found["right"]) == (["Ann"], [2], 1)


@pytest.mark.parametrize("rule", WRITERS)
def test_what_is_left_of_a_guest_is_what_her_room_adds_to_the_answer(rule):
    """Leave the last value of a guest out, as zeros, but write as before: so much is missing."""
    heard = make(said=f"{AGAIN} / Una 2, Ben 4, Viv 3").heard()
    machine = make(memory=rule, said=f"{AGAIN} / Una 2, Ben 4, Viv 3")
    shown = machine.compute()
    for name, share in zip((*machine.guests(), *machine.gone()), shown["own"], strict=True):
        last = max(at for at, one in enumerate(heard) if one and one[0] == name)
        state = np.zeros(8)  # of one value, 1 where the guest is told and 0 elsewhere
        for at, one in enumerate(heard):
            if one is None:
                state = state * (rule != "gated")
                continue
            k = key(one[0])
            state = state + ((at == last) - (rule != "sum") * (state @ k)) * k
        assert share == pytest.approx(state @ key(name), abs=1e-12)


def test_who_has_left_is_listed_with_the_room_to_which_he_is_sent():
    found = make(memory="all", said=f"{SAID} / Una 2").compute()
    assert found["left"] == list(NAMES[:12])
    assert found["sent"] == found["old"]
    assert found["own"][1:] == pytest.approx([1] * 12, abs=0.05)
    gated = make(memory="gated", said=f"{SAID} / Una 2").compute()
    assert gated["own"] == pytest.approx([1] + [0] * 12)
