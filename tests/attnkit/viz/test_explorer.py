"""The explorer's Python side: what it keeps, what it computes, and what it refuses."""

import json
import re

import numpy as np
import pytest
import torch
from traitlets import TraitError

from attnbook.pages.notebook import STAND_IN, VIEW_MIME
from attnkit import masked_softmax, masks
from attnkit.viz import AttentionExplorer
from attnkit.viz.explorer.settings import MASKS
from attnkit.viz.widget import HERE, SettingError
from booktools import weigh
from tests.refusals.wrong_calls import refused

L, S, E, H = 6, 6, 4, 2
WORDS = ["the", "cat", "sat", "on", "the", "mat"]


def qk(rows: int = L, columns: int = S) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return (
        torch.randn(H, rows, E, generator=generator),
        torch.randn(H, columns, E, generator=generator),
    )


def explorer(**settings) -> AttentionExplorer:
    return AttentionExplorer(*qk(), **{"tokens": WORDS, **settings})


MASK_OF = {
    "none": lambda n: torch.ones(n, n, dtype=torch.bool),
    "causal": masks.causal,
    "padding": lambda n: masks.padding([n - 2], n)[0],
    "window": lambda n: masks.sliding_window(n, window=2),
    "prefix": lambda n: masks.prefix(n, 2),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("length", [3, L])
@pytest.mark.parametrize("scaled", [True, False])
def test_values_are_torchs(mask, length, scaled):
    query, key = qk()
    shown = explorer(mask=mask, seq_len=length, scaled=scaled, window=2, temperature=0.7)
    scores = query[:, :length].double() @ key[:, :length].double().transpose(1, 2)
    scores = scores * (0.5 if scaled else 1.0) / 0.7
    weights = masked_softmax(scores, MASK_OF[mask](length))
    np.testing.assert_allclose(shown.values(), weights, atol=1e-12, equal_nan=False)
    np.testing.assert_allclose(shown.values("scores"), scores, atol=1e-12, equal_nan=False)
    masked = shown.values("masked scores")
    hidden = ~MASK_OF[mask](length).expand(length, length).numpy()
    assert (np.isneginf(masked) == hidden).all()


def test_one_token_always_stays_when_padding_is_long():
    weights = explorer(mask="padding", padding=99, seq_len=3).values()
    np.testing.assert_array_equal(weights[:, :, 0], 1.0)


def test_one_head_may_come_without_its_dimension_and_as_lists():
    query = [[1.0, 0.0], [0.0, 1.0]]
    shown = AttentionExplorer(query, query)
    assert shown.shape == [1, 2, 2, 2]
    assert shown.key_tokens == ["0", "1"]
    assert shown.self_attention
    assert "head" not in shown.controls


def test_cross_attention_keeps_its_queries():
    query, key = qk(3, 5)
    shown = AttentionExplorer(query, key, query_tokens=list("abc"), seq_len=2, mask="padding")
    assert shown.values().shape == (H, 3, 2)
    assert shown.shown_tokens() == (["a", "b", "c"], ["0", "1"])
    assert not shown.self_attention


def test_scores_bring_a_scale_only_when_given():
    scores = torch.randn(1, 3, 3, generator=torch.Generator().manual_seed(1))
    plain, scaled = (AttentionExplorer.from_scores(scores, scale=s) for s in (None, 0.25))
    assert "scale" not in plain.controls
    assert "scale" in scaled.controls
    assert scaled.scale_label == "scale by 0.25"
    np.testing.assert_allclose(plain.values(), scores.double().softmax(-1), atol=1e-12)
    np.testing.assert_allclose(scaled.values(), (scores.double() / 4).softmax(-1), atol=1e-12)


def test_frames_are_recorded_not_computed():
    frames = {n: np.full((2, n, n), 1 / n, dtype=np.float32) for n in (4, 2)}
    shown = AttentionExplorer.from_frames(frames, tokens=list("abcd"), seq_len=2)
    assert shown.lengths == [2, 4]
    assert shown.controls == ["length", "head", "compare"]
    assert shown.note.startswith("Recorded")
    np.testing.assert_array_equal(shown.values(), 0.5)
    shown.seq_len = 4
    np.testing.assert_array_equal(shown.values(), 0.25)
    with pytest.raises(SettingError, match="seq_len: expected an int, one of the lengths recorded"):
        shown.seq_len = 3


def test_frames_of_other_shapes_are_cross_attention():
    frames = {2: np.full((1, 3, 2), 0.5), 3: np.full((1, 4, 3), 1 / 3)}
    shown = AttentionExplorer.from_frames(frames)
    assert not shown.self_attention
    assert shown.shown_tokens() == (list("0123"), list("012"))
    with pytest.raises(ValueError, match="tokens: expected frames with L == S"):
        AttentionExplorer.from_frames(frames, tokens=list("abcd"))


@pytest.mark.parametrize("batch", [(), (1,)], ids=["layer", "batch of one"])
def test_weights_of_several_layers_are_heads_with_the_layers_names(batch):
    rows = torch.rand(3, *batch, 2, 4, 4, generator=torch.Generator().manual_seed(2)).softmax(-1)
    layers = tuple(rows.bfloat16())
    shown = AttentionExplorer.from_weights(layers, tokens=list("abcd"), head=3)
    assert shown.head_names == [f"layer {j}, head {h}" for j in range(3) for h in range(2)]
    np.testing.assert_array_equal(shown.values(), rows.bfloat16().float().reshape(6, 4, 4))
    assert shown.note.startswith("Recorded")


@pytest.mark.parametrize("shape", [(4, 5), (2, 4, 5), (1, 2, 4, 5)])
def test_weights_of_one_layer_are_a_frame(shape):
    weights = torch.rand(shape, requires_grad=True)
    shown = AttentionExplorer.from_weights(weights)
    frame = AttentionExplorer.from_frames({5: weights.detach().reshape(-1, 4, 5)})
    np.testing.assert_array_equal(shown.values(), frame.values())
    assert shown.head_names == frame.head_names
    nested = AttentionExplorer.from_weights(weights.detach().reshape(-1, 4, 5).tolist())
    np.testing.assert_array_equal(nested.values(), frame.values())


def test_the_input_is_not_kept_by_reference():
    query, key = qk()
    shown = AttentionExplorer(query, key)
    before = shown.values().copy()
    query.zero_()
    np.testing.assert_array_equal(shown.values(), before)


def test_half_precision_and_gradients_are_welcome():
    query = torch.randn(1, 3, 4, dtype=torch.bfloat16, requires_grad=True)
    assert AttentionExplorer(query, query).values().shape == (1, 3, 3)


def test_words_for_the_picture_hold_no_measured_number():
    shown = explorer(title="Title", mask="causal", head="all")
    assert shown.description() == (
        "Title. Heat map of attention weights, all 2 heads: 6 queries by 6 keys, mask causal, "
        "scaled, temperature 1."
    )
    assert repr(shown) == repr(explorer(title="Title", mask="causal", head="all"))


def test_the_bundle_has_the_view_a_picture_and_stable_words():
    first, second = (explorer()._repr_mimebundle_() for _ in range(2))
    data, metadata = first
    assert set(data) == {VIEW_MIME, "image/png", "text/plain"}
    assert data["text/plain"] == metadata["image/png"]["alt"] == second[0]["text/plain"]
    assert data["image/png"] == second[0]["image/png"]
    assert len(data["image/png"]) < 120_000


def test_the_data_stay_within_the_budget():
    query = torch.zeros(8, 64, 16)
    shown = AttentionExplorer(query, query, tokens=[f"token{n:02}" for n in range(64)])
    state = shown.get_state()
    binary = sum(len(value) for value in state.values() if isinstance(value, bytes | memoryview))
    words = {
        name: value
        for name, value in state.items()
        if not isinstance(value, bytes | memoryview) and name not in ("_esm", "_css", "layout")
    }
    assert binary * 4 / 3 + len(json.dumps(words)) + len(STAND_IN) < weigh.DATA_LIMIT


GIVEN = {"Explorer": AttentionExplorer, "WORDS": WORDS} | dict(zip("qk", qk(), strict=True))
test_a_wrong_call_names_the_argument_and_both_sides = refused("viz", "explorer", names=GIVEN)


OF_ANOTHER_KIND = {
    "seq_len": 2.5, "head": "both", "mask": "diagonal", "scaled": "yes", "stage": "logits",
    "controls": ["colour"], "title": 3, "view": "graph",
}  # fmt: skip


@pytest.mark.parametrize("trait", OF_ANOTHER_KIND)
def test_a_setting_of_another_kind_is_refused(trait):
    with pytest.raises(TraitError, match=f"'{trait}' trait of an AttentionExplorer .* expected"):
        explorer(**{trait: OF_ANOTHER_KIND[trait]})


def test_a_wrong_setting_later_leaves_the_old_one():
    shown = explorer(mask="causal")
    with pytest.raises(SettingError, match="window"):
        shown.window = 0
    with pytest.raises(TraitError, match="mask"):
        shown.mask = "diagonal"
    assert (shown.window, shown.mask) == (3, "causal")


TOUR = [
    {"say": "All words."},
    {"say": "Three.", "seq_len": 3, "pinned": [0, 2, 1]},
    {"say": "No mask.", "mask": "none", "head": "all"},
]


def test_a_step_of_the_tour_sets_all_settings():
    shown = explorer(mask="causal", tour=TOUR)
    shown.temperature = 7.0
    shown.step = 1
    assert (shown.seq_len, shown.pinned) == (3, [0, 2, 1])
    assert (shown.mask, shown.temperature) == ("causal", 1)
    shown.step = 2
    assert (shown.seq_len, shown.pinned, shown.mask, shown.head) == (6, [], "none", "all")
    np.testing.assert_array_equal(shown.values(), explorer().values())


def test_the_explorer_opens_on_the_first_step():
    first = explorer(tour=[{"say": "Three.", "seq_len": 3}, {"say": "All."}])
    assert first.seq_len == 3
    first.step = 1
    assert first.seq_len == L


def test_a_front_end_sets_the_step_and_its_settings_in_one_message():
    shown = explorer(tour=TOUR)
    shown.set_state({"step": 1, **shown.tour[1]["set"]})
    assert (shown.step, shown.seq_len, shown.pinned) == (1, 3, [0, 2, 1])
    shown.set_state({"seq_len": 5})  # the reader goes on by hand
    assert (shown.step, shown.seq_len) == (1, 5)


def test_output_is_weights_times_values():
    query, key = qk()
    value = torch.randn(H, S, 3, generator=torch.Generator().manual_seed(2))
    shown = AttentionExplorer(query, key, value=value, mask="causal", seq_len=4)
    expected = torch.nn.functional.scaled_dot_product_attention(
        query[:, :4].double(), key[:, :4].double(), value[:, :4].double(), is_causal=True
    )
    np.testing.assert_allclose(shown.output(), expected, rtol=0, atol=1e-6, equal_nan=False)
    with pytest.raises(ValueError, match="value: expected an explorer that was given values"):
        explorer().output()


def test_recorded_masks_come_back_as_they_were_given():
    frames = {n: np.full((2, n, n), 1 / n, dtype=np.float32) for n in (3, 5)}
    both = np.stack([np.tri(5, dtype=bool), np.eye(5, dtype=bool)])
    shown = AttentionExplorer.from_frames(frames, mask=both, seq_len=3)
    np.testing.assert_array_equal(shown.visible(), both[:, :3, :3])
    shown.seq_len = 5
    np.testing.assert_array_equal(shown.visible(), both)
    by_length = AttentionExplorer.from_frames(frames, mask={3: "none", 5: "causal"})
    np.testing.assert_array_equal(by_length.visible()[1], np.tri(5, dtype=bool))
    by_length.seq_len = 3
    assert by_length.visible().all()


def test_the_module_names_masks_and_their_settings_once():
    """Menus, sliders, words and addresses are made of one table, which has Python's masks."""
    files = {path.name: path.read_text("utf-8") for path in (HERE / "explorer").glob("*.js")}
    table = files["compute.js"].split("const MASKS = {\n")[1].split("\n};")[0]
    assert tuple(re.findall(r"^  (\w+): {", table, re.MULTILINE)) == MASKS
    named = re.findall(r'setting: "(\w+)"', table)
    assert named == ["padding", "window", "prefix_len"]
    others = "".join(text for name, text in files.items() if name != "compute.js")
    assert [name for name in {*MASKS, *named} - {"none"} if f'"{name}"' in others] == []
    assert "prefix" not in others
