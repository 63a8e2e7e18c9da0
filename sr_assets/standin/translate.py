"""Query bodies: StarRocks SQL in, one DuckDB statement out.

SQLGlot parses and prints; what it would get wrong is rewritten here, node by node. Tables become
subqueries on the rows of their visible partitions, looked up inside of the statement itself, so that a
query sees one moment of the catalog and of the data.
"""

# ruff: noqa: S608 - DuckDB text is built here: names go through quote(), values through literal()

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from sr_assets.standin.errors import ServerError, analyzing, unknown_table
from sr_assets.standin.files import FilesFunction
from sr_assets.standin.information_schema import VIEWS
from sr_assets.standin.model import Table, View
from sr_assets.standin.presyntax import PartitionClause, prepare, unmark
from sr_assets.standin.storage import Store, literal, quote

_MAX_VIEW_DEPTH = 20
_INTEGERS = exp.DataType.INTEGER_TYPES
_ARITHMETIC = (
    exp.Add,
    exp.Sub,
    exp.Mul,
    exp.Div,
    exp.IntDiv,
    exp.Mod,
    exp.Neg,
    exp.Round,
    exp.Abs,
    exp.Floor,
    exp.Ceil,
)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_NUMERIC = (*_ARITHMETIC, *_COMPARISONS)


@dataclass(frozen=True, slots=True)
class Scope:
    """What a query may ask about its session."""

    database: str | None
    user: str
    connection_id: int
    variables: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Query:
    """A DuckDB statement, the seconds that `sleep()` asks for, and which results are LARGEINT."""

    sql: str
    sleep: float = 0.0
    largeint_positions: frozenset[int] = frozenset()
    largeint_names: frozenset[str] = frozenset()

    def is_largeint(self, position: int, name: str) -> bool:
        return position in self.largeint_positions or name.lower() in self.largeint_names


class Translator:
    """Translates queries against one store."""

    def __init__(self, store: Store, files: FilesFunction) -> None:
        self._store = store
        self._files = files

    def query(self, sql: str, scope: Scope) -> Query:
        """Translate a SELECT, WITH or VALUES statement. Raises ServerError as StarRocks would."""
        text, clauses = prepare(sql, self._store.version)
        tree = _parse(text)
        names = _output_names(tree)
        work = _Rewrite(self._store, self._files, scope, clauses)
        tree = work.run(tree)
        positions = _largeint_positions(tree, work.largeints)
        for select, position, name in names:
            projection = select.expressions[position]
            projection.replace(exp.alias_(projection.copy(), name, quoted=True))
        return Query(_print(tree), work.sleep, positions, frozenset(work.largeints))

    def rows_of(self, relation: str, tail: str, scope: Scope) -> Query:
        """Rows of a DuckDB relation under a WHERE, ORDER BY and LIMIT in StarRocks' words."""
        tree = _parse(f"SELECT * FROM __rows {tail}")
        for table in tree.find_all(exp.Table):
            if table.name == "__rows":
                table.set("this", exp.to_identifier(relation, quoted=True))
        work = _Rewrite(self._store, self._files, scope, ())
        return Query(_print(work.expressions(tree)))

    def expression(self, sql: str, scope: Scope, *, texts: bool = False) -> str:
        """Translate one expression, such as a WHERE condition. `texts`: all columns are a file's texts."""
        text, clauses = prepare(sql, self._store.version)
        tree = _parse(f"SELECT {text}").expressions[0].copy()
        for node in list(exp.Paren(this=tree).find_all(*_NUMERIC)) if texts else ():
            _numbers_from_texts(node)
        return _print(_Rewrite(self._store, self._files, scope, clauses).run(tree))


def _parse(sql: str) -> exp.Expr:
    try:
        tree = sqlglot.parse_one(sql, read="starrocks")
    except SqlglotError as error:
        first = str(error).splitlines()[0]
        raise ServerError(f"Getting syntax error. Detail message: {first}.") from error
    if isinstance(tree, exp.Command) or tree is None:
        raise ServerError(
            f"Getting syntax error at line 1, column 0. Detail message: Unexpected input '{sql[:40]}'."
        )
    return tree


def _print(tree: exp.Expr) -> str:
    return tree.sql(dialect="duckdb", unsupported_level=sqlglot.ErrorLevel.IGNORE)


