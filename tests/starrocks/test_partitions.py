from __future__ import annotations

from datetime import date, timedelta

import pytest

from sr_assets.errors import DeclarationError, StarRocksError
from sr_assets.starrocks.catalog import PhysicalPartition, read_partitions
from sr_assets.starrocks.partitions import (
    PartitionTarget,
    add_statements,
    add_temporary,
    drop_temporary,
    ensure_partitions,
    match,
    replace_partitions,
)
from sr_assets.starrocks.session import Session


def day(text: str, days: int = 1) -> PartitionTarget:
    lower = date.fromisoformat(text)
    return PartitionTarget(f"p{lower:%Y%m%d}", text, str(lower + timedelta(days=days)))


def physical(
    name: str,
    lower: str | None = None,
    upper: str | None = None,
    values: tuple[tuple[str | None, ...], ...] = (),
) -> PhysicalPartition:
    return PhysicalPartition(name, 1, False, lower, upper, values, 0, 0, None)


def hour(text: str, until: str) -> PartitionTarget:
    return PartitionTarget("h", text, until)


BULK = "ADD PARTITIONS START ({}) END ({}) EVERY (INTERVAL 1 {})"
ADD = "ADD PARTITION IF NOT EXISTS "

STATEMENTS = {
    "a run of days": (
        [day("2024-01-03"), day("2024-01-01"), day("2024-01-02")],
        set(),
        [BULK.format('"2024-01-01"', '"2024-01-04"', "DAY")],
    ),
    "a gap": (
        [day("2024-01-01"), day("2024-01-03")],
        set(),
        [
            BULK.format('"2024-01-01"', '"2024-01-02"', "DAY"),
            BULK.format('"2024-01-03"', '"2024-01-04"', "DAY"),
        ],
    ),
    "a month": (
        [PartitionTarget("m", "2024-01-01", "2024-02-01"), PartitionTarget("n", "2024-02-01", "2024-03-01")],
        set(),
        [BULK.format('"2024-01-01"', '"2024-03-01"', "MONTH")],
    ),
    "hours": (
        [
            hour("2024-01-01 23:00:00", "2024-01-02 00:00:00"),
            hour("2024-01-02 00:00:00", "2024-01-02 01:00:00"),
        ],
        set(),
        [BULK.format('"2024-01-01 23:00:00"', '"2024-01-02 01:00:00"', "HOUR")],
    ),
    "a week": ([day("2024-01-01", 7)], set(), [BULK.format('"2024-01-01"', '"2024-01-08"', "WEEK")]),
    "a change of grain": (
        [day("2024-01-31"), PartitionTarget("feb", "2024-02-01", "2024-03-01")],
        set(),
        [
            BULK.format('"2024-01-31"', '"2024-02-01"', "DAY"),
            BULK.format('"2024-02-01"', '"2024-03-01"', "MONTH"),
        ],
    ),
    "a quarter has no bulk form": (
        [PartitionTarget("q1", "2024-01-01", "2024-04-01")],
        set(),
        [ADD + '`q1` VALUES [("2024-01-01"), ("2024-04-01"))'],
    ),
    "a taken bulk name": (
        [day("2024-01-01"), day("2024-01-02")],
        {"p20240102"},
        [
            ADD + '`p20240101` VALUES [("2024-01-01"), ("2024-01-02"))',
            ADD + '`p20240102_2` VALUES [("2024-01-02"), ("2024-01-03"))',
        ],
    ),
    "everything before": (
        [PartitionTarget("old", None, "2024-01-01")],
        set(),
        [ADD + '`old` VALUES LESS THAN ("2024-01-01")'],
    ),
    "integers": ([PartitionTarget("i", "0", "10")], set(), [ADD + '`i` VALUES [("0"), ("10"))']),
    "values": (
        [PartitionTarget("la", values=("LA", 'S"F')), PartitionTarget("ny", values=("NY",))],
        {"la"},
        [ADD + r'`la_2` VALUES IN ("LA", "S\"F")', ADD + '`ny` VALUES IN ("NY")'],
    ),
}


@pytest.mark.parametrize("case", STATEMENTS)
def test_add_statements(case: str) -> None:
    missing, names, expected = STATEMENTS[case]
    assert list(add_statements("d.t", missing, names)) == [f"ALTER TABLE `d`.`t` {text}" for text in expected]


def test_a_run_is_cut_at_the_batch_limit() -> None:
    days = [day(str(date(2000, 1, 1) + timedelta(days=n))) for n in range(5000)]
    statements = list(add_statements("d.t", days, set()))
    assert [text.split("START")[1].split("EVERY")[0] for text in statements] == [
        ' ("2000-01-01") END ("2011-03-20") ',
        ' ("2011-03-20") END ("2013-09-09") ',
    ]


def test_a_partition_without_bounds_and_values_cannot_be_created() -> None:
    with pytest.raises(DeclarationError, match="cannot be created"):
        list(add_statements("d.t", [PartitionTarget("t")], set()))


