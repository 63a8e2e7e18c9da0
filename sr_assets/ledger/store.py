"""Reading and writing the ledger's tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from sr_assets.ledger.records import (
    Attempt,
    Backfill,
    CheckResult,
    Claim,
    Current,
    Intent,
    Sample,
    Status,
    to_hex,
)
from sr_assets.ledger.tables import TABLES, ensure_ledger
from sr_assets.starrocks.labels import LabelUsed, insert_rows, make_label
from sr_assets.starrocks.quoting import identifier, literal
from sr_assets.starrocks.session import Session


class Ledger:
    """The ledger in one StarRocks database. Not for several threads at once: use one a session."""

    def __init__(self, session: Session, database: str = "_sr_assets") -> None:
        self._session = session
        self._database = database
        self._ahead: timedelta | None = None
        self._exists = False

    def exists(self) -> bool:
        """Whether the ledger was created."""
        if not self._exists:
            tables = self._session.query(
                "SELECT COUNT(*) FROM information_schema.tables WHERE TABLE_SCHEMA = %s", [self._database]
            )
            self._exists = int(tables[0][0]) >= len(TABLES)
        return self._exists

    def ensure(self) -> None:
        """Create the ledger where it is missing."""
        if not self.exists():
            ensure_ledger(self._session, self._database)
            self._exists = True

    def now(self) -> datetime:
        """The server's wall clock (naive). All runs measure claims by this one clock."""
        if self._ahead is None:
            self._ahead = self._session.query("SELECT NOW()")[0][0] - datetime.now()
        return (datetime.now() + self._ahead).replace(microsecond=0)

    # -- claims

    def claims(self, assets: Iterable[str]) -> dict[str, list[Claim]]:
        """The claims on these assets that are not released, by asset, oldest first."""
        rows = self._session.query(
            f"SELECT asset, seq, event, owner, run, intent, expires FROM {self._table('claims')} c"
            f" WHERE {_among('asset', assets)} AND NOT EXISTS (SELECT 1 FROM {self._table('claims')} r"
            " WHERE r.asset = c.asset AND r.seq = c.seq AND r.event = 'release') ORDER BY asset, seq"
        )
        expiries: dict[tuple[str, int], datetime] = {}
        for asset, seq, _, _, _, _, expires in rows:
            expiries[asset, seq] = max(expires, expiries.get((asset, seq), expires))
        found: dict[str, list[Claim]] = {}
        now = self.now()
        for asset, seq, event, owner, run, intent, _ in rows:
            if event == "claim":
                expires = expiries[asset, seq]
                claim = Claim(
                    asset, seq, owner, run, Intent.from_json(json.loads(intent)), expires, expires > now
                )
                found.setdefault(asset, []).append(claim)
        return found

    def next_claim(self, asset: str) -> int:
        """The number after the last claim on the asset."""
        rows = self._session.query(
            f"SELECT MAX(seq) FROM {self._table('claims')} WHERE asset = {literal(asset)}"
        )
        return int(rows[0][0] or 0) + 1

    def append_claim(
        self, asset: str, seq: int, owner: str, run: str, intent: Intent, lease: timedelta
    ) -> bool:
        """Append claim number `seq`. False where somebody else has taken that number.

        The label makes this a compare-and-set: it is used once, so one of two writers is refused.
        """
        now = self.now()
        keys = json.dumps(list(intent.keys))
        row = (asset, seq, "claim", owner, run, keys, _json(intent.to_json()), now, now + lease)
        try:
            self._insert("claims", _CLAIMS, [row], label=make_label("claim", asset, str(seq)))
        except LabelUsed:
            return False
        return True

    def renew_claim(self, claim_asset: str, seq: int, lease: timedelta) -> None:
        now = self.now()
        self._insert(
            "claims", _CLAIMS, [(claim_asset, seq, "renew", None, None, None, None, now, now + lease)]
        )

    def release_claim(self, asset: str, seq: int) -> None:
        now = self.now()
        self._insert("claims", _CLAIMS, [(asset, seq, "release", None, None, None, None, now, now)])

    # -- materializations

    def current(self, assets: Iterable[str]) -> dict[str, list[Current]]:
        """Where every partition of these assets stands, by asset."""
        rows = self._session.query(
            f"SELECT {_names(_CURRENT)} FROM {self._table('current')} WHERE {_among('asset', assets)}"
        )
        found: dict[str, list[Current]] = {}
        for row in rows:
            current = _current(row)
            found.setdefault(current.asset, []).append(current)
        return found

    def record(self, attempts: Sequence[Attempt], before: dict[str, Current]) -> None:
        """Append finished attempts, and bring `current` up to them.

        `before` is where those partitions stood, by key: a failed attempt keeps the last success.
        """
        if not attempts:
            return
        self._insert(
            "materializations", _MATERIALIZATIONS, [_materialization_row(attempt) for attempt in attempts]
        )
        self._insert(
            "current", _CURRENT, [_current_row(attempt, before.get(attempt.key)) for attempt in attempts]
        )

    def attempts(self, asset: str, keys: Iterable[str], limit: int = 100) -> list[Attempt]:
        """The last attempts at these partitions, newest first."""
        rows = self._session.query(
            f"SELECT {_names(_MATERIALIZATIONS)} FROM {self._table('materializations')}"
            f" WHERE asset = {literal(asset)} AND {_among('partition_key', keys)}"
            f" ORDER BY finished_at DESC, claim DESC LIMIT {int(limit)}"
        )
        return [_attempt(row) for row in rows]

    def record_checks(self, results: Sequence[CheckResult]) -> None:
        rows = [
            (r.asset, r.key, r.claim, r.run, r.check, r.severity, r.message is None, r.message, r.at)
            for r in results
        ]
        if rows:
            self._insert("checks", _CHECKS, rows)

    # -- backfills

    def append_backfill(self, backfill: Backfill) -> None:
        b = backfill
        plan = None if b.plan is None else _json(b.plan)
        row = (b.id, b.at, b.state, b.title, b.link, _json(b.request), plan, b.note)
        self._insert("backfills", _BACKFILLS, [row])

    def backfill(self, id: str) -> Backfill | None:
        """The last state of a backfill, with the plan that it was given; None where there is none of that id."""
        rows = self._session.query(
            f"SELECT {_names(_BACKFILLS)} FROM {self._table('backfills')} WHERE id = {literal(id)} ORDER BY at"
        )
        if not rows:
            return None
        plan = next((json.loads(row[6]) for row in rows if row[6] is not None), None)
        id, at, state, title, link, request, _, note = rows[-1]
        return Backfill(id, at, state, title, json.loads(request), plan, link or "", note or "")

    def _table(self, name: str) -> str:
        return f"{identifier(self._database)}.{identifier(name)}"

    def _insert(
        self, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]], label: str | None = None
    ) -> None:
        insert_rows(self._session, f"{self._database}.{table}", columns, rows, label=label)


