"""Tables, overwrites, labels and loads over the wire."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sr_assets.errors import ConnectFailed, DeclarationError, StarRocksError
from sr_assets.starrocks.analyze import analyze
from sr_assets.starrocks.broker_load import FileGroup, broker_load, broker_load_statement, cancel_load
from sr_assets.starrocks.catalog import load_endpoint, read_partitions
from sr_assets.starrocks.labels import LabelState, LabelUsed, insert_rows, label_state
from sr_assets.starrocks.overwrite import overwrite
from sr_assets.starrocks.partitions import (
    PartitionTarget,
    add_temporary,
    ensure_partitions,
    replace_partitions,
)
from sr_assets.starrocks.session import HttpEndpoint, Session
from sr_assets.starrocks.stream_load import stream_load
from sr_assets.starrocks.tables import Column, PartitionSpec, TableSpec, ensure_table

DAYS = [
    PartitionTarget("p20240101", "2024-01-01", "2024-01-02"),
    PartitionTarget("p20240102", "2024-01-02", "2024-01-03"),
]


def spec(database: str, **changes: Any) -> TableSpec:
    fields: dict[str, Any] = {
        "columns": (Column("dt", "DATE", nullable=False), Column("n", "INT", comment="how many")),
        "key": ("dt",),
        "partition": PartitionSpec("dt", "range"),
        "distributed_by": ("dt",),
        "buckets": 1,
        "properties": {"replication_num": "1"},
    }
    return TableSpec(f"{database}.sales", **(fields | changes))


@pytest.fixture
def sales(session: Session, database: str) -> str:
    assert ensure_table(session, spec(database))
    ensure_partitions(session, f"{database}.sales", DAYS, ())
    return f"{database}.sales"


def rows(session: Session, table: str) -> list[tuple[str, int]]:
    return [(str(dt), n) for dt, n in session.query(f"SELECT dt, n FROM {table} ORDER BY dt, n")]


def prints(session: Session, table: str) -> dict[str, int]:
    return {part.name: part.fingerprint for part in read_partitions(session, [table])[table]}


# ---- tables ----


def test_ensure_table_creates_once_with_its_database(session: Session, database: str) -> None:
    session.execute(f"DROP DATABASE {database} FORCE")
    assert ensure_table(session, spec(database)) is True
    assert ensure_table(session, spec(database)) is False


DIFFERENCES = [
    ({"columns": (Column("dt", "DATE"), Column("m", "INT"))}, "column 'm' is not there"),
    (
        {"columns": (Column("dt", "DATE"), Column("n", "VARCHAR(9)"))},
        r"column 'n' is int.*, declared VARCHAR\(9\)",
    ),
    ({"partition": None}, "partitioned by dt, declared without"),
    ({"key_model": "primary"}, "key model is DUP_KEYS, declared primary"),
]


@pytest.mark.parametrize(("changes", "message"), DIFFERENCES, ids=[message for _, message in DIFFERENCES])
def test_ensure_table_names_the_difference(
    session: Session, database: str, sales: str, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(DeclarationError, match=message):
        ensure_table(session, spec(database, **changes))


def test_types_of_one_family_are_no_difference(session: Session, database: str, sales: str) -> None:
    wider = (Column("dt", "DATE"), Column("n", "BIGINT"))
    assert ensure_table(session, spec(database, columns=wider)) is False


def test_a_primary_key_table_is_created(session: Session, database: str) -> None:
    primary = spec(database, key_model="primary", key=("dt", "n"), distributed_by=())
    assert ensure_table(session, primary)
    ensure_partitions(session, f"{database}.sales", DAYS, ())
    insert_rows(session, f"{database}.sales", ["dt", "n"], [("2024-01-01", 1), ("2024-01-01", 1)])
    assert rows(session, f"{database}.sales") == [("2024-01-01", 1)]


# ---- overwrite and labels ----


def test_an_overwrite_replaces_the_named_partitions_only(session: Session, database: str, sales: str) -> None:
    insert_rows(session, sales, ["dt", "n"], [("2024-01-01", 1), ("2024-01-02", 2)])
    before = prints(session, sales)
    overwrite(
        session,
        sales,
        partitions=["p20240101"],
        columns=["n", "dt"],
        select="WITH x AS (SELECT 7 AS n) SELECT n, DATE '2024-01-01' FROM x",
        label="over-1",
        timeout=60,
    )
    assert rows(session, sales) == [("2024-01-01", 7), ("2024-01-02", 2)]
    after = prints(session, sales)
    assert after["p20240101"] != before["p20240101"]
    assert after["p20240102"] == before["p20240102"]
    assert label_state(session, database, "over-1").state is LabelState.FINISHED


def test_an_empty_result_empties_the_partition(session: Session, sales: str) -> None:
    insert_rows(session, sales, ["dt", "n"], [("2024-01-01", 1)])
    select = f"SELECT dt, n FROM {sales} WHERE n > 100"
    overwrite(
        session,
        sales,
        partitions=["p20240101"],
        columns=["dt", "n"],
        select=select,
        label="empty",
        timeout=60,
    )
    assert rows(session, sales) == []


REFUSED = [
    ("SELECT '2024-01-05', 1", ["p20240101"], "(?i)filtered|partition"),
    ("SELECT '2024-01-01', 1", ["absent"], "absent"),
    ("SELECT '2024-01-01', nix", ["p20240101"], "nix"),
]


@pytest.mark.parametrize(("select", "partitions", "message"), REFUSED)
def test_a_refused_overwrite_changes_nothing(
    session: Session, sales: str, select: str, partitions: list[str], message: str
) -> None:
    insert_rows(session, sales, ["dt", "n"], [("2024-01-01", 1)])
    before = prints(session, sales)
    with pytest.raises(StarRocksError, match=message) as caught:
        overwrite(
            session, sales, partitions=partitions, columns=["dt", "n"], select=select, label="bad", timeout=60
        )
    assert not caught.value.transient
    assert prints(session, sales) == before


def test_a_used_label_is_told(session: Session, database: str, sales: str) -> None:
    insert_rows(session, sales, ["dt", "n"], [("2024-01-01", 1)], label="once")
    with pytest.raises(LabelUsed):
        insert_rows(session, sales, ["dt", "n"], [("2024-01-01", 2)], label="once")
    with pytest.raises(LabelUsed):
        overwrite(
            session,
            sales,
            partitions=["p20240101"],
            columns=["dt", "n"],
            select="SELECT '2024-01-01', 3",
            label="once",
            timeout=60,
        )
    assert rows(session, sales) == [("2024-01-01", 1)]
    assert label_state(session, database, "once").state is LabelState.FINISHED
    assert label_state(session, database, "never").state is LabelState.UNKNOWN


def test_only_an_unpartitioned_table_is_overwritten_as_a_whole(
    session: Session, database: str, sales: str
) -> None:
    arguments: dict[str, Any] = {"partitions": None, "columns": ["dt", "n"], "label": "whole", "timeout": 60}
    with pytest.raises(DeclarationError, match="would empty the others"):
        overwrite(session, sales, select="SELECT '2024-01-01', 1", **arguments)
    ensure_table(
        session, TableSpec(f"{database}.plain", spec(database).columns, properties={"replication_num": "1"})
    )
    insert_rows(session, f"{database}.plain", ["dt", "n"], [("2024-01-01", 1)])
    overwrite(session, f"{database}.plain", select="SELECT '2024-01-01', 2", **arguments)
    assert rows(session, f"{database}.plain") == [("2024-01-01", 2)]


def test_analyze_returns(session: Session, sales: str) -> None:
    analyze(session, sales, ["p20240101"])
    analyze(session, sales)


# ---- Broker Load ----


@pytest.fixture
def bucket(server: Any) -> Path:
    if server.storage is None:
        pytest.skip("needs files that the server can read")
    folder = Path(server.storage) / "lake"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def csv_files(bucket: Path, name: str, text: str, **options: Any) -> list[FileGroup]:
    (bucket / name).write_text(text)
    fields: dict[str, Any] = {"columns": ("dt", "n"), "column_separator": ",", "skip_header": 1}
    return [FileGroup(paths=(f"s3://lake/{name}",), format="csv", **(fields | options))]


def load(session: Session, table: str, files: list[FileGroup], label: str, **options: Any) -> Any:
    settings: dict[str, Any] = {"properties": {"timeout": 60}, "deadline": 20, "poll": 0.02}
    return broker_load(session, table=table, files=files, label=label, broker={}, **(settings | options))


def test_broker_load(session: Session, database: str, sales: str, bucket: Path) -> None:
    files = csv_files(bucket, "a.csv", "dt,n\n2024-01-01,1\n2024-01-02,2\n")
    told: list[str] = []
    result = load(session, sales, files, "load-a", progress=told.append)
    assert (result.rows, result.filtered, result.visible) == (2, 0, True)
    assert rows(session, sales) == [("2024-01-01", 1), ("2024-01-02", 2)]
    assert told[-1].startswith("FINISHED")
    assert len(told) == len(set(told))
    assert label_state(session, database, "load-a").rows == 2
    with pytest.raises(LabelUsed):
        load(session, sales, files, "load-a")
    assert len(rows(session, sales)) == 2


def test_expressions_and_a_partition(session: Session, sales: str, bucket: Path) -> None:
    files = csv_files(
        bucket,
        "b.csv",
        "n\n3\n",
        columns=("raw",),
        set={"dt": "'2024-01-02'", "n": "raw * 2"},
        partitions=("p20240102",),
    )
    load(session, sales, files, "load-b")
    assert rows(session, sales) == [("2024-01-02", 6)]


def test_a_load_is_put_in_place_through_a_temporary_partition(
    session: Session, sales: str, bucket: Path
) -> None:
    insert_rows(session, sales, ["dt", "n"], [("2024-01-01", 1)])
    add_temporary(session, sales, [PartitionTarget("tp", "2024-01-01", "2024-01-02")])
    files = csv_files(bucket, "c.csv", "dt,n\n2024-01-01,9\n", temporary_partitions=("tp",))
    load(session, sales, files, "load-c")
    assert rows(session, sales) == [("2024-01-01", 1)]
    replace_partitions(session, sales, {"p20240101": "tp"})
    assert rows(session, sales) == [("2024-01-01", 9)]


def test_a_running_load_is_adopted(session: Session, sales: str, bucket: Path) -> None:
    files = csv_files(bucket, "d.csv", "dt,n\n2024-01-01,1\n")
    session.execute(broker_load_statement(sales, files, label="load-d", properties={}, broker={}))
    result = load(session, sales, files, "load-d")
    assert result.rows == 1
    assert rows(session, sales) == [("2024-01-01", 1)]


def test_a_cancelled_load_says_why_and_its_label_is_free(
    session: Session, database: str, sales: str, bucket: Path
) -> None:
    files = [
        FileGroup(paths=("s3://lake/absent.csv",), format="csv", columns=("dt", "n"), column_separator=",")
    ]
    with pytest.raises(StarRocksError, match=r"load-e was cancelled: .*(absent|file)"):
        load(session, sales, files, "load-e")
    assert label_state(session, database, "load-e").state is LabelState.CANCELLED
    load(session, sales, csv_files(bucket, "e.csv", "dt,n\n2024-01-01,1\n"), "load-e")
    assert label_state(session, database, "load-e").state is LabelState.FINISHED  # the newest of two counts


def test_cancelling_what_is_not_there(session: Session, database: str) -> None:
    with pytest.raises(StarRocksError, match=r"(?i)not exist"):
        cancel_load(session, database, "never")


# ---- Stream Load ----


@pytest.fixture
def endpoint(session: Session, server: Any) -> HttpEndpoint:
    if server.http is None:
        pytest.skip("needs SR_TEST_HTTP")
    return load_endpoint(session)


CSV = b"2024-01-01,1\n2024-01-02,2\n"
COMMA = {"column_separator": ","}


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (CSV, {"headers": COMMA}),
        (iter([CSV[:5], CSV[5:]]), {"headers": COMMA}),
        (
            json.dumps([{"dt": "2024-01-01", "n": 1}, {"dt": "2024-01-02", "n": 2}]).encode(),
            {"format": "json", "headers": {"strip_outer_array": "true"}},
        ),
    ],
    ids=["bytes", "pieces", "json"],
)
def test_stream_load(
    session: Session, database: str, sales: str, endpoint: HttpEndpoint, data: Any, options: dict[str, Any]
) -> None:
    result = stream_load(endpoint, table=sales, data=data, label="stream-1", columns=["dt", "n"], **options)
    assert (result.label, result.rows, result.filtered, result.visible) == ("stream-1", 2, 0, True)
    assert rows(session, sales) == [("2024-01-01", 1), ("2024-01-02", 2)]


def test_a_stream_goes_into_a_temporary_partition(
    session: Session, sales: str, endpoint: HttpEndpoint
) -> None:
    add_temporary(session, sales, [PartitionTarget("tp", "2024-01-01", "2024-01-02")])
    stream_load(
        endpoint,
        table=sales,
        data=b"2024-01-01,5\n",
        label="stream-t",
        columns=["dt", "n"],
        temporary_partitions=["tp"],
        headers=COMMA,
    )
    assert rows(session, sales) == []
    replace_partitions(session, sales, {"p20240101": "tp"})
    assert rows(session, sales) == [("2024-01-01", 5)]


def test_a_used_label_of_a_stream(session: Session, sales: str, endpoint: HttpEndpoint) -> None:
    arguments: dict[str, Any] = {"table": sales, "data": CSV, "label": "stream-2", "columns": ["dt", "n"]}
    stream_load(endpoint, headers=COMMA, **arguments)
    with pytest.raises(LabelUsed, match=r"stream-2.*finished"):
        stream_load(endpoint, headers=COMMA, **arguments)
    assert len(rows(session, sales)) == 2


def test_refused_rows_fail_the_stream(session: Session, sales: str, endpoint: HttpEndpoint) -> None:
    with pytest.raises(StarRocksError, match="stream-3 failed") as caught:
        stream_load(
            endpoint,
            table=sales,
            data=b"2024-09-09,1\n",
            label="stream-3",
            columns=["dt", "n"],
            partitions=["p20240101"],
            headers=COMMA,
        )
    assert not caught.value.transient
    assert rows(session, sales) == []


def test_a_stream_with_a_wrong_password(sales: str, endpoint: HttpEndpoint) -> None:
    wrong = HttpEndpoint(endpoint.url, endpoint.user, "hush", endpoint.known_hosts)
    with pytest.raises(ConnectFailed, match="Access denied") as caught:
        stream_load(wrong, table=sales, data=CSV, label="stream-4", headers=COMMA)
    assert "hush" not in str(caught.value)


def test_a_stream_to_nobody(closed_port: int) -> None:
    nobody = HttpEndpoint(f"http://127.0.0.1:{closed_port}", "root", "")
    with pytest.raises(ConnectFailed, match=str(closed_port)):
        stream_load(nobody, table="d.t", data=CSV, label="l")


def test_a_header_with_a_line_break_is_refused() -> None:
    with pytest.raises(DeclarationError, match="line break"):
        stream_load(
            HttpEndpoint("http://fe", "root", ""),
            table="d.t",
            data=b"",
            label="l",
            headers={"row_delimiter": "\n"},
        )


# ---- Stream Load against a frontend and a backend that answer as they are told ----


class Scripted(ThreadingHTTPServer):
    """Redirects a PUT with an empty body to `location`, and answers any other with `answer`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), ScriptedHandler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.location = f"http://user:pw@127.0.0.1:{self.server_address[1]}/backend?x=1"
        self.answer: dict[str, object] = {}
        self.received: list[tuple[str, bytes, dict[str, str]]] = []


class ScriptedHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Scripted

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.received.append((self.path, body, dict(self.headers)))
        answer = json.dumps(self.server.answer).encode()
        if self.path.startswith("/api/"):
            self.send_response(307)
            self.send_header("Location", self.server.location)
            answer = b""
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    with Scripted() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def send(scripted: Scripted, **options: Any) -> Any:
    endpoint = HttpEndpoint(scripted.url, "root", "hush")
    return stream_load(endpoint, table="d.t", data=CSV, label="l", **options)


def test_rows_go_to_the_backend_only_and_the_user_to_both(scripted: Scripted) -> None:
    scripted.answer = {"Status": "Success", "NumberLoadedRows": 2}
    send(scripted, timeout=30, columns=["a", "b"], partitions=["p1", "p2"], headers={"x": "ü"})
    (front, empty, _), (back, body, headers) = scripted.received
    assert (front, empty) == ("/api/d/t/_stream_load", b"")
    assert (back, body) == ("/backend?x=1", CSV)
    assert scripted.received[0][2]["Authorization"] == headers["Authorization"]
    expected = {
        "label": "l",
        "timeout": "30",
        "columns": "a, b",
        "partitions": "p1, p2",
        "Expect": "100-continue",
    }
    assert {key: headers[key] for key in expected} == expected


