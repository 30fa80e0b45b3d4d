"""Pages with a translator, and what it shows."""

import re

from attnbook.machines.live_translator import page as book_page
from tests.browser.explorer_page import AS_TEXT, Widget, follow, from_text, write_page


def ready(page, model: str = "") -> None:
    """Wait until it has translated, with this model if it is named."""
    page.locator(".machine-translator").first.scroll_into_view_if_needed()
    page.wait_for_function(
        """(model) => {
            const shown = document.querySelector(".machine-translator")?.snapshot?.();
            return shown && (!model || shown.model === model);
        }""",
        arg=model,
        timeout=60_000,
    )


class Translator(Widget):
    """The root of a translator on a page, and what a reader does to it."""

    def snapshot(self) -> dict:
        return from_text(self.root.evaluate(f"root => ({AS_TEXT})(root.snapshot())"))

    def source(self, place: int):
        return self.locator(".translator-source button").nth(place)

    def target(self, place: int):
        return self.locator(".translator-target button").nth(place)

    def write(self, text: str) -> dict:
        self.get_by_role("textbox").fill(text)
        return self.snapshot()


def translator(page) -> Translator:
    return Translator(page.locator(".machine-translator").first)


def bring_back(page, anchor: str, record) -> None:
    """Everything as it opens, by an address that sets nothing."""
    page.emulate_media(media="screen", forced_colors="none", reduced_motion="no-preference")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.mouse.move(0, 0)
    page.evaluate("history.replaceState(null, '', location.pathname)")
    follow(page, f"{anchor}=as:lines")
    page.evaluate("history.replaceState(null, '', location.pathname)")
    record.console.clear()


def by_directive(folder, widget, *, scripts: bool = True) -> str:
    """The address of a page with a widget in no notebook, as its directive writes it."""
    path = write_page(folder, widget)
    text = path.read_text("utf-8")
    start, end = text.index('<div class="attnkit-view">'), text.index("</main>")
    text = text[:start] + "".join(book_page.view(widget)) + text[end:]
    if not scripts:
        text = re.sub("<script defer[^>]*></script>", "", text)
    path.write_text(text, "utf-8")
    return path.as_uri()
