"""Chapters zipped as EPUB 3: each a document of XHTML, with what the format wants beside them."""

from __future__ import annotations

import datetime
import html
import uuid
import zipfile
from pathlib import Path
from typing import NamedTuple

from booktools.archive import DATE, NAME

XHTML = "http://www.w3.org/1999/xhtml"
_LINK = '<link rel="stylesheet" href="style.css"/>'
_IMAGES = {".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg"}

_PACKAGE = """<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id" xml:lang="en">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">urn:uuid:{id}</dc:identifier>
<dc:title>{title}</dc:title>
<dc:language>en</dc:language>
<dc:creator>The attnkit authors</dc:creator>
<dc:rights>Text and figures: CC BY 4.0. Code: MIT License.</dc:rights>
<meta property="dcterms:modified">{date:%Y-%m-%dT%H:%M:%SZ}</meta>
</metadata>
<manifest>
<item id="style" href="style.css" media-type="text/css"/>
{items}
</manifest>
<spine>{spine}</spine>
</package>
"""
_CONTAINER = """<?xml version="1.0"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="EPUB/package.opf" media-type="application/oebps-package+xml"/>
</rootfiles></container>
"""


class Chapter(NamedTuple):
    """A page of the book as it stands in the file.

    Attributes:
        file: its name in the EPUB.
        part: the caption of the part that begins with it, or "".
        title: as its heading says.
        body: XHTML, one element.
    """

    file: str
    part: str
    title: str
    body: str


def document(title: str, body: str) -> str:
    """An XHTML document, with the style sheet of the whole."""
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html>\n'
        f'<html xmlns="{XHTML}" xmlns:epub="http://www.idpf.org/2007/ops" lang="en" xml:lang="en"'
        f' data-theme="light"><head><meta charset="utf-8"/><title>{html.escape(title)}</title>'
        f"{_LINK}</head><body>{body}</body></html>\n"
    )


def contents(chapters: list[Chapter], sheets: dict[str, int] | None = None) -> str:
    """The list of chapters, in parts; with the number of each one's sheet where that is known."""
    lines, inside = [], False
    for one in chapters:
        if one.part:
            lines.append("</ol></li>" * inside + f"<li><span>{html.escape(one.part)}</span><ol>")
            inside = True
        sheet = f' data-page="{sheets[one.file]}"' if sheets else ""
        lines.append(f'<li><a href="{one.file}"{sheet}>{html.escape(one.title)}</a></li>')
    return f"<ol>{''.join(lines)}{'</ol></li>' * inside}</ol>"


def _item(id_: str, href: str, kind: str, properties: str = "") -> str:
    """A line of the manifest."""
    has = f' properties="{properties}"' if properties else ""
    return f'<item id="{id_}" href="{href}" media-type="{kind}"{has}/>'


def write(
    target: Path,
    folder: Path,
    chapters: list[Chapter],
    title: str,
    front: str,
    version: str,
    date: datetime.datetime,
) -> None:
    """Zip the chapters with `images` and `style.css` of `folder`; `front` is the first page."""
    nav = f'<nav epub:type="toc" class="contents"><h1>Contents</h1>{contents(chapters)}</nav>'
    texts = {"front.xhtml": document(title, front), "nav.xhtml": document("Contents", nav)}
    texts |= {one.file: document(one.title, one.body) for one in chapters}
    items = []
    for name, text in texts.items():
        uses = {"nav": name == "nav.xhtml", "svg": "<svg" in text, "mathml": "<math" in text}
        kinds = " ".join(kind for kind, used in uses.items() if used)
        items.append(_item(Path(name).stem, name, "application/xhtml+xml", kinds))
    pictures = sorted(path.name for path in (folder / "images").iterdir())
    for number, name in enumerate(pictures):
        items.append(_item(f"image-{number}", f"images/{name}", _IMAGES[Path(name).suffix]))
    package = _PACKAGE.format(
        id=uuid.uuid5(uuid.NAMESPACE_URL, f"{NAME}-{version}"),
        title=html.escape(title),
        date=date,
        items="\n".join(items),
        spine="".join(f'<itemref idref="{Path(name).stem}"/>' for name in texts),
    )
    files = {"mimetype": b"application/epub+zip", "META-INF/container.xml": _CONTAINER.encode()}
    files |= {f"EPUB/{name}": text.encode() for name, text in texts.items()}
    files |= {"EPUB/package.opf": package.encode()}
    files |= {"EPUB/style.css": (folder / "style.css").read_bytes()}
    files |= {f"EPUB/images/{name}": (folder / "images" / name).read_bytes() for name in pictures}
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in files.items():
            packed = name == "mimetype" or name.endswith(".png")
            how = zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED
            archive.writestr(zipfile.ZipInfo(name, DATE), content, how)
