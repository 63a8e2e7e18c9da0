"""Labels: the state of the load that carries one, and INSERT of rows under one.

A label is unique in its database among loads that were not cancelled; it is forgotten after three days or
about 1,000 later loads. FINISHED does not prove that an INSERT OVERWRITE was swapped in (its load commits
into temporary partitions first), and UNKNOWN does not prove that nothing happened: look at the partition's
fingerprint.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sr_assets.errors import StarRocksError
from sr_assets.starrocks.drivers import as_text
from sr_assets.starrocks.quoting import TableName, identifier, identifiers, literal, literals, qualified
from sr_assets.starrocks.session import Session

CHUNK_BYTES = 1 << 20

_USED = re.compile(r"label \[?[-\w]*\]? (has )?already (been )?(used|exists)", re.IGNORECASE)


class LabelUsed(StarRocksError):
    """The label belongs to a load that runs or has finished: somebody sent this work before."""


class LabelState(StrEnum):
    UNKNOWN = "unknown"
    RUNNING = "running"
    FINISHED = "finished"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class LabelOutcome:
    """What StarRocks says of a label's newest load.

    `tracking` is a URL or an SQL text that lists the refused rows.
    """

    state: LabelState
    error: str = ""
    rows: int = 0
    filtered: int = 0
    progress: str = ""
    tracking: str = ""


@dataclass(frozen=True, slots=True)
class LoadResult:
    """A load that was committed. `visible` is False while it is durable but cannot be read yet."""

    label: str
    rows: int
    filtered: int
    visible: bool = True


def label_state(session: Session, database: str, label: str) -> LabelOutcome:
    """The state of a label.

    Of several loads under one label the newest counts: after a cancelled one the label may be used again.
    """
    loads = [
        load
        for load in session.records("SELECT * FROM information_schema.loads WHERE LABEL = %s", [label])
        if as_text(load.get("DB_NAME", load.get("DATABASE_NAME"))) == database  # DATABASE_NAME before 3.4.5
    ]
    if not loads:
        loads = session.records(f"SHOW LOAD FROM {identifier(database)} WHERE LABEL = {literal(label)}")
    return _outcome(max(loads, key=_job_id)) if loads else LabelOutcome(LabelState.UNKNOWN)


def _job_id(load: dict[str, Any]) -> int:
    # information_schema has JOB_ID (and ID in newer layouts), SHOW LOAD has JobId
    return int(load.get("JOB_ID") or load.get("JOBID") or load.get("ID") or 0)


def _outcome(load: dict[str, Any]) -> LabelOutcome:
    def text(*names: str) -> str:
        return next((as_text(load[name]) for name in names if load.get(name) is not None), "")

    def number(*names: str) -> int:
        return int(text(*names) or 0)

    states = {"FINISHED": LabelState.FINISHED, "CANCELLED": LabelState.CANCELLED}
    return LabelOutcome(
        # PENDING, QUEUEING, LOADING, PREPARED and, for other kinds of loads, more: all of them under way
        state=states.get(text("STATE").upper(), LabelState.RUNNING),
        error=text("ERROR_MSG", "ERRORMSG"),
        rows=number("SINK_ROWS", "SINKROWS"),
        filtered=number("FILTERED_ROWS", "FILTEREDROWS"),
        progress=" ".join(filter(None, (text("STATE"), text("PROGRESS")))),
        tracking=text("TRACKING_SQL", "TRACKINGSQL", "TRACKING_URL"),
    )


@contextmanager
def label_conflicts() -> Iterator[None]:
    """Turns StarRocks' `Label [x] has already been used` into LabelUsed."""
    try:
        yield
    except LabelUsed:
        raise
    except StarRocksError as error:
        if not is_label_conflict(error.message):
            raise
        raise LabelUsed(error.message, code=error.code, statement=error.statement) from error


def is_label_conflict(message: str) -> bool:
    """Whether a message says that a label is taken; wording and status differ by version (issue #57982)."""
    return bool(_USED.search(message))


def make_label(*parts: object, limit: int = 128) -> str:
    """A legal label (`[-A-Za-z0-9_]`, at most `limit` characters) out of `parts`, joined by underscores.

    The same parts give the same label. Where characters had to be replaced or cut, eight hexadecimal digits
    of a hash keep labels of different parts apart.
    """
    plain = "_".join(map(str, parts))
    label = re.sub(r"[^-\w]", "_", plain, flags=re.ASCII)
    if label == plain and 0 < len(label) <= limit:
        return label
    digest = hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:8]
    return f"{label[: limit - 9]}_{digest}"


def insert_rows(
    session: Session,
    table: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    label: str | None = None,
) -> None:
    """INSERT INTO … VALUES: with a label one statement, else one for about every megabyte of rows.

    With a label either all rows are inserted or none. Raises LabelUsed if the label is taken.
    """
    head = f"INSERT INTO {qualified(TableName.parse(table))}"
    if label is not None:
        head += f" WITH LABEL {identifier(label)}"
    head += f" ({identifiers(columns)}) VALUES "
    tuples = [f"({literals(row)})" for row in rows]  # type: ignore[arg-type]  # literal() refuses other types
    with label_conflicts():
        for values in [tuples] if label is not None and tuples else _chunks(tuples):
            session.execute(head + ", ".join(values))


def _chunks(tuples: Sequence[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    size = 0
    for text in tuples:
        if chunk and size + len(text) > CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
        chunk.append(text)
        size += len(text)
    if chunk:
        yield chunk
