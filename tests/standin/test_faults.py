"""Fail points: what the client sees, what became of the label, what became of the data."""

from __future__ import annotations

import time

import pymysql
import pytest

from sr_assets.standin import StandIn
from tests.standin.conftest import Client

# fail point, error code at the client, state of the label, whether the new data is there
FAULTS: list[tuple[str, int, str, bool]] = [
    ("drop_before_commit", 2013, "CANCELLED", False),
    ("drop_after_commit", 2013, "FINISHED", True),
    ("crash_between_commit_and_swap", 2013, "FINISHED", False),
    ("error_before_commit", 1064, "CANCELLED", False),
    ("error_before_commit:disk full", 1064, "CANCELLED", False),
    ("delay_before_commit:0.05", 0, "FINISHED", True),
]


@pytest.mark.parametrize(("point", "code", "state", "written"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_fault(other: Client, daily: Client, point: str, code: int, state: str, written: bool) -> None:
    daily("INSERT INTO t VALUES ('2024-01-01', 1, 'old')")
    before = daily.partitions("t")
    table = daily.value("SELECT DATABASE()") + ".t"
    daily(f"ADMIN ENABLE FAILPOINT '{point}@{table}' WITH 1 TIMES")
    overwrite = "INSERT OVERWRITE t PARTITION(p20240101) WITH LABEL l VALUES ('2024-01-01', 1, 'new')"
    if code:
        assert daily.error(overwrite)[0] == code
    else:
        daily(overwrite)
    assert other("SHOW LOAD WHERE Label = 'l'")[0][2] == state
    assert other("SELECT v FROM t") == [("new" if written else "old",)]
    assert (other.partitions("t") != before) == written
    assert other("SHOW FAILPOINTS")[0][1] == "0" or point not in str(other("SHOW FAILPOINTS"))
    other(f"ADMIN DISABLE FAILPOINT '{point}@{table}'")


def test_error_text(daily: Client) -> None:
    daily("ADMIN ENABLE FAILPOINT 'error_before_commit:disk full@t' WITH 1 TIMES")
    assert daily.error("INSERT INTO t VALUES ('2024-01-01', 1, 'a')") == (1064, "disk full")
    daily("INSERT INTO t VALUES ('2024-01-01', 1, 'a')")
    daily("ADMIN DISABLE FAILPOINT 'error_before_commit:disk full@t'")


def test_stay_committed(daily: Client) -> None:
    point = f"stay_committed@{daily.value('SELECT DATABASE()')}.t"
    daily(f"ADMIN ENABLE FAILPOINT '{point}'")
    daily("INSERT INTO t WITH LABEL l VALUES ('2024-01-01', 1, 'a')")
    assert "'status':'COMMITTED'" in daily.info
    assert daily("SHOW LOAD WHERE Label = 'l'")[0][2] == "FINISHED"
    assert daily("SELECT * FROM t") == []
    daily(f"ADMIN DISABLE FAILPOINT '{point}'")
    end = time.monotonic() + 5
    while not daily("SELECT * FROM t") and time.monotonic() < end:
        time.sleep(0.01)
    assert daily("SELECT v FROM t") == [("a",)]


def test_a_target_keeps_other_tables_safe(daily: Client) -> None:
    daily("CREATE TABLE u (id INT)")
    daily(f"ADMIN ENABLE FAILPOINT 'error_before_commit@{daily.value('SELECT DATABASE()')}.u' WITH 1 TIMES")
    daily("INSERT INTO t VALUES ('2024-01-01', 1, 'a')")
    assert daily.error("INSERT INTO u VALUES (1)")[0] == 1064
    daily("INSERT INTO u VALUES (1)")


def test_refuse_connect(server: StandIn, db: Client) -> None:
    db("ADMIN ENABLE FAILPOINT 'refuse_connect' WITH 1 TIMES")
    with pytest.raises(pymysql.err.OperationalError):
        Client(server.port)
    Client(server.port).close()
