"""A hash of what a query means, as far as it can be told from the shape of its tree.

Not counted: comments, hints, spacing, the case of keywords and columns, quoting, redundant parentheses, names
of table aliases and CTEs, the order of CTEs, columns written with or without their table. Everything else is,
names of output columns included; so the hash changes more often than the result, never less.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from lineage.dialect import table_key

FINGERPRINT_SCHEME: str = "q1"
"""Begins every fingerprint; changes when the way to make them does."""

_IGNORED = frozenset(("with_", "hint", "quoted"))


def fingerprint(queries: Iterable[Sequence[Scope]], logic: str) -> str:
    """Of the normalized queries that a template makes, as scopes, and of what in it is not plain text."""
    parts = [*(_query_digest(scopes) for scopes in queries), logic]
    return f"{FINGERPRINT_SCHEME}:{_digest(parts)[:32]}"


def _digest(parts: Iterable[str]) -> str:
    hashed = hashlib.sha256()
    for part in parts:
        # Lengths keep ['a', 'b'] and ['ab'] apart.
        hashed.update(f"{len(part)}:{part}".encode())
    return hashed.hexdigest()


def _query_digest(scopes: Sequence[Scope]) -> str:
    """Digests of the scopes, children first; a parent has the digest of a child for its text."""
    by_expression: dict[int, str] = {}
    by_scope: dict[int, str] = {}
    for scope in scopes:
        digest = _ScopeDigest(scope, by_expression, by_scope).make()
        by_expression[id(scope.expression)] = by_scope[id(scope)] = digest
    return by_scope[id(scopes[-1])]


class _ScopeDigest:
    def __init__(self, scope: Scope, by_expression: dict[int, str], by_scope: dict[int, str]) -> None:
        self._scope = scope
        self._by_expression = by_expression
        self._by_scope = by_scope

    def make(self) -> str:
        root = self._scope.expression
        out: list[str] = []
        pending: list[str | exp.Expr] = [*reversed(self._plain(root))]
        while pending:
            part = pending.pop()
            if isinstance(part, str):
                out.append(part)
            else:
                pending += reversed(self._parts(part))
        return _digest(out)

    def _parts(self, node: exp.Expr) -> list[str | exp.Expr]:
        """What a node says: texts, and nodes that are still to be taken apart."""
        if isinstance(node, exp.Paren):
            return [node.this]
        if isinstance(node, exp.Query) and (digest := self._nested(node)) is not None:
            inside = ("this",) if isinstance(node, exp.Subquery) else tuple(node.args)
            return [f"query {digest}", *self._arguments(node, without=inside)]
        if isinstance(node, exp.TableAlias):
            return [" ".join(column.name for column in node.columns)]
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            return [f"column {self._position(node.table)} {node.name}"]
        if isinstance(node, exp.Alias):
            return [f"as {node.alias}", node.this]
        return self._table(node) if isinstance(node, exp.Table) else self._plain(node)

    def _plain(self, node: exp.Expr) -> list[str | exp.Expr]:
        named = isinstance(node, exp.Anonymous)
        arguments = self._arguments(node, without=("this",) if named else ())
        return [f"({type(node).__name__} {node.name.lower() if named else ''}", *arguments, ")"]

    def _arguments(self, node: exp.Expr, *, without: tuple[str, ...]) -> list[str | exp.Expr]:
        parts: list[str | exp.Expr] = []
        for key in sorted(node.args.keys() - _IGNORED - set(without)):
            value = node.args[key]
            # INNER JOIN says no more than JOIN.
            plain_join = isinstance(node, exp.Join) and key == "kind" and value == "INNER"
            if plain_join or value is None or value is False or value == []:
                continue
            parts.append(key)
            for child in value if isinstance(value, list) else [value]:
                parts.append(child if isinstance(child, exp.Expr) else f"{type(child).__name__} {child}")
        return parts

    def _table(self, table: exp.Table) -> list[str | exp.Expr]:
        source = self._scope.sources.get(table.alias_or_name)
        key = table_key(table)
        # A source not known yet is a recursive reference to itself.
        cte = isinstance(source, Scope)
        said = f"query {self._by_scope.get(id(source), 'recursive')}" if cte else f"table {key or ''}"
        return [said, *self._arguments(table, without=("db", "catalog", *(("this",) if key else ())))]

    def _nested(self, query: exp.Query) -> str | None:
        return self._by_expression.get(id(query.unnest())) or self._by_expression.get(id(query))

    def _position(self, alias: str) -> str:
        """A source by its place in FROM, of this or of an enclosing query, instead of by its alias."""
        scope: Scope | None = self._scope
        level = 0
        while scope is not None:
            aliases = [name for name, _ in scope.references]
            if alias in aliases:
                return f"{level}.{aliases.index(alias)}"
            scope, level = scope.parent, level + 1
        return alias
