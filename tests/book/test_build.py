"""Two small books, built as this one is: what their pages show, and what stops a build.

One has an address and everything that follows from one; the other has none. What a first build can
show is asked of it; the other tests build what they changed, in their order.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from filelock import FileLock

from attnbook.pages import notebook
from booktools import normal_form, whole
from booktools.address import parse_address
from tests.book.sample import ONE, READ, build, by_id, small_book, sound_notebook, with_claim

pytestmark = pytest.mark.build

REPOSITORY = "https://github.com/Owner/name"
ADDRESS = parse_address(REPOSITORY)
SITE = "https://owner.github.io/name/"
CHAPTER = "chapters/01_trial"
CLAIMS = "appendices/claims"
LEARNED = {**ONE, "id": "01-learned", "sentence": "It has learned to add after 20 updates.",
           "budget": "20 updates", "control": "an untrained one"}  # fmt: skip
HOW = "appendices/how_numbers_are_made"


def claiming(*found):
    return with_claim(*found, address=ADDRESS)


def write(folder: Path, nb, name: str = CHAPTER) -> None:
    (folder / f"{name}.ipynb").write_text(normal_form.dumps(nb))


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf8")
    assert old in text
    file.write_text(text.replace(old, new), "utf8")


def stale(nb):
    by_id(nb, "sum").source = "print(2 + 2)"
    return nb


def built(folder: Path) -> Path:
    done = build(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "_build" / "html"


def refused(folder: Path) -> str:
    done = build(folder)
    assert done.returncode != 0
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def book(tmp_path_factory) -> Path:
    """A book with an address, three claims, links to a chapter that is there and one that is not
    yet, and a stale draft that its contents do not list."""
    nb = claiming(ONE, READ, LEARNED)
    by_id(nb, "head").source += "\n\nOne and one is {claim}`01-sum` in a {term}`model`."
    folder = small_book(tmp_path_factory.mktemp("book"), nb, REPOSITORY)
    (folder / "results").mkdir()
    (folder / "results" / "sum.json").write_text(
        json.dumps({"command": "python -m experiments.sum"})
    )
    (folder / f"{HOW}.md").write_text(
        "# How\n\nSee {chapter}`01`, then {chapter}`02`.\n\nOne and one is {claim}`01-sum`.\n\n"
        "It has learned {claim}`01-learned||after [^·]*updates`.\n"
    )
    (folder / "plain.md").write_text(
        "# Plain\n\n```{index} ! trial word\n```\n\n```{glossary}\nmodel\n  A word.\n```\n\n"
        "(moving)=\n## Moving\n"
    )
    with open(folder / "_toc.yml", "a") as contents:
        contents.write(f"  - file: {CLAIMS}\n  - file: plain\n")
    write(folder, stale(sound_notebook(ADDRESS)), "chapters/02_draft")
    edit(folder / "_config.yml", "# giscus: {repo: OWNER/NAME,", "giscus: {repo: Owner/name,")
    built(folder)
    return folder


INTERRUPT = """
def stop(app, page, *rest):
    if page == "plain" and (app.srcdir / "interrupt").exists():
        raise KeyboardInterrupt


def setup(app):
    app.connect("html-page-context", stop)
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> Path:
    """A book without an address, with a figure and an account of how its chapter was made."""
    nb = sound_notebook()
    by_id(nb, "sum").metadata["tags"] = ["figure", "hide-input"]
    by_id(nb, "head").source += "\n\n## How this was made\n\nWith a sum:"
    folder = small_book(tmp_path_factory.mktemp("plain"), nb)
    (folder / "plain.md").write_text("# Plain\n\nA sentence.\n")
    with open(folder / "_toc.yml", "a") as contents:
        contents.write("  - file: plain\n")
    (folder / "interrupting.py").write_text(INTERRUPT)
    extensions = "  local_extensions:\n"
    edit(folder / "_config.yml", extensions, extensions + "    interrupting: .\n")
    built(folder)
    return folder


def html(folder: Path) -> Path:
    return folder / "_build" / "html"


def page(folder: Path, name: str) -> BeautifulSoup:
    return BeautifulSoup((html(folder) / f"{name}.html").read_text("utf8"), "lxml")


def links(soup: BeautifulSoup) -> set[str]:
    return {tag["href"] for tag in soup.find_all("a", href=True)}


def chapter_links(folder: Path) -> list[str]:
    paragraph = page(folder, HOW).select_one("#main-content section p")
    assert paragraph.get_text() == "See chapter 01, then chapter 02."
    return [link["href"] for link in paragraph.find_all("a")]


