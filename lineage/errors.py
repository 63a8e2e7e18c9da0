"""The one error of this package, and how it points into the SQL."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class LineageError(Exception):
    """Something is wrong with a query text, and where.

    `line` and `column` count from 1 and are None where no place is known. `str(error)` is the
    message, the offending line with a caret under the column, and the hint.
    """

    def __init__(
        self,
        message: str,
        *,
        text: str | None = None,
        line: int | None = None,
        column: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.hint = hint
        self._excerpt = _excerpt(text, line, column)

    def __str__(self) -> str:
        place = "" if self.line is None else f" (line {self.line}, column {self.column or 1})"
        parts = [self.message + place, self._excerpt, None if self.hint is None else f"hint: {self.hint}"]
        return "\n".join(part for part in parts if part)


def at_offset(message: str, text: str, offset: int, *, hint: str | None = None) -> LineageError:
    """An error at a character offset of `text`."""
    offset = max(0, min(offset, len(text)))
    line = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    return LineageError(message, text=text, line=line, column=column, hint=hint)


def near(name: str, known: Iterable[str]) -> str | None:
    """A hint that names the closest of the known names, if one is close."""
    matches = get_close_matches(name.lower(), sorted(known), n=1, cutoff=0.6)
    return f"did you mean {matches[0]}?" if matches else None


_WIDTH = 120


def _excerpt(text: str | None, line: int | None, column: int | None) -> str | None:
    """The line, cut to a readable width around the column, and a caret."""
    if text is None or line is None:
        return None
    lines = text.split("\n")
    if line > len(lines):
        return None
    source = "".join(c if c.isprintable() else " " for c in lines[line - 1])
    at = max(0, (column or 1) - 1)
    first = max(0, at - _WIDTH // 2)
    return f"  {source[first : first + _WIDTH]}\n  {' ' * (at - first)}^"
