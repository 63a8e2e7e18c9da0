"""Tokens of StarRocks SQL, and a cursor over them that the statement parsers share.

Only the skeleton of a statement is parsed here; query bodies are cut out as text and go to SQLGlot.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from sr_assets.standin.errors import ServerError

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|\#[^\n]*|/\*(?!\+).*?\*/)
      |(?P<hint>/\*\+.*?\*/)
      |(?P<string>'[^'\\]*(?:(?:\\.|'')[^'\\]*)*'|"[^"\\]*(?:(?:\\.|"")[^"\\]*)*")
      |(?P<quoted>`(?:[^`]|``)*`)
      |(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w$]))
      |(?P<word>[\w$]+)
      |(?P<symbol><=>|<=|>=|!=|<>|\|\||@@|.)""",
    re.S | re.X,
)
# Reserved words that would otherwise be taken for a name where a clause is malformed.
_RESERVED = frozenset(
    [
        "ALTER",
        "AND",
        "AS",
        "BY",
        "CREATE",
        "DELETE",
        "DROP",
        "FROM",
        "GROUP",
        "HAVING",
        "INSERT",
        "INTO",
        "JOIN",
        "NOT",
        "NULL",
        "ON",
        "OR",
        "ORDER",
        "OVERWRITE",
        "PARTITION",
        "SELECT",
        "SET",
        "TABLE",
        "UPDATE",
        "VALUES",
        "WHERE",
        "WITH",
    ]
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def _unescape(match: re.Match[str]) -> str:
    escaped: str | None = match[1]
    return match[0][0] if escaped is None else _ESCAPES.get(escaped, escaped)


class Token(NamedTuple):
    """One token: its kind (a group name of the pattern above), its text and where it stands."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def upper(self) -> str:
        """The keyword this token may be: quoted names and strings are none."""
        return self.text.upper() if self.kind in ("word", "symbol") else ""

    @property
    def value(self) -> str:
        """A string without its quotes and escapes, a name without its backticks."""
        if self.kind == "string":
            quote = self.text[0]
            inner = self.text[1:-1]
            if "\\" not in inner:
                return inner.replace(quote * 2, quote)
            return re.sub(rf"\\(.)|{quote}{quote}", _unescape, inner, flags=re.S)
        if self.kind == "quoted":
            return self.text[1:-1].replace("``", "`")
        return self.text


def tokenize(sql: str) -> list[Token]:
    """All tokens but white space and comments; hints (`/*+ ... */`) are kept."""
    return [
        Token(match.lastgroup or "", match.group(), match.start(), match.end())
        for match in _TOKEN.finditer(sql)
        if match.lastgroup != "space"
    ]


def commas(tokens: Iterable[Token]) -> list[list[Token]]:
    """Split at the commas that stand outside of any brackets."""
    items: list[list[Token]] = []
    item: list[Token] = []
    depth = 0
    for token in tokens:
        if token.kind == "symbol":
            depth += (token.text in "([{") - (token.text in ")]}")
            if token.text == "," and depth == 0:
                items.append(item)
                item = []
                continue
        item.append(token)
    if item:
        items.append(item)
    return items


class Cursor:
    """A position in the tokens of one statement. Hints are collected apart: they may stand anywhere."""

    def __init__(self, sql: str, tokens: Sequence[Token] | None = None) -> None:
        every = tokenize(sql) if tokens is None else tokens
        self.sql = sql
        self.hints = [token for token in every if token.kind == "hint"]
        self.tokens = [token for token in every if token.kind != "hint"]
        self.position = 0

    def peek(self, ahead: int = 0) -> Token | None:
        index = self.position + ahead
        return self.tokens[index] if index < len(self.tokens) else None

    def at(self, *keywords: str) -> bool:
        """Whether the next tokens are these keywords or symbols."""
        return all(
            (token := self.peek(index)) is not None and token.upper == keyword
            for index, keyword in enumerate(keywords)
        )

    def accept(self, *keywords: str) -> bool:
        """Step over these keywords if they come next."""
        if self.at(*keywords):
            self.position += len(keywords)
            return True
        return False

    def accept_any(self, *keywords: str) -> str | None:
        """Step over the first of these keywords that comes next, and say which."""
        return next((keyword for keyword in keywords if self.accept(keyword)), None)

    def expect(self, *keywords: str) -> None:
        for keyword in keywords:
            if not self.accept(keyword):
                raise self.unexpected()

    def next(self) -> Token:
        token = self.peek()
        if token is None:
            raise self.unexpected()
        self.position += 1
        return token

    def name(self) -> str:
        """An identifier; StarRocks takes a string literal in its place in many clauses."""
        token = self.peek()
        if token is None or token.kind not in ("word", "quoted", "string") or token.upper in _RESERVED:
            raise self.unexpected()
        self.position += 1
        return token.value

    def dotted_name(self) -> list[str]:
        parts = [self.name()]
        while self.accept("."):
            parts.append(self.name())
        return parts

    def string(self) -> str:
        token = self.peek()
        if token is None or token.kind != "string":
            raise self.unexpected()
        self.position += 1
        return token.value

    def integer(self) -> int:
        token = self.next()
        if not token.value.isdigit():
            self.position -= 1
            raise self.unexpected()
        return int(token.value)

    def brackets(self) -> list[Token]:
        """The tokens inside of the `( ... )` that starts here."""
        self.expect("(")
        start, depth = self.position, 1
        while depth:
            token = self.next()
            if token.kind == "symbol":
                depth += (token.text in "([{") - (token.text in ")]}")
        return self.tokens[start : self.position - 1]

    def items(self) -> list[Cursor]:
        """The items of a `(a, b, ...)` list, a cursor each."""
        return [Cursor(self.sql, item) for item in commas(self.brackets())]

    def names(self) -> list[str]:
        """A list of names: `(a, b)`, or one name without brackets."""
        if not self.at("("):
            return [self.name()]
        names = []
        for item in self.items():
            names.append(item.name())
            item.end()
        return names

    def properties(self) -> dict[str, str]:
        """`("key" = "value", ...)`"""
        found = {}
        for item in self.items():
            key = item.name()
            item.expect("=")
            found[key] = item.next().value
            item.end()
        return found

    @property
    def text(self) -> str:
        """The whole statement."""
        return text_of(self.sql, sorted([*self.tokens, *self.hints], key=itemgetter(2)))

    def rest(self) -> str:
        """The text from here on, hints included."""
        token = self.peek()
        return "" if token is None else self.sql[token.start : self.tokens[-1].end]

    def done(self) -> bool:
        return self.position >= len(self.tokens)

    def end(self) -> None:
        if not self.done():
            raise self.unexpected()

    def unexpected(self) -> ServerError:
        """StarRocks' syntax error at this token."""
        token = self.peek()
        offset = token.start if token else (self.tokens[-1].end if self.tokens else len(self.sql))
        line = self.sql.count("\n", 0, offset) + 1
        column = offset - (self.sql.rfind("\n", 0, offset) + 1)
        text = token.text if token else "<EOF>"
        return ServerError(
            f"Getting syntax error at line {line}, column {column}. "
            f"Detail message: Unexpected input '{text}', the most similar input is {{<EOF>, ';'}}."
        )


def text_of(sql: str, tokens: Sequence[Token]) -> str:
    """The text that these neighbouring tokens came from."""
    return sql[tokens[0].start : tokens[-1].end] if tokens else ""


def split_statements(sql: str) -> Iterator[Cursor]:
    """The statements of a text, cut at semicolons outside of strings and comments."""
    tokens: list[Token] = []
    for token in tokenize(sql):
        if token.text != ";" or token.kind != "symbol":
            tokens.append(token)
        elif tokens:
            yield Cursor(sql, tokens)
            tokens = []
    if tokens:
        yield Cursor(sql, tokens)
