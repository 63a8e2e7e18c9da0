"""What is read, by execution: without the partitions that are not read, DuckDB gives the same result."""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import duckdb
import pytest
from sqlglot import exp

from lineage import PartitionColumn, Query, Reads, Window, calendar, shapes
from lineage.calendar import Grain

from .generate import SCHEMA, Generator

UPSTREAMS = {
    "dw.orders": PartitionColumn("dt", Grain.DAY),
    "dw.refunds": PartitionColumn("dt", Grain.DAY),
    "dw.weather": PartitionColumn("ts", Grain.HOUR, "datetime"),
    "dw.budget": PartitionColumn("month", Grain.MONTH),
    "dw.texts": PartitionColumn("dt", Grain.DAY, "string", "%Y-%m-%d"),
}
KEYS = tuple(datetime(2024, *month_and_day) for month_and_day in ((2, 29), (3, 1), (3, 5), (3, 10)))
CASES = 300


_TABLES = """
CREATE MACRO random_of(i, n) AS CAST(hash(i) % n AS INT);

CREATE TABLE whole.orders AS
SELECT CAST(DATE '2024-02-10' + CAST(i // 3 AS INT) AS DATE) AS dt, random_of(i, 5) AS k, random_of(i * 7, 10) AS v
FROM range(120) r(i) UNION ALL SELECT NULL, 1, 5 UNION ALL SELECT NULL, 2, 6;

CREATE TABLE whole.refunds AS
SELECT CAST(DATE '2024-02-10' + CAST(i // 2 AS INT) AS DATE) AS dt, random_of(i + 9, 5) AS k, random_of(i * 3, 10) AS v
FROM range(80) r(i) UNION ALL SELECT NULL, 1, 5;

CREATE TABLE whole.texts AS
SELECT CAST(dt AS VARCHAR) AS dt, k, random_of(v, 9) AS v FROM whole.refunds;

CREATE TABLE whole.weather AS
SELECT TIMESTAMP '2024-02-20' + to_minutes(i * 117) AS ts, random_of(i, 5) AS k, random_of(i * 3, 10) AS v
FROM range(250) r(i) UNION ALL
SELECT TIMESTAMP '2024-02-20' + to_hours(i * 24), 2, 3 FROM range(20) r(i) UNION ALL SELECT NULL, 1, 5;

CREATE TABLE whole.budget AS
SELECT CAST(DATE '2023-11-01' + to_months(CAST(i // 4 AS INT)) AS DATE) AS month, random_of(i, 5) AS k, i AS v
FROM range(32) r(i) UNION ALL SELECT NULL, 1, 5;
"""


class Warehouse:
    """Every table twice in DuckDB: all rows in schema `whole`, those of the partitions read in `part`."""

    def __init__(self) -> None:
        self._connection = duckdb.connect()
        self._connection.execute("CREATE SCHEMA whole; CREATE SCHEMA part")
        self._connection.execute(_TABLES)

    def read_all(self, sql: str) -> Counter[str]:
        return self._run("whole", sql)

    def read_only(self, reads: dict[str, Reads], sql: str) -> Counter[str]:
        for key, read in reads.items():
            table = key.removeprefix("dw.")
            rows = f"SELECT * FROM whole.{table} WHERE {_within(read, UPSTREAMS[key])}"
            self._connection.execute(f"CREATE OR REPLACE TABLE part.{table} AS {rows}")
        return self._run("part", sql)

    def _run(self, schema: str, sql: str) -> Counter[str]:
        self._connection.execute(f"SET schema = '{schema}'")
        spelled = sql.replace("LEFT SEMI JOIN", "SEMI JOIN").replace("LEFT ANTI JOIN", "ANTI JOIN")
        return Counter(map(str, self._connection.execute(spelled).fetchall()))


def _within(read: Reads, upstream: PartitionColumn) -> str:
    """Rows of the partitions read. Rows with NULL are in the lowest partition, as StarRocks has them."""
    assert upstream.grain is not None
    parts = []
    column = f"CAST({upstream.column} AS TIMESTAMP)"
    for low, high in read.spans:
        lower = "TRUE" if low is None else f"{column} >= '{_moment(upstream.grain, low)}'"
        upper = "TRUE" if high is None else f"{column} < '{_moment(upstream.grain, high + 1)}'"
        parts.append(f"({lower} AND {upper})")
        if low is None:
            parts.append(f"{column} IS NULL")
    return " OR ".join(parts) or "FALSE"


def _moment(grain: Grain, number: int) -> datetime:
    # Reads may end far outside of what DuckDB can compare, at the end of the search range.
    return calendar.start(grain, number)


@pytest.fixture(scope="module")
def warehouse() -> Warehouse:
    return Warehouse()


def unsound(warehouse: Warehouse, seeds: Iterator[int] | range) -> Iterator[str]:
    """The queries whose result changes without the partitions that are said not to be read."""
    for seed in seeds:
        template = Generator(seed).query()
        query = Query.parse(template, grain=Grain.DAY, database="dw", schema=SCHEMA)
        key = KEYS[seed % len(KEYS)]
        window = Window(f"{key:%Y-%m-%d}", key, key + timedelta(days=1), Grain.DAY)
        sql = query.render(window)
        try:
            expected = warehouse.read_all(sql)
        except duckdb.NotImplementedException:
            continue  # some joins with inequalities
        if warehouse.read_only(query.reads(window, UPSTREAMS), sql) != expected:
            yield f"seed {seed}, {window.key}: {template}"


def test_reads_are_never_narrower_than_the_query(warehouse: Warehouse) -> None:
    assert list(unsound(warehouse, range(CASES))) == []


def _unchanged(condition: exp.Expr, *_arguments: object) -> exp.Expr:
    return condition


@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        ("_targets", lambda join, alias, before: before | {alias}),
        ("visible_through_windows", _unchanged),
        ("is_limited", lambda query: False),
    ],
    ids=["ON of an outer join filters both sides", "conditions pass any window", "conditions pass LIMIT"],
)
def test_a_broken_rule_is_found(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, rule: str, broken: Callable[..., object]
) -> None:
    """The negative control: without it, the test above might find nothing because it looks at nothing."""
    monkeypatch.setattr(shapes, rule, broken)
    assert next(unsound(warehouse, range(10 * CASES)), None) is not None
