"""What models of today mix: windows and full layers, keys read by several layers, norms, sinks."""

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attnkit import masks
from attnlab import training
from attnlab.pretrained.llama import NAMES
from attnlab.transformer import EncoderLayer, LanguageModel
from tests.attnlab.transformer.test_forms import redrawn

V, E, LAYERS = 11, 12, 6
GEMMA = {
    "embed_dim": E, "num_heads": 4, "num_kv_heads": 2, "head_dim": 6, "num_layers": LAYERS,
    "hidden_dim": 10, "activation": "gelu_tanh", "gated": True, "norm": "rms", "norm_eps": 1e-3,
    "bias": False, "dropout": 0.0, "qk_norm": True, "norm_after": True, "scale": 0.3,
    "rotary_layout": "half", "embedding_scale": math.sqrt(E),
}  # fmt: skip
MIXED = {"window": [3] * 5 + [None], "rotary_base": [50.0] * 5 + [900.0]}
SHARED = {"window": [3, None], "rotary_base": [50.0, 900.0], "kv_from": [0, 1, 2, 3, 2, 3]}
FORMS = {
    "mixed": MIXED,
    "shared": SHARED,
    "one above": {"window": [3, 3, None, None, None, None], "kv_from": [0, 1, 2, 2, 2, 2]},
    "sinks": {"window": [3, None], "sink": True, "qk_norm": False, "norm_after": False},
    "learned": {"positions": "learned", "window": [2, None, 4]},
    "relative": {"positions": "relative", "window": [2, None]},
    "alibi": {"positions": "alibi", "window": (4, 1, None), "kv_from": [0, 1, 2, 0, 1, 2]},
}
TOKENS = torch.randint(1, V, (2, 9), generator=torch.Generator().manual_seed(0))


def make(**more):
    return redrawn(LanguageModel(V, **(GEMMA | more)))


@pytest.fixture(params=FORMS.values(), ids=FORMS)
def model(request):
    return make(**request.param)


def test_pieces_through_caches_equal_the_whole(model):
    with torch.no_grad():
        whole, found = model(TOKENS), model.states(TOKENS)
        for sizes in ([3, 1, 1, 4], [1] * 9, [8, 1]):
            caches = model.new_caches()
            parts = [model.states(part, caches=caches) for part in TOKENS.split(sizes, 1)]
            states = torch.cat([part.states for part in parts], 2)
            assert_close(states, found.states, atol=1e-4, rtol=0)
            logits = model.output(model.stack.norm(states[:, -1]))
            assert_close(logits, whole, atol=1e-4, rtol=0)
            # What every window has let go of has no column, and what one has let go of has 0.
            last = parts[-1].weights
            assert_close(last, found.weights[..., -last.shape[-2] :, -last.shape[-1] :])


def test_a_cache_holds_what_its_layer_may_still_see(model):
    caches = model.new_caches()
    with torch.no_grad():
        for part in TOKENS.split([5, 2, 1, 1], 1):
            model(part, caches=caches)
    own = sorted(set(model.stack.kv_from or range(len(model.windows))))
    assert len(caches) == len(own)
    heads = 2 * 6 * 2  # heads of keys, numbers of each, keys and values
    for number, cache in zip(own, caches, strict=True):
        window = model.windows[number]
        kept = 9 if window is None else window - 1
        assert (cache.length, cache.kept) == (9, kept)
        assert cache.nbytes == 4 * 2 * kept * heads  # four bytes, two texts


def turned(x, base):
    """Queries or keys (..., L, 6), each pair of features turned as a complex number."""
    angles = torch.arange(x.shape[-2])[:, None] * base ** (-torch.arange(3) / 3)
    spun = torch.complex(x[..., :3], x[..., 3:]) * torch.polar(torch.ones(()), angles)
    return torch.cat((spun.real, spun.imag), -1)


