"""Stream Load over HTTP: the redirect, the answers, the label rule."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from sr_assets.standin import StandIn
from tests.standin.conftest import Client

AUTH = ("root", "")


def put(
    server: StandIn, client: Client, body: bytes | str, table: str = "t", **headers: str
) -> dict[str, Any]:
    """As a careful client does: ask the FE without a body, then send to where it points, with auth."""
    database = client.value("SELECT DATABASE()")
    url = f"http://127.0.0.1:{server.http_port}/api/{database}/{table}/_stream_load"
    fields = {"Expect": "100-continue"} | headers
    front = httpx.put(url, headers=fields, auth=AUTH)
    assert front.status_code == 307
    assert f":{server.be_http_port}/" in front.headers["Location"]
    answer: dict[str, Any] = httpx.put(
        front.headers["Location"], content=body, headers=fields, auth=AUTH
    ).json()
    return answer


def test_csv(server: StandIn, daily: Client) -> None:
    answer = put(server, daily, "2024-01-01\t1\ta\n2024-01-02\t2\t\\N\n", label="one")
    assert (answer["Status"], answer["Message"], answer["Label"]) == ("Success", "OK", "one")
    assert (answer["NumberTotalRows"], answer["NumberLoadedRows"], answer["NumberFilteredRows"]) == (2, 2, 0)
    assert (answer["Db"], answer["Table"], answer["LoadBytes"]) == (daily.value("SELECT DATABASE()"), "t", 31)
    assert daily("SELECT id, v FROM t ORDER BY id") == [(1, "a"), (2, None)]
    again = put(server, daily, "2024-01-01\t9\ta\n", label="one")
    assert (again["Status"], again["ExistingJobStatus"]) == ("Label Already Exists", "FINISHED")
    assert again["Message"] == "Label [one] has already been used."
    assert daily.value("SELECT count(*) FROM t") == 2


def test_headers(server: StandIn, daily: Client) -> None:
    answer = put(
        server,
        daily,
        'skipped\n2024-01-01|"a|b"|3\n2024-01-01|x|4\n',
        format="csv",
        columns="dt, name, n, id = n * 10, v = upper(name)",
        column_separator="|",
        skip_header="1",
        enclose='"',
        where="n = 3",
        partitions="p20240101",
    )
    assert (answer["Status"], answer["NumberUnselectedRows"]) == ("Success", 1), answer
    assert daily("SELECT id, v FROM t") == [(30, "A|B")]


def test_json(server: StandIn, daily: Client) -> None:
    rows = [{"v": 'ü\n"', "dt": "2024-01-01", "id": 1, "more": {"x": 1}}, {"dt": "2024-01-02", "id": 2}]
    answer = put(server, daily, json.dumps(rows), format="json", strip_outer_array="true")
    assert answer["Status"] == "Success", answer
    lines = "\n".join(json.dumps(row) for row in rows)
    assert put(server, daily, lines, format="json")["NumberLoadedRows"] == 2
    assert daily("SELECT id, v FROM t ORDER BY id, v") == [(1, 'ü\n"'), (1, 'ü\n"'), (2, None), (2, None)]
    refused = put(server, daily, json.dumps(rows), format="json")
    assert (refused["Status"], "strip_outer_array" in refused["Message"]) == ("Fail", True)


def test_temporary_partitions(server: StandIn, daily: Client) -> None:
    daily(
        "ALTER TABLE t ADD TEMPORARY PARTITIONS START('2024-01-01') END('2024-01-03') EVERY(INTERVAL 1 DAY)"
    )
    answer = put(
        server, daily, "2024-01-01\t1\ta\n2024-01-02\t2\tb\n", temporary_partitions="tp20240101,tp20240102"
    )
    assert answer["NumberLoadedRows"] == 2, answer
    assert daily("SELECT * FROM t") == []
    daily(
        "ALTER TABLE t REPLACE PARTITION (p20240101, p20240102) WITH TEMPORARY PARTITION (tp20240101, tp20240102)"
    )
    assert daily("SELECT id FROM t ORDER BY id") == [(1,), (2,)]


FAILURES: dict[str, tuple[str, str, dict[str, str], str]] = {
    "unknown table": ("nowhere", "1\n", {}, "Unknown table"),
    "unknown partition": ("t", "2024-01-01\t1\ta\n", {"partitions": "px"}, "Unknown partition 'px'"),
    "bad rows": ("t", "2024-01-01\t1\ta\n2024-01-01\t1\n", {}, "too many filtered rows"),
    "outside": ("t", "2025-01-01\t1\ta\n", {}, "too many filtered rows"),
    "bad label": ("t", "2024-01-01\t1\ta\n", {"label": "no label"}, "Label format error"),
    "bad json": ("t", "{", {"format": "json"}, "Failed to parse json"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_failures(server: StandIn, daily: Client, name: str) -> None:
    table, body, headers, message = FAILURES[name]
    answer = put(server, daily, body, table, **headers)
    assert (answer["Status"], message in answer["Message"]) == ("Fail", True), answer
    assert answer["NumberLoadedRows"] == 0
    assert daily("SELECT * FROM t") == []


def test_unknown_database(server: StandIn, daily: Client) -> None:
    url = f"http://127.0.0.1:{server.be_http_port}/api/nodb/t/_stream_load"
    answer = httpx.put(url, content="1", headers={"Expect": "100-continue"}, auth=AUTH).json()
    assert (answer["Status"], "Unknown database 'nodb'" in answer["Message"]) == ("Fail", True)


def test_filter_ratio(server: StandIn, daily: Client) -> None:
    answer = put(server, daily, "2024-01-01\t1\ta\n2025-01-01\t1\ta\n", max_filter_ratio="0.5")
    assert (answer["Status"], answer["NumberLoadedRows"], answer["NumberFilteredRows"]) == ("Success", 1, 1)


def test_authorization_and_100_continue(server: StandIn) -> None:
    for port in (server.http_port, server.be_http_port):
        url = f"http://127.0.0.1:{port}/api/d/t/_stream_load"
        wait = {"Expect": "100-continue"}
        assert httpx.put(url, content="1", headers=wait).status_code == 401
        assert httpx.put(url, content="1", headers=wait, auth=("root", "wrong")).status_code == 401
        assert "There is no 100-continue header" in httpx.put(url, content="1", auth=AUTH).text
        assert httpx.get(f"http://127.0.0.1:{port}/api/health").json()["status"] == "OK"
        assert httpx.get(f"http://127.0.0.1:{port}/nothing").status_code == 404


def test_load_state(server: StandIn, daily: Client) -> None:
    put(server, daily, "2024-01-01\t1\ta\n", label="done")
    put(server, daily, "2025-01-01\t1\ta\n", label="failed")
    url = f"http://127.0.0.1:{server.http_port}/api/{daily.value('SELECT DATABASE()')}/get_load_state"
    states = [
        httpx.get(url, params={"label": label}, auth=AUTH).json()["state"]
        for label in ("done", "failed", "no")
    ]
    assert states == ["VISIBLE", "ABORTED", "UNKNOWN"]


def test_faults(server: StandIn, daily: Client) -> None:
    table = daily.value("SELECT DATABASE()") + ".t"
    daily(f"ADMIN ENABLE FAILPOINT 'drop_after_commit@{table}' WITH 1 TIMES")
    with pytest.raises(httpx.RemoteProtocolError):
        put(server, daily, "2024-01-01\t1\ta\n", label="cut")
    assert put(server, daily, "2024-01-01\t1\ta\n", label="cut")["Status"] == "Label Already Exists"
    daily(f"ADMIN ENABLE FAILPOINT 'stay_committed:0.1@{table}' WITH 1 TIMES")
    assert put(server, daily, "2024-01-02\t1\ta\n")["Status"] == "Publish Timeout"
