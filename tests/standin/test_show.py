"""SHOW, DESC, information_schema and tasks."""

from __future__ import annotations

import time

import pytest

from sr_assets.standin import StandIn
from tests.standin.conftest import Client


def columns(client: Client, sql: str) -> list[str]:
    with client.connection.cursor() as cursor:
        cursor.execute(sql)
        return [column[0] for column in cursor.description]


PARTITIONS_META = (
    "DB_NAME TABLE_NAME PARTITION_NAME PARTITION_ID COMPACT_VERSION VISIBLE_VERSION VISIBLE_VERSION_TIME "
    "NEXT_VERSION DATA_VERSION VERSION_EPOCH VERSION_TXN_TYPE PARTITION_KEY PARTITION_VALUE DISTRIBUTION_KEY "
    "BUCKETS REPLICATION_NUM STORAGE_MEDIUM COOLDOWN_TIME LAST_CONSISTENCY_CHECK_TIME IS_IN_MEMORY IS_TEMP "
    "DATA_SIZE ROW_COUNT ENABLE_DATACACHE AVG_CS P50_CS MAX_CS STORAGE_PATH STORAGE_SIZE TABLET_BALANCED"
)
SHOW_LOAD = (
    "JobId Label State Progress Type Priority ScanRows FilteredRows UnselectedRows SinkRows EtlInfo TaskInfo "
    "ErrorMsg CreateTime EtlStartTime EtlFinishTime LoadStartTime LoadFinishTime TrackingSQL JobDetails"
)
TASK_RUNS = (
    "QUERY_ID TASK_NAME CREATE_TIME FINISH_TIME STATE CATALOG DATABASE DEFINITION EXPIRE_TIME ERROR_CODE "
    "ERROR_MESSAGE PROGRESS EXTRA_MESSAGE PROPERTIES JOB_ID PROCESS_TIME"
)
LAYOUTS = [
    ("SELECT * FROM information_schema.partitions_meta", PARTITIONS_META),
    ("SELECT * FROM information_schema.task_runs", TASK_RUNS),
    ("SHOW LOAD", SHOW_LOAD),
    (
        "SHOW ANALYZE STATUS",
        "Id Database Table Columns Type Schedule Status StartTime EndTime Properties Reason",
    ),
    ("DESC t", "Field Type Null Key Default Extra"),
    ("SHOW FULL COLUMNS FROM t", "Field Type Collation Null Key Default Extra Privileges Comment"),
]


@pytest.mark.parametrize(("sql", "names"), LAYOUTS, ids=[layout[0] for layout in LAYOUTS])
def test_layout(daily: Client, sql: str, names: str) -> None:
    assert columns(daily, sql) == names.split()


def test_show_partitions(daily: Client) -> None:
    assert "Range" in columns(daily, "SHOW PARTITIONS FROM t")
    rows = daily(
        "SHOW PARTITIONS FROM t WHERE PartitionName >= 'p20240102' ORDER BY PartitionName DESC LIMIT 1"
    )
    assert [(row[1], row[2]) for row in rows] == [("p20240103", 1)]
    assert daily("SHOW TEMPORARY PARTITIONS FROM t") == []
    daily("CREATE TABLE l (c STRING) PARTITION BY LIST(c)(PARTITION p VALUES IN ('a'))")
    assert "List" in columns(daily, "SHOW PARTITIONS FROM l")


def test_show_create_table_can_be_run(daily: Client) -> None:
    daily(
        "CREATE TABLE c (k BIGINT NOT NULL COMMENT 'key', s VARCHAR(9) DEFAULT 'x', d DECIMAL(10, 2), "
        "ts DATETIME DEFAULT CURRENT_TIMESTAMP) PRIMARY KEY(k) COMMENT 'c' DISTRIBUTED BY HASH(k) BUCKETS 3 "
        "ORDER BY(s) PROPERTIES('replication_num' = '1', 'compression' = 'ZSTD')"
    )
    daily("CREATE TABLE a (dt DATE, c STRING) PARTITION BY (dt, c)")
    daily("CREATE TABLE l (c STRING) PARTITION BY LIST(c)(PARTITION p VALUES IN ('a', NULL))")
    for table in ("t", "c", "a", "l"):
        ((_, text),) = daily(f"SHOW CREATE TABLE {table}")
        daily(f"DROP TABLE {table}")
        daily(text)
        assert daily(f"SHOW CREATE TABLE {table}") == [(table, text)]