MATCHES = [
    (day("2024-01-01"), physical("odd", "2024-01-01", "2024-01-02")),
    (day("2024-01-01"), physical("odd", "2024-01-01 00:00:00", "2024-01-02 00:00:00")),
    (PartitionTarget("x", values=("SF", "LA")), physical("odd", values=(("LA",), ("SF",)))),
    (PartitionTarget("x", None, "2024-01-01"), physical("odd", None, "2024-01-01")),
    (PartitionTarget("x"), physical("odd")),
]


@pytest.mark.parametrize(("target", "existing"), MATCHES)
def test_partitions_are_found_by_value(target: PartitionTarget, existing: PhysicalPartition) -> None:
    assert match("d.t", [target], [existing]) == ({target: "odd"}, [])


OVERLAPS = [
    (day("2024-01-05"), physical("month", "2024-01-01", "2024-02-01")),
    (PartitionTarget("month", "2024-01-01", "2024-02-01"), physical("p5", "2024-01-05", "2024-01-06")),
    (day("2024-01-05"), physical("rest", "2024-01-01", None)),
    (day("2024-01-05"), physical("old", None, "2024-01-06")),
    (hour("2024-01-05 05:00:00", "2024-01-05 06:00:00"), physical("p5", "2024-01-05", "2024-01-06")),
    (PartitionTarget("x", values=("LA",)), physical("west", values=(("LA",), ("SF",)))),
]


@pytest.mark.parametrize(("target", "existing"), OVERLAPS)
def test_an_overlap_names_both(target: PartitionTarget, existing: PhysicalPartition) -> None:
    with pytest.raises(StarRocksError, match="overlap") as caught:
        match("d.t", [target], [existing])
    assert target.name in str(caught.value) and existing.name in str(caught.value)
    assert not caught.value.transient


@pytest.mark.parametrize(
    "targets",
    [
        [day("2024-01-01"), PartitionTarget("wide", "2024-01-01", "2024-01-03")],
        [PartitionTarget("a", values=("LA", "SF")), PartitionTarget("b", values=("SF",))],
    ],
)
def test_targets_that_overlap_each_other_are_refused(targets: list[PartitionTarget]) -> None:
    with pytest.raises(StarRocksError, match="overlap"):
        match("d.t", targets, [])


def test_neighbours_do_not_overlap() -> None:
    found, missing = match(
        "d.t",
        [day("2024-01-02")],
        [physical("a", None, "2024-01-02"), physical("b", "2024-01-03 00:00:00", None)],
    )
    assert (found, missing) == ({}, [day("2024-01-02")])


# ---- over the wire ----


@pytest.fixture
def days(session: Session, database: str) -> str:
    session.execute(
        f"CREATE TABLE {database}.days (dt DATE NOT NULL, n INT) DUPLICATE KEY (dt) PARTITION BY RANGE (dt) () "
        'DISTRIBUTED BY HASH (dt) BUCKETS 1 PROPERTIES ("replication_num"="1")'
    )
    return f"{database}.days"


def existing(session: Session, table: str) -> tuple[PhysicalPartition, ...]:
    return read_partitions(session, [table]).get(table, ())


def test_only_the_missing_are_created(session: Session, days: str) -> None:
    session.execute(f'ALTER TABLE {days} ADD PARTITION mine VALUES [("2024-01-02"), ("2024-01-03"))')
    targets = [day(f"2024-01-0{n}") for n in range(1, 6)]
    names = ensure_partitions(session, days, targets, existing(session, days))
    assert names[targets[1]] == "mine"
    assert {name: (p.lower, p.upper) for p in existing(session, days) for name in [p.name]} == {
        names[target]: (target.lower, target.upper) for target in targets
    }
    assert ensure_partitions(session, days, targets, existing(session, days)) == names


def test_a_name_that_is_taken_by_another_range(session: Session, days: str) -> None:
    session.execute(f'ALTER TABLE {days} ADD PARTITION p20240101 VALUES [("2023-01-01"), ("2023-01-02"))')
    names = ensure_partitions(session, days, [day("2024-01-01")], existing(session, days))
    assert names == {day("2024-01-01"): "p20240101_2"}


def test_partitions_that_another_writer_made_meanwhile(session: Session, days: str) -> None:
    """What was read is out of date: one day of the run exists, under a name of its own."""
    session.execute(f'ALTER TABLE {days} ADD PARTITION theirs VALUES [("2024-01-02"), ("2024-01-03"))')
    session.execute(f'ALTER TABLE {days} ADD PARTITION p20240103 VALUES [("2024-01-03"), ("2024-01-04"))')
    targets = [day(f"2024-01-0{n}") for n in range(1, 5)]
    names = ensure_partitions(session, days, targets, existing=())
    assert names[targets[1]] == "theirs"
    assert len(set(names.values())) == 4


