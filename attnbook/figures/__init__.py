"""The measured figures of the pages, a module a chapter; a page's cell is one line that calls one.

A figure is drawn in the book's style and shown at once, so that a page on a dark ground has it too.
"""
