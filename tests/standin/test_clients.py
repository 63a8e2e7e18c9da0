"""Clients and logins."""

from __future__ import annotations

from collections.abc import Iterator

import mysql.connector
import pymysql
import pytest

from sr_assets.standin import StandIn, StandInConfig
from tests.standin.conftest import Client


@pytest.fixture(scope="module")
def guarded() -> Iterator[StandIn]:
    """A server with a password."""
    with StandIn(StandInConfig(user="admin", password="secret", version="3.3.2")) as server:
        yield server


def test_password(guarded: StandIn) -> None:
    client = Client(guarded.port, user="admin", password="secret")
    assert client.value("SELECT current_version()") == "3.3.2 standin"
    client.connection.ping(reconnect=False)
    client.connection.select_db("information_schema")
    assert client.value("SELECT DATABASE()") == "information_schema"


LOGINS = [
    ("admin", "wrong", "Access denied for user 'admin'@'127.0.0.1' (using password: YES)"),
    ("admin", "", "Access denied for user 'admin'@'127.0.0.1' (using password: NO)"),
    ("nobody", "secret", "Access denied for user 'nobody'@'127.0.0.1' (using password: YES)"),
]


@pytest.mark.parametrize(("user", "password", "message"), LOGINS)
def test_refused_login(guarded: StandIn, user: str, password: str, message: str) -> None:
    with pytest.raises(pymysql.err.OperationalError) as caught:
        Client(guarded.port, user=user, password=password)
    assert caught.value.args == (1045, message)


def test_unknown_database_at_login(guarded: StandIn) -> None:
    with pytest.raises(pymysql.Error) as caught:
        Client(guarded.port, "nodb", user="admin", password="secret")
    assert caught.value.args[0] == 5501


def test_older_version_has_its_layouts(guarded: StandIn) -> None:
    client = Client(guarded.port, user="admin", password="secret")
    client("CREATE DATABASE d")
    client("CREATE TABLE d.t (a INT)")
    assert client("SELECT JOB_ID, DATABASE_NAME FROM information_schema.loads") == []
    assert client.error("SELECT STORAGE_SIZE FROM information_schema.partitions_meta")[0] == 1064
    assert client.error("ANALYZE TABLE d.t PARTITION(t) WITH SYNC MODE")[0] == 1064
    code, text = client.error("INSERT /*+ SET_VAR(query_timeout=1) */ INTO d.t SELECT sleep(5)")
    assert (code, "'query_timeout'" in text) == (5024, True)


@pytest.mark.parametrize("autocommit", [True, False])
def test_mysql_connector(server: StandIn, db: Client, autocommit: bool) -> None:
    name = db.value("SELECT DATABASE()")
    connection = mysql.connector.connect(
        host="127.0.0.1", port=server.port, user="root", database=name, autocommit=autocommit, use_pure=True
    )
    cursor = connection.cursor()
    cursor.execute("CREATE TABLE c (id INT, v STRING)")
    cursor.execute("INSERT INTO c VALUES (%s, %s)", (1, "it's \\ ü"))
    assert cursor.rowcount == 1
    cursor.executemany("INSERT INTO c VALUES (%s, %s)", [(2, "b"), (3, None)])
    connection.commit()
    cursor.execute("SELECT id, v FROM c ORDER BY id")
    assert cursor.fetchall() == [(1, "it's \\ ü"), (2, "b"), (3, None)]
    with pytest.raises(mysql.connector.Error) as caught:
        cursor.execute("SELECT * FROM nowhere")
    assert caught.value.errno == 5502
    connection.close()


def test_only_queries_can_be_prepared(server: StandIn, db: Client) -> None:
    db("CREATE TABLE c (id INT, v STRING)")
    db("INSERT INTO c VALUES (1, 'a'), (2, 'b')")
    connection = mysql.connector.connect(
        host="127.0.0.1", port=server.port, user="root", database=db.value("SELECT DATABASE()"), use_pure=True
    )
    cursor = connection.cursor(prepared=True)
    cursor.execute("SELECT v FROM c WHERE id = %s", (2,))
    assert cursor.fetchall() == [("b",)]
    with pytest.raises(mysql.connector.Error) as caught:
        cursor.execute("INSERT INTO c VALUES (%s, %s)", (3, "c"))
    assert caught.value.errno == 1295
    connection.close()


@pytest.mark.parametrize("autocommit", [True, False])
def test_pymysql_sessions(server: StandIn, db: Client, autocommit: bool) -> None:
    name = db.value("SELECT DATABASE()")
    connection = pymysql.connect(
        host="127.0.0.1", port=server.port, user="root", database=name, autocommit=autocommit, charset="utf8mb4",
        init_command="SET SESSION query_timeout = 7, insert_timeout = 8",
    )  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@query_timeout, @@insert_timeout")
        assert cursor.fetchone() == (7, 8)
        cursor.execute("BEGIN")
        cursor.execute("CREATE TABLE p (id INT)")
        cursor.execute("INSERT INTO p VALUES (1)")
        connection.rollback()  # undoes nothing, as in StarRocks
        cursor.execute("SHOW VARIABLES LIKE 'query_time%'")
        assert cursor.fetchall() == (("query_timeout", "7"),)
    assert db("SELECT id FROM p") == [(1,)]
    connection.close()
    db("SET GLOBAL pipeline_dop = 3")
    assert Client(server.port).value("SELECT @@pipeline_dop") == 3
    db("SET GLOBAL pipeline_dop = DEFAULT")


def test_statements_are_recorded(server: StandIn, db: Client) -> None:
    db("SELECT 'a marker'")
    assert server.statements[-1] == "SELECT 'a marker'"


def test_several_statements_in_one_message(db: Client) -> None:
    assert db("SELECT ';'; SELECT 2;") == [(2,)]
    assert db("  -- only a comment") == []


def test_many_connections(server: StandIn) -> None:
    clients = [Client(server.port) for _ in range(50)]
    assert [client.value(f"SELECT {n}") for n, client in enumerate(clients)] == list(range(50))
    assert len(clients[0]("SHOW PROCESSLIST")) >= 50
    for client in clients:
        client.close()
