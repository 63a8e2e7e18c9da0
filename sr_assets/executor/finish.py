"""The end of a write: verify by fingerprint, run the checks, record the attempts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sr_assets.checks import Severity
from sr_assets.compile import Node
from sr_assets.executor.choose import Verdict
from sr_assets.executor.events import Outcome, Result
from sr_assets.executor.run import Run
from sr_assets.ledger import Attempt, CheckResult, KeyIntent, Status
from sr_assets.starrocks.catalog import read_partitions
from sr_assets.starrocks.quoting import identifier, qualified
from sr_assets.state import State


@dataclass(frozen=True, slots=True)
class Written:
    """A write that ended well as far as its statement tells, or with `error`."""

    index: int
    label: str
    intent: KeyIntent
    code_version: str
    started_at: datetime
    finished_at: datetime
    error: str | None = None


def finish(
    run: Run, state: State, node: Node, seq: int, run_id: str, writes: Sequence[Written]
) -> list[Result]:
    """Verify, check and record writes of claim `seq`, which run `run_id` made. The results, in the same order."""
    if not writes:
        return []
    asset = state[node.name]
    after = {
        part.name: part.fingerprint for part in read_partitions(run.session, [node.name]).get(node.name, ())
    }
    attempts, results = [], []
    for w in writes:
        key, name = asset.keys.key(w.index), asset.physical[w.index].name
        fingerprint, error, rows = after.get(name, 0), w.error, None
        if error is None and fingerprint == w.intent.before:
            error = f"the statement {w.label} ended well, yet partition {name} did not change"
        if error is None:
            rows, error = _check(run, node, name, key, seq)
        attempts.append(_attempt(node, key, seq, run_id, w, fingerprint, rows, error))
        outcome = Outcome.BUILT if error is None else Outcome.FAILED
        results.append(Result(node.name, key, outcome, rows, error))
    run.ledger.record(attempts, {row.key: row for row in asset.current.values()})
    return results


def record_blocked(run: Run, state: State, node: Node, held: Iterable[tuple[int, Verdict]]) -> None:
    """Record partitions that were not tried because of what they read, so that their readers are held as well."""
    asset, now = state[node.name], run.ledger.now()
    untouched = KeyIntent(label="", before=0, samples={})
    attempts = [
        replace(
            _attempt(
                node,
                asset.keys.key(index),
                0,
                run.id,
                Written(index, "", untouched, node.code_version, now, now),
                0,
                None,
                verdict.message,
            ),
            status=Status.BLOCKED,
        )
        for index, verdict in held
    ]
    run.ledger.record(attempts, {row.key: row for row in asset.current.values()})


def _attempt(
    node: Node,
    key: str,
    seq: int,
    run_id: str,
    w: Written,
    fingerprint: int,
    rows: int | None,
    error: str | None,
) -> Attempt:
    return Attempt(
        asset=node.name,
        key=key,
        claim=seq,
        run=run_id,
        label=w.label,
        status=Status.SUCCESS if error is None else Status.FAILED,
        code_version=w.code_version,
        samples=w.intent.samples,
        before=w.intent.before,
        after=fingerprint,
        rows=rows,
        started_at=w.started_at,
        finished_at=w.finished_at,
        error=error,
    )


def _check(run: Run, node: Node, name: str, key: str, seq: int) -> tuple[int, str | None]:
    """Row count of a partition, and what its blocking checks say against it. Records every check's result."""
    checks = node.asset.checks
    measures = ["COUNT(*)", *(measure for check in checks for measure in check.measures)]
    part = "" if node.asset.partitions.partition_column is None else f" PARTITION ({identifier(name)})"
    [values] = run.session.query(f"SELECT {', '.join(measures)} FROM {qualified(node.name)}{part}")
    rows, position, now = int(values[0]), 1, run.ledger.now()
    found, results = [], []
    for check in checks:
        message = check.verdict(values[position : position + len(check.measures)])
        position += len(check.measures)
        results.append(
            CheckResult(node.name, key, seq, run.id, check.name, check.severity.value, message, now)
        )
        if message is not None and check.severity is Severity.BLOCK:
            found.append(f"check {check.name}: {message}")
    run.ledger.record_checks(results)
    return rows, "; ".join(found) or None