def _output_names(tree: exp.Expr) -> list[tuple[exp.Select, int, str]]:
    """Names of unaliased results as StarRocks gives them: `count(*)`, `database()`, `@@version`."""
    select = tree
    while isinstance(select, (exp.SetOperation, exp.Subquery)):
        select = select.this
    if not isinstance(select, exp.Select):
        return []
    return [
        (select, position, _output_name(projection))
        for position, projection in enumerate(select.expressions)
        if not isinstance(projection, (exp.Alias, exp.Column, exp.Star))
    ]


def _output_name(projection: exp.Expr) -> str:
    if isinstance(projection, exp.CurrentSchema):
        return "database()"
    return projection.sql(dialect="starrocks", normalize_functions="lower")


def _largeint_positions(tree: exp.Expr, largeint_columns: set[str]) -> frozenset[int]:
    """Results computed from LARGEINT: DuckDB's HUGEINT alone cannot tell them from sums of integers."""
    if not isinstance(tree, exp.Select):
        return frozenset()
    return frozenset(
        position
        for position, projection in enumerate(tree.expressions)
        if any(cast.to.this == exp.DataType.Type.INT128 for cast in projection.find_all(exp.Cast))
        or any(column.name.lower() in largeint_columns for column in projection.find_all(exp.Column))
    )


