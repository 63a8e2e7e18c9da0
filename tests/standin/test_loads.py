"""Broker Load and FILES(): from files below `s3://` to rows, with states, counts and errors."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.standin.conftest import Client


@pytest.fixture
def bucket(storage_root: Path, request: pytest.FixtureRequest) -> Path:
    """An empty bucket named like the test; `s3://<name>/...` reads it."""
    folder = storage_root / request.node.name.split("[")[0]
    folder.mkdir(exist_ok=True)
    return folder


def write_parquet(file: Path, query: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    duckdb.connect().execute(f"COPY ({query}) TO '{file}' (FORMAT parquet)")


def ended(client: Client, label: str) -> dict[str, Any]:
    """The load job's last row, when it has ended."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        with client.connection.cursor() as cursor:
            cursor.execute(f'SHOW LOAD WHERE LABEL = "{label}" ORDER BY JobId DESC LIMIT 1')
            rows = cursor.fetchall()
            job = (
                dict(zip([column[0] for column in cursor.description], rows[0], strict=True)) if rows else {}
            )
        if job.get("State") in ("FINISHED", "CANCELLED"):
            return job
        time.sleep(0.01)
    raise AssertionError(f"{label} did not end: {job}")


LOAD = 'LOAD LABEL {label} (DATA INFILE("s3://{bucket}/{files}") INTO TABLE t {clauses}) WITH BROKER {tail}'


def load(
    client: Client, bucket: Path, label: str, files: str, clauses: str = "", tail: str = ""
) -> dict[str, Any]:
    client(LOAD.format(label=label, bucket=bucket.name, files=files, clauses=clauses, tail=tail))
    return ended(client, label)


def test_parquet_by_name(daily: Client, bucket: Path) -> None:
    write_parquet(bucket / "a.parquet", "SELECT 'x' AS v, 7 AS id, DATE '2024-01-01' AS dt, 1 AS unused")
    write_parquet(bucket / "b.parquet", "SELECT 'y' AS v, 8 AS id, DATE '2024-01-02' AS dt, 2 AS unused")
    job = load(
        daily,
        bucket,
        "l",
        "*.parquet",
        'FORMAT AS "parquet"',
        '("aws.s3.region" = "x") PROPERTIES("timeout" = "60")',
    )
    assert (job["State"], job["Progress"], job["SinkRows"]) == ("FINISHED", "ETL:100%; LOAD:100%", 2)
    assert (job["Type"], job["Label"], job["ErrorMsg"]) == ("BROKER", "l", "")
    assert daily("SELECT id, v FROM t ORDER BY id") == [(7, "x"), (8, "y")]
    assert [version for _, version, _ in daily.partitions("t").values()].count(2) == 2


def test_csv_with_columns_set_where_and_path(daily: Client, bucket: Path) -> None:
    for day in ("01", "02"):
        (bucket / f"dt=2024-01-{day}").mkdir()
        (bucket / f"dt=2024-01-{day}" / "part.csv").write_text(
            f'id,text,n\n1,"a, b",{day}\n2,\\N,{day}\n3,NA,{day}\n', encoding="utf-8"
        )
    job = load(
        daily,
        bucket,
        "l",
        "dt=*/part.csv",
        'COLUMNS TERMINATED BY "," FORMAT AS "csv" (skip_header = 1 enclose = \'"\') (id, text, n) '
        "COLUMNS FROM PATH AS (dt) SET (v = nullif(text, 'NA'), id = id * 10 + n) WHERE id > 20",
    )
    assert job["State"] == "FINISHED", job["ErrorMsg"]
    assert (job["ScanRows"], job["UnselectedRows"], job["SinkRows"]) == (6, 2, 4)
    assert [(str(dt), id_, v) for dt, id_, v in daily("SELECT * FROM t ORDER BY id")] == [
        ("2024-01-01", 21, None),
        ("2024-01-02", 22, None),
        ("2024-01-01", 31, None),
        ("2024-01-02", 32, None),
    ]


