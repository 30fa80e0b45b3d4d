"""The check of the exercise of page 14b."""

from attnbook import releases
from attnbook.exercises import ask, checker

LAYERS = (
    {"kind": "full", "kv_heads": 8, "head": 128, "heads": 64},
    {"kind": "window", "window": 1024, "kv_heads": 16, "head": 128, "heads": 32},
    {"kind": "latent", "latent": 512, "rotary": 64, "heads": 128},
    {"kind": "chosen", "latent": 512, "rotary": 64, "heads": 128,
     "index": 128, "index_heads": 64, "top": 2048},
    {"kind": "latent", "latent": 512, "rotary": 0, "heads": 128, "every": 128},
    {"kind": "chosen", "latent": 512, "rotary": 0, "heads": 128, "every": 4,
     "index": 128, "index_heads": 64, "top": 512},
    {"kind": "state", "heads": 32, "key": 128, "value": 64},
)  # fmt: skip


def numbers(layer: dict, tokens: int) -> float:
    """What the layer keeps, as the list of releases counts it."""
    term = releases.terms(layer | {"stride": layer.get("every", 1)})
    far, near = releases.entries(term, tokens)
    far //= 1
    return term["numbers"] * (far + near) + term["index"] * far


@checker(1)
def check_kept(answer):
    for layer in LAYERS:
        for tokens in (100, 131072):
            right, got = numbers(layer, tokens), ask(answer, dict(layer), tokens)
            if not isinstance(got, (int, float)):
                return f"Expected a number, got {type(got).__name__}."
            if got != right:
                every = f" for every {layer['every']}" if "every" in layer else ""
                what = f"{layer['kind']}{every}, {tokens:,} tokens"
                return f"{what}: {right:,.0f} numbers, you say {got:,}."