_CLAIMS = ("asset", "seq", "event", "owner", "run", "keys", "intent", "at", "expires")
_MATERIALIZATIONS = (
    "asset", "partition_key", "claim", "run", "label", "status", "code_version", "upstreams", "fingerprint_before",
    "fingerprint_after", "rows_written", "started_at", "finished_at", "error",
)  # fmt: skip
_CURRENT = (
    "asset", "partition_key", "claim", "run", "code_version", "digests", "fingerprint", "rows_written", "built_at",
    "seconds", "status", "attempt_run", "attempted_at", "error",
)  # fmt: skip
_CHECKS = ("asset", "partition_key", "claim", "run", "check_name", "severity", "passed", "message", "at")
_BACKFILLS = ("id", "at", "state", "title", "link", "request", "plan", "note")


def _names(columns: Sequence[str]) -> str:
    return ", ".join(map(identifier, columns))


def _among(column: str, values: Iterable[str]) -> str:
    listed = ", ".join(map(literal, values))
    return f"{identifier(column)} IN ({listed})" if listed else "FALSE"


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _materialization_row(a: Attempt) -> tuple[object, ...]:
    upstreams = _json({name: sample.to_json() for name, sample in a.samples.items()})
    return (
        a.asset, a.key, a.claim, a.run, a.label, a.status.value, a.code_version, upstreams, to_hex(a.before),
        to_hex(a.after), a.rows, a.started_at, a.finished_at, a.error,
    )  # fmt: skip


def _attempt(row: Sequence[Any]) -> Attempt:
    samples = {name: Sample.from_json(sample) for name, sample in json.loads(row[7]).items()}
    return Attempt(
        asset=row[0], key=row[1], claim=row[2], run=row[3], label=row[4], status=Status(row[5]), code_version=row[6],
        samples=samples, before=int(row[8], 16), after=int(row[9], 16), rows=row[10], started_at=row[11],
        finished_at=row[12], error=row[13],
    )  # fmt: skip


def _current_row(a: Attempt, before: Current | None) -> tuple[object, ...]:
    attempt = (a.status.value, a.run, a.finished_at, a.error)
    if a.status is Status.SUCCESS:
        digests = _json({name: to_hex(sample.digest) for name, sample in a.samples.items()})
        seconds = (a.finished_at - a.started_at).total_seconds()
        return (
            a.asset, a.key, a.claim, a.run, a.code_version, digests, to_hex(a.after), a.rows, a.finished_at, seconds,
            *attempt,
        )  # fmt: skip
    if before is None or not before.built:
        return (a.asset, a.key, None, None, None, None, None, None, None, None, *attempt)
    digests = _json({name: to_hex(digest) for name, digest in before.digests.items()})
    return (
        a.asset, a.key, before.claim, before.run, before.code_version, digests, to_hex(before.fingerprint), before.rows,
        before.built_at, before.seconds, *attempt,
    )  # fmt: skip


def _current(row: Sequence[Any]) -> Current:
    digests = {name: int(digest, 16) for name, digest in json.loads(row[5] or "{}").items()}
    return Current(
        asset=row[0], key=row[1], claim=row[2], run=row[3], code_version=row[4], digests=digests,
        fingerprint=int(row[6] or "0", 16), rows=row[7], built_at=row[8], seconds=row[9], status=Status(row[10]),
        attempt_run=row[11], attempted_at=row[12], error=row[13],
    )  # fmt: skip
