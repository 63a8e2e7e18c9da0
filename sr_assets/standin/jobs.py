"""Load jobs and their labels.

A label is unique in a database among jobs that were not cancelled, and is forgotten 3 days after its job
ended or when 1,000 newer ones have ended (StarRocks: label_keep_max_second, label_keep_max_num).
"""

# ruff: noqa: S608 - DuckDB text is built here: names go through quote(), values through literal()

from __future__ import annotations

import itertools
import json
import re
import threading
import time
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

import duckdb

from sr_assets.standin.cancellation import Cancellation
from sr_assets.standin.errors import ServerError
from sr_assets.standin.storage import Store, Transaction, now

LABEL = re.compile(r"[-\w]{1,128}", re.ASCII)
KEEP_FOR = timedelta(days=3)
KEEP_COUNT = 1000
_CANCEL_WAIT = 5.0  # seconds
_PRUNE_EVERY = 20  # jobs; StarRocks sweeps every 30 seconds

State = Literal["PENDING", "LOADING", "COMMITTED", "FINISHED", "CANCELLED"]
ENDED = ("COMMITTED", "FINISHED", "CANCELLED")


class LabelUsed(ServerError):
    """The label belongs to another job of this database, which runs or ran to its end."""

    def __init__(self, label: str, state: str) -> None:
        super().__init__(f"Label [{label}] has already been used.")
        self.existing_status = "FINISHED" if state in ("COMMITTED", "FINISHED") else "RUNNING"


@dataclass(slots=True)
class Job:
    """One load: INSERT, DELETE, UPDATE, Broker Load or Stream Load."""

    id: int
    txn: int
    db: str
    table: str
    label: str
    type: str
    user: str
    state: State = "PENDING"
    scanned: int = 0
    filtered: int = 0
    unselected: int = 0
    loaded: int = 0
    error: str = ""
    created: datetime = field(default_factory=now)
    started: datetime | None = None
    finished: datetime | None = None
    properties: dict[str, str] = field(default_factory=dict)
    bytes: int = 0
    files: int = 0

    def start(self) -> None:
        self.state, self.started = "LOADING", now()

    def finish(self, state: State = "FINISHED") -> None:
        self.state, self.finished = state, now()

    def cancel(self, error: str) -> None:
        """`error` as StarRocks has it: `type:LOAD_RUN_FAIL; msg:...`"""
        self.state, self.finished = "CANCELLED", now()
        self.error = error if error.startswith("type:") else f"type:LOAD_RUN_FAIL; msg:{error}"

    @property
    def tracking_sql(self) -> str:
        return f"select tracking_log from information_schema.load_tracking_logs where job_id={self.id}"


