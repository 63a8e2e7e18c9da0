"""From the query's output down to every table reference: which conditions reach its partition column.

Each step replaces a source by its rows that satisfy a condition, and each keeps the result as it is (shapes.py
has the rules). So what arrives at a table may be applied to it. A reference that no step reaches is read as a
whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from lineage import shapes
from lineage.axis import DATES, DATETIMES, Axis
from lineage.dialect import table_key
from lineage.functions import compile_term
from lineage.normalize import Schema
from lineage.partitions import PartitionColumn
from lineage.predicates import COMPARISONS, Domain, Predicate, bounds, conjunction, flipped
from lineage.scalars import Undecided
from lineage.terms import Target

_MAX_VISITS = 8
"""Times a scope is looked at for different readers of it; for more of them it is read as a whole."""

_MAX_STEPS = 400
"""Subqueries that the values of join keys are followed into, in all; they nest, so it could be many."""


@dataclass(frozen=True, slots=True)
class Reference:
    """One use of a partitioned table, and what holds for the rows of it that matter."""

    table: str
    target: Target
    condition: Predicate


@dataclass(frozen=True, slots=True)
class _Outer:
    """A source of an enclosing query, as a correlated subquery sees it."""

    scope: Scope
    conditions: tuple[exp.Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Link:
    """A condition `side kind other` that ties a source to other values.

    In `f(a.x) = g(b.y)`, bounds of y give bounds of x. `source` is the alias of the other side, None for a
    subquery.
    """

    alias: str
    side: exp.Expr
    kind: type[exp.Expr]
    other: exp.Expr
    source: str | None
    group: shapes.Group


_Outers = Mapping[str, _Outer]
_Conditions = dict[str, list[exp.Expr]]
"""Per alias, the conditions that hold for its rows that matter."""


def references(
    query: exp.Query, scopes: Sequence[Scope], upstreams: Mapping[str, PartitionColumn], schema: Schema
) -> list[Reference]:
    """Every reference to one of the `upstreams` in a normalized query with these scopes."""
    return _Tracer(query, scopes, upstreams, schema).run()


def stored_tables(query: exp.Query, scopes: Iterable[Scope]) -> Iterator[exp.Table]:
    """Every table node that is not a reference to a CTE."""
    ctes = {
        id(node)
        for scope in scopes
        for alias, node in scope.references
        if isinstance(scope.sources.get(alias), Scope)
    }
    return (table for table in query.find_all(exp.Table) if id(table) not in ctes)


class _Tracer:
    def __init__(
        self,
        query: exp.Query,
        scopes: Sequence[Scope],
        upstreams: Mapping[str, PartitionColumn],
        schema: Schema,
    ) -> None:
        self._query = query
        self._upstreams = upstreams
        self._schema = schema
        self._scopes = scopes
        self._domains: dict[str, tuple[Domain, ...]] = {}
        self._origins: dict[str, str | None] = {}
        self._steps = 0
        self._visits: dict[int, int] = {}
        self._active: set[int] = set()
        self._reached: set[int] = set()
        self._found: list[Reference] = []

    def run(self) -> list[Reference]:
        self._visit(self._scopes[-1], [], {})
        for table in stored_tables(self._query, self._scopes):
            if id(table) not in self._reached:
                self._refer(table, table.alias_or_name, ())
        return self._found

    # Down the scopes.

    def _visit(self, scope: Scope, incoming: list[exp.Expr], outers: _Outers) -> None:
        """Follow the reads of a scope whose output is used with the conditions `incoming` on it."""
        visits = self._visits.get(id(scope), 0)
        if id(scope) in self._active or visits > _MAX_VISITS:
            return  # a recursive reference, or read as a whole already
        if visits == _MAX_VISITS or _is_recursive(scope):
            incoming = []
        self._visits[id(scope)] = visits + 1
        self._active.add(id(scope))
        if isinstance(scope.expression, exp.Select):
            self._visit_select(scope, incoming, outers)
        elif isinstance(scope.expression, exp.SetOperation):
            self._visit_set_operation(scope, incoming, outers)
        else:
            for child in _children(scope):
                self._visit(child, [], outers)
        self._active.discard(id(scope))

    def _visit_set_operation(self, scope: Scope, incoming: list[exp.Expr], outers: _Outers) -> None:
        for branch, conditions in self._branches(scope, incoming):
            self._visit(branch, [] if shapes.is_limited(scope.expression) else conditions, outers)
        for child in scope.subquery_scopes:
            self._visit(child, [], outers)

    def _branches(self, scope: Scope, incoming: Iterable[exp.Expr]) -> Iterator[tuple[Scope, list[exp.Expr]]]:
        operation = scope.expression
        assert isinstance(operation, exp.SetOperation)
        outer = operation.named_selects
        usable = not operation.args.get("by_name") and len(set(outer)) == len(outer)
        for branch in scope.set_operation_scopes:
            names = branch.expression.named_selects if isinstance(branch.expression, exp.Query) else []
            aligned = usable and len(names) == len(outer) and "*" not in names
            yield branch, [shapes.through_position(c, outer, names) for c in (incoming if aligned else ())]

    def _visit_select(self, scope: Scope, incoming: list[exp.Expr], outers: _Outers) -> None:
        select = scope.expression
        assert isinstance(select, exp.Select)
        inside = [through for c in incoming if (through := shapes.through_select(c, select)) is not None]
        conditions = self._conditions(scope, inside, outers)
        for alias, node in scope.references:
            source = scope.sources.get(alias)
            if isinstance(source, Scope):
                self._visit(source, _about(alias, conditions.get(alias, ())), outers)
            elif isinstance(source, exp.Table):
                self._refer(node if isinstance(node, exp.Table) else source, alias, conditions.get(alias, ()))
        inner = {**outers, **{a: _Outer(scope, tuple(found)) for a, found in conditions.items()}}
        members = _memberships(select)
        for child in scope.subquery_scopes:
            self._visit(child, self._members(scope, child, members, conditions), inner)
        for child in scope.udtf_scopes:
            self._visit(child, [], inner)

    def _refer(self, table: exp.Table, alias: str, conditions: Iterable[exp.Expr]) -> None:
        self._reached.add(id(table))
        key = table_key(table)
        if key is None or key not in self._upstreams:
            return
        upstream = self._upstreams[key]
        target = Target(alias, upstream.column.lower(), Axis.of(upstream))
        usable = () if table.args.get("pivots") else conditions
        self._found.append(Reference(key, target, conjunction(usable, target, self._domains)))

    # Conditions within one SELECT.

    def _conditions(self, scope: Scope, incoming: list[exp.Expr], outers: _Outers) -> _Conditions:
        """What holds for the rows of each source that matter: said in the query, and carried over by joins."""
        select = scope.expression
        assert isinstance(select, exp.Select)
        aliases = [alias for alias, _ in scope.references]
        found: _Conditions = {alias: [] for alias in aliases}
        groups = shapes.groups(select, aliases, incoming)
        for group in groups:
            for alias in group.targets:
                if alias in found:
                    found[alias] += group.conditions
        links = [link for group in groups for link in _links(group, aliases)]
        # A link is tried again when more is known of its other side, until it carries something.
        tried = dict.fromkeys(links, -1)
        while tried:
            again = {}
            for link, before in tried.items():
                known = len(found.get(link.source or "", ()))
                if known == before or not self._carry(scope, link, found, outers):
                    again[link] = known
            if again == tried:
                break
            tried = again
        return found

    def _carry(self, scope: Scope, link: _Link, found: _Conditions, outers: _Outers) -> bool:
        """Restrict a link's source to the values of its other side; False where nothing bounds those."""
        domains = self._other_side(scope, link, found, outers)
        if domains:
            placeholder = self._placeholder(domains, link.source)
            found[link.alias].append(link.kind(this=link.side.copy(), expression=placeholder))
        return bool(domains)

    def _placeholder(self, domains: tuple[Domain, ...], origin: str | None) -> exp.Placeholder:
        """A stand-in for these values in a condition; `origin` is the alias that they are from."""
        name = f"domain{len(self._domains)}"
        self._domains[name] = domains
        self._origins[name] = origin
        return exp.Placeholder(this=name)

    def _is_from(self, condition: exp.Expr, alias: str) -> bool:
        values = condition.args.get("expression")
        return isinstance(values, exp.Placeholder) and self._origins.get(values.name) == alias

    def _other_side(
        self, scope: Scope, link: _Link, found: _Conditions, outers: _Outers
    ) -> tuple[Domain, ...]:
        """Values of the other side of a link: a column's, or a subquery's."""
        if isinstance(link.other, exp.Subquery):
            return self._subquery_values(scope, link.other)
        if link.source is None:
            return ()
        if link.source in found:
            # What came from here is no news here.
            known = [c for c in found[link.source] if not self._is_from(c, link.alias)]
            return self._values(scope, link.source, link.other, [*known, *link.group.conditions])
        if link.source in outers:
            outer = outers[link.source]
            return self._values(outer.scope, link.source, link.other, outer.conditions)
        return ()

    # Values of an expression, followed down to stored columns.

    def _values(
        self, scope: Scope, alias: str, value: exp.Expr, conditions: Iterable[exp.Expr]
    ) -> tuple[Domain, ...]:
        """Domains of `value`, an expression over columns of one source; none where nothing bounds it."""
        source = scope.sources.get(alias)
        if isinstance(source, exp.Table):
            return self._stored_values(source, alias, value, conditions)
        return (
            self._scope_values(source, value, _about(alias, conditions)) if isinstance(source, Scope) else ()
        )

    def _stored_values(
        self, table: exp.Table, alias: str, value: exp.Expr, conditions: Iterable[exp.Expr]
    ) -> tuple[Domain, ...]:
        columns = {column.name for column in value.find_all(exp.Column)}
        axis = self._axis(table, next(iter(columns))) if len(columns) == 1 else None
        if axis is None or table.args.get("pivots"):
            return ()
        target = Target(alias, columns.pop(), axis)
        condition = conjunction(conditions, target, self._domains)
        try:
            return (Domain(compile_term(value, target), target, condition),) if bounds(condition) else ()
        except Undecided:
            return ()

    def _axis(self, table: exp.Table, column: str) -> Axis | None:
        key = table_key(table)
        if key is None:
            return None
        upstream = self._upstreams.get(key)
        if upstream is not None and upstream.column.lower() == column:
            return Axis.of(upstream)
        return {"date": DATES, "datetime": DATETIMES}.get(self._schema.get(key, {}).get(column, ""))

    def _scope_values(self, scope: Scope, value: exp.Expr, conditions: list[exp.Expr]) -> tuple[Domain, ...]:
        """Domains of an expression over the outputs of a scope."""
        self._steps += 1
        if self._steps > _MAX_STEPS or _is_recursive(scope):
            return ()
        if isinstance(scope.expression, exp.SetOperation):
            return self._branch_values(scope, value, conditions)
        if not isinstance(scope.expression, exp.Select):
            return ()
        inside = _through_outputs(value, scope.expression, extremes=True)
        alias = _only_source(inside)
        if alias is None:
            return ()
        passed = [_through_outputs(condition, scope.expression) for condition in conditions]
        known = self._conditions(scope, passed, {})
        return self._values(scope, alias, inside, known.get(alias, ()))

    def _branch_values(self, scope: Scope, value: exp.Expr, conditions: list[exp.Expr]) -> tuple[Domain, ...]:
        found: list[Domain] = []
        for branch, renamed in self._branches(scope, [value, *conditions]):
            domains = self._scope_values(branch, renamed[0], renamed[1:]) if renamed else ()
            if not domains:
                return ()
            found += domains
        return tuple(found)

    def _subquery_values(self, scope: Scope, subquery: exp.Subquery) -> tuple[Domain, ...]:
        inner = next((s for s in scope.subquery_scopes if s.expression is subquery.unnest()), None)
        if inner is None or not isinstance(inner.expression, exp.Query):
            return ()
        names = inner.expression.named_selects
        return self._scope_values(inner, exp.column(names[0]), []) if len(names) == 1 else ()

    def _members(
        self, scope: Scope, child: Scope, members: list[exp.In], conditions: _Conditions
    ) -> list[exp.Expr]:
        """For `a.x IN (SELECT …)` as a condition that must hold: only the values of x matter in the subquery."""
        query = child.expression
        for member in members:
            if not isinstance(query, exp.Query) or member.args["query"].unnest() is not query:
                continue
            alias = _only_source(member.this)
            if len(query.named_selects) == 1 and alias is not None and alias in conditions:
                domains = self._values(scope, alias, member.this, conditions[alias])
                if domains:
                    output = exp.column(query.named_selects[0])
                    return [exp.EQ(this=output, expression=self._placeholder(domains, alias))]
        return []


