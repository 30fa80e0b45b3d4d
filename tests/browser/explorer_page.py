"""Pages with widgets, made as the built book makes them without building it, and what they show."""

import json
from pathlib import Path

import pytest
import torch

from attnbook.pages import notebook as saved
from attnkit.viz import AttentionExplorer
from booktools import normal_form
from booktools.widget_page import START, state_of, write_page

__all__ = ["state_of", "write_page"]

WORDS = ["The", "animal", "did", "n't", "cross", "the", "street", "because", "it", "was", "too",
         "tired"]  # fmt: skip
ATTACK = "<img src=x onerror=alert(1)>"
# In a script element an HTML parser reads on, past "</script>", until a second one.
SWALLOW = "<!--<script>"

# Both themes and both widths, as parameters; a theme changes colours and a width the layout, so the
# other two pairs find little that these do not.
THEMES_AND_WIDTHS = [
    ("light", 1280),
    ("dark", 360),
    pytest.param("light", 360, marks=pytest.mark.slow),
    pytest.param("dark", 1280, marks=pytest.mark.slow),
]


def vectors(heads: int, length: int, features: int, seed: int = 0) -> torch.Tensor:
    """Random vectors (heads, length, features), the same for the same seed."""
    return torch.randn(heads, length, features, generator=torch.Generator().manual_seed(seed))


def an_explorer(heads: int = 3, length: int = len(WORDS), **settings) -> AttentionExplorer:
    query, key = vectors(heads, length, 16), vectors(heads, length, 16, seed=1)
    return AttentionExplorer(query, key, **{"tokens": WORDS[:length], **settings})


def saved_models(notebook: Path, widget: type) -> list[dict]:
    """The states of a notebook's widgets of this class, in reading order."""
    book = normal_form.read(notebook)
    states = saved.states(book)
    viewed = [states[id_] for id_ in normal_form.view_ids(book)]
    ours = f"{widget.__module__}.{widget.__name__}"
    return [model for model in viewed if model["state"].get("_anywidget_id") == ours]


def start_widgets(page) -> None:
    """Start all widgets of a page, also those that its reader is not near."""
    page.evaluate(START)


def wait_until_started(page) -> None:
    """Wait until every widget of a page of the book has taken its picture's place and drawn."""
    page.wait_for_function("!document.querySelector('.attnkit-view > [tabindex]')")
    settle(page)


def wait_for_widgets(page, count: int = 1):
    page.wait_for_function(
        "count => [...document.querySelectorAll('.machine')].filter(root => root.snapshot && "
        "root.querySelector('.machine-big, .machine svg text')?.textContent).length === count",
        arg=count,
    )
    return page.locator(".machine").first


def wait_for_theme(page, *, dark: bool) -> None:
    """Wait until a widget has seen that the page is dark, or no longer."""
    found = "document.querySelector('.machine[data-dark]')"
    page.wait_for_function(found if dark else f"!{found}")


def named(part: str) -> str:
    """The selector of a part of an explorer: its own, or one that all widgets have."""
    return f":is(.machine-{part}, .explorer-{part})"


def text(root, part: str) -> str:
    settle(root.page)
    return root.locator(named(part)).inner_text()


def picture(root, part: str = "map") -> str:
    settle(root.page)
    return root.evaluate(f"e => e.querySelector('{named(part)}').toDataURL()")


def control(explorer, label: str):
    return explorer.get_by_label(label, exact=True)


def button(root, name: str):
    return root.get_by_role("button", name=name, exact=True)


def press(root, *names: str) -> None:
    """Click the buttons of these names, and wait until what follows is drawn."""
    for name in names:
        button(root, name).click()
    settle(root.page)


def move(explorer, label: str, value) -> None:
    control(explorer, label).evaluate(
        """(input, value) => {
            if (input.type === "checkbox") input.checked = value; else input.value = value;
            input.dispatchEvent(new Event("input", { bubbles: true }));
        }""",
        value,
    )
    settle(explorer.page)


PEN = """(names) => {
    window.pen = [];
    for (const name of names) {
        const own = CanvasRenderingContext2D.prototype[name];
        CanvasRenderingContext2D.prototype[name] = function (...given) {
            window.pen.push([name, this.canvas.className, given[0]]);
            return own.apply(this, given);
        };
    }
}"""
"""From now on `pen` lists the calls of these methods: the name, the canvas, the first argument."""

AS_TEXT = """(snapshot) => JSON.stringify(snapshot, (_, value) =>
    value === undefined ? null : ArrayBuffer.isView(value) ? [...value] :
    typeof value === "number" && !Number.isFinite(value) ? { number: String(value) } : value)"""
"""A snapshot in letters: Playwright takes a tenth of a second over a few thousand numbers."""


def from_text(text: str) -> dict:
    return json.loads(text, object_hook=lambda o: float(o["number"]) if [*o] == ["number"] else o)


def shown_now(explorer) -> str:
    """What an explorer shows when what was asked for has been drawn, in letters."""
    return explorer.evaluate(
        f"""async (element) => {{
            for (let n = 0; n < 2; n++) await new Promise(requestAnimationFrame);
            return ({AS_TEXT})(element.snapshot());
        }}"""
    )


def snapshot(explorer) -> dict:
    """What `snapshot()` of the explorer's root element returns, when it has been drawn."""
    return from_text(shown_now(explorer))


