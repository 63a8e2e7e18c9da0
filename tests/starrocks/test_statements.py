"""The text of every statement, without a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from sr_assets.errors import DeclarationError
from sr_assets.starrocks.analyze import analyze
from sr_assets.starrocks.broker_load import FileGroup, broker_load_statement
from sr_assets.starrocks.files import files_table
from sr_assets.starrocks.labels import insert_rows, make_label
from sr_assets.starrocks.overwrite import overwrite, overwrite_statement
from sr_assets.starrocks.partitions import drop_temporary, replace_partitions
from sr_assets.starrocks.session import Session
from sr_assets.starrocks.tables import Column, PartitionSpec, TableSpec, create_table, type_family


class Recorder(Session):
    """A session that keeps what it is given to execute, and says to be of some version."""

    def __init__(self, version: tuple[int, int, int] = (4, 0, 0)) -> None:
        super().__init__(lambda: pytest.fail("this test must not connect"))
        self._version = version
        self.sent: list[str] = []

    def execute(self, sql: str, params: Sequence[object] | None = None) -> int:
        self.sent.append(sql)
        return 0

    def query(self, sql: str, params: Sequence[object] | None = None) -> list[tuple[Any, ...]]:
        assert sql == "SELECT @@query_timeout"
        return [(300,)]


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


OVERWRITES = [
    (
        {"partitions": ["p1", "p2"], "timeout": 7200},
        ["PARTITION (`p1`, `p2`)", "WITH LABEL `l-1`", "(`a`, `b`)", 'PROPERTIES ("timeout"="7200")'],
    ),
    ({"partitions": None, "timeout": None}, ["WITH LABEL `l-1`", "(`a`, `b`)"]),
]


@pytest.mark.parametrize(("arguments", "clauses"), OVERWRITES)
def test_overwrite_statement(arguments: dict[str, Any], clauses: list[str]) -> None:
    select = "WITH x AS (SELECT '%' AS c) SELECT c, 1 FROM x -- done"
    text = overwrite_statement("d.t", columns=["a", "b"], select=select, label="l-1", **arguments)
    assert lines(text) == ["INSERT OVERWRITE `d`.`t`", *clauses, select]


@pytest.mark.parametrize(
    ("version", "sent"),
    [
        (
            (3, 3, 17),
            [
                "SET query_timeout = 900",
                "INSERT OVERWRITE `d`.`t`\nPARTITION (`p`)\nWITH LABEL `l`\n(`a`)\nSELECT 1",
                "SET query_timeout = 300",
            ],
        ),
        (
            (3, 4, 0),
            [
                "INSERT OVERWRITE `d`.`t`\nPARTITION (`p`)\nWITH LABEL `l`\n(`a`)\n"
                'PROPERTIES ("timeout"="900")\nSELECT 1'
            ],
        ),
    ],
)
def test_the_timeout_takes_the_form_of_the_version(version: tuple[int, int, int], sent: list[str]) -> None:
    session = Recorder(version)
    overwrite(session, "d.t", partitions=["p"], columns=["a"], select="SELECT 1", label="l", timeout=900)
    # a fake session has no connection that could be lost: the old value is put back
    assert session.sent == sent


@pytest.mark.parametrize(
    "arguments", [{"partitions": [], "columns": ["a"]}, {"partitions": ["p"], "columns": []}]
)
def test_overwrite_of_nothing_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(DeclarationError, match=r"No (partition|column) of d\.t"):
        overwrite_statement("d.t", select="SELECT 1", label="l", timeout=1, **arguments)


@pytest.mark.parametrize(
    ("version", "partitions", "sent"),
    [
        ((3, 5, 0), ["p1", "p2"], "ANALYZE TABLE `d`.`t` PARTITION (`p1`, `p2`) WITH ASYNC MODE"),
        ((3, 4, 9), ["p1"], "ANALYZE TABLE `d`.`t` WITH ASYNC MODE"),
        ((4, 0, 0), None, "ANALYZE TABLE `d`.`t` WITH ASYNC MODE"),
    ],
)
def test_analyze(version: tuple[int, int, int], partitions: list[str] | None, sent: str) -> None:
    session = Recorder(version)
    analyze(session, "d.t", partitions)
    assert session.sent == [sent]


def test_swap_statements() -> None:
    session = Recorder()
    drop_temporary(session, "d.t", ["tp1", "tp2"])
    replace_partitions(session, "d.t", {"p1": "tp1", "p2": "tp2"})
    assert session.sent == [
        "ALTER TABLE `d`.`t` DROP TEMPORARY PARTITION IF EXISTS `tp1`",
        "ALTER TABLE `d`.`t` DROP TEMPORARY PARTITION IF EXISTS `tp2`",
        "ALTER TABLE `d`.`t` REPLACE PARTITION (`p1`, `p2`) WITH TEMPORARY PARTITION (`tp1`, `tp2`) "
        'PROPERTIES ("strict_range"="true", "use_temp_partition_name"="false")',
    ]
    with pytest.raises(DeclarationError):
        replace_partitions(session, "d.t", {})


def test_rows_are_cut_into_statements_only_without_a_label(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sr_assets.starrocks.labels.CHUNK_BYTES", 10)
    rows = [[1, "aa"], [2, "bb"], [3, "cc"]]
    plain, labelled = Recorder(), Recorder()
    insert_rows(plain, "d.t", ["k", "v"], rows)
    insert_rows(labelled, "d.t", ["k", "v"], rows, label="l")
    insert_rows(labelled, "d.t", ["k", "v"], [], label="unused")
    assert plain.sent == [f"INSERT INTO `d`.`t` (`k`, `v`) VALUES ({k}, '{v}')" for k, v in rows]
    assert labelled.sent == [
        "INSERT INTO `d`.`t` WITH LABEL `l` (`k`, `v`) VALUES (1, 'aa'), (2, 'bb'), (3, 'cc')"
    ]


def test_broker_load_statement() -> None:
    csv = FileGroup(
        paths=("s3://b/dt=2024-01-01/*.csv", 's3://b/"odd"'),
        format="csv",
        partitions=("p20240101",),
        columns=("a", "raw"),
        columns_from_path=("dt",),
        set={"b": "upper(raw)"},
        where="a > 0",
        column_separator=",",
        row_delimiter="\n",
        skip_header=1,
        trim_space=True,
        enclose='"',
        escape="\\",
    )
    parquet = FileGroup(paths=("s3://b/x.parquet",), format="parquet", temporary_partitions=("tp",))
    text = broker_load_statement(
        "d.t", [csv, parquet], label="l", properties={"timeout": 60}, broker={"aws.s3.region": "eu"}
    )
    assert lines(text) == [
        "LOAD LABEL `d`.`l` (",
        r'DATA INFILE ("s3://b/dt=2024-01-01/*.csv", "s3://b/\"odd\"")',
        "INTO TABLE `t`",
        "PARTITION (`p20240101`)",
        'COLUMNS TERMINATED BY ","',
        r'ROWS TERMINATED BY "\n"',
        'FORMAT AS "csv"',
        r'(skip_header = 1 trim_space = TRUE enclose = "\"" escape = "\\")',
        "(`a`, `raw`)",
        "COLUMNS FROM PATH AS (`dt`)",
        "SET (`b` = upper(raw))",
        "WHERE a > 0,",
        'DATA INFILE ("s3://b/x.parquet")',
        "INTO TABLE `t`",
        "TEMPORARY PARTITION (`tp`)",
        'FORMAT AS "parquet"',
        ")",
        'WITH BROKER ("aws.s3.region"="eu")',
        'PROPERTIES ("timeout"="60")',
    ]


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ([], "No file"),
        ([FileGroup(paths=(), format="csv")], "No file"),
        ([FileGroup(("f",), "csv", partitions=("p",), temporary_partitions=("t",))], "choose one"),
    ],
)
def test_broker_load_refuses(files: list[FileGroup], problem: str) -> None:
    with pytest.raises(DeclarationError, match=problem):
        broker_load_statement("d.t", files, label="l", properties={}, broker={})


def test_files_table() -> None:
    assert files_table("s3://b/*.csv", "csv", {"csv.skip_header": 1}, {"aws.s3.region": "eu"}) == (
        'FILES("path"="s3://b/*.csv", "format"="csv", "csv.skip_header"="1", "aws.s3.region"="eu")'
    )


DAILY = PartitionSpec("dt", "range")
DT, ID, NAME = Column("dt", "DATE", nullable=False), Column("id", "BIGINT"), Column("name", "VARCHAR(20)")

TABLES = [
    (
        TableSpec(
            "d.t",
            (DT, ID, Column("name", "VARCHAR(20)", comment="who's", default="x")),
            key=("dt",),
            partition=DAILY,
            distributed_by=("id",),
            buckets=4,
            properties={"replication_num": "1"},
            comment="all of them",
        ),
        [
            "`dt` DATE NOT NULL,",
            "`id` BIGINT NULL,",
            '`name` VARCHAR(20) NULL DEFAULT "x" COMMENT "who\\\'s"',
            ")",
            "DUPLICATE KEY (`dt`)",
            'COMMENT "all of them"',
            "PARTITION BY RANGE (`dt`) ()",
            "DISTRIBUTED BY HASH (`id`) BUCKETS 4",
            'PROPERTIES ("replication_num"="1")',
        ],
    ),
    (
        TableSpec("d.t", (DT, ID, NAME), "primary", ("dt", "id"), DAILY),
        [
            "`dt` DATE NOT NULL,",
            "`id` BIGINT NOT NULL,",
            "`name` VARCHAR(20) NULL",
            ")",
            "PRIMARY KEY (`dt`, `id`)",
            "PARTITION BY RANGE (`dt`) ()",
            "DISTRIBUTED BY HASH (`dt`, `id`)",
        ],
    ),
    (
        TableSpec("d.t", (ID, NAME), partition=PartitionSpec("name", "list")),
        [
            "`id` BIGINT NULL,",
            "`name` VARCHAR(20) NULL",
            ")",
            "PARTITION BY LIST (`name`) ()",
            "DISTRIBUTED BY RANDOM",
        ],
    ),
]


@pytest.mark.parametrize(("spec", "expected"), TABLES)
def test_create_table(spec: TableSpec, expected: list[str]) -> None:
    assert lines(create_table(spec)) == ["CREATE TABLE IF NOT EXISTS `d`.`t` (", *expected]


BAD_TABLES = [
    (TableSpec("d.t", ()), "no column"),
    (TableSpec("d.t", (ID, ID)), "one name"),
    (TableSpec("d.t", (ID, DT), key=("dt",)), "must come first"),
    (TableSpec("d.t", (ID,), key=("nix",)), "key column 'nix' is not a column"),
    (TableSpec("d.t", (ID,), partition=DAILY), "partition column 'dt' is not a column"),
    (TableSpec("d.t", (ID,), distributed_by=("nix",)), "distribution column 'nix' is not a column"),
    (TableSpec("d.t", (ID,), "primary"), "needs key columns"),
    (TableSpec("d.t", (ID, DT), "primary", ("id",), DAILY), "must be part of the primary key"),
    (TableSpec("d.t", (ID, DT), "primary", ("id",), distributed_by=("dt",)), "must be part of the key"),
    (TableSpec("d.t", (Column("a", "INT; DROP TABLE x"),)), "is not a type"),
    (TableSpec("t", (ID,)), "not a table name"),
]


@pytest.mark.parametrize(("spec", "problem"), BAD_TABLES, ids=[problem for _, problem in BAD_TABLES])
def test_create_table_refuses(spec: TableSpec, problem: str) -> None:
    with pytest.raises(DeclarationError, match=problem):
        create_table(spec)


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("bigint(20)", "integer"),
        ("tinyint(1)", "integer"),
        ("BOOLEAN", "integer"),
        ("varchar(65533)", "string"),
        ("STRING", "string"),
        ("decimal64(18, 2)", "decimal"),
        ("DOUBLE", "float"),
        ("date", "date"),
        ("datetime", "datetime"),
        ("array<int(11)>", "array"),
        ("json", "json"),
    ],
)
def test_type_family(name: str, family: str) -> None:
    assert type_family(name) == family


def test_labels_stay_readable_and_apart() -> None:
    assert make_label("load", "sales", 3) == "load_sales_3"
    odd, other = make_label("a.b", "2024-01-01T05"), make_label("a_b", "2024-01-01T05")
    assert other == "a_b_2024-01-01T05"
    assert odd.startswith("a_b_2024-01-01T05_") and odd == make_label("a.b", "2024-01-01T05")
    long, longer = make_label("x" * 200), make_label("x" * 201)
    assert len(long) == len(longer) == 128 and long != longer
    assert make_label("größe").isascii()
    assert 0 < len(make_label("")) <= 128
