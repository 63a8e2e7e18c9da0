from __future__ import annotations

import json
import logging
import time
from pathlib import Path

import pytest

from sr_assets.starrocks.log import StatementLog, mask, shorten

MASKED = [
    (
        'FILES("aws.s3.secret_key" = "abc", "path"="s3://b")',
        'FILES("aws.s3.secret_key" = \'***\', "path"="s3://b")',
    ),
    ('("aws.s3.access_key"="AK\\"IA")', "(\"aws.s3.access_key\"='***')"),
    ("('fs.s3a.secret.key'='x''y')", "('fs.s3a.secret.key'='***')"),
    ('("azure.blob.sas_token"="sv=2;sig=z")', "(\"azure.blob.sas_token\"='***')"),
    ('("hadoop.kerberos.PASSWORD" =\n"p w")', "(\"hadoop.kerberos.PASSWORD\" =\n'***')"),
    (
        '("fs.s3a.access.key"="x", "fs.oss.accessKeyId"="y")',
        "(\"fs.s3a.access.key\"='***', \"fs.oss.accessKeyId\"='***')",
    ),
    ('("gcp.gcs.service_account_private_key"="x")', "(\"gcp.gcs.service_account_private_key\"='***')"),
    ("CREATE USER u IDENTIFIED BY 'pw'", "CREATE USER u IDENTIFIED BY '***'"),
    ("SET PASSWORD = PASSWORD('pw')", "SET PASSWORD = PASSWORD('***')"),
    ("starrocks://root:pw@host:9030/db", "starrocks://root:***@host:9030/db"),
    ('syntax error near ("aws.s3.secret_key"="abc', "syntax error near (\"aws.s3.secret_key\"='***'"),
    ("SELECT token, secret FROM t WHERE a = 'b'", "SELECT token, secret FROM t WHERE a = 'b'"),
    ('PROPERTIES ("timeout"="7200")', 'PROPERTIES ("timeout"="7200")'),
]


@pytest.mark.parametrize(("sql", "masked"), MASKED)
def test_mask(sql: str, masked: str) -> None:
    assert mask(sql) == masked


def test_lines_of_the_file_hold_context_and_no_secret(tmp_path: Path) -> None:
    log = StatementLog(tmp_path / "statements.jsonl").bind(asset="sales.orders").bind(run="r1")
    log.write('SELECT "password"="hush"', seconds=0.5, outcome="ok", rows=3)
    log.write("SELECT 2", seconds=0.1, outcome="Unknown table")
    first, second = map(json.loads, (tmp_path / "statements.jsonl").read_text().splitlines())
    assert {key: first[key] for key in ("asset", "run", "outcome", "rows", "seconds", "statement")} == {
        "asset": "sales.orders",
        "run": "r1",
        "outcome": "ok",
        "rows": 3,
        "seconds": 0.5,
        "statement": "SELECT \"password\"='***'",
    }
    assert second["outcome"] == "Unknown table"


def test_a_log_that_cannot_be_written_warns(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        StatementLog(tmp_path / "no" / "such" / "folder").write("SELECT 1", seconds=0, outcome="ok")
    assert "cannot be written" in caplog.text


def test_shorten_keeps_both_ends() -> None:
    assert shorten("short", 10) == "short"
    assert shorten("a" * 50 + "z" * 50, 20) == "a" * 10 + " … 80 characters … " + "z" * 10


def test_masking_takes_linear_time() -> None:
    began = time.process_time()
    mask("INSERT INTO t VALUES ('" + "secret" * 100_000 + "')")
    mask("INSERT INTO t VALUES ('" + "a" * 1_000_000 + "')")
    assert time.process_time() - began < 5.0
