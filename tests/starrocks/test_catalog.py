from __future__ import annotations

import time
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sr_assets.errors import DeclarationError
from sr_assets.starrocks.catalog import (
    alive_backends,
    load_endpoint,
    parse_partition_value,
    parse_size,
    partitions_from_rows,
    read_columns,
    read_partitions,
)
from sr_assets.starrocks.session import Session


def range_value(kind: str, lower: str, upper: str, gap: str = "..") -> str:
    return f"[types: [{kind}]; keys: [{lower}]; {gap}types: [{kind}]; keys: [{upper}]; )"


VALUES = [
    ("", (None, None, ())),
    (range_value("DATE", "2013-01-01", "2013-01-02"), ("2013-01-01", "2013-01-02", ())),
    (range_value("DATE", "2013-01-01", "2013-01-02", gap="‥"), ("2013-01-01", "2013-01-02", ())),
    (
        range_value("DATETIME", "2013-01-01 00:00:00", "2013-01-01 01:00:00"),
        ("2013-01-01 00:00:00", "2013-01-01 01:00:00", ()),
    ),
    (range_value("DATE", "0000-01-01", "2013-01-02"), (None, "2013-01-02", ())),
    (
        range_value("DATETIME", "0000-01-01 00:00:00", "2013-01-02 00:00:00"),
        (None, "2013-01-02 00:00:00", ()),
    ),
    (range_value("DATE", "2013-01-01", "MAXVALUE"), ("2013-01-01", None, ())),
    (range_value("DATE", "MINVALUE", "MAXVALUE"), (None, None, ())),
    ("(-∞..types: [DATE]; keys: [2013-01-02]; )", (None, "2013-01-02", ())),
    ("[types: [DATE]; keys: [2013-01-01]; ..+∞)", ("2013-01-01", None, ())),
    (range_value("INT", "-5", "10"), ("-5", "10", ())),
    ("('LA')", (None, None, (("LA",),))),
    ("('LA', 'SF')", (None, None, (("LA",), ("SF",)))),
    ("('it's', 'a, b', '(c)')", (None, None, (("it's",), ("a, b",), ("(c)",)))),
    ("('NULL', NULL)", (None, None, (("NULL",), (None,)))),
    ("(NULL)", (None, None, ((None,),))),
    ("(('2024-01-01', 'LA'))", (None, None, (("2024-01-01", "LA"),))),
    (
        "(('2024-01-01', 'LA'), ('2024-01-02', NULL))",
        (None, None, (("2024-01-01", "LA"), ("2024-01-02", None))),
    ),
]


@pytest.mark.parametrize(("text", "parsed"), VALUES)
def test_parse_partition_value(text: str, parsed: tuple[Any, ...]) -> None:
    assert parse_partition_value(text) == parsed


@given(st.lists(st.text(st.characters(exclude_characters="'"), max_size=8), min_size=1, max_size=5))
def test_list_values_without_quotes_come_back(values: list[str]) -> None:
    text = "(" + ", ".join(f"'{value}'" for value in values) + ")"
    assert parse_partition_value(text) == (None, None, tuple((value,) for value in values))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0B", 0),
        ("12B", 12),
        ("1.5KB", 1536),
        ("2MB", 2 << 20),
        ("1GB", 1 << 30),
        (7, 7),
        ("7", 7),
        (None, 0),
        ("", 0),
    ],
)
def test_parse_size(text: object, size: int) -> None:
    assert parse_size(text) == size


DAY = range_value("DATE", "2013-01-01", "2013-01-02")


def row(name: str = "p", number: int = 1, version: int = 1, epoch: int = 1, rows: int = 0) -> tuple[Any, ...]:
    return "d", "t", name, number, version, epoch, DAY, rows, "1KB", "2024-05-06 07:08:09"


def fingerprint(*rows: tuple[Any, ...]) -> int:
    [[partition]] = partitions_from_rows(rows).values()
    return partition.fingerprint


def test_physical_partitions_of_one_name_are_one() -> None:
    [partition] = partitions_from_rows([row(number=1, version=2, rows=3), row(number=2, rows=4)])["d.t"]
    assert (partition.name, partition.lower, partition.upper) == ("p", "2013-01-01", "2013-01-02")
    assert (partition.rows, partition.bytes, partition.written) == (7, 2048, True)
    assert partition.changed_at == datetime(2024, 5, 6, 7, 8, 9)


def test_a_partition_at_its_first_version_is_not_written() -> None:
    [partition] = partitions_from_rows([row(number=1), row(number=2)])["d.t"]
    assert not partition.written


small = st.integers(0, 3)


@given(st.lists(st.tuples(small, small, small)), st.lists(st.tuples(small, small, small)))
def test_fingerprints_are_equal_for_equal_sets_only(
    one: list[tuple[int, int, int]], other: list[tuple[int, int, int]]
) -> None:
    def of(parts: list[tuple[int, int, int]]) -> int:
        return fingerprint(row(number=9), *(row(number=n, version=v, epoch=e) for n, v, e in parts))

    assert (of(one) == of(other)) == (sorted(one) == sorted(other))
    assert 0 <= of(one) < 1 << 64


def test_the_fingerprint_of_a_state_is_fixed() -> None:
    """It is stored: a release that computes it otherwise would make every partition look written."""
    assert fingerprint(row(number=11342, version=57, epoch=334962719047680)) == 8909490373817618068


