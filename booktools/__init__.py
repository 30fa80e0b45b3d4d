"""The build of the book: execution, normal form, gates, addresses.

Nothing here is imported by ``attnkit``, and nothing here knows what a chapter says.
"""