def follow(page, address: str) -> None:
    """Give the page's address this part after "#", and wait until its widgets have heard."""
    page.evaluate(
        """address => new Promise(done => {
            addEventListener("hashchange", () => done(), { once: true });
            location.hash = address;
        })""",
        address,
    )
    settle(page)


def settle(page) -> None:
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )


class Widget:
    """The root of a widget on a page, what a reader does to it, and what it shows."""

    button, control, move, picture = button, control, move, picture
    press, snapshot, text = press, snapshot, text

    def __init__(self, root):
        self.root = root

    def __getattr__(self, name: str):
        return getattr(self.root, name)

    def other(self, place: int) -> "Widget":
        return Widget(self.page.locator(".machine").nth(place))


def load_axe(page) -> None:
    if not page.evaluate("'axe' in window"):
        page.evaluate(pytest.importorskip("axe_playwright_python.sync_playwright").Axe().axe_script)


def axe_violations(page, *more: str, rules: tuple[str, ...] = ()) -> list[str]:
    """The rules of WCAG 2.1 A and AA, and of axe's sets `more`, that a page breaks, and where.

    With `rules` only those are asked about. What MathJax draws within a formula is its own affair.
    """
    load_axe(page)
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", *more]
    only = {"type": "rule", "values": rules} if rules else {"type": "tag", "values": tags}
    context = {"exclude": [["mjx-container > *"]]}
    # The style sheets, which axe would ask for once more, are for rules that are not among these.
    options = {"runOnly": only, "resultTypes": ["violations"], "preload": {"assets": ["media"]}}
    run = "(asked) => axe.run(...asked).then((found) => found.violations)"
    return [
        f"{rule['id']}: {node['html'][:200]} ({node.get('failureSummary', '')[:300]})"
        for rule in page.evaluate(run, [context, options])
        for node in rule["nodes"]
    ]


def complaints(page, record, width: int) -> list[str]:
    """What the console says, what axe finds, and whether a page of this width scrolls sideways."""
    found = list(record.console)
    found += axe_violations(page, "best-practice")
    if page.evaluate("document.documentElement.scrollWidth") > width:
        found.append("the page scrolls sideways")
    return found


AS_IN_JUPYTER = """
    const load = async (source) => {
        const blob = new Blob([source], { type: "text/javascript" });
        return (await import(URL.createObjectURL(blob))).default;
    };
    const bytes = (data) => new DataView(
        Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0)).buffer);
    const modelOf = (state, heard) => ({
        get: (name) => state[name],
        set: (name, value) => {
            state[name] = value;
            heard.filter(([event]) => event === `change:${name}`).forEach(([, action]) => action());
        },
        save_changes: () => {},
        on: (...pair) => heard.push(pair),
        off: (name, action) => {
            const at = heard.findIndex(([n, f]) => n === name && f === action);
            if (at >= 0) heard.splice(at, 1);
        },
    });
"""
"""Of a front end: how it loads a widget's module, and a model that notes who listens to it."""

COUNT_LISTENERS = """() => {
    window.alive = new Set();
    const add = EventTarget.prototype.addEventListener;
    EventTarget.prototype.addEventListener = function (name, action, options) {
        const entry = { name, target: this };
        window.alive.add(entry);
        options?.signal && add.call(options.signal, "abort", () => window.alive.delete(entry));
        return add.call(this, name, action, options);
    };
    for (const kind of ["ResizeObserver", "MutationObserver"]) {
        const Base = window[kind];
        window[kind] = class extends Base {
            observe(...args) { window.alive.add(this); super.observe(...args); }
            disconnect() { window.alive.delete(this); super.disconnect(); }
        };
    }
}"""


RENDER_AND_CLOSE = f"""async ([source, {{ state, buffers }}]) => {{{AS_IN_JUPYTER}
    for (const {{ path: [name], data }} of buffers) state[name] = bytes(data);
    const heard = [], widget = await load(source);
    const el = document.body.appendChild(document.createElement("div"));
    const names = new Set(Object.getOwnPropertyNames(window));
    const close = widget.render({{ model: modelOf(state, heard), el }});
    await new Promise(requestAnimationFrame);
    const during = [window.alive.size, heard.length, el.childNodes.length];
    close();
    await new Promise(requestAnimationFrame);
    const added = Object.getOwnPropertyNames(window).filter((name) => !names.has(name));
    return {{ during, after: [window.alive.size, heard.length, el.childNodes.length], added }};
}}"""


def render_and_close(open_page, *widgets) -> None:
    """Render by hand, as Jupyter does, with a model and a page that count their listeners.

    Closing a view must leave none of them, nor a global name.
    """
    page, _ = open_page("about:blank", start=False)
    for widget in widgets:  # before counting, since Playwright listens, too, once it holds anything
        page.add_style_tag(content=widget._css)
    page.evaluate(COUNT_LISTENERS)
    for widget in widgets:
        (model,) = (one for one in state_of(widget).values() if one["model_module"] == "anywidget")
        found = page.evaluate(RENDER_AND_CLOSE, [widget._esm, {"buffers": [], **model}])
        listeners, heard, nodes = found["during"]
        assert nodes == 1 <= min(listeners, heard), (type(widget), found)
        assert (found["after"], found["added"]) == ([0, 0, 0], []), (type(widget), found)
