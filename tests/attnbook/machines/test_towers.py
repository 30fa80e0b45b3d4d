"""A Transformer of switches: what it writes, and what its sums say, is torch's, whatever is off."""

from contextlib import ExitStack, contextmanager

import pytest
import torch
from torch import nn

from attnbook import recorded
from attnbook.machines import Towers, recurrent
from attnbook.machines.towers import SWITCHES, WRITTEN, Net, decode, encode, memory_of, readout
from attnbook.recorded import Recorded
from attnkit import masks
from attnkit.functional import Attended
from attnlab.tasks import Vocab
from attnlab.tasks.vocab import BOS, EOS, PAD, UNK
from attnlab.transformer import PositionScheme, Transformer

ENGLISH, FRENCH = list("abcde"), list("uvwxyz")
SENTENCES = ["a b c", "d e", "c"]


def a_model(seed=1) -> Recorded:
    torch.manual_seed(seed)
    vocabs = Vocab(ENGLISH), Vocab(FRENCH)
    sizes = {"embed_dim": 8, "num_heads": 2, "num_layers": 1, "hidden_dim": 12}
    model = Transformer(*map(len, vocabs), **sizes, dropout=0.0, norm_first=True)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.4)
    return Recorded(model.half().float().eval(), *vocabs, {})


def make(**settings) -> Towers:
    return Towers(a_model(), SENTENCES, **{"title": "A title", "off": "eForward"} | settings)


SETTINGS = [
    {"off": "dCross"},
    {"sentence": 1, "off": "ePlaces,eLine1,dSelf,dNorm4"},
    {"sentence": 2, "off": ",".join(name for name in SWITCHES if "Norm" in name)},
    {"off": "dLine3"},
]
PARTS = {"eAttention": "encoder attention", "dSelf": "decoder self_attention",
         "dCross": "decoder cross_attention", "eForward": "encoder linear2",
         "dForward": "decoder linear2"}  # fmt: skip
NORMS = {"eNorm1": "encoder norm1", "eNorm2": "encoder norm2", "dNorm1": "decoder norm1",
         "dNorm2": "decoder norm2", "dNorm3": "decoder norm3"}  # fmt: skip


@contextmanager
def off(model: Transformer, names):
    """Torch's own model with some of its boxes off, by hooks."""

    def nothing(_, __, output):
        if isinstance(output, Attended):
            return output._replace(output=torch.zeros_like(output.output))
        return torch.zeros_like(output)

    with ExitStack() as stack:
        for name in names:
            if name in PARTS or name in NORMS:
                side, part = (PARTS | NORMS)[name].split()
                module = getattr(getattr(model, side).layers[0], part)
                hook = nothing if name in PARTS else lambda _, given, __: given[0]
                stack.callback(module.register_forward_hook(hook).remove)
            elif "Places" in name:
                whose = "source_positions" if name[0] == "e" else "target_positions"
                none = PositionScheme("none", embed_dim=8, num_heads=2, max_len=20)
                stack.callback(setattr, model, whose, getattr(model, whose))
                setattr(model, whose, none)
            else:
                stack_of = model.encoder if name == "eNorm3" else model.decoder
                assert name in ("eNorm3", "dNorm4")
                stack.callback(setattr, stack_of, "norm", stack_of.norm)
                stack_of.norm = nn.Identity()
        yield


@torch.no_grad()
def written(model, ids) -> tuple[list[int], torch.Tensor]:
    memory, said = model.encode(torch.tensor([ids])), []
    while True:
        logits = model.decode(torch.tensor([[BOS, *said]]), memory).logits[0]
        logits[:, [PAD, BOS, UNK]] = -torch.inf
        best = logits[-1].argmax().item()
        if best == EOS or len(said) == WRITTEN:
            return said, logits
        said.append(best)