def test_with_an_address_buttons_sitemap_and_cards_follow(book):
    chapter = page(book, CHAPTER)
    assert {
        f"https://colab.research.google.com/github/Owner/name/blob/main/{CHAPTER}.ipynb",
        f"{REPOSITORY}/edit/main/{CHAPTER}.ipynb",
        REPOSITORY,
    } <= links(chapter)
    assert any(link.startswith(f"{REPOSITORY}/issues/new") for link in links(chapter))
    assert chapter.find("link", rel="canonical")["href"] == f"{SITE}{CHAPTER}.html"

    card = chapter.find("meta", property="og:image")["content"]
    assert card.startswith(SITE)
    assert (html(book) / card.removeprefix(SITE)).is_file()

    sitemap = (html(book) / "sitemap.xml").read_text("utf8")
    assert f"<loc>{SITE}{CHAPTER}.html</loc>" in sitemap
    assert "/en/" not in sitemap
    not_found = (html(book) / "404.html").read_text("utf8")
    assert 'src="/name/_static/' in not_found
    assert "/en/" not in not_found


def test_without_one_the_book_has_no_buttons_that_lead_nowhere(plain):
    chapter = page(plain, CHAPTER)
    assert not any("github" in link or "colab" in link for link in links(chapter))
    assert chapter.select(".dropdown-launch-buttons, .dropdown-source-buttons") == []
    assert chapter.find("link", rel="canonical") is None
    assert chapter.find("meta", property="og:image") is None
    assert not (html(plain) / "sitemap.xml").exists()
    assert 'src="/_static/' in (html(plain) / "404.html").read_text("utf8")


def test_comments_come_under_chapters_where_the_configuration_names_a_repository(book, plain):
    (script,) = page(book, CHAPTER).select("section.comments > script")
    assert script["src"] == "https://giscus.app/client.js"
    assert (script["data-repo"], script["data-category"]) == ("Owner/name", "General")
    assert not page(book, "plain").select("section.comments")
    assert "giscus" not in (html(plain) / f"{CHAPTER}.html").read_text("utf8")


def test_the_download_is_a_plain_copy(book):
    button = page(book, CHAPTER).select_one("a.btn-download-source-button, a[download]")
    copy = json.loads((html(book) / CHAPTER).parent.joinpath(button["href"]).read_text("utf8"))
    (head,) = [cell for cell in copy["cells"] if cell["id"] == "head"]
    assert "One and one is 2 in a [model](" in "".join(head["source"])
    # A draft that the contents do not list has not stopped the build.
    assert not (html(book) / "chapters" / "02_draft.html").exists()


def test_the_table_of_claims_links_to_the_cells(book):
    table, chapter = page(book, CLAIMS), page(book, CHAPTER)
    assert table.select_one("h2 a")["href"] == "../chapters/01_trial.html"
    says = (
        "One and one is two. measured in this cell",
        "read in this cell from results/sum.json , made by python -m experiments.sum",
        "one run · after 20 updates · control: an untrained one measured in this cell",
    )
    for row, said in zip(table.select("table.claims tbody tr"), says, strict=True):
        sentence, number = (cell.get_text(" ", strip=True) for cell in row.find_all("td"))
        assert (said in sentence, number) == (True, "2")
        link, _, target = row.find("a")["href"].partition("#")
        assert link == "../chapters/01_trial.html"
        cell = chapter.find(id=target).find_parent("div", class_="cell") or chapter.find(id=target)
        assert "1 + 1" in cell.get_text()


def test_a_claim_on_another_page_is_its_number_linked_to_its_cell(book):
    _, whole, part = page(book, HOW).select("#main-content section p")[:3]
    assert whole.get_text() == "One and one is 2."
    assert whole.find("a")["href"] == "../chapters/01_trial.html#claim-01-sum"
    assert part.get_text() == "It has learned after 20 updates."


def test_the_table_of_claims_follows_a_change(book):
    write(book, claiming({**ONE, "sentence": "Two is one and one."}, READ, LEARNED))
    built(book)
    rows = [row.get_text() for row in page(book, CLAIMS).select("table.claims tbody tr")]
    assert len(rows) == 3
    assert "Two is one and one." in rows[0]
    assert "One and one is two." not in rows[0]
    # The plain page was not written anew; the search still finds it by its index entry.
    assert '"trial word"' in (html(book) / "searchindex.js").read_text("utf8")


def test_a_chapters_number_becomes_a_link_when_its_chapter_comes(book):
    """The role `{chapter}`: plain words until the chapter is there, then a link; pages follow.

    The contents beside a page that did not change name it too, and another page's new title.
    """
    assert chapter_links(book) == ["../chapters/01_trial.html"]
    write(book, sound_notebook(ADDRESS), "chapters/02_next")
    edit(book / "_toc.yml", "/01_trial\n", "/01_trial\n  - file: chapters/02_next\n")
    edit(book / f"{HOW}.md", "# How\n", "# How it came\n")
    built(book)
    assert chapter_links(book)[1] == "../chapters/02_next.html"
    beside = [link.get_text(strip=True) for link in page(book, "plain").select("nav.bd-links a")]
    assert beside == ["Trial book", "Trial", "Trial", "How it came", "Table of claims", "Plain"]


