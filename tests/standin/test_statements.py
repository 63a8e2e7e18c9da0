"""Statements and what they answer: rows, or error code and text. One line adds a case."""

# ruff: noqa: E501 - one case a line

from __future__ import annotations

from typing import Any

import pytest

from tests.standin.conftest import Client

DETAIL = "Getting analyzing error. Detail message: "

REFUSED: list[tuple[str, int, str]] = [
    ("SELECT * FROM nowhere", 5502, "Unknown table"),
    ("SELECT * FROM nodb.t", 5501, "Unknown database 'nodb'"),
    ("SELECT nope FROM t", 1064, "Column 'nope' cannot be resolved"),
    ("SELECT no_such_function(1)", 1064, "No matching function with signature: no_such_function"),
    ("SELECT @@no_such_variable", 1193, "Unknown system variable 'no_such_variable'"),
    ("SET no_such_variable = 1", 1193, "Unknown system variable 'no_such_variable'"),
    ("SELECT * FROM t PARTITION(px)", 1064, DETAIL + "Unknown partition 'px' in table 't'."),
    ("SELECT * FROM information_schema.no_such_view", 5502, "Unknown table"),
    ("SELCT 1", 1064, "Getting syntax error at line 1, column 0. Detail message: Unexpected input 'SELCT'"),
    ("SELECT FROM WHERE", 1064, "Getting syntax error"),
    ("USE nodb", 5501, "Unknown database 'nodb'"),
    ("KILL 99999999", 1094, "Unknown thread id: 99999999"),
    ("CREATE TABLE t (a INT)", 1050, "Table 't' already exists"),
    ("CREATE TABLE x (a NOTATYPE)", 1064, "Unsupported data type: NOTATYPE"),
    ("CREATE TABLE x (a INT, b INT SUM) AGGREGATE KEY(a)", 1235, "aggregate columns"),
    (
        "CREATE TABLE x (k INT, dt DATE) PRIMARY KEY(k) PARTITION BY (dt)",
        1064,
        "must be part of the primary key",
    ),
    ("DROP TABLE nowhere", 5502, "Unknown table"),
    ("DROP DATABASE nodb", 1008, "Can't drop database 'nodb'; database doesn't exist"),
    ("INSERT OVERWRITE TABLE t SELECT 1, 2, 3", 1064, "Getting syntax error"),
    ("INSERT INTO t LABEL l VALUES ('2024-01-01', 1, 'a')", 1064, "Getting syntax error"),
    (
        "INSERT INTO t SELECT 1",
        1064,
        "Inserted target column count: 3 doesn't match select/value column count: 1",
    ),
    ("INSERT INTO t (id) VALUES (1)", 1064, "'dt' must be explicitly mentioned in column permutation"),
    ("INSERT INTO t VALUES ('2024-01-01', 1, 'a'), (1)", 1064, "unequal number of columns"),
    (
        "INSERT INTO t PARTITION(px) VALUES ('2024-01-01', 1, 'a')",
        1064,
        "Unknown partition 'px' in table 't'",
    ),
    ("INSERT INTO t VALUES ('2025-01-01', 1, 'a')", 5610, "Insert has filtered data"),
    ("INSERT INTO t VALUES (NULL, 1, 'a')", 5610, "Insert has filtered data"),
    ("INSERT INTO t VALUES ('2024-01-01', 'abc', 'a')", 5610, "Insert has filtered data"),
    (
        "INSERT OVERWRITE t PARTITION(dt='2024-01-01') SELECT '2024-01-01', 1, 'a'",
        1064,
        DETAIL + "No partition specified in partition lists.",
    ),
    ("INSERT INTO t WITH LABEL `not a label` VALUES ('2024-01-01', 1, 'a')", 1064, "Label format error"),
    ("DELETE FROM t", 1064, "Delete must specify where clause"),
    ("UPDATE t SET v = 'x' WHERE id = 1", 1064, "only primary key tables support UPDATE"),
    (
        "ALTER TABLE t ADD PARTITION p20240101 VALUES [('2024-01-01'),('2024-01-02'))",
        1517,
        "Duplicate partition name p20240101",
    ),
    (
        "ALTER TABLE t ADD PARTITION q VALUES [('2024-01-01'),('2024-01-02'))",
        1064,
        "Range [types: [DATE]; keys: [2024-01-01]; ..types: [DATE]; keys: [2024-01-02]; ) is intersected with range: ",
    ),
    (
        "ALTER TABLE t ADD PARTITION IF NOT EXISTS q VALUES [('2024-01-03'),('2024-01-05'))",
        1064,
        "is intersected",
    ),
    (
        "ALTER TABLE t ADD PARTITIONS START('2024-01-03') END('2024-01-06') EVERY(INTERVAL 1 DAY)",
        1517,
        "Duplicate partition name p20240103",
    ),
    ("ALTER TABLE t ADD PARTITION q VALUES [('2024-02-02'),('2024-02-01'))", 1064, "lower bound"),
    ("ALTER TABLE t ADD PARTITION q VALUES IN ('a')", 1064, "does not fit"),
    ("ALTER TABLE t DROP PARTITION px", 1507, "Error in list of partitions to [px]"),
    (
        "ALTER TABLE t REPLACE PARTITION (p20240101) WITH TEMPORARY PARTITION (tp)",
        1064,
        "Unknown partition 'tp'",
    ),
    ("TRUNCATE TABLE t PARTITION(px)", 1064, "Unknown partition 'px' in table 't'"),
    ("ALTER TABLE t ADD COLUMN id INT", 1060, "Duplicate column name 'id'"),
    ("ALTER TABLE t DROP COLUMN dt", 1064, "Can not drop key, partition or distribution column dt"),
    ("SHOW PARTITIONS FROM t LIKE 'p%'", 1064, "Getting syntax error"),
    ("ANALYZE TABLE t WITH ASYNC", 1064, "Getting syntax error"),
    ("SUBMIT TASK x AS SELECT 1", 1064, "Getting syntax error"),
    ("CANCEL LOAD WHERE LABEL = 'no_such_label'", 1064, "Load job does not exist"),
    ("ADMIN ENABLE FAILPOINT 'no_such_point'", 1064, "Failpoint 'no_such_point' does not exist"),
    (
        "CREATE MATERIALIZED VIEW mv AS SELECT 1",
        1235,
        "The StarRocks stand-in does not implement materialized views",
    ),
]


