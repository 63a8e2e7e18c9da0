"""Broker Load: StarRocks reads files from an object store or a file system by itself, asynchronously."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sr_assets.errors import DeadlineExceeded, DeclarationError, StarRocksError
from sr_assets.starrocks.labels import (
    LabelOutcome,
    LabelState,
    LabelUsed,
    LoadResult,
    label_conflicts,
    label_state,
)
from sr_assets.starrocks.quoting import TableName, identifier, identifiers, literal, text
from sr_assets.starrocks.quoting import properties as property_list
from sr_assets.starrocks.session import Session
from sr_assets.starrocks.transient import is_transient

# A submitted load that StarRocks does not list: followers lag behind the leader, but not for so long.
UNSEEN_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files of one format for one table: a `DATA INFILE` clause.

    `columns` names the files' columns in their order (CSV) or those to be read (Parquet, ORC); `set` gives
    expressions for further table columns, by name. The csv options apply to format `csv` only.
    """

    paths: tuple[str, ...]
    format: str
    partitions: tuple[str, ...] = ()
    temporary_partitions: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    columns_from_path: tuple[str, ...] = ()
    set: Mapping[str, str] = field(default_factory=dict)
    where: str = ""
    column_separator: str = ""
    row_delimiter: str = ""
    skip_header: int = 0
    trim_space: bool = False
    enclose: str = ""
    escape: str = ""


def broker_load(
    session: Session,
    *,
    table: str,
    files: Sequence[FileGroup],
    label: str,
    properties: Mapping[str, object],
    broker: Mapping[str, str],
    deadline: float,
    poll: float = 1.0,
    progress: Callable[[str], None] | None = None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> LoadResult:
    """Submits a load and waits until its rows are visible. A load that runs under the label already is
    adopted.

    `deadline` and `poll` are in seconds. `progress` is called with texts such as `LOADING ETL:100%;
    LOAD:45%`, once for each that is new. Raises LabelUsed if a load under the label has finished before this
    call, StarRocksError if the load is cancelled, DeadlineExceeded after cancelling it at the deadline.
    """
    ends = clock() + deadline
    database = TableName.parse(table).database
    statement = broker_load_statement(table, files, label=label, properties=properties, broker=broker)
    try:
        with label_conflicts():
            session.execute(statement)
    except LabelUsed:
        if label_state(session, database, label).state is LabelState.FINISHED:
            raise
    told = ""
    for outcome in _looks(session, database, label, ends, poll, sleep, clock):
        if outcome.progress not in {"", told}:
            told = outcome.progress
            if progress:
                progress(told)
        if outcome.state is LabelState.FINISHED:
            return LoadResult(label, outcome.rows, outcome.filtered)
        if outcome.state is LabelState.CANCELLED:
            raise _cancelled(label, outcome)
    outcome = _give_up(session, database, label, told)
    return LoadResult(label, outcome.rows, outcome.filtered)


def cancel_load(session: Session, database: str, label: str) -> None:
    """Asks StarRocks to cancel a load. StarRocksError if there is none, or it is past cancelling."""
    session.execute(f"CANCEL LOAD FROM {identifier(database)} WHERE LABEL = {literal(label)}")


def broker_load_statement(
    table: str,
    files: Sequence[FileGroup],
    *,
    label: str,
    properties: Mapping[str, object],
    broker: Mapping[str, str],
) -> str:
    """The LOAD LABEL statement's text."""
    name = TableName.parse(table)
    if not files or not all(group.paths for group in files):
        raise DeclarationError(f"No file was named to be loaded into {table}")
    groups = ",\n".join(_data_infile(name, group) for group in files)
    statement = f"LOAD LABEL {identifier(name.database)}.{identifier(label)} (\n{groups}\n)"
    statement += f"\nWITH BROKER ({property_list(broker)})" if broker else "\nWITH BROKER"
    return statement + (f"\nPROPERTIES ({property_list(properties)})" if properties else "")


def _data_infile(table: TableName, group: FileGroup) -> str:
    if group.partitions and group.temporary_partitions:
        raise DeclarationError(f"A load into {table} names partitions and temporary partitions: choose one")
    lines = [
        f"  DATA INFILE ({', '.join(map(text, group.paths))})",
        f"INTO TABLE {identifier(table.table)}",
    ]
    if group.partitions:
        lines.append(f"PARTITION ({identifiers(group.partitions)})")
    if group.temporary_partitions:
        lines.append(f"TEMPORARY PARTITION ({identifiers(group.temporary_partitions)})")
    if group.column_separator:
        lines.append(f"COLUMNS TERMINATED BY {text(group.column_separator)}")
    if group.row_delimiter:
        lines.append(f"ROWS TERMINATED BY {text(group.row_delimiter)}")
    lines.append(f"FORMAT AS {text(group.format)}")
    # The grammar's rule formatProps: this order, no commas
    options = [
        f"skip_header = {group.skip_header}" if group.skip_header else "",
        "trim_space = TRUE" if group.trim_space else "",
        f"enclose = {text(group.enclose)}" if group.enclose else "",
        f"escape = {text(group.escape)}" if group.escape else "",
    ]
    if any(options):
        lines.append(f"({' '.join(filter(None, options))})")
    if group.columns:
        lines.append(f"({identifiers(group.columns)})")
    if group.columns_from_path:
        lines.append(f"COLUMNS FROM PATH AS ({identifiers(group.columns_from_path)})")
    if group.set:
        assignments = ", ".join(f"{identifier(name)} = {sql}" for name, sql in group.set.items())
        lines.append(f"SET ({assignments})")
    if group.where:
        lines.append(f"WHERE {group.where}")
    return "\n    ".join(lines)


def _looks(
    session: Session,
    database: str,
    label: str,
    ends: float,
    poll: float,
    sleep: Callable[[float], None],
    clock: Callable[[], float],
) -> Iterator[LabelOutcome]:
    """The label's state every `poll` seconds, until the deadline. Raises where StarRocks has forgotten it."""
    began, seen = clock(), False
    while True:
        outcome = label_state(session, database, label)
        unknown = outcome.state is LabelState.UNKNOWN
        if unknown and (seen or clock() - began > UNSEEN_SECONDS):
            raise StarRocksError(
                f"StarRocks no longer lists load {label}",
                hint="Labels are forgotten after about 1,000 later loads: look at the partition.",
            )
        seen = seen or not unknown
        yield outcome
        if clock() >= ends:
            return
        sleep(min(poll, max(ends - clock(), 0.0)))


def _give_up(session: Session, database: str, label: str, progress: str) -> LabelOutcome:
    """Cancels at the deadline; a load that finished just then has finished."""
    try:
        cancel_load(session, database, label)
        ending = "it was cancelled"
    except StarRocksError as error:
        latest = label_state(session, database, label)
        if latest.state is LabelState.FINISHED:
            return latest
        ending = f"cancelling it was refused: {error.message}"
    raise DeadlineExceeded(
        f"Load {label} did not finish before its deadline ({progress or 'never listed'}); {ending}",
        hint="Give it a later deadline, or load fewer files at once.",
    )


def _cancelled(label: str, outcome: LabelOutcome) -> StarRocksError:
    return StarRocksError(
        f"Load {label} was cancelled: {outcome.error or 'StarRocks gives no reason'}",
        transient=is_transient(-1, outcome.error),
        hint=f"Refused rows: {outcome.tracking}" if outcome.tracking else None,
    )
