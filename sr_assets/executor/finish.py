"""The end of a write: verify by fingerprint, run the checks, record the attempts."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sr_assets.compile import Node
from sr_assets.executor.check import check_partitions
from sr_assets.executor.choose import Verdict
from sr_assets.executor.events import Outcome, Result
from sr_assets.executor.run import Run
from sr_assets.ledger import Attempt, KeyIntent, Status
from sr_assets.starrocks.catalog import PhysicalPartition, read_partitions
from sr_assets.state import State

#: How long a committed write may stay invisible.
PUBLISH_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Written:
    """A write that ended well as far as its statement tells, or with `error`.

    `rows` of it were said to be written and may still have to become visible.
    """

    index: int
    label: str
    intent: KeyIntent
    code_version: str
    started_at: datetime
    finished_at: datetime
    error: str | None = None
    rows: int = 0


def finish(
    run: Run, state: State, node: Node, seq: int, run_id: str, writes: Sequence[Written]
) -> list[Result]:
    """Verify, check and record writes of claim `seq`, which run `run_id` made. The results, in the same order."""
    if not writes:
        return []
    asset = state[node.name]
    names = {w.index: asset.physical[w.index].name for w in writes}
    after = _published(run, node, {names[w.index]: w for w in writes if w.error is None})
    errors = {w.index: w.error or _unchanged(w, names[w.index], after) for w in writes}
    verified = {index: names[index] for index, error in errors.items() if error is None}
    verdicts = check_partitions(run, node, seq, verified, asset.keys)
    attempts, results = [], []
    for w in writes:
        key, verdict = asset.keys.key(w.index), verdicts.get(w.index)
        error = errors[w.index] if verdict is None else verdict.error
        rows = None if verdict is None else verdict.rows
        attempts.append(_attempt(node, key, seq, run_id, w, after.get(names[w.index], 0), rows, error))
        results.append(Result(node.name, key, Outcome.FAILED if error else Outcome.BUILT, rows, error))
    run.ledger.record(attempts, {row.key: row for row in asset.current.values()})
    return results


def _published(run: Run, node: Node, written: Mapping[str, Written]) -> dict[str, int]:
    """Fingerprints by partition name, once what was `written`, by partition name, can be seen.

    Where StarRocks answers COMMITTED, rows are durable and not visible yet (tx_visible_wait_timeout, 10 s): an
    overwritten partition is new then, and still at its first version. A partition that is the same after
    PUBLISH_SECONDS was not written.
    """
    ends = time.monotonic() + PUBLISH_SECONDS
    while True:
        parts = {part.name: part for part in read_partitions(run.session, [node.name]).get(node.name, ())}

        def seen(name: str, w: Written, parts: Mapping[str, PhysicalPartition] = parts) -> bool:
            part = parts.get(name)
            return part is not None and part.fingerprint != w.intent.before and (part.written or not w.rows)

        if all(seen(name, w) for name, w in written.items()) or time.monotonic() > ends:
            return {name: part.fingerprint for name, part in parts.items()}
        time.sleep(0.2)


def _unchanged(w: Written, name: str, after: Mapping[str, int]) -> str | None:
    if after.get(name, 0) != w.intent.before:
        return None
    return f"the statement {w.label} ended well, yet partition {name} did not change"


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