@pytest.mark.parametrize(("sql", "code", "text"), REFUSED, ids=[case[0][:60] for case in REFUSED])
def test_refused(daily: Client, sql: str, code: int, text: str) -> None:
    found_code, found_text = daily.error(sql)
    assert (found_code, text in found_text) == (code, True), found_text
    assert daily("SELECT * FROM t") == []


SCRIPTS: dict[str, tuple[list[str], str, list[tuple[Any, ...]]]] = {
    "if_not_exists": (
        ["CREATE TABLE IF NOT EXISTS t (a INT)", "CREATE DATABASE IF NOT EXISTS information"],
        "SELECT COLUMN_NAME FROM information_schema.columns WHERE TABLE_SCHEMA = DATABASE() ORDER BY ORDINAL_POSITION",
        [("dt",), ("id",), ("v",)],
    ),
    "if_exists": (["DROP TABLE IF EXISTS nowhere", "DROP DATABASE IF EXISTS nodb"], "SHOW TABLES", [("t",)]),
    "drop_force": (["DROP TABLE t FORCE"], "SHOW TABLES", []),
    "rename": (["ALTER TABLE t RENAME t2"], "SHOW TABLES", [("t2",)]),
    "rename_partition": (
        ["ALTER TABLE t RENAME PARTITION p20240101 first"],
        "SELECT PARTITION_NAME FROM information_schema.partitions_meta WHERE DB_NAME = DATABASE() ORDER BY 1",
        [("first",), ("p20240102",), ("p20240103",)],
    ),
    "add_column": (
        [
            "INSERT INTO t VALUES ('2024-01-01', 1, 'a')",
            "ALTER TABLE t ADD COLUMN n INT DEFAULT '7' AFTER id",
        ],
        "SELECT * FROM t",
        [("2024-01-01", 1, 7, "a")],
    ),
    "drop_column": (
        ["INSERT INTO t VALUES ('2024-01-01', 1, 'a')", "ALTER TABLE t DROP COLUMN v"],
        "SELECT * FROM t",
        [("2024-01-01", 1)],
    ),
    "modify_column": (
        ["ALTER TABLE t MODIFY COLUMN v VARCHAR(10) COMMENT 'short'"],
        "SELECT COLUMN_TYPE, COLUMN_COMMENT FROM information_schema.columns "
        "WHERE TABLE_SCHEMA = DATABASE() AND COLUMN_NAME = 'v'",
        [("varchar(10)", "short")],
    ),
    "default_and_null": (
        [
            "CREATE TABLE d (a INT, b INT DEFAULT '5', c STRING DEFAULT 'x')",
            "INSERT INTO d (a) VALUES (1)",
            "INSERT INTO d (c, a) VALUES (NULL, 2)",
        ],
        "SELECT * FROM d ORDER BY a",
        [(1, 5, "x"), (2, 5, None)],
    ),
    "values_with_expressions": (
        [
            "INSERT INTO t VALUES (date_add('2024-01-01', INTERVAL 1 DAY), 1 + 1, concat('a', 'b')), ('2024-01-01', 1, 'it''s')"
        ],
        "SELECT * FROM t ORDER BY id",
        [("2024-01-01", 1, "it's"), ("2024-01-02", 2, "ab")],
    ),
    "delete": (
        [
            "INSERT INTO t VALUES ('2024-01-01', 1, 'a'), ('2024-01-02', 2, 'b')",
            "DELETE FROM t WHERE t.id >= 2",
        ],
        "SELECT id FROM t",
        [(1,)],
    ),
    "delete_in_partition": (
        [
            "INSERT INTO t VALUES ('2024-01-01', 1, 'a'), ('2024-01-02', 1, 'b')",
            "DELETE FROM t PARTITION(p20240102) WHERE id = 1",
        ],
        "SELECT v FROM t",
        [("a",)],
    ),
    "upsert_and_update": (
        [
            "CREATE TABLE k (id INT, v STRING, n INT) PRIMARY KEY(id) DISTRIBUTED BY HASH(id)",
            "INSERT INTO k VALUES (1, 'a', 1), (1, 'b', 2), (2, 'c', 3)",
            "INSERT INTO k VALUES (2, 'd', 4)",
            "UPDATE k SET n = n * 10, v = concat(v, '!') WHERE id = 1",
        ],
        "SELECT * FROM k ORDER BY id",
        [(1, "b!", 20), (2, "d", 4)],
    ),
    "overwrite_keeps_the_last_of_a_key": (
        ["CREATE TABLE k (id INT, v STRING) PRIMARY KEY(id)", "INSERT OVERWRITE k VALUES (1, 'a'), (1, 'b')"],
        "SELECT id, v, (SELECT ROW_COUNT FROM information_schema.partitions_meta "
        "WHERE DB_NAME = DATABASE() AND TABLE_NAME = 'k') AS n FROM k",
        [(1, "b", 1)],
    ),
    "explicit_and_less_than_ranges": (
        [
            "CREATE TABLE r (n INT) PARTITION BY RANGE(n)(PARTITION a VALUES LESS THAN ('10'), "
            "PARTITION b VALUES LESS THAN ('20'), PARTITION c VALUES LESS THAN (MAXVALUE))",
            "INSERT INTO r VALUES (NULL), (-5), (10), (25)",
        ],
        "SELECT PARTITION_NAME, ROW_COUNT, PARTITION_VALUE FROM information_schema.partitions_meta "
        "WHERE DB_NAME = DATABASE() AND TABLE_NAME = 'r' ORDER BY 1",
        [
            ("a", 2, "[types: [INT]; keys: [-2147483648]; ..types: [INT]; keys: [10]; )"),
            ("b", 1, "[types: [INT]; keys: [10]; ..types: [INT]; keys: [20]; )"),
            ("c", 1, "[types: [INT]; keys: [20]; ..types: [INT]; keys: [MAXVALUE]; )"),
        ],
    ),
    "list_partitions": (
        [
            "CREATE TABLE l (c STRING, n INT) PARTITION BY LIST(c)(PARTITION west VALUES IN ('LA', 'SF'), "
            "PARTITION rest VALUES IN ('NY', NULL))",
            "INSERT INTO l VALUES ('LA', 1), ('SF', 2), ('NY', 3), (NULL, 4)",
            "ALTER TABLE l ADD PARTITION south VALUES IN ('MI')",
        ],
        "SELECT PARTITION_NAME, ROW_COUNT, PARTITION_VALUE FROM information_schema.partitions_meta "
        "WHERE DB_NAME = DATABASE() AND TABLE_NAME = 'l' ORDER BY 1",
        [("rest", 2, "('NY', NULL)"), ("south", 0, "('MI')"), ("west", 2, "('LA', 'SF')")],
    ),
    "several_list_columns": (
        [
            "CREATE TABLE m (dt DATE, c STRING) PARTITION BY (dt, c)",
            "INSERT INTO m VALUES ('2024-01-01', 'Menlo Park')",
        ],
        "SELECT PARTITION_NAME, PARTITION_VALUE FROM information_schema.partitions_meta WHERE DB_NAME = DATABASE() "
        "AND TABLE_NAME = 'm'",
        [("p20240101_MenloPark", "(('2024-01-01', 'Menlo Park'))")],
    ),
    "hours_by_date_trunc": (
        [
            "CREATE TABLE h (ts DATETIME, n INT) PARTITION BY date_trunc('hour', ts)",
            "INSERT INTO h VALUES ('2024-01-01 05:59:59', 1), ('2024-01-01 06:00:00', 2)",
        ],
        "SELECT PARTITION_NAME, PARTITION_VALUE FROM information_schema.partitions_meta WHERE DB_NAME = DATABASE() "
        "AND TABLE_NAME = 'h' ORDER BY 1",
        [
            (
                "p2024010105",
                "[types: [DATETIME]; keys: [2024-01-01 05:00:00]; ..types: [DATETIME]; keys: [2024-01-01 06:00:00]; )",
            ),
            (
                "p2024010106",
                "[types: [DATETIME]; keys: [2024-01-01 06:00:00]; ..types: [DATETIME]; keys: [2024-01-01 07:00:00]; )",
            ),
        ],
    ),
    "time_slice": (
        [
            "CREATE TABLE s (ts DATETIME) PARTITION BY time_slice(ts, INTERVAL 7 DAY)",
            "INSERT INTO s VALUES ('2024-01-03')",
        ],
        "SELECT count(*) FROM s",
        [(1,)],
    ),
    "view": (
        [
            "INSERT INTO t VALUES ('2024-01-01', 1, 'a'), ('2024-01-02', 2, 'b')",
            "CREATE VIEW w (k, n) AS SELECT v, id * 10 FROM t WHERE id > 1",
            "CREATE OR REPLACE VIEW x AS SELECT * FROM w",
        ],
        "SELECT x.k, x.n FROM x",
        [("b", 20)],
    ),
    "truncate_partition": (
        [
            "INSERT INTO t VALUES ('2024-01-01', 1, 'a'), ('2024-01-02', 2, 'b')",
            "TRUNCATE TABLE t PARTITION(p20240101)",
        ],
        "SELECT id FROM t",
        [(2,)],
    ),
    "comments": (
        [
            "CREATE TABLE c (a INT NOT NULL COMMENT 'the \"key\"') COMMENT 'a table' PROPERTIES('replication_num'='1') -- end"
        ],
        "SELECT TABLE_COMMENT, COLUMN_COMMENT FROM information_schema.tables t JOIN information_schema.columns c "
        "ON t.TABLE_NAME = c.TABLE_NAME AND t.TABLE_SCHEMA = c.TABLE_SCHEMA "
        "WHERE t.TABLE_SCHEMA = DATABASE() AND t.TABLE_NAME = 'c'",
        [("a table", 'the "key"')],
    ),
    "cte_with_a_tables_name": (
        ["INSERT INTO t VALUES ('2024-01-01', 1, 'a')"],
        "WITH t AS (SELECT id + 1 AS id FROM t) SELECT id FROM t",
        [(2,)],
    ),
    "auto_increment": (
        [
            "CREATE TABLE n (id BIGINT NOT NULL AUTO_INCREMENT, v STRING) PRIMARY KEY(id) DISTRIBUTED BY HASH(id)",
            "INSERT INTO n (v) VALUES ('a'), ('b')",
            "INSERT INTO n (v) VALUES ('c')",
        ],
        "SELECT id, v FROM n ORDER BY id",
        [(1, "a"), (2, "b"), (3, "c")],
    ),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_script(daily: Client, name: str) -> None:
    statements, query, expected = SCRIPTS[name]
    for statement in statements:
        daily(statement)
    assert [tuple(map(_plain, row)) for row in daily(query)] == expected


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (int, float, str)) else str(value)


