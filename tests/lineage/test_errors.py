"""Bad texts: every one gives a LineageError that points at the place."""

import random
import string
import time

import pytest

from lineage import LineageError, Query, Window, render
from lineage.calendar import Grain

from .tables import SCHEMA


def parse(sql: str, *, grain: Grain | None = Grain.DAY) -> Query:
    return Query.parse(sql, grain=grain, database="dw", schema=SCHEMA)


def error(sql: str, *, grain: Grain | None = Grain.DAY) -> LineageError:
    with pytest.raises(LineageError) as caught:
        parse(sql, grain=grain)
    return caught.value


# SQL; the line and column; a part of the message; a part of the hint or None.
LOCATED = {
    "missing parenthesis": ("SELECT SUM(amount FROM orders", 1, 19, "syntax error", None),
    "second line": ("SELECT k\nFROM orders\nWHERE k = = 1", 3, 11, "syntax error", None),
    "keyword twice": ("SELECT k FROM orders WHERE WHERE k = 1", 1, 28, "syntax error", None),
    "open text": ("SELECT k FROM orders\nWHERE status = 'paid", 2, 16, "missing closing '", None),
    "open quoted name": ("SELECT `k FROM orders", 1, 8, "missing closing `", None),
    "open comment": ("SELECT k /* FROM orders", 1, 24, "ends inside", None),
    "control character": ("SELECT k\n FROM \x07orders", 2, 7, "control character", None),
    "NUL": ("SELECT k FROM orders WHERE k = '\0'", 1, 33, "control character", None),
    "two statements": ("SELECT k FROM orders;\nSELECT 1", 1, 21, "more than one statement", "own asset"),
    "INSERT": ("INSERT INTO x SELECT k FROM orders", 1, 1, "INSERT is not a query", "SELECT alone"),
    "DROP": ("\n DROP TABLE orders", 2, 1, "DROP is not a query", "SELECT alone"),
    "empty": ("", 1, 1, "empty", None),
    "only a comment": ("-- nothing", 1, 1, "empty", None),
    "unknown column": ("SELECT k, amuont FROM orders", 1, 11, "unknown column amuont in dw.orders", "amount"),
    "unknown column of an alias": (
        "SELECT o.k\nFROM orders o\nJOIN customers c ON c.kk = o.k",
        *(3, 23, "unknown column kk in dw.customers", None),
    ),
    "unknown column of a CTE": (
        "WITH c AS (SELECT k AS customer FROM orders) SELECT custommer FROM c",
        *(1, 53, "unknown column custommer", "customer"),
    ),
    "unknown column in a join": (
        "SELECT o.k, nme FROM orders o JOIN customers c ON c.k = o.k",
        *(1, 13, "unknown column nme", "name"),
    ),
    "unknown column in WHERE": (
        "SELECT k FROM orders WHERE status2 = 1",
        1,
        28,
        "unknown column status2",
        "status",
    ),
    "ambiguous column": (
        "SELECT k FROM orders o JOIN customers c ON c.k = o.k",
        *(1, 8, "ambiguous column k", "dw.customers and of dw.orders"),
    ),
    "variable table": (
        "SELECT k FROM orders_{{ ds_nodash }}",
        1,
        15,
        "must not change with the partition",
        None,
    ),
    "undefined variable": (
        "SELECT k\nFROM orders\nWHERE dt = '{{ dss }}'",
        3,
        13,
        "'dss' is undefined",
        "ds",
    ),
    "undefined attribute": (
        "SELECT '{{ partition.strat }}'",
        1,
        9,
        "partition.strat is not defined",
        "start",
    ),
    "undefined in a condition": (
        "SELECT {% if nope %}1{% endif %}",
        1,
        8,
        "'nope' is undefined",
        "defined are",
    ),
    "template syntax": ("SELECT\n{% if ds %}1", 2, 1, "template:", None),
    "open template tag": ("SELECT '{{ ds '", 1, 9, "template:", None),
    "template filter": ("SELECT '{{ ds | nonsense }}'", 1, 9, "nonsense", None),
    "template arithmetic": ("SELECT\n {{ 1 / 0 }}", 2, 2, "division by zero", None),
    "template call": ("SELECT '{{ macros.ds_add(ds) }}'", 1, 9, "days", None),
    "template date": ("SELECT '{{ macros.ds_add('x', 1) }}'", 1, 9, "does not match format", None),
    "template sandbox": ("SELECT '{{ ds.__class__.__mro__ }}'", 1, 9, "unsafe", None),
    "template import": ("{% include 'x.sql' %}", 1, 1, "template:", None),
}


@pytest.mark.parametrize(("sql", "line", "column", "message", "hint"), LOCATED.values(), ids=LOCATED.keys())
def test_errors_point_at_their_place(
    sql: str, line: int, column: int, message: str, hint: str | None
) -> None:
    found = error(sql)
    assert message in found.message
    assert (found.line, found.column) == (line, column)
    assert hint is None or (found.hint is not None and hint in found.hint)


def test_the_caret_stands_under_the_column() -> None:
    found = str(error("SELECT k,\n  amuont\nFROM orders")).split("\n")
    assert found == [
        "unknown column amuont in dw.orders (line 2, column 3)",
        "    amuont",
        "    ^",
        "hint: did you mean amount?",
    ]


