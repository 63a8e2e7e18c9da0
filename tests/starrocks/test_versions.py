"""What differs by version, on a stand-in that pretends to be each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sr_assets.errors import StarRocksError
from sr_assets.standin import StandIn, StandInConfig
from sr_assets.starrocks.analyze import analyze
from sr_assets.starrocks.broker_load import FileGroup, broker_load
from sr_assets.starrocks.catalog import read_partitions
from sr_assets.starrocks.labels import LabelState, LabelUsed, label_state
from sr_assets.starrocks.overwrite import overwrite
from sr_assets.starrocks.partitions import PartitionTarget, ensure_partitions
from sr_assets.starrocks.session import Session, connect_url
from sr_assets.starrocks.tables import Column, PartitionSpec, TableSpec, ensure_table

VERSIONS = ["3.3.17", "3.4.4", "3.4.5", "3.5.7", "4.0.1", "4.1.0"]

TABLE = "sales.daily"
SPEC = TableSpec(
    TABLE,
    (Column("dt", "DATE", nullable=False), Column("n", "INT")),
    key=("dt",),
    partition=PartitionSpec("dt", "range"),
    distributed_by=("dt",),
    properties={"replication_num": "1"},
)
DAY = PartitionTarget("first", "2024-01-01", "2024-01-02")


@pytest.fixture(scope="module", params=VERSIONS)
def old(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Session, Path]]:
    """A session, and the folder that holds the server's buckets."""
    storage = tmp_path_factory.mktemp("storage")
    with (
        StandIn(StandInConfig(version=request.param, storage_root=storage)) as standin,
        connect_url(f"starrocks://root@127.0.0.1:{standin.port}") as session,
    ):
        assert session.version() == tuple(map(int, request.param.split(".")))
        ensure_table(session, SPEC)
        ensure_partitions(session, TABLE, [DAY], ())
        yield session, storage


def test_tables_and_partitions(old: tuple[Session, Path]) -> None:
    session, _ = old
    assert ensure_table(session, SPEC) is False
    existing = read_partitions(session, [TABLE])[TABLE]
    assert ensure_partitions(session, TABLE, [DAY], existing) == {DAY: "p20240101"}


def test_overwrite_and_its_label(old: tuple[Session, Path]) -> None:
    session, _ = old

    def write(select: str, label: str, timeout: int = 60) -> None:
        overwrite(
            session,
            TABLE,
            partitions=["p20240101"],
            columns=["dt", "n"],
            select=select,
            label=label,
            timeout=timeout,
        )

    write("SELECT '2024-01-01', 3", "over")
    assert session.query(f"SELECT n FROM {TABLE}") == [(3,)]
    assert label_state(session, "sales", "over").state is LabelState.FINISHED
    session.execute("CREATE DATABASE IF NOT EXISTS other")
    assert label_state(session, "other", "over").state is LabelState.UNKNOWN
    with pytest.raises(LabelUsed):
        write("SELECT '2024-01-01', 4", "over")
    before = session.query("SELECT @@query_timeout")
    session.execute(f"ADMIN ENABLE FAILPOINT 'delay_before_commit:30@{TABLE}' WITH 1 TIMES")
    with pytest.raises(StarRocksError) as caught:
        write("SELECT '2024-01-01', 5", "slow", timeout=1)
    assert caught.value.transient
    assert session.query(f"SELECT n FROM {TABLE}") == [(3,)]
    assert session.query("SELECT @@query_timeout") == before


def test_loads_are_listed(old: tuple[Session, Path]) -> None:
    session, storage = old
    (storage / "b").mkdir(exist_ok=True)
    (storage / "b" / "f.csv").write_text("2024-01-01,8\n")
    files = [FileGroup(("s3://b/f.csv",), "csv", columns=("dt", "n"), column_separator=",")]
    result = broker_load(
        session, table=TABLE, files=files, label="broker", properties={}, broker={}, deadline=20, poll=0.02
    )
    assert result.rows == 1
    assert label_state(session, "sales", "broker").rows == 1


def test_analyze(old: tuple[Session, Path]) -> None:
    session, _ = old
    analyze(session, TABLE, ["p20240101"])