def test_types_round_trip(db: Client) -> None:
    db(
        "CREATE TABLE types (b BOOLEAN, t TINYINT, s SMALLINT, i INT, g BIGINT, l LARGEINT, f FLOAT, d DOUBLE, "
        "m DECIMAL(20, 4), c CHAR(3), v VARCHAR(20), x STRING, j JSON, dt DATE, ts DATETIME)"
    )
    db(
        "INSERT INTO types VALUES (TRUE, -128, 32767, -2147483648, 9223372036854775807, "
        "170141183460469231731687303715884105727, 1.5, 1e100, 1234567890123456.7891, 'abc', 'väl', '', "
        "'{\"a\": 1}', '2024-02-29', '2024-02-29 23:59:59')"
    )
    row = [str(value) for value in db("SELECT * FROM types")[0]]
    assert row == [
        "1", "-128", "32767", "-2147483648", "9223372036854775807", "170141183460469231731687303715884105727",
        "1.5", "1e+100", "1234567890123456.7891", "abc", "väl", "", '{"a": 1}', "2024-02-29", "2024-02-29 23:59:59",
    ]  # fmt: skip


def test_too_long_a_string_is_filtered_and_tracked(db: Client) -> None:
    db("CREATE TABLE s (v VARCHAR(4))")
    db("INSERT INTO s VALUES ('åå')")
    code, text = db.error("INSERT INTO s VALUES ('ååå')")
    assert code == 5610
    log = db.value(text.split("tracking sql = ")[1])
    assert "Row: [ååå]" in log


