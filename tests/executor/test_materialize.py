"""The executor's protocol over the wire: intent, write, verify, record, and what a dead run left."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from sr_assets import Column, Daily, Static, Yearly, row_count, table
from sr_assets.assets import Asset, source
from sr_assets.executor import Outcome, Owner, Run, materialize
from sr_assets.executor.samples import Sampler
from sr_assets.ledger import Intent, KeyIntent, Status
from sr_assets.planner.staleness import Cause
from sr_assets.project import build_project
from sr_assets.service import Request, Service
from sr_assets.standin import StandIn, StandInConfig
from sr_assets.starrocks.labels import make_label
from sr_assets.starrocks.overwrite import overwrite
from sr_assets.starrocks.session import Session, connect_url

NOW = datetime(2024, 1, 6, tzinfo=UTC)
DAYS = ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04", "2024-01-05"]
DT, V = Column("dt", "DATE", nullable=False), Column("v", "BIGINT")


@pytest.fixture(scope="module")
def standin() -> Iterator[StandIn]:
    with StandIn(StandInConfig()) as server:
        yield server


@pytest.fixture
def session(standin: StandIn) -> Iterator[Session]:
    with connect_url(f"starrocks://root@127.0.0.1:{standin.port}") as session:
        yield session


@pytest.fixture
def db(session: Session) -> str:
    """A database with `src`, five days of ten rows each, written by somebody else."""
    name = f"t{uuid4().hex[:10]}"
    session.execute(f"CREATE DATABASE {name}")
    session.execute(
        f"CREATE TABLE {name}.src (dt DATE NOT NULL, v BIGINT) DUPLICATE KEY (dt) PARTITION BY RANGE(dt) () "
        "DISTRIBUTED BY RANDOM"
    )
    session.execute(
        f"ALTER TABLE {name}.src ADD PARTITIONS START ('2024-01-01') END ('2024-01-06') EVERY (INTERVAL 1 DAY)"
    )
    values = ", ".join(f"('{day}', {n})" for day in DAYS for n in range(10))
    session.execute(f"INSERT INTO {name}.src VALUES {values}")
    return name


def assets(db: str) -> list[Asset]:
    """src → day → sum2 (two days), and a running total that reads its own previous day."""
    days = Daily("dt", start="2024-01-01")
    return [
        source(f"{db}.src", partitions=days, columns=[DT, V]),
        table(
            f"{db}.day",
            partitions=days,
            columns=[DT, V],
            sql=f"SELECT dt, SUM(v) AS v FROM {db}.src WHERE dt = '{{{{ partition.start }}}}' GROUP BY dt",
            checks=[row_count(min=1)],
            batch=3,
        ),
        table(
            f"{db}.sum2",
            partitions=days,
            columns=[DT, V],
            sql=f"""SELECT CAST('{{{{ partition.start }}}}' AS DATE) AS dt, SUM(v) AS v FROM {db}.day
            WHERE dt >= date_sub('{{{{ partition.start }}}}', INTERVAL 1 DAY) AND dt <= '{{{{ partition.start }}}}'""",
        ),
        table(
            f"{db}.total",
            partitions=days,
            columns=[DT, V],
            sql=f"""SELECT CAST('{{{{ partition.start }}}}' AS DATE) AS dt, SUM(v) AS v FROM (
              SELECT v FROM {db}.day WHERE dt = '{{{{ partition.start }}}}'
              UNION ALL
              SELECT v FROM {db}.total WHERE dt = date_sub('{{{{ partition.start }}}}', INTERVAL 1 DAY)) AS u""",
            batch=2,
        ),
    ]


def service(session: Session, declared: list[Asset], run_id: str | None = None) -> Service:
    project = build_project(declared)
    assert project.problems == ()
    run_id = run_id or f"run-{uuid4().hex[:8]}"
    return Service(Run(session, project.graph, run_id, Owner.here(run_id), now=lambda: NOW), project.graph)


@pytest.fixture
def built(session: Session, db: str) -> Service:
    """Everything built once."""
    s = service(session, assets(db))
    assert backfill(s) == {Outcome.BUILT: 15}
    return service(session, assets(db))


def backfill(s: Service, **request: object) -> dict[Outcome, int]:
    plan = s.plan(Request(**request))
    progress = s.backfill(Request(**request), plan)
    return {outcome: n for outcome in Outcome if (n := progress.count(outcome))}


def planned(s: Service) -> dict[str, tuple[str, ...]]:
    plan = s.plan(Request())
    return {b.asset.partition(".")[2]: plan.of(b.asset) for b in plan.batches}


def values(session: Session, name: str) -> list[int]:
    return [v for (v,) in session.query(f"SELECT v FROM {name} ORDER BY dt")]


def attempts(s: Service, asset: str) -> list[tuple[str, str]]:
    found = s.run.ledger.attempts(asset, DAYS)
    return sorted((a.key, a.status.value) for a in found)


def test_everything_is_built_once_and_then_fresh(session: Session, db: str, built: Service) -> None:
    assert values(session, f"{db}.day") == [45] * 5
    assert values(session, f"{db}.sum2") == [45, 90, 90, 90, 90]
    assert values(session, f"{db}.total") == [45, 90, 135, 180, 225]
    assert planned(built) == {}
    assert materialize(built.run, f"{db}.day", DAYS).of(Outcome.SKIPPED) != ()
    assert attempts(built, f"{db}.day") == [(day, "success") for day in DAYS]


def test_a_write_of_somebody_else_reaches_its_readers_only(session: Session, db: str, built: Service) -> None:
    session.execute(f"INSERT INTO {db}.src VALUES ('2024-01-04', 1000)")
    assert planned(built) == {
        "day": ("2024-01-04",),
        "sum2": ("2024-01-04", "2024-01-05"),
        "total": ("2024-01-04", "2024-01-05"),
    }
    assert backfill(built) == {Outcome.BUILT: 5}
    assert values(session, f"{db}.total") == [45, 90, 135, 1180, 1225]
    assert planned(built) == {}


def test_drift_and_emptying_are_seen(session: Session, db: str, built: Service) -> None:
    session.execute(f"INSERT INTO {db}.day VALUES ('2024-01-02', 7)")
    session.execute(f"TRUNCATE TABLE {db}.sum2 PARTITION (p20240105)")
    stale = built.staleness()[1]
    assert stale[f"{db}.day"].causes.tolist() == [0, Cause.DRIFT, 0, 0, 0]
    assert stale[f"{db}.sum2"].causes.tolist()[4] == Cause.MISSING
    backfill(built)
    assert values(session, f"{db}.day") == [45] * 5
    assert values(session, f"{db}.sum2") == [45, 90, 90, 90, 90]
    assert planned(built) == {}


def test_a_dropped_partition_is_created_again(session: Session, db: str, built: Service) -> None:
    session.execute(f"ALTER TABLE {db}.day DROP PARTITION p20240103 FORCE")
    assert planned(built)["day"] == ("2024-01-03",)
    backfill(built)
    assert values(session, f"{db}.day") == [45] * 5


def test_a_failed_partition_blocks_only_what_reads_it(session: Session, db: str, built: Service) -> None:
    session.execute(f"TRUNCATE TABLE {db}.src PARTITION (p20240102)")
    session.execute(f"INSERT INTO {db}.src VALUES ('2024-01-04', 5)")
    assert backfill(built) == {Outcome.BUILT: 3, Outcome.FAILED: 1, Outcome.BLOCKED: 6}
    assert values(session, f"{db}.sum2")[3:] == [95, 95]
    states = {row.key: row.status for row in built.run.ledger.current([f"{db}.day"])[f"{db}.day"]}
    assert states["2024-01-02"] is Status.FAILED
    assert "row_count: 0 rows, at least 1 wanted" in built.explain(f"{db}.day", "2024-01-02").reasons[0].text

    session.execute(f"INSERT INTO {db}.src VALUES ('2024-01-02', 1)")
    assert backfill(service(session, assets(db))) == {Outcome.BUILT: 7}
    assert values(session, f"{db}.total") == [45, 46, 91, 141, 186]
    assert planned(built) == {}


def test_a_changed_query_makes_its_table_stale_and_a_comment_does_not(
    session: Session, db: str, built: Service
) -> None:
    changed = assets(db)
    sql = changed[1].recipe.text
    changed[1] = replace(
        changed[1],
        recipe=replace(changed[1].recipe, text="-- a comment\n" + sql.replace("SUM(v)", "sum( v )")),
    )
    assert planned(service(session, changed)) == {}
    changed[1] = replace(changed[1], recipe=replace(changed[1].recipe, text=sql.replace("SUM(v)", "MAX(v)")))
    s = service(session, changed)
    assert s.staleness()[1][f"{db}.day"].causes.tolist() == [Cause.CODE] * 5
    backfill(s)
    assert values(session, f"{db}.total") == [9, 18, 27, 36, 45]


def test_force_builds_again_and_a_second_try_of_the_run_goes_on(
    session: Session, db: str, built: Service
) -> None:
    first = materialize(built.run, f"{db}.day", DAYS[:3], force=True)
    assert len(first.of(Outcome.BUILT)) == 3
    again = materialize(built.run, f"{db}.day", DAYS, force=True)
    assert [r.outcome for r in again.results] == [Outcome.SKIPPED] * 3 + [Outcome.BUILT] * 2


# fail point of one overwrite, the labels that then FINISHED: a lost statement is not sent again where it took place
LOST = [
    ("drop_before_commit", 1),
    ("drop_after_commit", 1),
    ("crash_between_commit_and_swap", 2),
    ("stay_committed:0.5", 1),
]


@pytest.mark.parametrize(("fault", "finished"), LOST)
def test_a_lost_statement_is_decided_by_label_and_fingerprint(
    session: Session, db: str, fault: str, finished: int
) -> None:
    s = service(session, assets(db))
    s.create_tables()
    session.execute(f"ADMIN ENABLE FAILPOINT '{fault}@{db}.day' WITH 1 TIMES")
    assert materialize(s.run, f"{db}.day", DAYS[:2]).ok
    assert values(session, f"{db}.day") == [45, 45]
    assert finished_labels(session, db, "2024-01-01") == finished
    assert attempts(s, f"{db}.day") == [("2024-01-01", "success"), ("2024-01-02", "success")]
    assert planned(s)["day"] == tuple(DAYS[2:])


def finished_labels(session: Session, db: str, key: str) -> int:
    rows = session.query(
        "SELECT COUNT(*) FROM information_schema.loads WHERE DB_NAME = %s AND STATE = 'FINISHED' AND LABEL LIKE %s",
        [db, f"%day_{key}%"],
    )
    return int(rows[0][0])


def test_a_permanent_error_is_not_sent_again(session: Session, db: str) -> None:
    s = service(session, assets(db))
    s.create_tables()
    session.execute(f"ADMIN ENABLE FAILPOINT 'error_before_commit:no such luck@{db}.day' WITH 1 TIMES")
    result = materialize(s.run, f"{db}.day", DAYS[:2])
    assert [(r.outcome, "no such luck" in (r.message or "")) for r in result.results] == [
        (Outcome.FAILED, True),
        (Outcome.BUILT, False),
    ]


CHILD = """
import sys
sys.path[:0] = [{tests!r}]
from test_materialize import *
s = service(connect_url({url!r}), assets({db!r}), "doomed")
materialize(s.run, {db!r} + ".day", DAYS[:2])
"""


def test_a_killed_run_is_settled_by_the_next(
    session: Session, db: str, standin: StandIn, tmp_path: Path
) -> None:
    """kill -9 in mid-statement; the statement itself goes on in the server and lands."""
    service(session, assets(db)).create_tables()
    gate = f"hold_before_commit@{db}.day"
    session.execute(f"ADMIN ENABLE FAILPOINT '{gate}'")
    url = f"starrocks://root@127.0.0.1:{standin.port}"
    script = tmp_path / "child.py"
    script.write_text(CHILD.format(tests=str(Path(__file__).parent), url=url, db=db))
    child = subprocess.Popen([sys.executable, str(script)])
    wait_until(lambda: any(int(waiting) for _, _, waiting in session.query("SHOW FAILPOINTS")))
    child.kill()
    child.wait()
    s = service(session, assets(db))
    assert [c.run for c in s.run.ledger.claims([f"{db}.day"])[f"{db}.day"]] == ["doomed"]
    session.execute(f"ADMIN DISABLE FAILPOINT '{gate}'")
    assert materialize(s.run, f"{db}.day", DAYS).ok
    assert values(session, f"{db}.day") == [45] * 5
    assert s.run.ledger.claims([f"{db}.day"]) == {}
    assert "day" not in planned(s)


@pytest.mark.parametrize("landed", [True, False], ids=["landed", "not landed"])
def test_what_a_dead_claim_did_is_found_by_its_label(session: Session, db: str, landed: bool) -> None:
    s = service(session, assets(db))
    assert backfill(s, selection=f"{db}.day") == {Outcome.BUILT: 5}
    session.execute(f"INSERT INTO {db}.src VALUES ('2024-01-03', 1)")
    name, label = f"{db}.day", make_label("dead", uuid4().hex)
    state = s.read([name])
    intent = KeyIntent(label, state[name].physical[2].fingerprint, Sampler(state, s.graph[name]).at(2))
    dead = Owner("dead", Owner.here("x").host, dead_pid())
    version = s.graph[name].code_version
    seq = s.run.ledger.next_claim(name)
    assert s.run.ledger.append_claim(
        name, seq, str(dead), "dead run", Intent(version, {DAYS[2]: intent}), timedelta(hours=1)
    )
    if landed:
        overwrite(
            session, name, partitions=["p20240103"], columns=["dt", "v"], select=f"SELECT dt, SUM(v) AS v FROM {db}.src WHERE dt = '2024-01-03' GROUP BY dt",
            label=label, timeout=60,
        )  # fmt: skip
    result = materialize(s.run, name, [DAYS[2]])
    assert result.results[0].outcome is (Outcome.SKIPPED if landed else Outcome.BUILT)
    last = s.run.ledger.attempts(name, [DAYS[2]])[0]
    assert (last.run, last.status) == ("dead run" if landed else s.run.id, Status.SUCCESS)
    assert values(session, name)[2] == 46
    assert "day" not in planned(s)


def dead_pid() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def test_a_live_claim_keeps_others_out_until_it_expires(session: Session, db: str) -> None:
    s = service(session, assets(db))
    s.create_tables()
    s.run.ledger.ensure()
    name = f"{db}.day"
    elsewhere = Owner("other", "another-host", 1)
    intent = Intent("v", {DAYS[0]: KeyIntent("never_sent", 0, {})})
    assert s.run.ledger.append_claim(name, 1, str(elsewhere), "other", intent, timedelta(seconds=3))
    assert not s.run.ledger.append_claim(name, 1, str(s.run.owner), "me", intent, timedelta(seconds=3))
    first = materialize(s.run, name, DAYS[:2])
    assert [r.outcome for r in first.results] == [Outcome.BLOCKED, Outcome.BUILT]
    assert "another run is writing it" in (first.results[0].message or "")
    wait_until(lambda: materialize(s.run, name, DAYS[:2]).ok)
    assert values(session, name) == [45, 45]


def test_runs_side_by_side_build_every_partition_once(standin: StandIn, session: Session, db: str) -> None:
    service(session, assets(db)).create_tables()
    url, failures = f"starrocks://root@127.0.0.1:{standin.port}", []

    def work(number: int) -> None:
        try:
            with connect_url(url) as own:
                materialize(service(own, assets(db), f"racer{number}").run, f"{db}.day", DAYS)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test fails with it
            failures.append(error)

    for _ in range(5):
        session.execute(f"INSERT INTO {db}.src SELECT dt, 1 FROM {db}.day")
        session.execute(f"INSERT INTO {db}.src VALUES ('2024-01-01', 0)")
        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert failures == []
        s = service(session, assets(db))
        assert "day" not in planned(s)
        written = session.query(
            f"SELECT COUNT(*), COUNT(DISTINCT claim) FROM _sr_assets.materializations WHERE asset = '{db}.day' AND status = 'success' AND partition_key = '2024-01-01'"
        )
        assert written[0][0] == written[0][1]
    total = sum(values(session, f"{db}.src"))
    assert sum(values(session, f"{db}.day")) == total


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, "waited in vain"
        time.sleep(0.1)


def test_lists_years_and_whole_tables_are_built(session: Session, db: str) -> None:
    """Static → static by value, a year from its days, and a whole table from a list."""
    cities = Static("city", ["LA", "SF", "New York"])
    city, total = Column("city", "VARCHAR(20)", nullable=False), Column("v", "BIGINT")
    declared = [
        *assets(db)[:1],
        table(
            f"{db}.city",
            partitions=cities,
            columns=[city, total],
            sql=f"SELECT '{{{{ partition.key }}}}' AS city, SUM(v) AS v FROM {db}.src",
        ),
        table(
            f"{db}.shout",
            partitions=cities,
            columns=[city, total],
            sql=f"SELECT city, v * 2 AS v FROM {db}.city WHERE city = '{{{{ partition.key }}}}'",
        ),
        table(
            f"{db}.sum", columns=[total], sql=f"SELECT SUM(v) AS v FROM {db}.shout WHERE city IN ('LA', 'SF')"
        ),
        table(
            f"{db}.year",
            partitions=Yearly("dt", start="2023", end_offset=1),
            columns=[DT, total],
            sql=f"""SELECT CAST('{{{{ partition.start }}}}' AS DATE) AS dt, SUM(v) AS v FROM {db}.src
            WHERE dt >= '{{{{ partition.start }}}}' AND dt < '{{{{ partition.end }}}}'""",
        ),
    ]
    s = service(session, declared)
    assert backfill(s, allow_missing=True) == {Outcome.BUILT: 9}
    assert planned(s) == {}
    assert sorted(session.query(f"SELECT city, v FROM {db}.shout")) == [
        ("LA", 450),
        ("New York", 450),
        ("SF", 450),
    ]
    assert session.query(f"SELECT v FROM {db}.sum") == [(900,)]
    assert session.query(f"SELECT v FROM {db}.year WHERE dt = '2024-01-01'") == [(225,)]
    session.execute(f"INSERT INTO {db}.city VALUES ('New York', 1)")
    assert planned(s) == {"city": ("New York",), "shout": ("New York",)}  # the sum does not read New York
    assert backfill(s) == {Outcome.BUILT: 2}
    assert planned(s) == {}