def test_several_files_into_one_label(daily: Client, bucket: Path) -> None:
    daily("CREATE TABLE u (id INT)")
    (bucket / "t.csv").write_text("2024-01-01\t1\ta\n")
    (bucket / "u.csv").write_text("5\n6\n")
    daily(
        f'LOAD LABEL both (DATA INFILE("s3://{bucket.name}/t.csv") INTO TABLE t, '
        f'DATA INFILE("s3a://{bucket.name}/u.csv") INTO TABLE u, '
        f'DATA INFILE("s3://{bucket.name}/t.csv") INTO TABLE t) WITH BROKER'
    )
    assert ended(daily, "both")["State"] == "FINISHED"
    assert (daily.value("SELECT count(*) FROM t"), daily.value("SELECT count(*) FROM u")) == (2, 2)
    assert daily.partitions("t")["p20240101"][1:] == (2, 2)


def test_into_a_temporary_partition(daily: Client, bucket: Path) -> None:
    (bucket / "t.csv").write_text("2024-01-01\t1\ta\n")
    daily("ALTER TABLE t ADD TEMPORARY PARTITION tp VALUES [('2024-01-01'),('2024-01-02'))")
    assert load(daily, bucket, "l", "t.csv", "TEMPORARY PARTITION(tp)")["State"] == "FINISHED"
    assert daily("SELECT id FROM t TEMPORARY PARTITION(tp)") == [(1,)]
    assert daily("SELECT id FROM t") == []