def test_a_hundred_thousand_partitions_parse_fast() -> None:
    rows = [
        (
            "d",
            f"t{table}",
            f"p{day}",
            table * 1000 + day,
            2,
            day,
            range_value("DATE", f"{day:010}", "x"),
            1,
            "0B",
            None,
        )
        for table in range(100)
        for day in range(1000)
    ]
    began = time.process_time()
    assert len(partitions_from_rows(rows)) == 100
    assert time.process_time() - began < 2.0


# ---- over the wire ----


@pytest.fixture
def orders(session: Session, database: str) -> str:
    session.execute(
        f"CREATE TABLE {database}.orders (dt DATE NOT NULL, id BIGINT, Name VARCHAR(20)) DUPLICATE KEY (dt) "
        "PARTITION BY RANGE (dt) ("
        'PARTITION p0 VALUES LESS THAN ("2024-01-01"), '
        'PARTITION p1 VALUES [("2024-01-01"), ("2024-01-02")), '
        'PARTITION p2 VALUES [("2024-01-02"), ("2024-01-03"))) '
        'DISTRIBUTED BY HASH (dt) BUCKETS 1 PROPERTIES ("replication_num"="1")'
    )
    return f"{database}.orders"


def test_read_partitions(session: Session, orders: str) -> None:
    partitions = {part.name: part for part in read_partitions(session, [orders])[orders]}
    bounds = {name: (part.lower, part.upper) for name, part in partitions.items()}
    assert bounds == {
        "p0": (None, "2024-01-01"),
        "p1": ("2024-01-01", "2024-01-02"),
        "p2": ("2024-01-02", "2024-01-03"),
    }
    assert not any(part.written for part in partitions.values())


EVENTS = [
    ("INSERT INTO {t} VALUES ('2024-01-01', 1, 'a')", True, True),
    ("INSERT OVERWRITE {t} PARTITION (p1) SELECT '2024-01-01', 2, 'b'", True, True),
    ("INSERT OVERWRITE {t} PARTITION (p1) SELECT '2024-01-01', 2, 'b'", True, True),
    ("TRUNCATE TABLE {t} PARTITION (p1)", True, False),
    ("INSERT INTO {t} VALUES ('2024-01-02', 1, 'a')", False, False),
]


def test_every_write_changes_the_fingerprint_of_its_partition_only(session: Session, orders: str) -> None:
    def state() -> dict[str, tuple[int, bool]]:
        return {p.name: (p.fingerprint, p.written) for p in read_partitions(session, [orders])[orders]}

    before = state()
    seen = {before["p1"][0]}
    for statement, changes, written in EVENTS:
        session.execute(statement.format(t=orders))
        after = state()
        assert (after["p1"][0] not in seen) == changes, statement
        assert after["p1"][1] == written, statement
        assert after["p0"] == before["p0"]
        seen.add(after["p1"][0])


def test_tables_without_partitions_and_absent_ones(session: Session, database: str, orders: str) -> None:
    session.execute(
        f"CREATE TABLE {database}.plain (a INT) DUPLICATE KEY (a) DISTRIBUTED BY HASH (a) BUCKETS 1 "
        'PROPERTIES ("replication_num"="1")'
    )
    answer = read_partitions(session, [f"{database}.plain", f"{database}.absent", "no_such_db.t"])
    assert set(answer) == {f"{database}.plain"}
    [part] = answer[f"{database}.plain"]
    assert (part.lower, part.upper, part.values) == (None, None, ())
    assert read_partitions(session, []) == {}


def test_temporary_partitions_are_left_out(session: Session, orders: str) -> None:
    session.execute(
        f'ALTER TABLE {orders} ADD TEMPORARY PARTITION tp VALUES [("2024-01-01"), ("2024-01-02"))'
    )
    assert {part.name for part in read_partitions(session, [orders])[orders]} == {"p0", "p1", "p2"}


def test_list_partitions(session: Session, database: str) -> None:
    session.execute(
        f"CREATE TABLE {database}.cities (city VARCHAR(20), n INT) DUPLICATE KEY (city) PARTITION BY LIST (city) "
        '(PARTITION pca VALUES IN ("LA", "SF"), PARTITION pny VALUES IN ("NY")) '
        'DISTRIBUTED BY HASH (city) BUCKETS 1 PROPERTIES ("replication_num"="1")'
    )
    [parts] = read_partitions(session, [f"{database}.cities"]).values()
    assert {part.name: part.values for part in parts} == {"pca": (("LA",), ("SF",)), "pny": (("NY",),)}


def test_read_columns(session: Session, orders: str) -> None:
    columns = read_columns(session, orders)
    assert columns is not None
    assert list(columns) == ["dt", "id", "name"]
    assert columns["dt"] == "date"
    assert columns["id"].startswith("bigint")
    assert read_columns(session, orders + "_absent") is None


def test_backends(session: Session, server: Any) -> None:
    assert alive_backends(session) >= 1
    if server.http is None:
        pytest.skip("needs SR_TEST_HTTP")
    assert load_endpoint(session).known_hosts
    with pytest.raises(DeclarationError, match="HTTP address"):
        load_endpoint(Session(lambda: pytest.fail("must not connect")))
