"""Exported to ONNX with a mask, loaded and run elsewhere, at other batches and lengths."""

import pytest
import torch
from torch import nn
from torch.export import Dim

from attnkit import MultiHeadAttention, SelfAttention, masks
from attnlab import LanguageModel, Transformer
from attnlab.transformer import Encoder

pytestmark = pytest.mark.build
ort = pytest.importorskip("onnxruntime")

B, L = Dim("batch", min=2, max=64), Dim("length", min=2, max=64)


class Masked(nn.Module):
    """A mechanism or model as a function of tensors alone."""

    def __init__(self, module: nn.Module, call):
        super().__init__()
        self.module, self.call = module, call

    def forward(self, *inputs):
        return self.call(self.module, *inputs)


def features(batch, length):
    generator = torch.Generator().manual_seed(batch * 10 + length)
    return torch.randn(batch, length, 8, generator=generator)


def tokens(batch, length):
    return torch.randint(4, 20, (batch, length), generator=torch.Generator().manual_seed(length))


def padding(batch, length):
    return masks.padding([length - n % length for n in range(batch)], max_len=length)


CASES = {
    # Exported with a mask of an odd length and run with both: at an even one some see nothing.
    "multi-head": (
        lambda: MultiHeadAttention(8, 2),
        lambda m, x, mask: m(x, mask=mask).output,
        lambda b, n: (features(b, n), masks.causal(n) & padding(b, n) ^ (n % 2 == 0)),
        ({0: B, 1: L}, {0: B, 1: L, 2: L}),
    ),
    "single head": (
        lambda: SelfAttention(8),
        lambda m, x, mask: m(x, mask=mask).output,
        lambda b, n: (features(b, n), padding(b, n)),
        ({0: B, 1: L}, {0: B, 2: L}),
    ),
    "encoder": (
        lambda: Encoder(embed_dim=8, num_heads=2, hidden_dim=16, num_layers=1),
        lambda m, x, mask: m(x, mask=mask),
        lambda b, n: (features(b, n), padding(b, n)),
        ({0: B, 1: L}, {0: B, 2: L}),
    ),
    "language model": (
        lambda: LanguageModel(20, embed_dim=8, num_heads=2, num_layers=1),
        lambda m, ids: m(ids),
        lambda b, n: (tokens(b, n),),
        ({0: B, 1: L},),
    ),
    "transformer": (
        lambda: Transformer(20, 20, embed_dim=8, num_heads=2, num_layers=1),
        lambda m, source, target: m(source, None, target),
        lambda b, n: (tokens(b, n), tokens(b, n)),
        ({0: B, 1: L}, {0: B, 1: L}),
    ),
}


DAILY = ("multi-head",)  # the others are made of it


@pytest.mark.parametrize(
    "name",
    [name if name in DAILY else pytest.param(name, marks=pytest.mark.slow) for name in CASES],
)
def test_onnx_runtime_gives_the_same_numbers_at_other_sizes(name, tmp_path):
    torch.manual_seed(0)
    build, call, inputs, dynamic = CASES[name]
    module = Masked(build(), call).eval()
    program = torch.onnx.export(module, inputs(3, 5), dynamo=True, dynamic_shapes=(dynamic,))
    program.save(tmp_path / "model.onnx")
    session = ort.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    for batch, length in ((3, 5), (2, 8)):
        given = inputs(batch, length)
        names = [one.name for one in session.get_inputs()]
        (found,) = session.run(None, dict(zip(names, map(torch.Tensor.numpy, given), strict=True)))
        expected = module(*given)
        expected = getattr(expected, "output", expected)
        torch.testing.assert_close(torch.from_numpy(found), expected, atol=1e-5, rtol=1e-5)