class _Rewrite:
    """One pass over one parsed query."""

    def __init__(
        self,
        store: Store,
        files: FilesFunction,
        scope: Scope,
        clauses: Sequence[PartitionClause],
        depth: int = 0,
    ) -> None:
        self._store = store
        self._files = files
        self._scope = scope
        self._clauses = clauses
        self._depth = depth
        self._now = datetime.now()
        self.sleep = 0.0
        self.largeints: set[str] = set()

    def run(self, tree: exp.Expr) -> exp.Expr:
        root = exp.Paren(this=tree)  # so that the tree itself can be replaced, too
        for table in list(root.find_all(exp.Table)):
            self._table(table)
        return self.expressions(root.this.pop())

    def expressions(self, tree: exp.Expr) -> exp.Expr:
        """Rewrite everything but the tables."""
        root = exp.Paren(this=tree)
        for node in reversed(list(root.walk())):
            rule = _RULES.get(type(node))
            replacement = rule(self, node) if rule else None
            if replacement is not None and replacement is not node:
                node.replace(replacement)
        result: exp.Expr = root.this.pop()
        return result

    # Tables

    def _table(self, table: exp.Table) -> None:
        if isinstance(table.this, exp.Anonymous):
            if table.this.name.upper() == "FILES":
                arguments = table.this.expressions
                if not all(isinstance(argument, exp.EQ) for argument in arguments):
                    raise analyzing('FILES() takes "key" = "value" pairs only')
                properties = {argument.this.name: argument.expression.name for argument in arguments}
                self._replace(table, self._files.relation(properties), "files")
            return
        name = table.name
        if not isinstance(table.this, exp.Identifier) or (not table.db and _is_cte(table)):
            return
        name, number = unmark(name)
        clause = None if number is None else self._clauses[number]
        db = table.db or self._scope.database
        if db is None:
            raise ServerError("No database selected", 1046)
        if db.lower() in ("information_schema", "sys"):
            if name.lower() not in VIEWS:
                raise unknown_table(db, name)
            self._replace(table, f"SELECT * FROM info.{name.lower()}", name)
            return
        relation = self._store.database(db).get(name)
        if isinstance(relation, Table):
            self._replace(table, self._rows(relation, clause), name)
        elif isinstance(relation, View):
            self._replace(table, self._view(relation), name)
        else:
            raise unknown_table(db, name)

    def _replace(self, table: exp.Table, sql: str, name: str) -> None:
        alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(name, quoted=True))
        subquery = exp.Subquery(this=exp.Var(this=sql), alias=alias)
        for key in ("joins", "laterals", "pivots"):
            if table.args.get(key):
                subquery.set(key, table.args[key])
        table.replace(subquery)

    def _rows(self, table: Table, clause: PartitionClause | None) -> str:
        self.largeints |= {
            column.name.lower() for column in table.definition.columns if column.type.base == "LARGEINT"
        }
        condition = f"table_id = {table.id} AND "
        if clause is None:
            condition += "NOT is_temp"
        else:
            table.named(clause.names, temporary=clause.temporary)
            names = ", ".join(literal(name.lower()) for name in clause.names)
            condition += f"is_temp = {clause.temporary} AND lower(name) IN ({names})"
        columns = ", ".join(quote(column.name) for column in table.definition.columns)
        return (
            f"SELECT {columns} FROM {table.data} "
            f"WHERE __pid IN (SELECT id FROM meta.partitions WHERE {condition})"
        )

    def _view(self, view: View) -> str:
        if self._depth >= _MAX_VIEW_DEPTH:
            raise analyzing(f"View '{view.name}' refers to itself")
        text, clauses = prepare(view.query, self._store.version)
        scope = Scope(view.db, self._scope.user, self._scope.connection_id, self._scope.variables)
        inner = _Rewrite(self._store, self._files, scope, clauses, self._depth + 1)
        sql = _print(inner.run(_parse(text)))
        self.largeints |= inner.largeints
        if view.columns:
            names = ", ".join(quote(column) for column in view.columns)
            return f"SELECT * FROM ({sql}) AS v({names})"
        return sql

    # Expressions

    def _session_parameter(self, node: exp.SessionParameter) -> exp.Expr:
        name = node.name.lower()
        if name not in self._scope.variables:
            raise ServerError(f"Unknown system variable '{name}'", 1193)
        value = self._scope.variables[name]
        return exp.convert(int(value) if isinstance(value, bool) else value)

    def _anonymous(self, node: exp.Anonymous) -> exp.Expr | None:
        name = node.name.upper()
        if name == "SLEEP":
            self.sleep += float(node.expressions[0].name)
            return exp.convert(1)
        if name == "STR2DATE":
            form = node.expressions[1].name.replace("%i", "%M").replace("%s", "%S").replace("%T", "%H:%M:%S")
            return _call("sr_str2date", node.expressions[0], exp.convert(form))
        constants: dict[str, object] = {
            "CONNECTION_ID": self._scope.connection_id,
            "USER": f"'{self._scope.user}'@'%'",
            "SESSION_USER": f"'{self._scope.user}'@'%'",
        }
        if name in constants:
            return exp.convert(constants[name])
        return self._moment(node) if name in ("NOW", "LOCALTIME", "LOCALTIMESTAMP") else None

    def _moment(self, _: exp.Expr) -> exp.Expr:
        return exp.cast(exp.convert(f"{self._now:%Y-%m-%d %H:%M:%S}"), "TIMESTAMP")

    def _today(self, _: exp.Expr) -> exp.Expr:
        return exp.cast(exp.convert(f"{self._now:%Y-%m-%d}"), "DATE")

    def _schema(self, _: exp.Expr) -> exp.Expr:
        return exp.convert(self._scope.database)

    def _user(self, _: exp.Expr) -> exp.Expr:
        return exp.convert(f"'{self._scope.user}'@'%'")

    def _server_version(self, _: exp.Expr) -> exp.Expr:
        return exp.convert(self._scope.variables.get("version", ""))

    def _column(self, node: exp.Column) -> None:
        node.set("db", None)
        node.set("catalog", None)

    def _cast(self, node: exp.Cast) -> exp.Expr | None:
        """A cast that fails is NULL in StarRocks."""
        if type(node) is not exp.Cast:
            return None
        if node.to.this in (exp.DataType.Type.JSON, exp.DataType.Type.CHAR):
            node.to.replace(exp.DataType.build("VARCHAR"))
        value = _call("sr_whole", node.this) if node.to.this in _INTEGERS else node.this
        return exp.TryCast(this=value, to=node.to)

    def _shift(self, node: exp.Expr) -> exp.Expr:
        sign = exp.Sub if isinstance(node, exp.DateSub) else exp.Add
        unit = node.args["unit"].name.lower()
        count = exp.cast(node.expression.copy(), "INT")
        return exp.paren(sign(this=_timestamp(node.this), expression=_call(f"to_{unit}s", count)))

    def _interval(self, node: exp.Expr) -> None:
        """`'2024-01-01' + INTERVAL 1 DAY`: a string is a date here."""
        if isinstance(node.expression, exp.Interval) and isinstance(node.this, exp.Literal):
            node.set("this", _timestamp(node.this))

    def _like(self, node: exp.Like) -> exp.Expr | None:
        if isinstance(node.parent, exp.Escape) or "\\" not in node.expression.name:
            return None
        return exp.Escape(this=node.copy(), expression=exp.convert("\\"))

    def _difference(self, node: exp.DateDiff) -> exp.Expr:
        if node.args.get("unit") is None:
            return _call("sr_datediff", node.this, node.expression)
        return _call("sr_timestampdiff", exp.convert(node.args["unit"].name), node.expression, node.this)

    def _slice(self, node: exp.TimeSlice) -> exp.Expr:
        unit, count = node.args["unit"].name.lower(), exp.cast(node.expression.copy(), "INT")
        width = _call(f"to_{unit}s", count)
        origin = exp.cast(exp.convert("0001-01-01"), "TIMESTAMP")
        start = _call("time_bucket", width, _timestamp(node.this), origin)
        return exp.Add(this=start, expression=width.copy()) if node.text("kind") == "END" else start

    def _length(self, node: exp.Length) -> exp.Expr | None:
        return _call("strlen", exp.cast(node.this.copy(), "VARCHAR")) if node.args.get("binary") else None