class Jobs:
    """The load jobs of one server. Their rows live in the store; only running work is kept here."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._running: dict[int, Cancellation] = {}
        self._lock = threading.Lock()
        self._begun = itertools.count()

    def recover(self) -> None:
        """Cancel what a killed server had begun."""
        with self._store.transaction(self._store.cursor()) as change:
            change.execute(
                "UPDATE meta.jobs SET state = 'CANCELLED', finished = ?, "
                "error = 'type:LOAD_RUN_FAIL; msg:FE restarted, the load was not committed' "
                "WHERE state IN ('PENDING', 'LOADING')",
                [now()],
            )
            change.execute("UPDATE meta.jobs SET state = 'FINISHED' WHERE state = 'COMMITTED'")
            change.execute(
                "UPDATE meta.tasks SET state = 'FAILED', finished = ?, error = 'Fe abort the task' "
                "WHERE state IN ('PENDING', 'RUNNING')",
                [now()],
            )

    def begin(
        self,
        cursor: duckdb.DuckDBPyConnection,
        *,
        db: str,
        table: str,
        label: str | None,
        type: str,
        user: str,
        properties: dict[str, str] | None = None,
    ) -> Job:
        """Take the label: of two jobs that want it, one gets it and the other LabelUsed."""
        if label is not None and LABEL.fullmatch(label) is None:
            raise ServerError(f"Label format error. regex: ^[-\\w]{{1,128}}$, label: {label}")
        first = self._store.next_id(2)
        chosen = label if label is not None else f"{type.lower()}_{uuid.uuid4()}"
        job = Job(first, first + 1, db, table, chosen, type, user, properties=properties or {})
        if type != "BROKER":  # all others run at once
            job.start()
        with self._store.transaction(cursor) as change:
            if next(self._begun) % _PRUNE_EVERY == 0:
                self._prune(change, db)
            row = change.execute(
                "SELECT state FROM meta.jobs WHERE db = ? AND label = ? AND state <> 'CANCELLED'",
                [db, job.label],
            ).fetchone()
            if row is not None:
                raise LabelUsed(job.label, row[0])
            save(change, job, new=True)
        return job

    def record(self, cursor: duckdb.DuckDBPyConnection, job: Job) -> None:
        """Store a job's state in a transaction of its own."""
        with self._store.transaction(cursor) as change:
            save(change, job)

    def forget(self, cursor: duckdb.DuckDBPyConnection, label: str | None) -> None:
        """Drop ended jobs as if they had aged out: those with this label, or all."""
        with self._store.transaction(cursor) as change:
            condition, values = (
                ("label = ?", [label]) if label else ("state IN ('FINISHED', 'CANCELLED')", [])
            )
            change.execute(f"DELETE FROM meta.jobs WHERE {condition}", values)

    def running(self, job: Job, cancellation: Cancellation) -> None:
        with self._lock:
            self._running[job.id] = cancellation

    def ended(self, job: Job) -> None:
        with self._lock:
            self._running.pop(job.id, None)

    def cancel(self, cursor: duckdb.DuckDBPyConnection, db: str, label: str) -> None:
        """CANCEL LOAD; the job shows CANCELLED when this returns.

        Raises ServerError when there is no such job or it has ended.
        """
        rows = cursor.execute(
            "SELECT id, state FROM meta.jobs WHERE db = ? AND label = ? ORDER BY id DESC", [db, label]
        ).fetchall()
        if not rows:
            raise ServerError("Load job does not exist")
        with self._lock:
            cancellation = self._running.get(rows[0][0])
        if rows[0][1] in ENDED or cancellation is None:
            raise ServerError(f"There is no uncompleted job which label is {label}")
        cancellation.cancel("type:USER_CANCEL; msg:user cancel")
        end = time.monotonic() + _CANCEL_WAIT
        while rows[0][0] in self._running and time.monotonic() < end:
            time.sleep(_CANCEL_WAIT / 1000)

    def cancel_all(self) -> None:
        with self._lock:
            for cancellation in self._running.values():
                cancellation.cancel("type:LOAD_RUN_FAIL; msg:FE is shutting down")

    def _prune(self, change: Transaction, db: str) -> None:
        change.execute(
            "DELETE FROM meta.jobs WHERE db = ? AND state IN ('FINISHED', 'CANCELLED') AND (finished < ? OR id < ("
            "SELECT min(id) FROM (SELECT id FROM meta.jobs WHERE db = ? AND state IN ('FINISHED', 'CANCELLED') "
            "ORDER BY id DESC LIMIT ?)))",
            [db, now() - KEEP_FOR, db, KEEP_COUNT],
        )


def save(change: Transaction, job: Job, *, new: bool = False) -> None:
    """Write a job's row inside of a transaction."""
    values = [
        job.table,
        job.state,
        job.scanned,
        job.filtered,
        job.unselected,
        job.loaded,
        job.error,
        job.started,
        job.finished,
        job.bytes,
        job.files,
    ]
    if new:
        identity = [
            job.id,
            job.txn,
            job.db,
            job.label,
            job.type,
            job.user,
            job.created,
            json.dumps(job.properties),
        ]
        change.execute(
            "INSERT INTO meta.jobs (table_name, state, scanned, filtered, unselected, loaded, error, started, "
            "finished, bytes, files, id, txn, db, label, type, username, created, properties) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [*values, *identity],
        )
    else:
        change.execute(
            "UPDATE meta.jobs SET table_name = ?, state = ?, scanned = ?, filtered = ?, unselected = ?, "
            "loaded = ?, error = ?, started = ?, finished = ?, bytes = ?, files = ? WHERE id = ?",
            [*values, job.id],
        )


def track(change: Transaction, job: Job, errors: list[str]) -> None:
    """Keep examples of the rows that a load filtered out."""
    if errors:
        change.execute(
            "INSERT INTO meta.tracking VALUES (?, ?, ?, ?, ?)",
            [job.id, job.label, job.db, "\n".join(errors), job.type],
        )