def test_a_partition_that_another_writer_made_overlaps(session: Session, days: str) -> None:
    session.execute(f'ALTER TABLE {days} ADD PARTITION jan VALUES [("2024-01-01"), ("2024-02-01"))')
    with pytest.raises(StarRocksError, match=r"jan .* and p20240105 .* overlap"):
        ensure_partitions(session, days, [day("2024-01-05")], existing=())


def test_an_unknown_table_is_not_taken_for_a_lost_race(session: Session, database: str) -> None:
    with pytest.raises(StarRocksError, match="absent"):
        ensure_partitions(session, f"{database}.absent", [day("2024-01-05")], existing=())


def test_list_partitions_are_created(session: Session, database: str) -> None:
    table = f"{database}.cities"
    session.execute(
        f"CREATE TABLE {table} (city VARCHAR(20) NOT NULL, n INT) DUPLICATE KEY (city) PARTITION BY LIST (city) () "
        'DISTRIBUTED BY HASH (city) BUCKETS 1 PROPERTIES ("replication_num"="1")'
    )
    targets = [PartitionTarget("la", values=("LA",)), PartitionTarget("other", values=("SF", "San José"))]
    names = ensure_partitions(session, table, targets, ())
    assert names == {targets[0]: "la", targets[1]: "other"}
    assert ensure_partitions(session, table, targets, existing(session, table)) == names
    session.execute(f"INSERT INTO {table} VALUES ('San José', 1)")
    assert {part.name: part.written for part in existing(session, table)} == {"la": False, "other": True}


def test_hours_and_months(session: Session, database: str) -> None:
    table = f"{database}.hours"
    session.execute(
        f"CREATE TABLE {table} (ts DATETIME NOT NULL, n INT) DUPLICATE KEY (ts) PARTITION BY RANGE (ts) () "
        'DISTRIBUTED BY HASH (ts) BUCKETS 1 PROPERTIES ("replication_num"="1")'
    )
    targets = [
        hour("2024-01-01 00:00:00", "2024-01-01 01:00:00"),
        hour("2024-01-01 01:00:00", "2024-01-01 02:00:00"),
        PartitionTarget("m", "2024-02-01 00:00:00", "2024-03-01 00:00:00"),
    ]
    names = ensure_partitions(session, table, targets, ())
    assert len(set(names.values())) == 3
    assert ensure_partitions(session, table, targets, existing(session, table)) == names


def test_an_automatic_table_takes_the_same_calls(session: Session, database: str) -> None:
    table = f"{database}.auto"
    session.execute(
        f"CREATE TABLE {table} (dt DATE NOT NULL, n INT) DUPLICATE KEY (dt) PARTITION BY date_trunc('day', dt) "
        'DISTRIBUTED BY HASH (dt) BUCKETS 1 PROPERTIES ("replication_num"="1")'
    )
    targets = [day("2024-01-01"), day("2024-01-03")]
    assert ensure_partitions(session, table, targets, existing(session, table)) == {
        targets[0]: "p20240101",
        targets[1]: "p20240103",
    }


def test_temporary_partitions_are_swapped_in_at_once(session: Session, days: str) -> None:
    targets = [day("2024-01-01"), day("2024-01-02")]
    ensure_partitions(session, days, targets, ())
    session.execute(f"INSERT INTO {days} VALUES ('2024-01-01', 1), ('2024-01-02', 2)")
    before = {part.name: part.fingerprint for part in existing(session, days)}
    temporary = [PartitionTarget(f"t_{t.name}", t.lower, t.upper) for t in targets]
    add_temporary(session, days, temporary)
    add_temporary(session, days, temporary)  # leftovers of a run that died are no obstacle
    names = "t_p20240101, t_p20240102"
    session.execute(
        f"INSERT INTO {days} TEMPORARY PARTITION ({names}) VALUES ('2024-01-01', 10), ('2024-01-02', 20)"
    )
    assert session.query(f"SELECT n FROM {days} ORDER BY n") == [(1,), (2,)]
    replace_partitions(session, days, {t.name: f"t_{t.name}" for t in targets})
    assert session.query(f"SELECT n FROM {days} ORDER BY n") == [(10,), (20,)]
    after = {part.name: part.fingerprint for part in existing(session, days)}
    assert set(after) == set(before)
    assert not set(after.values()) & set(before.values())


def test_temporary_partitions_are_dropped(session: Session, days: str) -> None:
    add_temporary(session, days, [PartitionTarget("tp", "2024-01-01", "2024-01-02")])
    drop_temporary(session, days, ["tp", "never_there"])
    with pytest.raises(StarRocksError, match="tp"):
        session.execute(f"INSERT INTO {days} TEMPORARY PARTITION (tp) VALUES ('2024-01-01', 1)")


def test_a_swap_of_unequal_ranges_is_refused(session: Session, days: str) -> None:
    ensure_partitions(session, days, [day("2024-01-01")], ())
    add_temporary(session, days, [PartitionTarget("tp", "2024-01-02", "2024-01-03")])
    with pytest.raises(StarRocksError):
        replace_partitions(session, days, {"p20240101": "tp"})