@pytest.mark.parametrize(
    "location", ["http://evil.example/x", "https://127.0.0.2/", "file:///etc/passwd", ""]
)
def test_a_redirect_to_an_unknown_host_is_refused(scripted: Scripted, location: str) -> None:
    scripted.location = location
    with pytest.raises(StarRocksError, match="not a known host"):
        send(scripted)
    assert len(scripted.received) == 1


def test_publish_timeout_is_committed_but_not_visible(scripted: Scripted) -> None:
    scripted.answer = {"Status": "Publish Timeout", "NumberLoadedRows": 2, "NumberFilteredRows": 1}
    result = send(scripted)
    assert (result.rows, result.filtered, result.visible) == (2, 1, False)


FAILURES: list[tuple[dict[str, object], type[StarRocksError], str, bool]] = [
    (
        {"Status": "Label Already Exists", "ExistingJobStatus": "RUNNING", "Message": "…"},
        LabelUsed,
        "which is running",
        False,
    ),
    ({"Status": "Fail", "Message": "Label [l] has already been used."}, LabelUsed, "used", False),
    (
        {"Status": "Fail", "Message": "too many filtered rows", "ErrorURL": "http://be/rows"},
        StarRocksError,
        "too many filtered rows\n.*http://be/rows",
        False,
    ),
    ({"Status": "Fail", "Message": "current running txns on db 1 is 100"}, StarRocksError, "txns", True),
    ({"Status": "Fail", "Message": "Access denied; you need INSERT"}, ConnectFailed, "Access denied", False),
    ({"unexpected": 1}, StarRocksError, "HTTP 200.*unexpected", False),
]


@pytest.mark.parametrize(("answer", "kind", "message", "transient"), FAILURES)
def test_every_status_has_its_error(
    scripted: Scripted, answer: dict[str, object], kind: type[StarRocksError], message: str, transient: bool
) -> None:
    scripted.answer = answer
    with pytest.raises(kind, match=message) as caught:
        send(scripted)
    assert caught.value.transient == transient
