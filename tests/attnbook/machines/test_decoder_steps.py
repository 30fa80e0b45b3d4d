"""Two decoders: what depends on a word or a context has a gradient in torch, and nothing else."""

import pytest
import torch
from torch import nn

from attnbook.machines import DecoderSteps
from attnkit.functional import Attended
from attnkit.trace import record
from attnlab.rnn import Seq2Seq, seq2seq

READ, WRITTEN = ["<start>", "le", "chat", "noir"], ["le", "chat", "noir", "<end>"]
STEPS = len(READ)


def make(text: str = "chat", **settings) -> DecoderSteps:
    read = [*READ[:2], text, READ[3]]
    return DecoderSteps(read, WRITTEN, **{"title": "Two decoders", "what": "context"} | settings)


SETTINGS = [
    {"what": "word", "step": 2},
    {"what": "word", "step": 4, "feeding": True},
    {"what": "context", "step": 1, "feeding": True},
    {"what": "context", "step": 3},
    {"what": "context", "step": 1, "shown": False, "marked": ["bahdanau 4", "luong 1"]},
]


def decoder_of(kind: str, feeding: bool) -> Seq2Seq:
    torch.manual_seed(0)
    options = {} if kind == "bahdanau" else {"input_feeding": feeding}
    attention = {"bahdanau": "additive", "luong": "dot"}[kind]
    sizes = {"embed_dim": 6, "hidden_dim": 8}
    return seq2seq(9, 9, attention=attention, **sizes, **options).double().eval()


class Moved(nn.Module):
    """An attention whose context at each step can be moved, and whose weights are kept."""

    def __init__(self, attention: nn.Module, by: torch.Tensor):
        super().__init__()
        self.inner, self.by, self.weights = attention, by, []

    def forward(self, query, key, **options):
        attended = self.inner(query, key, **options | {"need_weights": True})
        done = sum(one.shape[1] for one in self.weights)
        self.weights.append(attended.weights)
        by = self.by[:, done : done + attended.output.shape[1]]
        return Attended(attended.output + by, attended.weights)


def gradients(kind: str, feeding: bool, what: str) -> dict[str, torch.Tensor]:
    """(T, T) booleans by part: whether step i of it has a gradient to `what` at step j."""
    model = decoder_of(kind, feeding)
    decoder = model.decoder
    source, words = torch.tensor([[4, 5, 6]]), torch.tensor([[1, 4, 5, 6]])
    x = decoder.embedding(words).detach().requires_grad_()
    by = torch.zeros(1, STEPS, model.encoder.output_dim, dtype=torch.float64, requires_grad=True)
    done = [0]

    def given(_, __, out):
        start, done[0] = done[0], done[0] + out.shape[1]
        return x[:, start : start + out.shape[1]]

    decoder.embedding.register_forward_hook(given)
    decoder.attention = Moved(decoder.attention, by)
    logits = model(source, None, words)
    made = {"look": torch.cat(decoder.attention.weights, 1), "written": logits}
    changed = {"word": x, "context": by}[what]
    found = {}
    for name, part in made.items():
        rows = []
        for i in range(STEPS):
            mixed = (part[0, i] * torch.arange(1.0, 1 + part.shape[-1]) ** 2).sum()
            (grad,) = torch.autograd.grad(
                mixed, changed, retain_graph=True, allow_unused=True, materialize_grads=True
            )
            rows.append(grad[0].abs().amax(-1) > 1e-12)
        found[name] = torch.stack(rows)
    return found


@pytest.mark.parametrize("what", ["word", "context"])
@pytest.mark.parametrize("kind, feeding", [("bahdanau", False), ("luong", False), ("luong", True)])
def test_what_depends_has_a_gradient_and_nothing_else_has(kind, feeding, what):
    found = gradients(kind, feeding, what)
    for step in range(1, STEPS + 1):
        shown = make(what=what, step=step, feeding=feeding).compute()[kind]
        for name, rows in found.items():
            assert rows[:, step - 1].int().tolist() == shown[name], (name, step)


@pytest.mark.parametrize("kind, feeding", [("bahdanau", False), ("luong", False), ("luong", True)])
def test_looks_take_as_many_turns_as_attention_is_called(kind, feeding):
    model = decoder_of(kind, feeding)
    with record(model) as calls, torch.no_grad():
        model(torch.tensor([[4, 5, 6]]), None, torch.tensor([[1, 4, 5, 6]]))
    assert len(calls) == make(feeding=feeding).compute()[kind]["turns"]
