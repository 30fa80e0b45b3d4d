"""Engines of published models in a page, and their numbers without JSON."""

import base64
import contextlib
from pathlib import Path

import torch

from tests.browser.conftest import opened, serving

PACKED = """const packed = (values) => {  // as JSON the numbers would take longer than the engine
    const bytes = new Uint8Array(Float32Array.from(values).buffer), parts = [];
    for (let at = 0; at < bytes.length; at += 30000)
        parts.push(String.fromCharCode(...bytes.subarray(at, at + 30000)));
    return btoa(parts.join(""));
};"""

# Texts that a tokenizer may stumble over.
ODD = (
    *("", " ", "\n\n\n", "\t\t x  \r\n", "  two  spaces  "),
    "1234567890 3.14 1,000 ½ ² Ⅻ ١٢٣ 四 £5 $6 €7 a+b=c <b> `x` ~ ^",
    "👩🏽\u200d🚀🐈\u200d⬛🇫🇷 ❤️",
    *("नमस्ते दुनिया", "שלום עולם", "مرحبا بالعالم", "Привет, мир!", "你好，世界", "ภาษาไทย"),
    *("안녕하세요", "Ünïcödé straße ŒUVRE e\u0301", "𝕋𝕙𝕖 𐍈", "<script>alert(1)</script>"),
)


@contextlib.contextmanager
def page_of(browser, code: str, start: str, path: Path):
    """A page with an engine, started with the address of its file."""
    with serving(path.parent) as url, opened(browser, url + "nothing") as (page, _):
        page.add_script_tag(content=PACKED + code)
        page.evaluate(start, url + path.name)
        yield page


def floats(packed: str) -> torch.Tensor:
    return torch.frombuffer(bytearray(base64.b64decode(packed)), dtype=torch.float32)


def apart(got, want) -> float:
    return float((got - want).abs().max())
