"""Declarations: what a data engineer writes.

An `Asset` is one StarRocks table with the recipe that makes its partitions. Declaring never raises for a
wrong asset: everything is checked when the project is loaded, so that one mistake leaves the other assets
of its module alone. An asset is found by the module-level name it is bound to.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict, Unpack

from lineage import Window
from lineage.calendar import Grain
from sr_assets.checks import Check
from sr_assets.partitions import PartitionsDefinition, Unpartitioned
from sr_assets.starrocks.tables import Column

#: Rows for a Stream Load: called with the window of the partitions to load, gives the body's bytes.
RowSource = Callable[[Window], bytes | Iterable[bytes]]


@dataclass(frozen=True, slots=True)
class Location:
    """Where an asset is declared."""

    file: Path
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Sql:
    """INSERT OVERWRITE from a query. `file` is set where the text stands in a .sql file."""

    text: str
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class BrokerLoad:
    """LOAD LABEL from files in object storage; `path` is a template over the partition."""

    path: str
    format: str
    columns: tuple[str, ...] = ()
    set: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FilesLoad:
    """INSERT OVERWRITE … SELECT … FROM FILES(): whole files, read by the server.

    `select` maps each column of the table to an expression over the file (`$1`, … in CSV).
    """

    path: str
    format: str
    select: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StreamLoad:
    """Rows pushed over HTTP. One load covers the partitions of one step of `together`."""

    rows: RowSource
    format: str
    columns: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    together: Grain | None = None


@dataclass(frozen=True, slots=True)
class External:
    """Somebody else writes this table; its partitions are only observed."""


Recipe = Sql | BrokerLoad | FilesLoad | StreamLoad | External


@dataclass(frozen=True, slots=True)
class EdgeOptions:
    """What is said about reading one upstream table, beside what the SQL says."""

    table: str
    invalidates: bool = True


@dataclass(frozen=True)
class Asset:
    """One table, `database.table`, and how its partitions are made.

    `batch` is the largest number of partitions that one claim, and so one Airflow task, writes.
    `deadline` bounds every wait for StarRocks, in seconds.
    """

    name: str
    recipe: Recipe
    partitions: PartitionsDefinition
    columns: tuple[Column, ...]
    location: Location
    key: tuple[str, ...] = ()
    key_model: str = "duplicate"
    distributed_by: tuple[str, ...] = ()
    buckets: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    description: str = ""
    owner: str = ""
    group: str = ""
    tags: tuple[str, ...] = ()
    schedule: str | None = None
    checks: tuple[Check, ...] = ()
    edges: tuple[EdgeOptions, ...] = ()
    batch: int = 30
    deadline: float = 3600.0

    @property
    def database(self) -> str:
        return self.name.partition(".")[0]

    @property
    def external(self) -> bool:
        return isinstance(self.recipe, External)


def reads(table: str, *, invalidates: bool = True) -> EdgeOptions:
    """Say more about an upstream that the SQL reads.

    `invalidates=False`: newer data there does not make this asset stale (a slowly changing dimension).
    """
    return EdgeOptions(table, invalidates)


class AssetOptions(TypedDict, total=False):
    """What every kind of asset takes beside its recipe.

    partitions        how the table is cut; unpartitioned when left out
    columns           the table's columns, in order; needed to create the table
    key, key_model    key columns, of a `duplicate` (default) or `primary` key table
    distributed_by    hash columns; random when left out (the key of a primary key table)
    buckets           buckets of a partition; StarRocks chooses when left out
    properties        the table's PROPERTIES
    schedule          cron expression that starts the asset, beside its upstream assets
    checks            run on every partition after it was written
    reads             what is to be said about upstream tables beside the SQL, see `reads()`
    batch             largest number of partitions that one task writes
    deadline          bound of every wait for StarRocks, in seconds
    """

    partitions: PartitionsDefinition
    columns: Sequence[Column]
    key: Sequence[str]
    key_model: str
    distributed_by: Sequence[str]
    buckets: int
    properties: Mapping[str, str]
    description: str
    owner: str
    group: str
    tags: Sequence[str]
    schedule: str
    checks: Sequence[Check]
    reads: Sequence[EdgeOptions]
    batch: int
    deadline: float


def table(name: str, *, sql: str, **options: Unpack[AssetOptions]) -> Asset:
    """A table made by a query. Upstream assets, columns and partitions read come from the query itself.

    `sql` is the text, or a path ending in `.sql`, relative to the declaring file. It is a Jinja template
    over the partition: `{{ partition.start }}`, `{{ partition.end }}` (exclusive), `{{ partition.key }}`.
    """
    location = _caller()
    is_file = sql.strip().endswith(".sql") and len(sql.split()) == 1
    recipe = Sql("", location.file.parent / sql.strip()) if is_file else Sql(sql)
    return _asset(name, recipe, location, options)


def broker_load(
    name: str,
    *,
    path: str,
    format: str,
    load_columns: Sequence[str] = (),
    set: Mapping[str, str] | None = None,
    load_options: Mapping[str, str] | None = None,
    **options: Unpack[AssetOptions],
) -> Asset:
    """A table loaded by Broker Load, one set of files a partition.

    `path` is a template over the partition, such as `s3://lake/orders/dt={{ partition.key }}/*.parquet`;
    `format` is `parquet`, `orc` or `csv`. `load_columns` names the file's columns (CSV: by position),
    `set` computes table columns from them, `load_options` holds `column_separator`, `skip_header`, `enclose`.
    """
    recipe = BrokerLoad(path, format, tuple(load_columns), dict(set or {}), dict(load_options or {}))
    return _asset(name, recipe, _caller(), options)


def files_load(
    name: str,
    *,
    path: str,
    format: str,
    select: Mapping[str, str] | None = None,
    load_options: Mapping[str, str] | None = None,
    **options: Unpack[AssetOptions],
) -> Asset:
    """A table overwritten from files by `INSERT OVERWRITE … SELECT … FROM FILES()`.

    `select` gives the expression of each table column over the file's columns (`$1`, `$2`, … in CSV);
    left out, columns go by name. `load_options` are properties of FILES(), such as `csv.column_separator`.
    """
    recipe = FilesLoad(path, format, dict(select or {}), dict(load_options or {}))
    return _asset(name, recipe, _caller(), options)


def stream_load(
    name: str,
    *,
    rows: RowSource,
    format: str = "csv",
    load_columns: Sequence[str] = (),
    load_options: Mapping[str, str] | None = None,
    together: Grain | None = None,
    **options: Unpack[AssetOptions],
) -> Asset:
    """A table loaded by Stream Load, with the bytes that `rows(window)` gives.

    `together=Grain.DAY` loads all hours of a day in one request. `load_columns` names the columns of the
    body in order; `load_options` are headers of Stream Load, such as `column_separator`.
    """
    recipe = StreamLoad(rows, format, tuple(load_columns), dict(load_options or {}), together)
    return _asset(name, recipe, _caller(), options)


def source(name: str, **options: Unpack[AssetOptions]) -> Asset:
    """A table that somebody else writes: observed, never built."""
    return _asset(name, External(), _caller(), options)


def _asset(name: str, recipe: Recipe, location: Location, options: AssetOptions) -> Asset:
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in options.items()
    }
    edges = values.pop("reads", ())
    partitions = values.pop("partitions", None) or Unpartitioned()
    columns = values.pop("columns", ())
    return Asset(
        name=name,
        recipe=recipe,
        location=location,
        partitions=partitions,
        columns=columns,
        edges=tuple(edges),
        **values,
    )


def _caller() -> Location:
    """The line outside of this module that is declaring an asset."""
    frame = sys._getframe(2)
    return Location(Path(frame.f_code.co_filename), frame.f_lineno)
