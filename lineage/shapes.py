"""What one SELECT does to predicates: which reach which source, and which pass through its outputs.

A predicate reaches a source if rows of the source that fail it can be removed without a change of the result.
Rules per join follow the SQL standard's definition of joins, with StarRocks' SEMI, ANTI and ASOF joins.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from lineage.normalize import OPAQUE_JOIN

HIDDEN = "\0hidden"
"""Source name of a column that a predicate cannot be followed through; conditions on it count as true."""


@dataclass(frozen=True, slots=True)
class Group:
    """Conditions that must hold together, and the sources whose rows they restrict."""

    conditions: tuple[exp.Expr, ...]
    targets: frozenset[str]


def conjuncts(node: exp.Expr | None) -> list[exp.Expr]:
    """The parts of a conjunction."""
    if node is None:
        return []
    if isinstance(node, exp.Paren):
        return conjuncts(node.this)
    if isinstance(node, exp.And):
        return [part for child in node.flatten() for part in conjuncts(child)]
    if isinstance(node, exp.Between):
        low, high = node.args["low"], node.args["high"]
        return [
            exp.GTE(this=node.this.copy(), expression=low.copy()),
            exp.LTE(this=node.this.copy(), expression=high.copy()),
        ]
    return [node]


def groups(select: exp.Select, aliases: Collection[str], incoming: Iterable[exp.Expr]) -> list[Group]:
    """WHERE (with what comes from outside and from HAVING and QUALIFY), then each ON, with their targets."""
    joined = _joined(select)
    where = [*_where(select), *incoming]
    where += [variant for condition in where for variant in _merged_columns(condition, select)]
    # Sources within a parenthesized join are not among these: they are read as a whole.
    named = {alias for alias, _ in _sources(select)}
    unfiltered = {alias for join, alias, _ in joined for alias in _not_filtered(join, alias)}
    found = [Group(tuple(where), frozenset(named.intersection(aliases) - unfiltered))]
    for join, alias, before in joined:
        targets = _targets(join, alias, before)
        if alias in aliases and targets and not join.meta.get(OPAQUE_JOIN):
            found.append(Group(tuple(conjuncts(join.args.get("on"))), frozenset(targets)))
    return found


def _where(select: exp.Select) -> Iterator[exp.Expr]:
    if where := select.args.get("where"):
        yield from conjuncts(where.this)
    if having := select.args.get("having"):
        for condition in conjuncts(having.this):
            yield visible_through_groups(condition, select)
    if qualify := select.args.get("qualify"):
        for condition in conjuncts(qualify.this):
            yield visible_through_windows(visible_through_groups(condition, select), select)


def _sources(select: exp.Select) -> list[tuple[str, exp.Join | None]]:
    """Aliases in FROM, in order, each with the join that adds it."""
    from_ = select.args.get("from_")
    found: list[tuple[str, exp.Join | None]] = [] if from_ is None else [(from_.this.alias_or_name, None)]
    return found + [(join.alias_or_name, join) for join in select.args.get("joins") or ()]


def _joined(select: exp.Select) -> list[tuple[exp.Join, str, frozenset[str]]]:
    """Each join with the alias of its right side and the aliases before it."""
    sources = _sources(select)
    return [
        (join, alias, frozenset(before for before, _ in sources[:at]))
        for at, (alias, join) in enumerate(sources)
        if join is not None
    ]


_SIDES = ("", "LEFT", "RIGHT", "FULL")
_KINDS = ("", "INNER", "OUTER", "CROSS", "SEMI", "ANTI", "ASOF")


def _targets(join: exp.Join, alias: str, before: frozenset[str]) -> frozenset[str]:
    """Sources that the ON condition restricts: not those whose rows the join keeps without a match."""
    right = frozenset((alias,))
    side, kind, method = join.side.upper(), join.kind.upper(), join.method.upper()
    if side not in _SIDES or kind not in _KINDS or method not in ("", "ASOF"):
        return frozenset()
    if "ASOF" in (kind, method):
        return right
    if kind == "SEMI":
        return before | right
    if kind == "ANTI":
        return before if side == "RIGHT" else right
    return {"LEFT": right, "RIGHT": before, "FULL": frozenset[str]()}.get(side, before | right)


def _not_filtered(join: exp.Join, alias: str) -> frozenset[str]:
    """Sources that WHERE does not restrict.

    The right side of an ASOF join is filtered after the pick of the nearest row; of SEMI and ANTI joins one side
    has no columns in the result.
    """
    if "ASOF" in (join.kind.upper(), join.method.upper()):
        return frozenset((alias,))
    if join.kind.upper() in ("SEMI", "ANTI") and join.side.upper() != "RIGHT":
        return frozenset((alias,))
    return frozenset()


def _merged_columns(condition: exp.Expr, select: exp.Select) -> Iterator[exp.Expr]:
    """A condition on COALESCE(a.k, b.k), where a.k = b.k joins them, said of each of the two.

    This is what SQLGlot makes of a column of USING. Rows of `a` with another k join only rows of `b` with
    that other k, or none, and the merged column then is that other k; so the condition restricts both.
    """
    merged = next((node for node in condition.find_all(exp.Coalesce) if _is_merged(node, select)), None)
    if merged is None:
        return
    for column in (merged.this, *merged.expressions):
        yield condition.transform(lambda node, column=column: column.copy() if node == merged else node)


def _is_merged(node: exp.Coalesce, select: exp.Select) -> bool:
    columns = [node.this, *node.expressions]
    if not all(isinstance(column, exp.Column) for column in columns):
        return False
    pairs = {
        frozenset((on.this.sql(), on.expression.sql()))
        for join in select.args.get("joins") or ()
        if not join.meta.get(OPAQUE_JOIN) and join.method.upper() != "ASOF"
        for on in conjuncts(join.args.get("on"))
        if isinstance(on, exp.EQ)
    }
    first = columns[0].sql()
    return all(frozenset((first, column.sql())) in pairs for column in columns[1:])


def outputs(select: exp.Select) -> dict[str, exp.Expr]:
    """Output columns by name, as far as each has a name and an expression of its own."""
    names = [projection.alias_or_name for projection in select.selects]
    return {
        name: projection.unalias()
        for name, projection in zip(names, select.selects, strict=True)
        if name and not projection.is_star and names.count(name) == 1
    }


def through_select(condition: exp.Expr, select: exp.Select) -> exp.Expr | None:
    """A condition on the output of a SELECT, said of its sources; None if it says nothing about them."""
    if is_limited(select):
        return None
    found = outputs(select)
    inside = _substituted(condition, lambda column: found.get(column.name))
    return visible_through_windows(visible_through_groups(inside, select), select)


def through_position(condition: exp.Expr, names: list[str], branch: list[str]) -> exp.Expr:
    """A condition on the output of a set operation, said of one of its branches."""
    renamed = {name: exp.column(there) for name, there in zip(names, branch, strict=False)}
    return _substituted(condition, lambda column: renamed.get(column.name))


def is_limited(query: exp.Expr) -> bool:
    return any(query.args.get(key) is not None for key in ("limit", "offset", "fetch"))


def _substituted(condition: exp.Expr, replacement: Callable[[exp.Column], exp.Expr | None]) -> exp.Expr:
    def change(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column):
            return node
        found = replacement(node)
        if found is None or found.find(exp.AggFunc, exp.Window, exp.Query, exp.UDTF) is not None:
            return _hidden()
        return exp.Paren(this=found.copy())

    # Transform does not go into what it has put in.
    return condition.transform(change)


def _hidden() -> exp.Column:
    return exp.column(exp.to_identifier("?"), table=exp.to_identifier(HIDDEN))


def visible_through_groups(condition: exp.Expr, select: exp.Select) -> exp.Expr:
    """The condition with all hidden that is not the same for every row of a group.

    A key that ROLLUP, CUBE or GROUPING SETS leaves out is NULL in the result, and no comparison holds for it.
    """
    group = select.args.get("group")
    if group is None and not _is_aggregate(select):
        return condition
    keys = [] if group is None else [key for part in group.expressions for key in _group_keys(part)]
    return _only(condition, keys)


def _group_keys(node: exp.Expr) -> list[exp.Expr]:
    """The keys in a part of GROUP BY: within ROLLUP, CUBE and GROUPING SETS, or the part itself."""
    if isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets | exp.Tuple):
        return [key for part in node.expressions for key in _group_keys(part)]
    return _group_keys(node.this) if isinstance(node, exp.Paren) else [node]


def _is_aggregate(select: exp.Select) -> bool:
    parts = [*select.selects, *filter(None, [select.args.get("having")])]
    return any(_groups_rows(node, select) for part in parts for node in part.find_all(exp.AggFunc))


def _groups_rows(aggregate: exp.AggFunc, select: exp.Select) -> bool:
    """Whether it is an aggregate of this SELECT itself, and not the function of a window."""
    holder = aggregate.find_ancestor(exp.Window, exp.Query)
    if isinstance(holder, exp.Window):
        return holder.this is not aggregate and holder.find_ancestor(exp.Query) is select
    return holder is select


def visible_through_windows(condition: exp.Expr, select: exp.Select) -> exp.Expr:
    """The condition with all hidden that is not the same for every row of a window partition.

    Without the rows that fail the rest, every window function would see fewer rows of its partition.
    """
    for window in select.find_all(exp.Window):
        if window.find_ancestor(exp.Query) is select:
            condition = _only(condition, window.args.get("partition_by") or [])
    return condition


def _only(condition: exp.Expr, keys: list[exp.Expr]) -> exp.Expr:
    """Hide the columns that are not, as they stand or within a larger key, among the keys."""
    plain = [key.unnest() for key in keys]

    def change(node: exp.Expr) -> exp.Expr:
        if node.unnest() in plain:
            # A key as a whole. It must not be looked into: its columns alone are no keys.
            return exp.Paren(this=node.copy())
        return _hidden() if isinstance(node, exp.Column) else node

    return condition.transform(change)
