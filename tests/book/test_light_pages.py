"""Light pages: formulas set at build time, a small font of icons, pictures with a place."""

from __future__ import annotations

import re
from pathlib import Path

import lxml.html
import pydata_sphinx_theme
import pytest
from PIL import Image
from sphinx.errors import ExtensionError

from booktools import early, icons, maths, pictures, unused_styles, weigh, wide_boxes


def test_a_formula_is_drawn_and_can_be_heard():
    tree = lxml.html.fromstring(maths.formula(r"\frac{q \cdot k}{\sqrt{d}}", display=True))
    assert (tree.tag, tree.get("display")) == ("mjx-container", "true")
    (drawing,) = tree.iter("svg")
    assert drawing.get("aria-hidden") == "true"
    letters = [path.get("data-c") for path in drawing.iter("path")]
    assert letters == ["1D45E", "22C5", "1D458", "1D451", "221A"]
    (mathml,) = tree.iter("math")
    assert [node.tag for node in mathml.iter("mfrac", "msqrt")] == ["mfrac", "msqrt"]
    assert mathml.text_content() == "q⋅kd"


def test_a_formula_has_no_ids_and_no_words_without_outlines():
    """A page repeats formulas, and ids must not repeat; a letter drawn as text needs a font."""
    html = maths.formula(
        r"\operatorname{softmax}(\mathbf{x})_i = \sum_j e^{x_j} \text{ for all } i"
    )
    assert " id=" not in html
    assert "<text" not in html


def test_the_same_formula_is_set_alike_whatever_came_before():
    first = maths.formula.__wrapped__("a^2 + b^2", display=False)
    maths.formula(r"\begin{align} x &= 1 \\ y &= 2 \end{align}", display=True)
    assert maths.formula.__wrapped__("a^2 + b^2", display=False) == first


@pytest.mark.parametrize("source", [r"\nosuchmacro", r"\frac{1}{", "a^b^c"])
def test_a_formula_that_cannot_be_set_stops_the_build(source):
    with pytest.raises(ValueError, match="a formula cannot be set"):
        maths.formula(source)


def test_lines_and_equations_stand_below_each_other():
    assert maths._aligned("a = b") == "a = b"
    assert maths._aligned("a \\\\ b") == r"\begin{split}a \\ b\end{split}"
    two = maths._aligned("a = 1\n\nb = 2")
    assert two == r"\begin{align}\begin{aligned}a = 1\\b = 2\end{aligned}\end{align}"
    rows = lxml.html.fromstring(maths.formula(two, display=True)).iter("mtr")
    assert len(list(rows)) >= 2


def test_every_icon_is_in_the_small_font():
    sheet = icons.style()
    for name in (*icons.ICONS, *icons.BRANDS):
        assert f".fa-{name}:before" in sheet, name
    assert len(sheet) < 20_000
    assert "http" not in sheet


def test_the_font_holds_the_icon_and_no_other(tmp_path):
    from fontTools.ttLib import TTFont

    file = tmp_path / "few.woff"
    folder = icons.vendor()
    file.write_bytes(icons.cut(folder / "webfonts" / "fa-solid-900.ttf", [0xF185]))
    font = TTFont(file)
    assert list(font.getBestCmap()) == [0xF185]
    assert font["glyf"][font.getBestCmap()[0xF185]].numberOfContours > 0


def test_an_unknown_icon_stops_the_build():
    with pytest.raises(ExtensionError, match="no icon 'no-such-thing'"):
        icons.code_points(("no-such-thing",), '.fa-sun:before{content:"\\f185"}')


