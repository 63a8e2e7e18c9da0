"""How rows get into a table: stage, count, check, publish.

Rows are staged in a temporary table, typed and judged; nothing of the target is touched and no lock is
held meanwhile. Publishing is one transaction of the store. An overwrite publishes new partitions under
the old names (by name: of two overwrites the last to commit wins); a load adds rows and a version.
"""

# ruff: noqa: S608 - DuckDB text is built here: names go through quote(), values through literal()

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date

import duckdb

from sr_assets.standin import bounds
from sr_assets.standin.cancellation import Cancellation
from sr_assets.standin.errors import ConnectionLost, ServerError, analyzing
from sr_assets.standin.faults import Fault, Faults
from sr_assets.standin.jobs import Job, Jobs, save, track
from sr_assets.standin.model import ListValue, Partition, Table
from sr_assets.standin.staging import (
    Target,
    assigned_query,
    bad_examples,
    keys_in,
    partition_value,
    typed_query,
)
from sr_assets.standin.storage import Store, Transaction, now, quote


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How bad rows may be. `strict`: a value that cannot be converted makes its row bad, else it is NULL.

    `ratio`: the share of bad rows that is filtered out without an error; None for any share.
    """

    strict: bool = True
    ratio: float | None = 0.0


@dataclass(frozen=True, slots=True)
class _Staged:
    """Rows of one source, ready to be published. `counts` is rows by id of the partition as it is now."""

    target: Target
    relation: str
    partitions: tuple[Partition, ...]
    counts: Mapping[int, int]
    bad: int
    examples: tuple[str, ...]


class Writer:
    """Runs loads of every kind against one store."""

    def __init__(self, store: Store, jobs: Jobs, faults: Faults) -> None:
        self._store = store
        self._jobs = jobs
        self._faults = faults
        self._closing = threading.Event()
        self._publishing: list[threading.Thread] = []

    @contextmanager
    def job(self, cancellation: Cancellation, job: Job) -> Iterator[None]:
        """Run a job's work inside: what fails in there cancels the job and frees its label."""
        self._jobs.running(job, cancellation)
        try:
            yield
        except BaseException as error:
            if job.state not in ("FINISHED", "COMMITTED"):
                job.cancel(_reason(error, cancellation))
                self._jobs.record(self._store.cursor(), job)
            raise
        finally:
            self._jobs.ended(job)

    def load(
        self,
        cancellation: Cancellation,
        job: Job,
        parts: Sequence[tuple[Target, str]],
        tolerance: Tolerance,
    ) -> None:
        """Load several sources as one atomic change. Each part is a target and a DuckDB query.

        Raises ServerError 5610 when too many rows are bad, and what the fail points say.
        """
        cursor = cancellation.cursor
        staged = [
            self._stage(cancellation, f"stage_{job.txn}_{number}", target, query, tolerance.strict)
            for number, (target, query) in enumerate(parts)
        ]
        self._judge(cursor, job, staged, tolerance)
        self.publish(cancellation, job, staged[0].target, lambda change: self._apply(change, staged))

    def publish(
        self, cancellation: Cancellation, job: Job, target: Target, action: Callable[[Transaction], None]
    ) -> None:
        """Run `action` and finish the job in one transaction, passing the fail points on the way."""
        names = (target.table.db, target.table.name)
        self._before_commit(cancellation, names)
        if target.overwrite and self._faults.hit("crash_between_commit_and_swap", *names):
            job.finish()
            self._jobs.record(cancellation.cursor, job)
            raise ConnectionLost
        hold = self._faults.hit("stay_committed", *names)
        if hold is not None:
            job.finish("COMMITTED")
            self._jobs.record(cancellation.cursor, job)
            self._publish_later(Cancellation(cancellation.hand_over()), job, hold, action)
        else:
            self._commit(cancellation, job, action)
        if self._faults.hit("drop_after_commit", *names):
            raise ConnectionLost

    def close(self) -> None:
        """Make visible what is committed: it is durable."""
        self._closing.set()
        for thread in self._publishing:
            thread.join()

    def _publish_later(
        self, cancellation: Cancellation, job: Job, hold: Fault, action: Callable[[Transaction], None]
    ) -> None:
        """Publish when the fail point is disabled, its time is over, or the server stops."""

        def held() -> bool:
            return self._faults.enabled(hold) and not self._closing.is_set()

        def become_visible() -> None:
            try:
                cancellation.wait_while(held, hold.seconds or None)
                self._commit(cancellation, job, action)
            except (ServerError, duckdb.Error) as error:  # such as: the table was dropped
                job.cancel(_reason(error, cancellation))
                self._jobs.record(cancellation.cursor, job)
            finally:
                cancellation.close()

        thread = threading.Thread(target=become_visible, name=f"publish-{job.txn}", daemon=True)
        self._publishing.append(thread)
        thread.start()

    def _commit(self, cancellation: Cancellation, job: Job, action: Callable[[Transaction], None]) -> None:
        with cancellation.shielded(), self._store.transaction(cancellation.cursor) as change:
            action(change)
            finished = replace(job, state="FINISHED", finished=now())
            save(change, finished)
        job.finished = finished.finished
        if job.state != "COMMITTED":  # that is what the client was told
            job.state = "FINISHED"

    def _before_commit(self, cancellation: Cancellation, names: tuple[str, str]) -> None:
        if self._faults.hit("drop_before_commit", *names):
            raise ConnectionLost
        fault = self._faults.hit("error_before_commit", *names)
        if fault is not None:
            raise ServerError(fault.argument or "[E1008]Reached timeout=2000ms @127.0.0.1:11914")
        fault = self._faults.hit("delay_before_commit", *names)
        if fault is not None:
            cancellation.pause(fault.seconds)
        fault = self._faults.hit("hold_before_commit", *names)
        if fault is not None:
            gate = fault
            with self._faults.waiting(gate):
                cancellation.wait_while(lambda: self._faults.enabled(gate))
        cancellation.check()

    # Staging

    def _stage(
        self, cancellation: Cancellation, name: str, target: Target, query: str, strict: bool
    ) -> _Staged:
        cursor, table = cancellation.cursor, target.table
        cancellation.check()
        if target.names is not None:
            table.named(target.names, temporary=target.temporary)
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {typed_query(cursor, target, query, strict)}")
        cancellation.check()
        partitions = self._targets(cursor, target, name)
        assigned = assigned_query(cursor, table, name, partitions)
        counts = dict(cursor.execute(f"SELECT __pid, count(*) FROM ({assigned}) GROUP BY 1").fetchall())
        bad = counts.pop(None, 0)
        examples = bad_examples(cursor, table, assigned) if bad else ()
        if target.overwrite and target.dynamic:
            partitions = tuple(partition for partition in partitions if partition.id in counts)
        return _Staged(target, name, partitions, counts, bad, examples)

    def _targets(
        self, cursor: duckdb.DuckDBPyConnection, target: Target, stage: str
    ) -> tuple[Partition, ...]:
        """The partitions that rows may go to, as they are now; automatic ones are created."""
        table = target.table
        if target.values is not None:
            key = partition_value(table, target.values)
            self._create_missing(cursor, table, [key])
            holding = bounds.PartitionIndex(table, table.partitions.values()).find(key)
            if holding is None:
                raise analyzing(f"Partition of {key} was dropped during the load")
            return (holding,)
        if target.names is not None:
            return tuple(table.named(target.names, temporary=target.temporary))
        if table.partitioning.automatic:
            self._create_missing(cursor, table, keys_in(cursor, table, stage))
        return tuple(table.pool(target.temporary).values())

    def _create_missing(
        self, cursor: duckdb.DuckDBPyConnection, table: Table, keys: Sequence[ListValue]
    ) -> None:
        index = bounds.PartitionIndex(table, table.partitions.values())
        if all(index.find(key) for key in keys):
            return
        with self._store.transaction(cursor) as change:
            index = bounds.PartitionIndex(table, table.partitions.values())
            added: dict[str, Partition] = {}
            for key in keys:
                if index.find(key) is None:
                    partition = self._automatic(table, key, [*table.partitions, *added])
                    added[partition.key] = partition
                    index.add(partition)
            change.add_partitions(table, list(added.values()))

    def _automatic(self, table: Table, key: ListValue, taken: Sequence[str]) -> Partition:
        scheme = table.partitioning
        if scheme.kind == "list":
            return self._store.new_partition(bounds.list_name(key, taken), values=(key,))
        bound = bounds.parse_bound(table, str(key[0]))
        assert isinstance(bound, date)
        lower = bounds.align(bound, scheme.grain, scheme.step)
        upper = bounds.step(lower, scheme.grain, scheme.step)
        name = bounds.range_name("p", lower, scheme.grain)
        return self._store.new_partition(name, lower=lower, upper=upper)

    # Checking and publishing

    def _judge(
        self, cursor: duckdb.DuckDBPyConnection, job: Job, staged: Sequence[_Staged], tolerance: Tolerance
    ) -> None:
        bad = sum(part.bad for part in staged) + job.filtered
        job.loaded = sum(sum(part.counts.values()) for part in staged)
        job.filtered, job.scanned = bad, job.loaded + bad + job.unselected
        if not bad:
            if not job.loaded and job.type in ("BROKER", "STREAM_LOAD"):
                # FE parameter empty_load_as_error, on by default; an INSERT without rows is no error
                raise ServerError("all partitions have no load data")
            return
        with self._store.transaction(cursor) as change:
            track(change, job, [example for part in staged for example in part.examples])
        if tolerance.ratio is not None and bad / (bad + job.loaded) > tolerance.ratio:
            raise _filtered(job)

    def _apply(self, change: Transaction, staged: Sequence[_Staged]) -> None:
        added: dict[Table, Counter[int]] = {}
        for part in staged:
            table = part.target.table
            self._check_exists(table)
            if part.target.overwrite:
                self._overwrite(change, part)
            else:
                added.setdefault(table, Counter()).update(self._append(change, part))
        for table, counts in added.items():
            _raise_versions(change, table, counts)

    def _check_exists(self, table: Table) -> None:
        if self._store.databases.get(table.db, {}).get(table.name) is not table:
            raise analyzing(f"Table {table.db}.{table.name} was dropped during the load")

    def _overwrite(self, change: Transaction, part: _Staged) -> None:
        table, pool = part.target.table, part.target.table.pool(part.target.temporary)
        old = [pool.get(partition.key) for partition in part.partitions]
        gone = [
            partition.name for partition, current in zip(part.partitions, old, strict=True) if current is None
        ]
        if gone:
            raise analyzing(
                f"partition {gone[0]} does not exist in table {table.name}: dropped during the overwrite"
            )
        new = [
            self._store.new_partition(
                partition.name,
                lower=partition.lower,
                upper=partition.upper,
                values=partition.values,
                temporary=partition.temporary,
                version=2,
                rows=part.counts.get(partition.id, 0),
            )
            for partition in part.partitions
        ]
        change.drop_partitions(table, [partition for partition in old if partition is not None])
        _insert(change, table, part.relation, new)
        if table.has_primary_key:
            rows = count_rows(change, table, new)
            new = [replace(partition, rows=rows[partition.id]) for partition in new]
        change.add_partitions(table, new)

    def _append(self, change: Transaction, part: _Staged) -> dict[int, int]:
        """Add rows; returns how many, by partition.

        Those for a partition that was replaced meanwhile are lost, as in StarRocks.
        """
        table = part.target.table
        live = {partition.id: partition for partition in table.pool(part.target.temporary).values()}
        touched = [live[id_] for id_ in part.counts if id_ in live]
        if not touched:
            return {}
        if table.has_primary_key:
            _delete_same_keys(change, table, part.relation, touched)
        _insert(change, table, part.relation, touched)
        return {partition.id: part.counts[partition.id] for partition in touched}