@pytest.mark.parametrize("sentence", range(len(SENTENCES)))
@pytest.mark.parametrize("name", ["", *(name for name in SWITCHES if "Line" not in name)])
def test_what_it_writes_is_torchs_with_that_box_off(name, sentence):
    kept, machine = a_model(), make(sentence=sentence, off=name)
    now = machine.compute()
    with off(kept.model.double(), [name] if name else []):
        said, logits = written(kept.model, kept.source_vocab.encode(now["read"]))
    assert now["written"] == [kept.target_vocab.tokens[one] for one in said]
    words, shares = now["decoder"][-1]
    best = logits.softmax(-1).max(-1)
    assert shares == pytest.approx(best.values.tolist(), abs=1e-9)
    assert words == [kept.target_vocab.tokens[one] for one in best.indices]


def stream(layer, x, memory, without):
    """A pre-norm decoder layer by hand, one line left out."""
    mask = masks.causal(x.shape[1])
    parts = (
        lambda x: layer.self_attention(layer.norm1(x), mask=mask).output,
        lambda x: layer.cross_attention(layer.norm2(x), memory).output,
        lambda x: layer.feed_forward(layer.norm3(x)),
    )
    sums = [x]
    for number, part in enumerate(parts, start=1):
        kept = torch.zeros_like(x) if number == without else x
        x = kept + part(x)
        sums.append(x)
    return sums


@pytest.mark.parametrize("without", [0, 1, 2, 3])
@torch.no_grad()
def test_a_line_that_is_off_is_left_out_of_the_sum_and_of_no_part(without):
    kept, machine = a_model(), make(off=f"dLine{without}" if without else "")
    now, model = machine.compute(), kept.model.double()
    memory = model.encode(torch.tensor([kept.source_vocab.encode(now["read"])])).outputs
    ids = [BOS, *kept.target_vocab.encode(now["written"])]
    x = model.target_embedding(torch.tensor([ids])) * 8**0.5
    sums = stream(model.decoder.layers[0], model.target_positions.add(x), memory, without)
    for x, (_, shares) in zip(sums, now["decoder"], strict=True):
        logits = model.output(model.decoder.norm(x))[0]
        logits[:, [PAD, BOS, UNK]] = -torch.inf
        assert shares == pytest.approx(logits.softmax(-1).max(-1).values.tolist(), abs=1e-9)


@torch.no_grad()
def test_a_line_that_is_cut_is_masked_in_the_encoders_attention():
    model, mask = a_model().model.double(), ~torch.eye(3, dtype=torch.bool)
    cut = [(place, place) for place in range(3)]
    tensors = recurrent.unpacked(**recurrent.halves(model.state_dict()))
    first, _, last = torch.from_numpy(encode(Net(tensors, 2, cut=cut), [4, 5, 6]))
    torch.testing.assert_close(model.encoder.layers[0](first[None], mask=mask).output[0], last)


@torch.no_grad()
def test_a_sum_of_the_encoder_says_what_is_heard_from_that_place_alone():
    kept, machine = a_model(), make(off="")
    now, model = machine.compute(), kept.model.double()
    memory = model.encode(torch.tensor([kept.source_vocab.encode(now["read"])])).outputs
    cross = model.decoder.layers[0].cross_attention
    for place, share in enumerate(now["encoder"][-1][1]):
        only = torch.arange(3) == place
        found = cross(torch.zeros(1, 1, 8).double(), memory, mask=only[None, None]).output
        logits = model.output(model.decoder.norm(found))[0, 0]
        logits[[PAD, BOS, UNK]] = -torch.inf
        assert share == pytest.approx(logits.softmax(-1).max().item(), abs=1e-9)


def test_with_the_encoders_attention_off_grey_agrees_with_the_french_noun_that_is_written():
    kept = recorded.model("machine_towers")
    source, target = kept.source_vocab, kept.target_vocab
    tensors = recurrent.unpacked(**recurrent.halves(kept.model.state_dict()))
    net = Net(tensors, kept.model.encoder.layers[0].attention.num_heads, ["eAttention"])
    memory = memory_of(net, encode(net, source.encode(["our", "old", "grey", "keys"]))[-1])
    for noun, form in {"clés": "grises", "livres": "gris", "clé": "grise"}.items():
        sums, _ = decode(net, [BOS, *target.encode(["notre", "vieux", noun])], memory)
        assert target.tokens[readout(net, sums[-1][-1]).argmax()] == form
