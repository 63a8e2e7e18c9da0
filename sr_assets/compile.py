"""One asset's declaration, checked and analysed: the node of the asset graph.

Everything that can be known from the text alone is found here: upstream tables, output columns, the offset
form of the partitions read, the code version. What is wrong is raised as DeclarationError.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches

from lineage import LineageError, PartitionColumn, Pattern, Query, Window, calendar, render
from lineage.calendar import Grain
from sr_assets.assets import Asset, BrokerLoad, FilesLoad, RowSource, Sql, StreamLoad
from sr_assets.errors import DeclarationError
from sr_assets.mappings import spans_read
from sr_assets.partitions import WHOLE, KeySpace, ListKeys, TimeKeys, TimePartitions

_NAME = re.compile(r"[A-Za-z_][\w$]*\.[A-Za-z_][\w$]*")
_BROKER_OPTIONS = ("column_separator", "skip_header", "enclose", "escape", "max_filter_ratio")
_SAMPLE = datetime(2023, 12, 1)  # 100 steps from here cross a year's end and a leap day
_FORMATS = {
    BrokerLoad: ("csv", "parquet", "orc", "json"),
    FilesLoad: ("csv", "parquet", "orc"),
    StreamLoad: ("csv", "json"),
}


@dataclass(frozen=True)
class Node:
    """An asset with what its text says.

    `upstreams` are the tables read, the asset's own name among them where it reads earlier partitions of
    itself; `upstream_columns` how those that are partitioned are; `patterns` the offset form of each read.
    """

    asset: Asset
    code_version: str
    query: Query | None = None
    upstreams: tuple[str, ...] = ()
    upstream_columns: dict[str, PartitionColumn] = field(default_factory=dict)
    patterns: dict[str, Pattern | None] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.asset.name

    @property
    def reads_itself(self) -> bool:
        return self.name in self.upstreams

    def invalidated_by(self, upstream: str) -> bool:
        """Whether newer data in `upstream` makes this asset stale."""
        return all(edge.invalidates for edge in self.asset.edges if edge.table == upstream)


def partition_column(asset: Asset) -> PartitionColumn | None:
    """How the asset's table is cut, for reading predicates on it; None for one that is not partitioned."""
    column = asset.partitions.partition_column
    if column is None:
        return None
    declared = {c.name.lower(): c.type.upper() for c in asset.columns}.get(column.lower(), "")
    kind = "datetime" if declared.startswith("DATETIME") or asset.partitions.grain is Grain.HOUR else "date"
    if asset.partitions.grain is None:
        kind = "string"
    return PartitionColumn(column.lower(), asset.partitions.grain, kind, values=asset.partitions.values)


def compile_asset(asset: Asset, known: Mapping[str, Asset]) -> Node:
    """Analyse one asset; `known` are all declared assets by name. Raises DeclarationError."""
    _check_shape(asset)
    if isinstance(asset.recipe, Sql):
        return _compile_query(asset, asset.recipe, known)
    if isinstance(asset.recipe, BrokerLoad | FilesLoad | StreamLoad):
        _check_load(asset, asset.recipe)
    if asset.edges:
        raise DeclarationError("reads= is for tables made by SQL: this asset reads no table")
    return Node(asset, _load_version(asset))


def _check_shape(asset: Asset) -> None:
    if not _NAME.fullmatch(asset.name):
        raise DeclarationError(f"{asset.name!r} is not a table name", hint="write database.table")
    for problem in asset.partitions.problems():
        raise DeclarationError(f"partitions: {problem}")
    if asset.batch < 1:
        raise DeclarationError(f"batch must be at least 1, not {asset.batch}")
    if asset.deadline <= 0:
        raise DeclarationError(f"deadline must be more than 0 seconds, not {asset.deadline}")
    if asset.schedule is not None and len(asset.schedule.split()) != 5:
        raise DeclarationError(f"schedule {asset.schedule!r} is not a cron expression of five fields")
    names = [column.name.lower() for column in asset.columns]
    for name in names:
        if names.count(name) > 1:
            raise DeclarationError(f"column {name} is declared twice")
    if names:
        _check_columns(asset, names)


