"""What SQLGlot's parser does not take, rewritten before it sees a query.

Hints are removed, `$1` is quoted, `current_version()` becomes its value, and a table's PARTITION clause
is cut out and numbered: the number is joined to the table's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sr_assets.standin.lexer import Cursor, Token, tokenize
from sr_assets.standin.storage import literal

_MARK = "\u27e6"
_END = "\u27e7"


@dataclass(frozen=True, slots=True)
class PartitionClause:
    names: tuple[str, ...]
    temporary: bool


def mark(name: str, number: int) -> str:
    """A table's name that carries the number of its PARTITION clause."""
    return f"{name}{_MARK}{number}{_END}"


def unmark(name: str) -> tuple[str, int | None]:
    """The name and the number of its PARTITION clause, if it has one."""
    plain, marked, number = name.partition(_MARK)
    return plain, int(number.removesuffix(_END)) if marked else None


def prepare(sql: str, version: str) -> tuple[str, list[PartitionClause]]:
    """The rewritten text, and the PARTITION clauses by their numbers."""
    tokens = tokenize(sql)
    clauses: list[PartitionClause] = []
    pieces: list[str] = []
    position = copied = 0
    while position < len(tokens):
        token = tokens[position]
        text, width = None, 1
        if token.kind == "hint":
            text = " "
        elif token.kind in ("word", "quoted") and _starts_partition_clause(tokens, position + 1):
            clause, length = _partition_clause(sql, tokens[position + 1 :])
            text, width = quote_mysql(mark(token.value, len(clauses))), 1 + length
            clauses.append(clause)
        elif token.kind == "word" and token.text.startswith("$"):
            text = quote_mysql(token.text)
        elif token.upper == "CURRENT_VERSION" and _follow(tokens, position + 1, "(", ")"):
            text, width = literal(f"{version} standin"), 3
        if text is not None:
            pieces += [sql[copied : token.start], text]
            copied = tokens[position + width - 1].end
        position += width
    return "".join([*pieces, sql[copied:]]), clauses


def _follow(tokens: Sequence[Token], position: int, *words: str) -> bool:
    return [token.upper for token in tokens[position : position + len(words)]] == list(words)


def _starts_partition_clause(tokens: Sequence[Token], position: int) -> bool:
    if position >= len(tokens) or tokens[position].upper not in ("TEMPORARY", "PARTITION", "PARTITIONS"):
        return False
    position += tokens[position].upper == "TEMPORARY"
    return _follow(tokens, position, "PARTITION", "(") or _follow(tokens, position, "PARTITIONS", "(")


def _partition_clause(sql: str, tokens: Sequence[Token]) -> tuple[PartitionClause, int]:
    """The clause that starts here, and how many tokens it has."""
    cursor = Cursor(sql, tokens)
    temporary = cursor.accept("TEMPORARY")
    cursor.next()
    names = tuple(cursor.names())
    return PartitionClause(names, temporary), cursor.position


def quote_mysql(name: str) -> str:
    """A StarRocks identifier."""
    return "`" + name.replace("`", "``") + "`"