def by_hand(model, tokens, window, rotary_base, kv_from):
    """The states of a text (L,): Gemma's layers written out; one may read another's keys."""

    def norm(x, module):
        return x / (x.pow(2).mean(-1, keepdim=True) + 1e-3).sqrt() * module.weight

    back = torch.arange(len(tokens))[:, None] - torch.arange(len(tokens))
    x, made = model.embedding.weight[tokens] * math.sqrt(E), {}
    states = [x]
    for n, layer in enumerate(model.stack.layers):
        attention, base = layer.attention, rotary_base[n % len(rotary_base)]
        near = window[n % len(window)] or len(tokens)
        parts = (norm(x, layer.norm1) @ attention.in_proj.weight.T).unflatten(-1, (-1, 6))
        parts = parts.transpose(0, 1)  # (4 or 8, L, 6)
        if len(parts) == 8:
            made[n] = turned(norm(parts[4:6], attention.key_norm), base), parts[6:]
        key, value = (x.repeat_interleave(2, 0) for x in made[kv_from[n]])
        query = turned(norm(parts[:4], attention.query_norm), base)
        scores = (0.3 * query @ key.mT).masked_fill((back < 0) | (back >= near), -math.inf)
        heads = (scores.softmax(-1) @ value).transpose(0, 1).flatten(1)
        x = x + norm(heads @ attention.out_proj.weight.T, layer.after1)
        y = norm(x, layer.norm2)
        gate = nn.functional.gelu(y @ layer.gate.weight.T, approximate="tanh")
        y = (gate * (y @ layer.linear1.weight.T)) @ layer.linear2.weight.T
        x = x + norm(y, layer.after2)
        states.append(x)
    return torch.stack(states)


@pytest.mark.parametrize("form", [MIXED, SHARED], ids=["mixed", "shared"])
def test_states_and_gradients_are_those_written_out_by_hand(form):
    model = make(**form)
    found = model.states(TOKENS).states
    how = {"kv_from": range(LAYERS)} | form
    expected = torch.stack([by_hand(model, tokens, **how) for tokens in TOKENS])
    assert_close(found, expected, atol=1e-4, rtol=0)
    wanted = torch.autograd.grad(expected.square().mean(), list(model.stack.layers.parameters()))
    for mine, theirs in zip(
        torch.autograd.grad(found.square().mean(), list(model.stack.layers.parameters())),
        wanted,
        strict=True,
    ):
        assert_close(mine, theirs, atol=1e-4, rtol=1e-3)


def test_a_layer_that_reads_anothers_keys_has_no_projections_of_them():
    alone, shared = make(**MIXED), make(**(SHARED | MIXED | {"kv_from": [0, 1, 2, 2, 2, 5]}))
    less = 2 * (2 * 2 * 6 * E + 6)  # two layers: rows for keys and values, the norm of keys
    assert sum(p.numel() for p in alone.parameters()) - less == sum(
        p.numel() for p in shared.parameters()
    )
    assert all(p.grad is None or p.grad.abs().sum() for p in shared.parameters())
    training.next_token_loss(shared, TOKENS).sum().backward()
    assert all(p.grad.abs().sum() > 0 for p in shared.parameters())


def test_keys_of_another_layer_are_asked_for():
    layer = EncoderLayer(8, 2, 16, num_kv_heads=0)
    with pytest.raises(ValueError, match=r"cache: expected one that gives keys.* got None"):
        layer(torch.randn(1, 3, 8))


# What transformers computes. Whole models of Gemma 3 are compared where they are loaded.


def published(model):
    """Its parameters by the names that checkpoints have."""
    theirs = {
        "model.embed_tokens.weight": model.embedding.weight,
        "model.norm.weight": model.stack.norm.weight,
        "lm_head.weight": model.output.weight,
    }
    for number, layer in enumerate(model.stack.layers):
        place = f"model.layers.{number}"
        for end, parameter in layer.attention.in_proj.named_parameters():
            for part, own in zip("qkv", parameter.split(layer.attention.sizes), strict=True):
                theirs[f"{place}.self_attn.{part}_proj.{end}"] = own
        for ours, other in NAMES.items():
            for end, parameter in layer.get_submodule(ours).named_parameters():
                theirs[f"{place}.{other}.{end}"] = parameter
    return {name: value.detach() for name, value in theirs.items()}


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj, self.up_proj = nn.Linear(E, 10), nn.Linear(E, 10)
        self.down_proj = nn.Linear(10, E)

    def forward(self, x):
        return self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x)), None


