"""INSERT OVERWRITE of named partitions."""

from __future__ import annotations

from collections.abc import Sequence

from sr_assets.errors import DeclarationError
from sr_assets.starrocks.catalog import read_partitions
from sr_assets.starrocks.labels import label_conflicts
from sr_assets.starrocks.quoting import TableName, identifier, identifiers, properties
from sr_assets.starrocks.session import Session


def overwrite(
    session: Session,
    table: str,
    *,
    partitions: Sequence[str] | None,
    columns: Sequence[str],
    select: str,
    label: str,
    timeout: int,
) -> int:
    """Replaces the rows of `partitions` by those of `select`, whose text is sent as it is given. Gives their number.

    `partitions` are physical names, all existing; None only for a table without partitions, as an overwrite
    without PARTITION empties every partition that gets no row. `timeout` is in seconds.
    Raises LabelUsed if the label is taken. After a transient StarRocksError the statement may still have been
    carried out: decide by label and fingerprint.
    """
    if partitions is None:
        _refuse_partitioned(session, table)
    # 3.4 bounds INSERT by insert_timeout and takes it as a property; before, query_timeout (300 s) ends it
    has_property = session.version() >= (3, 4, 0)
    statement = overwrite_statement(
        table,
        partitions=partitions,
        columns=columns,
        select=select,
        label=label,
        timeout=timeout if has_property else None,
    )
    with label_conflicts():
        if has_property:
            return session.execute(statement)
        with session.variables({"query_timeout": timeout}):
            return session.execute(statement)


def overwrite_statement(
    table: str,
    *,
    partitions: Sequence[str] | None,
    columns: Sequence[str],
    select: str,
    label: str,
    timeout: int | None,
) -> str:
    """The statement's text; `timeout` None leaves the PROPERTIES clause out."""
    if partitions is not None and not partitions:
        raise DeclarationError(f"No partition of {table} was named to be overwritten")
    if not columns:
        raise DeclarationError(f"No column of {table} was named to be overwritten")
    lines = [f"INSERT OVERWRITE {TableName.parse(table).sql}"]
    if partitions is not None:
        lines.append(f"PARTITION ({identifiers(partitions)})")
    lines += [f"WITH LABEL {identifier(label)}", f"({identifiers(columns)})"]
    if timeout is not None:
        lines.append(f"PROPERTIES ({properties({'timeout': timeout})})")
    return "\n".join([*lines, select])


def _refuse_partitioned(session: Session, table: str) -> None:
    parts = read_partitions(session, [table]).get(table, ())
    if any(part.lower or part.upper or part.values for part in parts):
        raise DeclarationError(
            f"{table} is partitioned: overwriting it without naming partitions would empty the others",
            hint="Name the partitions to be replaced.",
        )
