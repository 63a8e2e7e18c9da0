"""From a parsed statement to a tree in which every column names its source.

StarRocks' names: columns and column aliases are not case-sensitive; catalogs, databases, tables and their
aliases are (StarRocks docs, System_limit). SQLGlot has one rule for all, so columns are put in lower case here
and the rest is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sqlglot import exp
from sqlglot.errors import OptimizeError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from lineage.dialect import VARIABLE, table_key
from lineage.errors import LineageError, at_offset, near

Schema = Mapping[str, Mapping[str, str]]
"""'db.table' -> {column: type}."""

OPAQUE_JOIN = "opaque_join"
"""Mark on a join whose ON condition, as SQLGlot writes it out from USING, is not what StarRocks compares."""


def query_of(statement: exp.Expr, text: str) -> exp.Query:
    """The statement, if it is a query. Raises LineageError."""
    if isinstance(statement, exp.Query) and not isinstance(statement, exp.Table):
        return statement
    first = re.match(r"\s*(\w*)", text)
    verb = first[1].upper() if first and first[1] else type(statement).__name__.upper()
    raise LineageError(
        f"{verb} is not a query",
        text=text,
        line=text.count("\n", 0, len(text) - len(text.lstrip())) + 1,
        column=1,
        hint="give the SELECT alone; the statement that writes its rows is made around it",
    )


def normalize(query: exp.Query, text: str, *, database: str, known: Schema) -> exp.Query:
    """The query with columns in lower case and with their source, tables with full names, stars expanded.
    Changes the one given.

    `known` has the columns of the query's tables, as far as known (`known_tables`). Raises LineageError for a
    column that a table in it, or a subquery, does not have.
    """
    _reject_variable_names(query, text)
    _lower_columns(query)
    _mark_opaque_joins(query)
    _name_partitions(query)
    _name_sources(query, database, known)
    nested = _nested(known)
    for options in _EFFORTS:
        attempt = query.copy()
        try:
            qualified: exp.Query = qualify(attempt, db=database, schema=nested, **_QUALIFY, **options)
        except OptimizeError as error:
            _raise_if_wrong(error, query, text, known)
        else:
            _check_columns(qualified, text, known)
            return qualified
    raise LineageError("the names in the query cannot be resolved", text=text)


_QUALIFY: dict[str, Any] = {
    "dialect": "starrocks",
    "catalog": "default_catalog",
    "validate_qualify_columns": False,
    "identify": False,
    "quote_identifiers": False,
}
_EFFORTS: tuple[dict[str, Any], ...] = (
    {},
    # Where schemas are missing, some names stay open: conditions on them exclude nothing.
    {"expand_alias_refs": False, "allow_partial_qualification": True},
    {"qualify_columns": False},
)


def _raise_if_wrong(error: OptimizeError, query: exp.Query, text: str, known: Schema) -> None:
    """Raise what is the query's fault; a column that could be anybody's, because schemas are missing, is not."""
    message = str(error)
    if found := re.fullmatch(r"Unknown column: (.+)", message):
        raise _unknown_column(found[1], query, text, known)
    if "missing source schemas" in message:
        return
    raise LineageError(f"the query is not consistent: {message.splitlines()[0]}", text=text)


def _reject_variable_names(query: exp.Query, text: str) -> None:
    for name in query.find_all(exp.Identifier):
        if name.name.startswith(VARIABLE) and name.find_ancestor(exp.Partition) is None:
            what = "table" if isinstance(name.parent, exp.Table) else "column or alias"
            start = int(name.meta.get("start") or 0)
            raise at_offset(f"the name of a {what} must not change with the partition", text, start)


def _lower_columns(query: exp.Query) -> None:
    for name in _column_names(query):
        name.set("this", name.name.lower())


def _column_names(query: exp.Query) -> Iterator[exp.Identifier]:
    for node in query.walk():
        found: list[object] = []
        match node:
            case exp.Column():
                found = [node.this]
            case exp.Alias():
                found = [node.args.get("alias")]
            case exp.TableAlias():
                found = node.columns
            case exp.Join():
                found = [
                    name.this if isinstance(name, exp.Column) else name
                    for name in node.args.get("using") or ()
                ]
            case exp.Star():
                found = list(node.args.get("except_") or ())
        yield from (name for name in found if isinstance(name, exp.Identifier))


def _mark_opaque_joins(query: exp.Query) -> None:
    """After RIGHT or FULL JOIN … USING (k), a further USING (k) compares COALESCE(a.k, b.k), not a.k."""
    for select in query.find_all(exp.Select):
        preserved = False
        for join in select.args.get("joins") or ():
            merged = join.args.get("using") or join.method == "NATURAL"
            if preserved and merged:
                join.meta[OPAQUE_JOIN] = True
            preserved = preserved or bool(merged and join.side in ("RIGHT", "FULL"))


def _full_key(table: exp.Table, database: str) -> str | None:
    key = table_key(table)
    return key if key is None or table.db else f"{database}.{key}"


def _name_partitions(query: exp.Query) -> None:
    """In PARTITION (p) the parser takes p for a column."""
    for partition in query.find_all(exp.Partition):
        names = [node.this if isinstance(node, exp.Column) else node for node in partition.expressions]
        partition.set("expressions", names)


def _name_sources(query: exp.Query, database: str, known: Schema) -> None:
    """Columns of a SELECT from one table whose columns are not known can only be of that table.

    SQLGlot leaves them open. In a subquery they might be of an enclosing query too, and after WHERE a name
    might be that of an output: there they stay open.
    """
    ctes = {cte.alias for cte in query.find_all(exp.CTE)}
    for select in query.find_all(exp.Select):
        from_ = select.args.get("from_")
        table = None if from_ is None else from_.this
        if not isinstance(table, exp.Table) or select.args.get("joins") or _is_scalar(select):
            continue
        key = _full_key(table, database)
        is_cte = not table.db and table.name in ctes
        if key is None or key in known or is_cte or table.args.get("pivots"):
            continue
        for column in _own_columns([*select.selects, *filter(None, [select.args.get("where")])]):
            if not column.table:
                column.set("table", exp.to_identifier(table.alias_or_name))


def _is_scalar(select: exp.Select) -> bool:
    """Whether it is a subquery within an expression, not a source or a part of one."""
    holder = select.parent
    while isinstance(holder, exp.Subquery | exp.SetOperation):
        holder = holder.parent
    return holder is not None and not isinstance(holder, exp.From | exp.Join | exp.CTE)


def _own_columns(nodes: list[exp.Expr]) -> Iterator[exp.Column]:
    """Columns in these nodes, but not in queries nested in them."""
    for root in nodes:
        for node in root.walk(prune=lambda node: isinstance(node, exp.Query)):
            if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
                yield node


def known_tables(query: exp.Query, database: str, schema: Schema) -> Schema:
    """The part of the schema that the query names, with columns in lower case."""
    known = {}
    for table in query.find_all(exp.Table):
        key = _full_key(table, database)
        if key is not None and key in schema:
            known[key] = {column.lower(): type.lower() for column, type in schema[key].items()}
    return known


def _nested(known: Schema) -> MappingSchema:
    tree: dict[str, Any] = {}
    for key, columns in known.items():
        *catalogs, database, table = key.split(".")
        catalog = catalogs[0] if catalogs else "default_catalog"
        # Types do not matter here, and a server's spelling of one might be new to SQLGlot.
        tree.setdefault(catalog, {}).setdefault(database, {})[table] = dict.fromkeys(columns, "unknown")
    return MappingSchema(tree, dialect="starrocks", normalize=False)


def _check_columns(query: exp.Query, text: str, known: Schema) -> None:
    for scope in traverse_scope(query):
        sources = {alias: scope.sources.get(alias) for alias, _ in scope.references}
        for column in scope.columns:
            if isinstance(column.this, exp.Star):
                continue
            source = sources.get(column.table)
            key = table_key(source) if isinstance(source, exp.Table) else None
            if key and key in known and column.name not in known[key] and not scope.pivots:
                raise _unknown_column(column.name, query, text, {key: known[key]})
            if not column.table and _all_known(scope, known) and not _may_be_output(column, scope):
                raise _unknown_column(column.name, query, text, known)


def _all_known(scope: Scope, known: Schema) -> bool:
    """Whether every column of every source is known: then a name that none of them has is wrong."""
    if scope.parent is not None or scope.pivots or scope.udtf_scopes:
        return False
    sources = [scope.sources.get(alias) for alias, _ in scope.references]
    return all(_has_known_columns(source, known) for source in sources)


def _may_be_output(column: exp.Column, scope: Scope) -> bool:
    """Whether the name may be that of an output, as it may from GROUP BY on."""
    clause = column.find_ancestor(exp.Group, exp.Having, exp.Qualify, exp.Order, exp.Select)
    names = scope.expression.named_selects if isinstance(scope.expression, exp.Query) else []
    return not isinstance(clause, exp.Select) and column.name in names


def _has_known_columns(source: exp.Table | Scope | None, known: Schema) -> bool:
    if isinstance(source, exp.Table):
        return table_key(source) in known
    expression = source.expression if source is not None else None
    return isinstance(expression, exp.Query) and "*" not in expression.named_selects


def _unknown_column(name: str, query: exp.Query, text: str, tables: Schema) -> LineageError:
    column = next((c for c in query.find_all(exp.Column) if c.name == name), None)
    offset = 0 if column is None else int(column.this.meta.get("start") or 0)
    if column is not None and column.table:
        named = {
            f".{table.name}" for table in query.find_all(exp.Table) if table.alias_or_name == column.table
        }
        owned = {key: columns for key, columns in tables.items() if key.endswith(tuple(named))}
        tables = owned or tables
    owners = [table for table, columns in tables.items() if name in columns]
    if owners:
        hint = f"it is a column of {' and of '.join(sorted(owners))}: write the table before it"
        return at_offset(f"ambiguous column {name}", text, offset, hint=hint)
    names = {known for columns in tables.values() for known in columns}
    names.update(alias.alias for alias in query.find_all(exp.Alias) if alias.alias != name)
    owner = f" in {next(iter(tables))}" if len(tables) == 1 else ""
    return at_offset(f"unknown column {name}{owner}", text, offset, hint=near(name, names))
