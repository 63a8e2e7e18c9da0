"""Wrong declarations: each gives an error that names the asset, the file and what to do, and harms no other asset."""

from __future__ import annotations

from pathlib import Path

import pytest

from sr_assets.project import load_project

GOOD = """
from sr_assets import Column, Daily, Grain, Hourly, Static, broker_load, files_load, not_null, reads, source, stream_load, table

DT = Column("dt", "DATE")
DAYS = Daily("dt", start="2024-01-01")
orders = broker_load("s.orders", path="s3://b/dt={{ partition.key }}/*.parquet", format="parquet",
                     partitions=DAYS, columns=[DT, Column("id", "BIGINT"), Column("amount", "DOUBLE")])
daily = table("s.daily", partitions=DAYS, columns=[DT, Column("amount", "DOUBLE")],
    sql="SELECT dt, SUM(amount) AS amount FROM s.orders WHERE dt = '{{ partition.start }}' GROUP BY dt")
"""

# name, declaration added to the good ones, asset with the problem, words of the message
WRONG = [
    ("syntax", 'bad = table("s.bad", sql="SELECT amount FROM s.orders WHERE (dt = 1")', "s.bad", ["(dt = 1", "^"]),
    ("unknown table", 'bad = table("s.bad", sql="SELECT 1 AS a FROM s.order")', "s.bad",
     ["reads s.order, which is not declared; did you mean s.orders?"]),
    ("unknown column", 'bad = table("s.bad", sql="SELECT amonut FROM s.orders")', "s.bad", ["amonut", "amount", "^"]),
    ("cycle", '''
a = table("s.a", sql="SELECT 1 AS x FROM s.b")
b = table("s.b", sql="SELECT 1 AS x FROM s.a")
''', "s.a", ["circle", "s.a → s.b → s.a"]),
    ("reader of broken", '''
a = table("s.a", sql="SELECT nope FROM s.orders")
b = table("s.b", sql="SELECT 1 AS x FROM s.a")
''', "s.b", ["reads s.a, which has an error"]),
    ("partition column not in output",
     'bad = table("s.bad", partitions=DAYS, sql="SELECT amount FROM s.orders WHERE dt = \'{{ partition.start }}\'")',
     "s.bad", ["partition column dt is missing from the query's output (amount)", "CAST('{{ partition.start }}' AS DATE) AS dt"]),
    ("path without the key",
     'bad = broker_load("s.bad", path="s3://b/all.csv", format="csv", partitions=DAYS, columns=[DT])',
     "s.bad", ["path s3://b/all.csv is the same for every partition", "{{ partition.key }}"]),
    ("one name twice", 'bad = table("s.daily", sql="SELECT 1 AS a")', "s.daily", ["2 assets have this name", "good.py", "bad.py:"]),
    ("undefined variable", 'bad = table("s.bad", sql="SELECT amount FROM s.orders WHERE dt = \'{{ partition.strat }}\'", partitions=DAYS)',
     "s.bad", ["strat"]),
    ("missing file", 'bad = table("s.bad", sql="nowhere.sql")', "s.bad", ["SQL file cannot be read", "nowhere.sql"]),
    ("not a name", 'bad = table("bad", sql="SELECT 1 AS a")', "bad", ["'bad' is not a table name", "database.table"]),
    ("wrong start", 'bad = table("s.bad", sql="SELECT 1 AS dt", partitions=Daily("dt", start="2024-02-30"))', "s.bad", ["2024-02-30"]),
    ("column type", 'bad = source("s.bad", partitions=Hourly("dt", start="2024-01-01"), columns=[DT])', "s.bad",
     ["partition column dt is DATE; hour partitions need DATETIME"]),
    ("undeclared output", 'bad = table("s.bad", sql="SELECT id, amount FROM s.orders", columns=[Column("id", "BIGINT")])',
     "s.bad", ["the query gives column amount, which is not declared"]),
    ("declared, not given", 'bad = table("s.bad", sql="SELECT id FROM s.orders", columns=[Column("id", "BIGINT"), Column("x", "INT")])',
     "s.bad", ["declared column x is not in the query's output"]),
    ("self read", 'bad = table("s.bad", partitions=DAYS, sql="SELECT CAST(\'{{ partition.start }}\' AS DATE) AS dt FROM s.bad WHERE dt <= \'{{ partition.start }}\'")',
     "s.bad", ["reads itself or a later partition"]),
    ("not read", 'bad = table("s.bad", sql="SELECT id FROM s.orders", reads=[reads("s.daly")])', "s.bad", ["the SQL does not read s.daly"]),
    ("check column", 'bad = table("s.bad", sql="SELECT id FROM s.orders", columns=[Column("id", "INT")], checks=[not_null("idd")])',
     "s.bad", ["check not_null(idd): column idd is not among the columns; did you mean id?"]),
    ("format", 'bad = broker_load("s.bad", path="{{ partition.key }}", format="xml", partitions=DAYS, columns=[DT])', "s.bad", ["'xml' is none of"]),
    ("unpartitioned load", 'bad = stream_load("s.bad", rows=lambda w: b"", columns=[DT])', "s.bad", ["append", "files_load()"]),
    ("cron", 'bad = table("s.bad", sql="SELECT 1 AS a", schedule="daily")', "s.bad", ["schedule 'daily' is not a cron"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "declaration", "asset", "words"), WRONG, ids=[case[0] for case in WRONG])
def test_wrong_declarations(
    tmp_path: Path, name: str, declaration: str, asset: str, words: list[str]
) -> None:
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "bad.py").write_text(GOOD.partition("orders =")[0] + declaration + "\n")
    project = load_project(tmp_path)
    messages = [str(problem) for problem in project.problems if problem.asset == asset]
    assert messages, project.problems
    for word in words:
        assert any(word in message for message in messages), messages
    assert any("bad.py:" in message for message in messages), messages
    unharmed = {"s.orders", "s.daily"} - ({"s.daily"} if name == "one name twice" else set())
    assert unharmed <= set(project.graph.nodes)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("def broken(:\n", "bad.py:1"),
        ("x = 1\nimport nothing_of_this_name\n", "bad.py:2"),
        ("\n\nraise ValueError('no')\n", "bad.py:3"),
        ("from sr_assets import table\nt = table('s.x')\n", "bad.py:2"),
    ],
)
def test_a_module_that_does_not_load(tmp_path: Path, text: str, where: str) -> None:
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "bad.py").write_text(text)
    project = load_project(tmp_path)
    [problem] = project.problems
    assert problem.where.endswith(where)
    assert set(project.graph.nodes) == {"s.orders", "s.daily"}


def test_good_declarations_have_no_problem(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD)
    project = load_project(tmp_path)
    assert project.problems == ()
    assert project.graph.order == ("s.orders", "s.daily")
    assert project.graph["s.daily"].query.columns == {
        "dt": frozenset({("s.orders", "dt")}),
        "amount": frozenset({("s.orders", "amount")}),
    }


def test_assets_in_containers_and_imports_are_found_once(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "more.py").write_text(
        "from good import orders\nfrom sr_assets import table\n"
        "many = [table(f's.t{n}', sql=f'SELECT {n} AS n') for n in range(3)]\n"
        "named = {'x': table('s.x', sql='SELECT 1 AS n')}\n"
    )
    project = load_project(tmp_path)
    assert project.problems == ()
    assert set(project.graph.nodes) == {"s.orders", "s.daily", "s.t0", "s.t1", "s.t2", "s.x"}