def test_a_label_may_move_to_a_page_that_is_read_earlier(book):
    """Sphinx reads page after page, and would find the label where it no longer is.

    And of a page that has gone meanwhile none is left.
    """
    (book / "chapters/02_next.ipynb").unlink()
    edit(book / "_toc.yml", "\n  - file: chapters/02_next", "")
    assert (html(book) / "chapters/02_next.html").exists()
    heading = "(moving)=\n## Moving\n"
    edit(book / "plain.md", heading, "")
    (book / f"{HOW}.md").write_text((book / f"{HOW}.md").read_text("utf8") + "\n" + heading, "utf8")
    built(book)
    assert not (html(book) / "chapters/02_next.html").exists()


def test_a_stale_chapter_a_dead_control_and_a_claim_without_a_number_stop_the_build(book):
    nb = stale(claiming({**ONE, "number": "seven"}, READ))
    notebook.states(nb).clear()
    write(book, nb)
    said = refused(book)
    assert "01_trial.ipynb: cell 3: changed since it was executed" in said
    assert "01_trial.ipynb: cell 4: a widget view has no stored state" in said
    assert "01_trial.ipynb: cell 3: claim '01-sum': no number" in said


def test_the_code_of_a_figure_is_a_mark_and_how_a_page_was_made_one_fold_at_its_end(plain):
    (fold,) = page(plain, CHAPTER).select("div.cell.tag_figure > details.figure-mark")
    assert fold.summary.get_text(strip=True) == "code and data"
    section = page(plain, CHAPTER).select_one("section#how-this-was-made")
    (fold,) = section.find_all(recursive=False)
    assert fold.summary.get_text(strip=True) == "How this was made"
    assert "With a sum:" in fold.get_text()
    assert "1 + 1" in fold.get_text()
    assert section.select("h2") == []


def test_a_warning_stops_the_build_until_the_page_is_mended(plain):
    """Sphinx takes the pages that it has read for sound, and would say nothing of them again."""
    nb = sound_notebook()
    nb.metadata["page"] = {"question": "One and one?", "ideas": ["a sum"] * 11}
    nb.cells[1].source += "\n\n[nowhere](no_such_page.md)"
    write(plain, nb)
    (plain / f"{HOW}.md").write_text("# How\n\nOne and one is {claim}`01-product`.\n")
    for _ in range(2):
        said = refused(plain)
        assert "no_such_page" in said
        assert "ideas on the open path: 11, at most 10" in said
        assert "no claim '01-product'" in said
    write(plain, sound_notebook())
    (plain / f"{HOW}.md").write_text("# How\n\nA sentence for a page of a trial.\n")
    built(plain)
    assert indexed(plain) == {"index", CHAPTER, HOW, "plain"}


def test_a_build_that_was_interrupted_is_made_up_for_by_the_next(plain):
    edit(plain / "plain.md", "A sentence.", "Another sentence.")
    (plain / "interrupt").touch()  # before it writes the plain page
    refused(plain)
    (plain / "interrupt").unlink()
    assert "Another sentence." not in (html(plain) / "plain.html").read_text("utf8")
    # What a full disk leaves half written; pictures and sheets are taken by their names, hashes.
    halves = plain / "_build" / "jupyter_execute" / "hash.png", html(plain) / "half.html"
    for half in halves:
        half.touch()
    styles = plain / "_build" / ".doctrees" / "styles"
    for sheet in styles.glob("all-*.css"):
        sheet.write_text("")
    built(plain)
    assert not any(half.exists() for half in halves)
    sheets = [sheet.read_text("utf8") for sheet in styles.glob("all-*.css")]
    assert sheets
    assert all(sheets)
    assert "Another sentence." in (html(plain) / "plain.html").read_text("utf8")
    assert indexed(plain) == {"index", CHAPTER, HOW, "plain"}


def test_a_build_leaves_the_place_to_the_one_that_is_writing_there(plain):
    with FileLock(plain / "_build" / whole.LOCK):
        assert "another build is writing into" in refused(plain)


def indexed(folder: Path) -> set[str]:
    text = (html(folder) / "searchindex.js").read_text("utf8")
    return set(json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))["docnames"])


ONE_PAGE = """# Plain

::::{grid} 1
:::{grid-item-card} A card
:link: /index
:link-type: doc
:::
::::

```{eval-rst}
.. summary::
.. automodule:: booktools.address
   :members: read_address
```
"""


def test_all_pages_become_one(tmp_path):
    """With a node of another extension, and a table that asks where it stands."""
    folder = small_book(tmp_path / "book", sound_notebook())
    with open(folder / "_toc.yml", "a") as contents:
        contents.write("  - file: appendices/api/one\n")
    (folder / "appendices" / "api" / "one.md").write_text(ONE_PAGE)
    done = build(folder, "singlehtml")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    soup = BeautifulSoup((folder / "_build/singlehtml/index.html").read_text("utf8"), "lxml")
    assert [row.td.get_text() for row in soup.select(".reference-summary tbody tr")]