def _check_columns(asset: Asset, names: list[str]) -> None:
    column = asset.partitions.partition_column
    if column is not None and column.lower() not in names:
        raise DeclarationError(f"partition column {column} is not among the columns{near(column, names)}")
    if isinstance(asset.partitions, TimePartitions):
        wanted = ("DATETIME",) if asset.partitions.grain is Grain.HOUR else ("DATE", "DATETIME")
        declared = next(c.type for c in asset.columns if c.name.lower() == asset.partitions.column.lower())
        if declared.upper() not in wanted:
            raise DeclarationError(
                f"partition column {column} is {declared}; "
                f"{asset.partitions.grain} partitions need {' or '.join(wanted)}"
            )
    for used, role in [(asset.key, "key"), (asset.distributed_by, "distributed_by")]:
        for name in used:
            if name.lower() not in names:
                raise DeclarationError(f"{role} column {name} is not among the columns{near(name, names)}")
    for check in asset.checks:
        for name in getattr(check, "columns", ()):
            if name.lower() not in names:
                raise DeclarationError(
                    f"check {check.name}: column {name} is not among the columns{near(name, names)}"
                )


def _compile_query(asset: Asset, recipe: Sql, known: Mapping[str, Asset]) -> Node:
    schema = {
        name: {c.name.lower(): c.type for c in other.columns}
        for name, other in known.items()
        if other.columns
    }
    try:
        query = Query.parse(
            _text(recipe),
            grain=asset.partitions.grain,
            values=asset.partitions.values,
            database=asset.database,
            schema=schema,
        )
        upstreams = tuple(sorted(query.tables))
        _check_upstreams(asset, upstreams, known)
        _check_outputs(asset, query)
        columns = {
            name: column for name in upstreams if (column := partition_column(known[name])) is not None
        }
        patterns = query.patterns(columns)
        if asset.name in upstreams:
            _check_self_read(asset, query, columns, patterns[asset.name])
    except LineageError as error:
        raise DeclarationError(f"{recipe.file or 'SQL'}: {error}") from error
    return Node(asset, query.fingerprint, query, upstreams, columns, patterns)


def _text(recipe: Sql) -> str:
    if recipe.file is None:
        return textwrap.dedent(recipe.text)
    try:
        return recipe.file.read_text(encoding="utf-8")
    except OSError as error:
        raise DeclarationError(f"the SQL file cannot be read: {error}") from error


def _check_upstreams(asset: Asset, upstreams: tuple[str, ...], known: Mapping[str, Asset]) -> None:
    for name in upstreams:
        if name not in known:
            raise DeclarationError(
                f"reads {name}, which is not declared{near(name, known.keys() - {asset.name})}",
                hint="declare it; source() is for a table that somebody else writes",
            )
    for edge in asset.edges:
        if edge.table not in upstreams:
            raise DeclarationError(
                f"reads=: the SQL does not read {edge.table}{near(edge.table, list(upstreams))}"
            )


def _check_self_read(
    asset: Asset, query: Query, columns: dict[str, PartitionColumn], pattern: Pattern | None
) -> None:
    """A partition may read earlier partitions of its own table, never itself or later ones."""
    if isinstance(asset.partitions, TimePartitions):
        grain = asset.partitions.step
        keys: KeySpace = TimeKeys(grain, calendar.ordinal(grain, _SAMPLE), 100)
    else:
        keys = ListKeys(asset.partitions.values or (WHOLE,))
    spans = spans_read(query, asset.name, columns, pattern, keys, keys)
    for index in range(keys.size):
        if any(span.stop > index for span in spans.of(index)):
            raise DeclarationError(
                f"partition {keys.key(index)} reads itself or a later partition of {asset.name}",
                hint=f"restrict {asset.name} to earlier partitions, such as dt < '{{{{ partition.start }}}}'",
            )


