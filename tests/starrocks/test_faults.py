"""What the caller learns where a write fails, and what became of label and data (on the stand-in)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sr_assets.errors import ConnectFailed, DeadlineExceeded, StarRocksError
from sr_assets.starrocks import broker_load as broker_load_module
from sr_assets.starrocks import session as session_module
from sr_assets.starrocks.broker_load import UNSEEN_SECONDS, FileGroup, broker_load
from sr_assets.starrocks.catalog import read_partitions
from sr_assets.starrocks.labels import LabelOutcome, LabelState, LabelUsed, insert_rows, label_state
from sr_assets.starrocks.overwrite import overwrite
from sr_assets.starrocks.session import Session

OLD, NEW = [(1,)], [(2,)]

# fail point, transient, state of the label, rows afterwards
OVERWRITES = [
    ("drop_before_commit", True, LabelState.CANCELLED, OLD),
    ("drop_after_commit", True, LabelState.FINISHED, NEW),
    ("crash_between_commit_and_swap", True, LabelState.FINISHED, OLD),
    ("error_before_commit:disk full", False, LabelState.CANCELLED, OLD),
    ("error_before_commit:current running txns on db 1 is 9", True, LabelState.CANCELLED, OLD),
    ("delay_before_commit:30", True, LabelState.CANCELLED, OLD),
]


@pytest.fixture
def table(session: Session, database: str) -> str:
    session.execute(
        f"CREATE TABLE {database}.t (dt DATE NOT NULL, n INT) DUPLICATE KEY (dt) PARTITION BY RANGE (dt) "
        '(PARTITION p VALUES [("2024-01-01"), ("2024-01-02"))) '
        'DISTRIBUTED BY HASH (dt) BUCKETS 1 PROPERTIES ("replication_num"="1")'
    )
    insert_rows(session, f"{database}.t", ["dt", "n"], [("2024-01-01", 1)])
    return f"{database}.t"


def rewrite(session: Session, table: str, label: str = "l") -> None:
    select = "SELECT '2024-01-01', 2"
    overwrite(session, table, partitions=["p"], columns=["dt", "n"], select=select, label=label, timeout=1)


@pytest.mark.parametrize(
    ("point", "transient", "state", "rows"), OVERWRITES, ids=[case[0] for case in OVERWRITES]
)
def test_label_and_fingerprint_tell_what_an_overwrite_did(
    faults: Any,
    session: Session,
    database: str,
    table: str,
    point: str,
    transient: bool,
    state: LabelState,
    rows: list[tuple[int]],
) -> None:
    [before] = read_partitions(session, [table])[table]
    with faults(f"{point}@{table}"), pytest.raises(StarRocksError) as caught:
        rewrite(session, table)
    assert caught.value.transient == transient
    assert label_state(session, database, "l").state is state
    [after] = read_partitions(session, [table])[table]
    assert (after.fingerprint != before.fingerprint) == (rows == NEW)
    assert session.query(f"SELECT n FROM {table}") == rows
    if state is LabelState.CANCELLED:
        rewrite(session, table)  # the label of a cancelled load is free
        assert session.query(f"SELECT n FROM {table}") == NEW
    else:
        with pytest.raises(LabelUsed):
            rewrite(session, table)


def test_an_insert_whose_answer_is_lost_is_found_by_its_label(
    faults: Any, session: Session, table: str
) -> None:
    with faults(f"drop_after_commit@{table}"), pytest.raises(StarRocksError) as caught:
        insert_rows(session, table, ["dt", "n"], [("2024-01-01", 5)], label="once")
    assert caught.value.transient
    with pytest.raises(LabelUsed):
        insert_rows(session, table, ["dt", "n"], [("2024-01-01", 5)], label="once")
    assert session.query(f"SELECT COUNT(*) FROM {table} WHERE n = 5") == [(1,)]


def test_a_forgotten_label_is_unknown(faults: Any, session: Session, database: str, table: str) -> None:
    rewrite(session, table)
    assert label_state(session, database, "l").state is LabelState.FINISHED
    session.execute("ADMIN ENABLE FAILPOINT 'label_forgotten:l'")
    assert label_state(session, database, "l").state is LabelState.UNKNOWN


def test_a_refused_connection_may_be_tried_again(faults: Any, server: Any) -> None:
    with faults("refuse_connect"), server.session() as refused:
        with pytest.raises(ConnectFailed) as caught:
            refused.query("SELECT 1")
        assert caught.value.transient
        assert refused.query("SELECT 1") == [(1,)]


def test_a_session_outlives_a_killed_connection(
    server: Any, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server.session() as killed:
        [(number,)] = killed.query("SELECT CONNECTION_ID()")
        session.execute(f"KILL {number}")
        assert killed.query("SELECT CONNECTION_ID()") != [(number,)]
        [(number,)] = killed.query("SELECT CONNECTION_ID()")
        session.execute(f"KILL {number}")
        monkeypatch.setattr(session_module, "IDLE_SECONDS", -1.0)
        with killed.variables({"query_timeout": 5}):
            pass


# ---- Broker Load ----


@pytest.fixture
def files(server: Any) -> list[FileGroup]:
    folder = Path(server.storage) / "lake"
    folder.mkdir(exist_ok=True)
    (folder / "faults.csv").write_text("2024-01-01,7\n")
    return [FileGroup(("s3://lake/faults.csv",), "csv", columns=("dt", "n"), column_separator=",")]


def load(session: Session, table: str, files: list[FileGroup], **options: Any) -> Any:
    settings: dict[str, Any] = {"properties": {}, "broker": {}, "label": "l", "deadline": 20, "poll": 0.02}
    return broker_load(session, table=table, files=files, **(settings | options))


def test_a_load_is_cancelled_at_its_deadline(
    faults: Any, session: Session, database: str, table: str, files: list[FileGroup]
) -> None:
    with faults(f"hold_load@{table}"), pytest.raises(DeadlineExceeded, match=r"LOADING.*it was cancelled"):
        load(session, table, files, deadline=0.3)
    assert label_state(session, database, "l").state is LabelState.CANCELLED
    assert session.query(f"SELECT n FROM {table}") == OLD


def test_a_cancelled_load_quotes_the_reason(
    faults: Any, session: Session, table: str, files: list[FileGroup]
) -> None:
    with faults(f"load_cancel:no such bucket@{table}"), pytest.raises(StarRocksError, match="no such bucket"):
        load(session, table, files)
    assert load(session, table, files).rows == 1


def test_a_load_whose_submission_was_answered_by_silence_is_adopted(
    faults: Any, session: Session, table: str, files: list[FileGroup]
) -> None:
    """A first submission runs; the second finds the label in use and waits for the first."""
    with faults(f"slow_load:0.3@{table}"):
        with pytest.raises(DeadlineExceeded):
            load(session, table, files, deadline=0)
        told: list[str] = []
        assert load(session, table, files, progress=told.append).rows == 1
    assert session.query(f"SELECT COUNT(*) FROM {table} WHERE n = 7") == [(1,)]


class Clock:
    """Time passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0, "a wait that does not wait would never end"
        self.now += seconds