def _links(group: shapes.Group, aliases: list[str]) -> Iterator[_Link]:
    """The links in a group of conditions that restrict one of its targets."""
    for condition in group.conditions:
        sides: list[tuple[exp.Expr, exp.Expr, type[exp.Expr]]] = []
        if isinstance(condition, exp.In) and condition.args.get("query") is not None:
            sides = [(condition.this, condition.args["query"], exp.EQ)]
        elif isinstance(condition, COMPARISONS) and not isinstance(condition, exp.NEQ):
            left, right, kind = condition.this, condition.expression, type(condition)
            sides = [(left, right, kind), (right, left, flipped(kind))]
        for side, other, kind in sides:
            alias, source = _only_source(side), _only_source(other)
            tied = isinstance(other, exp.Subquery) or (source is not None and source != alias)
            if tied and alias is not None and alias in aliases and alias in group.targets:
                yield _Link(alias, side, kind, other, source, group)


def _is_recursive(scope: Scope) -> bool:
    holder = scope.expression.find_ancestor(exp.With) if scope.is_cte else None
    return isinstance(holder, exp.With) and bool(holder.recursive)


def _children(scope: Scope) -> list[Scope]:
    return [
        *scope.derived_table_scopes,
        *scope.subquery_scopes,
        *scope.udtf_scopes,
        *scope.set_operation_scopes,
    ]


