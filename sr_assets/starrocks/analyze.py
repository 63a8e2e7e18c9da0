"""Statistics for the optimizer."""

from __future__ import annotations

from collections.abc import Sequence

from sr_assets.starrocks.quoting import TableName, identifiers
from sr_assets.starrocks.session import Session


def analyze(session: Session, table: str, partitions: Sequence[str] | None = None) -> None:
    """Starts the collection of a table's statistics and returns at once.

    ANALYZE takes `partitions` since 3.5 (PR #53343); before, the whole table is analyzed.
    """
    statement = f"ANALYZE TABLE {TableName.parse(table).sql}"
    if partitions and session.version() >= (3, 5, 0):
        statement += f" PARTITION ({identifiers(partitions)})"
    session.execute(f"{statement} WITH ASYNC MODE")