def _reason(error: BaseException, cancellation: Cancellation) -> str:
    if isinstance(error, ServerError):
        return error.message
    if isinstance(error, duckdb.InterruptException):
        return cancellation.reason
    return str(error).partition("\n")[0] or type(error).__name__


def _raise_versions(change: Transaction, table: Table, added: Mapping[int, int]) -> None:
    """One more version for each partition that got rows, however many sources brought them."""
    pools = (table.partitions.values(), table.temporary.values())
    touched = [partition for pool in pools for partition in pool if partition.id in added]
    rows = count_rows(change, table, touched) if table.has_primary_key and touched else {}
    moment = now()
    change.update_partitions(
        table,
        [
            partition.written(rows.get(partition.id, partition.rows + added[partition.id]), moment)
            for partition in touched
        ],
    )


def count_rows(change: Transaction, table: Table, partitions: Sequence[Partition]) -> dict[int, int]:
    """Rows of each of these partitions, inside of the transaction."""
    ids = ", ".join(str(partition.id) for partition in partitions)
    rows = change.execute(
        f"SELECT __pid, count(*) FROM {table.data} WHERE __pid IN ({ids}) GROUP BY 1"
    ).fetchall()
    return {partition.id: 0 for partition in partitions} | dict(rows)


def _filtered(job: Job) -> ServerError:
    if job.type == "INSERT":
        return ServerError(
            f"Insert has filtered data, txn_id = {job.txn} tracking sql = {job.tracking_sql}", 5610
        )
    return ServerError("type:ETL_QUALITY_UNSATISFIED; msg:quality not good enough to cancel")


def _insert(change: Transaction, table: Table, stage: str, partitions: Sequence[Partition]) -> None:
    assigned = assigned_query(change.cursor, table, stage, partitions)
    columns = ", ".join(quote(column.name) for column in table.definition.columns)
    query = f"SELECT {columns}, __pid FROM ({assigned}) WHERE __pid IS NOT NULL"
    if table.has_primary_key:  # of rows with the same key, the last one stays
        keys = ", ".join(quote(key) for key in table.definition.keys)
        query += f" QUALIFY row_number() OVER (PARTITION BY {keys} ORDER BY __row DESC) = 1"
    change.execute(f"INSERT INTO {table.data} {query}")


def _delete_same_keys(change: Transaction, table: Table, stage: str, partitions: Sequence[Partition]) -> None:
    same = " AND ".join(f"d.{quote(key)} = s.{quote(key)}" for key in table.definition.keys)
    ids = ", ".join(str(partition.id) for partition in partitions)
    change.execute(
        f"DELETE FROM {table.data} WHERE rowid IN (SELECT d.rowid FROM {table.data} AS d "
        f"JOIN {stage} AS s ON {same} WHERE d.__pid IN ({ids}) AND NOT s.__bad)"
    )