def test_without_strict_mode_bad_rows_are_filtered(daily: Client) -> None:
    daily("SET enable_insert_strict = false")
    daily("INSERT INTO t VALUES ('2024-01-01', 1, 'a'), ('2025-01-01', 2, 'b'), ('2024-01-02', 'abc', 'c')")
    assert daily.affected == 2
    assert daily("SELECT id, v FROM t ORDER BY v") == [(1, "a"), (None, "c")]


def test_a_filter_ratio_allows_some_bad_rows(daily: Client) -> None:
    bad = "INSERT INTO t PROPERTIES('max_filter_ratio'='{}') VALUES ('2024-01-01', 1, 'a'), ('2025-01-01', 2, 'b')"
    assert daily.error(bad.format("0.4"))[0] == 5610
    daily(bad.format("0.5"))
    assert daily("SELECT id FROM t") == [(1,)]


def test_single_range_is_refused_on_automatic_tables(db: Client) -> None:
    db("CREATE TABLE a (dt DATE) PARTITION BY date_trunc('day', dt)")
    code, text = db.error("ALTER TABLE a ADD PARTITION p1 VALUES [('2024-01-01'),('2024-01-02'))")
    assert (code, "cannot manually add a single range partition" in text) == (1064, True)
    code, text = db.error(
        "ALTER TABLE a ADD PARTITIONS START('2024-01-01') END('2024-03-01') EVERY(INTERVAL 1 MONTH)"
    )
    assert (code, "should be consistent with the increased partition granularity" in text) == (1064, True)
    db("ALTER TABLE a ADD PARTITIONS START('2024-01-01') END('2024-01-04') EVERY(INTERVAL 1 DAY)")
    assert sorted(db.partitions("a")) == ["p20240101", "p20240102", "p20240103"]


