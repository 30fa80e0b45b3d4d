"""What readers type into the search finds the page that teaches it first."""

from __future__ import annotations

import zipfile

import pytest

pytestmark = pytest.mark.browser

FIRST = {
    "GQA": "08_multi_head_attention",
    "MQA": "08_multi_head_attention",
    "FlashAttention": "12_the_cost_of_attention",
    "flash attention": "12_the_cost_of_attention",
    "self-attention": "05b_self_attention",
    "self attention": "05b_self_attention",
    "cross attention": "09_the_transformer",
    "padding mask": "06_masks",
    "causal mask": "06_masks",
    "KV cache": "13_decoding_fast",
    "speculative decoding": "13_decoding_fast",
    "RoPE": "07b_how_far_can_positions_count",
    "nn.MultiheadAttention": "08_multi_head_attention",
    "attention is all you need": "09_the_transformer",
    "install": "install",
    "how to install": "install",
}


def test_a_query_finds_its_page_first(open_page, site_url):
    """Sphinx's own scoring, run in the page on each query."""
    page, _ = open_page(site_url + "search.html?q=nothing")
    page.wait_for_function("Search._index !== null")
    found = page.evaluate(
        """queries => queries.map(query => {
            const results = Search._performSearch(...Search._parseQuery(query));
            return results.at(-1)?.[0] ?? "nothing";
        })""",
        list(FIRST),
    )
    pages = [name.rpartition("/")[2] for name in found]
    assert dict(zip(FIRST, pages, strict=True)) == FIRST


def test_the_archive_beside_the_pages_holds_what_installing_and_reading_need(site_dir):
    with zipfile.ZipFile(site_dir / "_static" / "attention-measured.zip") as archive:
        names = {name.removeprefix("attention-measured/") for name in archive.namelist()}
        assert archive.testzip() is None
    for needed in ("pyproject.toml", "Makefile", "attnkit/__init__.py", "chapters/06_masks.ipynb"):
        assert needed in names
    assert not [name for name in names if "__pycache__" in name or name.startswith("_build")]
