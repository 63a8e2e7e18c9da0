"""What a server keeps between starts, and what kill -9 at any moment leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pymysql
import pytest

from sr_assets.standin import StandIn, StandInConfig, StorageInUse
from tests.standin.conftest import Client

TABLE = (
    "CREATE TABLE d.t (dt DATE, id BIGINT) PARTITION BY RANGE(dt)"
    "(START('2024-01-01') END('2024-01-03') EVERY(INTERVAL 1 DAY))"
)


def state(client: Client) -> list[object]:
    """All that must survive."""
    return [
        client("SELECT * FROM information_schema.partitions_meta ORDER BY PARTITION_ID"),
        client(
            "SELECT * FROM information_schema.columns ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION"
        ),
        client("SHOW LOAD FROM d"),
        client("SHOW CREATE TABLE d.t"),
        client("SELECT * FROM d.t ORDER BY id"),
        client("SELECT * FROM d.w ORDER BY id"),
        client("SELECT * FROM d.t TEMPORARY PARTITION(tp)"),
    ]


def test_restart(tmp_path: Path) -> None:
    config = StandInConfig(data_dir=tmp_path / "data")
    with StandIn(config) as server:
        client = Client(server.port)
        client("CREATE DATABASE d")
        client(TABLE)
        client("CREATE VIEW d.w AS SELECT id FROM d.t WHERE id > 1")
        client(
            "CREATE TABLE d.l (c STRING DEFAULT 'x' COMMENT 'c') "
            "PARTITION BY LIST(c)(PARTITION p VALUES IN ('LA', NULL))"
        )
        client("CREATE TABLE d.k (id INT, h DATETIME) PRIMARY KEY(id, h) PARTITION BY date_trunc('hour', h)")
        client("INSERT INTO d.k VALUES (1, '2024-01-01 05:00:00')")
        client("INSERT INTO d.t WITH LABEL l VALUES ('2024-01-01', 1), ('2024-01-02', 2)")
        client("ALTER TABLE d.t ADD TEMPORARY PARTITION tp VALUES [('2024-01-01'),('2024-01-02'))")
        client("INSERT INTO d.t TEMPORARY PARTITION(tp) VALUES ('2024-01-01', 3)")
        client("ANALYZE TABLE d.t")
        before = state(client)
        last_id = client.value("SELECT max(PARTITION_ID) FROM information_schema.partitions_meta")
    with StandIn(config) as server:
        client = Client(server.port)
        assert state(client) == before
        assert len(client("SHOW ANALYZE STATUS")) == 1
        assert client.error("INSERT INTO d.t WITH LABEL l VALUES ('2024-01-01', 1)")[0] == 1064
        client("INSERT OVERWRITE d.t PARTITION(p20240101) VALUES ('2024-01-01', 1)")
        client("INSERT INTO d.l VALUES (NULL), ('LA')")
        client("INSERT INTO d.k VALUES (1, '2024-01-01 05:00:00')")
        assert client.value("SELECT count(*) FROM d.k") == 1
        renewed = client.value(
            "SELECT PARTITION_ID FROM information_schema.partitions_meta "
            "WHERE TABLE_NAME = 't' AND PARTITION_NAME = 'p20240101'"
        )
        assert renewed > last_id


def test_one_data_directory_has_one_server(tmp_path: Path) -> None:
    process, _ = start(tmp_path)
    try:
        with pytest.raises(StorageInUse, match="in use by another stand-in server"):
            StandIn(StandInConfig(data_dir=tmp_path / "data")).start()
    finally:
        stop(process)


def test_kill_9_leaves_whole_overwrites(tmp_path: Path) -> None:
    """Overwrites of 100 equal rows run when the process is killed: all rows are of one statement after."""
    process, client = start(tmp_path)
    client("CREATE DATABASE d")
    client(TABLE)
    numbers = "SELECT 1 AS n" + "".join(f" UNION ALL SELECT {n}" for n in range(2, 101))
    acknowledged = []

    def overwrite() -> None:
        writer = Client(json.loads((tmp_path / "ready").read_text())["port"])
        number = 0
        while True:
            number += 1
            try:
                writer(
                    f"INSERT OVERWRITE d.t PARTITION(p20240101) WITH LABEL l{number} "
                    f"SELECT '2024-01-01', {number} FROM ({numbers}) x"
                )
            except (pymysql.Error, OSError):
                return
            acknowledged.append(number)

    thread = threading.Thread(target=overwrite)
    thread.start()
    while len(acknowledged) < 5:
        time.sleep(0.005)
    process.kill()
    process.wait()
    thread.join()

    process, client = start(tmp_path)
    ((count, low, high),) = client("SELECT count(*), min(id), max(id) FROM d.t")
    assert (count, low) == (100, high)
    assert low in (acknowledged[-1], acknowledged[-1] + 1)
    assert (
        client.value(
            "SELECT ROW_COUNT FROM information_schema.partitions_meta WHERE PARTITION_NAME = 'p20240101'"
        )
        == 100
    )
    states = dict(client("SELECT LABEL, STATE FROM information_schema.loads"))
    assert states[f"l{low}"] == "FINISHED"
    assert set(states.values()) <= {"FINISHED", "CANCELLED"}
    stop(process)


def test_kill_9_cancels_what_was_running(tmp_path: Path) -> None:
    process, client = start(tmp_path)
    client("CREATE DATABASE d")
    client(TABLE)
    client("INSERT INTO d.t VALUES ('2024-01-01', 1)")
    client("ADMIN ENABLE FAILPOINT 'hold_before_commit'")
    watcher = Client(json.loads((tmp_path / "ready").read_text())["port"])

    def insert() -> None:
        with pytest.raises(pymysql.Error):
            client("INSERT OVERWRITE d.t PARTITION(p20240101) WITH LABEL l VALUES ('2024-01-01', 2)")

    thread = threading.Thread(target=insert)
    thread.start()
    while watcher("SHOW FAILPOINTS")[0][2] != "1":
        time.sleep(0.005)
    process.kill()
    process.wait()
    thread.join()

    process, client = start(tmp_path)
    assert client("SELECT id FROM d.t") == [(1,)]
    (job,) = client("SHOW LOAD FROM d WHERE Label = 'l'")
    assert (job[2], "restarted" in job[12]) == ("CANCELLED", True)
    client("INSERT OVERWRITE d.t PARTITION(p20240101) WITH LABEL l VALUES ('2024-01-01', 2)")
    stop(process)


def start(folder: Path) -> tuple[subprocess.Popen[bytes], Client]:
    """A server in a process of its own, and a client; the ready file says where it is."""
    ready = folder / "ready"
    ready.unlink(missing_ok=True)
    command = [sys.executable, "-m", "sr_assets.standin", "--data-dir", str(folder / "data"), "--port", "0"]
    command += ["--http-port", "0", "--ready-file", str(ready), "--statement-log", str(folder / "log")]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(Path.cwd())}
    )
    end = time.monotonic() + 20
    while not ready.exists():
        assert process.poll() is None and time.monotonic() < end, "the server did not start"
        time.sleep(0.01)
    facts = json.loads(ready.read_text())
    assert facts["pid"] == process.pid
    assert {"port", "http_port", "be_http_port"} <= set(facts)
    return process, Client(facts["port"])


def stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=10) == 0


def test_statement_log(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with StandIn(StandInConfig(statement_log=log)) as server:
        Client(server.port)("SELECT 'é'")
    entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [(entry["sql"], entry["user"]) for entry in entries][-1] == ("SELECT 'é'", "root")
