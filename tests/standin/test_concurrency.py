"""Writers and readers at the same time, and labels as the one compare-and-set."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pymysql
import pytest

from sr_assets.standin import StandIn
from tests.standin.conftest import Client


def together(work: list[Callable[[], Any]]) -> list[Any]:
    """Run all at once; results in order."""
    with ThreadPoolExecutor(len(work)) as pool:
        return [future.result() for future in [pool.submit(task) for task in work]]


def test_readers_never_see_a_mix(server: StandIn, daily: Client) -> None:
    """Each overwrite writes 50 rows of one value: a reader must see 50 rows of one value."""
    name = daily.value("SELECT DATABASE()")
    overwrite = (
        "INSERT OVERWRITE t PARTITION(p20240101) "
        "SELECT '2024-01-01', {0}, '{0}' FROM (SELECT 1 AS x UNION ALL SELECT 2) a, "
        "(SELECT 1 AS y UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5) b, "
        "(SELECT 1 AS z UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5) c"
    )
    daily(overwrite.format(0))
    stop = threading.Event()
    seen: set[tuple[Any, ...]] = set()

    def write(first: int) -> int:
        client, count = Client(server.port, name), 0
        while not stop.is_set():
            client(overwrite.format(first + count % 50))
            count += 1
        return count

    def read() -> int:
        client, count = Client(server.port, name), 0
        while not stop.is_set():
            seen.add(client("SELECT count(*), min(id) = max(id) FROM t PARTITION(p20240101)")[0])
            count += 1
        return count

    timer = threading.Timer(1.5, stop.set)
    timer.start()
    counts = together([lambda: write(100), lambda: write(200), read, read])
    assert all(count > 5 for count in counts), counts
    assert seen == {(50, 1)}


def test_of_two_overwrites_the_last_to_commit_wins(other: Client, daily: Client) -> None:
    """The first to start is held until the second is done: neither fails, and the first one's rows stay."""
    table = daily.value("SELECT DATABASE()") + ".t"
    daily(f"ADMIN ENABLE FAILPOINT 'hold_before_commit@{table}' WITH 1 TIMES")

    def second() -> None:
        wait_until(lambda: waiting(other, "hold_before_commit") == 1)
        other("INSERT OVERWRITE t PARTITION(p20240101) VALUES ('2024-01-01', 2, 'second')")
        assert other("SELECT v FROM t") == [("second",)]
        other(f"ADMIN DISABLE FAILPOINT 'hold_before_commit@{table}'")

    together(
        [lambda: daily("INSERT OVERWRITE t PARTITION(p20240101) VALUES ('2024-01-01', 1, 'first')"), second]
    )
    assert daily("SELECT v FROM t") == [("first",)]
    assert daily.partitions("t")["p20240101"][1:] == (2, 1)


def test_a_load_into_a_partition_that_is_replaced_loses_its_rows(other: Client, daily: Client) -> None:
    """StarRocks reports success, too."""
    table = daily.value("SELECT DATABASE()") + ".t"
    daily(f"ADMIN ENABLE FAILPOINT 'hold_before_commit@{table}' WITH 1 TIMES")

    def second() -> None:
        wait_until(lambda: waiting(other, "hold_before_commit") == 1)
        other("INSERT OVERWRITE t PARTITION(p20240101) VALUES ('2024-01-01', 2, 'overwrite')")
        other(f"ADMIN DISABLE FAILPOINT 'hold_before_commit@{table}'")

    together([lambda: daily("INSERT INTO t VALUES ('2024-01-01', 1, 'lost')"), second])
    assert daily("SELECT v FROM t") == [("overwrite",)]


def waiting(client: Client, name: str) -> int:
    return sum(int(row[2]) for row in client("SHOW FAILPOINTS") if row[0].startswith(name))


