"""Rendered texts of one template with the tokens that vary from partition to partition taken out.

A template is rendered for a number of sample windows. Tokens that differ between texts of one shape become
variables, so that one parse serves every window. A window whose text has another shape (an `{% if %}`)
does not bind, and is parsed on its own.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import re
from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from lineage.axis import Value
from lineage.dialect import IRREGULAR, VARIABLE, tokenize

_LITERALS = {TokenType.STRING: "s", TokenType.NUMBER: "n"}
_PATTERNS = {TokenType.STRING: r"([^'\"\\\0]*)", TokenType.NUMBER: r"(\d+)"}


class Skeleton:
    """Texts of one shape. `bind` gives the values of the variables in another text, or None."""

    def __init__(self, text: str, tokens: list[Token], key: str) -> None:
        self.text = text
        self.tokens = tokens
        self._keys = [key]
        self._rows = [[token.text for token in tokens]]
        self._varying: list[int] = []
        self._pattern: re.Pattern[str] | None = None

    def absorb(self, tokens: list[Token], key: str) -> bool:
        """Take another text of the same shape in: what differs becomes a variable."""
        if len(tokens) != len(self.tokens):
            return False
        pairs = list(zip(self.tokens, tokens, strict=True))
        if any(_shape(a) != _shape(b) for a, b in pairs):
            return False
        differing = {at for at, (a, b) in enumerate(pairs) if a.text != b.text}
        if not differing <= set(self._varying):
            self._varying = sorted(differing.union(self._varying))
            self._pattern = None
        self._add([token.text for token in tokens], key)
        return True

    def absorb_bound(self, text: str, key: str) -> bool:
        """The same without tokenizing, where the text differs only in the variables known by now."""
        match = self._match(text)
        if match is None:
            return False
        row = list(self._rows[0])
        for at, value in zip(self._varying, match.groups(), strict=True):
            row[at] = value
        self._add(row, key)
        return True

    def _add(self, row: list[str], key: str) -> None:
        self._rows.append(row)
        self._keys.append(key)

    def bind(self, text: str) -> dict[str, Value] | None:
        """Values of the variables in `text`, by name; None if the text is another query."""
        match = self._match(text)
        if match is not None:
            values: Sequence[str] = match.groups()
        else:
            tokens = tokenize(text)
            if len(tokens) != len(self.tokens):
                return None
            varying = set(self._varying)
            for at, (mine, other) in enumerate(zip(self.tokens, tokens, strict=True)):
                if _shape(mine) != _shape(other) or (mine.text != other.text and at not in varying):
                    return None
            values = [tokens[at].text for at in self._varying]
        return {
            self._names[at]: self._value(at, text) for at, text in zip(self._varying, values, strict=True)
        }

    def _match(self, text: str) -> re.Match[str] | None:
        """By one regular expression, which is much cheaper than tokens.

        A literal that matches has no quote or backslash, so all of the text has the same tokens. A name might
        be a keyword elsewhere: texts with variable names are not matched.
        """
        if self._pattern is None:
            if not all(self.tokens[at].token_type in _PATTERNS for at in self._varying):
                return None
            parts = []
            end = 0
            for at in self._varying:
                token = self.tokens[at]
                quote = 1 if token.token_type is TokenType.STRING else 0
                parts.append(re.escape(self.text[end : token.start + quote]))
                parts.append(_PATTERNS[token.token_type])
                end = token.end + 1 - quote
            self._pattern = re.compile("".join(parts) + re.escape(self.text[end:]))
        return self._pattern.fullmatch(text)

    @functools.cached_property
    def _names(self) -> dict[int, str]:
        """Names of the variables by position. A variable is known by the values that it takes.

        So two ways to write one value are one variable, and the fingerprint does not see a difference; nor
        does it see what other list partitions there are.
        """
        names = {}
        for at in self._varying:
            kind = _LITERALS.get(self.tokens[at].token_type, "i")
            values = [row[at] for row in self._rows]
            of_key = {text.replace(key, "\0") for text, key in zip(values, self._keys, strict=True)}
            identity = "\0".join(values) if len(of_key) > 1 else of_key.pop()
            mark = "" if _rises([int(text) for text in values] if kind == "n" else values) else IRREGULAR
            names[at] = VARIABLE + kind + mark + hashlib.sha256(identity.encode()).hexdigest()[:16]
        return names

    def _value(self, at: int, text: str) -> Value:
        if self.tokens[at].token_type is not TokenType.NUMBER:
            return text
        return int(text) if text.isdecimal() else float(text)

    def variable_tokens(self) -> list[Token]:
        """The tokens with variables in place: strings, also for numbers; names stay names."""
        replaced = list(self.tokens)
        for at in self._varying:
            token = self.tokens[at]
            kind = TokenType.STRING if token.token_type is TokenType.NUMBER else token.token_type
            replaced[at] = Token(kind, self._names[at], token.line, token.col, token.start, token.end)
        return replaced


def _shape(token: Token) -> tuple[TokenType, str | None]:
    """What two texts of one shape have in common at a token: all of it, but for literals and digits in names."""
    if token.token_type in _LITERALS:
        return token.token_type, None
    if token.token_type in (TokenType.VAR, TokenType.IDENTIFIER):
        return token.token_type, re.sub(r"\d+", "0", token.text)
    return token.token_type, token.text


def _rises(values: Sequence[str] | Sequence[int]) -> bool:
    return all(a <= b for a, b in itertools.pairwise(values))  # type: ignore[operator]


def skeletons(texts: Sequence[str], keys: Sequence[str]) -> list[Skeleton]:
    """The shapes of these texts, each with the texts that have it. In order of time, if partitions have one."""
    found: list[Skeleton] = []
    for text, key in zip(texts, keys, strict=True):
        if any(skeleton.absorb_bound(text, key) for skeleton in found):
            continue
        tokens = tokenize(text)
        if not any(skeleton.absorb(tokens, key) for skeleton in found):
            found.append(Skeleton(text, tokens, key))
    return found
