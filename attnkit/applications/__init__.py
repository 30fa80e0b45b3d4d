"""Whole models for whole tasks: translate a sentence, summarize a document."""

from attnkit.applications.summarizer import Summarizer
from attnkit.applications.translator import Translator

__all__ = ["Summarizer", "Translator"]