def test_only_the_themes_icons_leave_the_head():
    head = (
        '<link href="_static/vendor/fontawesome/6.5.2/css/all.min.css" rel="stylesheet" />\n'
        '<link rel="preload" as="font" href="_static/vendor/fontawesome/6.5.2/webfonts/a.woff2" />'
        '<link rel="stylesheet" href="_static/styles/theme.css" />'
        '<script src="_static/vendor/fontawesome/6.5.2/js/all.min.js"></script>'
        '<script src="_static/scripts/bootstrap.js"></script>'
    )
    left = re.findall(r'_static/[^"]*', icons.without_font_awesome(head))
    assert left == ["_static/styles/theme.css", "_static/scripts/bootstrap.js"]


def test_the_sheets_of_all_pages_are_one_in_their_order(tmp_path):
    (tmp_path / "styles").mkdir()
    sheets = {"styles/theme.css": '@import "../basic.css";a{}', "basic.css": "b{}", "c.css": "c{}"}
    for name, text in sheets.items():
        (tmp_path / name).write_text(text)
    link = '<link rel="stylesheet" href="../_static/{}?v=1" />\n'
    own = "".join(map(link.format, ("attnkit-widgets.css", "book.css")))
    preload = '<link rel="preload" as="script" href="../_static/scripts/bootstrap.js" />'
    head = "".join(map(link.format, ("styles/theme.css", "c.css"))) + own + preload
    whole = tmp_path / "styles"
    found = early.styles(tmp_path, whole, head)
    first, *rest = re.findall(r'_static/([^"?]*)', found)
    assert (tmp_path / first).read_text() == "b{}a{}\nc{}"
    assert rest == ["attnkit-widgets.css", "book.css"]
    assert early.styles(tmp_path, whole, head) == found
    assert early.styles(tmp_path, whole, own) == own
    (tmp_path / "c.css").write_text("c{background:url(../a.png)}")  # would lead elsewhere
    assert "_static/c.css" in early.styles(tmp_path, whole, head)


def test_a_rule_that_no_page_can_use_is_left_out():
    pages = ['<p class="a b"></p><script>let x = "made";</script>', "<i class=c></i>"]
    used = unused_styles.names(pages, ['item.classList.add("late-one")'])
    assert {"a", "b", "c", "made", "late-one"} <= used
    sheet = """
        .a, .gone { x: 1 } .a .gone { x: 2 } .b:not(.gone) > p { x: 3 } p:is(.gone, .c) { x: 4 }
        [data-z=".gone"] { x: 5 } .late-one::before { content: ".gone" } .gone.a { x: 6 }
        @media (width < 9px) { .gone { x: 7 } } @media print { .made { x: 8 } .gone { x: 9 } }
        @font-face { font-family: gone } @keyframes gone { from { x: 10 } }
    """
    left = re.sub(r"\s+", "", unused_styles.without(sheet, used))
    assert left == (
        ".a{x:1}.b:not(.gone)>p{x:3}p:is(.gone,.c){x:4}"
        '[data-z=".gone"]{x:5}.late-one::before{content:".gone"}@mediaprint{.made{x:8}}'
        "@font-face{font-family:gone}@keyframesgone{from{x:10}}"
    )


def test_a_class_that_comes_with_the_next_build_finds_its_rule(tmp_path):
    """A build after one change writes one page, and the sheet stands as the last one left it."""
    whole, styles = tmp_path / "whole", tmp_path / "site" / "_static" / "styles"
    for folder in (whole, styles):
        folder.mkdir(parents=True)
    (whole / "all-1.css").write_text(".a { x: 1 } .b { x: 2 }")
    (styles / "all-0.css").write_text("of an earlier build")
    link = '<link href="_static/styles/all-1.css"><p class="{}"></p>'
    for name in ("a", "b"):
        (tmp_path / "site" / "page.html").write_text(link.format(name))
        unused_styles.write(whole, tmp_path / "site", "_static/styles")
        assert [file.name for file in styles.iterdir()] == ["all-1.css"]
        assert (styles / "all-1.css").read_text().startswith(f".{name}{{")


