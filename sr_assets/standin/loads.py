"""Broker Load: LOAD LABEL and CANCEL LOAD. Loads run in the background and take their time."""

# ruff: noqa: S608 - DuckDB text is built here: names go through quote(), values through literal()

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import duckdb

from sr_assets.standin import files
from sr_assets.standin.cancellation import Cancellation
from sr_assets.standin.engine import Context
from sr_assets.standin.errors import Cancelled, ServerError, analyzing, not_implemented
from sr_assets.standin.files import CsvOptions
from sr_assets.standin.jobs import Job
from sr_assets.standin.lexer import Cursor, text_of
from sr_assets.standin.model import Table
from sr_assets.standin.results import Done, Result
from sr_assets.standin.staging import Target
from sr_assets.standin.storage import quote
from sr_assets.standin.writing import Tolerance

_DEFAULT_TIMEOUT = 14400.0


@dataclass(slots=True)
class DataDescription:
    """One DATA INFILE clause. `set_clauses` and `where` are DuckDB text."""

    paths: list[str]
    table: Table
    names: tuple[str, ...] | None = None
    temporary: bool = False
    format: str = ""
    options: dict[str, str] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)
    path_columns: list[str] = field(default_factory=list)
    set_clauses: dict[str, str] = field(default_factory=dict)
    where: str = ""


def load(context: Context, cursor: Cursor) -> Result:
    """LOAD LABEL [db.]l (DATA INFILE ..., ...) WITH BROKER [name] (...) [PROPERTIES (...)]"""
    cursor.expect("LABEL")
    db, label = context.qualify(cursor.dotted_name())
    context.store.database(db)
    descriptions = [_describe(context, db, item) for item in cursor.items()]
    if cursor.accept("WITH", "RESOURCE"):
        raise not_implemented("Spark Load")
    cursor.expect("WITH", "BROKER")
    if not cursor.done() and not cursor.at("(") and not cursor.at("PROPERTIES"):
        cursor.name()
    if cursor.at("("):
        cursor.properties()
    properties = cursor.properties() if cursor.accept("PROPERTIES") else {}
    cursor.end()
    engine = context.engine
    job = engine.jobs.begin(
        context.cancellation.cursor,
        db=db,
        table=descriptions[0].table.name,
        label=label,
        type="BROKER",
        user=context.user,
        properties=properties,
    )
    cancellation = Cancellation(context.store.cursor())
    engine.jobs.running(job, cancellation)
    runner = _BrokerLoad(context, cancellation, job, descriptions)
    engine.background(f"load-{label}", runner.run)
    return Done()


def cancel(context: Context, cursor: Cursor) -> Result:
    """CANCEL LOAD [FROM db] WHERE LABEL = "l" """
    cursor.expect("LOAD")
    db = cursor.name() if cursor.accept("FROM") else context.database
    cursor.expect("WHERE", "LABEL")
    cursor.expect("=")
    label = cursor.string()
    cursor.end()
    if db is None:
        raise ServerError("No database selected", 1046)
    context.store.database(db)
    context.engine.jobs.cancel(context.cancellation.cursor, db, label)
    return Done()


def _describe(context: Context, db: str, cursor: Cursor) -> DataDescription:
    cursor.expect("DATA", "INFILE")
    paths = [item.string() for item in cursor.items()]
    if cursor.accept("NEGATIVE"):
        raise not_implemented("NEGATIVE loads")
    cursor.expect("INTO", "TABLE")
    found = DataDescription(paths, context.store.table(db, cursor.name()))
    while not cursor.done():
        _clause(context, found, cursor)
    return found


def _clause(context: Context, found: DataDescription, cursor: Cursor) -> None:
    if cursor.accept("TEMPORARY"):
        found.temporary = True
    elif cursor.accept_any("PARTITION", "PARTITIONS"):
        found.names = tuple(cursor.names())
    elif cursor.accept("COLUMNS", "TERMINATED", "BY"):
        found.options["column_separator"] = cursor.string()
    elif cursor.accept("ROWS", "TERMINATED", "BY"):
        if files.unescape_separator(cursor.string()) != "\n":
            raise not_implemented("row delimiters other than a newline")
    elif cursor.accept("FORMAT", "AS"):
        found.format = cursor.name().lower()
        if cursor.at("(") and _is_options(cursor):
            found.options |= _format_options(cursor)
    elif cursor.accept("COLUMNS", "FROM", "PATH", "AS"):
        found.path_columns = cursor.names()
    elif cursor.accept("SET"):
        found.set_clauses = dict(_assignment(context, found, item) for item in cursor.items())
    elif cursor.accept("WHERE"):
        found.where = context.expression(cursor.rest(), texts=True)
        cursor.position = len(cursor.tokens)
    elif cursor.at("("):
        found.columns = cursor.names()
    else:
        raise cursor.unexpected()


def _is_options(cursor: Cursor) -> bool:
    """Whether `(name = ...` follows: the format's options, not a column list."""
    token = cursor.peek(2)
    return token is not None and token.text == "="


def _format_options(cursor: Cursor) -> dict[str, str]:
    """`(skip_header = 1, trim_space = TRUE enclose = '"')`: commas between the options are optional."""
    inner = Cursor(cursor.sql, cursor.brackets())
    options = {}
    while not inner.done():
        key = inner.name().lower()
        inner.expect("=")
        options[key] = inner.next().value
        inner.accept(",")
    return options


