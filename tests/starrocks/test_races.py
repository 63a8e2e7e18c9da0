"""Several writers at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from threading import Barrier
from typing import TypeVar

import pytest

from sr_assets.starrocks.catalog import read_partitions
from sr_assets.starrocks.labels import LabelUsed, insert_rows
from sr_assets.starrocks.partitions import PartitionTarget, ensure_partitions
from sr_assets.starrocks.session import Session

WRITERS = 6

T = TypeVar("T")


def at_once(session: Session, work: Callable[[Session, int], T]) -> list[T]:
    """What each writer's `work` gives; each has a session of its own, and all begin together."""
    start = Barrier(WRITERS)

    def run(number: int) -> T:
        with session.clone() as own:
            own.query("SELECT 1")
            start.wait(10)
            return work(own, number)

    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(run, range(WRITERS)))


@pytest.fixture
def table(session: Session, database: str) -> str:
    session.execute(
        f"CREATE TABLE {database}.t (dt DATE NOT NULL, n INT) DUPLICATE KEY (dt) PARTITION BY RANGE (dt) () "
        'DISTRIBUTED BY HASH (dt) BUCKETS 1 PROPERTIES ("replication_num"="1")'
    )
    return f"{database}.t"


def test_writers_that_create_overlapping_runs_of_partitions_agree(session: Session, table: str) -> None:
    def days(number: int) -> list[PartitionTarget]:
        first = date(2024, 1, 1) + timedelta(days=3 * number)
        moments = [first + timedelta(days=n) for n in range(10)]
        return [PartitionTarget(f"d{m:%m%d}", str(m), str(m + timedelta(days=1))) for m in moments]

    answers = at_once(session, lambda own, number: ensure_partitions(own, table, days(number), ()))
    physical = {(part.lower, part.upper): part.name for part in read_partitions(session, [table])[table]}
    assert len(physical) == 10 + 3 * (WRITERS - 1)
    for number, answer in enumerate(answers):
        assert answer == {day: physical[day.lower, day.upper] for day in days(number)}


def test_one_of_several_inserts_under_one_label_wins(session: Session, table: str) -> None:
    """A label is the compare-and-set of StarRocks."""
    ensure_partitions(session, table, [PartitionTarget("p", "2024-01-01", "2024-01-02")], ())

    def insert(own: Session, number: int) -> bool:
        try:
            insert_rows(own, table, ["dt", "n"], [("2024-01-01", number)], label="claim")
        except LabelUsed:
            return False
        return True

    won = at_once(session, insert)
    assert sum(won) == 1
    assert session.query(f"SELECT n FROM {table}") == [(won.index(True),)]
