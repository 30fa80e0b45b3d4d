"""What a `config.json` may say of a model: what is honoured, what changes nothing, and no more.

A setting that is overlooked gives wrong numbers without a word, so everything that is not known to
be harmless is refused by its name.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from attnkit.guard import checks

ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}

# What none of the three models computes with, in eval mode: names of things, options of training
# and of generation, heads for other tasks, and the form in which results are handed over.
HARMLESS = {
    *("_name_or_path", "architectures", "model_type", "transformers_version", "tokenizer_class"),
    *("dtype", "torch_dtype", "torchscript", "use_bfloat16", "use_cache", "tf_legacy_loss"),
    *("_attn_implementation_autoset", "attn_implementation", "gradient_checkpointing"),
    *("chunk_size_feed_forward", "initializer_range", "output_attentions"),
    *("output_hidden_states", "return_dict", "output_scores", "return_dict_in_generate"),
    *("finetuning_task", "id2label", "label2id", "num_labels", "problem_type", "prefix"),
    *("task_specific_params", "transformers.js_config", "classifier_dropout"),
    *("bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "decoder_start_token_id"),
    *("max_length", "min_length", "do_sample", "early_stopping", "num_beams", "num_beam_groups"),
    *("diversity_penalty", "temperature", "top_k", "top_p", "typical_p", "repetition_penalty"),
    *("length_penalty", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "bad_words_ids"),
    *("num_return_sequences", "forced_bos_token_id", "forced_eos_token_id", "suppress_tokens"),
    *("begin_suppress_tokens", "exponential_decay_length_penalty", "remove_invalid_values"),
    *("attn_pdrop", "embd_pdrop", "resid_pdrop", "attention_dropout", "hidden_dropout_prob"),
    *("attention_probs_dropout_prob", "pooler_fc_size", "pooler_num_attention_heads"),
    *("pooler_num_fc_layers", "pooler_size_per_head", "pooler_type", "summary_type"),
    *("summary_use_proj", "summary_activation", "summary_proj_to_labels", "summary_first_dropout"),
    *("summary_hidden_size", "tie_encoder_decoder"),
}


def check_settings(
    config: Mapping[str, Any], honoured: Iterable[str], only: Mapping[str, tuple]
) -> None:
    """Refuse every setting that is neither honoured, nor at one of its `only` values, nor harmless.

    One that is unknown, but None, False or empty, asks for nothing.

    Raises:
        ValueError: naming the setting.

    Example:
        >>> check_settings({"hidden_size": 8, "use_cache": True}, {"hidden_size"}, {})
        >>> check_settings({"logit_softcap": 30.0}, {"hidden_size"}, {})
        Traceback (most recent call last):
        ...
        ValueError: logit_softcap: expected no such setting, which this model has not, got 30.0
    """
    known = {*honoured, *HARMLESS}
    for name, value in config.items():
        if name in only:
            if value not in only[name]:
                expected = " or ".join(map(repr, only[name])) + ", for there is nothing else here"
                checks.fail(name, expected, repr(value))
        elif name not in known and value not in (None, False, (), [], {}):
            checks.fail(name, "no such setting, which this model has not", repr(value))


def needed(config: Mapping[str, Any], name: str) -> Any:
    """The value of a setting that a config must have.

    Raises:
        ValueError: it has none.

    Example:
        >>> needed({"n_embd": 8}, "n_embd")
        8
    """
    if config.get(name) is None:
        checks.fail("config", f"a setting {name}", f"{len(config)} others")
    return config[name]


def activation_of(name: str, published: str) -> str:
    """What an activation is called here, which the config gives under `name`.

    Example:
        >>> activation_of("hidden_act", "gelu_new")
        'gelu_tanh'
    """
    return ACTIVATIONS[checks.choice(name, published, tuple(ACTIVATIONS))]