def _call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=[argument.copy() for argument in arguments])


def _numbers_from_texts(node: exp.Expr) -> None:
    """StarRocks reads a text as a number in arithmetic and beside a number; DuckDB does not."""
    sides = [child for child in (node.this, node.args.get("expression")) if isinstance(child, exp.Expr)]
    if isinstance(node, _COMPARISONS) and not any(side.is_number for side in sides):
        return
    if any(isinstance(side, exp.Interval) for side in sides):
        return
    for side in sides:
        if isinstance(side, exp.Column):
            side.replace(exp.cast(side.copy(), "DOUBLE"))


def _timestamp(node: exp.Expr) -> exp.Expr:
    return exp.TryCast(this=node.copy(), to=exp.DataType.build("TIMESTAMP"))


def _is_cte(table: exp.Table) -> bool:
    """Whether this name is a common table expression's, which a table inside its own definition is not."""
    inside = {id(ancestor) for ancestor in _ancestors(table)}
    outer = table.parent
    while outer is not None:
        ctes = outer.args.get("with_")
        if ctes is not None:
            for cte in ctes.expressions:
                if id(cte) in inside and not ctes.args.get("recursive"):
                    break
                if cte.alias == table.name:
                    return True
        outer = outer.parent
    return False


def _ancestors(node: exp.Expr) -> Iterator[exp.Expr]:
    current: exp.Expr | None = node
    while current is not None:
        yield current
        current = current.parent


def _renamed(name: str) -> Callable[[_Rewrite, exp.Expr], exp.Expr]:
    """A function whose DuckDB namesake means something else becomes a macro of functions.py."""

    def rule(_: _Rewrite, node: exp.Expr) -> exp.Expr:
        order = ("unit", "this", "expression", "delimiter", "count", "format")
        arguments = [node.args[key] for key in order if isinstance(node.args.get(key), exp.Expr)]
        return _call(name, *[exp.convert(a.name.lower()) if isinstance(a, exp.Var) else a for a in arguments])

    return rule


_RULES: dict[type[exp.Expr], Callable[..., exp.Expr | None]] = {
    exp.SessionParameter: _Rewrite._session_parameter,
    exp.Anonymous: _Rewrite._anonymous,
    exp.CurrentTimestamp: _Rewrite._moment,
    exp.CurrentDate: _Rewrite._today,
    exp.CurrentSchema: _Rewrite._schema,
    exp.CurrentUser: _Rewrite._user,
    exp.CurrentVersion: _Rewrite._server_version,
    exp.Column: _Rewrite._column,
    exp.Cast: _Rewrite._cast,
    exp.DateAdd: _Rewrite._shift,
    exp.DateSub: _Rewrite._shift,
    exp.TimestampAdd: _Rewrite._shift,
    exp.Add: _Rewrite._interval,
    exp.Sub: _Rewrite._interval,
    exp.Like: _Rewrite._like,
    exp.DateDiff: _Rewrite._difference,
    exp.TimestampDiff: _Rewrite._difference,
    exp.TimeSlice: _Rewrite._slice,
    exp.Length: _Rewrite._length,
    exp.TimestampTrunc: _renamed("sr_date_trunc"),
    exp.DateTrunc: _renamed("sr_date_trunc"),
    exp.Hour: _renamed("sr_hour"),
    exp.Minute: _renamed("sr_minute"),
    exp.Second: _renamed("sr_second"),
    exp.Quarter: _renamed("sr_quarter"),
    exp.DayOfWeek: _renamed("sr_dayofweek"),
    exp.TsOrDsToDate: _renamed("sr_date"),
    exp.StrToTime: _renamed("sr_str_to_date"),
    exp.StrToDate: _renamed("sr_str_to_date"),
    exp.UnixToTime: _renamed("sr_from_unixtime"),
    exp.SubstringIndex: _renamed("sr_substring_index"),
    exp.ParseJSON: _renamed("parse_json"),
}