def test_code_has_the_colours_of_both_modes(tmp_path):
    """When pages are written, the file has Sphinx's own colours, which cannot be read on dark."""
    (tmp_path / "styles").mkdir()
    (tmp_path / early.CODE).write_text(".highlight .nf { color: #06287E }")
    options = {"pygments_light_style": "a11y-high-contrast-light"}
    text = early.colours_of_code({**options, "pygments_dark_style": "a11y-high-contrast-dark"})
    head = f'<link rel="stylesheet" href="_static/{early.CODE}?v=1" />'
    found = early.styles(tmp_path, tmp_path / "styles", head, late={early.CODE: text})
    sheet = (tmp_path / re.search(r'_static/([^"]*)', found)[1]).read_text()
    assert "06287E" not in sheet
    for mode in ("light", "dark"):
        assert f'html[data-theme="{mode}"] .highlight .nf' in sheet


def test_no_script_stops_the_page_and_those_of_widgets_come_first():
    head = (
        '<script src="_static/doctools.js"></script><script>let own = 1;</script>'
        '<script defer="defer" src="_static/attnkit-kit.js"></script>'
        '<script src="_static/b.js"></script>'
        '<script defer="defer" src="_static/attnkit-host.js"></script>'
    )
    found = early.scripts(head)
    assert found.startswith("<script>let own = 1;</script>")
    tags = re.findall(r"<script ([^>]*)>", found)
    assert all("defer" in tag for tag in tags)
    assert ["fetchpriority" in tag for tag in tags] == [True, True, False, False]
    names = re.findall(r"_static/([^\"]*)", found)
    assert names == ["attnkit-kit.js", "attnkit-host.js", "doctools.js", "b.js"]
    assert early.scripts("") == ""
    assert "DOMContentLoaded" in early.scripts("<script>DOCUMENTATION_OPTIONS.a = 'b';</script>")


def test_a_picture_keeps_its_place_and_waits(tmp_path):
    file = tmp_path / "a.png"
    Image.new("RGB", (30, 20)).save(file)
    body = '<p><img alt="words" src="../_images/a.png" /><img src="../_images/b.png" /></p>'
    once = pictures.place(body, {"a.png": file})
    first, second = lxml.html.fromstring(once).iter("img")
    expected = {"width": "30", "height": "20", "loading": "lazy", "alt": "words"}
    assert expected.items() <= dict(first.attrib).items()
    assert first.get("style") == "--natural-width: 30px"
    assert second.get("width") is None
    assert pictures.place(once, {"a.png": file}) == once


def test_blocking_is_what_tasks_take_beyond_fifty_milliseconds():
    """Of the busiest renderer's main thread, in its own time."""

    def task(tid, milliseconds):
        return {"name": "RunTask", "pid": 1, "tid": tid, "tdur": milliseconds * 1000}

    def thread(tid, name):
        return {"name": "thread_name", "pid": 1, "tid": tid, "args": {"name": name}}

    events = [thread(1, "CrRendererMain"), thread(2, "Compositor"), task(2, 900)]
    events += [task(1, 20), task(1, 80), task(1, 130)]
    assert weigh.from_trace(events) == weigh.Times(110, 130, 230)
    assert weigh.from_trace(events[:2]) == weigh.Times(0, 0, 0)


def test_what_is_packed_travels_as_it_is():
    assert weigh.sent(b"a" * 10_000, "x.js") < 100
    assert weigh.sent(b"a" * 10_000, "x.png") == 10_000


def test_the_themes_look_for_boxes_that_scroll_is_not_started():
    folder = Path(pydata_sphinx_theme.__file__).parent / "theme/pydata_sphinx_theme/static"
    script = (folder / wide_boxes.THEME).read_text("utf-8")
    mended = wide_boxes.without_start(script)
    assert 'addEventListener("load",T)' in script
    assert 'addEventListener("load",T)' not in mended
    assert wide_boxes.without_start(mended) == mended  # a build may find its own work
    with pytest.raises(ExtensionError, match="expected to find once"):
        wide_boxes.without_start("another theme")