def test_a_long_line_is_cut_around_the_caret() -> None:
    text, caret = str(error(f"SELECT {'k, ' * 500} amuont FROM orders")).split("\n")[1:3]
    assert len(text) < 130
    assert text[caret.index("^") :].startswith("amuont")


@pytest.mark.parametrize(
    "name", ["ds", "ts", "ds_nodash", "partition.start", "partition.end", "data_interval_end"]
)
def test_time_variables_need_time_partitions(name: str) -> None:
    found = error(f"SELECT '{{{{ {name} }}}}' AS x", grain=None)
    assert found.hint is not None
    assert "no time partitions" in found.hint


def test_render_raises_the_same_errors() -> None:
    with pytest.raises(LineageError, match="'dss' is undefined"):
        render("s3://bucket/{{ dss }}", Window("all"))


def test_a_table_that_only_some_partitions_read_is_an_error_there() -> None:
    sql = "SELECT k FROM {% if ds == '2031-07-04' %}refunds{% else %}orders{% endif %}"
    query = parse(sql)
    with pytest.raises(LineageError, match=r"reads dw\.refunds"):
        query.reads(Window.of(Grain.DAY, 22464), {})


def test_outputs_must_not_change_with_the_partition() -> None:
    found = error("SELECT k {% if partition.start.strftime('%m') == '02' %} AS x {% endif %} FROM orders")
    assert "output columns" in found.message


HOSTILE = {
    "a megabyte": "SELECT " + "k, " * 350_000 + "k FROM orders",
    "open parentheses": "SELECT " + "(" * 5000,
    "nested parentheses": "SELECT " + "(" * 5000 + "1" + ")" * 5000,
    "nested arrays": "SELECT " + "[" * 5000 + "]" * 5000,
    "closing parentheses": "SELECT k" + ")" * 5000,
    "nested CASE": "SELECT " + "CASE WHEN k = 1 THEN " * 2000 + "1" + " END" * 2000 + " FROM orders",
    "many NOT": "SELECT k FROM orders WHERE " + "NOT " * 5000 + "k = ",
    "many minus": "SELECT " + "- " * 5000 + "FROM orders",
    "nested template": "SELECT {{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "nested branches": "{% if ds %}" * 500 + "SELECT",
    "other dialect": "SELECT TOP 5 k FROM orders CONNECT BY PRIOR a = b START WITH x",
    "not SQL": "The quick brown fox; jumps over the lazy dog",
    "binary": "".join(map(chr, range(1, 255))),
    "unpaired surrogate": "SELECT '\ud800' FROM (",
    "quotes": "'" * 4999,
    "backquotes": "`" * 4999,
    "comments": "/*" * 5000,
    "brackets": "SELECT ]([})({[",
}


@pytest.mark.parametrize("sql", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_texts_are_errors_within_seconds(sql: str) -> None:
    before = time.process_time()
    found = error(sql)
    assert str(found)
    assert time.process_time() - before < 10


# What the parser takes depends on the stack, and on whether SQLGlot is compiled.
DEEP = {
    "some nested parentheses": "SELECT " + "(" * 190 + "1" + ")" * 190,
    "nested functions": "SELECT " + "f(" * 190 + "1" + ")" * 190,
    "nested subqueries": "SELECT * FROM " + "(SELECT * FROM " * 190 + "orders" + ") x" * 190,
}


@pytest.mark.parametrize("sql", DEEP.values(), ids=DEEP.keys())
def test_deep_texts_are_understood_or_errors(sql: str) -> None:
    try:
        parse(sql).reads(Window.of(Grain.DAY, 0), {})
    except LineageError as found:
        assert "nested too deeply" in found.message


LONG = {
    "conjunction": "SELECT k FROM orders WHERE " + " AND ".join(f"k <> {n}" for n in range(2000)),
    "list": f"SELECT k FROM orders WHERE k IN ({', '.join(map(str, range(5000)))})",
    "columns": f"SELECT {', '.join(f'k + {n} AS c{n}' for n in range(500))} FROM orders",
}


@pytest.mark.parametrize("sql", LONG.values(), ids=LONG.keys())
def test_long_texts_are_no_errors(sql: str) -> None:
    query = parse(sql)
    assert query.tables == {"dw.orders"}
    assert query.reads(Window.of(Grain.DAY, 0), {})["dw.orders"].is_all


TEXT = (
    "WITH a AS (SELECT dt, k, SUM(amount) AS s FROM orders WHERE dt BETWEEN '{{ ds }}' AND '{{ partition.end }}' "
    "GROUP BY 1, 2) SELECT a.k, CASE WHEN s > 1 THEN 'x' ELSE `k` END AS y FROM a LEFT JOIN customers c ON c.k = a.k"
)


@pytest.mark.parametrize("seed", range(200))
def test_damaged_texts_are_understood_or_errors(seed: int) -> None:
    source = random.Random(seed)
    text = TEXT
    for _ in range(source.randint(1, 4)):
        at = source.randrange(len(text))
        match source.randrange(4):
            case 0:
                text = text[:at] + text[at + source.randint(1, 6) :]
            case 1:
                text = text[:at] + source.choice(string.punctuation + " \n'") + text[at:]
            case 2:
                text = text[:at] + text[at : at + 12] + text[at:]
            case 3:
                text = text[:at]
                break
    try:
        parse(text).reads(Window.of(Grain.DAY, 0), {})
    except LineageError as found:
        assert found.message