def test_names(daily: Client) -> None:
    name = daily.value("SELECT DATABASE()")
    daily("CREATE VIEW v AS SELECT 1 AS one")
    assert daily("SHOW TABLES") == [("t",), ("v",)]
    assert daily("SHOW FULL TABLES LIKE 'v'") == [("v", "VIEW")]
    assert (name,) in daily("SHOW DATABASES")
    assert daily(f"SHOW DATABASES LIKE '{name}'") == [(name,)]
    assert daily("SHOW CREATE VIEW v")[0][0] == "v"
    assert daily("SELECT TABLE_NAME, TABLE_TYPE FROM information_schema.tables "
                 "WHERE TABLE_SCHEMA = DATABASE() ORDER BY 1") == [("t", "BASE TABLE"), ("v", "VIEW")]  # fmt: skip
    assert (name,) in daily("SELECT SCHEMA_NAME FROM information_schema.schemata")


def test_column_types(db: Client) -> None:
    db(
        "CREATE TABLE c (b BOOLEAN, i INT, l LARGEINT, s STRING, v VARCHAR(5), d DECIMAL(9, 3), dt DATE) PRIMARY KEY(b)"
    )
    assert db(
        "SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, COLUMN_KEY, IS_NULLABLE FROM information_schema.columns "
        "WHERE TABLE_SCHEMA = DATABASE() ORDER BY ORDINAL_POSITION"
    ) == [
        ("b", "tinyint", "tinyint(1)", "PRI", "NO"),
        ("i", "int", "int(11)", "", "YES"),
        ("l", "bigint unsigned", "bigint(20) unsigned", "", "YES"),
        ("s", "varchar", "varchar(65533)", "", "YES"),
        ("v", "varchar", "varchar(5)", "", "YES"),
        ("d", "decimal", "decimal(9, 3)", "", "YES"),
        ("dt", "date", "date", "", "YES"),
    ]


def test_nodes(server: StandIn, db: Client) -> None:
    backends = [dict(zip(columns(db, "SHOW BACKENDS"), row, strict=True)) for row in db("SHOW BACKENDS")]
    assert [(node["Alive"], node["HttpPort"]) for node in backends] == [("true", str(server.be_http_port))]
    assert db("SHOW COMPUTE NODES") == []
    assert len(db("SHOW FRONTENDS")) == 1
    assert db("SHOW WARNINGS") == []


def test_analyze(daily: Client) -> None:
    assert daily("ANALYZE SAMPLE TABLE t (id, v) WITH ASYNC MODE PROPERTIES('x' = '1')")[0][3] == "OK"
    assert (
        daily("SHOW ANALYZE STATUS WHERE `Table` = 't' AND Status = 'SUCCESS' AND Columns = 'id,v'")[0][4]
        == "SAMPLE"
    )


def test_show_variables(db: Client) -> None:
    assert db("SHOW VARIABLES LIKE 'query_timeout'") == [("query_timeout", "300")]
    assert db("SHOW VARIABLES WHERE Variable_name = 'enable_insert_strict'") == [
        ("enable_insert_strict", "true")
    ]
    db("SET query_timeout = 5")
    assert db("SHOW GLOBAL VARIABLES LIKE 'query_timeout'") == [("query_timeout", "300")]
    assert db.value("SELECT @@query_timeout") == 5


def test_tasks(daily: Client) -> None:
    name = daily.value("SELECT DATABASE()")
    runs = f"SELECT STATE, ERROR_MESSAGE FROM information_schema.task_runs WHERE TASK_NAME = '{name}_{{}}'"

    def run(number: int, statement: str) -> tuple[str, str | None]:
        assert daily(f"SUBMIT TASK {name}_{number} AS {statement}") == [(f"{name}_{number}", "SUBMITTED")]
        end = time.monotonic() + 5
        while (row := daily(runs.format(number))[0])[0] in ("PENDING", "RUNNING"):
            assert time.monotonic() < end
        return row

    assert run(1, "INSERT OVERWRITE t SELECT '2024-01-01', 1, 'a'") == ("SUCCESS", None)
    assert daily("SELECT id FROM t") == [(1,)]
    failed = run(2, "INSERT INTO t SELECT '2025-01-01', 1, 'a'")
    assert (failed[0], "Insert has filtered data" in str(failed[1])) == ("FAILED", True)
    code, text = daily.error(f"SUBMIT TASK {name}_1 AS INSERT INTO t SELECT '2024-01-01', 1, 'a'")
    assert (code, f"Task [{name}_1] already exists" in text) == (1064, True)
    daily(f"DROP TASK {name}_1")


def test_explain(daily: Client) -> None:
    assert daily("EXPLAIN SELECT * FROM t")
    assert daily.error("EXPLAIN SELECT * FROM nowhere")[0] == 5502