@torch.no_grad()
def test_windows_full_layers_and_sinks_are_those_of_gpt_oss():
    library = pytest.importorskip("transformers.models.gpt_oss")
    config = library.GptOssConfig(
        vocab_size=V, hidden_size=E, intermediate_size=10, num_hidden_layers=4, head_dim=6,
        num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-3, sliding_window=3,
        rope_parameters={"rope_type": "default", "rope_theta": 50.0}, num_local_experts=1,
        num_experts_per_tok=1, attn_implementation="eager", pad_token_id=0,
    )  # fmt: skip
    assert config.layer_types == ["sliding_attention", "full_attention"] * 2
    theirs = library.GptOssForCausalLM(config).eval()
    own = {"qk_norm": False, "norm_after": False, "scale": None, "embedding_scale": 1.0}
    own |= {"activation": "silu", "bias": True, "num_layers": 4, "rotary_base": 50.0}
    ours = make(window=[3, None], sink=True, tie_embeddings=False, **own)
    tensors = published(ours)
    for number, layer in enumerate(theirs.model.layers):
        layer.mlp = Gated()
        tensors[f"model.layers.{number}.self_attn.sinks"] = ours.stack.layers[number].attention.sink
    theirs.load_state_dict(tensors)
    mask = torch.ones_like(TOKENS)
    mask[1, 6:] = 0  # padding
    wanted = theirs(TOKENS, attention_mask=mask, output_hidden_states=True)
    found, real = ours.states(TOKENS), mask.bool()
    for n in range(4):
        assert (found.states[:, n] - wanted.hidden_states[n])[real].abs().max() < 1e-4
    assert (ours(TOKENS) - wanted.logits)[real].abs().max() < 1e-4


@torch.no_grad()
def test_shared_keys_are_those_of_gemma_3n():
    library = pytest.importorskip("transformers.models.gemma3n.modeling_gemma3n")
    config = library.Gemma3nTextConfig(
        vocab_size=V, hidden_size=E, num_hidden_layers=4, num_attention_heads=4, head_dim=6,
        num_key_value_heads=2, rms_norm_eps=1e-3, num_kv_shared_layers=2, sliding_window=3,
        layer_types=["sliding_attention", "full_attention"] * 2, intermediate_size=10,
        activation_sparsity_pattern=None, attn_implementation="eager",
    )  # fmt: skip
    form = {"window": [3, None], "kv_from": [0, 1, 0, 1], "num_layers": 4, "scale": 1.0}
    ours, shared, x = make(**form), {}, torch.randn(4, 2, 9, E)
    angles = torch.arange(9)[:, None] * 50.0 ** (-torch.arange(3) / 3)
    turns = [f(torch.cat((angles, angles), -1))[None] for f in (torch.cos, torch.sin)]
    rotate = make(**form, rotary_base=50.0).positions.rotate
    caches = ours.stack.one_per_layer("caches", None)
    for n, (layer, cache) in enumerate(zip(ours.stack.layers, caches, strict=True)):
        attention, theirs = layer.attention, library.Gemma3nTextAttention(config, n).eval()
        parts = attention.in_proj.weight.split(attention.sizes)
        tensors = {f"{p}_proj.weight": w for p, w in zip("qkv", parts, strict=True) if len(w)}
        tensors["o_proj.weight"] = attention.out_proj.weight
        tensors["q_norm.weight"] = attention.query_norm.weight
        if n < 2:
            tensors["k_norm.weight"] = attention.key_norm.weight
            theirs.v_norm = nn.Identity()  # what ours has not
        theirs.load_state_dict(tensors)
        mask = masks.causal(9) if n % 2 else masks.sliding_window(9, window=3)
        hidden = torch.zeros(9, 9).masked_fill(~mask, -math.inf)
        wanted, _ = theirs(x[n], turns, hidden, shared_kv_states=shared)
        found = attention(x[n], mask=mask, rotate=rotate, cache=cache).output
        assert (found - wanted).abs().max() < 1e-5