FAILURES: dict[str, tuple[str, str, str]] = {
    "no files": ("nothing*.csv", "", "type:ETL_RUN_FAIL; msg:"),
    "bad rows": ("bad.csv", "", "type:ETL_QUALITY_UNSATISFIED; msg:quality not good enough to cancel"),
    "outside of the partition": ("good.csv", "PARTITION(p20240102)", "type:ETL_QUALITY_UNSATISFIED"),
    "missing column": ("other.parquet", "", "type:LOAD_RUN_FAIL; msg:"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_failed_loads(daily: Client, bucket: Path, name: str) -> None:
    files, clauses, message = FAILURES[name]
    (bucket / "good.csv").write_text("2024-01-01\t1\ta\n")
    (bucket / "bad.csv").write_text("2024-01-01\t1\ta\n2024-01-02\t2\nnonsense\t3\tc\n")
    write_parquet(bucket / "other.parquet", "SELECT 1 AS unknown")
    job = load(daily, bucket, "l", files, clauses)
    assert (job["State"], job["Progress"]) == ("CANCELLED", "ETL:N/A; LOAD:N/A")
    assert job["ErrorMsg"].startswith(message), job["ErrorMsg"]
    assert daily("SELECT * FROM t") == []
    assert load(daily, bucket, "l", "good.csv")["State"] == "FINISHED"


def test_filter_ratio(daily: Client, bucket: Path) -> None:
    (bucket / "bad.csv").write_text("2024-01-01\t1\ta\n2024-01-02\t2\nnonsense\t3\tc\n")
    job = load(daily, bucket, "l", "bad.csv", tail='PROPERTIES("max_filter_ratio" = "0.7")')
    assert (job["State"], job["FilteredRows"], job["SinkRows"]) == ("FINISHED", 2, 1)


def test_states_and_cancel(daily: Client, bucket: Path) -> None:
    (bucket / "t.csv").write_text("2024-01-01\t1\ta\n")
    table = daily.value("SELECT DATABASE()") + ".t"
    daily(f"ADMIN ENABLE FAILPOINT 'hold_load@{table}'")
    daily(LOAD.format(label="l", bucket=bucket.name, files="t.csv", clauses="", tail=""))
    state = "SELECT STATE FROM information_schema.loads WHERE DB_NAME = DATABASE() AND LABEL = 'l'"
    seen = set()
    end = time.monotonic() + 5
    while "LOADING" not in seen and time.monotonic() < end:
        seen.add(daily.value(state))
    assert "LOADING" in seen
    code, text = daily.error(LOAD.format(label="l", bucket=bucket.name, files="t.csv", clauses="", tail=""))
    assert (code, text) == (1064, "Label [l] has already been used.")
    daily('CANCEL LOAD WHERE LABEL = "l"')
    job = ended(daily, "l")
    assert (job["State"], job["ErrorMsg"]) == ("CANCELLED", "type:USER_CANCEL; msg:user cancel")
    assert daily.error('CANCEL LOAD WHERE LABEL = "l"')[0] == 1064
    daily(f"ADMIN DISABLE FAILPOINT 'hold_load@{table}'")
    assert daily("SELECT * FROM t") == []


FAULTS: dict[str, tuple[str, str, str]] = {
    "cancelled with a text": (
        "load_cancel:type:TIMEOUT; msg:loading timeout to cancel",
        "CANCELLED",
        "type:TIMEOUT",
    ),
    "cancelled": ("load_cancel", "CANCELLED", "type:LOAD_RUN_FAIL"),
    "slow": ("slow_load:0.2", "FINISHED", ""),
    "before commit": ("error_before_commit:disk full", "CANCELLED", "type:LOAD_RUN_FAIL; msg:disk full"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults(daily: Client, bucket: Path, name: str) -> None:
    point, state, message = FAULTS[name]
    (bucket / "t.csv").write_text("2024-01-01\t1\ta\n")
    daily(f"ADMIN ENABLE FAILPOINT '{point}@{daily.value('SELECT DATABASE()')}.t' WITH 1 TIMES")
    started = time.monotonic()
    job = load(daily, bucket, "l", "t.csv")
    assert (job["State"], job["ErrorMsg"].startswith(message)) == (state, True), job["ErrorMsg"]
    assert (name != "slow") or time.monotonic() - started >= 0.2
    assert daily.value("SELECT count(*) FROM t") == (1 if state == "FINISHED" else 0)


def test_load_timeout(daily: Client, bucket: Path) -> None:
    (bucket / "t.csv").write_text("2024-01-01\t1\ta\n")
    daily(f"ADMIN ENABLE FAILPOINT 'slow_load:1@{daily.value('SELECT DATABASE()')}.t' WITH 1 TIMES")
    job = load(daily, bucket, "l", "t.csv", tail='PROPERTIES("timeout" = "0")')
    assert (job["State"], job["ErrorMsg"]) == ("CANCELLED", "type:TIMEOUT; msg:loading timeout to cancel")


# FILES()


def test_files_parquet(daily: Client, bucket: Path) -> None:
    write_parquet(bucket / "dt=2024-01-01" / "a.parquet", "SELECT 1 AS id, 'a' AS v")
    daily(
        "INSERT INTO t SELECT dt, id, v FROM FILES("
        f'"path" = "s3://{bucket.name}/*/a.parquet", "format" = "parquet", "columns_from_path" = "dt")'
    )
    assert daily("SELECT id, v FROM t PARTITION(p20240101)") == [(1, "a")]


def test_files_csv(daily: Client, bucket: Path) -> None:
    (bucket / "a.csv").write_text('day,id,name\n2024-01-01,1,"a,b"\n2024-01-02,2,\\N\n')
    daily(
        "INSERT OVERWRITE t SELECT str2date($1, '%Y-%m-%d'), CAST($2 AS BIGINT) * 2, f.$3 FROM FILES("
        f'"path" = "s3://{bucket.name}/a.csv", "format" = "csv", "csv.column_separator" = ",", '
        '"csv.skip_header" = "1", "csv.enclose" = "\\"") f'
    )
    assert daily("SELECT id, v FROM t ORDER BY id") == [(2, "a,b"), (4, None)]


def test_files_listing(db: Client, bucket: Path) -> None:
    (bucket / "a.csv").write_text("1234")
    (bucket / "b.csv").write_text("1")
    rows = db(
        f'SELECT PATH, SIZE, IS_DIR FROM FILES("path" = "s3://{bucket.name}/{{a,b}}.csv", '
        '"list_files_only" = "true") ORDER BY PATH'
    )
    assert rows == [(f"s3://{bucket.name}/a.csv", 4, 0), (f"s3://{bucket.name}/b.csv", 1, 0)]


def test_files_that_are_not_there(db: Client) -> None:
    for path in ("s3://nobucket/x", "s3://../etc/passwd", "file"):
        code, text = db.error(f'SELECT * FROM FILES("path" = "{path}", "format" = "csv")')
        assert (code, text.startswith("Access storage error")) == (1064, True), text