def test_reading_temporary_partitions(daily: Client) -> None:
    daily("ALTER TABLE t ADD TEMPORARY PARTITION tp VALUES [('2024-01-01'),('2024-01-02'))")
    daily("INSERT INTO t TEMPORARY PARTITION(tp) VALUES ('2024-01-01', 5, 'new')")
    assert daily("SELECT id FROM t TEMPORARY PARTITION(tp) x WHERE x.id = 5") == [(5,)]
    assert daily("SELECT * FROM t") == daily("SELECT * FROM t PARTITION(p20240101, p20240102)") == []
    assert daily.error("ALTER TABLE t ADD COLUMN n INT")[0] == 1064


def test_replacing_partitions_needs_the_same_ranges(daily: Client) -> None:
    daily("ALTER TABLE t ADD TEMPORARY PARTITION tp VALUES [('2024-01-01'),('2024-01-03'))")
    code, text = daily.error("ALTER TABLE t REPLACE PARTITION (p20240101) WITH TEMPORARY PARTITION (tp)")
    assert (code, "must be the same" in text) == (1064, True)
    daily("ALTER TABLE t REPLACE PARTITION (p20240101, p20240102) WITH TEMPORARY PARTITION (tp)")
    assert sorted(daily.partitions("t")) == ["p20240103", "tp"]


def test_replacing_many_partitions_at_once(daily: Client) -> None:
    names = ["p20240101", "p20240102", "p20240103"]
    daily(
        "ALTER TABLE t ADD TEMPORARY PARTITIONS START('2024-01-01') END('2024-01-04') EVERY(INTERVAL 1 DAY)"
    )
    daily("INSERT INTO t TEMPORARY PARTITION(tp20240101, tp20240102, tp20240103) "
          "VALUES ('2024-01-01', 1, 'a'), ('2024-01-02', 2, 'b'), ('2024-01-03', 3, 'c')")  # fmt: skip
    before = daily.partitions("t")
    daily(f"ALTER TABLE t REPLACE PARTITION ({', '.join(names)}) WITH TEMPORARY PARTITION "
          f"({', '.join('t' + name for name in names)})")  # fmt: skip
    after = daily.partitions("t")
    assert sorted(after) == names
    assert all(after[name][0] != before[name][0] and after[name][1:] == (2, 1) for name in names)
    assert daily("SELECT id FROM t ORDER BY id") == [(1,), (2,), (3,)]
