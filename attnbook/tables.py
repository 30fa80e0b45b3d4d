"""Tables of what a cell found: HTML on a page, aligned text where there is none."""

from collections.abc import Sequence
from html import escape


class Wrong(str):
    """A word that should be another: marked in a table."""

    __slots__ = ()


class Table:
    """Rows under their headings, shown by the notebook that has it as the value of a cell.

    Args:
        header: the heading of each column.
        rows: for each row a string for each column, or a sequence of strings, the words of a
            sentence; those that are `Wrong` stand out.
        caption: a line or more below, such as where the numbers come from.

    Example:
        >>> Table(["right", "written"], [["le chat noir", ["le", "chat", Wrong("bleu")]]])
        right         written
        le chat noir  le chat *bleu*
    """

    def __init__(
        self,
        header: Sequence[str],
        rows: Sequence[Sequence[str | Sequence[str]]],
        *,
        caption: str = "",
    ):
        self.header, self.caption = list(header), caption
        self.rows = [[[cell] if isinstance(cell, str) else cell for cell in row] for row in rows]

    def __repr__(self) -> str:
        lines = [self.header]
        for row in self.rows:
            lines.append([" ".join(f"*{w}*" if _wrong(w) else w for w in cell) for cell in row])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = [
            "  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        return "\n".join([*text, self.caption] if self.caption else text)

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{escape(name)}</th>\n' for name in self.header)
        rows = []
        for row in self.rows:
            cells = (" ".join(map(_marked, cell)) for cell in row)
            rows.append("<tr>" + "".join(f"<td>{cell}</td>\n" for cell in cells) + "</tr>\n")
        lines = map(escape, self.caption.splitlines())
        below = "<p>" + "<br>\n".join(lines) + "</p>" if self.caption else ""
        return (
            f'<div class="attn-table"><table class="table">\n<thead><tr>{head}</tr></thead>\n'
            f"<tbody>\n{''.join(rows)}</tbody>\n</table>\n{below}</div>"
        )


def _wrong(word: str) -> bool:
    return isinstance(word, Wrong)


def _marked(word: str) -> str:
    return f'<b class="attn-wrong">{escape(word)}</b>' if _wrong(word) else escape(word)


__all__ = ["Table", "Wrong"]
