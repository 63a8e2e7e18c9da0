"""The ledger's tables.

`claims`            append-only: who is writing which partitions, and with what intent
`materializations`  append-only: every finished attempt at every partition
`current`           one row a partition: its last success, and how its last attempt ended
`checks`            append-only: the result of every check
`backfills`         append-only: every backfill, one row a change of state

A deployment has few, small tables, so they are neither partitioned nor spread wide.
"""

from __future__ import annotations

from dataclasses import replace

from sr_assets.starrocks.catalog import alive_backends
from sr_assets.starrocks.session import Session
from sr_assets.starrocks.tables import Column, TableSpec, ensure_table

_NAME = "VARCHAR(512)"
_TEXT = "VARCHAR(1048576)"  # STRING holds 65,533 bytes


def _required(name: str, type: str, comment: str = "") -> Column:
    return Column(name, type, comment, nullable=False)


TABLES = (
    TableSpec(
        name="claims",
        columns=(
            _required("asset", _NAME),
            _required("seq", "BIGINT", "number of the claim within its asset"),
            _required("event", "VARCHAR(16)", "claim, renew or release"),
            Column("owner", _NAME, "who may go on with it: one task or one process"),
            Column("run", _NAME, "run that the owner belongs to"),
            Column("keys", _TEXT, "partition keys, a JSON list"),
            Column("intent", _TEXT, "what will be written from what, JSON"),
            Column("at", "DATETIME"),
            Column("expires", "DATETIME"),
        ),
        key=("asset", "seq"),
        distributed_by=("asset",),
        buckets=1,
        comment="Who is writing which partitions",
    ),
    TableSpec(
        name="materializations",
        columns=(
            _required("asset", _NAME),
            _required("partition_key", _NAME),
            _required("claim", "BIGINT", "claims.seq of the attempt"),
            Column("run", _NAME),
            Column("label", "VARCHAR(128)", "StarRocks label of the write"),
            Column("status", "VARCHAR(16)", "success or failed"),
            Column("code_version", "VARCHAR(128)"),
            Column("upstreams", _TEXT, "what was read, sampled before reading, JSON"),
            Column("fingerprint_before", "VARCHAR(16)"),
            Column("fingerprint_after", "VARCHAR(16)"),
            Column("rows_written", "BIGINT"),
            Column("started_at", "DATETIME"),
            Column("finished_at", "DATETIME"),
            Column("error", _TEXT),
        ),
        key=("asset", "partition_key", "claim"),
        distributed_by=("asset",),
        buckets=1,
        comment="Every finished attempt at every partition",
    ),
    TableSpec(
        name="current",
        columns=(
            _required("asset", _NAME),
            _required("partition_key", _NAME),
            Column("claim", "BIGINT", "attempt of the last success"),
            Column("run", _NAME, "run of the last success"),
            Column("code_version", "VARCHAR(128)"),
            Column("digests", _TEXT, "digest of what was read, by upstream, JSON"),
            Column("fingerprint", "VARCHAR(16)", "of the partition as the last success left it"),
            Column("rows_written", "BIGINT"),
            Column("built_at", "DATETIME"),
            Column("seconds", "DOUBLE"),
            Column("status", "VARCHAR(16)", "how the last attempt ended"),
            Column("attempt_run", _NAME, "run of the last attempt"),
            Column("attempted_at", "DATETIME"),
            Column("error", _TEXT),
        ),
        key_model="primary",
        key=("asset", "partition_key"),
        distributed_by=("asset",),
        buckets=1,
        comment="The last success of every partition, and how its last attempt ended",
    ),
    TableSpec(
        name="checks",
        columns=(
            _required("asset", _NAME),
            _required("partition_key", _NAME),
            _required("claim", "BIGINT"),
            Column("run", _NAME),
            Column("check_name", _NAME),
            Column("severity", "VARCHAR(16)"),
            Column("passed", "BOOLEAN"),
            Column("message", _TEXT),
            Column("at", "DATETIME"),
        ),
        key=("asset", "partition_key", "claim"),
        distributed_by=("asset",),
        buckets=1,
        comment="The result of every check",
    ),
    TableSpec(
        name="backfills",
        columns=(
            _required("id", _NAME),
            _required("at", "DATETIME"),
            Column("state", "VARCHAR(16)", "planned, running, success, failed or cancelled"),
            Column("title", _TEXT),
            Column("link", _TEXT, "page of the run that executes it"),
            Column("request", _TEXT, "selection, range and mode, JSON"),
            Column("plan", _TEXT, "the plan, JSON; only in the first row"),
            Column("note", _TEXT),
        ),
        key=("id", "at"),
        distributed_by=("id",),
        buckets=1,
        comment="Every backfill, one row a change of state",
    ),
)


def ensure_ledger(session: Session, database: str) -> None:
    """Create the ledger's tables where they are missing."""
    for table in TABLES:
        ensure_table(session, with_replicas(session, replace(table, name=f"{database}.{table.name}")))


def with_replicas(session: Session, spec: TableSpec) -> TableSpec:
    """The spec with as many replicas as there are backends, where those are fewer than StarRocks' default of 3."""
    if "replication_num" in spec.properties:
        return spec
    alive = alive_backends(session)
    if alive >= 3:
        return spec
    return replace(spec, properties={**spec.properties, "replication_num": str(max(alive, 1))})