def _about(alias: str, conditions: Iterable[exp.Expr]) -> list[exp.Expr]:
    """The conditions that mention the alias, or no column at all, with other columns hidden."""

    def change(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.table != alias:
            return exp.column(exp.to_identifier("?"), table=exp.to_identifier(shapes.HIDDEN))
        return node

    found = []
    for condition in conditions:
        sources = {column.table for column in condition.find_all(exp.Column)}
        if (alias in sources or not sources) and condition.find(exp.Query) is None:
            found.append(condition.transform(change))
    return found


def _only_source(node: exp.Expr) -> str | None:
    """The alias that all columns of an expression have, if there is one."""
    sources = {column.table for column in node.find_all(exp.Column)}
    if len(sources) != 1 or node.find(exp.Query, exp.AggFunc, exp.Window) is not None:
        return None
    return sources.pop() or None


def _through_outputs(node: exp.Expr, select: exp.Select, *, extremes: bool = False) -> exp.Expr:
    """An expression over the outputs of a SELECT, over its sources: true of every row of the output.

    Other than a condition that is pushed down, this may pass a LIMIT, a window or a group: it tells where
    values come from. MAX and MIN give values of their argument.
    """
    found = shapes.outputs(select)

    def change(column: exp.Expr) -> exp.Expr:
        if not isinstance(column, exp.Column):
            return column
        value = found.get(column.name)
        if extremes and isinstance(value, exp.Max | exp.Min) and not value.args.get("expressions"):
            value = value.this
        if value is None or value.find(exp.AggFunc, exp.Window, exp.Query, exp.UDTF) is not None:
            return exp.column(exp.to_identifier("?"), table=exp.to_identifier(shapes.HIDDEN))
        return exp.Paren(this=value.copy())

    return node.transform(change)


def _memberships(select: exp.Select) -> list[exp.In]:
    where = select.args.get("where")
    conditions = shapes.conjuncts(where.this) if where is not None else []
    return [c for c in conditions if isinstance(c, exp.In) and c.args.get("query") is not None]