def _assignment(context: Context, found: DataDescription, item: Cursor) -> tuple[str, str]:
    column = found.table.definition.column(item.name())
    item.expect("=")
    return column.name, context.expression(text_of(item.sql, item.tokens[item.position :]), texts=True)


class _BrokerLoad:
    """One load in the background: PENDING, LOADING, then FINISHED or CANCELLED."""

    def __init__(
        self, context: Context, cancellation: Cancellation, job: Job, descriptions: Sequence[DataDescription]
    ) -> None:
        self._engine = context.engine
        self._cancellation = cancellation
        self._job = job
        self._descriptions = descriptions

    def run(self) -> None:
        job, writer = self._job, self._engine.writer
        try:
            with writer.job(self._cancellation, job):
                self._load()
        except (ServerError, duckdb.Error):
            return  # the job's row says it
        finally:
            self._cancellation.close()

    def _load(self) -> None:
        job, faults, cancellation = self._job, self._engine.faults, self._cancellation
        names = (job.db, job.table)
        slow = faults.hit("slow_load", *names)
        delay = slow.seconds if slow else self._engine.config.load_delay
        timeout = float(job.properties.get("timeout", _DEFAULT_TIMEOUT))
        cancellation.pause(delay / 2)
        job.start()
        self._engine.jobs.record(cancellation.cursor, job)
        cancellation.pause(min(delay / 2, timeout))
        if delay / 2 > timeout:
            raise Cancelled("type:TIMEOUT; msg:loading timeout to cancel")
        gate = faults.hit("hold_load", *names)
        if gate is not None:
            held = gate
            with faults.waiting(held):
                cancellation.wait_while(lambda: faults.enabled(held))
        failure = faults.hit("load_cancel", *names)
        if failure is not None:
            raise Cancelled(failure.argument or "type:LOAD_RUN_FAIL; msg:Cancelled because of runtime state")
        parts = [self._part(description) for description in self._descriptions]
        ratio = float(job.properties.get("max_filter_ratio", "0"))
        strict = job.properties.get("strict_mode", "false").lower() == "true"
        self._engine.writer.load(cancellation, job, parts, Tolerance(strict, ratio))

    def _part(self, description: DataDescription) -> tuple[Target, str]:
        try:
            found = files.find(self._engine.config.storage_root, description.paths)
        except ServerError as error:
            raise ServerError(f"type:ETL_RUN_FAIL; msg:{error.message}") from error
        self._job.files += len(found)
        self._job.bytes += sum(file.stat().st_size for file in found)
        kind = description.format or files.guess_format(found)
        names = [column.name for column in description.table.definition.columns]
        given = description.columns or [name for name in names if name not in description.path_columns]
        if kind == "csv":
            relation = files.csv_relation(found, CsvOptions.parse(description.options), given)
        elif kind == "parquet":
            relation = files.parquet_relation(found)
        else:
            raise not_implemented(f"Broker Load of format '{kind}'")
        return source_query(
            self._cancellation.cursor,
            self._job,
            Target(description.table, names=description.names, temporary=description.temporary),
            relation=relation,
            given=given,
            path_columns=description.path_columns,
            set_clauses=description.set_clauses,
            where=description.where,
            csv=kind == "csv",
        )


def source_query(
    cursor: duckdb.DuckDBPyConnection,
    job: Job,
    target: Target,
    *,
    relation: str,
    given: Sequence[str],
    path_columns: Sequence[str] = (),
    set_clauses: Mapping[str, str],
    where: str,
    csv: bool,
) -> tuple[Target, str]:
    """The target and the query of files with columns `given`: SET computes more, WHERE leaves out rows.

    Lines of CSV that cannot be read and rows that WHERE leaves out are counted on the job.
    """
    stage = f"source_{job.txn}_{job.files}"  # each part has more files than the one before
    base = [quote(name) for name in given]
    base += [f"{files.path_column(name)} AS {quote(name)}" for name in path_columns]
    try:
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE {stage} AS SELECT {', '.join(base)} FROM {relation}")
        if csv:
            _count_rejects(cursor, job)
    except duckdb.InterruptException:
        raise  # cancelled, which the caller explains
    except duckdb.Error as error:
        raise analyzing(str(error).splitlines()[0]) from error
    plain = [name for name in [*given, *path_columns] if name not in set_clauses]
    fields = [quote(name) for name in plain] + [
        f"{text} AS {quote(name)}" for name, text in set_clauses.items()
    ]
    query = f"SELECT {', '.join(fields)} FROM {stage}"
    if where:
        total = cursor.execute(f"SELECT count(*) FROM ({query})").fetchone()
        query = f"SELECT * FROM ({query}) WHERE {where}"
        chosen = cursor.execute(f"SELECT count(*) FROM ({query})").fetchone()
        assert total is not None and chosen is not None
        job.unselected += total[0] - chosen[0]
    wanted = [name for name in [*plain, *set_clauses] if _has_column(target.table, name)]
    final = f"SELECT {', '.join(quote(name) for name in wanted)} FROM ({query})"
    return Target(target.table, tuple(wanted), target.names, None, target.temporary), final


def _has_column(table: Table, name: str) -> bool:
    return any(column.name.lower() == name.lower() for column in table.definition.columns)


def _count_rejects(cursor: duckdb.DuckDBPyConnection, job: Job) -> None:
    row = cursor.execute("SELECT count(DISTINCT (file_id, line)) FROM reject_errors").fetchone()
    job.filtered += row[0] if row else 0
    cursor.execute("DROP TABLE reject_errors; DROP TABLE reject_scans")
