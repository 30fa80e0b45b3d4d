"""Whole models for whole tasks: translate a sentence, summarize a document."""

from attnlab.applications.summarizer import Scored, Summarizer, Summary, summary_loss
from attnlab.applications.translator import Translation, Translator, shipped

__all__ = [
    "Scored",
    "Summarizer",
    "Summary",
    "Translation",
    "Translator",
    "shipped",
    "summary_loss",
]
