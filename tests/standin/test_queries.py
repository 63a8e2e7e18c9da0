"""Functions and comparisons mean what they mean in StarRocks. One line adds a case."""

# ruff: noqa: E501 - one case a line

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from sr_assets.standin import StandIn
from tests.standin.conftest import Client

D = "CAST('2024-02-29' AS DATE)"
T = "CAST('2024-02-29 13:45:10' AS DATETIME)"

CASES: list[tuple[str, Any]] = [
    # numbers
    ("1 / 0", None),
    ("1 % 0", None),
    ("7 / 2", 3.5),
    ("7 DIV 2", 3),
    ("CAST(1.7 AS INT)", 1),
    ("CAST(-1.7 AS BIGINT)", -1),
    ("CAST('abc' AS INT)", None),
    ("CAST('12' AS INT) + 1", 13),
    ("round(2.345, 2)", Decimal("2.35")),
    ("least(3, 1, 2)", 1),
    ("greatest(3, NULL)", None),
    ("5 <=> NULL", 0),
    ("if(1 > 2, 'a', 'b')", "b"),
    ("ifnull(NULL, 'x')", "x"),
    ("nullif(1, 1)", None),
    ("coalesce(NULL, 2)", 2),
    ("CAST(12 AS LARGEINT)", "12"),
    # dates
    (f"date_add({D}, INTERVAL 1 DAY)", "2024-03-01 00:00:00"),
    (f"date_sub({T}, INTERVAL 1 HOUR)", "2024-02-29 12:45:10"),
    ("date_sub('2024-01-01', INTERVAL 7 DAY)", "2023-12-25 00:00:00"),
    ("'2024-01-31' + INTERVAL 1 MONTH", "2024-02-29 00:00:00"),
    ("days_add('2024-01-01', 31)", "2024-02-01 00:00:00"),
    ("days_sub('2024-01-01', 1)", "2023-12-31 00:00:00"),
    ("hours_sub('2024-01-01', 1)", "2023-12-31 23:00:00"),
    ("months_add('2024-01-31', 1)", "2024-02-29 00:00:00"),
    (f"date_trunc('month', {D})", "2024-02-01"),
    (f"date_trunc('hour', {T})", "2024-02-29 13:00:00"),
    ("date_trunc('day', '2024-02-29 13:45:10')", "2024-02-29 00:00:00"),
    (f"date_trunc('week', {D})", "2024-02-26"),
    (f"time_slice({T}, INTERVAL 5 MINUTE)", "2024-02-29 13:45:00"),
    (f"hour({T})", 13),
    ("hour('2024-02-29 07:00:00')", 7),
    (f"hour({D})", 0),
    (f"minute({T})", 45),
    (f"dayofweek({D})", 5),
    (f"weekday({D})", 3),
    (f"dayofyear({D})", 60),
    (f"year({T})", 2024),
    (f"month({D})", 2),
    (f"quarter({D})", 1),
    (f"datediff({T}, '2024-02-01')", 28),
    ("datediff('2024-01-02 00:00:00', '2024-01-01 23:59:59')", 1),
    ("timestampdiff(DAY, '2024-01-01 23:59:59', '2024-01-02 00:00:00')", 0),
    ("timestampdiff(HOUR, '2024-01-01', '2024-01-02')", 24),
    ("hours_diff('2024-01-02', '2024-01-01')", 24),
    (f"date_format({T}, '%Y-%m-%d %H:%i:%s')", "2024-02-29 13:45:10"),
    ("str_to_date('29/02/2024 13:45', '%d/%m/%Y %H:%i')", "2024-02-29 13:45:00"),
    ("str2date('2024-02-29', '%Y-%m-%d')", "2024-02-29"),
    ("str_to_date('nonsense', '%Y-%m-%d')", None),
    (f"to_date({T})", "2024-02-29"),
    (f"date({T})", "2024-02-29"),
    (f"last_day({D})", "2024-02-29"),
    ("unix_timestamp('1970-01-02')", 86400),
    ("from_unixtime(86400)", "1970-01-02 00:00:00"),
    ("datediff(now(), curdate())", 0),
    # comparisons between types
    (f"{D} = '2024-02-29'", 1),
    (f"{D} < '2024-03-01'", 1),
    (f"{T} >= '2024-02-29'", 1),
    (f"{T} > {D}", 1),
    (f"{D} BETWEEN date_sub('2024-03-01', INTERVAL 1 DAY) AND '2024-03-01'", 1),
    ("'2024-02-29' IN ('2024-02-28', '2024-02-29')", 1),
    # strings
    ("concat('a', 1, 'b')", "a1b"),
    ("concat('a', NULL)", None),
    ("substr('hello', 2, 3)", "ell"),
    ("strleft('hello', 2)", "he"),
    ("length('é')", 2),
    ("char_length('é')", 1),
    ("substring_index('a.b.c', '.', 2)", "a.b"),
    ("substring_index('a.b.c', '.', -2)", "b.c"),
    ("split_part('a-b', '-', 2)", "b"),
    ("'a_c' LIKE 'a\\\\_c'", 1),
    ("'abc' LIKE 'a\\\\_c'", 0),
    ('"double" = \'double\'', 1),
    ("'it''s \\'quoted\\' \\\\ '", "it's 'quoted' \\ "),
    ("get_json_string('{\"a\": {\"b\": \"c\"}}', '$.a.b')", "c"),
    ("get_json_int('{\"a\": 7}', '$.a')", 7),
    ("upper(lower('A'))", "A"),
    ("lpad('7', 2, '0')", "07"),
    ("replace('aXa', 'X', '-')", "a-a"),
    # hashes: other values than StarRocks', but stable
    ("murmur_hash3_32('a', 'b') = murmur_hash3_32('a', 'b')", 1),
    ("xx_hash3_64('a') = xx_hash3_64('b')", 0),
    # session
    ("@@autocommit", 1),
    ("@@session.query_timeout", 300),
    ("version() LIKE '8.%'", 1),
    ("current_version()", "3.5.7 standin"),
    ("user()", "'root'@'%'"),
    ("connection_id() > 0", 1),
    ("sleep(0.01)", 1),
]  # fmt: skip


