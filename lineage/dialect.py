"""StarRocks SQL through SQLGlot: tokens, parsing, limits. All use of SQLGlot's parser is here.

SQLGlot's StarRocks dialect rejects a few hints and clauses, and drops the unit of a two-argument LAST_DAY.
`filter_tokens` rewrites the token stream before the stock parser sees it; no SQLGlot class is subclassed,
because compiled builds of SQLGlot refuse interpreted subclasses (tobymao/sqlglot#7700). The tree is for
reading only: SQL generated from it can mean something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp
from sqlglot._version import __version__
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from lineage.errors import LineageError, at_offset

SQLGLOT_VERSION: str = __version__

VARIABLE = "\0"
"""First character of the stand-in for a token that varies with the partition (skeleton.py). No SQL has it."""

IRREGULAR = "~"
"""In the name of a variable whose values do not rise with time."""

MAX_LENGTH = 256 * 1024  # characters; SQLGlot takes seconds from here on
MAX_DEPTH = 200  # parentheses and the like; its parser recurses

_STARROCKS = Dialect.get_or_raise("starrocks")


def tokenize(text: str) -> list[Token]:
    """Tokens of a text within the limits, without comments and a final semicolon."""
    if len(text) > MAX_LENGTH:
        raise LineageError(
            f"the SQL is {len(text):,} characters long; the limit is {MAX_LENGTH:,}",
            hint="load long lists of values as a table and join it",
        )
    if control := re.search(r"[\x00-\x08\x0b\x0e-\x1f\x7f]", text):
        raise at_offset(f"control character {control[0]!r} in the SQL", text, control.start())
    try:
        tokens = _STARROCKS.tokenize(text)
    except TokenError as error:
        found = re.fullmatch(r"Missing (.+) from \d+:(\d+)", str(error.__context__))
        if found:
            raise at_offset(f"missing closing {found[1]}", text, int(found[2])) from None
        raise at_offset("the SQL ends inside of a comment or a token", text, len(text.rstrip())) from None
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    return tokens


def parse(tokens: list[Token], text: str) -> exp.Expr:
    """The one statement that the tokens of `text` make. Raises LineageError."""
    if not tokens:
        raise LineageError("the SQL is empty", text=text, line=1, column=1)
    deepest = _check_depth(tokens, text)
    try:
        statements = _STARROCKS.parser().parse(filter_tokens(tokens), text)
    except ParseError as error:
        raise _syntax_error(error, text) from None
    except RecursionError:
        raise at_offset("the SQL is nested too deeply", text, deepest.start) from None
    if len(statements) > 1:
        second = next(token for token in tokens if token.token_type is TokenType.SEMICOLON)
        raise at_offset("more than one statement", text, second.start, hint="give each query its own asset")
    statement = statements[0]
    if statement is None:
        raise LineageError("the SQL is empty", text=text, line=1, column=1)
    return statement


def _check_depth(tokens: list[Token], text: str) -> Token:
    """The token at the deepest nesting, which must not be over the limit.

    A compiled parser would overflow the stack instead of raising RecursionError.
    """
    depth = prefixes = deepest = 0
    where = tokens[0]
    for token in tokens:
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        depth += (token.token_type is TokenType.CASE) - (token.token_type is TokenType.END)
        prefixes = prefixes + 1 if token.token_type in _PREFIXES else 0
        if depth + prefixes > deepest:
            deepest, where = depth + prefixes, token
    if deepest > MAX_DEPTH:
        raise at_offset(f"the SQL is nested too deeply: {deepest} levels", text, where.start)
    return where


def _syntax_error(error: ParseError, text: str) -> LineageError:
    details = error.errors[0] if error.errors else {}
    message = str(details.get("description") or error)
    message = re.sub(r"<class '[\w.]*?(\w+)'>", r"\1", message)
    line = details.get("line")
    highlight = details.get("highlight") or ""
    # SQLGlot counts a token's column at its end.
    column = max(1, (details.get("col") or 1) - len(highlight) + 1)
    return LineageError(f"syntax error: {message}", text=text, line=line, column=column)


_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}
_PREFIXES = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE}
_QUOTED = {TokenType.STRING, TokenType.IDENTIFIER}
_NAMES = {TokenType.VAR, TokenType.IDENTIFIER}

_EXPLAIN = {"EXPLAIN", "TRACE", "DESC", "DESCRIBE"}
_EXPLAIN_LEVEL = {
    *("LOGICAL", "ANALYZE", "VERBOSE", "COSTS", "SCHEDULER", "LOGS", "REASON", "TIMES", "VALUES", "ALL"),
    *("OPTIMIZER", "MV", "BASE", "REWRITE"),
}


def filter_tokens(tokens: list[Token]) -> list[Token]:
    """The tokens, rewritten to what SQLGlot parses and what means the same to an analysis of reads."""
    kept: list[Token] = []
    at = _after_explain(tokens)
    while at < len(tokens):
        token = tokens[at]
        rule = None if token.token_type in _QUOTED else _RULES.get(token.text.upper())
        following = rule(tokens, at, kept) if rule else None
        if following is None:
            kept.append(token)
            following = at + 1
        at = following
    return kept


# A rule gets the tokens, its position and what was kept so far. It returns the position to go on from, or
# None where it does not apply.
_Rule = Callable[[list[Token], int, list[Token]], int | None]


def _after_explain(tokens: list[Token]) -> int:
    if tokens[0].text.upper() not in _EXPLAIN:
        return 0
    at = 1
    while at < len(tokens) and tokens[at].text.upper() in _EXPLAIN_LEVEL:
        at += 1
    return at


def _peek(tokens: list[Token], at: int) -> TokenType | None:
    return tokens[at].token_type if at < len(tokens) else None


def _after_group(tokens: list[Token], at: int) -> int:
    """The position after the group in brackets that opens at `at`."""
    depth = 0
    for position in range(at, len(tokens)):
        depth += (tokens[position].token_type in _OPENING) - (tokens[position].token_type in _CLOSING)
        if depth == 0:
            return position + 1
    return len(tokens)


def _renamed(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end)


def _bracket_hint(tokens: list[Token], at: int, kept: list[Token]) -> int | None:
    """JOIN [shuffle] t, OVER ([hash] PARTITION BY …), t [_META_]."""
    after_join = bool(kept) and kept[-1].token_type is TokenType.JOIN
    in_window = len(kept) > 1 and kept[-1].token_type is TokenType.L_PAREN and kept[-2].text.upper() == "OVER"
    meta = at + 1 < len(tokens) and tokens[at + 1].text.upper() in ("_META_", "_SYNC_MV_", "_BINLOG_")
    return _after_group(tokens, at) if after_join or in_window or meta else None


def _last_day(tokens: list[Token], at: int, kept: list[Token]) -> int | None:
    """LAST_DAY(d, unit) under a name of its own: SQLGlot would drop the unit."""
    if _peek(tokens, at + 1) is not TokenType.L_PAREN:
        return None
    depth = 0
    for token in tokens[at + 1 : _after_group(tokens, at + 1)]:
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if depth == 1 and token.token_type is TokenType.COMMA:
            kept.append(_renamed(tokens[at], TokenType.VAR, "last_day_of"))
            return at + 1
    return None


def _match(tokens: list[Token], at: int, kept: list[Token]) -> int | None:
    """column MATCH 'words' as LIKE: both only filter."""
    if _peek(tokens, at + 1) is not TokenType.STRING or not kept or kept[-1].token_type not in _NAMES:
        return None
    kept.append(_renamed(tokens[at], TokenType.LIKE, "LIKE"))
    return at + 1


def _minus(tokens: list[Token], at: int, kept: list[Token]) -> int | None:
    if _peek(tokens, at + 1) not in (TokenType.SELECT, TokenType.L_PAREN, TokenType.WITH):
        return None
    kept.append(_renamed(tokens[at], TokenType.EXCEPT, "EXCEPT"))
    return at + 1


def _temporary(tokens: list[Token], at: int, _kept: list[Token]) -> int | None:
    follows = tokens[at + 1].text.upper() if at + 1 < len(tokens) else ""
    return at + 1 if follows in ("PARTITION", "PARTITIONS") else None


def _partition_name(tokens: list[Token], at: int, kept: list[Token]) -> int | None:
    """FROM t PARTITION p without parentheses."""
    named = bool(kept) and kept[-1].token_type in _NAMES and _peek(tokens, at + 1) in _NAMES
    if not named or tokens[at + 1].text.upper() == "BY":
        return None
    token = tokens[at]
    kept += [
        _renamed(token, TokenType.PARTITION, "PARTITION"),
        _renamed(token, TokenType.L_PAREN, "("),
        tokens[at + 1],
        _renamed(token, TokenType.R_PAREN, ")"),
    ]
    return at + 2


def _sample(tokens: list[Token], at: int, kept: list[Token]) -> int | None:
    """t TABLET(1), t SAMPLE(…): some of the rows, so all of them to us."""
    after_source = bool(kept) and (kept[-1].token_type in _NAMES or kept[-1].token_type is TokenType.R_PAREN)
    return (
        _after_group(tokens, at + 1) if after_source and _peek(tokens, at + 1) is TokenType.L_PAREN else None
    )


def _in_insert_target(kept: list[Token]) -> bool:
    bodies = (TokenType.SELECT, TokenType.VALUES)
    return (
        bool(kept)
        and kept[0].token_type is TokenType.INSERT
        and all(t.token_type not in bodies for t in kept)
    )


def _label(tokens: list[Token], at: int, kept: list[Token]) -> int | None:
    """INSERT INTO t WITH LABEL l."""
    labelled = at + 2 < len(tokens) and tokens[at + 1].text.upper() == "LABEL"
    return at + 3 if labelled and _in_insert_target(kept) else None


def _properties(tokens: list[Token], at: int, kept: list[Token]) -> int | None:
    """INSERT INTO t PROPERTIES (…)."""
    opened = _peek(tokens, at + 1) is TokenType.L_PAREN
    return _after_group(tokens, at + 1) if opened and _in_insert_target(kept) else None


def _files(tokens: list[Token], at: int, kept: list[Token]) -> int | None:
    """INSERT INTO FILES(…), BLACKHOLE(): a target that is no table."""
    opened = _peek(tokens, at + 1) is TokenType.L_PAREN
    if not opened or not _in_insert_target(kept):
        return None
    kept.append(tokens[at])
    return _after_group(tokens, at + 1)


_RULES: dict[str, _Rule] = {
    "[": _bracket_hint,
    "LAST_DAY": _last_day,
    "MATCH": _match,
    "MATCH_ANY": _match,
    "MATCH_ALL": _match,
    "MINUS": _minus,
    "TEMPORARY": _temporary,
    "PARTITION": _partition_name,
    "PARTITIONS": _partition_name,
    "TABLET": _sample,
    "TABLETS": _sample,
    "SAMPLE": _sample,
    "WITH": _label,
    "PROPERTIES": _properties,
    "FILES": _files,
    "BLACKHOLE": _files,
}


_PARTIAL = {"TABLET", "TABLETS", "SAMPLE", "MATCH", "MATCH_ANY", "MATCH_ALL"}


def partial_clauses(tokens: list[Token]) -> list[str]:
    """Clauses that `filter_tokens` drops or blurs although they change a result. A name may be taken for one."""
    return [
        " ".join(token.text.lower() for token in tokens[at : _after_group(tokens, at + 1)])
        for at, token in enumerate(tokens)
        if token.token_type not in _QUOTED and token.text.upper() in _PARTIAL
    ]


_VOLATILE_NODES: dict[type[exp.Expr], str] = {
    exp.CurrentTimestamp: "current_timestamp()",
    exp.CurrentDate: "current_date()",
    exp.CurrentTime: "current_time()",
    exp.Localtime: "localtime()",
    exp.Localtimestamp: "localtimestamp()",
    exp.UtcTimestamp: "utc_timestamp()",
    exp.UtcDate: "utc_date()",
    exp.UtcTime: "utc_time()",
    exp.Rand: "rand()",
    exp.Uuid: "uuid()",
    exp.CurrentUser: "current_user()",
}
_VOLATILE_NAMES = {
    *("now", "sysdate", "curtime"),
    *("uuid_numeric", "connection_id", "last_query_id", "session_user", "current_role", "user"),
}


def volatile_name(node: exp.Expr) -> str | None:
    """`now()` and the like: the name of a function whose result no rerun reproduces, else None."""
    if isinstance(node, exp.Anonymous):
        name = node.name.lower()
        # unix_timestamp(x) converts; without an argument it is the clock.
        clock = name == "unix_timestamp" and not node.expressions
        return f"{name}()" if clock or name in _VOLATILE_NAMES else None
    return _VOLATILE_NODES.get(type(node))


def function_name(node: exp.Expr) -> str:
    """Name of a function or operator for a person."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    if isinstance(node, exp.Func):
        return node.sql_name().lower()
    return type(node).__name__.lower()


def table_key(table: exp.Table) -> str | None:
    """`db.table`, or `catalog.db.table` outside of default_catalog; None for what is no stored table."""
    if not isinstance(table.this, exp.Identifier):
        return None
    parts = [part.name for part in table.parts]
    if len(parts) == 3 and parts[0] == "default_catalog":
        del parts[0]
    return ".".join(parts)
