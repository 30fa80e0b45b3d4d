"""Gemma 2 and 3, Qwen3 and Ministral in our layers: what transformers computes, or by hand."""

import json

import pytest
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, pre_tokenizers

from attnlab import pretrained
from tests.refusals.wrong_calls import refused

SIZES = {
    "vocab_size": 11, "hidden_size": 12, "intermediate_size": 10, "num_hidden_layers": 6,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6, "rms_norm_eps": 1e-3,
    "max_position_embeddings": 40, "pad_token_id": None, "eos_token_id": None,
}  # fmt: skip
NEAR, FAR = ({"rope_type": "default", "rope_theta": base} for base in (50.0, 900.0))
MODELS = {
    "gemma2": ("Gemma2ForCausalLM", "Gemma2Config", {
        "query_pre_attn_scalar": 11, "sliding_window": 3, "pad_token_id": 0, "rope_parameters": FAR,
        "attn_logit_softcapping": 0.5, "final_logit_softcapping": 2.0,
    }),
    "gemma3": ("Gemma3ForCausalLM", "Gemma3TextConfig", {
        "query_pre_attn_scalar": 11, "sliding_window": 3, "pad_token_id": 0,
        "rope_parameters": {"sliding_attention": NEAR, "full_attention": FAR},
    }),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", {"rope_parameters": FAR}),
    "ministral": ("MinistralForCausalLM", "MinistralConfig", {
        "rope_parameters": NEAR, "sliding_window": 4, "tie_word_embeddings": True,
        "layer_types": ["full_attention", "sliding_attention", "sliding_attention"] * 2,
    }),
}  # fmt: skip
TOKENS = torch.randint(1, 11, (2, 9), generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module", params=MODELS)
def both(request):
    """A random model of transformers with its config, and ours from its tensors."""
    package = pytest.importorskip(f"transformers.models.{request.param}")
    kind, config, more = MODELS[request.param]
    config = getattr(package, config)(**SIZES | more, attn_implementation="eager")
    theirs = getattr(package, kind)(config).eval()
    generator = torch.Generator().manual_seed(0)
    for name, parameter in theirs.named_parameters():
        # Gemma's norms keep what they multiply by, less 1.
        mean = float("norm" in name and "gemma" not in request.param)
        parameter.data = mean + 0.4 * torch.randn(parameter.shape, generator=generator)
    tensors = {name: value.detach() for name, value in theirs.state_dict().items()}
    return theirs, pretrained.llama_model(tensors, json.loads(config.to_json_string(False)))


@torch.no_grad()
def test_logits_and_states_are_those_of_transformers(both):
    theirs, ours = both
    found = ours.states(TOKENS, need_weights=True)
    wanted = theirs(TOKENS, output_hidden_states=True, output_attentions=True)
    states = torch.stack(wanted.hidden_states[:-1], 1)  # the last of theirs is behind the norm
    assert (found.states[:, :-1] - states).abs().max() < 1e-4
    assert (ours.stack.norm(found.states[:, -1]) - wanted.hidden_states[-1]).abs().max() < 1e-4
    assert (found.weights - torch.stack(wanted.attentions, 1)).abs().max() < 1e-5
    assert (ours(TOKENS) - wanted.logits).abs().max() < 1e-4
    caches = ours.new_caches()
    pieces = [ours(part, caches=caches) for part in TOKENS.split([4, 1, 1, 3], 1)]
    assert (torch.cat(pieces, 1) - wanted.logits).abs().max() < 1e-4


@torch.no_grad()
def test_a_padded_batch_is_that_of_transformers(both):
    theirs, ours = both
    mask = torch.ones_like(TOKENS)
    mask[1, 5:] = 0
    wanted = theirs(TOKENS, attention_mask=mask).logits
    assert (ours(TOKENS) - wanted)[mask.bool()].abs().max() < 1e-4


@torch.no_grad()
def test_what_is_written_is_what_transformers_writes(both):
    theirs, ours = both
    wanted = theirs.generate(TOKENS, max_new_tokens=8, do_sample=False, use_cache=True)
    found = ours.generate(TOKENS, 8, temperature=0)
    assert torch.equal(found.tokens, wanted[:, 9:])


# The rest needs no transformers.


def gemma(layers=6):
    attention = {"q_proj": (24, 12), "k_proj": (12, 12), "v_proj": (12, 12), "o_proj": (12, 24)}
    sizes = {f"self_attn.{name}": size for name, size in attention.items()}
    sizes |= {"self_attn.q_norm": (6,), "self_attn.k_norm": (6,)}
    sizes |= {"mlp.gate_proj": (10, 12), "mlp.up_proj": (10, 12), "mlp.down_proj": (12, 10)}
    for norm in ("input", "post_attention", "pre_feedforward", "post_feedforward"):
        sizes[f"{norm}_layernorm"] = (12,)
    every = {f"layers.{n}.{name}": size for n in range(layers) for name, size in sizes.items()}
    every |= {"embed_tokens": (11, 12), "norm": (12,)}
    generator = torch.Generator().manual_seed(0)
    return {f"model.{name}.weight": 0.4 * torch.randn(size, generator=generator)
            for name, size in every.items()}  # fmt: skip


PUBLISHED = SIZES | {
    "model_type": "gemma3_text", "query_pre_attn_scalar": 11, "sliding_window": 3,
    "sliding_window_pattern": 6, "rope_theta": 900.0, "rope_local_base_freq": 50.0,
    "rope_scaling": None, "hidden_activation": "gelu_pytorch_tanh", "final_logit_softcapping": None,
    "attn_logit_softcapping": None, "cache_implementation": "hybrid", "attention_bias": False,
}  # fmt: skip


@torch.no_grad()
def test_the_older_words_of_a_config_say_the_same():
    old = pretrained.llama_model(gemma(), PUBLISHED)
    assert old.windows == [3] * 5 + [None]
    assert [one.base for one in old.positions.rotate] == [50.0] * 5 + [900.0]
    drop = ("sliding_window_pattern", "rope_theta", "rope_local_base_freq")
    new = {name: value for name, value in PUBLISHED.items() if name not in drop}
    new["layer_types"] = ["sliding_attention"] * 5 + ["full_attention"]
    new["rope_parameters"] = {"sliding_attention": NEAR, "full_attention": FAR}
    assert torch.equal(pretrained.llama_model(gemma(), new)(TOKENS), old(TOKENS))


@torch.no_grad()
def test_gemma_2_caps_what_a_gemma_3_norms_and_has_a_window_in_every_other_layer():
    kept = {name: x for name, x in gemma().items() if "q_norm" not in name and "k_norm" not in name}
    config = {name: PUBLISHED[name] for name in SIZES} | {"query_pre_attn_scalar": 11}
    config |= {"model_type": "gemma2", "sliding_window": 3, "rope_theta": 50.0}
    plain = pretrained.llama_model(kept, config)
    assert plain.windows == [3, None] * 3
    found = pretrained.llama_model(kept, config | {"final_logit_softcapping": 0.7})(TOKENS)
    torch.testing.assert_close(found, 0.7 * torch.tanh(plain(TOKENS) / 0.7))
    capped = pretrained.llama_model(kept, config | {"attn_logit_softcapping": 0.01})
    weights = capped.states(TOKENS).weights
    seen = weights.masked_fill(weights == 0, 1)
    assert (weights.amax(-1) / seen.amin(-1)).log().max() <= 0.02 + 1e-5
    assert (plain.states(TOKENS).weights - weights).abs().max() > 1e-3


def test_a_window_that_is_not_used_is_none():
    norms = ("pre_feedforward", "post_feedforward")
    tensors = {name: x for name, x in gemma().items() if not any(norm in name for norm in norms)}
    qwen = SIZES | {"model_type": "qwen3", "tie_word_embeddings": True, "sliding_window": 3}
    model = pretrained.llama_model(tensors, qwen | {"use_sliding_window": False})
    assert model.windows == [None] * 6
    with pytest.raises(ValueError, match="use_sliding_window: expected None or False"):
        pretrained.llama_model(tensors, qwen | {"use_sliding_window": True})


def gemma_with(**changes):
    return pretrained.llama_model(gemma(), PUBLISHED | changes)


test_what_is_missing_is_named = refused("pretrained", "gemma", names=globals())


def test_a_folder_is_read_and_one_of_another_kind_says_what_it_lacks(tmp_path):
    save_file(gemma(), tmp_path / "model.safetensors", {"format": "pt"})
    tokenizer = Tokenizer(models.WordLevel({c: n for n, c in enumerate("?abcdefghij")}, "?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text(json.dumps(PUBLISHED))
    reading = pretrained.from_folder(tmp_path).read("b a d c a b", need_weights=True)
    tokens = torch.tensor([[2, 1, 4, 3, 1, 2]])
    wanted = pretrained.llama_model(gemma(), PUBLISHED)(tokens)[0]
    assert (reading.logits - wanted).abs().max() < 1e-4
    assert (reading.weights[:5].tril(-3) == 0).all()
    for kind, lack in {"mixtral": "experts", "gpt_oss": "experts"}.items():
        (tmp_path / "config.json").write_text(json.dumps(PUBLISHED | {"model_type": kind}))
        with pytest.raises(ValueError, match=f"model_type: expected a model without {lack}, got"):
            pretrained.from_folder(tmp_path)
