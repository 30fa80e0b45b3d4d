"""Widgets for the pages that are no notebooks, as the directive `attention-widget` takes them."""

from attnbook.drawings.lookup import PHONE_BOOK
from attnbook.machines import QueryPlane


def phone_book() -> QueryPlane:
    """Chapter 02's list of three names and numbers, to ask with a query that the reader drags.

    Example:
        >>> phone_book().weights().round(2)
        array([0.64, 0.32, 0.04])
    """
    return QueryPlane(
        PHONE_BOOK.keys,
        PHONE_BOOK.values,
        query=PHONE_BOOK.query,
        names=PHONE_BOOK.names,
        title="Ask for a number: drag the query",
    )
