"""What each kind of write does to a partition's id, epoch, version and row count."""

# ruff: noqa: E501 - one case a line

from __future__ import annotations

import pytest

from tests.standin.conftest import Client

# statement, is the id new?, the version after it, rows after it; before: version 2 and 1 row
WRITES: dict[str, tuple[list[str], bool, int, int]] = {
    "insert": (["INSERT INTO t VALUES ('2024-01-01', 2, 'b')"], False, 3, 2),
    "insert by partition": (["INSERT INTO t PARTITION(p20240101) VALUES ('2024-01-01', 2, 'b')"], False, 3, 2),
    "insert into another": (["INSERT INTO t VALUES ('2024-01-02', 2, 'b')"], False, 2, 1),
    "overwrite": (["INSERT OVERWRITE t PARTITION(p20240101) VALUES ('2024-01-01', 2, 'b')"], True, 2, 1),
    "overwrite with the same rows": (
        ["INSERT OVERWRITE t PARTITION(p20240101) SELECT * FROM t PARTITION(p20240101)"], True, 2, 1),
    "overwrite with nothing": (
        ["INSERT OVERWRITE t PARTITION(p20240101) SELECT * FROM t WHERE false"], True, 2, 0),
    "overwrite of another": (["INSERT OVERWRITE t PARTITION(p20240102) SELECT '2024-01-02', 1, 'x'"], False, 2, 1),
    "overwrite of all": (["INSERT OVERWRITE t SELECT '2024-01-02', 1, 'x'"], True, 2, 0),
    "overwrite, then insert": (
        ["INSERT OVERWRITE t PARTITION(p20240101) VALUES ('2024-01-01', 2, 'b')",
         "INSERT INTO t VALUES ('2024-01-01', 3, 'c')"], True, 3, 2),
    "truncate": (["TRUNCATE TABLE t PARTITION(p20240101)"], True, 1, 0),
    "truncate of all": (["TRUNCATE TABLE t"], True, 1, 0),
    "delete": (["DELETE FROM t WHERE id = 1"], False, 3, 0),
    "delete of nothing": (["DELETE FROM t WHERE id = 77"], False, 2, 1),
    "replace": (
        ["ALTER TABLE t ADD TEMPORARY PARTITION tp VALUES [('2024-01-01'),('2024-01-02'))",
         "INSERT INTO t TEMPORARY PARTITION(tp) VALUES ('2024-01-01', 2, 'b')",
         "ALTER TABLE t REPLACE PARTITION(p20240101) WITH TEMPORARY PARTITION(tp)"], True, 2, 1),
    "drop and add": (
        ["ALTER TABLE t DROP PARTITION p20240101",
         "ALTER TABLE t ADD PARTITION p20240101 VALUES [('2024-01-01'),('2024-01-02'))"], True, 1, 0),
    "analyze": (["ANALYZE TABLE t PARTITION(p20240101) WITH SYNC MODE"], False, 2, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
def test_write(daily: Client, name: str) -> None:
    statements, renewed, version, rows = WRITES[name]
    daily("INSERT INTO t VALUES ('2024-01-01', 1, 'a')")
    epoch = (
        "SELECT VERSION_EPOCH, DATA_VERSION FROM information_schema.partitions_meta "
        "WHERE DB_NAME = DATABASE() AND PARTITION_NAME = 'p20240101' AND IS_TEMP = 0"
    )
    before, ((epoch_before, _),) = daily.partitions("t")["p20240101"], daily(epoch)
    for statement in statements:
        daily(statement)
    after, ((epoch_after, data_version),) = daily.partitions("t")["p20240101"], daily(epoch)
    assert before[1:] == (2, 1)
    assert (after[0] != before[0], after[1], after[2]) == (renewed, version, rows)
    assert (epoch_after != epoch_before, data_version) == (renewed, version)
    assert daily.value("SELECT count(*) FROM t PARTITION(p20240101)") == rows


def test_a_failed_overwrite_changes_nothing(daily: Client) -> None:
    before = daily.partitions("t")
    assert daily.error("INSERT OVERWRITE t PARTITION(p20240101) VALUES ('2024-01-02', 1, 'a')")[0] == 5610
    assert daily.partitions("t") == before


def test_unpartitioned_tables_have_one_partition_of_their_name(db: Client) -> None:
    db("CREATE TABLE u (id INT)")
    created = db.partitions("u")
    assert [(name, version) for name, (_, version, _) in created.items()] == [("u", 1)]
    db("INSERT OVERWRITE u VALUES (1), (2)")
    overwritten = db.partitions("u")
    assert overwritten["u"][0] != created["u"][0]
    assert overwritten["u"][1:] == (2, 2)
    db("INSERT OVERWRITE u SELECT id + 10 FROM u")
    assert db("SELECT id FROM u ORDER BY id") == [(11,), (12,)]


def test_by_value_creates_the_partition_and_replaces_only_it(db: Client) -> None:
    db("CREATE TABLE a (dt DATE, city STRING, n INT) PARTITION BY (dt, city)")
    db("INSERT INTO a VALUES ('2024-01-01', 'LA', 1), ('2024-01-02', 'LA', 2)")
    before = db.partitions("a")
    db("INSERT OVERWRITE a PARTITION(dt='2024-01-01', city='LA') SELECT '2024-01-01', 'LA', 10")
    db(
        "INSERT OVERWRITE a PARTITION(dt='2024-01-03', city='SF') SELECT '2024-01-03', 'SF', 3 FROM a WHERE false"
    )
    after = db.partitions("a")
    assert after["p20240101_LA"][0] != before["p20240101_LA"][0]
    assert after["p20240102_LA"] == before["p20240102_LA"]
    assert after["p20240103_SF"][1:] == (2, 0)
    code, text = db.error("INSERT OVERWRITE a PARTITION(dt='2024-01-01') SELECT '2024-01-01', 'LA', 10")
    assert (code, "must equal the table's partition columns" in text) == (1064, True)


def test_by_value_on_a_date_trunc_table(db: Client) -> None:
    db("CREATE TABLE a (ts DATETIME, n INT) PARTITION BY date_trunc('day', ts)")
    db("INSERT OVERWRITE a PARTITION(ts='2024-01-01') SELECT '2024-01-01 05:00:00', 1")
    db("INSERT OVERWRITE a PARTITION(ts='2024-01-01') SELECT '2024-01-01 06:00:00', 2")
    assert db("SELECT n FROM a") == [(2,)]
    assert list(db.partitions("a")) == ["p20240101"]
    assert db.error("INSERT OVERWRITE a PARTITION(ts='2024-01-01') SELECT '2024-01-02', 3")[0] == 5610


def test_dynamic_overwrite_replaces_only_what_the_result_has(db: Client) -> None:
    db("CREATE TABLE a (dt DATE, n INT) PARTITION BY date_trunc('day', dt)")
    db("INSERT INTO a VALUES ('2024-01-01', 1), ('2024-01-02', 2)")
    before = db.partitions("a")
    db(
        "INSERT /*+ SET_VAR(dynamic_overwrite=true) */ OVERWRITE a SELECT '2024-01-02', 20 UNION ALL SELECT '2024-01-03', 30"
    )
    assert db("SELECT n FROM a ORDER BY dt") == [(1,), (20,), (30,)]
    assert db.partitions("a")["p20240101"] == before["p20240101"]
    db("INSERT /*+ SET_VAR(dynamic_overwrite=true) */ OVERWRITE a SELECT * FROM a WHERE false")
    assert db.value("SELECT count(*) FROM a") == 3
    db("INSERT OVERWRITE a SELECT '2024-01-03', 300")
    assert db("SELECT n FROM a") == [(300,)]


def test_dynamic_overwrite_is_ignored_on_manual_tables(daily: Client) -> None:
    daily("INSERT INTO t VALUES ('2024-01-01', 1, 'a'), ('2024-01-02', 2, 'b')")
    daily("SET dynamic_overwrite = true")
    daily("INSERT OVERWRITE t SELECT '2024-01-02', 3, 'c'")
    assert daily("SELECT id FROM t") == [(3,)]


def test_thousands_of_hourly_partitions(db: Client) -> None:
    db("CREATE TABLE w (ts DATETIME, n INT) PARTITION BY RANGE(ts)"
       "(START('2024-01-01') END('2024-01-02') EVERY(INTERVAL 1 HOUR))")  # fmt: skip
    db("ALTER TABLE w ADD PARTITIONS START('2024-01-02') END('2024-07-01') EVERY(INTERVAL 1 HOUR)")
    assert len(db.partitions("w")) == 24 * 182
    db("INSERT INTO w VALUES ('2024-01-01', 1), ('2024-06-30 23:59:59', 2), ('2024-03-03 03:30:00', 3)")
    written = {name: rows for name, (_, version, rows) in db.partitions("w").items() if version > 1}
    assert written == {"p2024010100": 1, "p2024030303": 1, "p2024063023": 1}
    assert db.error("INSERT INTO w VALUES ('2024-07-01', 1)")[0] == 5610
