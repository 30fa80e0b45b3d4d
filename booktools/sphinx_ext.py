"""The book's Sphinx extension: gates, address, maths, icons, pictures, changes to the theme.

It runs on ``config-inited``, before the theme and the other extensions read their settings,
so that a plain ``jupyter-book build .`` does all of it.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx_external_toc.parsing import parse_toc_yaml

from booktools import gates
from booktools.address import BRANCH, Address, read_address

THEME_FIRST = Path(__file__).with_name("theme_first.js")
PRINT_LIGHT = Path(__file__).with_name("print_light.js")
COLAB = "https://colab.research.google.com"


def hold_to_gates(app: Sphinx, config: Config) -> None:
    """Stop the build when a notebook fails a gate.

    A draft that the contents do not list yet is held by the tests alone.
    """
    folder = Path(app.srcdir)
    address = read_address(folder / "pyproject.toml")
    listed = parse_toc_yaml(folder / "_toc.yml")
    published = [
        path
        for path in gates.notebooks(folder)
        if path.relative_to(folder).with_suffix("").as_posix() in listed
    ]
    found = gates.check(published, address, folder)
    if found:
        listing = "\n  ".join(found)
        raise ExtensionError(
            f"the notebooks are not fit to be published:\n  {listing}\n"
            "`make notebooks` executes them and writes them again."
        )


def apply_address(app: Sphinx, config: Config) -> None:
    """Switch buttons, sitemap and social cards on when the repository has an address."""
    if os.environ.get("FILES"):
        app.tags.add("files")  # the workflow puts the book as PDF and EPUB beside the pages
    address = read_address(Path(app.srcdir) / "pyproject.toml")
    config.notfound_urls_prefix = address.site_path if address else "/"
    if address is None or not address.repository.startswith("https://"):
        # The theme makes a dead repository link from whatever address it finds.
        config.html_theme_options.pop("repository_url", None)
        return
    config.html_theme_options.update(theme_options(address))
    if address.on_github:
        app.tags.add("colab")  # a page can say how the launch button works only where there is one
    if address.site:
        config.html_baseurl = config.ogp_site_url = address.site
        config.ogp_social_cards = {
            "enable": True,
            "image": "_static/logo.png",
            "image_mini": "_static/card-corner.png",
            "line_color": "#f4a259",
        }


def theme_options(address: Address) -> dict[str, object]:
    """The theme's settings for a repository at ``address``."""
    return {
        "repository_url": address.repository,
        "repository_branch": BRANCH,
        "use_repository_button": True,
        "use_edit_page_button": True,
        "use_issues_button": True,
        "launch_buttons": {"colab_url": COLAB} if address.on_github else {},
    }


def remove_thebe(app: Sphinx, config: Config) -> None:
    """Disconnect sphinx-thebe, which Jupyter Book loads whether a book uses it or not.

    It would declare its globals twice on every page, an error on every console.
    """
    for listeners in app.events.listeners.values():
        listeners[:] = [
            listener
            for listener in listeners
            if not listener.handler.__module__.startswith("sphinx_thebe")
        ]
    app.registry.css_files[:] = [
        entry for entry in app.registry.css_files if entry[0] != "sphinx-thebe.css"
    ]


def fix_roles(app: Sphinx, page: str, template: str, context: dict, doctree: object) -> None:
    """Give the entries of a bibliography a role that a ``role="list"`` may hold.

    docutils writes ``doc-biblioentry``, which ARIA has since withdrawn.
    """
    if "body" in context:
        context["body"] = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')


def name_first_widget(
    app: Sphinx, page: str, template: str, context: dict, doctree: object
) -> None:
    """Name the first widget of a page, so that the link at the page's top can skip to it."""
    if "body" in context:
        context["body"] = context["body"].replace(
            '<div class="attnkit-view',
            '<div id="first-widget" tabindex="-1" class="attnkit-view',
            1,
        )


def name_once(app: Sphinx, page: str, template: str, context: dict, doctree: object) -> None:
    """Leave the book's name out behind the cover's own, which is the same."""
    if page == app.config.root_doc:
        context["docstitle"] = ""


SOURCE_KEYS = ("sourcename", "page_source_suffix")


def remember_source(app: Sphinx, page: str, template: str, context: dict, doctree: object) -> None:
    """Note where the page's source is, before sphinx-last-updated-by-git forgets it.

    That extension removes the link to every source that git does not know, which in a
    downloaded archive is all of them; the download and launch buttons need it.
    """
    app.env.temp_data["booktools_source"] = {k: context[k] for k in SOURCE_KEYS if k in context}


def restore_source(app: Sphinx, page: str, template: str, context: dict, doctree: object) -> None:
    """Put back what :func:`remember_source` noted."""
    context.update(app.env.temp_data.pop("booktools_source", {}))


def digest(folder: Path) -> str:
    """A hash of this folder's code and of ``_static``: a change to either rebuilds every page.

    Sphinx alone would see that no page's source has changed and copy nothing.
    """
    files = sorted(Path(__file__).parent.rglob("*.*")) + sorted((folder / "_static").glob("*"))
    # What Python compiles beside the code is another after the first build, of the same code.
    files = [path for path in files if path.is_file() and path.suffix != ".pyc"]
    content = b"".join(path.read_bytes() for path in files)
    return hashlib.sha256(content).hexdigest()[:16]


def write_as_one_page(app: Sphinx) -> None:
    """Let the builder of one page write what that of many can: sphinx-exercise names it for its own
    nodes, and so Sphinx takes none of the others'."""
    handlers = app.registry.translation_handlers
    handlers["singlehtml"] = handlers["html"] | handlers.get("singlehtml", {})


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension; Sphinx calls it."""
    app.add_config_value("booktools_digest", digest(Path(app.srcdir)), "html")
    app.setup_extension("booktools.whole")
    app.setup_extension("booktools.maths")
    app.setup_extension("booktools.wide_boxes")
    app.setup_extension("booktools.icons")
    app.setup_extension("booktools.early")
    app.setup_extension("booktools.folds")
    app.setup_extension("booktools.form")
    app.setup_extension("booktools.pictures")
    app.setup_extension("booktools.chapter_links")
    app.setup_extension("booktools.claims_table")
    app.setup_extension("booktools.reference")
    app.setup_extension("booktools.search")
    app.setup_extension("booktools.archive")
    app.setup_extension("booktools.plain")
    if (address := read_address(Path(app.srcdir) / "pyproject.toml")) and address.site:
        # Without a site address there is nothing that a sitemap could list.
        app.setup_extension("sphinx_sitemap")
        app.config.sitemap_url_scheme = "{link}"
    app.connect("builder-inited", write_as_one_page)
    app.connect("config-inited", hold_to_gates)
    app.connect("config-inited", apply_address)
    app.connect("config-inited", remove_thebe, priority=900)
    for script in (THEME_FIRST, PRINT_LIGHT):
        app.add_js_file(None, body=script.read_text("utf-8"))
    app.connect("html-page-context", fix_roles)
    app.connect("html-page-context", name_first_widget)
    app.connect("html-page-context", name_once)
    app.connect("html-page-context", remember_source, priority=1)
    # Connected late, it comes after its peers of priority 500 and before the buttons at 501.
    app.connect(
        "builder-inited", lambda app: app.connect("html-page-context", restore_source) and None
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
