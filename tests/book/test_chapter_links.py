"""The role `{chapter}`: plain words until the chapter is there, then a link; the page follows."""

from bs4 import BeautifulSoup

from tests.book.sample import sound_notebook
from tests.book.test_gates import build, small_book

PAGE = "appendices/how_numbers_are_made"


def test_a_number_becomes_a_link_when_its_chapter_comes(tmp_path):
    folder = small_book(tmp_path, sound_notebook())
    text = "# How\n\nSee {chapter}`01`, then {chapter}`02`.\n"
    (folder / f"{PAGE}.md").write_text(text)

    def links():
        done = build(folder)
        assert done.returncode == 0, done.stdout + done.stderr
        html = (folder / "_build" / "html" / f"{PAGE}.html").read_text("utf8")
        paragraph = BeautifulSoup(html, "lxml").select_one("#main-content section p")
        assert paragraph.get_text() == "See chapter 01, then chapter 02."
        return {a.get_text(): a["href"] for a in paragraph.find_all("a")}

    assert links() == {"chapter 01": "../chapters/01_trial.html"}
    trial = folder / "chapters" / "01_trial.ipynb"
    (folder / "chapters" / "02_next.ipynb").write_text(trial.read_text())
    contents = folder / "_toc.yml"
    contents.write_text(
        contents.read_text().replace("/01_trial\n", "/01_trial\n  - file: chapters/02_next\n")
    )
    assert links()["chapter 02"] == "../chapters/02_next.html"
