"""The Sphinx extension of the machines: their directives, and the files of the models."""

from dataclasses import replace
from pathlib import Path

from sphinx.application import Sphinx

from attnbook.machines import language_model, sentence_model
from attnbook.machines.live_translator import page


def write_files(app: Sphinx) -> None:
    """Write the weights of translators and of models that come at a press before any page is."""
    if app.builder.format == "html":
        static = Path(app.outdir) / "_static"
        page.write_models(static, app.config.live_translators)
        for model in (language_model.MODEL, sentence_model.MODEL):
            given = model if app.config.language_model else replace(model, content=lambda: None)
            given.write(static)


def setup(app: Sphinx) -> dict[str, bool | str]:
    """Register the extension; Sphinx calls it."""
    app.add_config_value("live_translators", {}, "html", dict)
    app.add_config_value("language_model", False, "html", bool)
    app.add_directive("live-translator", page.LiveTranslatorDirective)
    app.add_directive("attention-widget", page.WidgetDirective)
    app.connect("builder-inited", write_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
