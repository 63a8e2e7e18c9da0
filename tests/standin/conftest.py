"""One server for the whole suite, in memory; every test gets a database of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest

from sr_assets.standin import StandIn, StandInConfig

_numbers = itertools.count(1)


class Client:
    """A connection that answers with plain lists of rows."""

    def __init__(self, port: int, database: str | None = None, **options: Any) -> None:
        settings: dict[str, Any] = {"user": "root", "autocommit": True, "read_timeout": 30} | options
        self.connection = pymysql.connect(host="127.0.0.1", port=port, database=database, **settings)
        self.affected = 0
        self.info = ""

    def __call__(self, sql: str, parameters: tuple[Any, ...] | None = None) -> list[tuple[Any, ...]]:
        with self.connection.cursor() as cursor:
            self.affected = cursor.execute(sql, parameters)
            rows = list(cursor.fetchall())
            message = self.connection._result.message if self.connection._result else None  # type: ignore[attr-defined]
        self.info = message[1:].decode() if message else ""
        return rows

    def value(self, sql: str) -> Any:
        """The one value of a query."""
        ((value,),) = self(sql)
        return value

    def error(self, sql: str) -> tuple[int, str]:
        """(code, text) of the error that the statement must end in."""
        with pytest.raises(pymysql.Error) as caught:
            self(sql)
        code, text = caught.value.args
        return int(code), str(text)

    def partitions(self, table: str) -> dict[str, tuple[int, int, int]]:
        """Partition id, visible version and rows by partition name, without temporary ones."""
        rows = self(
            "SELECT PARTITION_NAME, PARTITION_ID, VISIBLE_VERSION, ROW_COUNT FROM information_schema.partitions_meta "
            f"WHERE DB_NAME = DATABASE() AND TABLE_NAME = '{table}' AND IS_TEMP = 0"
        )
        return {name: (id_, version, count) for name, id_, version, count in rows}

    def close(self) -> None:
        self.connection.close()


@pytest.fixture(scope="session")
def storage_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder behind `s3://`."""
    return tmp_path_factory.mktemp("s3")


@pytest.fixture(scope="session")
def server(storage_root: Path) -> Iterator[StandIn]:
    with StandIn(StandInConfig(storage_root=storage_root, load_delay=0.02)) as running:
        yield running


@pytest.fixture
def db(server: StandIn) -> Iterator[Client]:
    """A client in a new, empty database."""
    name = f"test_{next(_numbers)}"
    client = Client(server.port)
    client(f"CREATE DATABASE {name}")
    client(f"USE {name}")
    yield client
    client.close()
    cleaner = Client(server.port)
    cleaner(f"DROP DATABASE IF EXISTS {name}")
    cleaner.close()


@pytest.fixture
def daily(db: Client) -> Client:
    """`t(dt, id, v)`, range-partitioned by day for 2024-01-01 to 2024-01-03."""
    db(
        "CREATE TABLE t (dt DATE NOT NULL, id BIGINT, v STRING) DUPLICATE KEY(dt, id) "
        'PARTITION BY RANGE(dt)(START("2024-01-01") END ("2024-01-04") EVERY (INTERVAL 1 DAY)) '
        'DISTRIBUTED BY HASH(id) BUCKETS 2 PROPERTIES("replication_num" = "1")'
    )
    return db


@pytest.fixture
def other(server: StandIn, db: Client) -> Iterator[Client]:
    """A second client in the same database."""
    client = Client(server.port, db.value("SELECT DATABASE()"))
    yield client
    client.close()
