"""Selecting assets: `sales.orders`, `sales.*`, `sales.orders+`, `2+sales.revenue`, `group:finance and not tag:slow`.

The grammar is Dagster's: `not` binds tighter than `and`, and that tighter than `or`; `+` before a term adds
what it reads, `+` after it what reads it, a number limits the steps. `*` alone is everything.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from sr_assets.assets import Asset
from sr_assets.compile import near
from sr_assets.errors import SelectionError
from sr_assets.graph import AssetGraph

_TOKEN = re.compile(r'\s*(?:(?P<punct>[()+])|"(?P<quoted>[^"]*)"|(?P<word>[^\s()+"]+"[^"]*"|[^\s()+"]+))')


def select(graph: AssetGraph, text: str) -> set[str]:
    """Names of the selected assets. Raises SelectionError, with a caret, where the text is wrong or matches nothing."""
    names = _Parser(graph, text).parse()
    if not names and text.strip() != "*":
        raise SelectionError(f"the selection {text!r} matches no asset")
    return names


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int


def _tokens(text: str) -> list[_Token]:
    found, at = [], 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            raise _wrong(text, len(text) - len(text[at:].lstrip()), "a quote is not closed")
        kind = str(match.lastgroup)
        found.append(_Token(kind, match[kind], match.start(kind)))
        at = match.end()
    return found


def _wrong(text: str, at: int, what: str) -> SelectionError:
    return SelectionError(f"selection: {what}\n  {text}\n  {' ' * at}^")


class _Parser:
    """Recursive descent over `or`, `and`, `not`, `+`."""

    def __init__(self, graph: AssetGraph, text: str) -> None:
        self._graph, self._text = graph, text
        self._tokens, self._next = _tokens(text), 0

    def parse(self) -> set[str]:
        names = self._or()
        if (token := self._peek()) is not None:
            raise self._error(f"{token.text!r} does not belong here")
        return names

    def _peek(self) -> _Token | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _take(self, *words: str) -> bool:
        token = self._peek()
        if token is not None and token.kind != "quoted" and token.text.lower() in words:
            self._next += 1
            return True
        return False

    def _error(self, what: str) -> SelectionError:
        token = self._peek()
        return _wrong(self._text, len(self._text) if token is None else token.at, what)

    def _or(self) -> set[str]:
        names = self._and()
        while self._take("or"):
            names = names | self._and()
        return names

    def _and(self) -> set[str]:
        names = self._not()
        while self._take("and"):
            names = names & self._not()
        return names

    def _not(self) -> set[str]:
        if self._take("not"):
            return set(self._graph.nodes) - self._not()
        return self._traversal()

    def _traversal(self) -> set[str]:
        up: int | None = 0
        token = self._peek()
        following = self._tokens[self._next + 1 : self._next + 2]
        if token is not None and token.text.isdigit() and following and following[0].text == "+":
            up = int(token.text)
            self._next += 2
        elif self._take("+"):
            up = None
        names = self._atom()
        down: int | None = 0
        if self._take("+"):
            down = None
            token = self._peek()
            if token is not None and token.text.isdigit():
                down = int(token.text)
                self._next += 1
        return self._graph.reach(names, up=up, down=down)

    def _atom(self) -> set[str]:
        if self._take("("):
            names = self._or()
            if not self._take(")"):
                raise self._error("a closing parenthesis is missing")
            return names
        token = self._peek()
        if token is None or token.kind == "punct" or token.text.lower() in ("and", "or", "not"):
            raise self._error("the name of an asset is missing")
        self._next += 1
        if token.kind == "word" and token.text in ("roots", "sinks") and self._take("("):
            self._next -= 1
            return self._ends(token.text)
        return self._attribute(token)

    def _ends(self, word: str) -> set[str]:
        names = self._atom()
        neighbours = self._graph.upstream if word == "roots" else self._graph.downstream
        return {name for name in names if not names & set(neighbours(name))}

    def _attribute(self, token: _Token) -> set[str]:
        attribute, colon, value = token.text.partition(":")
        if not colon or token.kind == "quoted":
            attribute, value = "key", token.text
        value = value.strip('"')
        test = _ATTRIBUTES.get(attribute)
        if test is None:
            raise _wrong(self._text, token.at, f"{attribute!r} is none of {', '.join(_ATTRIBUTES)}")
        names = {name for name, node in self._graph.nodes.items() if test(node.asset, value)}
        if not names and attribute == "key" and "*" not in value:
            raise _wrong(self._text, token.at, f"no asset is named {value!r}{near(value, self._graph.nodes)}")
        return names


_ATTRIBUTES: dict[str, Callable[[Asset, str], bool]] = {
    "key": lambda asset, value: fnmatchcase(asset.name, value),
    "group": lambda asset, value: fnmatchcase(asset.group, value),
    "owner": lambda asset, value: fnmatchcase(asset.owner, value),
    "tag": lambda asset, value: any(fnmatchcase(tag, value) for tag in asset.tags),
    "kind": lambda asset, value: fnmatchcase(type(asset.recipe).__name__.lower(), value),
}
