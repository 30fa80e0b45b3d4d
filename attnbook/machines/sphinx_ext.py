"""The Sphinx extension of the machines: their directives, and the files of the models."""

from pathlib import Path

from sphinx.application import Sphinx

from attnbook.machines import language_model
from attnbook.machines.language_model.in_parts import write_parts
from attnbook.machines.live_translator import page


def write_files(app: Sphinx) -> None:
    """Write the weights of the translators and of the language model before any page is."""
    if app.builder.format == "html":
        static = Path(app.outdir) / "_static"
        page.write_models(static, app.config.live_translators)
        if app.config.language_model:
            scripts = [language_model.HERE / name for name in language_model.WORKER]
            write_parts(static / language_model.FOLDER, scripts)


def setup(app: Sphinx) -> dict[str, bool | str]:
    """Register the extension; Sphinx calls it."""
    app.add_config_value("live_translators", {}, "html", dict)
    app.add_config_value("language_model", False, "html", bool)
    app.add_directive("live-translator", page.LiveTranslatorDirective)
    app.add_directive("attention-widget", page.WidgetDirective)
    app.connect("builder-inited", write_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
