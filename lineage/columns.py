"""Columns: what each output column is made from, and what only decides about rows. One pass over the scopes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from lineage.dialect import table_key

StoredColumn = tuple[str, str]
"""(table, column); the column is '*' for a star over a table whose columns are not known."""

_Origins = frozenset[StoredColumn]
_NONE: _Origins = frozenset()


@dataclass(frozen=True, slots=True)
class ColumnFlow:
    """Outputs in order with the stored columns that each is made from; and those that only filter, join,
    group or order."""

    outputs: tuple[tuple[str, _Origins], ...]
    filters: _Origins


def column_flow(scopes: Sequence[Scope]) -> ColumnFlow:
    """Of the scopes of a normalized query. They come children first, so each is looked at once."""
    pass_ = _Pass()
    for scope in scopes:
        pass_.add(scope)
    outputs = pass_.outputs[id(scopes[-1])]
    direct = frozenset[StoredColumn]().union(*(origins for _, origins in outputs))
    return ColumnFlow(tuple(outputs), frozenset(pass_.filters) - direct)


_Outputs = list[tuple[str, _Origins]]

_CLAUSES = ("where", "group", "having", "qualify", "order")


class _Pass:
    def __init__(self) -> None:
        self.outputs: dict[int, _Outputs] = {}
        self.filters: set[StoredColumn] = set()
        self._by_expression: dict[int, Scope] = {}

    def add(self, scope: Scope) -> None:
        self._by_expression[id(scope.expression)] = scope
        expression = scope.expression
        if isinstance(expression, exp.Select):
            found = [
                output for projection in expression.selects for output in self._projected(projection, scope)
            ]
            self.filters.update(self._deciding(expression, scope))
        elif isinstance(expression, exp.SetOperation):
            found = self._merged(expression, scope)
            self.filters.update(self._ordering(expression, found))
        elif isinstance(expression, exp.Subquery):
            inner = self._by_expression.get(id(expression.unnest()))
            found = self.outputs.get(id(inner), [])
        else:
            found = self._generated(expression, scope)
        self.outputs[id(scope)] = found

    def _projected(self, projection: exp.Expr, scope: Scope) -> Iterator[tuple[str, _Origins]]:
        if not projection.is_star:
            yield projection.alias_or_name, self._origins(projection, scope)
            return
        # Left by SQLGlot where a table's columns are not known.
        for alias, _ in scope.references:
            source = scope.sources.get(alias)
            if isinstance(source, Scope):
                yield from self.outputs.get(id(source), [])
            elif isinstance(source, exp.Table) and (key := table_key(source)):
                yield "*", frozenset([(key, "*")])

    def _deciding(self, select: exp.Select, scope: Scope) -> Iterator[StoredColumn]:
        for clause in _CLAUSES:
            node = select.args.get(clause)
            if node is not None:
                yield from self._origins(node, scope)
        for join in select.args.get("joins") or ():
            if (on := join.args.get("on")) is not None:
                yield from self._origins(on, scope)

    def _merged(self, operation: exp.SetOperation, scope: Scope) -> _Outputs:
        branches = [self.outputs.get(id(branch), []) for branch in scope.set_operation_scopes]
        names = operation.named_selects
        if len({len(branch) for branch in branches}) != 1 or len(names) != len(branches[0]):
            everything = _NONE.union(*(origins for branch in branches for _, origins in branch))
            return [(name, everything) for name in names]
        merged = [_NONE.union(*(branch[at][1] for branch in branches)) for at in range(len(names))]
        return list(zip(names, merged, strict=True))

    def _ordering(self, operation: exp.SetOperation, outputs: _Outputs) -> Iterator[StoredColumn]:
        order = operation.args.get("order")
        for column in order.find_all(exp.Column) if order is not None else ():
            yield from dict(outputs).get(column.name, _NONE)

    def _generated(self, expression: exp.Expr, scope: Scope) -> _Outputs:
        """UNNEST, VALUES and table functions: every column is made from every argument."""
        arguments = [
            child for child in expression.iter_expressions() if not isinstance(child, exp.TableAlias)
        ]
        origins = _NONE.union(*(self._origins(argument, scope) for argument in arguments))
        alias = expression.args.get("alias")
        names = [column.name for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
        return [(name, origins) for name in names or ["*"]]

    def _origins(self, node: exp.Expr, scope: Scope) -> _Origins:
        found: set[StoredColumn] = set()
        pending = [node]
        while pending:
            current = pending.pop()
            if isinstance(current, exp.Column) and not isinstance(current.this, exp.Star):
                found |= self._resolved(current, scope)
            elif isinstance(current, exp.Query) and (inner := self._inner(current)) is not None:
                found = found.union(*(origins for _, origins in self.outputs[id(inner)]))
            else:
                pending.extend(current.iter_expressions())
        return frozenset(found)

    def _inner(self, query: exp.Query) -> Scope | None:
        """The scope of a nested query, which has been looked at before."""
        return self._by_expression.get(id(query.unnest())) or self._by_expression.get(id(query))

    def _resolved(self, column: exp.Column, scope: Scope) -> _Origins:
        within: Scope | None = scope
        while within is not None and column.table not in within.sources:
            within = within.parent
        if within is None:
            return self._guessed(column, scope)
        source = within.sources[column.table]
        if isinstance(source, exp.Table):
            key = table_key(source)
            return frozenset([(key, column.name)]) if key else _NONE
        outputs = self.outputs.get(id(source), [])  # nothing yet: a recursive reference to itself
        named = [origins for name, origins in outputs if name == column.name]
        return _NONE.union(*(named or [origins for name, origins in outputs if name == "*"]))

    def _guessed(self, column: exp.Column, scope: Scope) -> _Origins:
        """A column whose source is open, for want of schemas: it may be of any table here."""
        if column.table:
            return _NONE
        names = {name for source in scope.sources.values() for name, _ in self.outputs.get(id(source), [])}
        if column.name in names:
            return _NONE.union(
                *(
                    origins
                    for source in scope.sources.values()
                    for name, origins in self.outputs.get(id(source), [])
                    if name == column.name
                )
            )
        tables = [scope.sources.get(alias) for alias, _ in scope.references]
        keys = [table_key(table) for table in tables if isinstance(table, exp.Table)]
        return frozenset((key, column.name) for key in keys if key)
