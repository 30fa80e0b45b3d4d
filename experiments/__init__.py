"""The long runs behind the book's multi-seed tables: `python -m experiments.NAME`."""