@pytest.fixture(scope="module")
def client(server: StandIn) -> Client:
    return Client(server.port)


@pytest.mark.parametrize(("expression", "expected"), CASES, ids=[case[0][:50] for case in CASES])
def test_expression(client: Client, expression: str, expected: Any) -> None:
    found = client.value(f"SELECT {expression} AS x")
    assert (str(found) if isinstance(expected, str) else found) == expected


AGGREGATES: list[tuple[str, list[tuple[Any, ...]]]] = [
    ("SELECT count(*), count(DISTINCT g), sum(n), avg(n), min(n), max(n) FROM a", [(4, 2, 10, 2.5, 1, 4)]),
    ("SELECT count(DISTINCT g, n) FROM a", [(4,)]),
    ("SELECT approx_count_distinct(g), ndv(n) FROM a", [(2, 4)]),
    ("SELECT stddev(n) FROM a", [(pytest.approx(1.118, abs=0.001),)]),
    ("SELECT percentile_approx(n, 0.5) FROM a", [(pytest.approx(2.5, abs=0.6),)]),
    ("SELECT g, sum(n) AS s FROM a GROUP BY g HAVING s > 3 ORDER BY g", [("y", 7)]),
    ("SELECT g, group_concat(n ORDER BY n SEPARATOR '-') FROM a GROUP BY g ORDER BY g", [("x", "1-2"), ("y", "3-4")]),
    ("SELECT n, lag(n) OVER (PARTITION BY g ORDER BY n) FROM a ORDER BY n",
     [(1, None), (2, 1), (3, None), (4, 3)]),
    ("SELECT n, row_number() OVER (ORDER BY n DESC) AS r FROM a ORDER BY n LIMIT 1", [(1, 4)]),
    ("SELECT a.n FROM a JOIN a b ON a.n = b.n + 3", [(4,)]),
    ("SELECT n FROM a UNION ALL SELECT n + 10 FROM a ORDER BY 1 LIMIT 2 OFFSET 3", [(4,), (11,)]),
    ("WITH q AS (SELECT max(n) AS m FROM a) SELECT a.n FROM a, q WHERE a.n = q.m", [(4,)]),
    ("SELECT n FROM a WHERE g IN (SELECT g FROM a WHERE n = 4) ORDER BY n", [(3,), (4,)]),
    ("SELECT max_by(g, n), any_value('k') FROM a", [("y", "k")]),
    ("SELECT /*+ SET_VAR(query_timeout=5) */ count(*) FROM a -- comment", [(4,)]),
    ("SELECT NULL AS v UNION ALL SELECT 1 ORDER BY v", [(None,), (1,)]),
    ("VALUES (1, 'a'), (2, 'b')", [(1, "a"), (2, "b")]),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "expected"), AGGREGATES, ids=[case[0][:60] for case in AGGREGATES])
def test_query(db: Client, sql: str, expected: list[tuple[Any, ...]]) -> None:
    db("CREATE TABLE a (g STRING, n INT)")
    db("INSERT INTO a VALUES ('x', 1), ('x', 2), ('y', 3), ('y', 4)")
    assert db(sql) == expected


NAMES = [
    ("SELECT count(*), max(1 + 1), database(), @@version, 1 AS one", ["count(*)", "max(1 + 1)", "database()", "@@version", "one"]),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "names"), NAMES)
def test_result_names(client: Client, sql: str, names: list[str]) -> None:
    with client.connection.cursor() as cursor:
        cursor.execute(sql)
        assert [column[0] for column in cursor.description] == names


def test_sum_of_integers_is_an_integer(db: Client) -> None:
    db("CREATE TABLE s (n BIGINT, l LARGEINT)")
    db("INSERT INTO s VALUES (4000000000000000000, 1)")
    assert db("SELECT sum(n), sum(l) FROM s") == [(4000000000000000000, "1")]


def test_query_timeout(client: Client) -> None:
    code, text = client.error("SELECT /*+ SET_VAR(query_timeout=1) */ sleep(5)")
    assert code == 5024
    assert text.startswith("Query reached its timeout of 1 seconds")
    assert client.value("SELECT 1") == 1
