from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import mysql.connector
import pymysql
import pytest

from sr_assets.errors import ConnectFailed, DeclarationError, StarRocksError
from sr_assets.starrocks import session as session_module
from sr_assets.starrocks.log import StatementLog
from sr_assets.starrocks.session import HttpEndpoint, Session, connect_url, from_dbapi


class FakeServer:
    """Connections that answer `SELECT` with one row and break where told to."""

    def __init__(self) -> None:
        self.received: list[str] = []
        self.connections = 0
        self.breaks: list[Exception | None] = []  # what the next statements raise
        self.dead = False  # what a ping finds

    def connect(self) -> FakeConnection:
        self.connections += 1
        self.dead = False
        return FakeConnection(self)


class FakeConnection:
    def __init__(self, server: FakeServer) -> None:
        self.server = server
        self.autocommitted = False

    def autocommit(self, on: bool) -> None:
        self.autocommitted = on

    def cursor(self) -> FakeCursor:
        return FakeCursor(self.server)

    def ping(self, reconnect: bool) -> None:
        assert not reconnect, "the driver must not reconnect on its own"
        if self.server.dead:
            raise pymysql.OperationalError(2006, "MySQL server has gone away")

    def close(self) -> None:
        pass


class FakeCursor:
    description = (("answer", None),)
    rowcount = 1

    def __init__(self, server: FakeServer) -> None:
        self.server = server

    def execute(self, statement: str) -> None:
        self.server.received.append(statement)
        if self.server.breaks and (error := self.server.breaks.pop(0)):
            raise error

    def fetchall(self) -> list[tuple[Any, ...]]:
        return [("yes",)]

    def close(self) -> None:
        pass


LOST = [
    pymysql.OperationalError(2013, "Lost connection to MySQL server during query"),
    pymysql.OperationalError(2006, "MySQL server has gone away"),
    pymysql.InterfaceError(0, ""),
    mysql.connector.errors.OperationalError(msg="Lost connection to MySQL server at 'fe'", errno=2055),
    ConnectionResetError(104, "Connection reset by peer"),
]


@pytest.fixture
def fake() -> FakeServer:
    return FakeServer()


@pytest.mark.parametrize("lost", LOST, ids=repr)
def test_a_read_is_sent_again_on_a_new_connection(fake: FakeServer, lost: Exception) -> None:
    session = from_dbapi(fake.connect)
    session.query("SELECT 1")
    fake.breaks = [lost]
    assert session.query("SELECT 2") == [("yes",)]
    assert (fake.received, fake.connections) == (["SELECT 1", "SELECT 2", "SELECT 2"], 2)


@pytest.mark.parametrize("lost", LOST, ids=repr)
@pytest.mark.parametrize("call", [Session.execute, Session.query])
def test_a_write_is_never_sent_again(fake: FakeServer, lost: Exception, call: Callable[..., object]) -> None:
    session = from_dbapi(fake.connect)
    session.query("SELECT 1")
    fake.breaks = [lost]
    with pytest.raises(StarRocksError) as caught:
        call(session, "INSERT INTO t VALUES (1)")
    assert caught.value.transient
    assert caught.value.statement == "INSERT INTO t VALUES (1)"
    assert fake.received.count("INSERT INTO t VALUES (1)") == 1
    assert session.query("SELECT 3") == [("yes",)]
    assert fake.connections == 2


def test_a_read_that_loses_two_connections_fails(fake: FakeServer) -> None:
    session = from_dbapi(fake.connect)
    session.query("SELECT 1")
    fake.breaks = [LOST[0], LOST[0]]
    with pytest.raises(StarRocksError, match="lost"):
        session.query("SELECT 2")


def test_a_connection_lost_while_idle_is_replaced_before_a_write(
    fake: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "IDLE_SECONDS", -1.0)
    session = from_dbapi(fake.connect)
    session.query("SELECT 1")
    fake.dead = True
    session.execute("INSERT INTO t VALUES (1)")
    assert (fake.received, fake.connections) == (["SELECT 1", "INSERT INTO t VALUES (1)"], 2)


def test_an_interrupted_statement_leaves_no_half_read_connection(fake: FakeServer) -> None:
    class Interrupt(BaseException):
        pass

    session = from_dbapi(fake.connect)
    fake.breaks = [Interrupt()]  # type: ignore[list-item]
    with pytest.raises(Interrupt):
        session.query("SELECT 1")
    session.query("SELECT 2")
    assert fake.connections == 2


def test_a_bug_is_not_taken_for_an_answer_of_the_server(fake: FakeServer) -> None:
    fake.breaks = [ZeroDivisionError()]
    with pytest.raises(ZeroDivisionError):
        from_dbapi(fake.connect).query("SELECT 1")


def test_an_error_masks_secrets(fake: FakeServer) -> None:
    fake.breaks = [pymysql.ProgrammingError(1064, 'near "aws.s3.secret_key"="hush" at line 1')]
    with pytest.raises(StarRocksError) as caught:
        from_dbapi(fake.connect).execute('INSERT INTO t SELECT * FROM FILES("aws.s3.secret_key"="hush")')
    error = caught.value
    assert (error.code, error.transient) == (1064, False)
    assert "hush" not in error.statement + str(error)