class Silent(Session):
    """Accepts every statement."""

    def __init__(self) -> None:
        super().__init__(lambda: pytest.fail("this test must not connect"))
        self.sent: list[str] = []

    def execute(self, sql: str, params: object = None) -> int:
        self.sent.append(sql.split(" ")[0])
        return 0


R, U, F = (LabelOutcome(state) for state in (LabelState.RUNNING, LabelState.UNKNOWN, LabelState.FINISHED))

# states that are seen one after the other (the last one stays), the ending, the seconds it takes
WAITS: list[tuple[list[LabelOutcome], type[Exception] | None, str, float]] = [
    ([R, R, F], None, "", 20),
    ([U, R, F], None, "", 20),
    ([R, U], StarRocksError, "no longer lists", 10),
    ([U], StarRocksError, "no longer lists", UNSEEN_SECONDS + 10),
    ([R], DeadlineExceeded, "did not finish before its deadline", 95),
]


@pytest.mark.parametrize(("states", "ending", "message", "seconds"), WAITS)
def test_every_wait_ends(
    monkeypatch: pytest.MonkeyPatch,
    states: list[LabelOutcome],
    ending: type[Exception] | None,
    message: str,
    seconds: float,
) -> None:
    left = list(states)
    monkeypatch.setattr(
        broker_load_module, "label_state", lambda *_: left.pop(0) if len(left) > 1 else left[0]
    )
    session, clock = Silent(), Clock()
    files = [FileGroup(("s3://b/f",), "csv")]
    arguments: dict[str, Any] = {"deadline": 95, "poll": 10, "sleep": clock.sleep, "clock": clock}
    if ending is None:
        load(session, "d.t", files, **arguments)
    else:
        with pytest.raises(ending, match=message):
            load(session, "d.t", files, **arguments)
    assert clock.now == seconds
    assert session.sent == (["LOAD", "CANCEL"] if ending is DeadlineExceeded else ["LOAD"])


def test_a_load_that_finishes_at_the_deadline_has_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    class TooLate(Silent):
        def execute(self, sql: str, params: object = None) -> int:
            if sql.startswith("CANCEL"):
                raise StarRocksError("Load job has finished")
            return super().execute(sql, params)

    looks = iter([R, LabelOutcome(LabelState.FINISHED, rows=3)])
    monkeypatch.setattr(broker_load_module, "label_state", lambda *_: next(looks))
    assert load(TooLate(), "d.t", [FileGroup(("s3://b/f",), "csv")], deadline=0).rows == 3