def _check_outputs(asset: Asset, query: Query) -> None:
    outputs = list(query.outputs)
    column = asset.partitions.partition_column
    if column is not None and column.lower() not in outputs:
        raise DeclarationError(
            f"partition column {column} is missing from the query's output ({', '.join(outputs)})",
            hint=f"select it, such as CAST('{{{{ partition.start }}}}' AS DATE) AS {column}",
        )
    if asset.columns:
        declared = [c.name.lower() for c in asset.columns]
        for name in outputs:
            if name not in declared:
                raise DeclarationError(
                    f"the query gives column {name}, which is not declared{near(name, declared)}"
                )
        for name in declared:
            if name not in outputs:
                raise DeclarationError(
                    f"declared column {name} is not in the query's output{near(name, outputs)}"
                )


def _check_load(asset: Asset, recipe: BrokerLoad | FilesLoad | StreamLoad) -> None:
    if not asset.columns:
        raise DeclarationError("a loaded table needs its columns declared")
    if recipe.format not in _FORMATS[type(recipe)]:
        raise DeclarationError(f"format {recipe.format!r} is none of {', '.join(_FORMATS[type(recipe)])}")
    if asset.partitions.partition_column is None and not isinstance(recipe, FilesLoad):
        raise DeclarationError(
            "Broker Load and Stream Load append: a table without partitions can not be replaced by them in one step",
            hint="use files_load(), which overwrites, or partition the table",
        )
    if isinstance(recipe, BrokerLoad):
        for option in recipe.options:
            if option not in _BROKER_OPTIONS:
                raise DeclarationError(f"load_options: {option!r} is none of {', '.join(_BROKER_OPTIONS)}")
    if isinstance(recipe, StreamLoad):
        if recipe.together is not None and asset.partitions.grain is None:
            raise DeclarationError("together= needs time partitions")
        return
    first, second = probe_windows(asset)
    try:
        paths = render(recipe.path, first), render(recipe.path, second)
    except LineageError as error:
        raise DeclarationError(f"path: {error}") from error
    if asset.partitions.partition_column is not None and paths[0] == paths[1]:
        raise DeclarationError(
            f"path {recipe.path} is the same for every partition",
            hint="put the partition into it, such as dt={{ partition.key }}",
        )


def probe_windows(asset: Asset) -> tuple[Window, Window]:
    """Windows of two partitions that have nothing in common, where there are two."""
    grain = asset.partitions.grain
    if grain is None:
        values = asset.partitions.values or (WHOLE,)
        return Window(values[0]), Window(values[-1])
    return _window(grain, datetime(2013, 3, 5, 7)), _window(grain, datetime(2014, 11, 26, 18))


def _window(grain: Grain, moment: datetime) -> Window:
    number = calendar.ordinal(grain, moment)
    return Window(
        calendar.key(grain, number), calendar.start(grain, number), calendar.start(grain, number + 1), grain
    )


def _load_version(asset: Asset) -> str:
    """Fingerprint of a load: what is read, from where, into which columns."""
    recipe = asset.recipe
    if isinstance(recipe, StreamLoad):
        parts: dict[str, object] = {
            "rows": _callable_text(recipe.rows),
            "format": recipe.format,
            "columns": recipe.columns,
            "options": recipe.options,
        }
    elif isinstance(recipe, BrokerLoad):
        parts = {
            "path": recipe.path,
            "format": recipe.format,
            "columns": recipe.columns,
            "set": recipe.set,
            "options": recipe.options,
        }
    elif isinstance(recipe, FilesLoad):
        parts = {
            "path": recipe.path,
            "format": recipe.format,
            "select": recipe.select,
            "options": recipe.options,
        }
    else:
        parts = {}
    kind = type(recipe).__name__
    text = json.dumps([kind, parts, [c.name for c in asset.columns]], sort_keys=True, default=list)
    return f"load1:{hashlib.sha256(text.encode()).hexdigest()[:24]}"


def _callable_text(function: RowSource) -> str:
    """The function's syntax tree, so that comments and layout do not count; its name where there is no source."""
    name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', type(function).__qualname__)}"
    try:
        return name + ast.dump(ast.parse(textwrap.dedent(inspect.getsource(function))))
    except (OSError, TypeError, SyntaxError):
        return name


def near(name: str, choices: Iterable[str]) -> str:
    """`; did you mean x?` where a choice resembles the name, else nothing."""
    found = get_close_matches(name, list(choices), n=1, cutoff=0.6)
    return f"; did you mean {found[0]}?" if found else ""