def test_autocommit_is_switched_on_in_both_ways(fake: FakeServer) -> None:
    class WithProperty(FakeConnection):
        autocommit = False  # type: ignore[assignment]

    plain, with_property = FakeConnection(fake), WithProperty(fake)
    from_dbapi(lambda: plain).query("SELECT 1")
    from_dbapi(lambda: with_property).query("SELECT 1")
    assert plain.autocommitted
    assert with_property.autocommit is True


def test_a_connection_in_latin1_is_switched_to_utf8(fake: FakeServer) -> None:
    class Latin1(FakeConnection):
        charset = "latin1"

        def character_set_name(self) -> str:
            return self.charset

        def set_character_set(self, name: str) -> None:
            self.charset = name

    connection = Latin1(fake)
    from_dbapi(lambda: connection).query("SELECT 'ä'")
    assert connection.charset == "utf8mb4"


def test_statements_are_logged_with_their_context(fake: FakeServer, tmp_path: Path) -> None:
    session = from_dbapi(fake.connect, log=StatementLog(tmp_path / "log"))
    with session.context(asset="a.b"):
        session.query("SELECT 1")
    fake.breaks = [pymysql.ProgrammingError(1064, "no")]
    with pytest.raises(StarRocksError):
        session.execute("DROP TABLE t")
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [(line["statement"], line["outcome"], line.get("asset")) for line in lines] == [
        ("SELECT 1", "ok", "a.b"),
        ("DROP TABLE t", "no", None),
    ]


BAD_URLS = [
    ("", None),
    ("host:9030", None),
    ("postgres://u:hush@h/", None),
    ("starrocks://", None),
    ("starrocks://u:hush@h:port", None),
    ("starrocks://[::1", None),
    ("starrocks://u:hush@h", "h:8030"),
]


@pytest.mark.parametrize(("url", "http"), BAD_URLS)
def test_an_unreadable_url_is_refused(url: str, http: str | None) -> None:
    with pytest.raises(DeclarationError, match="cannot be read") as caught:
        connect_url(url, http)
    assert "hush" not in str(caught.value)


def test_an_endpoint_hides_its_password() -> None:
    assert "hush" not in repr(HttpEndpoint("http://fe:8030", "root", "hush"))


def test_nobody_listening(closed_port: int) -> None:
    with pytest.raises(ConnectFailed, match=f"127.0.0.1:{closed_port}") as caught:
        connect_url(f"starrocks://root:hush@127.0.0.1:{closed_port}").query("SELECT 1")
    assert caught.value.transient
    assert "9030" in str(caught.value) and "hush" not in str(caught.value)


# ---- over the wire ----


@pytest.fixture(params=["PyMySQL", "mysql-connector-python"])
def driven(request: pytest.FixtureRequest, server: Any) -> Iterator[Session]:
    if request.param == "PyMySQL":
        made = server.session()
    else:
        url = urlsplit(server.url)
        password = connection_password(server)
        made = from_dbapi(
            lambda: mysql.connector.connect(
                host=url.hostname, port=url.port, user=url.username, password=password, use_pure=True
            )
        )
    with made as session:
        yield session


def connection_password(server: Any) -> str:
    http = connect_url(server.url, "http://unused").http
    assert http is not None
    return http.password


def test_both_drivers_read_write_and_fail_alike(driven: Session, database: str) -> None:
    driven.execute(
        f"CREATE TABLE {database}.t (k INT, v STRING) DUPLICATE KEY (k) DISTRIBUTED BY HASH (k) BUCKETS 1 "
        'PROPERTIES ("replication_num"="1")'
    )
    assert driven.execute(f"INSERT INTO {database}.t VALUES (1, 'fünf %s %'), (2, NULL)") == 2
    assert driven.query(f"SELECT v FROM {database}.t WHERE k = %s", [1]) == [("fünf %s %",)]
    assert driven.records(f"SELECT k, v FROM {database}.t WHERE v IS NULL") == [{"K": 2, "V": None}]
    with pytest.raises(StarRocksError) as caught:
        driven.query(f"SELECT * FROM {database}.absent")
    assert caught.value.code == 5502
    assert not caught.value.transient
    assert driven.query("SELECT 1") == [(1,)]


def test_version(session: Session) -> None:
    assert (3, 3, 0) <= session.version() < (6, 0, 0)


def test_variables_are_put_back(session: Session) -> None:
    [(before,)] = session.query("SELECT @@query_timeout")
    with session.variables({"query_timeout": 77}):
        assert session.query("SELECT @@query_timeout") == [(77,)]
    assert session.query("SELECT @@query_timeout") == [(before,)]


def test_a_clone_has_its_own_connection(session: Session) -> None:
    with session.clone() as other, session.variables({"query_timeout": 78}):
        assert other.query("SELECT @@query_timeout") != [(78,)]


def test_wrong_password(server: Any) -> None:
    url = urlsplit(server.url)
    with pytest.raises(ConnectFailed, match="Access denied") as caught:
        connect_url(f"starrocks://{url.username}:wrong-hush@{url.hostname}:{url.port}").query("SELECT 1")
    assert not caught.value.transient
    assert "hush" not in str(caught.value)