def wait_until(condition: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def test_many_writers_into_one_table(server: StandIn, daily: Client) -> None:
    name = daily.value("SELECT DATABASE()")

    def write(writer: int) -> None:
        client = Client(server.port, name)
        for number in range(10):
            client(f"INSERT INTO t VALUES ('2024-01-0{1 + number % 3}', {writer}, '{number}')")

    together([lambda writer=writer: write(writer) for writer in range(6)])  # type: ignore[misc]
    assert daily("SELECT count(*), count(DISTINCT id, v) FROM t") == [(60, 60)]
    assert sum(version - 1 for _, version, _ in daily.partitions("t").values()) == 60


def test_of_statements_with_one_label_exactly_one_succeeds(server: StandIn, daily: Client) -> None:
    name = daily.value("SELECT DATABASE()")
    clients = [Client(server.port, name) for _ in range(8)]

    def claim(client: Client, label: str) -> bool:
        try:
            client(f"INSERT INTO t WITH LABEL {label} VALUES ('2024-01-01', 1, '{label}')")
        except pymysql.Error as error:
            assert error.args == (1064, f"Label [{label}] has already been used.")
            return False
        return True

    for number in range(5):
        won = together([lambda client=client: claim(client, f"claim_{number}") for client in clients])  # type: ignore[misc]  # noqa: B023
        assert won.count(True) == 1
    assert daily("SELECT count(*), count(DISTINCT v) FROM t") == [(5, 5)]


def test_labels_are_unique_in_a_database_only(server: StandIn, daily: Client) -> None:
    insert = "INSERT INTO {}t WITH LABEL `a-b_1` VALUES ('2024-01-01', 1, 'a')"
    daily(insert.format(""))
    assert daily.info.startswith("{'label':'a-b_1', 'status':'VISIBLE', 'txnId':'")
    assert daily.error(insert.format(""))[0] == 1064
    daily("CREATE DATABASE elsewhere")
    daily("CREATE TABLE elsewhere.t (dt DATE, id INT, v STRING)")
    daily(insert.format("elsewhere."))
    daily("DROP DATABASE elsewhere")


def test_the_label_of_a_cancelled_load_can_be_used_again(daily: Client) -> None:
    assert daily.error("INSERT INTO t WITH LABEL l1 VALUES ('2025-01-01', 1, 'a')")[0] == 5610
    daily("INSERT INTO t WITH LABEL l1 VALUES ('2024-01-01', 1, 'a')")
    states = daily("SHOW LOAD WHERE Label = 'l1' ORDER BY JobId DESC")
    assert [row[2] for row in states] == ["FINISHED", "CANCELLED"]
    assert "Insert has filtered data" in states[1][12]


def test_labels_age_out(daily: Client) -> None:
    insert = "INSERT INTO t WITH LABEL old VALUES ('2024-01-01', 1, 'a')"
    daily(insert)
    daily("ADMIN ENABLE FAILPOINT 'label_forgotten:old'")
    assert daily("SHOW LOAD WHERE Label = 'old'") == []
    daily(insert)
    assert daily.value("SELECT count(*) FROM t") == 2


def test_kill_query_and_connection(server: StandIn, db: Client) -> None:
    victim = Client(server.port)
    victim_id = victim.value("SELECT CONNECTION_ID()")

    def kill(statement: str) -> None:
        wait_until(lambda: any(row[0] == victim_id and row[4] == "Query" for row in db("SHOW PROCESSLIST")))
        db(statement)

    (found, _) = together([lambda: victim.error("SELECT sleep(20)"), lambda: kill(f"KILL QUERY {victim_id}")])
    assert found == (1064, "Cancelled by user")
    assert victim.value("SELECT 1") == 1
    (found, _) = together([lambda: victim.error("SELECT sleep(20)"), lambda: kill(f"KILL {victim_id}")])
    assert found[0] == 2013


def test_insert_timeout_changes_nothing(daily: Client) -> None:
    table = daily.value("SELECT DATABASE()") + ".t"
    daily(f"ADMIN ENABLE FAILPOINT 'delay_before_commit:20@{table}' WITH 1 TIMES")
    daily("SET insert_timeout = 1")
    code, text = daily.error("INSERT INTO t WITH LABEL slow VALUES ('2024-01-01', 1, 'a')")
    assert (code, text.startswith("Insert reached its timeout of 1 seconds")) == (5024, True)
    assert daily("SELECT * FROM t") == []
    assert daily("SHOW LOAD WHERE Label = 'slow'")[0][2] == "CANCELLED"


@pytest.mark.parametrize(
    "text", ["x" * 1_000_000, "a'b\"c\\d\ne\tf\0g\x1ah%_\\%\\_ü€😀", "", " ", "NULL", "\\N", "--", "/* */;"]
)
def test_any_text_survives(db: Client, text: str) -> None:
    db("CREATE TABLE s (id INT, v VARCHAR(1048576))")
    db("INSERT INTO s VALUES (%s, %s), (%s, %s)", (1, text, 2, text[::-1]))
    assert db("SELECT v FROM s WHERE id = %s", (1,)) == [(text,)]
    assert db("SELECT id FROM s WHERE v = %s ORDER BY id", (text,))[0] == (1,)
