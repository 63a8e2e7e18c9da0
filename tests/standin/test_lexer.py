"""Tokens: properties over any text."""

from __future__ import annotations

import pymysql.converters
from hypothesis import given
from hypothesis import strategies as st

from sr_assets.standin.lexer import Cursor, split_statements, tokenize

TEXT = st.text(alphabet=st.characters(codec="utf-8"), max_size=60)


@given(TEXT)
def test_a_clients_literal_is_read_back(text: str) -> None:
    literal = "'" + pymysql.converters.escape_string(text) + "'"
    (token,) = tokenize(literal)
    assert (token.kind, token.value) == ("string", text)


@given(TEXT, st.sampled_from("'\""))
def test_doubled_quotes(text: str, quote: str) -> None:
    literal = quote + text.replace("\\", "\\\\").replace(quote, quote * 2) + quote
    (token,) = tokenize(literal)
    assert token.value == text


@given(TEXT)
def test_quoted_names(text: str) -> None:
    assert Cursor("`" + text.replace("`", "``") + "`").name() == text


@given(TEXT)
def test_tokens_cover_the_text_in_order(text: str) -> None:
    position = 0
    for token in tokenize(text):
        assert token.start >= position
        assert text[token.start : token.end] == token.text
        position = token.end


@given(st.lists(TEXT, max_size=4))
def test_statements_are_split_outside_of_strings(texts: list[str]) -> None:
    statements = ["SELECT '" + pymysql.converters.escape_string(text) + "'" for text in texts]
    assert [cursor.text for cursor in split_statements(";\n".join(statements))] == statements
